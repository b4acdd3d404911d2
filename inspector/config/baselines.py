"""What servers offered when the person last agreed to it: one file a server, to compare with later.

The file holds the lists as they were sent, an item a line, so that two of them can be compared by other
tools, too. Only its owner can read it. Reading is bounded; a file that cannot be read is told of and stays.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from inspector.base.errors import ConfigError
from inspector.base.jsonvalue import JSON, JSONObject, JSONProblem, parse, to_wire
from inspector.base.plaintext import one_line
from inspector.base.units import size
from inspector.config.entries import Entry, StdioEntry, name_from_argv
from inspector.config.exactfile import read_text, write_bytes
from inspector.config.filenames import distinct_stem

MOST_BYTES = 64 * 1024 * 1024
MOST_FILES = 500  # the least recently written are deleted first
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Baseline:
    """The lists that a server offered when the user last accepted them.

    `offer` maps a list kind (see `protocol.drift`) to its items; `taken_ns` is when it was accepted.
    """

    server: str
    identity: str
    taken_ns: int
    offer: Mapping[str, Sequence[JSONObject]]


def identity_of(entry: Entry) -> str:
    """Return what identifies a server besides its name: its program, or its URL.

    A new version of a program or different arguments are still the same server: how it changed is exactly
    what users want to see. The result never contains a secret.
    """
    if isinstance(entry, StdioEntry):
        return name_from_argv([entry.command, *entry.args])
    parts = urlsplit(entry.url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def baseline_path(folder: Path, server: str, identity: str) -> Path:
    return folder / f"{distinct_stem(server, identity)}.json"


def read_baseline(path: Path) -> Baseline | None:
    """Read a baseline; None if there is none. Raises ConfigError."""
    try:
        document = parse(read_text(path, MOST_BYTES))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as exc:
        raise _unreadable(path, f"it cannot be read: {exc}") from exc
    except JSONProblem as exc:
        raise _unreadable(path, f"it is not valid JSON: {exc}") from exc
    return _baseline(path, document)


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Replace the file atomically. Raises ConfigError."""
    try:
        data = b"".join(_written(baseline))
    except JSONProblem as exc:
        raise ConfigError(f"The lists of {baseline.server!r} cannot be remembered: {exc}.") from exc
    if len(data) > MOST_BYTES:
        raise ConfigError(
            f"The lists of {baseline.server!r} are not remembered: they are bigger than {size(MOST_BYTES)}."
        )
    write_bytes(path, data, is_private=True)


def prune(folder: Path, most: int = MOST_FILES) -> None:
    """Delete the least recently written baselines beyond the limit."""
    with contextlib.suppress(OSError):
        files = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
        for path in files[: max(0, len(files) - most)]:
            path.unlink(missing_ok=True)


def _baseline(path: Path, document: JSON) -> Baseline:
    if not isinstance(document, dict):
        raise _unreadable(path, "it must hold a JSON object")
    taken, lists = document.get("takenAt"), document.get("lists")
    if type(taken) is not int or not isinstance(lists, dict):
        raise _unreadable(path, "“takenAt” must be a number and “lists” an object")
    offer: dict[str, list[JSONObject]] = {}
    for kind, items in lists.items():
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise _unreadable(path, f"“lists.{kind[:40]}” must be a list of objects")
        offer[kind] = [item for item in items if isinstance(item, dict)]
    return Baseline(str(document.get("server", "")), str(document.get("identity", "")), taken, offer)


def _written(baseline: Baseline) -> list[bytes]:
    head: JSONObject = {
        "version": _VERSION,
        "server": baseline.server,
        "identity": baseline.identity,
        "takenAt": baseline.taken_ns,
    }
    pieces = [to_wire(head)[:-1], b',\n"lists":{']
    for number, (kind, items) in enumerate(baseline.offer.items()):
        lines = b",\n".join(to_wire(item) for item in items)
        pieces += [b",\n" if number else b"\n", to_wire(kind), b":[\n", lines, b"\n]"]
    return [*pieces, b"}}\n"]


def _unreadable(path: Path, why: str) -> ConfigError:
    name = one_line(path.name)
    return ConfigError(f"The baseline {name} cannot be used: {why}.", "Correct the file, or make a new one.")
