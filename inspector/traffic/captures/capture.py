"""Opening and copying of captures.

A capture may be copied while it is being recorded. A copy is written to a temporary file and then moved,
so that it exists whole or not at all.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from inspector.base.errors import RequestCancelled, UserError
from inspector.traffic.captures import file_format
from inspector.traffic.captures.file_format import is_recording
from inspector.traffic.captures.reader import CaptureReader, FileBodyStore
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RowNote

_MAX_TITLE_LENGTH = 200

_PAGES_AT_A_TIME = 512  # 4 MiB

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
    is_interrupted: bool  # the recording process ended without closing it
    is_recorded_now: bool  # still being recorded: this is its state when it was opened
    is_writable: bool  # notes can be saved in it
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
            _write_notes(self.path, self._changed_notes())
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
        """Save a copy with the current notes. Raises UserError, and then `path` is unchanged."""
        notes = self._changed_notes()

        def finish(copy: sqlite3.Connection) -> None:
            file_format.put_notes(copy, notes)

        copy_capture(self.path, path, finish, on_progress, is_cancelled)

    def close(self) -> None:
        """Release the file. Bytes requested later are still read from it."""
        self._body_store.close_idle()

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
        raise file_format.open_error(path, exc) from exc
    try:
        return _read(path, connection, on_progress, is_cancelled)
    except file_format.UNREADABLE as exc:
        raise file_format.open_error(path, exc) from exc
    finally:
        connection.close()


def _read(
    path: Path,
    connection: sqlite3.Connection,
    on_progress: OnProgress | None,
    is_cancelled: IsCancelled | None,
) -> Capture:
    if not file_format.has_valid_schema(connection):
        raise UserError(
            f"{path.name} does not have the structure of a capture.",
            "Open another copy of it, if you have one.",
        )
    about = file_format.read_about(connection)

    def on_step(done: int, total: int) -> None:
        if is_cancelled is not None and is_cancelled():
            raise RequestCancelled(f"Opening {path.name} was cancelled.")
        if on_progress is not None:
            on_progress(done, total)

    log = TrafficLog()
    reader = CaptureReader(connection, _size(path), on_step)
    reader.read_into(log)
    body_store = FileBodyStore(path, log.columns)
    log.set_body_store(body_store)
    is_closed, is_recorded_now = "closed_at" in about, is_recording(about)
    return Capture(
        log=log,
        path=path,
        title=about.get("title", "")[:_MAX_TITLE_LENGTH] or path.stem,
        about=about,
        problems=reader.damage.problems(),
        is_interrupted=not is_closed and not is_recorded_now,
        is_recorded_now=not is_closed and is_recorded_now,
        is_writable=(is_closed or not is_recorded_now) and os.access(path, os.W_OK),
        _body_store=body_store,
    )


def _size(path: Path) -> int:
    """Return the file's size, including the journal beside it."""
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def _write_notes(path: Path, notes: dict[int, RowNote]) -> None:
    connection = file_format.connect(path, "rw")
    try:
        file_format.put_notes(connection, notes)
    finally:
        connection.close()


def copy_capture(
    source: Path | sqlite3.Connection,
    target: Path,
    finish: Callable[[sqlite3.Connection], object] | None = None,
    on_progress: OnProgress | None = None,
    is_cancelled: IsCancelled | None = None,
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


def _remove(files: list[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)


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
