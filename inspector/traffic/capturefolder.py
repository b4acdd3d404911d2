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
    """What is kept: not older than so many days, and not more than so many bytes all together."""

    days: int
    bytes: int


@dataclass(frozen=True, slots=True)
class KeptCapture:
    """One file of the folder."""

    path: Path
    began: int  # nanoseconds since 1970
    rows: int | None  # None when it cannot be read
    size: int  # bytes, with the files beside it
    is_interrupted: bool  # not closed, and nobody records it
    is_running: bool  # a process records it, this one or another


class CaptureFolder:
    """Several programs may use it at once: what one records, no other touches."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def new_path(self, now_ns: int) -> Path:
        """For a capture that begins now. The process is in the name, so that two do not want the same."""
        moment = datetime.fromtimestamp(now_ns // 1_000_000_000)
        stem, count = f"{moment:%Y-%m-%d_%H-%M-%S}_{os.getpid()}", 1
        path = self.path / f"{stem}{SUFFIX}"
        while path.exists():
            count += 1
            path = self.path / f"{stem}_{count}{SUFFIX}"
        return path

    def kept(self) -> tuple[KeptCapture, ...]:
        """All of them, oldest first."""
        try:
            paths = [path for path in self.path.iterdir() if path.suffix == SUFFIX]
        except OSError:
            return ()
        found = [capture for path in paths if (capture := _look_at(path)) is not None]
        return tuple(sorted(found, key=lambda capture: (capture.began, capture.path.name)))

    def interrupted(self) -> tuple[KeptCapture, ...]:
        """Those with rows whose recorder ended without closing them: to be offered, then settled."""
        return tuple(capture for capture in self.kept() if capture.is_interrupted and capture.rows)

    def settle(self, path: Path) -> None:
        """An interrupted capture was offered: close it in its recorder's place. Raises UserError."""
        try:
            connection = capturefile.connect(path, "rw")
            try:
                capturefile.put_about(connection, {"closed_at": str(time.time_ns()), "interrupted": "yes"})
                with contextlib.suppress(sqlite3.Error):  # somebody is reading it: next time, then
                    capturefile.leave_one_file(connection)
            finally:
                connection.close()
        except sqlite3.Error as exc:
            raise capturefile.cannot_open(path, exc) from exc

    def delete(self, path: Path) -> None:
        """With the files beside it. Raises UserError."""
        capture = _look_at(path)
        if capture is not None and capture.is_running:
            raise UserError(f"{path.name} is being recorded.", "Close the program that records it first.")
        try:
            for file in _files_of(path):  # itself first: the others are worth nothing without it
                file.unlink(missing_ok=True)
        except OSError as exc:
            raise UserError(
                f"{path} could not be deleted: {exc.strerror or exc}.", "Check the folder's permissions."
            ) from exc

    def prune(self, limits: Limits, now_ns: int, keep: Collection[Path] = ()) -> tuple[Path, ...]:
        """Delete what is beyond the limits, oldest first, and captures without rows; give what was deleted.

        Not those that are recorded now, nor interrupted ones until they are settled, nor those in `keep`
        (real paths of those that somebody looks at).
        """
        kept = self.kept()
        total, oldest, deleted = sum(one.size for one in kept), now_ns - limits.days * _DAY_NS, []
        for capture in kept:
            is_due = capture.began < oldest or total > limits.bytes or capture.rows == 0
            if is_due and _may_go(capture) and capture.path.resolve() not in keep:
                with contextlib.suppress(UserError):  # it stays, then
                    self.delete(capture.path)
                    deleted.append(capture.path)
                    total -= capture.size
        return tuple(deleted)


def _may_go(capture: KeptCapture) -> bool:
    return not capture.is_running and not (capture.is_interrupted and capture.rows)


def _files_of(path: Path) -> list[Path]:
    return [path, *side_files(path)]


def _look_at(path: Path) -> KeptCapture | None:
    """None when it is no longer there."""
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
