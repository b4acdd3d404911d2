"""The strip left of JSON text: line numbers, folds, and a mark at each line with something wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QHelpEvent, QMouseEvent, QPainter, QPaintEvent, QPolygonF
from PySide6.QtWidgets import QToolTip, QWidget

from inspector.qt.theme import SPACE_1, SPACE_2, Theme
from inspector.qt.widgets.labels import plain_tooltip

if TYPE_CHECKING:
    from inspector.qt.forms.jsonedit import JsonEdit

_FOLD_WIDTH = 16
_MARK_WIDTH = 12


class Gutter(QWidget):
    """The gutter of a `JsonEdit`. A click on a triangle folds or unfolds."""

    def __init__(self, edit: JsonEdit, theme: Theme) -> None:
        super().__init__(edit)
        self._edit = edit
        self._theme = theme
        self._marks: Mapping[int, str] = {}

    def set_marks(self, marks: Mapping[int, str]) -> None:
        """Set the problems by line number, from 0."""
        self._marks = marks
        self.update()

    def marks(self) -> Mapping[int, str]:
        return self._marks

    def wanted_width(self) -> int:
        digits = max(2, len(str(self._edit.blockCount())))
        return _MARK_WIDTH + digits * self._edit.fontMetrics().horizontalAdvance("0") + _FOLD_WIDTH

    def sizeHint(self) -> QSize:
        return QSize(self.wanted_width(), 0)

    def follow(self, rect: QRect, dy: int) -> None:
        """Follow a scroll or repaint of the text."""
        if dy:
            self.scroll(0, dy)
        else:
            self.update(0, rect.y(), self.width(), rect.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._edit.font())
        for block, box in self._edit.visible_blocks():
            line = QRect(0, box.top(), self.width() - _FOLD_WIDTH, self._edit.fontMetrics().height())
            painter.setPen(self._theme.tokens.tint("muted", 0.7))
            painter.drawText(line, Qt.AlignmentFlag.AlignRight.value, str(block.blockNumber() + 1))
            if block.blockNumber() in self._marks:
                self._paint_mark(painter, line)
            if self._edit.folding.can_fold(block):
                self._paint_fold(painter, line, self._edit.folding.is_folded(block))
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        for block, box in self._edit.visible_blocks():
            if box.top() <= event.position().y() < box.bottom() + 1 and self._edit.folding.can_fold(block):
                self._edit.folding.toggle(block)
                return

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), plain_tooltip(self._words_at(event.pos().y())), self)
            return True
        return super().event(event)

    def _words_at(self, y: int) -> str:
        for block, box in self._edit.visible_blocks():
            if box.top() <= y <= box.bottom():
                return self._marks.get(block.blockNumber(), "")
        return ""

    def _paint_mark(self, painter: QPainter, line: QRect) -> None:
        """Paint a disc with a notch, so that color alone does not distinguish it from a number."""
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.color("error"))
        size = _MARK_WIDTH - SPACE_1
        painter.drawEllipse(QRectF(SPACE_1 / 2, line.center().y() - size / 2, size, size))
        painter.setBrush(self._theme.color("surface"))
        painter.drawRect(
            QRectF(SPACE_1 / 2 + size / 2 - 0.75, line.center().y() - size / 4 - 0.5, 1.5, size / 2)
        )

    def _paint_fold(self, painter: QPainter, line: QRect, is_folded: bool) -> None:
        x, y, half = line.right() + SPACE_2, line.center().y() + 0.5, 3.0
        points = [(-half, -half / 2), (half, -half / 2), (0, half)]
        if is_folded:
            points = [(-half / 2, -half), (-half / 2, half), (half, 0)]
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.color("muted"))
        painter.drawPolygon(QPolygonF([QPointF(x + dx, y + dy) for dx, dy in points]))
