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

# A row takes about a millisecond to make and another to show. A screenful comes at once; the others follow
# when they are about to be scrolled into view, so that a form of 2,000 fields opens as fast as one of 20.
ROWS_AT_ONCE = 20
_SLICE_SECONDS = 0.010
_PIXELS_AHEAD = 600
_ROWS_AROUND = 8


@dataclass(slots=True)
class _Part:
    """What stands in the column: a row, or room for rows that are not made yet."""

    start: int
    end: int
    widget: QWidget
    is_row: bool


class LazyRows(QWidget):
    """Rows one below the other, and room for those that are not made.

    The owner knows how many there are (`count`), makes one (`make`), and says which are made (`made`). It
    calls `reset` when there are others, or the same in another order.
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
        self._row_height = height + spacing  # about; so that the scroll bar is about right
        self._parts: list[_Part] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(spacing)
        self._next_slice = QTimer(self, singleShot=True, interval=0)
        self._next_slice.timeout.connect(self._make_slice)

    def reset(self) -> None:
        """Put the rows in that are made, and make the first ones, as many as there is time for."""
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
        """Make a row, and its neighbours: when it is scrolled to, it should stay where it is."""
        for near in range(max(0, place - _ROWS_AROUND), min(self._count(), place + _ROWS_AROUND + 1)):
            self._put(near)

    def paintEvent(self, event: QPaintEvent) -> None:
        if any(not part.is_row for part in self._parts):
            self._next_slice.start()

    # --------------------------------------------------------------

    def _make_slice(self) -> None:
        """Make rows where there is only room for them, in view or soon to be, for a short time."""
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
        """The rows of a room that would be in view."""
        box = part.widget.geometry()
        if wanted.isEmpty() or not box.intersects(wanted):
            return range(0)
        first = part.start + max(0, wanted.top() - box.top()) // self._row_height
        last = part.start + max(0, wanted.bottom() - box.top()) // self._row_height
        return range(min(first, part.end - 1), min(last + 1, part.end))

    def _put(self, place: int) -> None:
        """Make a row, if it is not made, and put it in its place."""
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
