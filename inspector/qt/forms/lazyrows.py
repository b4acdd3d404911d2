"""A column of rows that are made as they come into view."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from PySide6.QtCore import QTimer
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inspector.qt.forms.editor import Kit

# A row takes about a millisecond to make and another to show. A screenful comes at once; the others follow
# when they are about to be scrolled into view, so that a form of 2,000 fields opens as fast as one of 20.
ROWS_AT_ONCE = 20
_SLICE_SECONDS = 0.010
_PIXELS_AHEAD = 600


class LazyRows(QWidget):
    """Rows one below the other, and room for those that are not made yet.

    The owner knows how many are `left`, and `make_next` makes one and puts it in with `insert`. It calls
    `fill` when there are others.
    """

    def __init__(
        self, kit: Kit, left: Callable[[], int], make_next: Callable[[], None], *, spacing: int, height: int
    ) -> None:
        super().__init__()
        self._kit = kit
        self._left = left
        self._make_next = make_next
        self._row_height = height  # about; so that the scroll bar is about right
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(spacing)
        self._room = QWidget(self)
        self.column.addWidget(self._room)
        self._next_slice = QTimer(self, singleShot=True, interval=0)
        self._next_slice.timeout.connect(self._make_slice)

    def fill(self) -> None:
        """Make the first rows, as many as there is time for."""
        for _ in range(ROWS_AT_ONCE):
            if not self._left() or not self._kit.may_make_now():
                break
            self._make_next()
        self.keep_room()

    def make_all(self) -> None:
        while self._left():
            self._make_next()
        self.keep_room()

    def insert(self, place: int, row: QWidget) -> None:
        """Put a row at a place, wherever it was before."""
        item = self.column.itemAt(place)
        if item is None or item.widget() is not row:
            self.column.removeWidget(row)
            self.column.insertWidget(place, row)

    def keep_room(self) -> None:
        self._room.setFixedHeight(self._row_height * self._left())
        self._room.setVisible(self._left() > 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._left() and event.rect().bottom() > self._room.y() - _PIXELS_AHEAD:
            self._next_slice.start()

    def _make_slice(self) -> None:
        self._kit.renew()
        end = perf_counter() + _SLICE_SECONDS
        while self._left():
            self._make_next()
            if perf_counter() >= end:
                break
        self.keep_room()
