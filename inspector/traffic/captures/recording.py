"""Live recording of a log to a capture file, on a background thread.

A recording with a `Rollover` is bounded: it continues in a new file when the current one is large enough,
and drops the oldest rows from memory. `MemoryLimit` bounds a log that is not recorded.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import inspector
from inspector.base.errors import UserError
from inspector.base.signals import Signal
from inspector.base.units import size as size_text
from inspector.traffic.captures import file_format
from inspector.traffic.captures.capture import copy_capture
from inspector.traffic.captures.file_format import SEGMENT_ROWS, this_process
from inspector.traffic.captures.reader import BodyStores, FileBodyStore
from inspector.traffic.captures.writer import LogWriter, Progress, Run, WriteResult
from inspector.traffic.columns import Origin
from inspector.traffic.log import TrafficLog
from inspector.traffic.masking.at_rest import AtRestMasker
from inspector.traffic.records import HttpExchange

_log = logging.getLogger(__name__)

GATHER_S = 0.1  # what arrives within this time is written together
RETRY_S = 3.0
_HURRY_ROWS = 8 * 1024
_NEVER = 1 << 62  # row count
_MEMORY_BYTES = 16 * 1024 * 1024  # stored rows that stay in memory, because the last ones are the most viewed
_FAR_BEHIND = 256 * 1024 * 1024
ROWS_IN_MEMORY = 1_000_000
_UNRECORDED_BYTES = 256 * 1024 * 1024
_UNRECORDED_EXCHANGES = 50_000
_MIN_UNRECORDED_ROWS = 1_000


@dataclass(slots=True)
class Rollover:
    """When a recording continues in a new file, and where.

    `max_bytes` may be changed at any time. A file may exceed the limits by one transaction.
    """

    next_path: Callable[[], Path]
    max_bytes: int
    max_rows: int = 500_000
    rows_in_memory: int = ROWS_IN_MEMORY  # at least; up to an eighth more


@dataclass(frozen=True, slots=True)
class EarlierCapture:
    """A complete file of a recording that continued in a new one."""

    path: Path
    first: int  # row of the log
    last: int  # exclusive


@dataclass(frozen=True, slots=True)
class RecordingState:
    """State of a recording.

    `reason` and `next_step` are sentences, if there is something to say.
    """

    path: Path
    rows: int = 0  # of the log that were written
    bytes_written: int = 0
    is_paused: bool = False  # nothing is written; everything stays in memory, and writing is retried
    is_closed: bool = False
    reason: str = ""
    next_step: str = ""
    earlier: tuple[EarlierCapture, ...] = ()  # those that still exist, oldest first
    first: int = 0  # row of the log: those before it were deleted with their capture
    began: int = 0  # row of the log: those before it were never recorded


@dataclass(frozen=True, slots=True, eq=False)
class _EarlierFile:
    """A complete file of the recording; some of its rows may still change."""

    path: Path
    first: int
    last: int  # exclusive
    writer: LogWriter
    body_store: FileBodyStore

    def start_of_segment(self, row: int) -> int:
        return row - (row - self.first) % SEGMENT_ROWS


class Recording:
    """Records a log to a capture file, on a background thread.

    Created on any thread; from then on `path` follows `log`, at most `GATHER_S` and one write behind. The
    log's writer never waits for the disk. Bytes that are in the file are released from memory, except for
    the last ones. The file contains no secrets (`masking.at_rest`): only the log has them, while this process
    runs. If the disk is full or gone, recording pauses and resumes by itself when possible.

    Signals:
        changed: `state` changed; carries it. On the recorder's thread: be quick.
        rolled_over: The recording continues in a new file; carries its path. On the recorder's thread.
    """

    def __init__(
        self, log: TrafficLog, path: Path, title: str = "", app: str = "", rollover: Rollover | None = None
    ) -> None:
        """Create the file. Raises UserError if that fails."""
        self.changed: Signal[RecordingState] = Signal()
        self.rolled_over: Signal[Path] = Signal()
        self._began = log.first  # earlier rows have left memory
        self.state = RecordingState(path, self._began, first=self._began, began=self._began)
        self._log = log
        self._path = path
        self._title, self._app = title, app or f"mcp-lens {inspector.__version__}"
        self._rollover = rollover
        self._connection = _created(path, self._title, self._app)
        self._file = os.stat(path)
        self._at_rest = AtRestMasker(log.credentials)
        origin = Origin(self._began)
        log.columns.drop_positions(())  # of an earlier recording
        self._writer = LogWriter(log, self._connection, Progress(origin.row), self._at_rest, origin)
        self._body_store = FileBodyStore(path, log.columns, self._at_rest.restored, origin=origin)
        self._body_stores = BodyStores(self._body_store)
        self._earlier: tuple[_EarlierFile, ...] = ()
        self._dropped = self._began  # rows, as requested from the log
        self._in_memory: deque[Run] = deque()  # stored rows whose bytes are still in memory
        self._memory = 0
        self._noted_rows: set[int] = set()
        self._write_lock = threading.RLock()
        self._wake, self._hurry = threading.Event(), threading.Event()
        self._hurry_at = _HURRY_ROWS
        self._flushed = threading.Condition()
        # Tickets of `flush`: the last one given out, written, and failed.
        self._requested = self._written = self._failed = 0
        log.set_body_store(self._body_stores)
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
        writer = self._writer
        self._writer = LogWriter(self._log, self._connection, writer.at, self._at_rest, writer.origin)
        self._set_state(replace(self.state, is_closed=False))
        self._start()

    def save_as(
        self,
        path: Path,
        on_progress: Callable[[int, int], object] | None = None,
        is_cancelled: Callable[[], bool] | None = None,
    ) -> None:
        """Save a copy of the current file, while recording goes on. Not for the window's thread.

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
        first = self._writer.origin.row
        if self._earlier:
            self._write_earlier(noted_rows)
        with self._write_lock:
            written = self._writer.write({row for row in noted_rows if row >= first})
        self._noted_rows -= noted_rows
        self._release(written)
        self._report(written.size)
        if self._rollover is not None:
            self._roll_over_if_due(self._rollover)
            self._drop_if_due(self._rollover)

    def _write_earlier(self, noted_rows: Collection[int]) -> None:
        """Update complete files: with responses that came after their request's file was complete."""
        at, touched = self._writer.at.touched, len(self._log.touched)
        changed = {row for row in self._log.touched[at:touched] if 0 <= row < self._writer.origin.row}
        for file in self._earlier if changed or noted_rows else ():
            rows = {row for row in changed if file.first <= row < file.last}
            noted = {row for row in noted_rows if file.first <= row < file.last}
            if not rows and not noted:
                continue
            # Segments that are no longer complete in memory stay as they are.
            complete = {row for row in rows if file.start_of_segment(row) >= self._dropped}
            try:
                with closing(file_format.connect(file.path, "rw")) as connection:
                    exchanges = file.writer.write_changes(connection, complete, noted)
            except sqlite3.Error:
                _log.warning("could not update %s", file.path.name, exc_info=True)
            else:
                self._release_exchanges(exchanges, file.writer, file.body_store)

    def _roll_over_if_due(self, rollover: Rollover) -> None:
        at = self._writer.at
        if at.rows - self._writer.origin.row < rollover.max_rows and self._size() < rollover.max_bytes:
            return
        path = rollover.next_path()
        try:
            connection = _created(path, self._title, self._app)
        except UserError:  # tried again after the next write; meanwhile the current file is used
            _log.warning("could not create the next capture", exc_info=True)
            return
        with self._write_lock:
            old = _EarlierFile(self._path, self._writer.origin.row, at.rows, self._writer, self._body_store)
            origin = Origin(at.rows, at.chunks)
            self._close_file(is_complete=True)
            self._path, self._file, self._connection = path, os.stat(path), connection
            at = Progress(rows=at.rows, chunks=at.chunks, touched=at.touched)
            self._writer = LogWriter(self._log, connection, at, self._at_rest, origin)
            restore, columns = self._at_rest.restored, self._log.columns
            self._body_store = FileBodyStore(path, columns, restore, origin=origin)
            self._body_stores.add(self._body_store)
            self._earlier = (*self._earlier, old)
        self._report()
        self.rolled_over.emit(path)

    def _size(self) -> int:
        """Return the size of the current file with its journal."""
        total = 0
        for file in (self._path, *file_format.journals(self._path)):
            with contextlib.suppress(OSError):
                total += file.stat().st_size
        return total

    def _drop_if_due(self, rollover: Rollover) -> None:
        """Drop the oldest rows from memory if there are too many, and what belongs to dropped ones."""
        at, log = self._writer.at, self._log
        if at.rows - self._dropped > rollover.rows_in_memory * 9 // 8:
            self._request_drop(at.rows - rollover.rows_in_memory)
        if log.columns.chunk.first < log.first:
            log.columns.drop_positions(log.pinned)
            for file in self._earlier:
                if file.last <= log.first:
                    self._body_stores.remove(file.body_store)
            stored = self._first_stored()
            for row, exchange in log.http_in_memory().items():
                if row < stored and exchange.is_over:  # its file was deleted
                    log.release_http(row, exchange)

    def _request_drop(self, row: int) -> None:
        if row > self._dropped:
            self._dropped = row
            maximum = self._rollover.rows_in_memory if self._rollover is not None else 0
            self._log.request_drop(row, self._writer.at.touched - maximum)

    def forget_files(self, paths: Collection[Path]) -> None:
        """Drop the rows of earlier files that were deleted. From any thread."""
        with self._write_lock:
            deleted = [file for file in self._earlier if file.path in paths]
            self._earlier = tuple(file for file in self._earlier if file not in deleted)
        if deleted:
            self._request_drop(max(file.last for file in deleted))
            first, earlier = self._first_stored(), self._earlier_captures()
            self._set_state(replace(self.state, earlier=earlier, first=first))

    def _first_stored(self) -> int:
        return self._earlier[0].first if self._earlier else self._writer.origin.row

    def _earlier_captures(self) -> tuple[EarlierCapture, ...]:
        return tuple(EarlierCapture(file.path, file.first, file.last) for file in self._earlier)

    def _file_exists(self) -> bool:
        """True if the file still exists: a deleted file could be written to without being seen."""
        try:
            return os.path.samestat(os.stat(self._path), self._file)
        except OSError:
            return False

    def _release(self, written: WriteResult) -> None:
        self._release_exchanges(written.exchanges, self._writer, self._body_store)
        # Rows whose bytes in the file are masked stay in memory: there are few of them.
        exact = [run for run in written.runs if not run.is_masked]
        self._in_memory.extend(exact)
        self._memory += sum(run.size for run in exact)
        while self._memory > _MEMORY_BYTES:
            run = self._in_memory.popleft()
            self._log.release_bodies(run.first, run.last)
            self._memory -= run.size

    def _release_exchanges(
        self, stored: Mapping[int, HttpExchange], writer: LogWriter, body_store: FileBodyStore
    ) -> None:
        for row, exchange in stored.items():
            body_store.forget_http(row)
            if exchange.is_over and self._at_rest.can_restore(exchange):
                self._log.release_http(row, exchange)
                writer.forget(row)

    def _close_file(self, *, is_complete: bool) -> None:
        with contextlib.suppress(sqlite3.Error), self._write_lock:
            if is_complete:
                file_format.put_about(self._connection, {"closed_at": str(time.time_ns())})
            self._body_store.close_idle()
            file_format.merge_wal(self._connection)
        self._connection.close()

    def _finish(self) -> None:
        self._close_file(is_complete=not self._writer.is_behind())
        self._set_state(replace(self.state, is_closed=True))
        self._complete()

    def _finish_copy(self, copy: sqlite3.Connection) -> None:
        """Add what the file lacks to a copy of it."""
        with self._write_lock:
            at, origin = self._writer.at, self._writer.origin
            writer = LogWriter(self._log, copy, at, self._at_rest, origin)
            try:
                changed = {*self._noted_rows, *self._log.notes_changed.copy()}
                noted_rows = {row for row in changed if row >= origin.row}
                while noted_rows or writer.is_behind():
                    writer.write(noted_rows)
                    noted_rows = set()
            finally:
                self._writer.roll_back()

    def _report(self, size: int = 0) -> None:
        at = self._writer.at.rows
        waiting = sum(self._log.columns.kept[at : len(self._log)]) if self._writer.is_behind() else 0
        is_far = waiting > _FAR_BEHIND
        self._set_state(
            RecordingState(
                path=self._path,
                rows=at,
                bytes_written=self.state.bytes_written + size,
                reason=f"The disk is slower than the traffic: {size_text(waiting)} are waiting in memory."
                if is_far
                else "",
                next_step="Reduce the traffic of the servers, or store captures on a faster disk."
                if is_far
                else "",
                earlier=self._earlier_captures(),
                first=self._first_stored(),
                began=self._began,
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


class MemoryLimit:
    """Drops the oldest rows of a log that is not recorded, so that its memory is bounded.

    The last rows always stay, however large they are.
    """

    def __init__(
        self,
        log: TrafficLog,
        max_rows: int = ROWS_IN_MEMORY,
        max_bytes: int = _UNRECORDED_BYTES,
        max_exchanges: int = _UNRECORDED_EXCHANGES,
    ) -> None:
        self._log = log
        self._max_rows = max_rows
        self._max_bytes = max_bytes
        self._max_exchanges = max_exchanges
        self._counted = self._first = 0  # rows
        self._bytes = 0  # of the rows between
        self._is_on = False

    def start(self) -> None:
        """Apply the limit from now on. Bytes of earlier rows do not count: a recording released them."""
        if not self._is_on:
            self._is_on = True
            self._counted = self._first = len(self._log)
            self._bytes = 0
            self._log.grew.connect(self._on_grew)

    def stop(self) -> None:
        if self._is_on:
            self._is_on = False
            self._log.grew.disconnect(self._on_grew)

    def _on_grew(self, length: int) -> None:
        # Runs for every batch that arrives: must cost next to nothing.
        log, kept = self._log, self._log.columns.kept
        self._bytes += sum(kept[self._counted : length])
        self._counted = length
        is_full = length - log.first > self._max_rows * 5 // 4 or self._bytes > self._max_bytes
        if is_full or log.http_count > self._max_exchanges:
            self._drop(length)

    def _drop(self, length: int) -> None:
        """Drop so many rows that a quarter of the limit is free again."""
        log, kept = self._log, self._log.columns.kept
        exchanges = log.http_in_memory()
        first = max(self._first, log.first, length - self._max_rows)
        if len(exchanges) > self._max_exchanges:
            first = max(first, sorted(exchanges)[-self._max_exchanges * 3 // 4])
        first = min(first, max(log.first, length - _MIN_UNRECORDED_ROWS))
        self._bytes -= sum(kept[self._first : first])
        while self._bytes > self._max_bytes * 3 // 4 and first < length - _MIN_UNRECORDED_ROWS:
            self._bytes -= kept[first]
            first += 1
        self._first = max(self._first, first)
        for row, exchange in exchanges.items():
            if row < first and exchange.is_over:
                log.release_http(row, exchange)
        if first > log.first:
            log.request_drop(first, len(log.touched) - self._max_rows)


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
