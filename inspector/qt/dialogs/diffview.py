"""The table of a comparison: two aligned columns, painted so that what differs can be seen in a long line."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QBrush, QKeyEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import (
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from inspector.qt.models.diffrows import Column, DiffRowsModel, StretchRole
from inspector.qt.theme import Theme
from inspector.qt.widgets.itemviews import dress_table

_SIGN_WIDTH = 28
_MARGIN = 3  # what the style leaves beside the text of a cell
_LEAD = 12  # characters shown before a difference that would else be out of sight


class DiffView(QTableView):
    """Click or Return opens what is folded.

    Signals:
        menu_requested: A right click on a row; carries the row and the place on the screen.
    """

    menu_requested = Signal(int, QPoint)

    def __init__(self, model: DiffRowsModel, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self.setAccessibleName("Differences")
        self.setModel(model)
        dress_table(self, theme)
        self.setItemDelegate(_LineDelegate(theme, self))
        self.setFont(theme.mono_font())
        self.horizontalHeader().hide()
        self.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header = self.horizontalHeader()
        header.setMinimumSectionSize(_SIGN_WIDTH)
        for column in (Column.LEFT, Column.RIGHT):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
        self.setColumnWidth(Column.SIGN, _SIGN_WIDTH)
        self.customContextMenuRequested.connect(self._on_menu_requested)

    def go_to_change(self, step: int) -> int | None:
        """To the next difference, or with -1 to the one before, round the end; gives its number."""
        places = self._model.changes()
        if not places:
            return None
        here = self.currentIndex().row()
        if step > 0:
            number = next((each for each, place in enumerate(places) if place > here), 0)
        else:
            before = [each for each, place in enumerate(places) if place < here]
            number = before[-1] if before else len(places) - 1
        self._choose(places[number])
        return number

    def toggle(self, row: int) -> bool:
        """Open or fold a row, staying where it is."""
        bar = self.verticalScrollBar()
        scrolled = bar.value()
        if not self._model.toggle(row):
            return False
        bar.setValue(scrolled)
        self.setCurrentIndex(self._model.index(min(row, self._model.rowCount() - 1), Column.LEFT))
        return True

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        if index.isValid() and event.button() is Qt.MouseButton.LeftButton:
            self.toggle(index.row())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_return = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)
        if not (is_return and self.currentIndex().isValid() and self.toggle(self.currentIndex().row())):
            super().keyPressEvent(event)

    def _choose(self, row: int) -> None:
        index = self._model.index(row, Column.LEFT)
        self.setCurrentIndex(index)
        self.scrollTo(index, QTableView.ScrollHint.PositionAtCenter)

    def _on_menu_requested(self, place: QPoint) -> None:
        index = self.indexAt(place)
        if index.isValid():
            self.menu_requested.emit(index.row(), self.viewport().mapToGlobal(place))


class _LineDelegate(QStyledItemDelegate):
    """Lays a stronger tint under the stretch that differs, and brings that stretch into sight."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(_SIGN_WIDTH, self._theme.row_height())

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        stretch = index.data(StretchRole)
        if stretch is None:
            super().paint(painter, option, index)
        else:
            self._paint_changed(painter, option, index, stretch)
        if index.column() == Column.RIGHT:
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
        fits = max(1, box.width() // max(1, metrics.horizontalAdvance("0")))
        text, start, end = brought_into_sight(text, *stretch, fits)
        left = metrics.horizontalAdvance(text[:start])
        width = max(metrics.horizontalAdvance(text[start:end]), 3)  # what was taken out is a mark, too
        painter.save()
        painter.setClipRect(box)
        ground = QRect(box.left() + left, box.top() + 3, width, box.height() - 6)
        painter.fillRect(ground, QBrush(self._theme.tokens.tint("warn", 0.32)))
        painter.setFont(option.font)
        painter.setPen(self._theme.color("text"))
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, box.width())
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter.value | Qt.TextFlag.TextSingleLine.value, shown)
        painter.restore()


def brought_into_sight(text: str, start: int, end: int, fits: int) -> tuple[str, int, int]:
    """A line that is too long, cut between its name and shortly before the stretch that differs.

    Gives the text to show and where the stretch is in it.
    """
    if min(end, start + _LEAD) <= fits:
        return text, start, end
    name = text.find(": ", 0, min(start, 60)) + 1
    cut = max(name + 1, start - _LEAD)
    head = f"{text[:name]} …"
    shift = cut - len(head)
    return head + text[cut:], start - shift, end - shift
