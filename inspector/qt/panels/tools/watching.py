"""A tool looked at again and again: how often, and how it stands."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QDoubleSpinBox, QHBoxLayout, QVBoxLayout, QWidget

from inspector.base.units import plural, time_of_day
from inspector.engine.watching import DEFAULT_INTERVAL, LEAST_INTERVAL, MOST_INTERVAL, Sighting, WatchPlan
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.labels import Muted, PlainLabel


class WatchStrip(QWidget):
    """The interval, and what was seen so far.

    Signals:
        watch_requested: Carries the WatchPlan.
    """

    watch_requested = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.interval = QDoubleSpinBox()
        self.interval.setRange(LEAST_INTERVAL, MOST_INTERVAL)
        self.interval.setDecimals(1)
        self.interval.setSuffix(" s")
        self.interval.setValue(DEFAULT_INTERVAL)
        self.interval.setAccessibleName("Interval of the watch")
        self.watch_action = QAction("Watch", self)
        self._words = Muted(theme, wrap=True)
        row = QHBoxLayout()
        row.setSpacing(SPACE_2)
        row.addWidget(PlainLabel(theme, "Every", tone="muted"))
        row.addWidget(self.interval)
        row.addWidget(ActionButton(self.watch_action))
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_1)
        column.setSpacing(SPACE_1)
        column.addLayout(row)
        column.addWidget(self._words)
        self.watch_action.triggered.connect(lambda: self.watch_requested.emit(self.plan()))
        self.clear()

    def plan(self) -> WatchPlan:
        return WatchPlan(self.interval.value())

    def words(self) -> str:
        return self._words.text()

    def clear(self) -> None:
        self._say("")

    def show_sighting(self, sighting: Sighting) -> None:
        looks, changes = plural(sighting.number, "look"), plural(sighting.changes, "change")
        self._say(f"{looks}, {changes} · latest {time_of_day(sighting.at_ns)[:8]}")

    def show_end(self, reason: str) -> None:
        """`reason` is a sentence."""
        seen = self._words.text()
        self._say(f"{seen} · {reason}" if seen else reason)

    def _say(self, words: str) -> None:
        self._words.setText(words)
        self._words.setVisible(bool(words))
