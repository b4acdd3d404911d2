"""Call options (timeouts, `_meta`, task, client capabilities), repeat and watch strips.

They are below the form and closed until opened. Options are kept per tool.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QDoubleSpinBox,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QSpinBox,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from inspector.base.errors import UserError
from inspector.base.json.values import JSON, JSONObject, JSONProblem, compact, to_wire
from inspector.base.units import duration, plural, three_digits
from inspector.config.calls.saved_calls import SavedCall
from inspector.config.calls.variables import without_marks
from inspector.config.json_file import read_exactly
from inspector.engine.calls.repetition import MAX_IN_FLIGHT, MAX_TIMES, RepeatPlan, RepeatReport
from inspector.engine.calls.tool_annotations import TaskChoice, meta_warnings
from inspector.engine.views import ClientSide
from inspector.protocol.client_capabilities import (
    CAPABILITY_SWITCHES,
    CapabilitySwitch,
    ClientCapabilities,
    notes,
)
from inspector.protocol.revisions import R5, Era, is_between
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.views.watch_bar import WatchBar
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.text.labels import PlainLabel


class CallDrawer(QWidget):
    """The strips of a call: options, repeat and watch, one open at a time.

    Options are kept per tool.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._tool = ""
        self._choice = TaskChoice.NO
        self._options: dict[str, CallOptions] = {}
        self.options = OptionsStrip(theme)
        self.repeating = RepeatBar(theme)
        self.watching = WatchBar(theme)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 1, 0, 0)
        column.setSpacing(0)
        for strip in self._strips():
            column.addWidget(strip)
            strip.hide()
        self.hide()
        self.options.changed.connect(self._on_options_changed)
        theme.changed.connect(self.update)

    def open(self, strip: QWidget) -> None:
        for each in self._strips():
            each.setVisible(each is strip)
        self.show()

    def toggle(self, strip: QWidget) -> None:
        if strip.isVisibleTo(self) and not self.isHidden():
            self.hide()
        else:
            self.open(strip)
            first = strip.nextInFocusChain()
            if first is not None:
                first.setFocus()

    def clear(self) -> None:
        """Clear the results of another tool."""
        self.repeating.clear()
        self.watching.clear()

    def show_options(self, tool: str, choice: TaskChoice) -> None:
        if (tool, choice) != (self._tool, self._choice):
            self._tool, self._choice = tool, choice
            self.options.set_options(self._options.get(tool, NO_OPTIONS), choice)

    def put_saved(self, call: SavedCall) -> None:
        """Load the options of a saved call."""
        meta, declared = _line(call.meta or None), _line(call.capabilities)
        self._put(call.tool, CallOptions(call.timeout, meta, call.as_task, declared, call.total))

    def put_earlier(self, tool: str, reported: JSONObject) -> None:
        """Load the options of an earlier call (`KeptCall.sent`); secrets were not kept."""
        reported, _ = without_marks(reported)
        timeout, total = (
            value if isinstance(value := reported.get(name), int | float) else None
            for name in ("timeout", "total")
        )
        meta, declared = _line(reported.get("meta")), _line(reported.get("capabilities"))
        self._put(tool, CallOptions(timeout, meta, reported.get("task") is True, declared, total))

    def _put(self, tool: str, options: CallOptions) -> None:
        self._options[tool] = options
        if tool == self._tool:
            self.options.set_options(options, self._choice)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(0, 0, self.width(), 1, self._theme.color("line"))

    def _strips(self) -> tuple[QWidget, ...]:
        return (self.options, self.repeating, self.watching)

    def _on_options_changed(self) -> None:
        self._options[self._tool] = self.options.options()


def _line(value: JSON) -> str:
    """Return a value as one line of JSON; "" for None."""
    return "" if value is None else to_wire(value).decode()


_MAX_TIMEOUT = 24 * 3600.0
_TASK_TIPS = {
    TaskChoice.MAY: "The server returns a task immediately, and the result when the task is done.",
    TaskChoice.MUST: "This tool only runs as a task.",
}


