"""Diff tables with two aligned columns, and a view of two whole values.

The delegate highlights what differs in a line and elides a long line so that the difference is visible.
"""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QBrush, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QFrame,
    QHeaderView,
    QScrollArea,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from inspector.base.json.values import JSON, pretty
from inspector.qt.models.compare.diff_rows import DiffColumn, DiffRowsModel, StretchRole
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, SPACE_6, Theme
from inspector.qt.widgets.item_views import style_table
from inspector.qt.widgets.layout import hbox
from inspector.qt.widgets.text.labels import PlainLabel
from inspector.traffic.compare.diff import Cut, Diff

SIGN_WIDTH = 28
_MARGIN = 3  # the style's margin beside a cell's text
_LEAD = 12  # characters shown before a difference that would otherwise be out of sight
_TOGGLE_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)


class DiffView(QTableView):
    """The table of differences. A click or Return opens a folded row.

    Signals:
        menu_requested: A row was right-clicked; carries the row and the position on the screen.
    """

    menu_requested = Signal(int, QPoint)

    def __init__(self, model: DiffRowsModel, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self.setAccessibleName("Differences")
        self.setModel(model)
        _set_up(self, theme)
        self.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._on_menu_requested)

    def go_to_change(self, step: int) -> int | None:
        """Go to the next difference, or with -1 the previous one, wrapping; return its number."""
        positions = self._model.changes()
        if not positions:
            return None
        here = self.currentIndex().row()
        if step > 0:
            number = next((each for each, position in enumerate(positions) if position > here), 0)
        else:
            before = [each for each, position in enumerate(positions) if position < here]
            number = before[-1] if before else len(positions) - 1
        self._choose(positions[number])
        return number

    def toggle(self, row: int) -> bool:
        """Open or fold a row without scrolling."""
        bar = self.verticalScrollBar()
        scrolled = bar.value()
        if not self._model.toggle(row):
            return False
        bar.setValue(scrolled)
        self.setCurrentIndex(self._model.index(min(row, self._model.rowCount() - 1), DiffColumn.LEFT))
        return True

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        if index.isValid() and event.button() is Qt.MouseButton.LeftButton:
            self.toggle(index.row())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        if not (event.key() in _TOGGLE_KEYS and index.isValid() and self.toggle(index.row())):
            super().keyPressEvent(event)

    def _choose(self, row: int) -> None:
        index = self._model.index(row, DiffColumn.LEFT)
        self.setCurrentIndex(index)
        self.scrollTo(index, QTableView.ScrollHint.PositionAtCenter)

    def _on_menu_requested(self, position: QPoint) -> None:
        index = self.indexAt(position)
        if index.isValid():
            self.menu_requested.emit(index.row(), self.viewport().mapToGlobal(position))


