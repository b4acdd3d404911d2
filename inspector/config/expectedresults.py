"""What saved calls should give: plain JSON in `expected/` beside them, one file a call, for git as they are.

    calls/Yesterdays-log.json               the call
    calls/expected/Yesterdays-log.json      {"result": {…}}, or {"error": {…}} where that is expected

Written when the person accepts a result, never by itself. A folder of calls is untrusted: what leads out of
it by a link is neither read nor written.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from inspector.base.errors import ConfigError
from inspector.base.jsonvalue import JSONObject, JSONProblem, to_wire
from inspector.base.plaintext import one_line
from inspector.base.units import size
from inspector.config.exactfile import read_exactly, read_file, write_bytes, write_exactly

FOLDER = "expected"
MOST_BYTES = 4 * 1024 * 1024


def expected_path(call: Path) -> Path:
    """Return the path of the expected result of a saved call."""
    return call.parent / FOLDER / call.name


def read_expected(call: Path) -> bytes | None:
    """Return the expected result as JSON, None if there is none yet. Raises ConfigError."""
    path = expected_path(call)
    _require_inside(path, call.parent)
    try:
        return to_wire(read_file(path, MOST_BYTES))
    except FileNotFoundError:
        return None


def write_expected(call: Path, data: bytes, *, is_private: bool) -> None:
    """Save the expected result, indented. Raises ConfigError if it is no JSON object or too big."""
    path = expected_path(call)
    _require_inside(path, call.parent)
    text = (write_exactly(_object(data)) + "\n").encode()
    if len(text) > MOST_BYTES:
        words = f"The result has {size(len(text))}: more than {size(MOST_BYTES)} are not kept as expected."
        raise ConfigError(words, "Ask for less of it.")
    write_bytes(path, text, is_private=is_private)


def take_expected(call: Path) -> bytes | None:
    """Delete the expected result and return what it was; None if that fails. Never raises."""
    path = expected_path(call)
    with contextlib.suppress(OSError, ConfigError):
        _require_inside(path, call.parent)
        data = path.read_bytes()
        path.unlink()
        with contextlib.suppress(OSError):
            path.parent.rmdir()  # fails unless empty
        return data
    return None


def move_expected(old: Path, new: Path) -> None:
    """Move the expected result along with its call. If that fails, it stays where it is."""
    before, after = expected_path(old), expected_path(new)
    with contextlib.suppress(OSError, ConfigError):
        _require_inside(before, old.parent)
        before.replace(after)


def _object(data: bytes) -> JSONObject:
    try:
        value = read_exactly(data.decode())
    except (UnicodeDecodeError, JSONProblem) as exc:
        words = f"The answer cannot be kept as expected: {exc}."
        raise ConfigError(words, "The Traffic view has it as it came.") from exc
    if not isinstance(value, dict):
        raise ConfigError("The answer cannot be kept as expected: it is no object.")
    return value


def _require_inside(path: Path, folder: Path) -> None:
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ConfigError(
            f"{one_line(str(path))} is a link that leads out of its folder.", "Put a plain file there."
        )
