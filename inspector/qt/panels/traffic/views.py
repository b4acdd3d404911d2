"""The views of what fits: the table, and the timeline and the statistics once somebody looks at them."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QSize, Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from inspector.qt.models.rowsearch import RowSearch
from inspector.qt.models.source import TrafficSource
from inspector.qt.theme import Theme

if TYPE_CHECKING:
    from inspector.qt.panels.traffic.feeding import ViewFeeder
    from inspector.qt.panels.traffic.statistics import StatisticsView
    from inspector.qt.panels.traffic.timeline import TimelineView


class View(IntEnum):
    """The traffic views, in the order of the switch."""

    FRAMES = 0
    OPERATIONS = 1
    TIMELINE = 2
    STATISTICS = 3


class Views(QStackedWidget):
    """The stack of views. Frames and operations share the table.

    The others are created when first shown, and fed while shown.

    Signals:
        row_chosen: Something representing a log row was clicked.
        range_chosen: Show only this time range; None for all.
        filter_requested: Show the rows that match this filter.
        menu_requested: Show the menu of a log row at this position on the screen.
    """

    row_chosen = Signal(int)
    range_chosen = Signal(object)
    filter_requested = Signal(str)
    menu_requested = Signal(int, QPoint)

    def __init__(self, table: QWidget, source: TrafficSource, search: RowSearch, theme: Theme) -> None:
        super().__init__()
        self._source = source
        self._search = search
        self._theme = theme
        self._pages: dict[View, QWidget] = {View.FRAMES: table, View.OPERATIONS: table}
        self._feeders: dict[View, ViewFeeder] = {}
        self.timeline: TimelineView | None = None
        self.addWidget(table)

    @property
    def is_table(self) -> bool:
        return self.currentIndex() == 0

    def show_view(self, view: View) -> None:
        if view not in self._pages:
            self._make(view)
        for each, feeder in self._feeders.items():
            feeder.set_shown(each is view)
        self.setCurrentWidget(self._pages[view])

    def sizeHint(self) -> QSize:
        """Return a fixed size instead of asking the pages.

        The splitter would query each of their labels hundreds of times until the window is up.
        """
        return QSize(640, 320)

    def minimumSizeHint(self) -> QSize:
        """Return the height of a few rows."""
        return QSize(120, 5 * self._theme.row_height())

    def show_row(self, number: int) -> None:
        """Show the table's current row in the timeline."""
        if self.timeline is not None:
            self.timeline.show_row(number)

    def _make(self, view: View) -> None:
        from inspector.qt.panels.traffic.feeding import ViewFeeder

        made = self._make_timeline() if view is View.TIMELINE else self._make_statistics()
        made.row_chosen.connect(self.row_chosen)
        self._pages[view] = made
        self._feeders[view] = ViewFeeder(made, self._search, self)
        self.addWidget(made)

    def _make_timeline(self) -> TimelineView:
        from inspector.qt.panels.traffic.timeline import TimelineView

        self.timeline = TimelineView(self._source, self._theme)
        self.timeline.range_chosen.connect(self.range_chosen)
        self.timeline.menu_requested.connect(self.menu_requested)
        return self.timeline

    def _make_statistics(self) -> StatisticsView:
        from inspector.qt.panels.traffic.statistics import StatisticsView

        statistics = StatisticsView(self._source, self._theme)
        statistics.filter_requested.connect(self.filter_requested)
        return statistics
