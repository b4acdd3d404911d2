"""Call history on disk: the last arguments and the latest calls of each tool, per server.

One small file per tool, in a private folder. Arguments are stored as JSON text, so numbers keep their
spelling. Secrets in arguments are replaced by `SECRET_MARK` unless the user opted in. An unreadable file
is renamed to `*.broken` and reported, never overwritten.

`add` and `set_last` only queue; a background thread writes, coalescing changes. The reading methods block
on disk: call them on a thread.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from inspector.base.atomic_file import move_file
from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONError, JSONObject, to_wire
from inspector.base.redaction import MASK, Secrecy, masked_command, secrecy
from inspector.base.signals import Signal
from inspector.config.calls.variables import is_reference
from inspector.config.json_file import distinct_stem, read_exactly, read_file, write_file

MAX_CALLS = 50
MAX_CHARACTERS = 64 * 1024  # per call; longer arguments are left out of the history
MAX_LAST_CHARACTERS = 1024 * 1024
MAX_ALL_CHARACTERS = 1024 * 1024  # all calls of one tool; the oldest are dropped
MAX_TOOLS = 5_000  # files; the least recently called are deleted first

_BATCH_S = 0.3  # how long to collect entries before writing them
_VERSION = 1
_MAX_BYTES = 16 * 1024 * 1024  # larger than any file written here

# Stands for a secret that was not saved.
_MARK = "mcp-lens:notKept"
SECRET_MARK: JSONObject = {_MARK: True}

Key: TypeAlias = tuple[str, str]  # server, tool


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call in the history.

    `text` is "" when the arguments were too long to save. `options` holds the call's other settings as JSON
    text: "{}" if there were none, "" if unknown.
    """

    at_ns: int  # wall time
    outcome: str  # value of an OutcomeKind
    elapsed_ns: int
    text: str
    options: str = ""

    def arguments(self) -> JSONObject | None:
        """Return the arguments as typed, number spelling preserved; None if they were not saved."""
        return _arguments_of(self.text)

    def recorded_options(self) -> JSONObject | None:
        """Return the options `timeout`, `total`, `meta`, `task`, `capabilities`, as in a saved call."""
        return _arguments_of(self.options)


@dataclass(frozen=True, slots=True)
class ToolHistory:
    """History of one tool: its last arguments, and its calls, newest first."""

    last_text: str = ""
    calls: tuple[RecordedCall, ...] = ()

    def last_arguments(self) -> JSONObject | None:
        return _arguments_of(self.last_text)


EMPTY_HISTORY = ToolHistory()