@dataclass(frozen=True, slots=True)
class CallOptions:
    """The options of a call.

    `timeout` is the request timeout in seconds, None for the server's default; `total` the total timeout in
    seconds, None for unlimited. `meta` and `capabilities` are JSON text as typed.
    """

    timeout: float | None = None
    meta: str = ""
    as_task: bool = False
    capabilities: str = ""
    total: float | None = None

    def read_meta(self) -> JSONObject:
        """Parse `meta`. Raises UserError."""
        return _read_object("_meta", self.meta, 'Use the form {"name": "value"}.') or {}

    def read_capabilities(self) -> JSONObject | None:
        """Parse `capabilities`; None for the server's. Raises UserError."""
        return _read_object("Capabilities", self.capabilities, 'Use the form {"roots": {}}.')


def _read_object(what: str, text: str, example: str) -> JSONObject | None:
    """Parse a JSON object; None if the text is empty. Raises UserError."""
    if not text.strip():
        return None
    try:
        value = read_exactly(text)
    except JSONProblem as exc:
        raise UserError(f"{what} is not JSON: {exc}.", "Correct it, or leave it empty.") from exc
    if not isinstance(value, dict):
        raise UserError(f"{what} must be a JSON object.", example)
    return value


NO_OPTIONS = CallOptions()


