"""Result of a tool call: content, structured content, changes, raw message.

Also shows the output schema check, and what the server's processes wrote during the call (stderr and
stray lines on stdout).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QStackedWidget,
    QTableView,
    QTabWidget,
    QWidget,
)

from inspector.base.json.values import JSON
from inspector.base.units import plural, size
from inspector.engine.calls.output_check import OutputCheck, OutputState, check_text
from inspector.engine.calls.repetition import Observation
from inspector.engine.content.content import CallResult, no_content_text, read_result
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.qt.bridge import Bridge
from inspector.qt.models.traffic.console import CONSOLE_WIDTHS, ConsoleColumn, ConsoleModel
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme, Tone
from inspector.qt.views.content_view import PartsView
from inspector.qt.views.diff_view import ChangesTable
from inspector.qt.views.response_view import time_text
from inspector.qt.widgets.code.json_view import JsonView
from inspector.qt.widgets.code.save_file import BodySaver, BytesBody
from inspector.qt.widgets.inputs.controls import icon_button
from inspector.qt.widgets.item_views import style_table
from inspector.qt.widgets.layout import hbox, show_tab, vbox
from inspector.qt.widgets.notices.empty_state import EmptyState
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.badge import Badge
from inspector.qt.widgets.text.labels import MutedLabel
from inspector.traffic.log import TrafficLog

if TYPE_CHECKING:
    from inspector.traffic.operations import CallCost

_LABELS = ("Content", "Structured", "Changes", "Raw")
_TONES: dict[OutcomeKind, Tone] = {
    OutcomeKind.RESULT: "ok",
    OutcomeKind.TOOL_ERROR: "warn",
    OutcomeKind.RPC_ERROR: "error",
    OutcomeKind.FAILED: "error",
    OutcomeKind.CANCELLED: "muted",
    OutcomeKind.DETACHED: "wait",
}
_BADGES: dict[OutputState, tuple[str, Tone]] = {
    OutputState.FITS: ("matches schema", "ok"),
    OutputState.DIFFERS: ("schema mismatch", "warn"),
    OutputState.MISSING: ("no structured content", "warn"),
    OutputState.UNCHECKED: ("schema not checked", "muted"),
}


class ResultView(QWidget):
    """The result of the latest call.

    Signals:
        shown: An outcome is shown; carries it.
        checked: Its structured content was validated against the output schema; carries the OutputCheck.
        uri_requested: The user wants to follow a link; carries its URI.
        task_requested: The user wants to see the task the call became; carries its id.
    """

    shown = Signal(object)
    checked = Signal(object)
    uri_requested = Signal(str)
    task_requested = Signal(str)

    def __init__(self, bridge: Bridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._theme = theme
        self._response = b""
        self._unloaded: dict[JsonView, bytes] = {}  # content of tabs not opened yet
        self._generation = 0
        self._shown_change = 0  # the number of the change in the table
        self.badge = Badge(theme)
        self.check_badge = Badge(theme)
        self.change_badge = Badge(theme)
        self._facts = MutedLabel(theme)
        self.alert = Alert(theme)
        self.content = PartsView(theme)
        self.structured = JsonView(theme, "Structured content")
        self.changes = ChangesTable(theme)
        self.whole = JsonView(theme, "Full response")
        self.output: CallOutput | None = None  # made when a call wrote something
        self.tabs = QTabWidget()
        self.message = EmptyState(theme)
        self.saver = BodySaver(theme)
        self.save_action = QAction("Save full response…", self)
        theme.set_icon(self.save_action, "save")
        self._save_button = icon_button(self.save_action)
        self.task_action = QAction("Show task", self)
        self._task_id = ""  # of a call that was left running
        self._pages = QStackedWidget()
        self._lay_out()
        self._connect()
        self.show_nothing()

    def show_nothing(self, *, has_arguments: bool = True) -> None:
        """Show that no call was made yet."""
        self._reset(b"")
        text = "Fill in the arguments and call the tool." if has_arguments else "Call the tool."
        self.message.show_empty("play", "No result yet", text)
        self._pages.setCurrentWidget(self.message)

    def show_text(self, text: str) -> None:
        """Show a JSON text instead of an outcome."""
        self._reset(text.encode(errors="surrogatepass"))
        self._unloaded[self.whole] = self._response
        self._show_tabs([self.whole])
        self._show_output(None)

    async def show_outcome(self, outcome: CallOutcome, output_schema: JSON = None) -> None:
        """Show an outcome; `output_schema` is the tool's outputSchema, None if it has none."""
        generation = self._reset(outcome.response)
        self._show_status(outcome)
        if outcome.kind is OutcomeKind.FAILED:
            self.message.show_failed("Call failed", outcome.summary, outcome.next_step)
            self._pages.setCurrentWidget(self.message)
        elif outcome.kind is OutcomeKind.CANCELLED:
            sentence = outcome.summary or "The server was notified. A late response will appear in Traffic."
            self.message.show_empty("stop", "Cancelled", sentence)
            self._pages.setCurrentWidget(self.message)
        elif outcome.kind is OutcomeKind.DETACHED:
            self._task_id = outcome.task_id
            self.message.show_empty("tasks", "Running in the background", outcome.summary, [self.task_action])
            self._pages.setCurrentWidget(self.message)
        else:
            result = await self._read(outcome)
            if generation != self._generation:
                return  # something newer was shown meanwhile
            self._show_result(outcome, result)
        self.shown.emit(outcome)
        if outcome.response and output_schema is not None:
            await self._check(outcome, output_schema)

    async def show_observation(self, observation: Observation, output_schema: JSON = None) -> None:
        """Show one result of a call repeated at an interval, and its changes. The tab stays."""
        previous_tab = self.tabs.currentIndex()
        await self.show_outcome(observation.outcome, output_schema)
        generation = self._generation
        self._show_change(observation)
        if observation.has_changed:
            self._shown_change = 0
        if observation.diff is not None and observation.has_changed:
            await self.changes.show_diff(observation.diff)
            self._shown_change = observation.changes
        if generation != self._generation:
            return
        # The latest change stays available until there is another.
        has_table = 0 < observation.changes == self._shown_change
        show_tab(self.tabs, self.tabs.indexOf(self.changes), has_table)
        if self.tabs.isTabVisible(previous_tab):
            self.tabs.setCurrentIndex(previous_tab)

    def _reset(self, response: bytes) -> int:
        self._generation += 1
        self._response = response
        self._unloaded.clear()
        self.save_action.setEnabled(bool(response))
        self._save_button.setVisible(bool(response))
        for badge in (self.badge, self.check_badge, self.change_badge):
            badge.set_text("")
        self._facts.setText("")
        self.alert.close_all()
        return self._generation

    async def _read(self, outcome: CallOutcome) -> CallResult:
        if outcome.kind is OutcomeKind.RPC_ERROR:
            return CallResult()
        return await self._bridge.ask(lambda engine: engine.work(read_result, outcome.response))

    def _show_status(self, outcome: CallOutcome) -> None:
        self.badge.set_text(outcome.kind.value, _TONES[outcome.kind])
        facts = [time_text(outcome)]
        if outcome.response:
            facts.append(size(len(outcome.response)))
        if outcome.task_id:
            facts.append("as a task")
        if outcome.cost is not None and (cost := outcome.cost.text()):
            facts.append(cost)
        self._facts.setText(" · ".join(facts))

    def _show_result(self, outcome: CallOutcome, result: CallResult) -> None:
        tabs: list[QWidget] = [self.whole]
        if result.parts:
            self.content.show_parts(result.parts)
            tabs.append(self.content)
        if result.structured is not None:
            self._unloaded[self.structured] = result.structured.data
            tabs.append(self.structured)
        self._unloaded[self.whole] = outcome.response
        self._show_tabs(tabs)
        self._show_output(outcome.cost)
        if len(result.parts) > 1:
            self._facts.setText(f"{self._facts.text()} · {plural(len(result.parts), 'part')}")
        self._explain(outcome, result)

    def _show_output(self, cost: CallCost | None) -> None:
        """Show a tab with the output written during the call, if any."""
        rows = cost.rows if cost is not None else ()
        if self.output is None:
            if not rows:
                return

            self.output = CallOutput(self._bridge.log, self._theme)
            self.tabs.addTab(self.output, "Output")
        self.output.show_rows(rows)
        position = self.tabs.indexOf(self.output)
        count = cost.stderr + cost.stray if cost is not None else 0
        self.tabs.setTabText(position, f"Output {count:,}")
        show_tab(self.tabs, position, bool(rows))

    def _explain(self, outcome: CallOutcome, result: CallResult) -> None:
        if outcome.kind is OutcomeKind.TOOL_ERROR:
            self.alert.show_message(
                "outcome", "The tool ran and reported an error (isError). Its message is below."
            )
        elif outcome.kind is OutcomeKind.RPC_ERROR:
            text = f"Protocol error; the tool returned no result. {outcome.summary}."
            self.alert.show_message("outcome", text, outcome.next_step, tone="error")
        elif result.problem:
            self.badge.set_text("protocol violation", "error")
            self.alert.show_message(
                "outcome", f"The response violates the protocol: {result.problem}.", tone="error"
            )
        elif not result.parts and result.structured is None:
            text = f"{no_content_text(result.other_members)}."
            self.alert.show_message("outcome", text, tone="wait")
        if outcome.is_composed:
            text = "Assembled from task messages. Raw messages: Traffic."
            self.alert.show_message("composed", text, tone="wait")

    def _show_tabs(self, tabs: list[QWidget]) -> None:
        """Show these tabs and select the first one."""
        views = (self.content, self.structured, self.changes, self.whole)
        for position, view in enumerate(views):
            show_tab(self.tabs, position, view in tabs)
        self.tabs.setCurrentIndex(next(position for position, view in enumerate(views) if view in tabs))
        self._load_tab()
        self._pages.setCurrentWidget(self.tabs)

    def _load_tab(self) -> None:
        """Load the current tab if needed: loading all of them at once would block the window."""
        view = self.tabs.currentWidget()
        if isinstance(view, JsonView) and view in self._unloaded:
            view.set_body(BytesBody(self._unloaded.pop(view)), "pretty")

    async def _check(self, outcome: CallOutcome, output_schema: JSON) -> None:
        generation = self._generation
        check = await self._bridge.ask(
            lambda engine: engine.tool_caller.check_output(outcome.response, output_schema)
        )
        if generation == self._generation:
            self._show_check(check)
            self.checked.emit(check)

    def _show_check(self, check: OutputCheck) -> None:
        self.check_badge.set_text(*check_badge(check))
        if text := check_text(check):
            self.alert.show_message("check", text)
        if check.notes:
            self.alert.show_message("notes", " ".join(check.notes), tone="wait")

    def _show_change(self, observation: Observation) -> None:
        if observation.before is None:
            return
        if not observation.has_changed:
            self.change_badge.set_text("unchanged", "muted")
            return
        self.change_badge.set_text("changed", "accent")
        if observation.diff is None:
            before = observation.before.kind.value
            text = f"The status changed from “{before}” to “{observation.outcome.kind.value}”."
        else:
            text = f"Changed since the previous call: {observation.diff.summary()}."
        self.alert.show_message("change", text, tone="accent")

    def _save(self) -> None:
        self.saver.ask(BytesBody(self._response), "response.json")

    def _connect(self) -> None:
        self.save_action.triggered.connect(self._save)
        self.task_action.triggered.connect(lambda: self.task_requested.emit(self._task_id))
        self.tabs.currentChanged.connect(self._load_tab)
        for view in (self.structured, self.whole):
            view.save_requested.connect(self._save)
        self.content.uri_requested.connect(self.uri_requested)

    def _lay_out(self) -> None:
        strip = hbox(
            None,
            self.badge,
            self.check_badge,
            self.change_badge,
            (self._facts, 1),
            self._save_button,
            margin=(SPACE_3, SPACE_2, SPACE_2, SPACE_1),
        )
        for view, text in zip(
            (self.content, self.structured, self.changes, self.whole), _LABELS, strict=True
        ):
            self.tabs.addTab(view, text)
        self._pages.addWidget(self.message)
        self._pages.addWidget(self.tabs)
        vbox(self, strip, self.alert, (self._pages, 1), self.saver, gap=0)


class CallOutput(QTableView):
    """Log rows, one line each, as in the Console."""

    def __init__(self, log: TrafficLog, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.lines = ConsoleModel(log, "", theme)
        self.setModel(self.lines)
        self.setAccessibleName("Output during the call")
        style_table(self, theme, CONSOLE_WIDTHS, [ConsoleColumn.TEXT])
        self.setFrameShape(QTableView.Shape.NoFrame)
        copy = QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), self)
        copy.setContext(Qt.ShortcutContext.WidgetShortcut)
        copy.activated.connect(self._on_copy)

    def show_rows(self, rows: Sequence[int]) -> None:
        self.lines.replace(rows)

    def _on_copy(self) -> None:
        rows = sorted(index.row() for index in self.selectionModel().selectedRows())
        if rows:
            QGuiApplication.clipboard().setText("\n".join(self.lines.line(row) for row in rows))


def check_badge(check: OutputCheck) -> tuple[str, Tone]:
    """Return a short label; "" if there is nothing to report."""
    return _BADGES.get(check.state, ("", "muted"))
