"""Baseline files, one per server, and the comparison of current lists with them.

A file holds the lists as they were sent, one item per line, so that other tools can diff them too. It is
readable only by its owner. Reads are bounded; an unreadable file is reported and left alone.

`check`, `accept` and `item_diff` are functions of bytes (JSON lines: the request, then the items of each
list), so that long lists are compared in the worker process. Their results stay small: the diff of one
item is made when it is selected.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONError, JSONObject, parse, to_wire
from inspector.base.plain_text import one_line
from inspector.base.units import size
from inspector.config.json_file import distinct_stem, read_text, write_bytes
from inspector.config.servers.entries import Entry, StdioEntry, name_from_argv
from inspector.protocol.drift import ChangeKind, ItemChange, compare_features, keyed
from inspector.traffic.compare.diff import Diff
from inspector.traffic.compare.texts import compare_packed, pack

MAX_BYTES = 64 * 1024 * 1024
MAX_FILES = 500  # the least recently written are deleted first
_VERSION = 1
_SLICE = 200  # items serialized at a time


@dataclass(frozen=True, slots=True)
class Baseline:
    """The lists that a server offered when the user last accepted them.

    `lists` maps a list kind (see `protocol.drift`) to its items; `taken_ns` is when it was accepted.
    """

    server: str
    identity: str
    taken_ns: int
    lists: Mapping[str, Sequence[JSONObject]]


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
        document = parse(read_text(path, MAX_BYTES))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as exc:
        raise _unreadable(path, f"reading failed: {exc}") from exc
    except JSONError as exc:
        raise _unreadable(path, f"it is not valid JSON: {exc}") from exc
    return _baseline(path, document)


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Replace the file atomically. Raises ConfigError."""
    try:
        data = b"".join(_written(baseline))
    except JSONError as exc:
        raise ConfigError(f"Could not save the baseline of {baseline.server!r}: {exc}.") from exc
    if len(data) > MAX_BYTES:
        raise ConfigError(
            f"The baseline of {baseline.server!r} was not saved: it is larger than {size(MAX_BYTES)}."
        )
    write_bytes(path, data, is_private=True)


def prune(folder: Path, maximum: int = MAX_FILES) -> None:
    """Delete the least recently written baselines beyond the limit."""
    with contextlib.suppress(OSError):
        files = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
        for path in files[: max(0, len(files) - maximum)]:
            path.unlink(missing_ok=True)


def _baseline(path: Path, document: JSON) -> Baseline:
    if not isinstance(document, dict):
        raise _unreadable(path, "it must contain a JSON object")
    taken, stored = document.get("takenAt"), document.get("lists")
    if type(taken) is not int or not isinstance(stored, dict):
        raise _unreadable(path, "“takenAt” must be a number and “lists” an object")
    lists: dict[str, list[JSONObject]] = {}
    for kind, items in stored.items():
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise _unreadable(path, f"“lists.{kind[:40]}” must be an array of objects")
        lists[kind] = [item for item in items if isinstance(item, dict)]
    return Baseline(str(document.get("server", "")), str(document.get("identity", "")), taken, lists)


def _written(baseline: Baseline) -> list[bytes]:
    head: JSONObject = {
        "version": _VERSION,
        "server": baseline.server,
        "identity": baseline.identity,
        "takenAt": baseline.taken_ns,
    }
    pieces = [to_wire(head)[:-1], b',\n"lists":{']
    for number, (kind, items) in enumerate(baseline.lists.items()):
        lines = b",\n".join(to_wire(item) for item in items)
        pieces += [b",\n" if number else b"\n", to_wire(kind), b":[\n", lines, b"\n]"]
    return [*pieces, b"}}\n"]


def _unreadable(path: Path, why: str) -> ConfigError:
    name = one_line(path.name)
    return ConfigError(
        f"Could not load the baseline {name}: {why}.", "Fix the file or create a new baseline."
    )


@dataclass(frozen=True, slots=True)
class BaselineLocation:
    """Which baseline, and where it is."""

    folder: Path
    server: str
    identity: str

    @property
    def path(self) -> Path:
        return baseline_path(self.folder, self.server, self.identity)


@dataclass(frozen=True, slots=True)
class BaselineCheck:
    """Changes of the lists since `taken_ns`; `digest` is a fingerprint of the current lists.

    `problem` says why the changes are unknown.
    """

    taken_ns: int
    changes: tuple[ItemChange, ...] = ()
    digest: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ItemDiff:
    """One change, member by member, or why it cannot be shown."""

    diff: Diff | None
    problem: str = ""


def packed(
    location: BaselineLocation, now_ns: int, lists: Mapping[str, Sequence[JSONObject]], seen: str = ""
) -> Iterator[bytes]:
    """Yield the input of `check` and `accept` in pieces, so that the caller can pause between.

    `seen` is the digest of the lists that the user accepts.
    """
    counts: JSONObject = {kind: len(items) for kind, items in lists.items()}
    yield to_wire({**_head(location), "now": now_ns, "counts": counts, "seen": seen})
    for items in lists.values():
        for start in range(0, len(items), _SLICE):
            yield b"".join(b"\n" + _line(item) for item in items[start : start + _SLICE])