class CallHistory:
    """Per-tool call history on disk, written by a background thread.

    With `folder` None or `is_on` false, nothing is read or written.

    Signals:
        problem_found: A file was set aside or could not be written; carries a sentence. Emitted on any
            thread.
    """

    def __init__(
        self,
        folder: Path | None,
        *,
        is_on: bool = True,
        keep_secrets: bool = False,
        max_calls: int = MAX_CALLS,
    ) -> None:
        self.problem_found: Signal[str] = Signal()
        self.is_on = is_on
        self.keep_secrets = keep_secrets
        self._folder = folder
        self._max_calls = max_calls
        self._entries: deque[tuple[Key, _Entry]] = deque()
        self._appended = threading.Condition()
        self._files = threading.Lock()  # serializes reads, writes and deletes
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._reported: set[str] = set()

    def add(
        self,
        server: str,
        tool: str,
        arguments: JSONObject,
        *,
        outcome: str,
        elapsed_ns: int,
        at_ns: int = 0,
        options: JSONObject | None = None,
    ) -> None:
        """Record a finished call. `arguments` and `options` as typed, with variables not expanded."""
        text, options_text = self._text(arguments), self._text(options or {})
        stored, stored_options = (
            each if len(each) <= MAX_CHARACTERS else "" for each in (text, options_text)
        )
        call = RecordedCall(at_ns or time.time_ns(), outcome, elapsed_ns, stored, stored_options)
        self._queue((server, tool), _Entry(text, call))

    def set_last(self, server: str, tool: str, arguments: JSONObject) -> None:
        """Save the current form contents as the tool's last arguments, called or not."""
        self._queue((server, tool), _Entry(self._text(arguments)))

    def _text(self, arguments: JSONObject) -> str:
        try:
            return to_wire(arguments if self.keep_secrets else mark_secrets(arguments)).decode()
        except (JSONError, RecursionError):
            return ""

    def _queue(self, key: Key, entry: _Entry) -> None:
        if self._folder is None or not self.is_on:
            return
        with self._appended:
            if self._is_closed:
                return
            self._entries.append((key, entry))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="call history", daemon=True)
                self._thread.start()
            self._appended.notify()

    def of(self, server: str, tool: str) -> ToolHistory:
        """Return the history of a tool, including entries not written yet. Never raises."""
        if self._folder is None or not self.is_on:
            return EMPTY_HISTORY
        with self._files:
            history = self._load((server, tool))
            with self._appended:
                entries = [entry for key, entry in self._entries if key == (server, tool)]
            return self._with(history, entries) if history is not None else EMPTY_HISTORY

    def rename_server(self, before: str, after: str) -> None:
        """Move a server's history to its new name. Never raises.

        If the new name already has calls, both are left as they are.
        """
        if self._folder is None:
            return
        self.flush()
        with self._files, contextlib.suppress(OSError):
            for path in list(self._folder.glob("*.json")):
                self._rename_file(path, before, after)

    def _rename_file(self, path: Path, before: str, after: str) -> None:
        try:
            document = read_file(path, _MAX_BYTES)
            server, tool = document.get("server"), document.get("tool")
            if server != before or not isinstance(tool, str) or path != self._path((before, tool)):
                return
            target = self._path((after, tool))
            if not target.exists():
                write_file(target, {**document, "server": after}, is_private=True)
                path.unlink()
        except (OSError, ConfigError) as exc:
            self._report(f"Could not move the call history of the renamed server {before!r}: {exc}")

    def forget(self, server: str, tool: str) -> None:
        """Delete the history of a tool. Raises ConfigError."""
        self._drop(lambda key: key == (server, tool))
        self._delete([self._path((server, tool))])

    def forget_all(self) -> None:
        """Delete all history files, including those set aside. Raises ConfigError."""
        self._drop(lambda key: True)
        if self._folder is not None:
            self._delete([path for path in self._folder.glob("*.json*") if path.is_file()])

    def _drop(self, matches: Callable[[Key], bool]) -> None:
        with self._appended:
            remaining = [(key, entry) for key, entry in self._entries if not matches(key)]
            self._entries.clear()
            self._entries.extend(remaining)

    def _delete(self, paths: list[Path]) -> None:
        with self._files:
            for path in paths:
                try:
                    path.unlink(missing_ok=True)
                except OSError as exc:
                    raise ConfigError(
                        f"Could not delete {path}: {exc}.", "Check that its folder is writable."
                    ) from exc

    def flush(self) -> None:
        """Write pending entries now."""
        with self._files:
            with self._appended:
                entries = list(self._entries)
            for key in dict.fromkeys(key for key, _ in entries):
                self._write(key, [entry for other, entry in entries if other == key])
            with self._appended:
                # Remove only after writing: a concurrent reader must find each entry in the file or here.
                for written in entries:
                    with contextlib.suppress(ValueError):  # deleted meanwhile
                        self._entries.remove(written)

    def close(self) -> None:
        """Write pending entries and stop recording."""
        with self._appended:
            self._is_closed = True
            self._appended.notify()
        if self._thread is not None:
            self._thread.join()
        self.flush()

    def _run(self) -> None:
        while True:
            with self._appended:
                self._appended.wait_for(lambda: self._entries or self._is_closed)
                if not self._is_closed:  # batch writes: calls in a loop come in quick succession
                    self._appended.wait_for(lambda: self._is_closed, _BATCH_S)
                if self._is_closed:
                    return
            self.flush()

    def _write(self, key: Key, entries: list[_Entry]) -> None:
        path = self._path(key)
        history = self._load(key)
        if history is None:
            return
        is_new = not path.exists()
        try:
            write_file(path, _document(key, self._with(history, entries)), is_private=True)
        except ConfigError as exc:
            self._report(f"Call history is not saved: {exc}")
        if is_new:
            self._prune()

    def _prune(self) -> None:
        assert self._folder is not None
        with contextlib.suppress(OSError):
            paths = sorted(self._folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
            for path in paths[:-MAX_TOOLS]:
                path.unlink(missing_ok=True)

    def _path(self, key: Key) -> Path:
        assert self._folder is not None
        return self._folder / f"{distinct_stem(*key)}.json"

    def _load(self, key: Key) -> ToolHistory | None:
        """Read a history file.

        Returns None if the file must be left alone, e.g. because a newer version of the app wrote it.
        """
        path = self._path(key)
        try:
            document = read_file(path, _MAX_BYTES)
            version = document.get("version")
            if isinstance(version, int) and version > _VERSION:
                return None
            return _read(document)
        except FileNotFoundError:
            return EMPTY_HISTORY
        except (ConfigError, ValueError) as exc:
            return self._set_aside(path, exc)

    def _set_aside(self, path: Path, reason: Exception) -> ToolHistory | None:
        """Set an unusable file aside; leave one that cannot be accessed where it is."""
        text = reason.summary if isinstance(reason, ConfigError) else f"{path}: {reason}."
        if isinstance(reason.__cause__, OSError):
            self._report(f"{text} The tool's history is not saved.")
            return None
        aside = path.with_name(f"{path.name}.{time.time_ns()}.broken")
        try:
            move_file(path, aside)
        except OSError as exc:
            self._report(f"{text} Renaming the file failed too: {exc}. The tool's history is not saved.")
            return None
        self._report(f"{text} The file was renamed to {aside.name}; the tool's history starts empty.")
        return EMPTY_HISTORY

    def _report(self, sentence: str) -> None:
        """Emit `problem_found`, once per distinct sentence."""
        if sentence not in self._reported:
            self._reported.add(sentence)
            self.problem_found.emit(sentence)

    def _with(self, history: ToolHistory, entries: list[_Entry]) -> ToolHistory:
        last, calls = history.last_text, list(reversed(history.calls))
        for entry in entries:
            last = entry.last if 0 < len(entry.last) <= MAX_LAST_CHARACTERS else last
            if entry.call is not None:
                calls.append(entry.call)
        return ToolHistory(last, tuple(_newest(calls[-self._max_calls :])))


@dataclass(frozen=True, slots=True)
class _Entry:
    """A queued change: the tool's last arguments, and the call if there was one."""

    last: str
    call: RecordedCall | None = None


def _newest(calls: list[RecordedCall]) -> Iterator[RecordedCall]:
    """Yield the newest calls first, as many as fit in a file."""
    remaining = MAX_ALL_CHARACTERS
    for call in reversed(calls):
        remaining -= len(call.text) + len(call.options)
        if remaining < 0:
            return
        yield call


def _document(key: Key, history: ToolHistory) -> JSONObject:
    calls: list[JSON] = [
        {
            "at": call.at_ns,
            "outcome": call.outcome,
            "elapsedNs": call.elapsed_ns,
            "arguments": call.text,
            "options": call.options,
        }
        for call in history.calls
    ]
    server, tool = key
    return {"version": _VERSION, "server": server, "tool": tool, "last": history.last_text, "calls": calls}


def _read(document: JSONObject) -> ToolHistory:
    """Parse a history file. Raises ValueError if it is not one."""
    last, calls = document.get("last"), document.get("calls")
    if not isinstance(last, str) or not isinstance(calls, list):
        raise ValueError("it is not a call history")
    return ToolHistory(last, tuple(_read_call(call) for call in calls))


def _read_call(value: JSON) -> RecordedCall:
    match value:
        case {
            "at": int(at),
            "outcome": str(outcome),
            "elapsedNs": int(elapsed),
            "arguments": str(text),
            **more,
        }:
            options = more.get("options")
            return RecordedCall(at, outcome, elapsed, text, options if isinstance(options, str) else "")
    raise ValueError("it contains an invalid call")


def _arguments_of(text: str) -> JSONObject | None:
    if not text:
        return None
    try:
        arguments = read_exactly(text)
    except JSONError:
        return None
    return arguments if isinstance(arguments, dict) else None


def mark_secrets(arguments: JSONObject) -> JSONObject:
    """Replace secrets in arguments with a mark, for storage. Raises RecursionError.

    A secret is a value under a secret name, or one in a well-known key format. `${name}` is only a
    placeholder and stays.
    """
    return {name: _marked(name, value) for name, value in arguments.items()}


def is_secret_mark(value: JSON) -> bool:
    """True for the mark that replaces a secret."""
    return isinstance(value, dict) and len(value) == 1 and value.get(_MARK) is True


def without_marks(arguments: JSONObject) -> tuple[JSONObject, tuple[str, ...]]:
    """Remove the marks from stored arguments; also return JSON pointers to where they were.

    The pointers refer to `arguments`; a marked array item is removed, so the items after it move up.
    """
    locations = tuple(_locations(arguments, ""))
    if not locations:
        return arguments, ()
    unmarked = _unmarked(arguments)
    assert isinstance(unmarked, dict)
    return unmarked, locations


def _marked(name: str, value: JSON) -> JSON:
    if _is_secret(name, value):
        return SECRET_MARK
    if isinstance(value, dict):
        return mark_secrets(value)
    # Array items have no name; the name of the array is not secret.
    return [_marked("", item) for item in value] if isinstance(value, list) else value


def _is_secret(name: str, value: JSON) -> bool:
    if value is None or isinstance(value, bool) or value in ("", [], {}) or is_reference(value):
        return False
    if isinstance(value, str) and masked_command([value]) == [MASK]:
        return True
    certainty = secrecy(name)
    return certainty is Secrecy.SURE or (certainty is Secrecy.LIKELY and isinstance(value, str))


def _children(value: dict[str, JSON] | list[JSON]) -> Iterator[tuple[str | int, JSON]]:
    yield from value.items() if isinstance(value, dict) else enumerate(value)


def _locations(value: JSON, pointer: str) -> Iterator[str]:
    if is_secret_mark(value):
        yield pointer
    elif isinstance(value, dict | list):
        for key, child in _children(value):
            step = str(key).replace("~", "~0").replace("/", "~1")
            yield from _locations(child, f"{pointer}/{step}")


def _unmarked(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {name: _unmarked(child) for name, child in value.items() if not is_secret_mark(child)}
    if isinstance(value, list):
        return [_unmarked(child) for child in value if not is_secret_mark(child)]
    return value
