"""A capture that was opened: its rows, without any server."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from inspector.base.errors import RequestCancelled, UserError
from inspector.traffic import capturefile
from inspector.traffic.capturecopy import copy_capture
from inspector.traffic.captureload import CaptureReader
from inspector.traffic.capturerecorder import is_recording
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Remark
from inspector.traffic.shelf import FileShelf

_LONGEST_TITLE = 200

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
    _shelf: FileShelf

    def save_remarks(self) -> None:
        """Save new or changed marks and comments to the file. Raises UserError."""
        changed = self.log.remarks_changed
        if not changed:
            return
        if not self.is_writable:
            raise UserError(
                f"Marks and comments cannot be saved in {self.path.name}.",
                "Save a copy of it, and open that.",
            )
        count = len(changed)
        try:
            _put_remarks(self.path, self._changed_remarks())
        except sqlite3.Error as exc:
            raise UserError(
                f"Marks and comments could not be saved in {self.path.name}: {exc}.",
                "Try again, or save a copy of it.",
            ) from exc
        for _ in range(count):
            changed.popleft()

    def save_as(
        self, path: Path, on_progress: OnProgress | None = None, is_cancelled: IsCancelled | None = None
    ) -> None:
        """Save a copy with the current remarks. Raises UserError, and then `path` is unchanged."""
        remarks = self._changed_remarks()

        def finish(copy: sqlite3.Connection) -> None:
            capturefile.put_remarks(copy, remarks)

        copy_capture(self.path, path, finish, on_progress, is_cancelled)

    def close(self) -> None:
        """Release the file. Bytes requested later are still read from it."""
        self._shelf.rest()

    def _changed_remarks(self) -> dict[int, Remark]:
        return {row: self.log.remark(row) for row in self.log.remarks_changed.copy()}


def open_capture(
    path: Path, on_progress: OnProgress | None = None, is_cancelled: IsCancelled | None = None
) -> Capture:
    """Read a file's columns into memory, 1,024 rows at a time.

    `on_progress` gets the number of rows read and the total. Raises UserError for a file that is not a
    capture or has nothing readable, and RequestCancelled. A partly damaged file is opened, with `problems`.
    """
    path = Path(path)
    capturefile.check_header(path)
    try:
        connection = capturefile.connect_to_read(path)
    except capturefile.UNREADABLE as exc:
        raise capturefile.cannot_open(path, exc) from exc
    try:
        return _read(path, connection, on_progress, is_cancelled)
    except capturefile.UNREADABLE as exc:
        raise capturefile.cannot_open(path, exc) from exc
    finally:
        connection.close()


def _read(
    path: Path,
    connection: sqlite3.Connection,
    on_progress: OnProgress | None,
    is_cancelled: IsCancelled | None,
) -> Capture:
    if not capturefile.has_our_tables(connection):
        raise UserError(
            f"{path.name} is not laid out like a capture.", "Open another copy of it, if there is one."
        )
    about = capturefile.about(connection)

    def on_step(done: int, total: int) -> None:
        if is_cancelled is not None and is_cancelled():
            raise RequestCancelled(f"Opening {path.name} was cancelled.")
        if on_progress is not None:
            on_progress(done, total)

    log = TrafficLog()
    reader = CaptureReader(connection, _size(path), on_step)
    reader.into(log)
    shelf = FileShelf(path, log.columns)
    log.shelve(shelf)
    is_closed, is_running = "closed_at" in about, is_recording(about)
    return Capture(
        log=log,
        path=path,
        title=about.get("title", "")[:_LONGEST_TITLE] or path.stem,
        about=about,
        problems=reader.loading.problems(),
        is_interrupted=not is_closed and not is_running,
        is_recorded_now=not is_closed and is_running,
        is_writable=(is_closed or not is_running) and os.access(path, os.W_OK),
        _shelf=shelf,
    )


def _size(path: Path) -> int:
    """Return the file's size, including the journal beside it."""
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def _put_remarks(path: Path, remarks: dict[int, Remark]) -> None:
    connection = capturefile.connect(path, "rw")
    try:
        capturefile.put_remarks(connection, remarks)
    finally:
        connection.close()
