"""Result of a tool call: content, structured content, changes, raw message.

Also shows the output schema check, and what the server's processes wrote during the call (stderr and
stray lines on stdout).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QTableView, QTabWidget, QWidget

from inspector.base.json.values import JSON
from inspector.base.units import plural
from inspector.engine.calls.output_check import OutputCheck, OutputState, check_text
from inspector.engine.calls.repetition import Observation
from inspector.engine.content.content import CallResult, no_content_text, read_result
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.qt.bridge import Bridge
from inspector.qt.models.traffic.console import CONSOLE_WIDTHS, ConsoleColumn, ConsoleModel
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme, Tone
from inspector.qt.views.content_view import PartsView
from inspector.qt.views.diff_view import ChangesTable
from inspector.qt.views.response_view import ResponseView, parsed
from inspector.qt.widgets.code.json_view import JsonView
from inspector.qt.widgets.code.save_file import BytesBody
from inspector.qt.widgets.inputs.controls import icon_button
from inspector.qt.widgets.item_views import style_table
from inspector.qt.widgets.layout import hbox, show_tab, vbox
from inspector.qt.widgets.text.badge import Badge
from inspector.traffic.log import TrafficLog

if TYPE_CHECKING:
    from inspector.traffic.operations import CallCost

_LABELS = ("Content", "Structured", "Changes", "Raw")
_BADGES: dict[OutputState, tuple[str, Tone]] = {
    OutputState.FITS: ("matches schema", "ok"),
    OutputState.DIFFERS: ("schema mismatch", "warn"),
    OutputState.MISSING: ("no structured content", "warn"),
    OutputState.UNCHECKED: ("schema not checked", "muted"),
}


class ResultView(ResponseView):
    """The result of the latest call.

    Signals:
        checked: Its structured content was validated against the output schema; carries the OutputCheck.
        task_requested: The user wants to see the task the call became; carries its id.
    """

    checked = Signal(object)
    task_requested = Signal(str)
    _error_text = "Protocol error; the tool returned no result."

    def __init__(self, bridge: Bridge, theme: Theme, parent: QWidget | None = None) -> None:
        self.tabs = QTabWidget()
        super().__init__(bridge, theme, "play", self.tabs, parent)
        self._unloaded: dict[JsonView, bytes] = {}  # content of tabs not opened yet
        self._shown_change = 0  # the number of the change in the table
        self.check_badge = Badge(theme)
        self.change_badge = Badge(theme)
        self.content = PartsView(theme)
        self.structured = JsonView(theme, "Structured content")
        self.changes = ChangesTable(theme)
        self.message = JsonView(theme, "Full response")
        self.output: CallOutput | None = None  # made when a call wrote something
        self.save_action = QAction("Save full response…", self)
        theme.set_icon(self.save_action, "save")
        self._save_button = icon_button(self.save_action)
        self.task_action = QAction("Show task", self)
        self._task_id = ""  # of a call that was left running
        self._lay_out()
        self._connect()
        self.show_nothing()

    def show_nothing(self, *, has_arguments: bool = True) -> None:
        """Show that no call was made yet."""
        text = "Fill in the arguments and call the tool." if has_arguments else "Call the tool."
        self.explain("empty", "No result yet", text)

    def show_text(self, text: str) -> None:
        """Show a JSON text instead of an outcome."""
        self._clear()
        self._set_response(text.encode(errors="surrogatepass"))
        self._show_tabs([self.message])
        self._show_output(None)

    async def show_outcome(self, outcome: CallOutcome, output_schema: JSON = None) -> None:
        """Show an outcome; `output_schema` is the tool's outputSchema, None if it has none."""
        generation = self._clear()
        cost = outcome.cost.text() if outcome.cost is not None else ""
        self._show_status(outcome, "as a task" if outcome.task_id else "", cost)
        self._set_response(outcome.response)
        if outcome.kind is OutcomeKind.DETACHED:
            self._task_id = outcome.task_id
            title = "Running in the background"
            self._stack.explain("empty", "tasks", title, outcome.summary, action=self.task_action)
        elif not self._explain_missing_result(outcome):
            result = await parsed(self._bridge, outcome, read_result) or CallResult()
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

    def _clear(self) -> int:
        self._unloaded.clear()
        self._set_response(b"")
        self.check_badge.set_text("")
        self.change_badge.set_text("")
        return super()._clear()

    def _set_response(self, response: bytes) -> None:
        self._response = self._unloaded[self.message] = response
        self.save_action.setEnabled(bool(response))
        self._save_button.setVisible(bool(response))

    def _show_result(self, outcome: CallOutcome, result: CallResult) -> None:
        tabs: list[QWidget] = [self.message]
        if result.parts:
            self.content.show_parts(result.parts)
            tabs.append(self.content)
        if result.structured is not None:
            self._unloaded[self.structured] = result.structured.data
            tabs.append(self.structured)
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
        elif result.problem:
            self.badge.set_text("protocol violation", "error")
            self.alert.show_message(
                "outcome", f"The response violates the protocol: {result.problem}.", tone="error"
            )
        elif outcome.kind is OutcomeKind.RESULT and not result.parts and result.structured is None:
            text = f"{no_content_text(result.other_members)}."
            self.alert.show_message("outcome", text, tone="wait")
        if outcome.is_composed:
            text = "Assembled from task messages. Raw messages: Traffic."
            self.alert.show_message("composed", text, tone="wait")

    def _show_tabs(self, tabs: list[QWidget]) -> None:
        """Show these tabs and select the first one."""
        views = (self.content, self.structured, self.changes, self.message)
        for position, view in enumerate(views):
            show_tab(self.tabs, position, view in tabs)
        self.tabs.setCurrentIndex(next(position for position, view in enumerate(views) if view in tabs))
        self._load_tab()
        self._stack.open()

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

    def _connect(self) -> None:
        self.save_action.triggered.connect(self.save)
        self.task_action.triggered.connect(lambda: self.task_requested.emit(self._task_id))
        self.tabs.currentChanged.connect(self._load_tab)
        for view in (self.structured, self.message):
            view.save_requested.connect(self.save)
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
            (self.content, self.structured, self.changes, self.message), _LABELS, strict=True
        ):
            self.tabs.addTab(view, text)
        vbox(self, strip, self.alert, (self._stack, 1), gap=0)


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
