"""Popups: a picker with search, usable with the keyboard alone, and a one-line text field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QCloseEvent, QFont, QFontMetrics, QKeyEvent, QKeySequence, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QFrame,
    QLineEdit,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from inspector.qt.theme import ICON_SIZE, SPACE_1, SPACE_2, SPACE_3, Theme, Tone
from inspector.qt.widgets.inputs.controls import ENTER_KEYS
from inspector.qt.widgets.layout import vbox
from inspector.qt.widgets.text.labels import MutedLabel

_WIDTH = 340
_MIN_ROWS, _MAX_ROWS = 3, 14
_MAX_NOTE_SHARE = 0.5
_NAVIGATION_KEYS = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)


@dataclass(frozen=True, slots=True)
class Roles:
    """A model's roles for a row's note and its tone, icon name and matching letters."""

    note: int
    tone: int
    icon: int
    positions: int


class Popup(QWidget):
    """A framed popup window, deleted when it closes.

    Signals:
        closed: The popup was closed.
    """

    closed = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowFlags(Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._theme = theme

    def closeEvent(self, event: QCloseEvent) -> None:
        super().closeEvent(event)
        self.closed.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(self._theme.color("edge"))
        painter.setBrush(self._theme.color("raised"))
        painter.drawRect(self.rect().adjusted(0, 0, -1, -1))


class PickerPopup(Popup):
    """A picker. Closes when something is picked, on Escape, or when it loses the focus.

    The handler of `text_changed` updates the model.

    Signals:
        text_changed: Carries the typed text.
        picked: Carries the row.
        removal_requested: Delete was pressed on a row; carries it. Only with `removes`.
        undo_requested: Ctrl+Z was pressed without typed text. Only with `removes`.
    """

    text_changed = Signal(str)
    picked = Signal(int)
    removal_requested = Signal(int)
    undo_requested = Signal()

    def __init__(
        self,
        theme: Theme,
        model: QAbstractItemModel,
        roles: Roles,
        prompt: str,
        parent: QWidget,
        *,
        removes: bool = False,
    ) -> None:
        super().__init__(theme, parent)
        self.setWindowFlag(Qt.WindowType.FramelessWindowHint)
        self._removes = removes
        self.line = QLineEdit()
        self.line.setPlaceholderText(prompt)
        self.line.setAccessibleName(prompt)
        self.line.installEventFilter(self)
        self.line.textChanged.connect(self.text_changed)
        self.list = QListView()
        self.list.setModel(model)
        self.list.setAccessibleName(prompt)
        self.list.setUniformItemSizes(True)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setItemDelegate(_PickerDelegate(theme, roles, self.list))
        self.list.setStyleSheet("QListView { background: transparent; }")  # the background is the popup's
        self.list.clicked.connect(self._on_clicked)
        self._footer = MutedLabel(theme)
        self._lay_out()
        model.modelReset.connect(self._go_to_first)
        self._go_to_first()

    def show_message(self, text: str) -> None:
        """Set the footer's text."""
        self._footer.setText(text)
        self._footer.setVisible(bool(text))

    def text(self) -> str:
        """Return the footer's text."""
        return self._footer.text()

    def open_over(self, window: QWidget, width: int) -> None:
        """Open centered at the top of a window."""
        wide = min(width, max(window.width() - 2 * SPACE_3, 200))
        self._fit(wide, _MAX_ROWS)
        position = window.mapToGlobal(QPoint((window.width() - wide) // 2, min(80, window.height() // 8)))
        self._open_at(position)

    def open_above(self, widget: QWidget, width: int) -> None:
        """Open above a widget, such as the button it belongs to."""
        rows = self.list.model().rowCount()
        self._fit(width, min(max(rows, _MIN_ROWS), _MAX_ROWS))
        corner = widget.mapToGlobal(QPoint(widget.width(), 0))
        self._open_at(QPoint(corner.x() - width, corner.y() - self.height() - SPACE_1))

    def current(self) -> int:
        return self.list.currentIndex().row()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Send navigation keys to the list, and others to the field."""
        if watched is self.line and event.type() is QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            return self._on_key_pressed(event)
        return super().eventFilter(watched, event)

    def _on_key_pressed(self, event: QKeyEvent) -> bool:
        key = Qt.Key(event.key())
        if key in _NAVIGATION_KEYS:
            self._move(key)
        elif key in ENTER_KEYS:
            self._pick(self.current())
        elif key == Qt.Key.Key_Delete and self._removes and self._is_at_end() and self.current() >= 0:
            self.removal_requested.emit(self.current())
        elif event.matches(QKeySequence.StandardKey.Undo) and self._removes and not self.line.text():
            self.undo_requested.emit()
        elif key == Qt.Key.Key_Escape:
            self.close()
        else:
            return False
        return True

    def _is_at_end(self) -> bool:
        """Return whether there is no text after the cursor that Delete could remove."""
        return self.line.cursorPosition() == len(self.line.text()) and not self.line.hasSelectedText()

    def _move(self, key: Qt.Key) -> None:
        rows = self.list.model().rowCount()
        if not rows:
            return
        page = max(self.list.height() // self._theme.row_height() - 1, 1)
        steps = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -page, Qt.Key.Key_PageDown: page}
        row = self.current() + steps[key]
        # Single steps wrap around; a page stops at the end.
        row = row % rows if abs(steps[key]) == 1 else min(max(row, 0), rows - 1)
        self._go_to(row)

    def _go_to_first(self) -> None:
        self._go_to(0)

    def _go_to(self, row: int) -> None:
        self.list.setCurrentIndex(self.list.model().index(row, 0))

    def _on_clicked(self, index: QModelIndex) -> None:
        self._pick(index.row())

    def _pick(self, row: int) -> None:
        if row >= 0:
            self.picked.emit(row)
            self.close()

    def _fit(self, width: int, rows: int) -> None:
        self.setFixedWidth(width)
        self.list.setFixedHeight(self._theme.row_height() * rows)
        self.adjustSize()

    def _open_at(self, position: QPoint) -> None:
        room = self.screen().availableGeometry()
        left = max(room.left(), min(position.x(), room.right() - self.width()))
        top = max(room.top(), min(position.y(), room.bottom() - self.height()))
        self.move(left, top)
        self.show()
        self.line.setFocus(Qt.FocusReason.PopupFocusReason)

    def _lay_out(self) -> None:
        vbox(self, self.line, self.list, self._footer, margin=SPACE_2)
        self.show_message("")


class _PickerDelegate(QStyledItemDelegate):
    """Paints an icon, the name with matching letters in bold, and a note on the right."""

    def __init__(self, theme: Theme, roles: Roles, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._roles = roles

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(40, self._theme.row_height())

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        painter.save()
        box: QRect = option.rect
        is_current = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.fillRect(box, self._theme.color("selection" if is_current else "raised"))
        inner = box.adjusted(SPACE_2, 0, -SPACE_2, 0)
        icon = index.data(self._roles.icon)
        if icon:
            drawn = self._theme.pixmap(icon, "muted", ICON_SIZE, painter.device().devicePixelRatioF())
            painter.drawPixmap(inner.left(), inner.top() + (inner.height() - ICON_SIZE) // 2, drawn)
        inner.setLeft(inner.left() + ICON_SIZE + SPACE_2)
        inner.setRight(self._paint_note(painter, inner, index) - SPACE_3)
        self._paint_name(painter, inner, index.data() or "", index.data(self._roles.positions) or ())
        painter.restore()

    def _paint_note(self, painter: QPainter, box: QRect, index: QModelIndex | QPersistentModelIndex) -> int:
        note = index.data(self._roles.note) or ""
        tone: Tone = index.data(self._roles.tone) or "muted"
        font = self._theme.ui_font(0.92)
        metrics = QFontMetrics(font)
        shown = metrics.elidedText(note, Qt.TextElideMode.ElideRight, round(box.width() * _MAX_NOTE_SHARE))
        painter.setFont(font)
        painter.setPen(self._theme.color(tone))
        flags = Qt.AlignmentFlag.AlignVCenter.value | Qt.AlignmentFlag.AlignRight.value
        painter.drawText(box, flags | Qt.TextFlag.TextSingleLine.value, shown)
        return box.right() - metrics.horizontalAdvance(shown)

    def _paint_name(self, painter: QPainter, box: QRect, text: str, positions: Sequence[int]) -> None:
        plain, bold = self._theme.ui_font(), self._theme.ui_font(weight=QFont.Weight.Bold)
        shown = QFontMetrics(bold if positions else plain).elidedText(
            text, Qt.TextElideMode.ElideRight, box.width()
        )
        flags = Qt.AlignmentFlag.AlignVCenter.value | Qt.TextFlag.TextSingleLine.value
        left = box.left()
        for piece, is_match in _runs(shown, positions):
            font = bold if is_match else plain
            painter.setFont(font)
            painter.setPen(self._theme.color("accent" if is_match else "text"))
            painter.drawText(QRect(left, box.top(), box.right() - left + 2, box.height()), flags, piece)
            left += QFontMetrics(font).horizontalAdvance(piece)


def _runs(text: str, positions: Sequence[int]) -> list[tuple[str, bool]]:
    """Split the text into runs of matching and other letters."""
    matches = set(positions)
    runs: list[tuple[str, bool]] = []
    for position, char in enumerate(text):
        is_match = position in matches
        if runs and runs[-1][1] is is_match:
            runs[-1] = (runs[-1][0] + char, is_match)
        else:
            runs.append((char, is_match))
    return runs


class NotePopup(Popup):
    """A popup with a text field: Enter accepts, Escape or losing the focus cancels.

    Signals:
        accepted: The user pressed Enter; carries the stripped text.
    """

    accepted = Signal(str)

    def __init__(self, theme: Theme, title: str, text: str, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self.line = QLineEdit(text)
        self.line.setAccessibleName(title)
        self.line.setMaxLength(2_000)
        self.line.returnPressed.connect(self._on_return_pressed)
        vbox(self, MutedLabel(theme, title), self.line, gap=SPACE_1, margin=SPACE_2)
        self.setFixedWidth(_WIDTH)

    def open_at(self, position: QPoint) -> None:
        """Open at `position`, in screen coordinates."""
        self.adjustSize()
        room = self.screen().availableGeometry()
        left = max(room.left(), min(position.x(), room.right() - self.width()))
        top = max(room.top(), min(position.y(), room.bottom() - self.height()))
        self.move(left, top)
        self.show()
        self.line.setFocus(Qt.FocusReason.PopupFocusReason)
        self.line.selectAll()

    def _on_return_pressed(self) -> None:
        self.accepted.emit(self.line.text().strip())
        self.close()
