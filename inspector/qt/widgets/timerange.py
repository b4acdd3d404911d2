"""Which part of the time is in view. What is painted over time shares one of these."""

from __future__ import annotations

from enum import Enum

from PySide6.QtCore import QObject, Signal

LEAST_NS = 10_000
_LATEST = 2**62
_ROOM = 0.02  # margin beside the content


class Mode(Enum):
    FIT = "fit"  # everything, also as it grows
    FOLLOW = "follow"  # a fixed length at the moving end
    STAY = "stay"  # where the user went


class TimeRange(QObject):
    """The visible time range `shown` within `whole`; `content` is the range with data.

    Signals:
        changed: `shown` or `whole` changed.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.whole = (0, LEAST_NS)
        self.content = (0, LEAST_NS)
        self.shown = (0, LEAST_NS)
        self.mode = Mode.FIT
        self.is_live = False

    @property
    def length(self) -> int:
        return self.shown[1] - self.shown[0]

    def set_content(self, whole: tuple[int, int], content: tuple[int, int]) -> None:
        """Set the ranges. `shown` stays, unless it fits everything or follows the end."""
        before = self.whole, self.shown
        self.whole, self.content = _at_least(*whole), _at_least(*content)
        if self.mode is Mode.FIT:
            self.shown = self._fitting()
        elif self.mode is Mode.FOLLOW:
            end = max(self.shown[1], self.content[1] + round(self.length * _ROOM))
            self.shown = end - self.length, end
        if (self.whole, self.shown) != before:
            self.changed.emit()

    def fit(self) -> None:
        """Show everything, from now on."""
        self.mode = Mode.FIT
        self._show(*self._fitting())

    def show_span(self, start: int, end: int) -> None:
        """Show another range; one that reaches the live end follows it."""
        self._show(*_at_least(start, end))
        reaches_end = self.is_live and self.shown[1] >= self.content[1]
        self.mode = Mode.FOLLOW if reaches_end else Mode.STAY

    def zoom(self, factor: float, at: int) -> None:
        """Show `factor` times as much, keeping the moment `at` in place."""
        start, end = self.outermost()
        length = min(max(round(self.length * factor), LEAST_NS), end - start)
        share = (at - self.shown[0]) / self.length
        first = at - round(length * share)
        self.show_span(*self._kept_inside(first, length))

    def pan(self, by: int) -> None:
        self.show_span(*self._kept_inside(self.shown[0] + by, self.length))

    def reveal(self, start: int, end: int) -> None:
        """Move, and zoom out only if needed, until a range is in view."""
        if self.shown[0] <= start and end <= self.shown[1]:
            return
        length = max(self.length, round((end - start) * 1.25))
        middle = (start + end) // 2
        self.show_span(middle - length // 2, middle - length // 2 + length)

    def outermost(self) -> tuple[int, int]:
        """Return the limit of scrolling and zooming: everything, with a small margin."""
        start, end = min(self.whole[0], self.content[0]), max(self.whole[1], self.content[1])
        room = round((end - start) * _ROOM)
        return start - room, end + room

    # --------------------------------------------------------------

    def _show(self, start: int, end: int) -> None:
        if (start, end) != self.shown:
            self.shown = (start, end)
            self.changed.emit()

    def _fitting(self) -> tuple[int, int]:
        start, end = self.content
        room = round((end - start) * _ROOM)
        return start - room, end + room

    def _kept_inside(self, first: int, length: int) -> tuple[int, int]:
        start, end = self.outermost()
        first = max(start, min(first, end - length))
        return first, first + length


def _at_least(start: int, end: int) -> tuple[int, int]:
    """Return the range in order, within computable bounds and long enough to divide into pixels."""
    start, end = sorted((max(0, min(start, _LATEST)), max(0, min(end, _LATEST))))
    return start, max(end, start + LEAST_NS)
