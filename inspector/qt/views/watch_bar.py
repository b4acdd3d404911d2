"""Bar for watching a tool or resource at an interval: the interval and what was seen so far."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QDoubleSpinBox, QHBoxLayout, QVBoxLayout, QWidget

from inspector.base.units import plural, time_of_day
from inspector.engine.calls.repetition import (
    DEFAULT_INTERVAL,
    MAX_INTERVAL,
    MIN_INTERVAL,
    Observation,
    WatchPlan,
)
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.text.labels import MutedLabel, PlainLabel


class WatchBar(QWidget):
    """The interval of a watch and what was seen so far.

    Signals:
        watch_requested: Start watching; carries the WatchPlan.
        stop_requested: Stop watching; offered after `set_watching`.
    """

    watch_requested = Signal(object)
    stop_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.interval = QDoubleSpinBox()
        self.interval.setRange(MIN_INTERVAL, MAX_INTERVAL)
        self.interval.setDecimals(1)
        self.interval.setSuffix(" s")
        self.interval.setValue(DEFAULT_INTERVAL)
        self.interval.setAccessibleName("Watch interval")
        self.watch_action = QAction("Watch", self)
        self.stop_action = QAction("Stop", self)
        self._watch_button = ActionButton(self.watch_action)
        self._stop_button = ActionButton(self.stop_action)
        self._label = MutedLabel(theme, wrap=True)
        row = QHBoxLayout()
        row.setSpacing(SPACE_2)
        row.addWidget(PlainLabel(theme, "Every", tone="muted"))
        row.addWidget(self.interval)
        row.addWidget(self._watch_button)
        row.addWidget(self._stop_button)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_1)
        column.setSpacing(SPACE_1)
        column.addLayout(row)
        column.addWidget(self._label)
        self.watch_action.triggered.connect(lambda: self.watch_requested.emit(self.plan()))
        self.stop_action.triggered.connect(self.stop_requested)
        self.set_watching(False)
        self.clear()

    def plan(self) -> WatchPlan:
        return WatchPlan(self.interval.value())

    def text(self) -> str:
        return self._label.text()

    def clear(self) -> None:
        self._show_message("")

    def set_watching(self, watching: bool) -> None:
        """Offer Stop instead of Watch, for a watch that cannot be stopped elsewhere."""
        had_focus = self._watch_button.hasFocus() or self._stop_button.hasFocus()
        self._watch_button.setVisible(not watching)
        self._stop_button.setVisible(watching)
        self.interval.setEnabled(not watching)
        self.setFocusProxy(self._stop_button if watching else self.interval)
        if had_focus:
            (self._stop_button if watching else self._watch_button).setFocus()

    def show_observation(self, observation: Observation) -> None:
        self.show_runs(observation.number, observation.changes, observation.at_ns)

    def show_runs(self, runs: int, changes: int, latest_ns: int) -> None:
        counted = f"{plural(runs, 'look')}, {plural(changes, 'change')}"
        self._show_message(f"{counted} · latest {time_of_day(latest_ns)[:8]}")

    def show_end(self, reason: str) -> None:
        """Show why the watch ended; `reason` is a sentence."""
        seen = self._label.text()
        self._show_message(f"{seen} · {reason}" if seen else reason)

    def _show_message(self, text: str) -> None:
        self._label.setText(text)
        self._label.setVisible(bool(text))
