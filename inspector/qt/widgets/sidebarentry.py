"""A place to go to beside the list of servers: a row that looks like one of the list's."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QWidget

from inspector.qt.theme import ICON_SIZE, SPACE_1, SPACE_2, SPACE_3, Theme, Tone
from inspector.qt.widgets.badge import badge_size, paint_badge


class SidebarEntry(QAbstractButton):
    """An entry of the sidebar. Muted while it is empty, checked while it is shown."""

    def __init__(
        self, theme: Theme, text: str, icon: str, tone: Tone = "wait", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._tone: Tone = tone
        self._count = 0
        self.setText(text)
        self.setAccessibleName(text)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setFixedHeight(theme.row_height() + SPACE_2)
        theme.dress_later(self, icon, "muted")
        theme.changed.connect(self.update)

    @property
    def count(self) -> int:
        return self._count

    def show_count(self, count: int, words: str, key: str = "") -> None:
        """Set the count and its description `words`; `key` is the shortcut."""
        self._count = count
        self.setToolTip(f"{words} ({key})" if key else words)
        self.setAccessibleDescription(words)
        self.update()

    def nextCheckState(self) -> None:
        """Check on a click; only selecting something else unchecks it."""
        self.setChecked(True)

    def sizeHint(self) -> QSize:
        return QSize(160, self.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme, rect = QPainter(self), self._theme, self.rect()
        if self.isChecked():
            painter.fillRect(rect, theme.color("selection"))
            painter.fillRect(0, 0, 3, self.height(), theme.color("accent"))
        elif self.underMouse():
            painter.fillRect(rect, theme.color("hover"))
        painter.fillRect(0, self.height() - 1, self.width(), 1, theme.color("line"))
        if self.hasFocus():
            painter.setPen(theme.color("accent"))
            painter.drawRect(rect.adjusted(0, 0, -1, -2))
        inner = rect.adjusted(SPACE_3, 0, -SPACE_2, -1)
        top = inner.y() + (inner.height() - ICON_SIZE) // 2
        self.icon().paint(painter, QRect(inner.x(), top, ICON_SIZE, ICON_SIZE))
        is_quiet = not self._count and not self.isChecked()
        painter.setFont(theme.ui_font(weight=QFont.Weight.Medium if self._count else QFont.Weight.Normal))
        painter.setPen(theme.color("muted" if is_quiet else "text"))
        words = inner.adjusted(ICON_SIZE + SPACE_1, 0, 0, 0)
        painter.drawText(words, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), self.text())
        if self._count:
            number = f"{self._count:,}"
            size = badge_size(theme, number)
            at = QRect(inner.right() - size.width(), inner.center().y() - size.height() // 2, *size.toTuple())
            paint_badge(painter, at, theme, number, self._tone)
