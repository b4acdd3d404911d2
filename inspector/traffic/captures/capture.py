"""Open captures, copies of captures, and the folder of automatic captures.

A copy may be made while the capture is being recorded. The folder holds one capture per run, deleted by
age and total size. Copies are written to a temporary file and then moved, so that they exist whole or not
at all.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from inspector.base.errors import RequestCancelled, UserError
from inspector.traffic.captures import file_format
from inspector.traffic.captures.file_format import is_recording, side_files
from inspector.traffic.captures.reader import CaptureReader, FileBodyStore
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import CAPTURE_SUFFIX, RowNote


@contextmanager
def new_sibling_file(target: Path) -> Iterator[Path]:
    """Create a temporary file in the target's folder, to be moved to the target when complete.

    Readable by its owner only; deleted afterwards unless it was moved. Raises OSError. Its name is
    unpredictable, so that in a shared folder no one can place a link there beforehand.
    """
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".mcp-lens-", suffix=".part")
    os.close(handle)
    path = Path(name)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


_MAX_TITLE_LENGTH = 200

OnProgress = Callable[[int, int], object]
IsCancelled = Callable[[], bool]


@dataclass(slots=True)
class Capture:
    """An open capture file.

    Read its content from `log`, on any thread; columns are in memory, bytes are read from the file.
    """

    log: TrafficLog
    path: Path
    title: str
    about: dict[str, str]
    problems: tuple[str, ...]  # sentences
    is_interrupted: bool  # its recorder ended without closing it
    is_recorded_now: bool  # still being recorded: this is its state when it was opened
    is_writable: bool  # remarks can be saved in it
    _body_store: FileBodyStore

    def save_notes(self) -> None:
        """Save new or changed marks and comments to the file. Raises UserError."""
        changed = self.log.notes_changed
        if not changed:
            return
        if not self.is_writable:
            raise UserError(
                f"Marks and comments cannot be saved in {self.path.name}.",
                "Save a copy of it and open that.",
            )
        count = len(changed)
        try:
            _put_notes(self.path, self._changed_notes())
        except sqlite3.Error as exc:
            raise UserError(
                f"Could not save marks and comments in {self.path.name}: {exc}.",
                "Try again, or save a copy of it.",
            ) from exc
        for _ in range(count):
            changed.popleft()

    def save_as(
        self, path: Path, on_progress: OnProgress | None = None, is_cancelled: IsCancelled | None = None
    ) -> None:
        """Save a copy with the current remarks. Raises UserError, and then `path` is unchanged."""
        notes = self._changed_notes()

        def finish(copy: sqlite3.Connection) -> None:
            file_format.put_notes(copy, notes)

        copy_capture(self.path, path, finish, on_progress, is_cancelled)

    def close(self) -> None:
        """Release the file. Bytes requested later are still read from it."""
        self._body_store.rest()

    def _changed_notes(self) -> dict[int, RowNote]:
        return {row: self.log.note(row) for row in self.log.notes_changed.copy()}


def open_capture(
    path: Path, on_progress: OnProgress | None = None, is_cancelled: IsCancelled | None = None
) -> Capture:
    """Read a file's columns into memory, 1,024 rows at a time.

    `on_progress` gets the number of rows read and the total. Raises UserError for a file that is not a
    capture or has nothing readable, and RequestCancelled. A partly damaged file is opened, with `problems`.
    """
    path = Path(path)
    file_format.check_header(path)
    try:
        connection = file_format.connect_to_read(path)
    except file_format.UNREADABLE as exc:
        raise file_format.cannot_open(path, exc) from exc
    try:
        return _read(path, connection, on_progress, is_cancelled)
    except file_format.UNREADABLE as exc:
        raise file_format.cannot_open(path, exc) from exc
    finally:
        connection.close()


def _read(
    path: Path,
    connection: sqlite3.Connection,
    on_progress: OnProgress | None,
    is_cancelled: IsCancelled | None,
) -> Capture:
    if not file_format.has_our_tables(connection):
        raise UserError(
            f"{path.name} does not have the structure of a capture.",
            "Open another copy of it, if you have one.",
        )
    about = file_format.about(connection)

    def on_step(done: int, total: int) -> None:
        if is_cancelled is not None and is_cancelled():
            raise RequestCancelled(f"Opening {path.name} was cancelled.")
        if on_progress is not None:
            on_progress(done, total)

    log = TrafficLog()
    reader = CaptureReader(connection, _size(path), on_step)
    reader.into(log)
    body_store = FileBodyStore(path, log.columns)
    log.set_body_store(body_store)
    is_closed, is_running = "closed_at" in about, is_recording(about)
    return Capture(
        log=log,
        path=path,
        title=about.get("title", "")[:_MAX_TITLE_LENGTH] or path.stem,
        about=about,
        problems=reader.loading.problems(),
        is_interrupted=not is_closed and not is_running,
        is_recorded_now=not is_closed and is_running,
        is_writable=(is_closed or not is_running) and os.access(path, os.W_OK),
        _body_store=body_store,
    )


def _size(path: Path) -> int:
    """Return the file's size, including the journal beside it."""
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def _put_notes(path: Path, notes: dict[int, RowNote]) -> None:
    connection = file_format.connect(path, "rw")
    try:
        file_format.put_notes(connection, notes)
    finally:
        connection.close()


