"""Rows of a list or a tree that we paint; and those with quiet words on the right, and a dot for news."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QApplication, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from inspector.qt.theme import ICON_SIZE, SPACE_1, SPACE_2, Theme, Tone
from inspector.qt.widgets.badge import DotShape, paint_dot

_MOST_OF_NOTE = 0.45  # of the row's width


class PaintedRows(QStyledItemDelegate):
    """Rows with the theme's height; the style paints the background, `paint_row` the text."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def paint_row(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        box: QRect,
        text: str,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        raise NotImplementedError

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(40, self._theme.row_height())

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        self.initStyleOption(option, index)
        text, option.text = option.text, ""
        QApplication.style().drawControl(
            QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget
        )
        painter.save()
        self.paint_row(painter, option, option.rect.adjusted(SPACE_2, 0, -SPACE_2, 0), text, index)
        painter.restore()

    def draw_text(
        self,
        painter: QPainter,
        room: QRect,
        text: str,
        side: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
    ) -> None:
        """Draw one line, elided at the end."""
        shown = QFontMetrics(painter.font()).elidedText(text, Qt.TextElideMode.ElideRight, room.width())
        flags = Qt.AlignmentFlag.AlignVCenter.value | side.value | Qt.TextFlag.TextSingleLine.value
        painter.drawText(room, flags, shown)


class MarkedRows(PaintedRows):
    """Rows with a note. `note_role` is its text, `tone_role` its tone; if not muted, with a dot."""

    def __init__(self, theme: Theme, note_role: int, tone_role: int, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self._note_role = note_role
        self._tone_role = tone_role

    def paint_row(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        box: QRect,
        text: str,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        right = self._paint_note(painter, box, index)
        painter.setFont(option.font)
        painter.setPen(self._theme.color("text"))
        room = QRect(box.left(), box.top(), max(right - box.left() - SPACE_2, 0), box.height())
        self.draw_text(painter, room, text)

    def _paint_note(self, painter: QPainter, box: QRect, index: QModelIndex | QPersistentModelIndex) -> int:
        """Paint the note and return where it begins, i.e. where the name ends."""
        note = index.data(self._note_role) or ""
        if not note:
            return box.right()
        tone: Tone = index.data(self._tone_role) or "muted"
        font = self._theme.ui_font(0.9)
        painter.setFont(font)
        painter.setPen(self._theme.color(tone))
        wanted = QFontMetrics(font).horizontalAdvance(note) + 2
        width = min(wanted, round(box.width() * _MOST_OF_NOTE))
        self.draw_text(
            painter,
            QRect(box.right() - width, box.top(), width, box.height()),
            note,
            Qt.AlignmentFlag.AlignRight,
        )
        left = box.right() - width
        if tone != "muted":
            left -= ICON_SIZE - SPACE_1
            dot = QRectF(left - 2, box.top(), ICON_SIZE, box.height())
            paint_dot(painter, dot, DotShape.FILLED, self._theme.color(tone))
        return left
