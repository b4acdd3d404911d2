"""A web address, whole, with its host in the foreground: drawn letter by letter, never read as markup."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QPainter,
    QPaintEvent,
    QTextCharFormat,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from inspector.base.plaintext import one_line
from inspector.base.weblink import Link
from inspector.qt.theme import SPACE_2, SPACE_3, Theme


class AddressLabel(QWidget):
    """Shows a URL in full, on as many lines as needed; the host is bold, the rest muted."""

    def __init__(self, theme: Theme, link: Link, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._parts = (one_line(link.before), one_line(link.host), one_line(link.after))
        self._heights: dict[int, int] = {}  # by width: a layout asks repeatedly
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(f"Address, host {one_line(link.host)}" if link.host else "Address")
        self.setAccessibleDescription(self.text())
        theme.changed.connect(self.update)

    def text(self) -> str:
        return "".join(self._parts)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        if width not in self._heights:
            self._heights[width] = round(self._laid_out(width - 2 * SPACE_3).boundingRect().height())
        return self._heights[width] + 2 * SPACE_2

    def sizeHint(self) -> QSize:
        return QSize(320, self.heightForWidth(max(self.width(), 320)))

    def minimumSizeHint(self) -> QSize:
        return QSize(160, self.fontMetrics().height() + 2 * SPACE_2)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.color("sunken"))
        painter.setPen(self._theme.color("accent" if self.hasFocus() else "line"))
        painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        self._laid_out(self.width() - 2 * SPACE_3).draw(painter, QPointF(SPACE_3, SPACE_2))

    def _laid_out(self, width: int) -> QTextLayout:
        layout = QTextLayout(self.text(), self._theme.mono_font())
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAnywhere)
        option.setTextDirection(Qt.LayoutDirection.LeftToRight)
        layout.setTextOption(option)
        layout.setFormats(self._formats())
        layout.beginLayout()
        top = 0.0
        while (line := layout.createLine()).isValid():
            line.setLineWidth(max(width, 1))
            line.setPosition(QPointF(0, top))
            top += line.height()
        layout.endLayout()
        return layout

    def _formats(self) -> list[QTextLayout.FormatRange]:
        before, host, after = self._parts
        muted, strong = self._theme.color("muted"), self._theme.color("text")
        found, start = [], 0
        for part, color, is_bold in ((before, muted, False), (host, strong, True), (after, muted, False)):
            length = len(part.encode("utf-16-le")) // 2  # in Qt's UTF-16 units
            if length:
                found.append(_format(start, length, color, is_bold))
            start += length
        return found


def _format(start: int, length: int, color: QColor, is_bold: bool) -> QTextLayout.FormatRange:
    found = QTextLayout.FormatRange()
    looks = QTextCharFormat()
    looks.setForeground(color)
    if is_bold:
        looks.setFontWeight(QFont.Weight.Bold)
    found.start, found.length, found.format = start, length, looks
    return found
