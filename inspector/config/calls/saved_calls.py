"""Saved calls in folders fit for git, their expected results, and the approved regression calls.

    calls/Yesterdays-log.json               a call, one JSON file each
    calls/expected/Yesterdays-log.json      {"result": {…}}, or {"error": {…}} where that is expected

    {"name": "Yesterday's log", "server": "git", "tool": "log", "arguments": {"since": "${yesterday}"},
     "description": "…", "timeout": 30, "total": 60, "meta": {…}, "task": true, "capabilities": {…},
     "watch": true, "ignore": ["result.content[*].text"]}

Only `tool` is required; `name` defaults to the file name. Unknown members and member order are preserved.
A call with `watch` is a regression call: it is rerun when its server's files change and compared with
the expected result, except for the paths in `ignore`. Expected results are written only when the user
accepts a result.

Folders are untrusted: other files, links that lead out of the folder, and files too big or malformed are
skipped, with a sentence about each. A folder can change with every `git pull`, so a regression call of an
added folder runs automatically only once the user allowed exactly that call: server, tool, arguments with
the values of their variables, and options. `AllowedCalls` stores digests of those in a private file.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONError, JSONObject, shorten, to_wire
from inspector.base.plain_text import one_line
from inspector.base.units import size
from inspector.config.calls.variables import FILE_NAME, LOCAL_FILE_NAME, names_in
from inspector.config.json_file import (
    folded,
    free_stem,
    read_bytes,
    read_exactly,
    read_file,
    readable_stem,
    write_bytes,
    write_exactly,
    write_file,
)

SUFFIX = ".json"
EXPECTED_FOLDER = "expected"
ALLOWED_CALLS_FILE_NAME = ".allowed.json"

MAX_FILES = 2_000
MAX_BYTES = 1024 * 1024
MAX_EXPECTED_BYTES = 4 * 1024 * 1024
MAX_ALLOWED_CALLS = 5_000

Stamp: TypeAlias = tuple[int, int]  # (mtime, size) of a file
Snapshot: TypeAlias = dict[str, Stamp]

_ALLOWED = "allowed"
_CAPABILITIES = "capabilities"
_RESERVED_NAMES = {FILE_NAME, LOCAL_FILE_NAME}
_RESERVED_STEMS = {folded(Path(name).stem) for name in _RESERVED_NAMES}


@dataclass(frozen=True, slots=True)
class SavedCall:
    """A saved call. `path` and `stamp` describe the file it was read from or written to, if any."""

    name: str
    tool: str
    server: str = ""
    arguments: JSONObject = field(default_factory=dict)
    description: str = ""
    timeout: float | None = None  # in seconds
    total: float | None = None  # in seconds, regardless of progress
    meta: JSONObject = field(default_factory=dict)
    as_task: bool = False
    capabilities: JSONObject | None = None  # declared for this call only
    path: Path | None = None
    stamp: Stamp | None = None
    is_regression: bool = False  # stored as `watch`
    ignore: tuple[str, ...] = ()

    @property
    def folder(self) -> Path | None:
        return self.path.parent if self.path is not None else None


@dataclass(frozen=True, slots=True)
class LoadedCalls:
    """The calls by name, one sentence per unusable file, and a snapshot of the folder."""

    calls: tuple[SavedCall, ...] = ()
    problems: tuple[str, ...] = ()
    snapshot: Snapshot = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DeletedCall:
    """A deleted call, with the full content of its file and of its expected result."""

    call: SavedCall
    data: bytes
    expected: bytes | None = None


class ChangedElsewhere(ConfigError):
    """The file was changed by someone else since it was read; nothing was written."""


class SavedCallFolder:
    """A folder of saved calls, which may not exist yet.

    `is_private`: files are written readable only by their owner.
    """

    def __init__(self, path: Path, *, is_private: bool = False) -> None:
        self.path = path
        self._is_private = is_private

    def load(self) -> LoadedCalls:
        """Read all calls. Never raises for what the folder contains."""
        snapshot, problems = self._inspect()
        calls: list[SavedCall] = []
        for name, stamp in snapshot.items():
            try:
                call = read_call(self.path / name, stamp)
            except FileNotFoundError:  # deleted meanwhile
                continue
            except ConfigError as exc:
                problems.append(str(exc))
                continue
            if call is not None:
                calls.append(call)
        calls.sort(key=lambda call: (folded(call.name), call.name))
        return LoadedCalls(tuple(calls), tuple(problems), snapshot)

    def has_changed(self, since: Snapshot) -> bool:
        """True if a file was added, changed or removed. Reads no files, so it is cheap to poll."""
        return self._inspect()[0] != since

    def save(self, call: SavedCall, *, overwrite: bool = False) -> SavedCall:
        """Write a call to its file, or to a new one if it has none in this folder.

        Returns the call as it is on disk. Raises ConfigError, also when the file was changed since it was
        read, unless `overwrite`.
        """
        path = self._path_of(call)
        if not overwrite and call.path == path:
            _require_unchanged(call)
        try:
            before = read_file(path, MAX_BYTES)
        except FileNotFoundError:
            before = {}
        except ConfigError:
            if not overwrite:
                raise
            before = {}
        write_file(path, _written(call, before), is_private=self._is_private)
        return replace(call, path=path, stamp=_stamp(path))

    def rename(self, call: SavedCall, name: str) -> SavedCall:
        """Rename a call and its file. Raises ConfigError."""
        old = self._own(call)
        _require_unchanged(call)
        target = replace(call, name=name, path=None, stamp=None)
        path = self._path_of(target, reusable=old.name)
        try:
            before = read_file(old, MAX_BYTES)
        except FileNotFoundError:
            before = {}
        write_file(path, _written(target, before), is_private=self._is_private)
        if path != old:
            move_expected(old, path)
            _unlink(old)
        return replace(target, path=path, stamp=_stamp(path))

    def delete(self, call: SavedCall) -> DeletedCall | None:
        """Delete a call and return what `restore` needs; None if already gone. Raises ConfigError."""
        path = self._own(call)
        try:
            data = read_bytes(path, MAX_BYTES)
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise _not_deleted(path, exc) from exc
        _unlink(path)
        return DeletedCall(call, data, remove_expected(path))

    def restore(self, deleted: DeletedCall) -> SavedCall:
        """Write a deleted call back byte for byte; to a new file if its name is taken.

        Raises ConfigError.
        """
        path = self._own(deleted.call)
        taken = _RESERVED_STEMS | {folded(Path(name).stem) for name in self._names()}
        path = path.with_name(f"{free_stem(path.stem, taken)}{SUFFIX}")
        write_bytes(path, deleted.data, is_private=self._is_private)
        if deleted.expected is not None:
            write_expected(path, deleted.expected, is_private=self._is_private)
        return replace(deleted.call, path=path, stamp=_stamp(path))

    def _inspect(self) -> tuple[Snapshot, list[str]]:
        snapshot: Snapshot = {}
        problems: list[str] = []
        try:
            with os.scandir(self.path) as entries:
                for entry in _json_files(entries):
                    if len(snapshot) == MAX_FILES:
                        message = f"{self.path} contains more than {MAX_FILES:,} files; the rest are ignored."
                        problems.append(one_line(message))
                        break
                    stamp = _entry_stamp(entry, self.path)
                    if stamp is not None:
                        snapshot[entry.name] = stamp
        except FileNotFoundError:
            pass
        except OSError as exc:
            problems.append(
                f"Could not read {one_line(str(self.path))}: {exc}. Check the folder's permissions."
            )
        return dict(sorted(snapshot.items())), problems

    def _path_of(self, call: SavedCall, reusable: str = "") -> Path:
        """Return the call's file in this folder, or a free one; `reusable` counts as free."""
        if call.path is not None and call.path.parent == self.path:
            return self._own(call)
        stem = readable_stem(call.name, "call")
        taken = _RESERVED_STEMS | {folded(Path(name).stem) for name in self._names() if name != reusable}
        return self.path / f"{free_stem(stem, taken)}{SUFFIX}"

    def _names(self) -> list[str]:
        """List everything in the folder, so that no existing file is overwritten."""
        with contextlib.suppress(FileNotFoundError):
            return os.listdir(self.path)
        return []

    def _own(self, call: SavedCall) -> Path:
        path = call.path
        if path is None or path.parent != self.path or path.suffix != SUFFIX or path.name in _RESERVED_NAMES:
            raise ConfigError(f"{call.name!r} is not in {one_line(str(self.path))}.", "Save it there first.")
        return path