class OptionsStrip(QWidget):
    """The options of the current tool.

    Signals:
        changed: The user changed an option.
    """

    changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.timeout = _seconds("server default")
        self.timeout.setAccessibleName("Call timeout")
        self.timeout.setToolTip(
            "How long to wait without a response; each progress notification restarts the timeout"
        )
        self.total = _seconds("unlimited")
        self.total.setAccessibleName("Total call timeout")
        self.total.setToolTip(
            "The call is cancelled after this time, whatever its progress; time spent in the Inbox "
            "does not count"
        )
        self.meta = QLineEdit()
        self.meta.setFont(theme.mono_font(0.95))
        self.meta.setPlaceholderText('{"example.com/trace": "1"}')
        self.meta.setAccessibleName("_meta of the call as JSON")
        self.capabilities = QLineEdit()
        self.capabilities.setFont(theme.mono_font(0.95))
        self.capabilities.setAccessibleName("Capabilities declared for this call as JSON")
        self._menu = QMenu(self)
        self._menu.aboutToShow.connect(self._fill_menu)
        self.switches = QToolButton()
        self.switches.setText("Change…")
        self.switches.setToolTip("Turn capabilities on or off for this call")
        self.switches.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.switches.setMenu(self._menu)
        self.task = QCheckBox("Run as task")
        self._note = PlainLabel(theme, tone="warn", wrap=True)
        self._choice = TaskChoice.NO
        self._ours: ClientSide | None = None
        self._lay_out(theme)
        self.timeout.valueChanged.connect(self.changed)
        self.total.valueChanged.connect(self.changed)
        self.meta.textChanged.connect(self._on_text_changed)
        self.capabilities.textChanged.connect(self._on_text_changed)
        self.task.toggled.connect(self.changed)
        self.set_options(NO_OPTIONS, TaskChoice.NO)
        self.set_our_side(None)

    def options(self) -> CallOptions:
        is_task = self._choice is TaskChoice.MUST or (
            self._choice is TaskChoice.MAY and self.task.isChecked()
        )
        return CallOptions(
            self.timeout.value() or None,
            self.meta.text(),
            is_task,
            self.capabilities.text(),
            self.total.value() or None,
        )

    def set_our_side(self, ours: ClientSide | None) -> None:
        """Set what is declared if nothing is entered here."""
        self._ours = ours
        reported = ours.sent if ours is not None else None
        self.capabilities.setPlaceholderText(
            compact(reported) if reported is not None else "as set in the Client tab"
        )
        self.switches.setEnabled(self._is_per_call)
        self._show_note()

    def set_options(self, options: CallOptions, choice: TaskChoice) -> None:
        """Show another tool's options, and what it supports."""
        self._choice = choice
        self.blockSignals(True)
        self.timeout.setValue(options.timeout or 0)
        self.total.setValue(options.total or 0)
        self.meta.setText(options.meta)
        self.capabilities.setText(options.capabilities)
        self.task.setChecked(options.as_task or choice is TaskChoice.MUST)
        self.blockSignals(False)
        self.task.setEnabled(choice is TaskChoice.MAY)
        self.task.setVisible(choice is not TaskChoice.NO)
        self.task.setToolTip(_TASK_TIPS.get(choice, ""))
        self._show_note()

    def summary(self) -> str:
        """Return the non-default options: `30 s · 60 s in all · _meta · task · capabilities`."""
        options = self.options()
        text = (
            f"{options.timeout:g} s" if options.timeout else "",
            f"{options.total:g} s total" if options.total else "",
            "_meta" if options.meta.strip() else "",
            "task" if options.as_task else "",
            "capabilities" if options.capabilities.strip() else "",
        )
        return " · ".join(word for word in text if word)

    @property
    def _is_per_call(self) -> bool:
        """True if each call declares the client capabilities."""
        revision = self._ours.revision if self._ours is not None and self._ours.sent is not None else None
        return revision is not None and revision.era is Era.STATELESS

    def _fill_menu(self) -> None:
        """Fill the menu from what this call would declare now."""
        self._menu.clear()
        declared = ClientCapabilities(self._capabilities() or {})
        for switch in CAPABILITY_SWITCHES:
            if is_between(R5, switch.since, switch.until):
                action = self._menu.addAction(switch.name)
                action.setToolTip(switch.sentence)
                action.setCheckable(True)
                action.setChecked(declared.has(switch.path))
                action.triggered.connect(partial(self._flip, switch))

    def _flip(self, switch: CapabilitySwitch, *_: object) -> None:
        declared = ClientCapabilities(self._capabilities() or {})
        value = None if declared.has(switch.path) else switch.value
        self.capabilities.setText(to_wire(declared.switched(switch.path, value).whole).decode())

    def _capabilities(self) -> JSONObject | None:
        """Return the entered capabilities; if missing or invalid, those declared by default."""
        try:
            written = self.options().read_capabilities()
        except UserError:
            written = None
        return written if written is not None or self._ours is None else self._ours.sent

    def _on_text_changed(self) -> None:
        self._show_note()
        self.changed.emit()

    def _show_note(self) -> None:
        options = self.options()
        try:
            text = " ".join((*meta_warnings(options.read_meta()), *self._notes(options.read_capabilities())))
        except UserError as exc:
            text = exc.summary
        self._note.setText(text)
        self._note.setVisible(bool(text))

    def _notes(self, capabilities: JSONObject | None) -> tuple[str, ...]:
        if capabilities is None or self._ours is None or self._ours.sent is None:
            return ()
        if not self._is_per_call:
            return (
                f"In {self._ours.revision}, capabilities are declared once, on connect. Leave this empty.",
            )
        return notes(capabilities, self._ours.revision)

    def _lay_out(self, theme: Theme) -> None:
        grid = QGridLayout()
        grid.setHorizontalSpacing(SPACE_2)
        grid.setVerticalSpacing(SPACE_1)
        grid.addWidget(PlainLabel(theme, "Timeout", tone="muted"), 0, 0)
        waiting = QHBoxLayout()
        waiting.setSpacing(SPACE_2)
        waiting.addWidget(self.timeout)
        waiting.addWidget(PlainLabel(theme, "Total", tone="muted"))
        waiting.addWidget(self.total)
        waiting.addStretch(1)
        grid.addLayout(waiting, 0, 1, 1, 2)
        grid.addWidget(PlainLabel(theme, "_meta", tone="muted"), 1, 0)
        also = QHBoxLayout()
        also.setSpacing(SPACE_2)
        also.addWidget(self.meta, 1)
        also.addWidget(self.task)
        grid.addLayout(also, 1, 1, 1, 2)
        declaring = QHBoxLayout()
        declaring.setSpacing(SPACE_2)
        declaring.addWidget(self.capabilities, 1)
        declaring.addWidget(self.switches)
        grid.addWidget(PlainLabel(theme, "Capabilities", tone="muted"), 2, 0)
        grid.addLayout(declaring, 2, 1, 1, 2)
        grid.setColumnStretch(2, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_1)
        column.setSpacing(SPACE_1)
        column.addLayout(grid)
        column.addWidget(self._note)


def _seconds(when_none: str) -> QDoubleSpinBox:
    box = QDoubleSpinBox()
    box.setRange(0, _MAX_TIMEOUT)
    box.setDecimals(1)
    box.setSuffix(" s")
    box.setSpecialValueText(when_none)
    return box


_BOX_WIDTH = 88


