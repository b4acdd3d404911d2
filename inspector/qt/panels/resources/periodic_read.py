"""Periodic reading of one resource, until it is stopped or the connection is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeAlias

import shiboken6
from PySide6.QtCore import Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from inspector.base.errors import UserError
from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.engine.calls.repetition import Observation, PollPlan
from inspector.engine.content.content import Content, read_contents
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.qt.bridge import Bridge
from inspector.qt.panels.resources.contents_view import ReadResult
from inspector.qt.theme import SPACE_2, SPACE_3, Theme
from inspector.qt.views.interval_bar import IntervalBar
from inspector.qt.widgets.layout import vbox
from inspector.qt.widgets.text.labels import PlainLabel

_MAX_URI_LENGTH = 120
StoreResult: TypeAlias = Callable[[str, CallOutcome, tuple[Content, ...]], ReadResult]


class PeriodicRead(QWidget):
    """Reads one resource at an interval, also while another one is shown; it then names its own.

    Hidden until opened. Each result is passed to `store`, like that of a manual read.

    Signals:
        change_seen: The resource changed since the previous read; carries its URI.
    """

    change_seen = Signal(str)

    def __init__(
        self, bridge: Bridge, server: str, theme: Theme, store: StoreResult, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._server = server
        self._theme = theme
        self._store = store
        self._target = ""
        self._uri = ""
        self._changes = 0
        self._reason = ""  # why it ended by itself
        self._last_kind: OutcomeKind | None = None  # of the previous outcome
        self._task: asyncio.Task[None] | None = None
        self.bar = IntervalBar(theme, "read")
        self._uri_label = PlainLabel(theme, tone="muted", mono=True, wrap=True)
        self._uri_label.setContentsMargins(SPACE_3, 0, SPACE_3, 0)
        vbox(self, self.bar, self._uri_label, gap=0, margin=(0, 1, 0, SPACE_2))
        self._uri_label.hide()
        self.hide()
        self.bar.repeat_requested.connect(self.start)
        self.bar.stop_requested.connect(self.stop)
        theme.changed.connect(self.update)

    @property
    def uri(self) -> str:
        """The URI being read periodically; "" if there is none."""
        return self._uri if self._task is not None else ""

    def set_target(self, uri: str, can_read: bool) -> None:
        """Set what would be read. Results of another resource are cleared."""
        if uri != self._target and self._task is None:
            self.bar.clear()
            self._uri = ""
        self._target = uri
        self.bar.repeat_action.setEnabled(can_read)
        self._show_uri()

    def toggle(self) -> None:
        """Open or close it. It stays open while it runs."""
        self.setVisible(self.isHidden() or self._task is not None)
        if not self.isHidden():
            self.bar.setFocus()

    def start(self, plan: PollPlan) -> None:
        if self._task is not None or not self._target:
            return
        self._uri, self._changes, self._last_kind = self._target, 0, None
        self.bar.clear()
        self.bar.set_running(True)
        self._task = self._bridge.start(f"read {self._uri} periodically", self._repeat(self._uri, plan), self)
        self._task.add_done_callback(self._on_ended)
        self._show_uri()

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(0, 0, self.width(), 1, self._theme.color("line"))

    async def _repeat(self, uri: str, plan: PollPlan) -> None:
        @self._bridge.each_on_window
        def on_observation(observation: Observation) -> None:
            if shiboken6.isValid(self) and self.uri == uri:
                self._bridge.start(f"show {uri}", self._show_observation(uri, observation), self)

        self._reason = ""
        try:
            self._reason = await self._bridge.ask(
                lambda engine: engine.tool_caller.poll_resource(self._server, uri, plan, on_observation)
            )
        except UserError as exc:
            self._reason = str(exc)

    async def _show_observation(self, uri: str, observation: Observation) -> None:
        outcome = observation.outcome
        is_read = outcome.kind is OutcomeKind.RESULT
        contents = (
            await self._bridge.ask(lambda engine: engine.work(read_contents, outcome.response))
            if is_read
            else ()
        )
        result = self._store(uri, outcome, contents)
        if self.uri != uri:
            return  # it ended meanwhile, and says so
        previous, self._last_kind = self._last_kind, outcome.kind
        has_changed = previous is not None and (result.is_changed or previous is not outcome.kind)
        self._changes += has_changed
        self.bar.show_runs(observation.number, self._changes, observation.at_ns)
        if has_changed:
            self.change_seen.emit(uri)

    def _on_ended(self, task: asyncio.Task[None]) -> None:
        """Handle the end, also of a task cancelled before it started.

        Later results are ignored.
        """
        if not shiboken6.isValid(self):
            return
        self._task = None
        self.bar.set_running(False)
        self.bar.show_end("Stopped." if task.cancelled() else self._reason)
        self._show_uri()

    def _show_uri(self) -> None:
        """Name the resource if it is not the selected one."""
        is_other = self._uri not in ("", self._target)
        verb = "Read" if self._task is None else "Reading"
        self._uri_label.setText(f"{verb} {one_line(shorten(self._uri, _MAX_URI_LENGTH))}" if is_other else "")
        self._uri_label.setVisible(is_other)
