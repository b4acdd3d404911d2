"""List of server requests: kind and age, subject, server and state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QKeyEvent, QPainter
from PySide6.QtWidgets import QListView, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from inspector.base.plain_text import one_line
from inspector.base.units import time_of_day
from inspector.engine.inbox.views import InboxRequest
from inspector.protocol.server_requests.request import RequestEnd
from inspector.qt.models.inbox import (
    AgeRole,
    InboxModel,
    RequestRole,
    end_text,
    excerpt_of,
    note_text,
    state_text,
    waiting_call_text,
    what_text,
)
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme, Tone
from inspector.qt.widgets.code.raw_edit import is_submit
from inspector.qt.widgets.item_views import style_list

if TYPE_CHECKING:
    from PySide6.QtWidgets import QStyle

_LINES = 3


class RequestList(QListView):
    """The list of Inbox requests.

    Signals:
        chosen: The user selected another request; carries the InboxRequest.
        entered: Return was pressed: move the focus into the request.
    """

    chosen = Signal(object)
    entered = Signal()

    def __init__(self, theme: Theme, model: InboxModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._is_selecting = False
        self.setModel(model)
        style_list(self, theme)
        self.setUniformItemSizes(False)  # the heading is shorter
        self.setStyleSheet("")
        self.setItemDelegate(_RequestDelegate(theme, model.server is None, self))
        self.setAccessibleName("Server requests")
        self.selectionModel().currentChanged.connect(self._on_current_changed)
        theme.changed.connect(self.viewport().update)

    def current(self) -> InboxRequest | None:
        return self._model.inbox_request(self.currentIndex().row())

    def put(self, inbox_request: InboxRequest) -> None:
        """Add or update a request. The selected one stays selected wherever it moves."""
        current = self.current()
        self._is_selecting = True
        self._model.put(inbox_request)
        if current is not None:
            self._select(current.id)
        self._is_selecting = False

    def select(self, inbox_id: int) -> bool:
        """Select a request without emitting `chosen`; return False if it is not in the list."""
        self._is_selecting = True
        is_listed = self._select(inbox_id)
        self._is_selecting = False
        return is_listed

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not is_submit(event):
            self.entered.emit()
        else:
            super().keyPressEvent(event)

    def _select(self, inbox_id: int) -> bool:
        row = self._model.row_of(inbox_id)
        if row is not None and row != self.currentIndex().row():
            self.setCurrentIndex(self._model.index(row))
        return row is not None

    def _on_current_changed(self, current: QModelIndex, previous: QModelIndex) -> None:
        inbox_request = self._model.inbox_request(current.row())
        if inbox_request is not None and not self._is_selecting:
            self.chosen.emit(inbox_request)


class _RequestDelegate(QStyledItemDelegate):
    """Paints three lines per request: kind and age; subject; server and state."""

    def __init__(self, theme: Theme, names_server: bool, view: QListView) -> None:
        super().__init__(view)
        self._theme = theme
        self._names_server = names_server

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        line = QFontMetrics(self._theme.ui_font()).height()
        if index.data(RequestRole) is None:
            return QSize(120, line + SPACE_3)
        return QSize(120, _LINES * line + SPACE_2 + SPACE_3)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        rect: QRect = option.rect
        inbox_request: InboxRequest | None = index.data(RequestRole)
        painter.save()
        if inbox_request is None:
            self._paint_heading(painter, rect, str(index.data()))
        else:
            self._paint_background(painter, rect, option.state)
            self._paint_request(painter, rect, inbox_request, index.data(AgeRole) or "")
        painter.restore()

    def _paint_heading(self, painter: QPainter, rect: QRect, text: str) -> None:
        painter.fillRect(rect, self._theme.color("sunken"))
        font = self._theme.ui_font(0.92, QFont.Weight.DemiBold)
        self._paint_text(painter, rect.adjusted(SPACE_3, 0, -SPACE_2, 0), text, font, "muted")

    def _paint_background(self, painter: QPainter, rect: QRect, state: QStyle.StateFlag) -> None:
        from PySide6.QtWidgets import QStyle  # costs 7 ms for its enums

        if state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, self._theme.color("selection"))
            painter.fillRect(rect.x(), rect.y(), 3, rect.height(), self._theme.color("accent"))
        elif state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(rect, self._theme.color("hover"))
        painter.fillRect(
            rect.x() + SPACE_3, rect.bottom(), rect.width() - SPACE_3, 1, self._theme.color("line")
        )

    def _paint_request(self, painter: QPainter, rect: QRect, inbox_request: InboxRequest, age: str) -> None:
        inner = rect.adjusted(SPACE_3, SPACE_2, -SPACE_2, -SPACE_2)
        height = inner.height() // _LINES
        lines = [QRect(inner.x(), inner.y() + height * line, inner.width(), height) for line in range(_LINES)]
        small = self._theme.ui_font(0.92)
        when = age or time_of_day(inbox_request.requested_wall_ns).partition(".")[0]
        width = QFontMetrics(small).horizontalAdvance(when)
        right = QRect(lines[0].right() - width, lines[0].y(), width + 1, height)
        self._paint_text(painter, right, when, small, "wait" if inbox_request.is_open else "muted")
        weight = QFont.Weight.DemiBold if inbox_request.is_open else QFont.Weight.Normal
        title = lines[0].adjusted(0, 0, -width - SPACE_2, 0)
        self._paint_text(painter, title, what_text(inbox_request), self._theme.ui_font(weight=weight), "text")
        self._paint_text(
            painter, lines[1], self._about(inbox_request), small, "text" if inbox_request.is_open else "muted"
        )
        self._paint_text(painter, lines[2], self._stands(inbox_request), small, _tone(inbox_request))

    def _about(self, inbox_request: InboxRequest) -> str:
        if not inbox_request.is_open and inbox_request.note:
            return one_line(note_text(inbox_request))
        return next((text for text in map(excerpt_of, inbox_request.input_requests) if text), "")

    def _stands(self, inbox_request: InboxRequest) -> str:
        server = one_line(inbox_request.server) if self._names_server else ""
        state = state_text(inbox_request) if inbox_request.is_open else end_text(inbox_request)
        text = (
            (server, waiting_call_text(inbox_request), state)
            if inbox_request.is_open
            else (state, server, waiting_call_text(inbox_request))
        )
        return " · ".join(part for part in text if part)

    def _paint_text(self, painter: QPainter, rect: QRect, text: str, font: QFont, tone: Tone) -> None:
        shown = QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideRight, max(rect.width(), SPACE_1))
        painter.setFont(font)
        painter.setPen(self._theme.color(tone))
        # By text direction: the ellipsis of Arabic text would otherwise be at its beginning.
        painter.setLayoutDirection(Qt.LayoutDirection.LayoutDirectionAuto)
        painter.drawText(rect, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), shown)


def _tone(inbox_request: InboxRequest) -> Tone:
    return "warn" if inbox_request.end not in (None, RequestEnd.ANSWERED) else "muted"
