"""One tool: what it says about itself, its arguments, the call under way, and the result."""

from __future__ import annotations

import asyncio
import contextlib
import time

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from inspector.base.jsonvalue import JSONObject, pretty
from inspector.base.plaintext import one_line
from inspector.base.units import duration
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.protocol.connection import Progressed
from inspector.protocol.types import Malformed, Tool
from inspector.qt.actions import Actions
from inspector.qt.bridge import Bridge
from inspector.qt.forms.argumentseditor import ArgumentsEditor
from inspector.qt.panels.tools.result import ResultView
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.badge import Badge
from inspector.qt.widgets.labels import Heading, Muted, PlainLabel
from inspector.schema.values import FormError

_LONGEST_DESCRIPTION = 600


class CallView(QWidget):
    """Arguments of the chosen tool on the left, the result on the right. One call at a time.

    Signals:
        readiness_changed: `can_call` or `is_running` may be another now.
    """

    readiness_changed = Signal()

    def __init__(
        self, bridge: Bridge, server: str, actions: Actions, theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._server = server
        self._actions = actions
        self._theme = theme
        self._tool: Tool | None = None
        self._editors: dict[str, tuple[Tool, ArgumentsEditor]] = {}
        self._outcomes: dict[str, CallOutcome] = {}
        self._is_connected = False
        self._task: asyncio.Task[None] | None = None
        self._started = 0
        self._title = Heading(theme)
        self._name = Muted(theme)
        self._description = PlainLabel(theme, tone="muted", wrap=True, selectable=True)
        self._hints = [Badge(theme) for _ in range(3)]
        self.arguments = ArgumentsEditor(theme, submit_keys=False)
        self._forms = QStackedWidget()
        self._forms.addWidget(self.arguments)
        self.result = ResultView(bridge, theme)
        self._running = _RunningStrip(theme)
        self._timer = QTimer(self, interval=100)
        self._lay_out()
        self._timer.timeout.connect(self._on_tick)

    @property
    def tool(self) -> Tool | None:
        return self._tool

    @property
    def can_call(self) -> bool:
        return self._tool is not None and self._is_connected and not self.is_running

    @property
    def is_running(self) -> bool:
        return self._task is not None

    # -------------------------------------------------------------- what is shown

    def set_tool(self, tool: Tool) -> None:
        """Go to a tool, its arguments and its latest result. Those of the one before stay for the return."""
        is_other = self._tool is None or self._tool.name != tool.name
        self._tool = tool
        if is_other:
            self._show_latest(tool)
        self._show_head(tool.title or tool.name, tool.name if tool.title else "", tool.description)
        self._show_hints(tool.hints)
        self.arguments = self._editor_of(tool)
        self._forms.setCurrentWidget(self.arguments)
        self.readiness_changed.emit()

    def _show_latest(self, tool: Tool) -> None:
        outcome = self._outcomes.get(tool.name)
        if outcome is None:
            self.result.show_nothing()
        else:
            schema = tool.source.get("outputSchema")
            self._bridge.start(f"show {tool.name}", self.result.show_outcome(outcome, schema), self)

    def set_malformed(self, item: Malformed) -> None:
        """An entry of the list that cannot be called: show why, and what was sent."""
        self._tool = None
        self._show_head("Not usable", "", f"{item.reason}.")
        self._show_hints(())
        self._forms.setCurrentIndex(0)
        self.result.show_text(pretty(item.value))
        self.readiness_changed.emit()

    def set_nothing(self) -> None:
        """There is no tool to call."""
        self._tool = None
        self.readiness_changed.emit()

    def set_connected(self, connected: bool) -> None:
        self._is_connected = connected
        self.readiness_changed.emit()

    def _show_head(self, title: str, name: str, description: str) -> None:
        self._title.setText(one_line(title))
        self._name.setText(one_line(name))
        self._name.setVisible(bool(name))
        self._description.setText(description.strip()[:_LONGEST_DESCRIPTION])
        self._description.setVisible(bool(description.strip()))

    def _show_hints(self, hints: tuple[str, ...]) -> None:
        for badge, words in zip(self._hints, (*hints, "", "", ""), strict=False):
            badge.set_text(words, "warn" if words == "destructive" else "muted")

    def _editor_of(self, tool: Tool) -> ArgumentsEditor:
        """Each tool that was looked at keeps an editor, so nothing that was typed is ever put away.

        When the server changed the tool's schema meanwhile, the arguments move to a new form.
        """
        known, editor = self._editors.get(tool.name, (None, None))
        if known is not None and editor is not None and known.input_schema == tool.input_schema:
            return editor
        renewed = ArgumentsEditor(self._theme, submit_keys=False)
        renewed.set_schema(tool.input_schema)
        self._forms.addWidget(renewed)
        # Qt puts what is made later behind everything else that Tab goes to, and moves a widget with all that
        # is in it only if that has a focus policy and a focus proxy inside.
        renewed.setFocusProxy(renewed.switch)
        renewed.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        QWidget.setTabOrder(self._description, renewed)
        self._editors[tool.name] = (tool, renewed)
        if editor is not None:
            with contextlib.suppress(FormError):
                renewed.set_arguments(editor.arguments(anyway=True))
            self._forms.removeWidget(editor)
            editor.deleteLater()
        return renewed

    # -------------------------------------------------------------- calling

    def call(self, *, anyway: bool = False) -> None:
        """Call the tool with what is typed.

        Wrong arguments are shown at their place and nothing is sent, unless it is to be sent `anyway`.
        """
        if self._tool is None or self._task is not None or not self._is_connected:
            return
        try:
            arguments = self.arguments.arguments(anyway=anyway)
        except FormError:
            return
        self._task = self._bridge.start(f"call {self._tool.name}", self._call(self._tool, arguments), self)
        self._started = time.monotonic_ns()
        self._running.begin()
        self._timer.start()
        self.readiness_changed.emit()

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _call(self, tool: Tool, arguments: JSONObject) -> None:
        try:
            outcome = await self._bridge.call_tool(
                self._server, tool.name, arguments, self._running.show_progress
            )
        except asyncio.CancelledError:
            self._finish()
            elapsed = time.monotonic_ns() - self._started
            await self._keep(tool, CallOutcome(OutcomeKind.CANCELLED, elapsed))
            raise
        self._finish()
        await self._keep(tool, outcome)

    async def _keep(self, tool: Tool, outcome: CallOutcome) -> None:
        """An outcome belongs to its tool: it is shown there, now or when the person comes back to it."""
        self._outcomes[tool.name] = outcome
        if self._tool is not None and self._tool.name == tool.name:
            await self.result.show_outcome(outcome, tool.source.get("outputSchema"))

    def _finish(self) -> None:
        self._task = None
        self._timer.stop()
        self._running.end()
        self.readiness_changed.emit()

    def _on_tick(self) -> None:
        self._running.show_elapsed(time.monotonic_ns() - self._started)

    # --------------------------------------------------------------

    def _lay_out(self) -> None:
        left = QWidget()
        column = QVBoxLayout(left)
        column.setContentsMargins(0, SPACE_2, 0, 0)
        column.setSpacing(SPACE_1)
        head = QVBoxLayout()
        head.setContentsMargins(SPACE_3, 0, SPACE_3, SPACE_1)
        head.setSpacing(SPACE_1)
        head.addLayout(self._make_title_row())
        head.addWidget(self._description)
        column.addLayout(head)
        column.addWidget(self._forms, 1)
        column.addWidget(self._running)
        column.addLayout(self._make_buttons())
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(left)
        splitter.addWidget(self.result)
        splitter.setSizes([420, 480])
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(splitter)

    def _make_title_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(SPACE_2)
        row.addWidget(self._title, 0)
        row.addWidget(self._name, 1)
        for badge in self._hints:
            row.addWidget(badge)
        return row

    def _make_buttons(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_2)
        row.setSpacing(SPACE_2)
        row.addWidget(ActionButton(self._actions["tool.call"], "primary"))
        row.addWidget(ActionButton(self._actions["tool.cancel"]))
        row.addStretch(1)
        return row


class _RunningStrip(QWidget):
    """A bar, the server's words on how far it is, and the time it took so far."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setFixedHeight(4)
        self._bar.setAccessibleName("Progress of the call")
        self._words = Muted(theme)
        self._elapsed = Muted(theme)
        row = QHBoxLayout()
        row.addWidget(self._words, 1)
        row.addWidget(self._elapsed)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_3, SPACE_1, SPACE_3, 0)
        column.setSpacing(SPACE_1)
        column.addWidget(self._bar)
        column.addLayout(row)
        self.hide()

    def begin(self) -> None:
        self._bar.setRange(0, 0)
        self._words.setText("Waiting for the answer")
        self._elapsed.setText("")
        self.show()

    def end(self) -> None:
        self._bar.setRange(0, 1)  # an endless bar would go on animating
        self.hide()

    def show_progress(self, event: Progressed) -> None:
        if self.isHidden():
            return
        if event.total is not None and event.total > 0:
            self._bar.setRange(0, 1000)
            self._bar.setValue(round(1000 * min(max(event.progress / event.total, 0), 1)))
            counted = f"{event.progress:g} of {event.total:g}"
        else:
            counted = f"{event.progress:g}"
        self._words.setText(f"{counted}  {one_line(event.message)}" if event.message else counted)

    def show_elapsed(self, nanoseconds: int) -> None:
        self._elapsed.setText(duration(nanoseconds))
