"""Call options (timeouts, `_meta`, task, capabilities) and the bars for repeated calls.

All are below the form and closed until opened. Options are kept per tool.
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
    QLineEdit,
    QMenu,
    QSpinBox,
    QToolButton,
    QWidget,
)

from inspector.base.errors import UserError
from inspector.base.json.values import JSON, JSONError, JSONObject, compact, to_wire
from inspector.base.units import duration, plural, three_digits
from inspector.config.calls.history import without_marks
from inspector.config.calls.saved_calls import SavedCall
from inspector.config.json_file import read_exactly
from inspector.engine.calls.repetition import MAX_IN_FLIGHT, MAX_TIMES, RepeatPlan, RepeatReport
from inspector.engine.calls.tool_calls import TaskChoice, meta_warnings
from inspector.engine.server_view import ClientSide
from inspector.protocol.client_capabilities import (
    CAPABILITY_SWITCHES,
    CapabilitySwitch,
    ClientCapabilities,
    notes,
)
from inspector.protocol.revisions import R5, Era, is_between
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.views.interval_bar import IntervalBar
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.text.labels import PlainLabel

_MAX_TIMEOUT = 24 * 3600.0
_BOX_WIDTH = 88
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
    except JSONError as exc:
        raise UserError(f"{what} is not JSON: {exc}.", "Correct it, or leave it empty.") from exc
    if not isinstance(value, dict):
        raise UserError(f"{what} must be a JSON object.", example)
    return value


NO_OPTIONS = CallOptions()


class CallDrawer(QWidget):
    """The strips of a call: options, repeat, and repeat at an interval; one open at a time.

    Options are kept per tool.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._tool = ""
        self._choice = TaskChoice.NO
        self._options: dict[str, CallOptions] = {}
        self.options = OptionsStrip(theme)
        self.repeat_bar = RepeatBar(theme)
        self.interval_bar = IntervalBar(theme, "call")
        column = vbox(self, gap=0, margin=(0, 1, 0, 0))
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
        self.repeat_bar.clear()
        self.interval_bar.clear()

    def show_options(self, tool: str, choice: TaskChoice) -> None:
        if (tool, choice) != (self._tool, self._choice):
            self._tool, self._choice = tool, choice
            self.options.set_options(self._options.get(tool, NO_OPTIONS), choice)

    def load_saved(self, call: SavedCall) -> None:
        """Load the options of a saved call."""
        meta, declared = _json_line(call.meta or None), _json_line(call.capabilities)
        self._load(call.tool, CallOptions(call.timeout, meta, call.as_task, declared, call.total))

    def load_recorded(self, tool: str, recorded: JSONObject) -> None:
        """Load the options of an earlier call (`RecordedCall.recorded_options`)."""
        recorded, _ = without_marks(recorded)
        timeout, total = (
            value if isinstance(value := recorded.get(name), int | float) else None
            for name in ("timeout", "total")
        )
        meta, declared = _json_line(recorded.get("meta")), _json_line(recorded.get("capabilities"))
        self._load(tool, CallOptions(timeout, meta, recorded.get("task") is True, declared, total))

    def _load(self, tool: str, options: CallOptions) -> None:
        self._options[tool] = options
        if tool == self._tool:
            self.options.set_options(options, self._choice)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(0, 0, self.width(), 1, self._theme.color("line"))

    def _strips(self) -> tuple[QWidget, ...]:
        return (self.options, self.repeat_bar, self.interval_bar)

    def _on_options_changed(self) -> None:
        self._options[self._tool] = self.options.options()


