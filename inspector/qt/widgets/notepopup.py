"""A small window with one line to fill in: a comment, a name. Enter keeps it, Escape does not."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from inspector.qt.theme import SPACE_1, SPACE_2, Theme
from inspector.qt.widgets.labels import Muted

_WIDTH = 340


class NotePopup(QWidget):
    """A popup with a text field. Closes when it loses the focus.

    Signals:
        kept: The user pressed Enter; carries the stripped text.
    """

    kept = Signal(str)

    def __init__(self, theme: Theme, title: str, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowFlags(Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._theme = theme
        self.line = QLineEdit(text)
        self.line.setAccessibleName(title)
        self.line.setMaxLength(2_000)
        self.line.returnPressed.connect(self._on_return_pressed)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_2, SPACE_2, SPACE_2, SPACE_2)
        column.setSpacing(SPACE_1)
        column.addWidget(Muted(theme, title))
        column.addWidget(self.line)
        self.setFixedWidth(_WIDTH)

    def open_at(self, place: QPoint) -> None:
        """Open at `place`, in screen coordinates."""
        self.adjustSize()
        room = self.screen().availableGeometry()
        left = max(room.left(), min(place.x(), room.right() - self.width()))
        top = max(room.top(), min(place.y(), room.bottom() - self.height()))
        self.move(left, top)
        self.show()
        self.line.setFocus(Qt.FocusReason.PopupFocusReason)
        self.line.selectAll()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(self._theme.color("edge"))
        painter.setBrush(self._theme.color("raised"))
        painter.drawRect(self.rect().adjusted(0, 0, -1, -1))

    def _on_return_pressed(self) -> None:
        self.kept.emit(self.line.text().strip())
        self.close()
