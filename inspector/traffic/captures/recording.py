"""Live recording of a log to a capture file, on a background thread."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import inspector
from inspector.base.errors import UserError
from inspector.base.signals import Signal
from inspector.base.units import size as size_text
from inspector.traffic.captures import file_format
from inspector.traffic.captures.capture import copy_capture
from inspector.traffic.captures.file_format import this_process
from inspector.traffic.captures.reader import FileBodyStore
from inspector.traffic.captures.writer import LogWriter, Run, WriteResult
from inspector.traffic.log import TrafficLog
from inspector.traffic.masking.at_rest import AtRestMasker

_log = logging.getLogger(__name__)

GATHER_S = 0.1  # what arrives within this time is written together
RETRY_S = 3.0
_HURRY_ROWS = 8 * 1024
_NEVER = 1 << 62  # row count
_MEMORY_BYTES = 16 * 1024 * 1024  # stored rows that stay in memory, because the last ones are the most viewed
_FAR_BEHIND = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class RecordingState:
    """State of a recording.

    `reason` and `next_step` are sentences, if there is something to say.
    """

    path: Path
    rows: int = 0  # in the file
    bytes_written: int = 0
    is_paused: bool = False  # nothing is written; everything stays in memory, and writing is retried
    is_closed: bool = False
    reason: str = ""
    next_step: str = ""


class Recording:
    """Records a log to a capture file, on a background thread.

    Created on any thread; from then on `path` follows `log`, at most `GATHER_S` and one write behind. The
    log's writer never waits for the disk. Bytes that are in the file are released from memory, except for
    the last ones. The file contains no secrets (`masking.at_rest`): only the log has them, while this process
    runs. If the disk is full or gone, recording pauses and resumes by itself when possible.

    Signals:
        changed: `state` changed; carries it. On the recorder's thread: be quick.
    """

    def __init__(self, log: TrafficLog, path: Path, title: str = "", app: str = "") -> None:
        """Create the file. Raises UserError if that fails."""
        self.changed: Signal[RecordingState] = Signal()
        self.state = RecordingState(path)
        self._log = log
        self._path = path
        self._connection = _created(path, title, app or f"mcp-lens {inspector.__version__}")
        self._file = os.stat(path)
        self._at_rest = AtRestMasker(log.credentials)
        self._writer = LogWriter(log, self._connection, at_rest=self._at_rest)
        self._body_store = FileBodyStore(path, log.columns, self._at_rest.restored)
        self._in_memory: deque[Run] = deque()  # stored rows whose bytes are still in memory
        self._memory = 0
        self._noted_rows: set[int] = set()
        self._write_lock = threading.RLock()
        self._wake, self._hurry = threading.Event(), threading.Event()
        self._hurry_at = _HURRY_ROWS
        self._flushed = threading.Condition()
        # Tickets of `flush`: the last one given out, written, and failed.
        self._requested = self._written = self._failed = 0
        log.set_body_store(self._body_store)
        self._start()

    def _start(self) -> None:
        self._is_closing = False
        self._log.grew.connect(self._on_grew)
        self._log.noted.connect(self._on_noted)
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._thread.start()
        self._wake.set()

    @property
    def path(self) -> Path:
        return self._path

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything published before is in the file; False if that failed."""
        with self._flushed:
            self._requested = ticket = self._requested + 1
            self._wake_now()
            self._flushed.wait_for(lambda: self._is_over(ticket), timeout)
            return not self._writer.is_behind() if self.state.is_closed else self._written >= ticket

    def _is_over(self, ticket: int) -> bool:
        return self.state.is_closed or max(self._written, self._failed) >= ticket

    def close(self) -> bool:
        """Write the rest and leave one file that is marked as closed; False if that failed.

        The log remains readable.
        """
        self._log.grew.disconnect(self._on_grew)
        self._log.noted.disconnect(self._on_noted)
        self._is_closing = True
        self._wake_now()
        self._thread.join()
        return not self._writer.is_behind()

    def resume(self) -> None:
        """Continue after `close` in the same file, with what was added in between.

        The log's released rows are nowhere else. Raises UserError.
        """
        try:
            if not self._file_exists():
                raise _not_found(self._path)
            self._connection = file_format.reopen(self._path)
        except (OSError, sqlite3.Error) as exc:
            raise UserError(*_error_texts(exc, self._path)) from exc
        self._writer = LogWriter(self._log, self._connection, self._writer.at, self._at_rest)
        self._set_state(replace(self.state, is_closed=False))
        self._start()

    def save_as(
        self,
        path: Path,
        on_progress: Callable[[int, int], object] | None = None,
        is_cancelled: Callable[[], bool] | None = None,
    ) -> None:
        """Save a copy of everything so far, while recording goes on. Not for the window's thread.

        Also works while the recording is paused: what is only in memory is added to the copy. Raises
        UserError or RequestCancelled, and then `path` is unchanged.
        """
        if self._file_exists() and path.exists() and os.path.samefile(path, self._path):
            raise UserError(f"{path.name} is the capture being recorded.", "Choose another name.")
        if self.flush() and self._file_exists():
            copy_capture(self._path, path, None, on_progress, is_cancelled)
            return
        # What the copy lacks is added to it at the end, so the file must not grow meanwhile.
        with self._write_lock:
            # A deleted file still exists while it is open.
            source = self._path if self._file_exists() else self._connection
            copy_capture(source, path, self._finish_copy, on_progress, is_cancelled)

    def _on_grew(self, length: int) -> None:
        # Runs for every batch that arrives: must cost next to nothing.
        if length >= self._hurry_at:
            self._hurry_at = _NEVER
            self._wake_now()
        elif not self._wake.is_set():
            self._wake.set()

    def _on_noted(self, _row: int) -> None:
        self._wake.set()

    def _wake_now(self) -> None:
        self._hurry.set()
        self._wake.set()

    def _run(self) -> None:
        while not self._is_closing:
            self._wake.wait()
            self._hurry.wait(RETRY_S if self.state.is_paused else GATHER_S)
            self._wake.clear()
            self._hurry.clear()
            self._catch_up()
        self._catch_up()
        self._finish()

    def _catch_up(self) -> None:
        ticket = self._requested
        try:
            is_first = True
            while is_first or self._writer.is_behind():
                self._write()
                is_first = False
        except Exception as exc:  # no error may end the recording
            self._hurry_at = _NEVER  # traffic or not: a retry takes time and will not help for a while
            self._pause(exc)
            self._wake.set()
            self._complete(failed=ticket)
        else:
            self._hurry_at = self._writer.at.rows + _HURRY_ROWS
            self._complete(written=ticket)

    def _write(self) -> None:
        waiting = self._log.notes_changed
        while waiting:
            self._noted_rows.add(waiting.popleft())
        noted_rows = frozenset(self._noted_rows)
        if not noted_rows and not self._writer.is_behind() and not self.state.is_paused:
            return
        if not self._file_exists():
            raise _not_found(self._path)
        with self._write_lock:
            written = self._writer.write(noted_rows)
        self._noted_rows -= noted_rows
        self._release(written)
        self._report(written)

    def _file_exists(self) -> bool:
        """True if the file still exists: a deleted file could be written to without being seen."""
        try:
            return os.path.samestat(os.stat(self._path), self._file)
        except OSError:
            return False

    def _release(self, written: WriteResult) -> None:
        for row, exchange in written.exchanges.items():
            self._body_store.forget_http(row)
            if exchange.is_over and self._at_rest.can_restore(exchange):
                self._log.release_http(row, exchange)
                self._writer.forget(row)
        # Rows whose bytes in the file are masked stay in memory: there are few of them.
        exact = [run for run in written.runs if not run.is_masked]
        self._in_memory.extend(exact)
        self._memory += sum(run.size for run in exact)
        while self._memory > _MEMORY_BYTES:
            run = self._in_memory.popleft()
            self._log.release_bodies(run.first, run.last)
            self._memory -= run.size

    def _finish(self) -> None:
        with contextlib.suppress(sqlite3.Error), self._write_lock:
            if not self._writer.is_behind():
                file_format.put_about(self._connection, {"closed_at": str(time.time_ns())})
            self._body_store.close_idle()
            file_format.merge_wal(self._connection)
        self._connection.close()
        self._set_state(replace(self.state, is_closed=True))
        self._complete()

    def _finish_copy(self, copy: sqlite3.Connection) -> None:
        """Add what the file lacks to a copy of it."""
        with self._write_lock:
            writer = LogWriter(self._log, copy, self._writer.at, self._at_rest)
            try:
                noted_rows = {*self._noted_rows, *self._log.notes_changed.copy()}
                while noted_rows or writer.is_behind():
                    writer.write(noted_rows)
                    noted_rows = set()
            finally:
                self._writer.roll_back()

    def _report(self, written: WriteResult) -> None:
        at = self._writer.at.rows
        waiting = sum(self._log.columns.kept[at : len(self._log)]) if self._writer.is_behind() else 0
        is_far = waiting > _FAR_BEHIND
        self._set_state(
            RecordingState(
                path=self._path,
                rows=at,
                bytes_written=self.state.bytes_written + written.size,
                reason=f"The disk is slower than the traffic: {size_text(waiting)} are waiting in memory."
                if is_far
                else "",
                next_step="Reduce the traffic of the servers, or store captures on a faster disk."
                if is_far
                else "",
            )
        )

    def _pause(self, exc: Exception) -> None:
        reason, next_step = _error_texts(exc, self._path)
        self._set_state(replace(self.state, is_paused=True, reason=reason, next_step=next_step))

    def _set_state(self, state: RecordingState) -> None:
        if state == self.state:
            return
        self.state = state
        try:
            self.changed.emit(state)
        except Exception:  # a bug in a receiver must not end the recording
            _log.exception("a receiver of the recording state failed")

    def _complete(self, written: int = 0, failed: int = 0) -> None:
        with self._flushed:
            self._written = max(self._written, written)
            self._failed = max(self._failed, failed)
            self._flushed.notify_all()


def _created(path: Path, title: str, app: str) -> sqlite3.Connection:
    about = {"app": app, "title": title, "began_at": str(time.time_ns()), **this_process()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return file_format.create(path, about)
    except (OSError, sqlite3.Error) as exc:
        raise UserError(*_error_texts(exc, path)) from exc


def _not_found(path: Path) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))


def _error_texts(exc: Exception, path: Path) -> tuple[str, str]:
    """Return the cause and the next step."""
    if getattr(exc, "sqlite_errorname", "") == "SQLITE_FULL" or getattr(exc, "errno", 0) == errno.ENOSPC:
        return (
            "The disk is full: traffic stays in memory only.",
            f"Free up space on the disk that has {path.parent}.",
        )
    if isinstance(exc, FileNotFoundError):
        return (
            f"The capture {path} no longer exists: traffic stays in memory only.",
            "Put it back, or save a copy elsewhere.",
        )
    if isinstance(exc, FileExistsError) and exc.filename == str(path):
        return f"The file {path} already exists.", "Choose another name."
    reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
    return f"Could not write {path}: {reason}.", f"Check the disk and the permissions of {path.parent}."
