"""The folder of automatic captures: one per run, deleted by age and total size."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from inspector.base.errors import UserError
from inspector.traffic.captures import file_format
from inspector.traffic.captures.file_format import is_recording, side_files
from inspector.traffic.records import CAPTURE_SUFFIX

_NOTES_FOLDER = "notes"
_DAY_NS = 24 * 3600 * 1_000_000_000
_MIN_GAP_DAYS = 7  # shorter breaks are common


@dataclass(frozen=True, slots=True)
class RetentionLimits:
    """Retention limits: the maximum age in days and the maximum total size in bytes."""

    days: int
    bytes: int


@dataclass(frozen=True, slots=True)
class CaptureInfo:
    """A capture file in the folder."""

    path: Path
    began_ns: int  # since 1970
    rows: int | None  # None when it cannot be read
    size: int  # bytes, including its side files
    is_interrupted: bool  # not closed, and no longer being recorded
    is_recording: bool  # by this process or another


@dataclass(frozen=True, slots=True)
class Pruned:
    """What `CaptureFolder.prune` did."""

    deleted: tuple[Path, ...] = ()
    postponed: int = 0  # captures that are too old by the clock, which may be wrong


class CaptureFolder:
    """The folder of automatic captures.

    Several processes may use it at once: none touches what another is recording.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def owns(self, path: Path) -> bool:
        """True if a file is in this folder, so that MCP Lens wrote it."""
        try:
            return path.resolve().parent == self.path.resolve()
        except OSError:
            return False

    def notes_path(self, identity: str) -> Path:
        """Return the file of the notes on a capture from elsewhere."""
        return self.path / _NOTES_FOLDER / f"{identity}.json"

    def new_path(self, now_ns: int) -> Path:
        """Return the path for a new capture. The process id makes it unique."""
        moment = datetime.fromtimestamp(now_ns // 1_000_000_000)
        stem, count = f"{moment:%Y-%m-%d_%H-%M-%S}_{os.getpid()}", 1
        path = self.path / f"{stem}{CAPTURE_SUFFIX}"
        while path.exists():
            count += 1
            path = self.path / f"{stem}_{count}{CAPTURE_SUFFIX}"
        return path

    def captures(self) -> tuple[CaptureInfo, ...]:
        """Return all captures, oldest first."""
        try:
            paths = [path for path in self.path.iterdir() if path.suffix == CAPTURE_SUFFIX]
        except OSError:
            return ()
        found = [capture for path in paths if (capture := _inspect(path)) is not None]
        return tuple(sorted(found, key=lambda capture: (capture.began_ns, capture.path.name)))

    def interrupted(self) -> tuple[CaptureInfo, ...]:
        """Return captures with rows whose recorder did not close them: offer them, then close them."""
        return tuple(capture for capture in self.captures() if capture.is_interrupted and capture.rows)

    def close_interrupted(self, path: Path) -> None:
        """Mark an interrupted capture as closed, so that it is not offered again. Raises UserError."""
        try:
            connection = file_format.connect(path, "rw")
            try:
                file_format.put_about(connection, {"closed_at": str(time.time_ns()), "interrupted": "yes"})
                with contextlib.suppress(sqlite3.Error):  # being read elsewhere: retry next time
                    file_format.merge_wal(connection)
            finally:
                connection.close()
        except sqlite3.Error as exc:
            raise file_format.open_error(path, exc) from exc

    def delete(self, path: Path) -> None:
        """Delete a capture and its side files. Raises UserError."""
        capture = _inspect(path)
        if capture is not None and capture.is_recording:
            raise UserError(f"{path.name} is being recorded.", "Quit the program that records it first.")
        try:
            for file in _files_of(path):  # the capture first: its side files are useless without it
                file.unlink(missing_ok=True)
        except OSError as exc:
            raise UserError(
                f"Could not delete {path}: {exc.strerror or exc}.", "Check the folder's permissions."
            ) from exc

    def prune(self, limits: RetentionLimits, now_ns: int, keep: Collection[Path] = ()) -> Pruned:
        """Delete captures beyond the limits, oldest first, and empty ones.

        Skips captures that are being recorded, interrupted ones that are not closed yet, and those in `keep`
        (resolved paths of open captures). After a long gap between the captures and `now_ns`, the age counts
        up to the end of the recorded time only.
        """
        captures = self.captures()
        total = sum(capture.size for capture in captures)
        oldest = _end_of_recorded_time(captures, limits, now_ns) - limits.days * _DAY_NS
        deleted, postponed = [], 0
        for capture in captures:
            if not _may_be_deleted(capture) or capture.path.resolve() in keep:
                continue
            if capture.began_ns < oldest or total > limits.bytes or capture.rows == 0:
                with contextlib.suppress(UserError):  # keep it
                    self.delete(capture.path)
                    deleted.append(capture.path)
                    total -= capture.size
            elif capture.began_ns < now_ns - limits.days * _DAY_NS:
                postponed += 1
        return Pruned(tuple(deleted), postponed)


def _end_of_recorded_time(captures: Collection[CaptureInfo], limits: RetentionLimits, now_ns: int) -> int:
    """Return the time up to which the age counts: now, unless only a wrong clock may say so.

    A capture that is within the limit and at least a day old confirms the clock. One of the last day does
    not: it may have the same wrong time.
    """
    confirmed = [capture.began_ns for capture in captures if capture.began_ns <= now_ns - _DAY_NS]
    latest = max(confirmed, default=now_ns)
    is_confirmed = now_ns - latest <= max(limits.days, _MIN_GAP_DAYS) * _DAY_NS
    return now_ns if is_confirmed else latest


def _may_be_deleted(capture: CaptureInfo) -> bool:
    return not capture.is_recording and not (capture.is_interrupted and capture.rows)


def _files_of(path: Path) -> list[Path]:
    return [path, *side_files(path)]


def _inspect(path: Path) -> CaptureInfo | None:
    """Return what is known of a file; None if it no longer exists."""
    try:
        size = sum(file.stat().st_size for file in _files_of(path) if file.exists())
        modified = path.stat().st_mtime_ns
    except OSError:
        return None
    about, rows = _about_and_rows(path)
    is_open = rows is not None and "closed_at" not in about
    is_live = is_open and is_recording(about)
    return CaptureInfo(
        path=path,
        began_ns=_number(about.get("began_at", "")) or modified,
        rows=rows,
        size=size,
        is_interrupted=is_open and not is_live,
        is_recording=is_live,
    )


def _about_and_rows(path: Path) -> tuple[dict[str, str], int | None]:
    try:
        file_format.check_header(path)
        connection = file_format.connect_to_read(path)
        try:
            return file_format.read_about(connection), file_format.row_count(connection)
        finally:
            connection.close()
    except (UserError, *file_format.UNREADABLE):
        return {}, None


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 20 else 0
