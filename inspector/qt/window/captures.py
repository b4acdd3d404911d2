"""Capture docks of the window, and notices about recording and interrupted captures.

Each open capture has a dock beside the live traffic. Notices report a paused recording, and captures of
sessions that were killed.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QMimeData, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QDockWidget, QWidget

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.units import full_time, plural
from inspector.qt.actions import Actions
from inspector.qt.bridge import Bridge
from inspector.qt.models.traffic.traffic_model import TrafficSource
from inspector.qt.panels.traffic.panel import TrafficPanel
from inspector.qt.theme import Theme
from inspector.qt.widgets.notices.notices import Alert, JobBar
from inspector.traffic.records import CAPTURE_SUFFIX, OPENABLE_SUFFIXES

if TYPE_CHECKING:
    from PySide6.QtWidgets import QFileDialog

    from inspector.engine.exports import Exported, ExportFormat, OnProgress
    from inspector.traffic.captures.capture import Capture
    from inspector.traffic.captures.folder import CaptureInfo
    from inspector.traffic.captures.recording import RecordingState
    from inspector.traffic.log import TrafficLog
    from inspector.traffic.masking.masker import Masker

_SAVE_NOTES_MS = 500
_FILE_FILTER = "Captures and exports ({})"


class CaptureDocks(QObject):
    """Opens, saves and closes captures, and tracks the traffic panel used last.

    Signals:
        front_changed: Another traffic panel is current.
        opened: A capture got its dock; carries the OpenedCapture.
        closed: A capture was closed; carries its log, which must not be kept.
        reported: An action succeeded; carries the message.
    """

    front_changed = Signal()
    opened = Signal(object)
    closed = Signal(object)
    reported = Signal(str)

    def __init__(
        self,
        bridge: Bridge,
        actions: Actions,
        theme: Theme,
        live: TrafficPanel,
        jobs: JobBar,
        add_dock: Callable[[str, QWidget], QDockWidget],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._window = parent
        self._bridge = bridge
        self._actions = actions
        self._theme = theme
        self._live = live
        self._jobs = jobs
        self._add_dock = add_dock
        self._front = live
        self.all: list[OpenedCapture] = []
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._on_focus_changed)
        live.capture_requested.connect(lambda path: self.open([path]))

    def in_front(self) -> TrafficPanel:
        return self._front

    def of(self, panel: TrafficPanel) -> OpenedCapture | None:
        """Return the capture of a panel; None for the live one."""
        return next((each for each in self.all if each.panel is panel), None)

    def panels(self) -> list[TrafficPanel]:
        return [self._live, *(each.panel for each in self.all)]

    def bring_to_front(self, panel: TrafficPanel) -> None:
        dock = panel.parentWidget()
        if isinstance(dock, QDockWidget):
            dock.show()
            dock.raise_()
        self._set_front(panel)

    def choose_and_open(self) -> None:
        dialog = self._file_dialog("Open capture")
        dialog.setFileMode(dialog.FileMode.ExistingFiles)
        patterns = " ".join(f"*{suffix}" for suffix in OPENABLE_SUFFIXES)
        dialog.setNameFilters([_FILE_FILTER.format(patterns), "All files (*)"])
        dialog.filesSelected.connect(lambda names: self.open([Path(name) for name in names]))
        dialog.open()

    def open(self, paths: Sequence[Path]) -> None:
        """Open each in its own dock; one that is already open is brought to the front."""
        for path in paths:
            shown = next((each for each in self.all if each.capture.path == path), None)
            if shown is not None:
                self.bring_to_front(shown.panel)
            else:
                self.run_job(f"Opening {_short(path.name)}", partial(self._open, path))

    async def _open(self, path: Path, on_progress: OnProgress) -> None:
        self._show(await self._bridge.ask(lambda engine: engine.captures.open(path, on_progress)))

    def _show(self, capture: Capture) -> None:
        title = _short(capture.title)
        source = TrafficSource(capture.log, title)
        options, memory = self._live.options, self._live.memory
        panel = TrafficPanel(source, self._bridge, self._actions, self._theme, options=options, memory=memory)
        source.setParent(panel)
        dock = self._add_dock(title, panel)
        dock.setToolTip(one_line(str(capture.path)))
        opened = OpenedCapture(capture, panel, dock)
        self.all.append(opened)
        dock.visibilityChanged.connect(lambda shown: self._on_dock_shown(opened, shown))
        self._save_notes_later(opened)
        self.opened.emit(opened)
        self.bring_to_front(panel)
        for problem in capture.problems:
            self._bridge.problem_found.emit(problem)

    def close(self, panel: TrafficPanel) -> None:
        """Close a capture; its file is unchanged."""
        opened = self.of(panel)
        if opened is None:
            return
        self.all.remove(opened)
        if self._front is panel:
            self._set_front(self._live)
        opened.dock.close()
        opened.dock.deleteLater()
        self.closed.emit(opened.capture.log)
        self._bridge.start(f"close {opened.capture.path.name}", self._close(opened.capture))

    async def _close(self, capture: Capture) -> None:
        if capture.log.notes_changed:
            await self._bridge.ask(lambda engine: engine.captures.save_notes(capture))
        await self._bridge.ask(lambda engine: engine.captures.close(capture))

    def _save_notes_later(self, opened: OpenedCapture) -> None:
        """Save marks and comments to the file soon after they were made."""
        timer = QTimer(opened.panel, singleShot=True, interval=_SAVE_NOTES_MS)
        capture = opened.capture

        def save() -> None:
            work = self._bridge.ask(lambda engine: engine.captures.save_notes(capture))
            self._bridge.start("save notes", work, opened.panel)

        timer.timeout.connect(save)
        capture.log.noted.connect(lambda row: timer.start())

    def choose_and_save(self) -> None:
        """Save the current capture completely, under a name the user chooses."""
        opened = self.of(self._front)
        self._choose_target(lambda path: self.save(opened, path))

    def choose_and_save_running(self, then: Callable[[], object]) -> None:
        """Save the running capture under a name the user chooses; then call `then`."""
        self._choose_target(lambda path: self.save(None, path, then))

    def _choose_target(self, on_chosen: Callable[[Path], None]) -> None:
        dialog = self._file_dialog("Save capture as")
        dialog.setAcceptMode(dialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(CAPTURE_SUFFIX.removeprefix("."))
        dialog.setNameFilters([f"Captures (*{CAPTURE_SUFFIX})"])
        dialog.selectFile(f"traffic{CAPTURE_SUFFIX}")
        dialog.fileSelected.connect(lambda name: on_chosen(Path(name)))
        dialog.open()

    def _file_dialog(self, title: str) -> QFileDialog:
        from PySide6.QtWidgets import QFileDialog

        dialog = QFileDialog(self._window, title)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        return dialog

    def save(
        self, opened: OpenedCapture | None, path: Path, then: Callable[[], object] | None = None
    ) -> None:
        """Save a copy of an open capture, or of the running one; call `then` when it is complete."""

        async def write(on_progress: OnProgress) -> None:
            ask = self._bridge.ask
            if opened is None:
                await ask(lambda engine: engine.captures.save_running(path, on_progress))
            else:
                await ask(lambda engine: engine.captures.save(opened.capture, path, on_progress))
            if then is not None:
                then()

        self.run_job(f"Saving {_short(path.name)}", write)

    def run_job(self, text: str, work: Callable[[OnProgress], Coroutine[Any, Any, object]]) -> None:
        """Run a job with a cancellable line in the job bar; errors for the user are shown."""
        job = self._jobs.begin(text)
        task = self._bridge.start(text, work(self._bridge.on_window(job.set_progress)))
        job.stopped.connect(task.cancel)
        task.add_done_callback(lambda _: job.end())

    def open_export(self) -> None:
        """Export the current panel: its filtered rows, the selected ones or all."""
        from inspector.qt.dialogs.traffic.export import ExportDialog

        log = self._front.source.log
        dialog = ExportDialog(self._bridge, self._theme, log, _row_choices(self._front), self._window)
        dialog.chosen.connect(partial(self._export, log))
        dialog.show()

    def _export(
        self, log: TrafficLog, rows: Sequence[int], format: ExportFormat, masking: Masker, path: Path
    ) -> None:
        async def write(on_progress: OnProgress) -> None:
            done = await self._bridge.ask(
                lambda engine: engine.captures.export(log, rows, format, masking, path, on_progress)
            )
            self.reported.emit(_as_text(done))

        self.run_job(f"Exporting {_short(path.name)}", write)

    def open_manager(self) -> None:
        from inspector.qt.dialogs.traffic.captures import CapturesDialog

        dialog = CapturesDialog(self._bridge, self._theme, self._window)
        dialog.open_requested.connect(lambda path: self.open([path]))
        dialog.show()

    def _on_focus_changed(self, old: QWidget | None, new: QWidget | None) -> None:
        if new is None:
            return
        for panel in self.panels():
            if panel.isAncestorOf(new):
                self._set_front(panel)

    def _on_dock_shown(self, opened: OpenedCapture, shown: bool) -> None:
        if shown and opened in self.all:
            self._set_front(opened.panel)

    def _set_front(self, panel: TrafficPanel) -> None:
        if panel is not self._front:
            self._front = panel
            self.front_changed.emit()


class OpenedCapture:
    """An open capture with its traffic panel and dock."""

    def __init__(self, capture: Capture, panel: TrafficPanel, dock: QDockWidget) -> None:
        self.capture = capture
        self.panel = panel
        self.dock = dock


class CaptureNotices(QObject):
    """Strips above the workspace about captures, shown as long as they apply.

    Signals:
        open_requested: The user wants to open a capture; carries its path.
    """

    open_requested = Signal(object)

    def __init__(self, bridge: Bridge, strips: Alert, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._strips = strips
        self.recording: RecordingState | None = None  # as last reported
        bridge.recording_changed.connect(self._on_recording_changed)

    def unsaved_rows(self) -> int:
        """Return how many rows are only in memory because recording is paused."""
        state = self.recording
        return len(self._bridge.log) - state.rows if state is not None and state.is_paused else 0

    def offer_interrupted(self) -> None:
        """Look for captures of interrupted sessions and offer the latest of them."""
        self._bridge.start("interrupted captures", self._offer_interrupted())

    async def _offer_interrupted(self) -> None:
        found = await self._bridge.ask(lambda engine: engine.captures.interrupted())
        if found:
            self._offer(found)

    def _offer(self, found: tuple[CaptureInfo, ...]) -> None:
        latest = found[-1]
        others = (
            f" Also interrupted: {plural(len(found) - 1, 'session')} before it. See Manage captures."
            if found[1:]
            else ""
        )
        start, rows = full_time(latest.began_ns)[:16], plural(latest.rows or 0, "row")
        text = f"The session of {start} was interrupted; its {rows} are saved."
        open_it, dismiss = QAction("Open capture", self), QAction("Dismiss", self)
        paths = [each.path for each in found]
        open_it.triggered.connect(lambda: self._close_offer(paths, latest.path))
        dismiss.triggered.connect(lambda: self._close_offer(paths, None))
        self._strips.show_message("interrupted", text + others, "", [open_it, dismiss], "accent")

    def _close_offer(self, offered: list[Path], chosen: Path | None) -> None:
        self._strips.close_topic("interrupted")
        self._bridge.start("settle captures", self._settle(offered, chosen))

    async def _settle(self, offered: list[Path], chosen: Path | None) -> None:
        for path in offered:
            await self._bridge.ask(lambda engine: engine.captures.mark_offered(path))  # noqa: B023
        if chosen is not None:
            self.open_requested.emit(chosen)

    def _on_recording_changed(self, state: RecordingState) -> None:
        self.recording = state
        if not state.reason:
            self._strips.close_topic("recording")
            return
        what = "Recording is paused" if state.is_paused else "Recording is falling behind"
        self._strips.show_message("recording", f"{what}. {state.reason}", state.next_step, tone="warn")


def openable(data: QMimeData) -> list[Path]:
    """Return the dragged files that can be opened, by name; contents are checked later."""
    paths = [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]
    return [path for path in paths if path.suffix.lower() in OPENABLE_SUFFIXES]


def _row_choices(panel: TrafficPanel) -> list[tuple[str, array[int]]]:
    """Return the exportable sets of a panel's rows, most likely first."""
    log, search = panel.source.log, panel.model.search
    shown, everything = array("q", search.rows), array("q", range(log.first, len(log)))
    if search.condition.operations:
        roots, operation = set(shown), log.columns.operation
        shown = array("q", (row for row in everything if operation[row] in roots))
    chosen = array("q", panel.table.selected_numbers())
    choices = [("Filtered rows", shown), ("All rows", everything)]
    return [*choices, ("Selected rows", chosen)] if len(chosen) > 1 else choices


def _as_text(done: Exported) -> str:
    parts = [f"Exported {plural(done.rows, 'row')} to {_short(done.path.name)}"]
    if done.masked:
        parts.append(f"{plural(done.masked, 'secret')} masked")
    if done.unreadable:
        parts.append(f"omitted: {plural(done.unreadable, 'row')} that could not be read")
    if done.dropped:
        parts.append(f"omitted (unsupported by this format): {done.dropped}")
    return "; ".join(parts) + "."


def _short(name: str) -> str:
    return shorten(one_line(name), 60)
