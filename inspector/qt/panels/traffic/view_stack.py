"""Views of the matching rows: table, timeline and statistics, with the detail beside them.

Timeline and statistics are created when first shown, and fed in slices only while shown. The detail is
beside the rows, below them, or hidden while no row is selected.
"""

from __future__ import annotations

from array import array
from enum import IntEnum
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QObject, QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QStackedWidget, QWidget

from inspector.qt.models.traffic.row_search import RowSearch
from inspector.qt.models.traffic.traffic_model import TrafficSource
from inspector.qt.theme import Theme

if TYPE_CHECKING:
    from inspector.qt.panels.traffic.statistics import StatisticsView
    from inspector.qt.panels.traffic.timeline.timeline_view import TimelineView

_SLICE_S = 0.008
_ROWS_AT_ONCE = 1_024
# Rows moving in and out invalidate a view's counts: it restarts, but not for each of them.
_RESTART_MS = 400
# Below this width, a table and a message do not fit side by side.
_MIN_WIDTH = 800
# Below this height, they do not fit on top of each other either.
_MIN_HEIGHT = 380
_SHARES = {Qt.Orientation.Horizontal: 0.63, Qt.Orientation.Vertical: 0.45}


class View(IntEnum):
    """The traffic views, in the order of the switch."""

    MESSAGES = 0
    OPERATIONS = 1
    TIMELINE = 2
    STATISTICS = 3


class ViewStack(QStackedWidget):
    """The stack of views. Messages and operations share the table.

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
        self._pages: dict[View, QWidget] = {View.MESSAGES: table, View.OPERATIONS: table}
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
        made = self._make_timeline() if view is View.TIMELINE else self._make_statistics()
        made.row_chosen.connect(self.row_chosen)
        self._pages[view] = made
        self._feeders[view] = ViewFeeder(made, self._search, self)
        self.addWidget(made)

    def _make_timeline(self) -> TimelineView:
        from inspector.qt.panels.traffic.timeline.timeline_view import TimelineView

        self.timeline = TimelineView(self._source, self._theme)
        self.timeline.range_chosen.connect(self.range_chosen)
        self.timeline.menu_requested.connect(self.menu_requested)
        return self.timeline

    def _make_statistics(self) -> StatisticsView:
        from inspector.qt.panels.traffic.statistics import StatisticsView

        statistics = StatisticsView(self._source, self._theme)
        statistics.filter_requested.connect(self.filter_requested)
        return statistics


class RowsView(Protocol):
    def reset(self) -> None:
        """Remove all rows."""
        ...

    def extend(self, rows: array[int]) -> None:
        """Append rows, in order."""
        ...

    def retouch(self, rows: array[int]) -> None:
        """Update changed rows."""
        ...


class ViewFeeder(QObject):
    """Feeds a view in slices while `is_shown`. A hidden view catches up when it is shown."""

    def __init__(self, view: RowsView, search: RowSearch, parent: QObject) -> None:
        super().__init__(parent)
        self._view = view
        self._search = search
        self._fed = 0
        self._is_shown = False
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._feed)
        self._restart_timer = QTimer(self, singleShot=True, interval=_RESTART_MS)
        self._restart_timer.timeout.connect(self._restart)
        search.restarted.connect(self._restart)
        search.found.connect(self._resume)
        search.retouched.connect(self._on_retouched)
        search.moved_in.connect(self._on_moved)
        search.moved_out.connect(self._on_moved)
        search.dropped.connect(self._on_dropped)

    def set_shown(self, shown: bool) -> None:
        self._is_shown = shown
        self._resume()

    def finish(self) -> None:
        """Feed the remaining rows now."""
        if self._restart_timer.isActive():
            self._restart()
        while self._fed < len(self._search.rows):
            self._feed()

    def _restart(self) -> None:
        self._restart_timer.stop()
        self._fed = 0
        self._view.reset()
        self._resume()

    def _resume(self) -> None:
        if self._is_shown and self._fed < len(self._search.rows):
            self._timer.start()
        elif not self._is_shown:
            self._timer.stop()

    def _feed(self) -> None:
        until = perf_counter() + _SLICE_S
        while self._fed < len(self._search.rows) and perf_counter() < until:
            rows = self._search.rows[self._fed : self._fed + _ROWS_AT_ONCE]
            self._fed += len(rows)
            self._view.extend(rows)
        if self._fed >= len(self._search.rows):
            self._timer.stop()

    def _on_retouched(self, rows: array[int]) -> None:
        if self._is_shown:
            self._view.retouch(rows)
        elif self._fed:
            self._restart_timer.start()

    def _on_moved(self) -> None:
        if not self._restart_timer.isActive():
            self._restart_timer.start()

    def _on_dropped(self, count: int) -> None:
        self._fed = max(0, self._fed - count)
        self._on_moved()


class DetailSplit(QSplitter):
    """Rows and the detail of the selected one.

    A wide panel reserves the detail's place, so that nothing moves when a row is selected; a narrow one
    gives the rows all the space until then, and puts the detail below them if it is tall enough.
    """

    def __init__(self, rows: QWidget, placeholder: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._shares = dict(_SHARES)
        self._has_row = False
        self._detail = placeholder
        self.setChildrenCollapsible(False)
        self.addWidget(rows)
        self.addWidget(placeholder)
        self.splitterMoved.connect(self._on_moved)

    def put_detail(self, view: QWidget) -> None:
        """Replace the placeholder with the detail."""
        self.replaceWidget(1, view)
        self._detail.hide()
        self._detail.deleteLater()
        self._detail = view
        view.show()
        self._arrange()
        self._apply_share()

    def set_has_row(self, has_row: bool) -> None:
        if has_row != self._has_row:
            self._has_row = has_row
            self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()
        self._apply_share()

    def _arrange(self) -> None:
        is_wide = self.width() >= _MIN_WIDTH
        below = not is_wide and self.height() >= _MIN_HEIGHT
        orientation = Qt.Orientation.Vertical if below else Qt.Orientation.Horizontal
        was_hidden = self._detail.isHidden()
        self._detail.setHidden(not is_wide and not self._has_row)
        if orientation is not self.orientation() or was_hidden:
            self.setOrientation(orientation)
            self._apply_share()

    def _apply_share(self) -> None:
        whole = self.height() if self.orientation() is Qt.Orientation.Vertical else self.width()
        share = round(whole * self._shares[self.orientation()])
        self.setSizes([share, whole - share])

    def _on_moved(self) -> None:
        first, second = self.sizes()
        if first + second:
            self._shares[self.orientation()] = first / (first + second)
