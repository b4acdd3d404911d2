"""JSON files whose values come back as they were written: numbers keep their spelling, keys their order.

For files that hold what a person typed for a server. Reading is bounded and takes plain files only, since
a folder may come from anybody; writing replaces a file whole or not at all.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import stat
from collections import Counter
from pathlib import Path

from inspector.base.errors import ConfigError
from inspector.base.jsonpretty import reindent
from inspector.base.jsonvalue import JSON, JSONObject, JSONProblem, to_wire
from inspector.base.numbers import read_number
from inspector.base.plaintext import one_line
from inspector.base.units import size

MOST_BYTES = 4 * 1024 * 1024


def read_exactly(text: str, *, last_wins: bool = False) -> JSON:
    """Parse a JSON value, preserving number spelling. Raises JSONProblem.

    A repeated key is an error too, unless `last_wins`.
    """
    try:
        value: JSON = (_TOLERANT if last_wins else _DECODER).decode(text)
    except json.JSONDecodeError as exc:
        raise JSONProblem(f"{exc.msg} at line {exc.lineno}, column {exc.colno}") from exc
    except RecursionError as exc:
        raise JSONProblem("nested too deeply to be read") from exc
    return value


def write_exactly(value: JSON) -> str:
    """Return indented JSON, the inverse of `read_exactly`. Raises JSONProblem if too deep."""
    return reindent(to_wire(value).decode())


def read_file(path: Path, most_bytes: int = MOST_BYTES) -> JSONObject:
    """Read a JSON object. Raises ConfigError, or FileNotFoundError if the file does not exist."""
    try:
        document = read_exactly(read_text(path, most_bytes))
    except FileNotFoundError:
        raise
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"{_shown(path)} cannot be read: {exc}.", "Check the file.") from exc
    except JSONProblem as exc:
        raise ConfigError(f"{_shown(path)} is not valid JSON: {exc}.", "Correct it there.") from exc
    if not isinstance(document, dict):
        raise ConfigError(f"{_shown(path)} must hold a JSON object.", "Correct it there.")
    return document


def write_file(path: Path, document: JSONObject, *, is_private: bool) -> None:
    """Replace the file; a private one is readable only by its owner, others keep their mode.

    Raises ConfigError, leaving the file unchanged.
    """
    try:
        data = (write_exactly(document) + "\n").encode()
    except JSONProblem as exc:
        raise _not_written(path, exc) from exc
    write_bytes(path, data, is_private=is_private)


def write_bytes(path: Path, data: bytes, *, is_private: bool) -> None:
    """Like `write_file`, for raw bytes."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700 if is_private else 0o777)
        _replace(path, data, is_private=is_private)
    except OSError as exc:
        raise _not_written(path, exc) from exc


def _not_written(path: Path, cause: Exception) -> ConfigError:
    return ConfigError(f"{_shown(path)} cannot be written: {cause}.", "Nothing was changed in it.")


def read_text(path: Path, most_bytes: int = MOST_BYTES) -> str:
    """Read a regular UTF-8 file. Raises OSError and UnicodeDecodeError."""
    _require_plain(path.stat())  # merely opening a device can have side effects
    with open(path, "rb", opener=_open_at_once) as file:
        _require_plain(os.fstat(file.fileno()))  # it may have been replaced meanwhile
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise OSError(f"it is bigger than {size(most_bytes)}")
    return data.decode("utf-8-sig")


def _require_plain(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError("it is no plain file")


def _open_at_once(path: str, flags: int) -> int:
    """Open without blocking: opening a FIFO would wait for a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _replace(path: Path, data: bytes, *, is_private: bool) -> None:
    # Not `tempfile`: its files are always private, and only the OS knows the default mode (umask).
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if is_private else 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        if not is_private and path.exists():
            os.chmod(temporary, stat.S_IMODE(path.stat().st_mode))
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _shown(path: Path) -> str:
    return one_line(str(path))


def _number(text: str) -> int | float:
    number = read_number(text)
    assert number is not None  # the decoder has already matched the grammar
    return number


def _object(pairs: list[tuple[str, JSON]]) -> JSONObject:
    members = dict(pairs)
    if len(members) < len(pairs):  # writing it back would lose one of them
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise JSONProblem(f"the key {twice[:60]!r} is there twice")
    return members


_TOLERANT = json.JSONDecoder(parse_int=_number, parse_float=_number)
_DECODER = json.JSONDecoder(parse_int=_number, parse_float=_number, object_pairs_hook=_object)
