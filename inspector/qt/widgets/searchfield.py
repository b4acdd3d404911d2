"""A search box that waits until the typing pauses."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAction, QHideEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from inspector.qt.theme import Theme


class SearchField(QLineEdit):
    """A search field: icon, clear button, Escape clears, Enter applies at once.

    Signals:
        text_settled: The text, once unchanged for `delay_ms`; never the same twice in a row.
    """

    text_settled = Signal(str)

    def __init__(
        self, theme: Theme, placeholder: str, *, delay_ms: int = 150, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._settled = ""
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(delay_ms)
        self._timer.timeout.connect(self.settle)
        self.setPlaceholderText(placeholder)
        self.setAccessibleName(placeholder)
        self._clear_action = self._add_icons(theme)
        self.textChanged.connect(self._on_text_changed)
        self.returnPressed.connect(self.settle)

    @property
    def is_waiting(self) -> bool:
        return self._timer.isActive()

    def settle(self) -> None:
        """Apply the text now."""
        self._timer.stop()
        if self.text() != self._settled:
            self._settled = self.text()
            self.text_settled.emit(self._settled)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
            self.settle()
            return
        super().keyPressEvent(event)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self.text() != self._settled:
            self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        self._timer.stop()
        super().hideEvent(event)

    def _add_icons(self, theme: Theme) -> QAction:
        glass, clear = QAction(self), QAction("Clear", self)
        theme.dress(glass, "search", "muted")
        theme.dress(clear, "close", "muted")
        clear.triggered.connect(self.clear)
        self.addAction(glass, QLineEdit.ActionPosition.LeadingPosition)
        self.addAction(clear, QLineEdit.ActionPosition.TrailingPosition)
        clear.setVisible(False)  # only now: the field's button is initially shown
        return clear

    def _on_text_changed(self, text: str) -> None:
        self._clear_action.setVisible(bool(text))
        self._timer.start()
