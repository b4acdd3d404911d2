"""Periodic reading of one resource, until it is stopped or the connection is lost."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from PySide6.QtCore import Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.engine.calls.repetition import Observation, PollPlan
from inspector.engine.content.content import Content, read_contents
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.qt.bridge import Bridge
from inspector.qt.panels.resources.contents_view import ReadResult
from inspector.qt.theme import SPACE_2, SPACE_3, Theme
from inspector.qt.views.feature_panel import Runner
from inspector.qt.views.interval_bar import IntervalBar
from inspector.qt.views.response_view import parsed
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
        self._last_kind: OutcomeKind | None = None  # of the previous outcome
        self.runner = Runner(bridge, self)
        self.bar = IntervalBar(theme, "read")
        self._uri_label = PlainLabel(theme, tone="muted", mono=True, wrap=True)
        self._uri_label.setContentsMargins(SPACE_3, 0, SPACE_3, 0)
        vbox(self, self.bar, self._uri_label, gap=0, margin=(0, 1, 0, SPACE_2))
        self._uri_label.hide()
        self.hide()
        self.bar.repeat_requested.connect(self.start)
        self.bar.stop_requested.connect(self.runner.cancel)
        self.runner.changed.connect(self._on_run_changed)
        theme.changed.connect(self.update)

    @property
    def uri(self) -> str:
        """The URI being read periodically; "" if there is none."""
        return self._uri if self.runner.is_running else ""

    def set_target(self, uri: str, can_read: bool) -> None:
        """Set what would be read. Results of another resource are cleared."""
        if uri != self._target and not self.runner.is_running:
            self.bar.clear()
            self._uri = ""
        self._target = uri
        self.bar.repeat_action.setEnabled(can_read)
        self._show_uri()

    def toggle(self) -> None:
        """Open or close it. It stays open while it runs."""
        self.setVisible(self.isHidden() or self.runner.is_running)
        if not self.isHidden():
            self.bar.setFocus()

    def start(self, plan: PollPlan) -> None:
        if self.runner.is_running or not self._target:
            return
        self._uri, self._changes, self._last_kind = self._target, 0, None
        self.bar.clear()
        work = partial(self._repeat, self._uri, plan)
        self.runner.run(f"read {self._uri} periodically", work, self._on_failure)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(0, 0, self.width(), 1, self._theme.color("line"))

    async def _repeat(self, uri: str, plan: PollPlan) -> None:
        @self._bridge.each_on_window
        @self.runner.in_run
        def on_observation(observation: Observation) -> None:
            self._bridge.start(f"show {uri}", self._show_observation(uri, observation), self)

        reason = await self._bridge.ask(
            lambda engine: engine.tool_caller.poll_resource(self._server, uri, plan, on_observation)
        )
        self.runner.finish()
        self.bar.show_end(reason)

    async def _show_observation(self, uri: str, observation: Observation) -> None:
        outcome = observation.outcome
        contents = await parsed(self._bridge, outcome, read_contents) or ()
        result = self._store(uri, outcome, contents)
        if self.uri != uri:
            return  # it ended meanwhile, and says so
        previous, self._last_kind = self._last_kind, outcome.kind
        has_changed = previous is not None and (result.is_changed or previous is not outcome.kind)
        self._changes += has_changed
        self.bar.show_runs(observation.number, self._changes, observation.at_ns)
        if has_changed:
            self.change_seen.emit(uri)

    def _on_failure(self, outcome: CallOutcome) -> None:
        is_stopped = outcome.kind is OutcomeKind.CANCELLED
        self.bar.show_end("Stopped." if is_stopped else f"{outcome.summary} {outcome.next_step}".strip())

    def _on_run_changed(self) -> None:
        self.bar.set_running(self.runner.is_running)
        self._show_uri()

    def _show_uri(self) -> None:
        """Name the resource if it is not the selected one."""
        is_other = self._uri not in ("", self._target)
        verb = "Reading" if self.runner.is_running else "Read"
        self._uri_label.setText(f"{verb} {one_line(shorten(self._uri, _MAX_URI_LENGTH))}" if is_other else "")
        self._uri_label.setVisible(is_other)
