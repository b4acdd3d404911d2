"""Above the timeline: which part of the time is in view, and how to change that without a mouse wheel."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QToolButton, QWidget

from inspector.base.units import duration, plural
from inspector.qt.theme import Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.timerange import TimeRange
from inspector.qt.widgets.timescale import MS, SECOND, clock_text, day_text
from inspector.qt.widgets.toolbar import PanelHeader

_ZOOM = 1.6


class TimelineHead(PanelHeader):
    """The header of the timeline.

    Signals:
        all_wanted: Show the whole time and clear the chosen range.
        legend_toggled: Carries whether to show the legend.
    """

    all_wanted = Signal()
    legend_toggled = Signal(bool)

    def __init__(self, theme: Theme, span: TimeRange, parent: QWidget | None = None) -> None:
        super().__init__(theme, "", parent)
        self._span = span
        self._count = 0
        self._clear = ActionButton(self._action("Clear range", "Show all times again"), "quiet")
        self._clear.clicked.connect(self.all_wanted)
        self._clear.hide()
        self.add_widget(self._clear)
        self._button("−", "Zoom out (−, or Ctrl and the wheel)").triggered.connect(lambda: self._zoom(_ZOOM))
        self._button("+", "Zoom in (+, or Ctrl and the wheel)").triggered.connect(
            lambda: self._zoom(1 / _ZOOM)
        )
        self._button("Fit", "Show everything (0)").triggered.connect(self.all_wanted)
        legend = self._button("Legend", "What the colours and shapes mean")
        legend.setCheckable(True)
        legend.setChecked(True)
        legend.toggled.connect(self.legend_toggled)
        span.changed.connect(self._tell)

    def set_count(self, count: int) -> None:
        self._count = count
        self._tell()

    def set_chosen(self, is_chosen: bool) -> None:
        """Set whether a time range is chosen."""
        self._clear.setVisible(is_chosen)

    def _tell(self) -> None:
        start, end = self._span.shown
        step = SECOND if end - start > 100 * SECOND else MS if end - start > 10 * MS else 1_000
        between = f"{clock_text(start, step)} – {clock_text(end, step)}"
        words = (plural(self._count, "operation"), f"{day_text(start)}, {between}", duration(end - start))
        self.set_detail("   ·   ".join(words))

    def _zoom(self, factor: float) -> None:
        self._span.zoom(factor, sum(self._span.shown) // 2)

    def _action(self, words: str, tip: str) -> QAction:
        action = QAction(words, self)
        action.setToolTip(tip)
        return action

    def _button(self, words: str, tip: str) -> QAction:
        action = self._action(words, tip)
        button: QToolButton = self.add_action(action)
        button.setAccessibleName(tip)
        return action
