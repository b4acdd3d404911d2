"""Traffic table of messages or operations, and its saved column layout.

The table follows the newest row; while it does not, a button shows how many rows are new below.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from PySide6.QtCore import (
    QItemSelection,
    QItemSelectionModel,
    QKeyCombination,
    QModelIndex,
    QObject,
    QPoint,
    QSettings,
    Qt,
    Signal,
)
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QHeaderView, QMenu, QPushButton, QTableView, QWidget

from inspector.qt.actions import native_keys
from inspector.qt.models.traffic.columns import HEADERS, Column
from inspector.qt.models.traffic.traffic_model import TrafficModel
from inspector.qt.theme import SPACE_3, Theme
from inspector.qt.widgets.item_views import style_table

_SETTINGS_KEY = "traffic/columns"
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
_MESSAGE_COLUMNS = frozenset(
    (
        *(Column.MARK, Column.NUMBER, Column.TIME, Column.DIRECTION, Column.SERVER, Column.MESSAGE),
        *(Column.ID, Column.STATUS, Column.DURATION, Column.SIZE),
    )
)
_OPERATION_COLUMNS = (_MESSAGE_COLUMNS | {Column.ROUNDS}) - {Column.DIRECTION, Column.ID}
# The message must be readable: below this width, columns are hidden, the least useful first.
_MIN_MESSAGE_WIDTH = 180
_HIDDEN_FIRST = (
    *(Column.ID, Column.NUMBER, Column.SERVER, Column.SIZE),
    *(Column.ROUNDS, Column.DURATION, Column.TIME),
)
_KEYBOARD_REASONS = (
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
)
_MAX_RESELECTED = 1_000  # rows whose selection survives sorting
_TO_END = QKeyCombination(Qt.KeyboardModifier.ControlModifier, Qt.Key.Key_End)


class TrafficTable(QTableView):
    """The rows of a `TrafficModel`. `can_follow` is for a growing log, not an opened capture.

    Signals:
        following_changed: The user scrolled away from the end, or back to it.
        menu_requested: Carries the cell and the position on the screen.
        mark_clicked: A row's mark was clicked; carries the log row.
    """

    following_changed = Signal(bool)
    menu_requested = Signal(QModelIndex, QPoint)
    mark_clicked = Signal(int)

    def __init__(
        self,
        model: TrafficModel,
        theme: Theme,
        memory: QSettings | None,
        *,
        can_follow: bool = True,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._traffic = model
        self._can_follow = can_follow
        self._is_following = False
        self._is_moving = False
        self._new_below = 0
        self._top_number: int | None = None
        self._top_position = 0
        self._selection_before: tuple[int | None, list[int]] = (None, [])
        self.setAccessibleName("Traffic")
        self.setModel(model)
        style_table(self, theme)
        self.setFont(theme.mono_font(0.95))
        self.setSelectionMode(QTableView.SelectionMode.ExtendedSelection)
        # An empty selection model: to paint itself, a header checks whether every cell of a column is
        # selected, which takes a second per 10,000 rows once all of them are.
        self.horizontalHeader().setSelectionModel(QItemSelectionModel(model, self.horizontalHeader()))
        self.columns = ColumnLayout(self, model, memory)
        self._new_rows_button = QPushButton(self)
        self._new_rows_button.setProperty("kind", "primary")
        self._new_rows_button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._new_rows_button.hide()
        self._new_rows_button.clicked.connect(lambda: self.set_following(True))
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._on_menu_requested)
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        model.rowsInserted.connect(self._on_rows_inserted)
        model.modelReset.connect(self._on_reset)
        model.search.dropping.connect(self._on_dropping)
        model.search.dropped.connect(self._on_dropped)
        model.reordering.connect(self._on_reordering)
        model.reordered.connect(self._on_reordered)

    @property
    def is_following(self) -> bool:
        return self._is_following

    @property
    def new_below(self) -> int:
        """The number of rows added while not following."""
        return self._new_below

    def set_following(self, follow: bool) -> None:
        follow &= self._can_follow
        if follow != self._is_following:
            self._is_following = follow
            self._set_new_below(0)
            self.following_changed.emit(follow)
        if follow:
            self.scrollToBottom()

    def begin_change(self) -> None:
        """Start changing rows: scrolling is not by the user now."""
        self._is_moving = True

    def end_change(self) -> None:
        if self._is_following and self._traffic.sorted_by is None:
            self.scrollToBottom()
        self._is_moving = False
        self.repaint_rows()  # visible requests may have got their responses

    def repaint_rows(self) -> None:
        """Repaint after cell contents or colors changed."""
        if self.isVisible():
            self.viewport().update()

    def show_number(self, number: int) -> bool:
        """Go to a row of the log, if it is shown."""
        row = self._traffic.find_row(number)
        if row is None:
            return False
        self.set_following(False)
        index = self._traffic.index(row, Column.MESSAGE)
        self.setCurrentIndex(index)
        self.scrollTo(index, QTableView.ScrollHint.PositionAtCenter)
        return True

    def current_number(self) -> int | None:
        index = self.currentIndex()
        return self._traffic.number(index.row()) if index.isValid() else None

    @property
    def selected_count(self) -> int:
        """The number of selected rows. Always cheap: Qt's own list of them takes seconds."""
        return sum(map(len, self._selected_positions()))

    def selected_numbers(self) -> list[int]:
        """Return the selected log rows in order. May be long: check `selected_count` first."""
        return sorted(
            {
                self._traffic.number(position)
                for positions in self._selected_positions()
                for position in positions
            }
        )

    def _selected_positions(self) -> list[range]:
        return [range(each.top(), each.bottom() + 1) for each in self.selectionModel().selection().toList()]

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Handle a resize of the viewport, as for every scroll area."""
        self.columns.fit(event.size().width())
        super().resizeEvent(event)
        if not self._new_rows_button.isHidden():
            self._place_new_rows_button()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        super().mousePressEvent(event)
        if event.button() is Qt.MouseButton.LeftButton and index.isValid() and index.column() == Column.MARK:
            self.mark_clicked.emit(self._traffic.number(index.row()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Handle single-key commands. Letters do not search: the filter does."""
        if event.key() == Qt.Key.Key_M and event.modifiers() == Qt.KeyboardModifier.NoModifier:
            if (number := self.current_number()) is not None:
                self.mark_clicked.emit(number)
        elif self._can_follow and event.keyCombination() == _TO_END:
            self.set_following(True)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Select a visible row when focused by keyboard, else none.

        Qt would make the very first row current, far above what is shown.
        """
        if event.reason() in _KEYBOARD_REASONS and not self.currentIndex().isValid():
            row = self.rowAt(self.viewport().height() - 1 if self._is_following else 0)
            last = self._traffic.rowCount() - 1
            if last >= 0:
                self.selectRow(row if row >= 0 else last)
        QAbstractScrollArea.focusInEvent(self, event)
        self.viewport().update()

    def keyboardSearch(self, search: str) -> None:
        """Disable Qt's type-ahead, which would read every row until one matches."""

    def _on_menu_requested(self, position: QPoint) -> None:
        index = self.indexAt(position)
        if index.isValid():
            self.menu_requested.emit(index, self.viewport().mapToGlobal(position))

    def _on_scrolled(self, value: int) -> None:
        """Stop following when scrolled away from the end; resume when scrolled back."""
        if not self._is_moving and self.isVisible():
            self.set_following(value >= self.verticalScrollBar().maximum() - 2)

    def _on_rows_inserted(self, parent: QModelIndex, first: int, last: int) -> None:
        if self._can_follow and not self._is_following and last == self._traffic.rowCount() - 1:
            self._set_new_below(self._new_below + self._traffic.new_among(first, last))

    def _on_reset(self) -> None:
        self._set_new_below(0)

    def _on_dropping(self, count: int) -> None:
        """Remember which row is on top; a current row that leaves memory is not replaced by another."""
        top = self.rowAt(0)
        self._top_number = self._traffic.number(top) if top >= 0 else None
        self._top_position = self.rowViewportPosition(top) if top >= 0 else 0
        current = self.current_number()
        if current is not None and current in self._traffic.search.rows[:count]:
            self.setCurrentIndex(QModelIndex())

    def _on_dropped(self, count: int) -> None:
        """Keep the same rows in view."""
        row = self._traffic.find_row(self._top_number) if self._top_number is not None else None
        if self._is_following or row is None:
            return
        was_moving, self._is_moving = self._is_moving, True
        bar = self.verticalScrollBar()
        bar.setValue(bar.value() + self.rowViewportPosition(row) - self._top_position)
        self._is_moving = was_moving

    def _on_reordering(self) -> None:
        selected = self.selected_numbers() if self.selected_count <= _MAX_RESELECTED else []
        self._selection_before = self.current_number(), selected

    def _on_reordered(self) -> None:
        """Restore the selection at the new positions without scrolling.

        If very many rows were selected, only the current one: finding each takes as long as sorting.
        """
        current, selected = self._selection_before
        if current is None and not selected:
            return
        selected = selected or ([] if current is None else [current])
        flags = QItemSelectionModel.SelectionFlag
        auto_scroll = self.hasAutoScroll()
        self.setAutoScroll(False)
        selection = QItemSelection()
        for position in self._traffic.positions_of(selected):
            selection.select(self._traffic.index(position, 0), self._traffic.index(position, 0))
        self.selectionModel().select(selection, flags.ClearAndSelect | flags.Rows)
        for position in self._traffic.positions_of([] if current is None else [current]):
            index = self._traffic.index(position, Column.MESSAGE)
            self.selectionModel().setCurrentIndex(index, flags.NoUpdate)
        self.setAutoScroll(auto_scroll)

    def _set_new_below(self, count: int) -> None:
        self._new_below = count
        is_shown = count > 0 and self._traffic.sorted_by is None
        self._new_rows_button.setVisible(is_shown)
        if is_shown:
            self._new_rows_button.setText(f"{count:,} new below")
            self._new_rows_button.setToolTip(native_keys("Go to the newest row and follow (Ctrl+End)"))
            self._place_new_rows_button()

    def _place_new_rows_button(self) -> None:
        self._new_rows_button.adjustSize()
        area = self.viewport().geometry()
        left = area.left() + (area.width() - self._new_rows_button.width()) // 2
        self._new_rows_button.move(left, area.bottom() - self._new_rows_button.height() - SPACE_3)