def read_call(path: Path, stamp: Stamp | None = None) -> SavedCall | None:
    """Read a call; None if the file does not look like one at all. Raises ConfigError."""
    document = read_file(path, MAX_BYTES)
    if not {"tool", "server", "arguments"} & document.keys():
        return None
    try:
        return SavedCall(
            name=_text(document, "name") or path.stem,
            tool=_required_text(document, "tool"),
            server=_text(document, "server"),
            arguments=_object(document, "arguments"),
            description=_text(document, "description"),
            timeout=_seconds(document, "timeout"),
            total=_seconds(document, "total"),
            meta=_object(document, "meta"),
            as_task=_flag(document, "task"),
            capabilities=_object(document, _CAPABILITIES) if _CAPABILITIES in document else None,
            path=path,
            stamp=stamp or _stamp(path),
            is_regression=_flag(document, "watch"),
            ignore=_texts(document, "ignore"),
        )
    except ValueError as exc:
        raise ConfigError(f"{one_line(str(path))}: {exc}.", "Fix it in the file.") from exc


def _written(call: SavedCall, before: JSONObject) -> JSONObject:
    """Return the updated file content: member order is kept, empty members only if present."""
    values: dict[str, JSON] = {
        "name": call.name,
        "server": call.server,
        "tool": call.tool,
        "arguments": call.arguments,
        "description": call.description,
        "timeout": call.timeout,
        "total": call.total,
        "meta": call.meta,
        "task": call.as_task,
        "watch": call.is_regression,
        "ignore": list(call.ignore),
    }
    always = ("name", "server", "tool", "arguments")
    written = {
        member: value for member, value in values.items() if member in always or value or member in before
    }
    if call.capabilities is not None:  # {} declares no capabilities, None leaves the usual ones
        written[_CAPABILITIES] = call.capabilities
    unknown = {member: value for member, value in before.items() if member not in (*values, _CAPABILITIES)}
    merged = {**unknown, **written}
    order = [*before, *(member for member in written if member not in before)]
    return {member: merged[member] for member in order if member in merged}


