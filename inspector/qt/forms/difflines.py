"""Lines of a comparison, painted so that what differs can be seen in a long one."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QBrush, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from inspector.qt.models.diffrows import Column, StretchRole
from inspector.qt.theme import Theme

SIGN_WIDTH = 28
_MARGIN = 3  # the style's margin beside a cell's text
_LEAD = 12  # characters shown before a difference that would otherwise be out of sight


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
        width = max(metrics.horizontalAdvance(text[start:end]), 3)  # a deletion is marked, too
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
    """Elide a long line between its name and shortly before the span that differs.

    Returns the text to show and the span's position in it.
    """
    if min(end, start + _LEAD) <= fits:
        return text, start, end
    name = text.find(": ", 0, min(start, 60)) + 1
    cut = max(name + 1, start - _LEAD)
    head = f"{text[:name]} …"
    shift = cut - len(head)
    return head + text[cut:], start - shift, end - shift