class ColumnLayout(QObject):
    """Sets up the header of a traffic table and saves its layout.

    Columns that the user showed or hid stay so; the others depend on the width and on what a row
    represents. A click on a header sorts: ascending, descending, then by arrival.
    """

    def __init__(self, table: QTableView, model: TrafficModel, memory: QSettings | None) -> None:
        super().__init__(table)
        self._table = table
        self._model = model
        self._memory = memory
        self._user_choices: dict[Column, bool] = {}
        self._width = 0
        self._header = table.horizontalHeader()
        self._apply_theme()
        self._restore()
        self._header.sectionMoved.connect(self._save)
        self._header.sectionResized.connect(self._on_resized)
        self._header.sectionClicked.connect(self.cycle_sorting)
        self._header.customContextMenuRequested.connect(self._open_menu)

    def fit(self, width: int | None = None) -> None:
        """Show the columns that fit, leaving enough room for the message."""
        self._width = width if width is not None else self._width
        by_default = _OPERATION_COLUMNS if self._model.cells.is_by_operation else _MESSAGE_COLUMNS
        shown = {column for column in Column if self._user_choices.get(column, column in by_default)}
        room = self._width - sum(
            self._table.columnWidth(each) or _WIDTHS[each] for each in shown - {Column.MESSAGE}
        )
        for column in _HIDDEN_FIRST:
            if room < _MIN_MESSAGE_WIDTH and column in shown and column not in self._user_choices:
                shown.discard(column)
                room += _WIDTHS[column]
        for column in Column:
            self._table.setColumnHidden(column, column not in shown)

    def set_shown(self, column: Column, shown: bool) -> None:
        """Show or hide a column by the user's choice."""
        self._user_choices[column] = shown
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
        self._user_choices.clear()
        for column in Column:
            self._header.moveSection(self._header.visualIndex(column), column)
        self._set_widths(_WIDTHS)
        self.fit()
        self._save()

    def menu(self) -> QMenu:
        """Create the menu of columns, with a check mark each."""
        menu = QMenu(self._table)
        for column in Column:
            action = menu.addAction(HEADERS[column][1])
            action.setCheckable(True)
            action.setChecked(not self._table.isColumnHidden(column))
            action.setEnabled(column is not Column.MESSAGE)
            # Not `triggered`: it passes the checked state to some callables but not to others.
            action.toggled.connect(partial(self.set_shown, column))
        menu.addSeparator()
        self._add_sorting(menu.addMenu("Sort by"))
        menu.addAction("Order of arrival", partial(self._model.sort_by, None)).setEnabled(
            self._model.sorted_by is not None
        )
        menu.addAction("Reset columns", self.reset)
        return menu

    def open_menu(self) -> None:
        """Open the menu below the first header, for keyboard users."""
        self._open_menu(QPoint(0, self._header.height()))

    def _add_sorting(self, menu: QMenu) -> None:
        """Add sort actions, like a click on each header; the current one shows its direction."""
        sorted_by = self._model.sorted_by
        for column in Column:
            if self._table.isColumnHidden(column) or column is Column.MARK:
                continue
            action = menu.addAction(HEADERS[column][1], partial(self.cycle_sorting, column))
            action.setCheckable(True)
            action.setChecked(sorted_by is not None and sorted_by[0] == column)

    def _apply_theme(self) -> None:
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

    def _open_menu(self, position: QPoint) -> None:
        menu = self.menu()
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self._header.mapToGlobal(position))

    def _on_resized(self, column: int, before: int, after: int) -> None:
        if column != Column.MESSAGE and before and after:  # not because it was hidden or shown
            self._save()

    def _save(self) -> None:
        if self._memory is None:
            return
        order = [Column(self._header.logicalIndex(position)).name for position in range(len(Column))]
        shown_widths = {each.name: self._table.columnWidth(each) for each in _WIDTHS}
        state = {
            "order": order,
            "shown": {column.name: shown for column, shown in self._user_choices.items()},
            "widths": {name: width for name, width in shown_widths.items() if width},
        }
        self._memory.setValue(_SETTINGS_KEY, json.dumps(state))

    def _restore(self) -> None:
        """Restore the saved layout; unreadable parts and unknown columns are ignored."""
        state = self._saved_state()
        names: dict[str, Column] = {column.name: column for column in Column}
        for position, name in enumerate(name for name in state.get("order", []) if name in names):
            self._header.moveSection(self._header.visualIndex(names[name]), position)
        shown: dict[str, object] = state.get("shown", {})
        self._user_choices = {names[name]: value is True for name, value in shown.items() if name in names}
        for name, width in state.get("widths", {}).items():
            if name in names and isinstance(width, int) and 20 <= width <= 2000:
                self._table.setColumnWidth(names[name], width)

    def _saved_state(self) -> dict[str, Any]:
        text = self._memory.value(_SETTINGS_KEY) if self._memory is not None else None
        try:
            state = json.loads(text) if isinstance(text, str) else {}
        except ValueError:
            return {}
        kinds = {"order": list, "shown": dict, "widths": dict}
        if not isinstance(state, dict):
            return {}
        return {key: value for key, value in state.items() if isinstance(value, kinds.get(key, ()))}
