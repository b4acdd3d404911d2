"""Timeline view: header, overview strip and the visible operations as lanes of bars.

The header shows the visible range, with buttons to zoom.
"""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left
from collections.abc import Callable
from itertools import pairwise

from PySide6.QtCore import QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QHideEvent, QShowEvent
from PySide6.QtWidgets import QToolButton, QWidget

from inspector.base.units import duration, plural
from inspector.qt.actions import native_keys
from inspector.qt.models.traffic.timeline_bars import TimelineBars
from inspector.qt.models.traffic.traffic_model import TrafficSource
from inspector.qt.panels.traffic.timeline.bar_painter import BarLegend
from inspector.qt.panels.traffic.timeline.lanes import LanesView
from inspector.qt.panels.traffic.timeline.overview_strip import Density, OverviewStrip
from inspector.qt.panels.traffic.timeline.time_scale import (
    MS,
    SECOND,
    Mode,
    TimeRange,
    TimeRuler,
    TimeScale,
    clock_text,
    day_text,
)
from inspector.qt.theme import Theme
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import PanelHeader, vbox
from inspector.qt.widgets.notices.empty_state import ContentStack

_UPDATE_MS = 40  # rows arrive in batches: paint once for several
_GROW_MS = 50
_SLOW_GROW_MS = 2_000  # an open stream never ends: once the traffic is idle, its bar needs no more
_IDLE_NS = 10 * SECOND
_EMPTY_TIMEOUT_MS = 400
_EMPTY_RANGE = "No matching operation in this range."
_ZOOM = 1.6


