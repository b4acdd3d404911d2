"""Bar to repeat a call or read at an interval: the interval, and the changes seen so far."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QDoubleSpinBox, QWidget

from inspector.base.units import plural, time_of_day
from inspector.engine.calls.repetition import (
    DEFAULT_INTERVAL,
    MAX_INTERVAL,
    MIN_INTERVAL,
    Observation,
    PollPlan,
)
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.text.labels import MutedLabel, PlainLabel


class IntervalBar(QWidget):
    """The interval of a repeated request and its results so far. `noun` names one request.

    Signals:
        repeat_requested: Start repeating; carries the PollPlan.
        stop_requested: Stop repeating; offered after `set_running`.
    """

    repeat_requested = Signal(object)
    stop_requested = Signal()

    def __init__(self, theme: Theme, noun: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._noun = noun
        self.interval = QDoubleSpinBox()
        self.interval.setRange(MIN_INTERVAL, MAX_INTERVAL)
        self.interval.setDecimals(1)
        self.interval.setSuffix(" s")
        self.interval.setValue(DEFAULT_INTERVAL)
        self.interval.setAccessibleName(f"Interval between {noun}s")
        self.repeat_action = QAction("Repeat", self)
        self.stop_action = QAction("Stop", self)
        self._repeat_button = ActionButton(self.repeat_action)
        self._stop_button = ActionButton(self.stop_action)
        self._label = MutedLabel(theme, wrap=True)
        row = hbox(
            None,
            PlainLabel(theme, "Every", tone="muted"),
            self.interval,
            self._repeat_button,
            self._stop_button,
            STRETCH,
        )
        vbox(self, row, self._label, gap=SPACE_1, margin=(SPACE_3, SPACE_2, SPACE_3, SPACE_1))
        self.repeat_action.triggered.connect(lambda: self.repeat_requested.emit(self.plan()))
        self.stop_action.triggered.connect(self.stop_requested)
        self.set_running(False)
        self.clear()

    def plan(self) -> PollPlan:
        return PollPlan(self.interval.value())

    def text(self) -> str:
        return self._label.text()

    def clear(self) -> None:
        self._show_message("")

    def set_running(self, running: bool) -> None:
        """Offer Stop instead of Repeat, where the panel has no Cancel action."""
        had_focus = self._repeat_button.hasFocus() or self._stop_button.hasFocus()
        self._repeat_button.setVisible(not running)
        self._stop_button.setVisible(running)
        self.interval.setEnabled(not running)
        self.setFocusProxy(self._stop_button if running else self.interval)
        if had_focus:
            (self._stop_button if running else self._repeat_button).setFocus()

    def show_observation(self, observation: Observation) -> None:
        self.show_runs(observation.number, observation.changes, observation.at_ns)

    def show_runs(self, runs: int, changes: int, latest_ns: int) -> None:
        counted = f"{plural(runs, self._noun)}, {plural(changes, 'change')}"
        self._show_message(f"{counted} · latest {time_of_day(latest_ns)[:8]}")

    def show_end(self, reason: str) -> None:
        """Show why it ended; `reason` is a sentence."""
        seen = self._label.text()
        self._show_message(f"{seen} · {reason}" if seen else reason)

    def _show_message(self, text: str) -> None:
        self._label.setText(text)
        self._label.setVisible(bool(text))