class ChangesTable(QTableView):
    """A diff table: before on the left, now on the right. Return or a click opens a folded row."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows = DiffRowsModel(theme)
        self.setModel(self.rows)
        self.setAccessibleName("Changes since the previous result")
        _set_up(self, theme)
        self.setFrameShape(QTableView.Shape.NoFrame)
        self.clicked.connect(self._on_clicked)

    async def show_diff(self, diff: Diff) -> None:
        await self.rows.show(diff)

    def go_to_first(self) -> None:
        """Scroll to the first difference, past the equal rows above it."""
        if positions := self.rows.changes():
            index = self.rows.index(positions[0], DiffColumn.LEFT)
            self.setCurrentIndex(index)
            self.scrollTo(index, QTableView.ScrollHint.PositionAtCenter)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        if not (event.key() in _TOGGLE_KEYS and index.isValid() and self.rows.toggle(index.row())):
            super().keyPressEvent(event)

    def _on_clicked(self, index: QModelIndex) -> None:
        self.rows.toggle(index.row())


def _set_up(table: QTableView, theme: Theme) -> None:
    """Style a table of a `DiffRowsModel`."""
    style_table(table, theme)
    table.setItemDelegate(LineDelegate(theme, table))
    table.setFont(theme.mono_font())
    header = table.horizontalHeader()
    header.hide()
    header.setMinimumSectionSize(SIGN_WIDTH)
    for column in (DiffColumn.LEFT, DiffColumn.RIGHT):
        header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
    table.setColumnWidth(DiffColumn.SIGN, SIGN_WIDTH)


class LineDelegate(QStyledItemDelegate):
    """Highlights the span that differs and elides the line so that the span is visible."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(SIGN_WIDTH, self._theme.row_height())

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        stretch = index.data(StretchRole)
        if stretch is None:
            super().paint(painter, option, index)
        else:
            self._paint_changed(painter, option, index, stretch)
        if index.column() == DiffColumn.RIGHT:
            box = option.rect
            painter.fillRect(box.left(), box.top(), 1, box.height(), self._theme.color("line"))

    def _paint_changed(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
        stretch: tuple[int, int],
    ) -> None:
        self.initStyleOption(option, index)
        text, option.text = option.text, ""
        style = option.widget.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        self._paint_text(painter, option.rect.adjusted(_MARGIN, 0, -_MARGIN, 0), option, text, stretch)

    def _paint_text(
        self, painter: QPainter, box: QRect, option: QStyleOptionViewItem, text: str, stretch: tuple[int, int]
    ) -> None:
        metrics = option.fontMetrics
        capacity = max(1, box.width() // max(1, metrics.horizontalAdvance("0")))
        text, start, end = elide_before_change(text, *stretch, capacity)
        left = metrics.horizontalAdvance(text[:start])
        width = max(metrics.horizontalAdvance(text[start:end]), 3)  # a deletion is marked, too
        painter.save()
        painter.setClipRect(box)
        highlight = QRect(box.left() + left, box.top() + 3, width, box.height() - 6)
        painter.fillRect(highlight, QBrush(self._theme.tokens.tint("warn", 0.32)))
        painter.setFont(option.font)
        painter.setPen(self._theme.color("text"))
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, box.width())
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter.value | Qt.TextFlag.TextSingleLine.value, shown)
        painter.restore()


def elide_before_change(text: str, start: int, end: int, capacity: int) -> tuple[str, int, int]:
    """Elide a long line between its name and the span that differs.

    `capacity` is the number of characters that fit. Returns the text to show and the span's position in it.
    """
    if min(end, start + _LEAD) <= capacity:
        return text, start, end
    name = text.find(": ", 0, min(start, 60)) + 1
    cut = max(name + 1, start - _LEAD)
    head = f"{text[:name]} …"
    shift = cut - len(head)
    return head + text[cut:], start - shift, end - shift


class WholeValues(QWidget):
    """Two values in full, wrapped and scrollable.

    Strings are shown as is, with hidden characters made visible; other values as JSON.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.left, self.right = (PlainLabel(theme, wrap=True, selectable=True) for _ in range(2))
        row = hbox(self, gap=0, margin=(SPACE_6, SPACE_1, 0, 0))
        for label, name in ((self.left, "Full baseline value"), (self.right, "Full current value")):
            label.setAccessibleName(name)
            label.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
            label.setContentsMargins(SPACE_2, SPACE_1, SPACE_3, SPACE_2)
            row.addWidget(_scroll_area(label), 1)
        theme.changed.connect(self.update)

    def show_values(self, left: JSON | Cut, right: JSON | Cut) -> None:
        self.left.setText(_text(left))
        self.right.setText(_text(right))

    def clear(self) -> None:
        self.show_values("", "")

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(0, 0, self.width(), 1, self._theme.color("line"))


def _scroll_area(label: PlainLabel) -> QScrollArea:
    scroll = QScrollArea()
    scroll.setFrameShape(QFrame.Shape.NoFrame)
    scroll.setWidgetResizable(True)
    scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    scroll.setWidget(label)
    return scroll


def _text(value: JSON | Cut) -> str:
    if value is None:
        return ""
    if isinstance(value, Cut):
        return value.text
    try:
        return value if isinstance(value, str) else pretty(value)
    except RecursionError:
        return "Nested too deeply to show here."