def _required_text(document: JSONObject, member: str) -> str:
    text = _text(document, member)
    if not text:
        raise ValueError(f"“{member}” must be a non-empty string")
    return text


def _text(document: JSONObject, member: str) -> str:
    value = document.get(member)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"“{member}” must be a string")
    return value or ""


def _object(document: JSONObject, member: str) -> JSONObject:
    value = document.get(member)
    if value is not None and not isinstance(value, dict):
        raise ValueError(f"“{member}” must be an object")
    return value or {}


def _texts(document: JSONObject, member: str) -> tuple[str, ...]:
    value = document.get(member)
    if value is not None and not (isinstance(value, list) and all(isinstance(each, str) for each in value)):
        raise ValueError(f"“{member}” must be an array of strings")
    return tuple(str(each) for each in value or ())


def _flag(document: JSONObject, member: str) -> bool:
    value = document.get(member)
    if value is not None and not isinstance(value, bool):
        raise ValueError(f"“{member}” must be true or false")
    return value is True


def _seconds(document: JSONObject, member: str) -> float | None:
    value = document.get(member)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ValueError(f"“{member}” must be a number of seconds greater than 0")
    return value


def _json_files(entries: Iterator[os.DirEntry[str]]) -> Iterator[os.DirEntry[str]]:
    for entry in entries:
        is_visible_json = entry.name.endswith(SUFFIX) and not entry.name.startswith(".")
        if is_visible_json and entry.name not in _RESERVED_NAMES:
            yield entry


def _entry_stamp(entry: os.DirEntry[str], folder: Path) -> Stamp | None:
    """Return None for anything but a regular file, or a symlink out of the folder."""
    try:
        status = entry.stat()
        if not stat.S_ISREG(status.st_mode):
            return None
        if entry.is_symlink() and not Path(entry.path).resolve().is_relative_to(folder.resolve()):
            return None
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _stamp(path: Path) -> Stamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _require_unchanged(call: SavedCall) -> None:
    assert call.path is not None
    now = _stamp(call.path)
    if call.stamp is not None and now is not None and now != call.stamp:
        raise ChangedElsewhere(
            f"{one_line(call.path.name)} was changed outside MCP Lens since “{shorten(call.name, 60)}” "
            "was loaded.",
            "Reload it or overwrite it.",
        )


