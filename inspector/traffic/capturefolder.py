"""The folder of captures that are made by themselves: one a run, kept for a while."""

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
from inspector.traffic import capturefile
from inspector.traffic.capturefile import SUFFIX, side_files
from inspector.traffic.capturerecorder import is_recording

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
        path = self.path / f"{stem}{SUFFIX}"
        while path.exists():
            count += 1
            path = self.path / f"{stem}_{count}{SUFFIX}"
        return path

    def kept(self) -> tuple[KeptCapture, ...]:
        """Return all captures, oldest first."""
        try:
            paths = [path for path in self.path.iterdir() if path.suffix == SUFFIX]
        except OSError:
            return ()
        found = [capture for path in paths if (capture := _look_at(path)) is not None]
        return tuple(sorted(found, key=lambda capture: (capture.began, capture.path.name)))

    def interrupted(self) -> tuple[KeptCapture, ...]:
        """Return captures with rows whose recorder did not close them: to be offered, then settled."""
        return tuple(capture for capture in self.kept() if capture.is_interrupted and capture.rows)

    def settle(self, path: Path) -> None:
        """Close an interrupted capture after it was offered. Raises UserError."""
        try:
            connection = capturefile.connect(path, "rw")
            try:
                capturefile.put_about(connection, {"closed_at": str(time.time_ns()), "interrupted": "yes"})
                with contextlib.suppress(sqlite3.Error):  # being read elsewhere: retry next time
                    capturefile.leave_one_file(connection)
            finally:
                connection.close()
        except sqlite3.Error as exc:
            raise capturefile.cannot_open(path, exc) from exc

    def delete(self, path: Path) -> None:
        """Delete a capture and its side files. Raises UserError."""
        capture = _look_at(path)
        if capture is not None and capture.is_running:
            raise UserError(f"{path.name} is being recorded.", "Close the program that records it first.")
        try:
            for file in _files_of(path):  # the capture first: its side files are useless without it
                file.unlink(missing_ok=True)
        except OSError as exc:
            raise UserError(
                f"{path} could not be deleted: {exc.strerror or exc}.", "Check the folder's permissions."
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


def _look_at(path: Path) -> KeptCapture | None:
    """Return what is known of a file; None if it no longer exists."""
    try:
        size = sum(file.stat().st_size for file in _files_of(path) if file.exists())
        modified = path.stat().st_mtime_ns
    except OSError:
        return None
    about, rows = _read(path)
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


def _read(path: Path) -> tuple[dict[str, str], int | None]:
    try:
        capturefile.check_header(path)
        connection = capturefile.connect_to_read(path)
        try:
            return capturefile.about(connection), capturefile.row_count(connection)
        finally:
            connection.close()
    except (UserError, *capturefile.UNREADABLE):
        return {}, None


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 20 else 0
