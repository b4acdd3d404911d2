"""Captures: the running recording, the stored ones, and those that are open.

All file access runs on threads. Cancelling the task that awaits a method stops its work.
"""

from __future__ import annotations

import asyncio
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from inspector.base.errors import UserError
from inspector.base.json.values import JSON
from inspector.base.signals import Signal
from inspector.base.units import full_time, plural
from inspector.engine.exports import Exported, ExportFormat, IsCancelled, OnProgress, export, find_secrets
from inspector.engine.settings import SettingsStore
from inspector.traffic.captures.capture import Capture, open_capture
from inspector.traffic.captures.folder import CaptureFolder, CaptureInfo, RetentionLimits
from inspector.traffic.captures.recording import MemoryLimit, Recording, RecordingState, Rollover
from inspector.traffic.export.importer import import_capture, looks_like_capture
from inspector.traffic.log import TrafficLog
from inspector.traffic.masking.masker import FoundSecrets, Masker
from inspector.transport.task_scope import TaskScope

T = TypeVar("T")

_FILES_PER_LIMIT = 4  # the running capture gets this fraction of the disk space
_MIB = 1024 * 1024
_MAX_FILE_BYTES = 512 * _MIB


class Captures:
    """The running recording, stored captures and opened ones.

    `folder` holds the automatic captures; without it nothing is recorded. A recording that grows too large
    for the disk limit continues in a new capture, and the oldest captures are deleted. While nothing is
    recorded, the oldest rows are dropped from memory when there are too many.

    Signals:
        recording_changed: The recording's state changed; carries a RecordingState. Emitted on the
            recorder's thread.
        problem_found: Something is wrong with the captures; carries a sentence. Emitted on any thread.
    """

    def __init__(
        self, log: TrafficLog, folder: Path | None = None, settings: SettingsStore | None = None
    ) -> None:
        self.recording_changed: Signal[RecordingState] = Signal()
        self.problem_found: Signal[str] = Signal()
        self._log = log
        self._folder = CaptureFolder(folder) if folder is not None else None
        self._settings = settings or SettingsStore()
        self._settings.changed.connect(self._on_setting_changed)
        self._has_begun = False
        self._applying: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()  # starting, stopping, deleting old captures
        self._tasks = TaskScope()
        self._recording: Recording | None = None
        self._ended: Recording | None = None  # from this session: the log still reads from its file
        self._rollover: Rollover | None = None
        self._opened: set[Path] = set()
        self._has_reported_postponed = False
        self._memory_limit = MemoryLimit(log)
        self._memory_limit.start()

    @property
    def folder(self) -> Path | None:
        return self._folder.path if self._folder is not None else None

    async def begin(self) -> None:
        """Start recording, if enabled. Failures are reported; the app works without it.

        From now on, changed settings take effect immediately.
        """
        self._has_begun = True
        async with self._lock:
            await self._start()

    async def _start(self) -> None:
        if self._folder is not None and self._recording is None and self._settings.get("captures.record"):
            await asyncio.to_thread(self._begin, self._folder)

    def _on_setting_changed(self, id: str, value: JSON) -> None:
        if self._has_begun and id.startswith("captures."):
            self._applying = self._tasks.spawn("apply the capture settings", self._apply_settings())

    async def _apply_settings(self) -> None:
        async with self._lock:
            if self._rollover is not None:
                self._rollover.max_bytes = self._max_file_bytes()
            await asyncio.to_thread(self._prune)
            if self._settings.get("captures.record"):
                await self._start()
            else:
                await self._stop()

    async def applied(self) -> None:
        """Wait until changed settings have taken effect."""
        if self._applying is not None:
            await asyncio.wait([self._applying])

    def _begin(self, folder: CaptureFolder) -> None:
        try:
            self._recording = self._resumed() or self._new_recording(folder)
        except (UserError, OSError) as exc:
            self.problem_found.emit(
                f"Traffic is not recorded: {exc} It stays in memory while MCP Lens is running."
            )
            return
        self._memory_limit.stop()
        self._prune()

    def _resumed(self) -> Recording | None:
        """Resume the recording that was turned off earlier in this session, if no row was dropped since."""
        if self._ended is None or self._log.first > self._ended.state.rows:
            return None
        self._ended.resume()
        return self._ended

    def _new_recording(self, folder: CaptureFolder) -> Recording:
        folder.path.mkdir(parents=True, exist_ok=True, mode=0o700)  # traffic may contain secrets
        self._rollover = Rollover(lambda: folder.new_path(time.time_ns()), self._max_file_bytes())
        recording = Recording(self._log, folder.new_path(time.time_ns()), rollover=self._rollover)
        recording.changed.connect(self.recording_changed.emit)
        recording.rolled_over.connect(self._on_rolled_over)
        return recording

    def _max_file_bytes(self) -> int:
        return min(self._max_bytes() // _FILES_PER_LIMIT, _MAX_FILE_BYTES)

    def _max_bytes(self) -> int:
        mebibytes: int = self._settings.get("captures.keepMebibytes")
        return mebibytes * _MIB

    def _on_rolled_over(self, path: Path) -> None:
        self._prune()

    async def end(self) -> None:
        """Write the rest and close the file."""
        self._has_begun = False
        await self.applied()
        async with self._lock:
            await self._stop()

    async def _stop(self) -> None:
        recording, self._recording = self._recording, None
        if recording is not None:
            self._ended = recording
            await asyncio.to_thread(recording.close)
            self._memory_limit.start()

    async def save_running(self, path: Path, on_progress: OnProgress | None = None) -> None:
        """Save a copy of the running capture. Raises UserError."""
        recording = self._recording
        if recording is None:
            raise UserError(
                "Traffic is not being recorded, so there is no capture to copy.",
                "Export the traffic instead, or turn on recording in Captures.",
            )
        await _in_thread(lambda is_cancelled: recording.save_as(path, on_progress, is_cancelled))

    async def open(self, path: Path, on_progress: OnProgress | None = None) -> Capture:
        """Open a capture, or an export from us or another tool, detected by content.

        An export is first converted to a capture, which is stored like those of earlier runs. Raises
        UserError.
        """
        capture = await _in_thread(lambda is_cancelled: self._open(path, on_progress, is_cancelled))
        self._opened.add(capture.path.resolve())
        return capture

    def _open(self, path: Path, on_progress: OnProgress | None, is_cancelled: IsCancelled) -> Capture:
        if looks_like_capture(path):
            return open_capture(path, on_progress, is_cancelled, self._folder)
        folder = self._folder or CaptureFolder(Path(tempfile.mkdtemp(prefix="mcp-lens-")))
        return import_capture(path, folder.new_path(time.time_ns()), on_progress, is_cancelled)

    async def save(self, capture: Capture, path: Path, on_progress: OnProgress | None = None) -> None:
        """Save a copy of an opened capture. Raises UserError."""
        await _in_thread(lambda is_cancelled: capture.save_as(path, on_progress, is_cancelled))

    async def save_notes(self, capture: Capture) -> None:
        """Save the notes of a capture. Raises UserError."""
        await asyncio.to_thread(capture.save_notes)

    async def close(self, capture: Capture) -> None:
        self._opened.discard(capture.path.resolve())
        await asyncio.to_thread(capture.close)

    async def find_secrets(
        self, log: TrafficLog, rows: Sequence[int], on_progress: OnProgress | None = None
    ) -> FoundSecrets:
        """Return what an export of these rows would mask, for review."""
        return await _in_thread(lambda is_cancelled: find_secrets(log, rows, on_progress, is_cancelled))

    async def export(
        self,
        log: TrafficLog,
        rows: Sequence[int],
        format: ExportFormat,
        masking: Masker,
        path: Path,
        on_progress: OnProgress | None = None,
    ) -> Exported:
        """Export rows. Raises UserError, leaving `path` unchanged."""
        return await _in_thread(
            lambda is_cancelled: export(log, rows, format, masking, path, on_progress, is_cancelled)
        )

    async def get_folder(self) -> Path | None:
        return self.folder

    async def stored(self) -> tuple[CaptureInfo, ...]:
        """Return the captures in the folder, once changed settings have taken effect."""
        await self.applied()
        return await asyncio.to_thread(self._folder.captures) if self._folder is not None else ()

    async def interrupted(self) -> tuple[CaptureInfo, ...]:
        """Return captures of sessions that did not exit cleanly; to be offered once."""
        return await asyncio.to_thread(self._folder.interrupted) if self._folder is not None else ()

    async def mark_offered(self, path: Path) -> None:
        """Mark an interrupted capture as offered; it is then like any other."""
        if self._folder is not None:
            await asyncio.to_thread(self._folder.close_interrupted, path)

    async def delete(self, path: Path) -> None:
        """Delete a capture. Raises UserError."""
        if self._folder is not None:
            await asyncio.to_thread(self._delete, self._folder, path)

    def _delete(self, folder: CaptureFolder, path: Path) -> None:
        if path.resolve() in self._opened:
            raise UserError(f"{path.name} is open.", "Close it first.")
        if path.resolve() in self._in_use():
            raise UserError(
                f"{path.name} is the capture being recorded.", "You can delete it after you restart MCP Lens."
            )
        folder.delete(path)
        self._forget([path])

    def _prune(self) -> None:
        if self._folder is None:
            return
        days: int = self._settings.get("captures.keepDays")
        room = self._max_file_bytes() if self._recording is not None else 0
        limits, now = RetentionLimits(days, self._max_bytes() - room), time.time_ns()
        pruned = self._folder.prune(limits, now, keep=self._in_use())
        self._forget(pruned.deleted)
        if pruned.postponed and not self._has_reported_postponed:
            self._has_reported_postponed = True
            self.problem_found.emit(_postponed_text(pruned.postponed, days, now))

    def _forget(self, deleted: Sequence[Path]) -> None:
        """Drop the rows of deleted captures of this session from memory."""
        recording = self._recording or self._ended
        if recording is not None and deleted:
            recording.forget_files(deleted)

    def _in_use(self) -> set[Path]:
        """Return captures that may still be read, as real paths (a file can have several paths)."""
        return self._opened | ({self._ended.path.resolve()} if self._ended is not None else set())


def _postponed_text(count: int, days: int, now_ns: int) -> str:
    captures = "1 capture is" if count == 1 else f"{count:,} captures are"
    return (
        f"Old captures are not deleted yet: {captures} more than {plural(days, 'day')} old by the clock, "
        f"which shows {full_time(now_ns)[:10]}, but there is no capture from the days before that. "
        "If the date is wrong, correct it. If it is right, they are deleted when MCP Lens starts another day."
    )


async def _in_thread(work: Callable[[IsCancelled], T]) -> T:
    """Run on a thread; on cancellation, signal the work to stop and wait for it."""
    stop = threading.Event()
    running = asyncio.get_running_loop().run_in_executor(None, work, stop.is_set)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.gather(running, return_exceptions=True)
        raise
