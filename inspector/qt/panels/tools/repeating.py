"""A call made many times over: how often, and how it went."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QCheckBox, QGridLayout, QHBoxLayout, QSpinBox, QVBoxLayout, QWidget

from inspector.base.units import duration, plural, three_digits
from inspector.engine.repeating import MOST_IN_FLIGHT, MOST_TIMES, RepeatPlan, RepeatReport
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.labels import PlainLabel

_BOX_WIDTH = 88


class RepeatStrip(QWidget):
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
        self.times = _number(1, MOST_TIMES, plan.times, "How many times")
        self.in_flight = _number(1, MOST_IN_FLIGHT, plan.in_flight, "How many at a time")
        self.stops = QCheckBox("Stop at the first error")
        self.stops.setChecked(plan.stops_on_error)
        self.run_action = QAction("Run", self)
        self._error_action = QAction("Show the first error", self)
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
        self._figures.setText(report_words(report))
        self._figures.show()
        self._error_button.setVisible(report.first_error is not None)

    def show_stopped(self) -> None:
        """Show that the user stopped it."""
        if self._report is not None:
            self._figures.setText(f"{report_words(self._report)}\nStopped.")

    # --------------------------------------------------------------

    def _on_error_requested(self) -> None:
        if self._report is not None and self._report.first_error is not None:
            self.error_requested.emit(self._report.first_error)

    def _lay_out(self, theme: Theme) -> None:
        grid = QGridLayout()
        grid.setHorizontalSpacing(SPACE_2)
        grid.setVerticalSpacing(SPACE_1)
        grid.addWidget(PlainLabel(theme, "Times", tone="muted"), 0, 0)
        grid.addWidget(self.times, 0, 1)
        grid.addWidget(PlainLabel(theme, "At a time", tone="muted"), 0, 2)
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


def report_words(report: RepeatReport) -> str:
    """Return `37 of 100 calls in 1.24 s, 29.8 a second · 2 errors`, and a line of times."""
    errors = plural(report.errors, "error") if report.errors else "no errors"
    rate = f"{three_digits(report.per_second)} a second"
    counted = f"{report.done:,} of {plural(report.wanted, 'call')} in {duration(report.elapsed_ns)}"
    lines = [f"{counted}, {rate} · {errors}"]
    if report.most_ns:
        named = (
            ("fastest", report.least_ns),
            ("median", report.median_ns),
            ("95 %", report.p95_ns),
            ("slowest", report.most_ns),
        )
        lines.append(" · ".join(f"{word} {duration(time)}" for word, time in named))
    if report.errors:
        lines.append(" · ".join(f"{count:,} {kind.value}" for kind, count in report.kinds))
    if report.is_over and report.stopped:
        lines.append(f"Ended early: {report.stopped}")
    return "\n".join(lines)


def _number(least: int, most: int, value: int, name: str) -> QSpinBox:
    box = QSpinBox()
    box.setRange(least, most)
    box.setGroupSeparatorShown(True)
    box.setValue(value)
    box.setAccessibleName(name)
    box.setMaximumWidth(_BOX_WIDTH)
    return box