def packed_item(location: BaselineLocation, change: ItemChange, item: JSONObject | None) -> bytes:
    """Return the input of `item_diff`; `item` is the current version."""
    if change.change_kind is ChangeKind.RENAMED:
        old: list[JSON] = [change.old_name, change.old_number]
    else:
        old = [change.name, change.number]
    head: JSONObject = {
        **_head(location),
        "kind": change.kind,
        "old": old,
        "existed": change.change_kind is not ChangeKind.ADDED,
    }
    return to_wire(head) + b"\n" + (_line(item) if item is not None else b"")


def check(data: bytes) -> BaselineCheck:
    """Compare with the baseline. Where there is none yet, these lists become it."""
    location, now_ns, lists = _unpacked(data)
    digest = _digest_of(data)
    try:
        known = read_baseline(location.path)
        if known is None:
            _write(location, now_ns, lists)
            return BaselineCheck(now_ns, digest=digest)
        if missing := {kind: items for kind, items in lists.items() if kind not in known.lists}:
            _write(location, known.taken_ns, {**known.lists, **missing})
    except ConfigError as exc:
        return BaselineCheck(0, digest=digest, problem=str(exc))
    return BaselineCheck(known.taken_ns, compare_features(known.lists, lists), digest)


def accept(data: bytes) -> BaselineCheck:
    """Make these lists the baseline if they are the ones seen; lists not fetched are kept."""
    location, now_ns, lists = _unpacked(data)
    digest = _digest_of(data)
    if _object(data.partition(b"\n")[0])["seen"] != digest:
        return BaselineCheck(0, problem="The server's lists changed again. Review the changes again.")
    try:
        known = read_baseline(location.path)
    except ConfigError:  # unreadable, and about to be replaced
        known = None
    try:
        _write(location, now_ns, {**(known.lists if known is not None else {}), **lists})
    except ConfigError as exc:
        return BaselineCheck(0, problem=str(exc))
    return BaselineCheck(now_ns, digest=digest)


def item_diff(data: bytes) -> ItemDiff:
    """Return the changes of one item; an added or removed one is compared with nothing."""
    first, _, now = data.partition(b"\n")
    head = _object(first)
    kind, (name, number) = str(head["kind"]), _pair(head["old"])
    old = b""
    if head["existed"]:
        try:
            known = read_baseline(_location(head).path)
        except ConfigError as exc:
            return ItemDiff(None, str(exc))
        item = keyed(kind, known.lists.get(kind, ())).get((name, number)) if known is not None else None
        old = _line(item) if item is not None else b""
    if not old and not now:
        return ItemDiff(None, "This is out of date: the lists or the baseline changed again.")
    return ItemDiff(compare_packed(pack(old or b"{}", now or b"{}")))


def _digest_of(data: bytes) -> str:
    """Return a digest of the lists that is independent of order."""
    return hashlib.sha256(b"\n".join(sorted(data.split(b"\n")[1:]))).hexdigest()


def _write(location: BaselineLocation, taken_ns: int, lists: Mapping[str, Sequence[JSONObject]]) -> None:
    write_baseline(location.path, Baseline(location.server, location.identity, taken_ns, lists))
    prune(location.folder)


def _head(location: BaselineLocation) -> JSONObject:
    return {"folder": str(location.folder), "server": location.server, "identity": location.identity}


def _location(head: JSONObject) -> BaselineLocation:
    return BaselineLocation(Path(str(head["folder"])), str(head["server"]), str(head["identity"]))


def _unpacked(data: bytes) -> tuple[BaselineLocation, int, dict[str, list[JSONObject]]]:
    first, *lines = data.split(b"\n")
    head = _object(first)
    counts, now_ns = head["counts"], head["now"]
    assert isinstance(counts, dict)  # we wrote it
    assert isinstance(now_ns, int)
    lists: dict[str, list[JSONObject]] = {}
    at = 0
    for kind, count in counts.items():
        assert isinstance(count, int)
        lists[kind] = [_object(line) for line in lines[at : at + count]]
        at += count
    return _location(head), now_ns, lists


def _object(line: bytes) -> JSONObject:
    value = parse(line.decode())
    assert isinstance(value, dict)
    return value


def _pair(value: JSON) -> tuple[str, int]:
    assert isinstance(value, list)
    name, number = value
    assert isinstance(number, int)
    return str(name), number


def _line(item: JSONObject) -> bytes:
    try:
        return to_wire(item)
    except JSONError:  # nested too deeply: write a stub that at least shows it exists
        return to_wire({name: value for name, value in item.items() if isinstance(value, str)})