def _unlink(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as exc:
        raise _not_deleted(path, exc) from exc


def _not_deleted(path: Path, cause: OSError) -> ConfigError:
    return ConfigError(
        f"Could not delete {one_line(str(path))}: {cause}.", "Check that its folder is writable."
    )


def expected_path(call: Path) -> Path:
    """Return the path of the expected result of a saved call."""
    return call.parent / EXPECTED_FOLDER / call.name


def read_expected(call: Path) -> bytes | None:
    """Return the expected result as JSON, None if there is none yet. Raises ConfigError."""
    path = expected_path(call)
    _require_inside(path, call.parent)
    try:
        return to_wire(read_file(path, MAX_EXPECTED_BYTES))
    except FileNotFoundError:
        return None


def write_expected(call: Path, data: bytes, *, is_private: bool) -> None:
    """Save the expected result, indented. Raises ConfigError if it is not a JSON object or too big."""
    path = expected_path(call)
    _require_inside(path, call.parent)
    text = (write_exactly(_parse_object(data)) + "\n").encode()
    if len(text) > MAX_EXPECTED_BYTES:
        limit = size(MAX_EXPECTED_BYTES)
        raise ConfigError(
            f"The result is {size(len(text))}; expected results are limited to {limit}.",
            "Request less data.",
        )
    write_bytes(path, text, is_private=is_private)


def remove_expected(call: Path) -> bytes | None:
    """Delete the expected result and return its content; None if that fails. Never raises."""
    path = expected_path(call)
    with contextlib.suppress(OSError, ConfigError):
        _require_inside(path, call.parent)
        data = read_bytes(path, MAX_EXPECTED_BYTES)
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


def _parse_object(data: bytes) -> JSONObject:
    try:
        value = read_exactly(data.decode())
    except (UnicodeDecodeError, JSONError) as exc:
        message = f"Could not save this as the expected result: {exc}."
        raise ConfigError(message, "See Traffic for the raw message.") from exc
    if not isinstance(value, dict):
        raise ConfigError("Could not save this as the expected result: it is not an object.")
    return value


def _require_inside(path: Path, folder: Path) -> None:
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ConfigError(
            f"{one_line(str(path))} is a link that points outside its folder.",
            "Replace it with a regular file.",
        )


class AllowedCalls:
    """Digests of the regression calls that the user has allowed to run automatically.

    Without a path, nothing is persisted. An unreadable file allows no calls.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._digests: dict[str, None] | None = None  # most recent last

    def has(self, call: SavedCall, values: Mapping[str, JSON]) -> bool:
        """True if the user allowed this call with these values of the folder's variables."""
        return digest(call, values) in self._load()

    def add(self, calls: Iterable[tuple[SavedCall, Mapping[str, JSON]]]) -> None:
        """Allow these calls, each with the values of its folder's variables.

        Raises ConfigError when the file cannot be written; the calls are still allowed until the app exits.
        """
        known = self._load()
        new = [each for call, values in calls if (each := digest(call, values)) not in known]
        if not new:
            return
        known.update(dict.fromkeys(new))
        while len(known) > MAX_ALLOWED_CALLS:
            del known[next(iter(known))]
        if self._path is not None:
            write_file(self._path, {_ALLOWED: list(known)}, is_private=True)

    def _load(self) -> dict[str, None]:
        if self._digests is None:
            self._digests = dict.fromkeys(self._stored())
        return self._digests

    def _stored(self) -> list[str]:
        if self._path is None:
            return []
        try:
            digests = read_file(self._path).get(_ALLOWED)
        except (FileNotFoundError, ConfigError):
            return []
        return [each for each in digests if isinstance(each, str)] if isinstance(digests, list) else []


def digest(call: SavedCall, values: Mapping[str, JSON]) -> str:
    """Return a digest of everything that is sent and of the target server.

    `values` are the variables of the call's folder, as in its files. Arguments and variables together
    determine the expanded arguments; values from the secret store and the environment are the user's own, so
    a new token needs no new permission. The call's name and the location of its file are not included.
    """
    sent: list[JSON] = [call.server, call.tool, call.arguments, call.meta, call.as_task, call.capabilities]
    used = sorted(name for name in names_in([call.arguments, call.meta]) if name in values)
    if used:
        sent.append({name: values[name] for name in used})
    return hashlib.sha256(to_wire(sent)).hexdigest()