class TimelineView(QWidget):
    """The operations of the rows passed to it.

    Signals:
        row_chosen: The user selected an operation; carries its first row.
        range_chosen: Show only rows of this time range, (start, end) in nanoseconds; None for all.
        menu_requested: An operation was right-clicked; carries its first row and the position on the
            screen.
    """

    row_chosen = Signal(int)
    range_chosen = Signal(object)
    menu_requested = Signal(int, QPoint)

    def __init__(
        self,
        source: TrafficSource,
        theme: Theme,
        parent: QWidget | None = None,
        *,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        super().__init__(parent)
        self._source = source
        self._clock = clock
        self._chosen: tuple[int, int] | None = None
        self._requested_row: int | None = None  # a row to show once its operation is loaded
        self.bars = TimelineBars(source.log, self)
        self.span = TimeRange(self)
        self.span.is_live = source.is_live
        self.head = TimelineHeader(theme, self.span)
        self.strip = OverviewStrip(theme, self.span, self._find_density)
        self.lanes = LanesView(theme, self.bars, self.span, self._now)
        self.ruler = TimeRuler(theme, self.lanes.scale)
        self.legend = BarLegend(theme)
        self.gate = ContentStack(theme, self._make_page())
        vbox(self, self.gate)
        self._was_empty = False
        self._empty_timer = QTimer(self, singleShot=True, interval=_EMPTY_TIMEOUT_MS)
        self._update_timer = QTimer(self, singleShot=True, interval=_UPDATE_MS)
        self._grow_timer = QTimer(self, singleShot=True, interval=_GROW_MS)
        self._connect()
        self._update()

    def _make_page(self) -> QWidget:
        page = QWidget()
        vbox(page, self.head, self.strip, self.ruler, (self.lanes, 1), self.legend, gap=0)
        return page

    def _connect(self) -> None:
        self._update_timer.timeout.connect(self._update)
        self._grow_timer.timeout.connect(self._update)
        self._empty_timer.timeout.connect(self._update)
        self.bars.found.connect(self.lanes.viewport().update)
        self.span.changed.connect(self.ruler.update)
        self.strip.range_chosen.connect(self._on_range_chosen)
        self.strip.all_requested.connect(self._on_all_requested)
        self.head.all_requested.connect(self._on_all_requested)
        self.head.legend_toggled.connect(self.legend.setVisible)
        self.lanes.chosen.connect(self.row_chosen)
        self.lanes.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.lanes.customContextMenuRequested.connect(self._on_menu_requested)
        self.lanes.painted.connect(self._on_painted)
        self.lanes.gutter_changed.connect(self._align)

    def _on_menu_requested(self, at: QPoint) -> None:
        operation = self.lanes.operation_at(at)
        if operation is not None:
            self.menu_requested.emit(operation, self.lanes.viewport().mapToGlobal(at))

    def reset(self) -> None:
        """Remove all rows."""
        self.bars.reset()
        self._change()

    def extend(self, rows: array[int]) -> None:
        """Append rows, in order."""
        self.bars.extend(rows)
        self._check_chosen_range(rows)
        self._change()

    def retouch(self, rows: array[int]) -> None:
        """Update changed rows."""
        self.bars.retouch(rows)
        self._change()

    def show_row(self, number: int) -> None:
        """Highlight a row's operation and bring it into view."""
        self._requested_row = number
        if self.isVisible():
            self._show_requested_row()

    def _show_requested_row(self) -> None:
        if self._requested_row is None:
            return
        operation = self._source.log.operation(self._requested_row)
        if operation is None or self.bars.where(operation) is not None:
            self._requested_row = None
            self.lanes.set_current(operation)
            if operation is not None:
                self.lanes.reveal(operation)

    def _check_chosen_range(self, rows: array[int]) -> None:
        """Clear the chosen range if rows outside it arrive: it was cleared elsewhere."""
        wall = self._source.log.columns.wall
        if self._chosen is None or not rows:
            return
        start, end = self._chosen
        if not start <= wall[rows[0]] <= end or not start <= wall[rows[-1]] <= end:
            self._set_chosen(None)
            self.span.fit()

    def _change(self) -> None:
        if self.isVisible() and not self._update_timer.isActive():
            self._update_timer.start()

    def _update(self) -> None:
        """Update the time range, the lanes and the overview."""
        self._update_timer.stop()
        content = self._content()
        if content is None and not self._shows_empty_lanes():
            return
        self._was_empty = content is None
        self.gate.open()
        self.strip.refresh()
        whole = self._whole(content)
        self.span.set_content(whole, content or self._chosen or whole)
        self.head.set_count(len(self.bars))
        self.lanes.refresh()
        self.ruler.update()
        self._show_requested_row()

    def _shows_empty_lanes(self) -> bool:
        """Return whether to show the lanes although they are empty.

        True for a moment, since a running filter may find something soon, and within a chosen range, so
        that it can be left.
        """
        has_rows = bool(len(self._source.log))
        if has_rows and not self._was_empty:
            self._empty_timer.start()
        if not has_rows or (self._chosen is None and not self._empty_timer.isActive()):
            self._explain()
            return False
        self.lanes.set_note("" if self._empty_timer.isActive() else _EMPTY_RANGE)
        return True

    def _content(self) -> tuple[int, int] | None:
        span = self.bars.span()
        if span is None:
            return None
        has_open = any(
            piece.end_ns is None for lane in self.bars.lanes(span[1], span[1] + 1) for piece in lane.pieces
        )
        return (span[0], max(span[1], self._now())) if has_open and self._source.is_live else span

    def _whole(self, content: tuple[int, int] | None) -> tuple[int, int]:
        """Return the time range of the whole log, so that a filter does not change the overview."""
        wall, length = self._source.log.columns.wall, len(self._source.log)
        first, last = content or (wall[0], wall[length - 1])
        return min(first, wall[0]), max(last, wall[length - 1])

    def _now(self) -> int:
        """Return the end of open operations: now, or in a capture its end."""
        if self._source.is_live:
            return self._clock()
        span = self.bars.span()
        length = len(self._source.log)
        return max(span[1] if span else 0, self._source.log.columns.wall[length - 1] if length else 0)

    def _on_painted(self, has_open: bool) -> None:
        """Keep growing open operations while they are visible."""
        if has_open and self._source.is_live and self.isVisible() and self._shows_now():
            self._grow_timer.start(_SLOW_GROW_MS if self._is_idle() else _GROW_MS)

    def _is_idle(self) -> bool:
        """Return whether the last row is old."""
        wall, length = self._source.log.columns.wall, len(self._source.log)
        return self._clock() - wall[length - 1] > _IDLE_NS if length else True

    def _shows_now(self) -> bool:
        return self.span.mode is not Mode.STAY or self.span.shown[1] > self._clock()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._update()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        for timer in (self._update_timer, self._grow_timer, self._empty_timer):
            timer.stop()

    def _on_range_chosen(self, span: tuple[int, int]) -> None:
        self._set_chosen(span)
        self.range_chosen.emit(span)

    def _on_all_requested(self) -> None:
        self.span.fit()
        if self._chosen is not None:
            self._set_chosen(None)
            self.range_chosen.emit(None)

    def _set_chosen(self, span: tuple[int, int] | None) -> None:
        self._chosen = span
        self.head.set_chosen(span is not None)

    def _find_density(self, scale: TimeScale) -> Density:
        wall, length = self._source.log.columns.wall, len(self._source.log)
        # Rows are in time order unless a clock was set: good enough to estimate counts.
        edges = [bisect_left(wall, scale.at(x), 0, length) for x in range(scale.width + 1)]
        counts, worst = self.bars.density(scale.start_ns, scale.end_ns, scale.width)
        return Density([max(0, after - before) for before, after in pairwise(edges)], counts, worst)

    def _align(self) -> None:
        """Align the strip and the ruler with the lanes."""
        self.ruler.left = self.strip.left = self.lanes.gutter
        self.strip.right = self.lanes.width() - self.lanes.viewport().width()
        self.strip.refresh()
        self.ruler.update()

    def _explain(self) -> None:
        if len(self._source.log):
            sentence = "None of the matching rows belongs to a request from MCP Lens. Try another filter."
            self.gate.explain("empty", "timeline", "No operations to show", sentence)
        else:
            sentence = (
                "Every request appears here as a bar, from when it was sent until its response arrived."
            )
            self.gate.explain("empty", "timeline", "No operations yet", sentence)


class TimelineHeader(PanelHeader):
    """The header of the timeline.

    Signals:
        all_requested: Show the whole time and clear the chosen range.
        legend_toggled: Carries whether to show the legend.
    """

    all_requested = Signal()
    legend_toggled = Signal(bool)

    def __init__(self, theme: Theme, span: TimeRange, parent: QWidget | None = None) -> None:
        super().__init__(theme, "", parent)
        self._span = span
        self._count = 0
        self._clear = ActionButton(self._action("Clear range", "Show the full time range"), "quiet")
        self._clear.clicked.connect(self.all_requested)
        self._clear.hide()
        self.add_widget(self._clear)
        wheel = native_keys("Ctrl+wheel")
        self._button("−", f"Zoom out (−, or {wheel})").triggered.connect(lambda: self._zoom(_ZOOM))
        self._button("+", f"Zoom in (+, or {wheel})").triggered.connect(lambda: self._zoom(1 / _ZOOM))
        self._button("Fit", "Show everything (0)").triggered.connect(self.all_requested)
        legend = self._button("Legend", "What the colors and shapes mean")
        legend.setCheckable(True)
        legend.setChecked(True)
        legend.toggled.connect(self.legend_toggled)
        span.changed.connect(self._show_range)

    def set_count(self, count: int) -> None:
        self._count = count
        self._show_range()

    def set_chosen(self, is_chosen: bool) -> None:
        """Set whether a time range is chosen."""
        self._clear.setVisible(is_chosen)

    def _show_range(self) -> None:
        start, end = self._span.shown
        step = SECOND if end - start > 100 * SECOND else MS if end - start > 10 * MS else 1_000
        between = f"{clock_text(start, step)} – {clock_text(end, step)}"
        text = (plural(self._count, "operation"), f"{day_text(start)}, {between}", duration(end - start))
        self.set_detail("   ·   ".join(text))

    def _zoom(self, factor: float) -> None:
        self._span.zoom(factor, sum(self._span.shown) // 2)

    def _action(self, text: str, tip: str) -> QAction:
        action = QAction(text, self)
        action.setToolTip(tip)
        return action

    def _button(self, text: str, tip: str) -> QAction:
        action = self._action(text, tip)
        button: QToolButton = self.add_action(action)
        button.setAccessibleName(tip)
        return action