class RepeatBar(QWidget):
    """The plan of a repeated call, and its statistics while it runs.

    Signals:
        run_requested: Carries the RepeatPlan.
        error_requested: The user wants to see the first call without a result; carries its CallOutcome.
    """

    run_requested = Signal(object)
    error_requested = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        plan = RepeatPlan()
        self.times = _number(1, MAX_TIMES, plan.times, "Number of calls")
        self.in_flight = _number(1, MAX_IN_FLIGHT, plan.in_flight, "Concurrent calls")
        self.stops = QCheckBox("Stop at first error")
        self.stops.setChecked(plan.stops_on_error)
        self.run_action = QAction("Run", self)
        self._error_action = QAction("Show first error", self)
        self._error_button = ActionButton(self._error_action, "quiet")
        self._figures = PlainLabel(theme, wrap=True, selectable=True)
        self._report: RepeatReport | None = None
        self._lay_out(theme)
        self.run_action.triggered.connect(lambda: self.run_requested.emit(self.plan()))
        self._error_action.triggered.connect(self._on_error_requested)
        self.clear()

    def plan(self) -> RepeatPlan:
        return RepeatPlan(self.times.value(), self.in_flight.value(), self.stops.isChecked())

    def figures(self) -> str:
        return self._figures.text()

    def clear(self) -> None:
        """Clear the statistics when the tool changes."""
        self._report = None
        self._figures.setText("")
        self._figures.hide()
        self._error_button.hide()

    def show_report(self, report: RepeatReport) -> None:
        self._report = report
        self._figures.setText(report_text(report))
        self._figures.show()
        self._error_button.setVisible(report.first_error is not None)

    def show_stopped(self) -> None:
        """Show that the user stopped it."""
        if self._report is not None:
            self._figures.setText(f"{report_text(self._report)}\nStopped.")

    def _on_error_requested(self) -> None:
        if self._report is not None and self._report.first_error is not None:
            self.error_requested.emit(self._report.first_error)

    def _lay_out(self, theme: Theme) -> None:
        grid = QGridLayout()
        grid.setHorizontalSpacing(SPACE_2)
        grid.setVerticalSpacing(SPACE_1)
        grid.addWidget(PlainLabel(theme, "Calls", tone="muted"), 0, 0)
        grid.addWidget(self.times, 0, 1)
        grid.addWidget(PlainLabel(theme, "Concurrency", tone="muted"), 0, 2)
        grid.addWidget(self.in_flight, 0, 3)
        grid.setColumnStretch(4, 1)
        buttons = QHBoxLayout()
        buttons.setSpacing(SPACE_2)
        buttons.addWidget(ActionButton(self.run_action))
        buttons.addWidget(self.stops)
        buttons.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_1)
        column.setSpacing(SPACE_1)
        column.addLayout(grid)
        column.addLayout(buttons)
        column.addWidget(self._figures)
        column.addWidget(self._error_button, 0, Qt.AlignmentFlag.AlignLeft)


def report_text(report: RepeatReport) -> str:
    """Return `37 of 100 calls in 1.24 s, 29.8 a second · 2 errors`, and a line of times."""
    errors = plural(report.errors, "error") if report.errors else "no errors"
    rate = f"{three_digits(report.per_second)} per second"
    counted = f"{report.done:,} of {plural(report.wanted, 'call')} in {duration(report.elapsed_ns)}"
    lines = [f"{counted}, {rate} · {errors}"]
    if report.max_ns:
        named = (
            ("fastest", report.min_ns),
            ("median", report.median_ns),
            ("95 %", report.p95_ns),
            ("slowest", report.max_ns),
        )
        lines.append(" · ".join(f"{word} {duration(time)}" for word, time in named))
    if report.errors:
        lines.append(" · ".join(f"{count:,} {kind.value}" for kind, count in report.kinds))
    if report.is_over and report.stopped:
        lines.append(f"Stopped early: {report.stopped}")
    return "\n".join(lines)


def _number(minimum: int, maximum: int, value: int, name: str) -> QSpinBox:
    box = QSpinBox()
    box.setRange(minimum, maximum)
    box.setGroupSeparatorShown(True)
    box.setValue(value)
    box.setAccessibleName(name)
    box.setMaximumWidth(_BOX_WIDTH)
    return box
