"""Periodic reading of one resource, until it is stopped or the connection is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeAlias

import shiboken6
from PySide6.QtCore import Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inspector.base.errors import UserError
from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.engine.calls.repetition import Observation, WatchPlan
from inspector.engine.content.content import Content, read_contents
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.qt.bridge import Bridge
from inspector.qt.panels.resources.contents_view import ReadResult
from inspector.qt.theme import SPACE_2, SPACE_3, Theme
from inspector.qt.views.watch_bar import WatchBar
from inspector.qt.widgets.text.labels import PlainLabel

_MAX_URI_LENGTH = 120
Keep: TypeAlias = Callable[[str, CallOutcome, tuple[Content, ...]], ReadResult]


class ResourceWatch(QWidget):
    """Watches one resource at a time, also while others are shown; it then names its own.

    Hidden until opened. Each result is passed to `keep`, like a manual reading.

    Signals:
        change_seen: The resource changed since the previous check; carries its URI.
    """

    change_shown = Signal(str)

    def __init__(
        self, bridge: Bridge, server: str, theme: Theme, keep: Keep, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._server = server
        self._theme = theme
        self._keep = keep
        self._target = ""
        self._watched = ""
        self._changes = 0
        self._reason = ""  # why the watch ended by itself
        self._ended_as: OutcomeKind | None = None  # the previous outcome
        self._task: asyncio.Task[None] | None = None
        self.strip = WatchBar(theme)
        self._of = PlainLabel(theme, tone="muted", mono=True, wrap=True)
        self._of.setContentsMargins(SPACE_3, 0, SPACE_3, 0)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 1, 0, SPACE_2)
        column.setSpacing(0)
        column.addWidget(self.strip)
        column.addWidget(self._of)
        self._of.hide()
        self.hide()
        self.strip.watch_requested.connect(self.start)
        self.strip.stop_requested.connect(self.stop)
        theme.changed.connect(self.update)

    @property
    def uri(self) -> str:
        """The watched URI; "" if there is none."""
        return self._watched if self._task is not None else ""

    def set_target(self, uri: str, can_watch: bool) -> None:
        """Set what would be watched. Results of another resource are cleared."""
        if uri != self._target and self._task is None:
            self.strip.clear()
            self._watched = ""
        self._target = uri
        self.strip.watch_action.setEnabled(can_watch)
        self._show_which()

    def toggle(self) -> None:
        """Open or close it. It stays open during a watch."""
        self.setVisible(self.isHidden() or self._task is not None)
        if not self.isHidden():
            self.strip.setFocus()

    def start(self, plan: WatchPlan) -> None:
        if self._task is not None or not self._target:
            return
        self._watched, self._changes, self._ended_as = self._target, 0, None
        self.strip.clear()
        self.strip.set_watching(True)
        self._task = self._bridge.start(f"watch {self._watched}", self._watch(self._watched, plan), self)
        self._task.add_done_callback(self._on_ended)
        self._show_which()

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(0, 0, self.width(), 1, self._theme.color("line"))

    async def _watch(self, uri: str, plan: WatchPlan) -> None:
        def on_observation(observation: Observation) -> None:
            if shiboken6.isValid(self) and self.uri == uri:
                self._bridge.start(f"look at {uri}", self._take_in(uri, observation), self)

        self._reason = ""
        try:
            self._reason = await self._bridge.watch_resource(self._server, uri, plan, on_observation)
        except UserError as exc:
            self._reason = str(exc)

    async def _take_in(self, uri: str, observation: Observation) -> None:
        outcome = observation.outcome
        is_read = outcome.kind is OutcomeKind.RESULT
        contents = await self._bridge.work(read_contents, outcome.response) if is_read else ()
        reading = self._keep(uri, outcome, contents)
        if self.uri != uri:
            return  # the watch ended meanwhile, and says so
        was, self._ended_as = self._ended_as, outcome.kind
        has_changed = was is not None and (reading.is_changed or was is not outcome.kind)
        self._changes += has_changed
        self.strip.show_runs(observation.number, self._changes, observation.at_ns)
        if has_changed:
            self.change_shown.emit(uri)

    def _on_ended(self, task: asyncio.Task[None]) -> None:
        """Handle the end of a watch, including one cancelled before it started.

        Later results are ignored.
        """
        if not shiboken6.isValid(self):
            return
        self._task = None
        self.strip.set_watching(False)
        self.strip.show_end("Stopped." if task.cancelled() else self._reason)
        self._show_which()

    def _show_which(self) -> None:
        """Name the watched resource if it is not the selected one."""
        is_other = self._watched not in ("", self._target)
        word = "Watched" if self._task is None else "Watching"
        self._of.setText(f"{word} {one_line(shorten(self._watched, _MAX_URI_LENGTH))}" if is_other else "")
        self._of.setVisible(is_other)
