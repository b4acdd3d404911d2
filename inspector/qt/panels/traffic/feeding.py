"""Gives a view (timeline, statistics) the rows that fit, as far as it is looked at."""

from __future__ import annotations

from array import array
from time import perf_counter
from typing import Protocol

from PySide6.QtCore import QObject, QTimer

from inspector.qt.models.rowsearch import RowSearch

_TURN_S = 0.008
_ROWS = 1_024
# Rows moving in and out invalidate a view's counts: it restarts, but not for each of them.
_REST_MS = 400


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
        self._anew = QTimer(self, singleShot=True, interval=_REST_MS)
        self._anew.timeout.connect(self._begin_anew)
        search.restarted.connect(self._begin_anew)
        search.found.connect(self._go_on)
        search.retouched.connect(self._on_retouched)
        search.moved_in.connect(self._on_moved)
        search.moved_out.connect(self._on_moved)

    def set_shown(self, shown: bool) -> None:
        self._is_shown = shown
        self._go_on()

    def finish(self) -> None:
        """Feed the remaining rows now."""
        if self._anew.isActive():
            self._begin_anew()
        while self._fed < len(self._search.rows):
            self._feed()

    def _begin_anew(self) -> None:
        self._anew.stop()
        self._fed = 0
        self._view.reset()
        self._go_on()

    def _go_on(self) -> None:
        if self._is_shown and self._fed < len(self._search.rows):
            self._timer.start()
        elif not self._is_shown:
            self._timer.stop()

    def _feed(self) -> None:
        until = perf_counter() + _TURN_S
        while self._fed < len(self._search.rows) and perf_counter() < until:
            rows = self._search.rows[self._fed : self._fed + _ROWS]
            self._fed += len(rows)
            self._view.extend(rows)
        if self._fed >= len(self._search.rows):
            self._timer.stop()

    def _on_retouched(self, rows: array[int]) -> None:
        if self._is_shown:
            self._view.retouch(rows)
        elif self._fed:
            self._anew.start()

    def _on_moved(self) -> None:
        if not self._anew.isActive():
            self._anew.start()
