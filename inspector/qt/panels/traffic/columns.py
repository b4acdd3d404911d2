"""The table's columns as the person wants them: which, in what order, how wide; remembered."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QPoint, QSettings, Qt
from PySide6.QtWidgets import QHeaderView, QMenu, QTableView

from inspector.qt.models.traffic import Column, TrafficModel
from inspector.qt.models.trafficcells import HEADS

_KEY = "traffic/columns"
_WIDTHS = {
    Column.MARK: 24,
    Column.NUMBER: 64,
    Column.TIME: 104,
    Column.DIRECTION: 28,
    Column.SERVER: 110,
    Column.ID: 56,
    Column.STATUS: 84,
    Column.ROUNDS: 64,
    Column.DURATION: 84,
    Column.SIZE: 80,
    Column.HTTP: 60,
    Column.REVISION: 92,
    Column.OPERATION: 84,
    Column.DATE: 96,
    Column.COMMENT: 180,
    Column.FINDING: 180,
}
_OF_FRAMES = frozenset(
    (
        *(Column.MARK, Column.NUMBER, Column.TIME, Column.DIRECTION, Column.SERVER, Column.MESSAGE),
        *(Column.ID, Column.STATUS, Column.DURATION, Column.SIZE),
    )
)
_OF_OPERATIONS = (_OF_FRAMES | {Column.ROUNDS}) - {Column.DIRECTION, Column.ID}
# A message must be readable: with less room than this, the least useful columns go first.
_LEAST_FOR_MESSAGE = 180
_EXPENDABLE = (
    *(Column.ID, Column.NUMBER, Column.SERVER, Column.SIZE),
    *(Column.ROUNDS, Column.DURATION, Column.TIME),
)


class ColumnKeeper(QObject):
    """Sets up the header of a traffic table and saves its layout.

    Columns shown or hidden by the user stay so; the others depend on the width and on what a row
    represents. A click on a header sorts: ascending, descending, then by arrival.
    """

    def __init__(self, table: QTableView, model: TrafficModel, memory: QSettings | None) -> None:
        super().__init__(table)
        self._table = table
        self._model = model
        self._memory = memory
        self._by_hand: dict[Column, bool] = {}
        self._width = 0
        self._header = table.horizontalHeader()
        self._dress()
        self._restore()
        self._header.sectionMoved.connect(self._save)
        self._header.sectionResized.connect(self._on_resized)
        self._header.sectionClicked.connect(self.cycle_sorting)
        self._header.customContextMenuRequested.connect(self._open_menu)

    def fit(self, width: int | None = None) -> None:
        """Show the columns that fit, leaving enough room for the message."""
        self._width = width if width is not None else self._width
        by_default = _OF_OPERATIONS if self._model.cells.is_by_operation else _OF_FRAMES
        shown = {column for column in Column if self._by_hand.get(column, column in by_default)}
        room = self._width - sum(
            self._table.columnWidth(each) or _WIDTHS[each] for each in shown - {Column.MESSAGE}
        )
        for column in _EXPENDABLE:
            if room < _LEAST_FOR_MESSAGE and column in shown and column not in self._by_hand:
                shown.discard(column)
                room += _WIDTHS[column]
        for column in Column:
            self._table.setColumnHidden(column, column not in shown)

    def set_shown(self, column: Column, shown: bool) -> None:
        """Show or hide a column by the user's choice."""
        self._by_hand[column] = shown
        self.fit()
        self._save()

    def cycle_sorting(self, column: int) -> None:
        """Cycle through ascending, descending and the order of arrival."""
        before = self._model.sorted_by
        if before is None or before[0] != column:
            self._model.sort_by(column)
        elif not before[1]:
            self._model.sort_by(column, is_descending=True)
        else:
            self._model.sort_by(None)

    def reset(self) -> None:
        """Restore the defaults."""
        self._by_hand.clear()
        for column in Column:
            self._header.moveSection(self._header.visualIndex(column), column)
        self._set_widths(_WIDTHS)
        self.fit()
        self._save()

    def menu(self) -> QMenu:
        """Create the menu of columns, with a check mark each."""
        menu = QMenu(self._table)
        for column in Column:
            action = menu.addAction(HEADS[column][1])
            action.setCheckable(True)
            action.setChecked(not self._table.isColumnHidden(column))
            action.setEnabled(column is not Column.MESSAGE)
            # Not `triggered`: it passes the checked state to some callables but not to others.
            action.toggled.connect(partial(self.set_shown, column))
        menu.addSeparator()
        self._add_sorting(menu.addMenu("Sort by"))
        menu.addAction("In the order of arrival", partial(self._model.sort_by, None)).setEnabled(
            self._model.sorted_by is not None
        )
        menu.addAction("Reset columns", self.reset)
        return menu

    def open_menu(self) -> None:
        """Open the menu below the first header, for keyboard users."""
        self._open_menu(QPoint(0, self._header.height()))

    # --------------------------------------------------------------

    def _add_sorting(self, menu: QMenu) -> None:
        """Add sort actions, like a click on each header; the current one shows its direction."""
        sorted_by = self._model.sorted_by
        for column in Column:
            if self._table.isColumnHidden(column) or column is Column.MARK:
                continue
            action = menu.addAction(HEADS[column][1], partial(self.cycle_sorting, column))
            action.setCheckable(True)
            action.setChecked(sorted_by is not None and sorted_by[0] == column)

    def _dress(self) -> None:
        header = self._header
        header.setStretchLastSection(False)
        header.setMinimumSectionSize(24)
        header.setSectionsMovable(True)
        header.setSectionsClickable(True)
        header.setSectionResizeMode(Column.MESSAGE, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(Column.MARK, QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(Column.DIRECTION, QHeaderView.ResizeMode.Fixed)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self._set_widths(_WIDTHS)

    def _set_widths(self, widths: dict[Column, int]) -> None:
        for column, width in widths.items():
            self._table.setColumnWidth(column, width)

    def _open_menu(self, place: QPoint) -> None:
        menu = self.menu()
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self._header.mapToGlobal(place))

    def _on_resized(self, column: int, before: int, after: int) -> None:
        if column != Column.MESSAGE and before and after:  # not because it was hidden or shown
            self._save()

    def _save(self) -> None:
        if self._memory is None:
            return
        order = [Column(self._header.logicalIndex(place)).name for place in range(len(Column))]
        shown_widths = {each.name: self._table.columnWidth(each) for each in _WIDTHS}
        state = {
            "order": order,
            "shown": {column.name: shown for column, shown in self._by_hand.items()},
            "widths": {name: width for name, width in shown_widths.items() if width},
        }
        self._memory.setValue(_KEY, json.dumps(state))

    def _restore(self) -> None:
        """Restore the saved layout; unreadable parts and unknown columns are ignored."""
        state = self._remembered()
        names: dict[str, Column] = {column.name: column for column in Column}
        for place, name in enumerate(name for name in state.get("order", []) if name in names):
            self._header.moveSection(self._header.visualIndex(names[name]), place)
        shown: dict[str, object] = state.get("shown", {})
        self._by_hand = {names[name]: value is True for name, value in shown.items() if name in names}
        for name, width in state.get("widths", {}).items():
            if name in names and isinstance(width, int) and 20 <= width <= 2000:
                self._table.setColumnWidth(names[name], width)

    def _remembered(self) -> dict[str, Any]:
        text = self._memory.value(_KEY) if self._memory is not None else None
        try:
            state = json.loads(text) if isinstance(text, str) else {}
        except ValueError:
            return {}
        kinds = {"order": list, "shown": dict, "widths": dict}
        if not isinstance(state, dict):
            return {}
        return {key: value for key, value in state.items() if isinstance(value, kinds.get(key, ()))}
