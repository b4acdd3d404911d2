"""How a server looks in the list: its mark, its name and transport; then how it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import QListView, QStyledItemDelegate, QStyleOptionViewItem

from inspector.base.plaintext import one_line
from inspector.engine.views import ServerStatus, ServerView
from inspector.qt.models.servercolours import SERVER_TONES
from inspector.qt.models.servers import ViewRole, WaitingRole, state_words
from inspector.qt.theme import ICON_SIZE, SPACE_1, SPACE_2, SPACE_3, SPACE_4, Theme, Tone
from inspector.qt.widgets.badge import DotShape, badge_size, paint_badge, paint_dot

if TYPE_CHECKING:
    from PySide6.QtWidgets import QStyle

_STRIPE = 3
MARKS: dict[ServerStatus, tuple[DotShape, Tone]] = {
    ServerStatus.DISABLED: (DotShape.DASH, "muted"),
    ServerStatus.IDLE: (DotShape.RING, "muted"),
    ServerStatus.CONNECTING: (DotShape.RING, "wait"),
    ServerStatus.CONNECTED: (DotShape.FILLED, "ok"),
    ServerStatus.NEEDS_LOGIN: (DotShape.TRIANGLE, "warn"),
    ServerStatus.LOGGING_IN: (DotShape.RING, "wait"),
    ServerStatus.FAILED: (DotShape.CROSS, "error"),
    ServerStatus.RESTARTING: (DotShape.RING, "warn"),
}


class ServerRows(QStyledItemDelegate):
    """Paints two lines per server, with its color at the left edge."""

    def __init__(self, theme: Theme, view: QListView) -> None:
        super().__init__(view)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(160, 2 * QFontMetrics(self._theme.ui_font()).height() + SPACE_4)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        view: ServerView = index.data(ViewRole)
        rect: QRect = option.rect
        state: QStyle.StateFlag = option.state
        painter.save()
        self._paint_ground(painter, rect, state, view)
        top = rect.adjusted(SPACE_3, SPACE_1, -SPACE_2, -rect.height() // 2)
        bottom = rect.adjusted(SPACE_3, rect.height() // 2 - 1, -SPACE_2, -SPACE_1)
        self._paint_name(painter, top, view)
        self._paint_state(painter, self._paint_waiting(painter, bottom, index.data(WaitingRole)), view)
        painter.restore()

    def _paint_ground(
        self, painter: QPainter, rect: QRect, state: QStyle.StateFlag, view: ServerView
    ) -> None:
        from PySide6.QtWidgets import QStyle  # costs 7 ms for its enums

        stripe = SERVER_TONES.get(view.colour)
        if state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, self._theme.color("selection"))
            stripe = stripe or "accent"
        elif state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(rect, self._theme.color("hover"))
        if stripe is not None:
            painter.fillRect(rect.x(), rect.y(), _STRIPE, rect.height(), self._theme.color(stripe))

    def _paint_name(self, painter: QPainter, rect: QRect, view: ServerView) -> None:
        shape, tone = MARKS[view.status]
        mark = QRectF(rect.x(), rect.y() + (rect.height() - ICON_SIZE) / 2, ICON_SIZE, ICON_SIZE)
        paint_dot(painter, mark, shape, self._theme.color(tone))
        badge = badge_size(self._theme, view.transport)
        left = rect.x() + ICON_SIZE + SPACE_1
        font = self._theme.ui_font(weight=QFont.Weight.Medium)
        self._paint_text(
            painter, QRect(left, rect.y(), rect.right() - left - badge.width() - SPACE_2, rect.height()),
            one_line(view.name), font, "text",
        )  # fmt: skip
        at = QRect(rect.right() - badge.width(), rect.center().y() - badge.height() // 2, *badge.toTuple())
        paint_badge(painter, at, self._theme, view.transport, "muted")

    def _paint_waiting(self, painter: QPainter, rect: QRect, count: int) -> QRect:
        """Paint the number of pending requests at the right; return the remaining rectangle."""
        if not count:
            return rect
        words = f"{count:,} in Inbox"
        size = badge_size(self._theme, words)
        at = QRect(rect.right() - size.width(), rect.center().y() - size.height() // 2, *size.toTuple())
        paint_badge(painter, at, self._theme, words, "wait")
        return rect.adjusted(0, 0, -size.width() - SPACE_2, 0)

    def _paint_state(self, painter: QPainter, rect: QRect, view: ServerView) -> None:
        is_bad = view.status in (ServerStatus.FAILED, ServerStatus.NEEDS_LOGIN)
        tone: Tone = MARKS[view.status][1] if is_bad else "muted"
        shifted = rect.adjusted(ICON_SIZE + SPACE_1, 0, 0, 0)
        self._paint_text(painter, shifted, state_words(view), self._theme.ui_font(0.92), tone)

    def _paint_text(self, painter: QPainter, rect: QRect, text: str, font: QFont, tone: Tone) -> None:
        shown = QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideRight, rect.width())
        painter.setFont(font)
        painter.setPen(self._theme.color(tone))
        painter.drawText(rect, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), shown)
