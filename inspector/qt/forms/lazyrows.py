"""A column of rows that are made as they come into view."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from PySide6.QtCore import QRect, QTimer
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inspector.qt.forms.editor import Kit

# A row takes about 1 ms to create and another to show. A screenful is created at once; the rest when about
# to scroll into view, so that a form of 2,000 fields opens as fast as one of 20.
ROWS_AT_ONCE = 20
_SLICE_SECONDS = 0.010
_PIXELS_AHEAD = 600
_ROWS_AROUND = 8


@dataclass(slots=True)
class _Part:
    """A part of the column: a row, or a placeholder for rows not created yet."""

    start: int
    end: int
    widget: QWidget
    is_row: bool


class LazyRows(QWidget):
    """Rows in a column, with placeholders for those not created yet.

    The owner knows their number (`count`), creates one (`make`) and says which exist (`made`). It calls
    `reset` when the rows or their order change.
    """

    def __init__(
        self,
        kit: Kit,
        count: Callable[[], int],
        made: Callable[[int], QWidget | None],
        make: Callable[[int], QWidget],
        *,
        spacing: int,
        height: int,
    ) -> None:
        super().__init__()
        self._kit = kit
        self._count, self._made, self._make = count, made, make
        self._row_height = height + spacing  # approximate, for the scroll bar
        self._parts: list[_Part] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(spacing)
        self._next_slice = QTimer(self, singleShot=True, interval=0)
        self._next_slice.timeout.connect(self._make_slice)

    def reset(self) -> None:
        """Insert the existing rows and create the first ones, as far as the budget allows."""
        self._take_all_out()
        if self._count():
            self._parts = [self._room(0, self._count())]
            self._column.addWidget(self._parts[0].widget)
        for place in range(self._count()):
            if self._made(place) is not None:
                self._put(place)
        for place in range(min(ROWS_AT_ONCE, self._count())):
            if self._made(place) is None:
                if not self._kit.may_make_now():
                    break
                self._put(place)

    def make_all(self) -> None:
        for place in range(self._count()):
            self._put(place)

    def show_row(self, place: int) -> None:
        """Create a row and its neighbors, so that it stays in place when scrolled to."""
        for near in range(max(0, place - _ROWS_AROUND), min(self._count(), place + _ROWS_AROUND + 1)):
            self._put(near)

    def paintEvent(self, event: QPaintEvent) -> None:
        if any(not part.is_row for part in self._parts):
            self._next_slice.start()

    # --------------------------------------------------------------

    def _make_slice(self) -> None:
        """Create rows for placeholders in or near the view, for a limited time."""
        self._kit.renew()
        wanted = self.visibleRegion().boundingRect().adjusted(0, 0, 0, _PIXELS_AHEAD)
        end = perf_counter() + _SLICE_SECONDS
        for part in [part for part in self._parts if not part.is_row]:
            for place in self._places_in(part, wanted):
                self._put(place)
                if perf_counter() >= end:
                    self._next_slice.start()
                    return

    def _places_in(self, part: _Part, wanted: QRect) -> range:
        """Return the rows of a placeholder that would be in view."""
        box = part.widget.geometry()
        if wanted.isEmpty() or not box.intersects(wanted):
            return range(0)
        first = part.start + max(0, wanted.top() - box.top()) // self._row_height
        last = part.start + max(0, wanted.bottom() - box.top()) // self._row_height
        return range(min(first, part.end - 1), min(last + 1, part.end))

    def _put(self, place: int) -> None:
        """Insert a row at its place, creating it if needed."""
        at = bisect_right(self._parts, place, key=lambda part: part.start) - 1
        room = self._parts[at]
        if room.is_row:
            return
        row = self._made(place) or self._make(place)
        parts = [_Part(place, place + 1, row, True)]
        self._column.insertWidget(at + 1, row)
        if place + 1 < room.end:
            parts.append(self._room(place + 1, room.end))
            self._column.insertWidget(at + 2, parts[1].widget)
        if room.start < place:
            room.end = place
            self._fit(room)
            parts.insert(0, room)
        else:
            self._drop_room(room)
        self._parts[at : at + 1] = parts

    def _room(self, start: int, end: int) -> _Part:
        room = _Part(start, end, QWidget(self), False)
        self._fit(room)
        return room

    def _fit(self, room: _Part) -> None:
        height = self._row_height * (room.end - room.start) - self._column.spacing()
        room.widget.setFixedHeight(min(max(1, height), 16_000_000))

    def _drop_room(self, room: _Part) -> None:
        self._column.removeWidget(room.widget)
        room.widget.hide()
        room.widget.deleteLater()

    def _take_all_out(self) -> None:
        for part in self._parts:
            if part.is_row:
                self._column.removeWidget(part.widget)
            else:
                self._drop_room(part)
        self._parts = []
