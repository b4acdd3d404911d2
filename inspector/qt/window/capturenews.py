"""What the window tells of captures by itself: a recording that paused, and one of a run that broke off."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction

from inspector.base.units import full_time, plural
from inspector.qt.bridge import Bridge
from inspector.qt.widgets.strips import Strips

if TYPE_CHECKING:
    from inspector.traffic.capturefolder import KeptCapture
    from inspector.traffic.recording import RecordingState


class CaptureNews(QObject):
    """Strips above the workspace about captures, shown as long as they apply.

    Signals:
        open_requested: The user wants to open a capture; carries its path.
    """

    open_requested = Signal(object)

    def __init__(self, bridge: Bridge, strips: Strips, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._strips = strips
        bridge.recording_changed.connect(self._on_recording_changed)

    def offer_interrupted(self) -> None:
        """Look for captures of killed runs and offer the latest of them."""
        self._bridge.start("interrupted captures", self._offer_interrupted())

    async def _offer_interrupted(self) -> None:
        found = await self._bridge.ask_captures(lambda captures: captures.interrupted())
        if found:
            self._offer(found)

    def _offer(self, found: tuple[KeptCapture, ...]) -> None:
        latest = found[-1]
        others = f" So did {plural(len(found) - 1, 'run')} before it: see Kept captures." if found[1:] else ""
        began, rows = full_time(latest.began)[:16], plural(latest.rows or 0, "row")
        words = f"The run of {began} broke off; its {rows} are kept."
        open_it, dismiss = QAction("Open it", self), QAction("Dismiss", self)
        paths = [each.path for each in found]
        open_it.triggered.connect(lambda: self._take(paths, latest.path))
        dismiss.triggered.connect(lambda: self._take(paths, None))
        self._strips.say("interrupted", words + others, open_it, "accent", dismiss)

    def _take(self, offered: list[Path], wanted: Path | None) -> None:
        self._strips.take_back("interrupted")
        self._bridge.start("settle captures", self._settle(offered, wanted))

    async def _settle(self, offered: list[Path], wanted: Path | None) -> None:
        for path in offered:
            await self._bridge.ask_captures(lambda captures: captures.settle(path))  # noqa: B023
        if wanted is not None:
            self.open_requested.emit(wanted)

    def _on_recording_changed(self, state: RecordingState) -> None:
        if not state.reason:
            self._strips.take_back("recording")
            return
        what = "Recording is paused" if state.is_paused else "Recording is behind"
        self._strips.say("recording", f"{what}. {state.reason} {state.next_step}", None, "warn")