def _json_line(value: JSON) -> str:
    """Return a value as one line of JSON; "" for None."""
    return "" if value is None else to_wire(value).decode()


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
        self._client_side: ClientSide | None = None
        self._lay_out(theme)
        self.timeout.valueChanged.connect(self.changed)
        self.total.valueChanged.connect(self.changed)
        self.meta.textChanged.connect(self._on_text_changed)
        self.capabilities.textChanged.connect(self._on_text_changed)
        self.task.toggled.connect(self.changed)
        self.set_options(NO_OPTIONS, TaskChoice.NO)
        self.set_client_side(None)

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

    def set_client_side(self, client_side: ClientSide | None) -> None:
        """Set what is declared if nothing is entered here."""
        self._client_side = client_side
        sent = client_side.sent if client_side is not None else None
        self.capabilities.setPlaceholderText(
            compact(sent) if sent is not None else "as set in the Client tab"
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
        """Return the non-default options: `30 s · 60 s total · _meta · task · capabilities`."""
        options = self.options()
        text = (
            f"{options.timeout:g} s" if options.timeout else "",
            f"{options.total:g} s total" if options.total else "",
            "_meta" if options.meta.strip() else "",
            "task" if options.as_task else "",
            "capabilities" if options.capabilities.strip() else "",
        )
        return " · ".join(part for part in text if part)

    @property
    def _is_per_call(self) -> bool:
        """True if each call declares the client capabilities."""
        revision = (
            self._client_side.revision
            if self._client_side is not None and self._client_side.sent is not None
            else None
        )
        return revision is not None and revision.era is Era.STATELESS

    def _fill_menu(self) -> None:
        """Fill the menu from what this call would declare now."""
        self._menu.clear()
        declared = ClientCapabilities(self._capabilities() or {})
        for switch in CAPABILITY_SWITCHES:
            if is_between(R5, switch.since, switch.until):
                action = self._menu.addAction(switch.name)
                action.setToolTip(switch.description)
                action.setCheckable(True)
                action.setChecked(declared.has(switch.path))
                action.triggered.connect(partial(self._toggle_capability, switch))

    def _toggle_capability(self, switch: CapabilitySwitch, *_: object) -> None:
        declared = ClientCapabilities(self._capabilities() or {})
        value = None if declared.has(switch.path) else switch.value
        self.capabilities.setText(to_wire(declared.with_member(switch.path, value).members).decode())

    def _capabilities(self) -> JSONObject | None:
        """Return the entered capabilities; if missing or invalid, those declared by default."""
        try:
            typed = self.options().read_capabilities()
        except UserError:
            typed = None
        return typed if typed is not None or self._client_side is None else self._client_side.sent

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
        if capabilities is None or self._client_side is None or self._client_side.sent is None:
            return ()
        if not self._is_per_call:
            return (
                f"In {self._client_side.revision}, capabilities are declared once, on connect. "
                "Leave this empty.",
            )
        return notes(capabilities, self._client_side.revision)

    def _lay_out(self, theme: Theme) -> None:
        grid = QGridLayout()
        grid.setHorizontalSpacing(SPACE_2)
        grid.setVerticalSpacing(SPACE_1)
        grid.addWidget(PlainLabel(theme, "Timeout", tone="muted"), 0, 0)
        timeout_row = hbox(None, self.timeout, PlainLabel(theme, "Total", tone="muted"), self.total, STRETCH)
        grid.addLayout(timeout_row, 0, 1, 1, 2)
        grid.addWidget(PlainLabel(theme, "_meta", tone="muted"), 1, 0)
        meta_row = hbox(None, (self.meta, 1), self.task)
        grid.addLayout(meta_row, 1, 1, 1, 2)
        capabilities_row = hbox(None, (self.capabilities, 1), self.switches)
        grid.addWidget(PlainLabel(theme, "Capabilities", tone="muted"), 2, 0)
        grid.addLayout(capabilities_row, 2, 1, 1, 2)
        grid.setColumnStretch(2, 1)
        vbox(self, grid, self._note, gap=SPACE_1, margin=(SPACE_3, SPACE_2, SPACE_3, SPACE_1))


def _seconds(when_none: str) -> QDoubleSpinBox:
    box = QDoubleSpinBox()
    box.setRange(0, _MAX_TIMEOUT)
    box.setDecimals(1)
    box.setSuffix(" s")
    box.setSpecialValueText(when_none)
    return box


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
        self._report_label = PlainLabel(theme, wrap=True, selectable=True)
        self._report: RepeatReport | None = None
        self._lay_out(theme)
        self.run_action.triggered.connect(lambda: self.run_requested.emit(self.plan()))
        self._error_action.triggered.connect(self._on_error_requested)
        self.clear()

    def plan(self) -> RepeatPlan:
        return RepeatPlan(self.times.value(), self.in_flight.value(), self.stops.isChecked())

    def report_shown(self) -> str:
        return self._report_label.text()

    def clear(self) -> None:
        """Clear the statistics when the tool changes."""
        self._report = None
        self._report_label.setText("")
        self._report_label.hide()
        self._error_button.hide()

    def show_report(self, report: RepeatReport) -> None:
        self._report = report
        self._report_label.setText(report_text(report))
        self._report_label.show()
        self._error_button.setVisible(report.first_error is not None)

    def show_stopped(self) -> None:
        """Show that the user stopped it."""
        if self._report is not None:
            self._report_label.setText(f"{report_text(self._report)}\nStopped.")

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
        vbox(
            self,
            grid,
            hbox(None, ActionButton(self.run_action), self.stops, STRETCH),
            self._report_label,
            (self._error_button, 0, Qt.AlignmentFlag.AlignLeft),
            gap=SPACE_1,
            margin=(SPACE_3, SPACE_2, SPACE_3, SPACE_1),
        )


def report_text(report: RepeatReport) -> str:
    """Return `37 of 100 calls in 1.24 s, 29.8 per second · 2 errors`, and a line of times."""
    errors = plural(report.errors, "error") if report.errors else "no errors"
    rate = f"{three_digits(report.per_second)} per second"
    count_text = f"{report.done:,} of {plural(report.wanted, 'call')} in {duration(report.elapsed_ns)}"
    lines = [f"{count_text}, {rate} · {errors}"]
    if report.max_ns:
        times = (
            ("fastest", report.min_ns),
            ("median", report.median_ns),
            ("p95", report.p95_ns),
            ("slowest", report.max_ns),
        )
        lines.append(" · ".join(f"{name} {duration(time)}" for name, time in times))
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