_PAGES_AT_A_TIME = 512  # 4 MiB


def copy_capture(
    source: Path | sqlite3.Connection,
    target: Path,
    finish: Callable[[sqlite3.Connection], object] | None = None,
    on_progress: Callable[[int, int], object] | None = None,
    is_cancelled: Callable[[], bool] | None = None,
) -> None:
    """Copy a capture's current content to a single file that is marked as closed.

    The source may be a connection, for a file that has no name any more. The copy is written beside the
    target and moved into place when complete; `finish` may add to it before. Raises UserError or
    RequestCancelled, and then the target is unchanged.
    """

    def on_step(_status: int, remaining: int, total: int) -> None:
        if is_cancelled is not None and is_cancelled():
            raise RequestCancelled(f"Saving {target.name} was cancelled.")
        if on_progress is not None:
            on_progress(total - remaining, total)

    try:
        with new_sibling_file(target) as temporary:
            _copy(source, temporary, finish, on_step)
            # The journal of an interrupted capture under this name would be applied to the new file.
            _remove(file_format.side_files(target))
            temporary.replace(target)
    except (OSError, sqlite3.Error) as exc:
        reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
        raise UserError(
            f"Could not save {target}: {reason}.", "Choose another location, or free up space there."
        ) from exc


def _remove(files: list[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)


def _copy(
    source: Path | sqlite3.Connection,
    target: Path,
    finish: Callable[[sqlite3.Connection], object] | None,
    on_step: Callable[[int, int, int], None],
) -> None:
    old = source if isinstance(source, sqlite3.Connection) else file_format.connect_to_read(source)
    try:
        new = file_format.connect(target, "rw")
        try:
            # One read transaction for the whole copy: otherwise each commit to the source would restart it.
            old.execute("BEGIN")
            old.execute("SELECT count(*) FROM about").fetchone()
            old.backup(new, pages=_PAGES_AT_A_TIME, progress=on_step)
            new.execute("PRAGMA journal_mode=DELETE")
            if finish is not None:
                finish(new)
            file_format.put_about(new, {"closed_at": str(time.time_ns())})
        finally:
            new.close()
            _remove(file_format.side_files(target))
    finally:
        if old is source:
            old.rollback()  # it belongs to the caller
        else:
            old.close()


_DAY_NS = 24 * 3600 * 1_000_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Retention limits: maximum age in days and maximum total size in bytes."""

    days: int
    bytes: int


@dataclass(frozen=True, slots=True)
class KeptCapture:
    """A capture file in the folder."""

    path: Path
    began: int  # nanoseconds since 1970
    rows: int | None  # None when it cannot be read
    size: int  # bytes, including its side files
    is_interrupted: bool  # not closed, and no longer being recorded
    is_running: bool  # being recorded, by this process or another


class CaptureFolder:
    """The folder of automatic captures.

    Several processes may use it at once: none touches what another is recording.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def new_path(self, now_ns: int) -> Path:
        """Return the path for a new capture. The process id makes it unique."""
        moment = datetime.fromtimestamp(now_ns // 1_000_000_000)
        stem, count = f"{moment:%Y-%m-%d_%H-%M-%S}_{os.getpid()}", 1
        path = self.path / f"{stem}{CAPTURE_SUFFIX}"
        while path.exists():
            count += 1
            path = self.path / f"{stem}_{count}{CAPTURE_SUFFIX}"
        return path

    def kept(self) -> tuple[KeptCapture, ...]:
        """Return all captures, oldest first."""
        try:
            paths = [path for path in self.path.iterdir() if path.suffix == CAPTURE_SUFFIX]
        except OSError:
            return ()
        found = [capture for path in paths if (capture := _inspect_at(path)) is not None]
        return tuple(sorted(found, key=lambda capture: (capture.began, capture.path.name)))

    def interrupted(self) -> tuple[KeptCapture, ...]:
        """Return captures with rows whose recorder did not close them: to be offered, then settled."""
        return tuple(capture for capture in self.kept() if capture.is_interrupted and capture.rows)

    def settle(self, path: Path) -> None:
        """Close an interrupted capture after it was offered. Raises UserError."""
        try:
            connection = file_format.connect(path, "rw")
            try:
                file_format.put_about(connection, {"closed_at": str(time.time_ns()), "interrupted": "yes"})
                with contextlib.suppress(sqlite3.Error):  # being read elsewhere: retry next time
                    file_format.leave_one_file(connection)
            finally:
                connection.close()
        except sqlite3.Error as exc:
            raise file_format.cannot_open(path, exc) from exc

    def delete(self, path: Path) -> None:
        """Delete a capture and its side files. Raises UserError."""
        capture = _inspect_at(path)
        if capture is not None and capture.is_running:
            raise UserError(f"{path.name} is being recorded.", "Quit the program that records it first.")
        try:
            for file in _files_of(path):  # the capture first: its side files are useless without it
                file.unlink(missing_ok=True)
        except OSError as exc:
            raise UserError(
                f"Could not delete {path}: {exc.strerror or exc}.", "Check the folder's permissions."
            ) from exc

    def prune(self, limits: Limits, now_ns: int, keep: Collection[Path] = ()) -> tuple[Path, ...]:
        """Delete captures beyond the limits, oldest first, and empty ones; return what was deleted.

        Skips captures that are being recorded, interrupted ones that are not settled, and those in `keep`
        (real paths of open captures).
        """
        kept = self.kept()
        total, oldest, deleted = sum(one.size for one in kept), now_ns - limits.days * _DAY_NS, []
        for capture in kept:
            is_due = capture.began < oldest or total > limits.bytes or capture.rows == 0
            if is_due and _may_go(capture) and capture.path.resolve() not in keep:
                with contextlib.suppress(UserError):  # keep it
                    self.delete(capture.path)
                    deleted.append(capture.path)
                    total -= capture.size
        return tuple(deleted)


def _may_go(capture: KeptCapture) -> bool:
    return not capture.is_running and not (capture.is_interrupted and capture.rows)


def _files_of(path: Path) -> list[Path]:
    return [path, *side_files(path)]


def _inspect_at(path: Path) -> KeptCapture | None:
    """Return what is known of a file; None if it no longer exists."""
    try:
        size = sum(file.stat().st_size for file in _files_of(path) if file.exists())
        modified = path.stat().st_mtime_ns
    except OSError:
        return None
    about, rows = _read_capturefolder(path)
    is_open = rows is not None and "closed_at" not in about
    is_running = is_open and is_recording(about)
    return KeptCapture(
        path=path,
        began=_number(about.get("began_at", "")) or modified,
        rows=rows,
        size=size,
        is_interrupted=is_open and not is_running,
        is_running=is_running,
    )


def _read_capturefolder(path: Path) -> tuple[dict[str, str], int | None]:
    try:
        file_format.check_header(path)
        connection = file_format.connect_to_read(path)
        try:
            return file_format.about(connection), file_format.row_count(connection)
        finally:
            connection.close()
    except (UserError, *file_format.UNREADABLE):
        return {}, None


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 20 else 0
