"""Opening and copying of captures.

A capture may be copied while it is being recorded. A copy is written to a temporary file and then moved,
so that it exists whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from inspector.base.atomic_file import AtomicFile, replace_file
from inspector.base.errors import RequestCancelled, UserError
from inspector.traffic.captures import file_format
from inspector.traffic.captures.file_format import is_recording, json_value
from inspector.traffic.captures.folder import CaptureFolder
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
    is_writable: bool  # notes can be saved
    _body_store: FileBodyStore
    _notes: StoredNotes | None  # of a capture from elsewhere; None for one of ours

    def save_notes(self) -> None:
        """Save new or changed marks and comments. Raises UserError.

        In the file itself if it is one of ours, otherwise in our own folder.
        """
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
            if self._notes is None:
                _write_notes(self.path, self._changed_notes())
            else:
                self._notes.save(self._changed_notes())
        except (OSError, sqlite3.Error) as exc:
            reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
            raise UserError(
                f"Could not save the marks and comments of {self.path.name}: {reason}.",
                "Try again, or save a copy of it.",
            ) from exc
        for _ in range(count):
            changed.popleft()

    def save_as(
        self, path: Path, on_progress: OnProgress | None = None, is_cancelled: IsCancelled | None = None
    ) -> None:
        """Save a copy with the current notes. Raises UserError, and then `path` is unchanged."""
        notes = self._changed_notes()
        if self._notes is not None:
            notes = self._notes.notes | notes

        def finish(copy: sqlite3.Connection) -> None:
            file_format.put_notes(copy, notes)

        if self._notes is None:
            copy_capture(self.path, path, finish, on_progress, is_cancelled)
            return
        with closing(_connected(self.path, file_format.connect_immutable)) as source:
            copy_capture(source, path, finish, on_progress, is_cancelled)

    def close(self) -> None:
        """Release the file. Bytes requested later are still read from it."""
        self._body_store.close_idle()

    def _changed_notes(self) -> dict[int, RowNote]:
        return {row: self.log.note(row) for row in self.log.notes_changed.copy()}


class StoredNotes:
    """Marks and comments on a capture from elsewhere, stored in our own folder.

    The file is found by the capture's content, so that a capture that was moved keeps its notes. Without
    a folder nothing is stored.
    """

    def __init__(self, folder: CaptureFolder | None, about: dict[str, str], rows: int) -> None:
        identity = hashlib.sha256(json.dumps([about, rows], sort_keys=True).encode()).hexdigest()
        self._path = folder.notes_path(identity) if folder is not None else None
        self.notes = self._load(rows)  # including removed ones, which are empty

    def _load(self, rows: int) -> dict[int, RowNote]:
        try:
            value = json_value(self._path.read_text()) if self._path is not None else None
        except (OSError, UnicodeDecodeError):
            return {}
        stored = value.get("notes") if isinstance(value, dict) else None
        notes = {}
        for row, note in stored.items() if isinstance(stored, dict) else ():
            match note:
                case [bool() as is_marked, str() as comment] if _is_row(row, rows):
                    notes[int(row)] = RowNote(is_marked, comment)
        return notes

    @property
    def is_writable(self) -> bool:
        return self._path is not None

    def save(self, changed: dict[int, RowNote]) -> None:
        """Add these notes to the stored ones. Raises OSError."""
        assert self._path is not None
        notes = self.notes | changed
        values = {str(row): (note.is_marked, note.comment) for row, note in sorted(notes.items())}
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(self._path, json.dumps({"notes": values}).encode(), is_private=True)
        self.notes = notes


def _is_row(text: str, rows: int) -> bool:
    return text.isdecimal() and len(text) < 20 and int(text) < rows


def open_capture(
    path: Path,
    on_progress: OnProgress | None = None,
    is_cancelled: IsCancelled | None = None,
    folder: CaptureFolder | None = None,
) -> Capture:
    """Read a file's columns into memory, 1,024 rows at a time.

    `on_progress` gets the number of rows read and the total. `folder` has our own captures: a file from
    elsewhere is never written to, a journal beside it is ignored, and its notes are stored in the folder.
    Raises UserError for a file that is not a capture or has nothing readable, and RequestCancelled. A partly
    damaged file is opened, with `problems`.
    """
    path = Path(path)
    file_format.check_header(path)
    is_own = folder is not None and folder.owns(path)
    connect = file_format.connect_to_read if is_own else file_format.connect_immutable
    with closing(_connected(path, connect)) as connection:
        try:
            return _read(path, connection, on_progress, is_cancelled, is_own, folder)
        except file_format.UNREADABLE as exc:
            raise file_format.open_error(path, exc) from exc


def _connected(path: Path, connect: Callable[[Path], sqlite3.Connection]) -> sqlite3.Connection:
    try:
        return connect(path)
    except file_format.UNREADABLE as exc:
        raise file_format.open_error(path, exc) from exc


def _read(
    path: Path,
    connection: sqlite3.Connection,
    on_progress: OnProgress | None,
    is_cancelled: IsCancelled | None,
    is_own: bool,
    folder: CaptureFolder | None,
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
    reader = CaptureReader(connection, _size(path, is_own), on_step)
    reader.read_into(log)
    stored = None if is_own else StoredNotes(folder, about, len(log))
    if stored is not None:
        log.restore_notes(stored.notes)
    body_store = FileBodyStore(
        path,
        log.columns,
        connect=file_format.connect_to_read if is_own else file_format.connect_immutable,
    )
    log.set_body_store(body_store)
    is_closed, is_recorded_now = "closed_at" in about, is_recording(about)
    is_finished = is_closed or not is_recorded_now
    return Capture(
        log=log,
        path=path,
        title=about.get("title", "")[:_MAX_TITLE_LENGTH] or path.stem,
        about=about,
        problems=(*reader.damage.problems(), *(() if is_own else _ignored_journals(path))),
        is_interrupted=not is_closed and not is_recorded_now,
        is_recorded_now=not is_closed and is_recorded_now,
        is_writable=is_finished and (os.access(path, os.W_OK) if stored is None else stored.is_writable),
        _body_store=body_store,
        _notes=stored,
    )


def _size(path: Path, is_own: bool) -> int:
    """Return the file's size, including the journal beside it if that is read."""
    files = (path, path.with_name(f"{path.name}-wal")) if is_own else (path,)
    return sum(file.stat().st_size for file in files if file.exists())


def _ignored_journals(path: Path) -> Iterator[str]:
    for file in file_format.journals(path):
        with suppress(OSError):
            if file.stat().st_size:
                yield (
                    f"{file.name} was ignored: journals of captures from elsewhere are not safe to use. Rows "
                    "that are only in it are not shown. Save a copy on the machine that recorded it."
                )


def _write_notes(path: Path, notes: dict[int, RowNote]) -> None:
    with closing(file_format.connect(path, "rw")) as connection:
        file_format.put_notes(connection, notes)


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
        with AtomicFile(target, is_private=True) as temporary:
            _copy(source, temporary.path, finish, on_step)
            # The journal of an interrupted capture under this name would be applied to the new file.
            _remove(file_format.side_files(target))
            temporary.commit()
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
