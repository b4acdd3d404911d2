"""A label whose long words are broken where it ends: Qt's own cuts them off there."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRect, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QLabel

# Text layout is imported for the first long word: labels at startup have none.
if TYPE_CHECKING:
    from PySide6.QtGui import QTextDocument, QTextLayout

_LONG_WORD = re.compile(r"\S{21}")  # shorter ones fit into the narrowest label
_TOP, _BOTTOM = Qt.AlignmentFlag.AlignTop, Qt.AlignmentFlag.AlignBottom


class BreakingLabel(QLabel):
    """A plain-text label that wraps between words, and inside words wider than the label.

    Text without long words, i.e. nearly all of it, is left to Qt.
    """

    def breaks_words(self) -> bool:
        """Return whether a word may be too wide for a line."""
        return self.wordWrap() and _LONG_WORD.search(self.text()) is not None

    def minimumSizeHint(self) -> QSize:
        """Limit the width: Qt asks for that of the longest word, which may have any length."""
        hint = super().minimumSizeHint()
        if not self.wordWrap():
            return hint
        return QSize(min(hint.width(), self.fontMetrics().horizontalAdvance("m" * 20)), hint.height())

    def heightForWidth(self, width: int) -> int:
        height = super().heightForWidth(width)
        if not self.breaks_words():
            return height
        if (document := self._document()) is not None:
            _break_anywhere(document)
            return super().heightForWidth(width)
        around = self.height() - self.contentsRect().height()
        layout = self._laid_out(width - (self.width() - self.contentsRect().width()))
        return math.ceil(layout.boundingRect().height()) + around

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self.breaks_words():
            super().paintEvent(event)
        elif (document := self._document()) is not None:
            super().heightForWidth(self.width())  # makes Qt lay it out first, and then leave it
            _break_anywhere(document)
            super().paintEvent(event)
        else:
            self._paint(self.contentsRect())

    def _document(self) -> QTextDocument | None:
        """Return the document of selectable text; Qt offers no other access to it."""
        from PySide6.QtGui import QTextDocument

        return self.findChild(QTextDocument)

    def _paint(self, box: QRect) -> None:
        layout = self._laid_out(box.width())
        painter = QPainter(self)
        group = QPalette.ColorGroup.Normal if self.isEnabled() else QPalette.ColorGroup.Disabled
        painter.setPen(self.palette().color(group, self.foregroundRole()))
        height = math.ceil(layout.boundingRect().height())
        spare = max(box.height() - height, 0)
        top = spare if self.alignment() & _BOTTOM else 0 if self.alignment() & _TOP else spare // 2
        layout.draw(painter, QPointF(box.left(), box.top() + top))

    def _laid_out(self, width: int) -> QTextLayout:
        from PySide6.QtGui import QTextLayout, QTextOption

        option = QTextOption(self.alignment())
        option.setWrapMode(option.WrapMode.WrapAtWordBoundaryOrAnywhere)
        # In a text layout, a line feed is a line separator.
        layout = QTextLayout(self.text().replace("\n", "\u2028"), self.font())
        layout.setTextOption(option)
        layout.beginLayout()
        top = 0.0
        while (line := layout.createLine()).isValid():
            line.setLineWidth(max(width, 1))
            line.setPosition(QPointF(0, top))
            top += line.height()
        layout.endLayout()
        return layout


def _break_anywhere(document: QTextDocument) -> None:
    option = document.defaultTextOption()
    anywhere = option.WrapMode.WrapAtWordBoundaryOrAnywhere
    if option.wrapMode() is not anywhere:
        option.setWrapMode(anywhere)
        document.setDefaultTextOption(option)
