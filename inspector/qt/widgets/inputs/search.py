"""Search field that waits for a pause in typing, and the find bar of code views."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QHideEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QLineEdit, QToolButton, QWidget

from inspector.qt.theme import SPACE_1, SPACE_2, Theme
from inspector.qt.widgets.inputs.controls import ENTER_KEYS, ActionToolButton
from inspector.qt.widgets.layout import hbox
from inspector.qt.widgets.text.labels import MutedLabel

if TYPE_CHECKING:
    from PySide6.QtGui import QTextCursor

MAX_MATCHES = 10_000


class Findable(Protocol):
    """A searchable text: a `CodeEdit`, or an editor with the same interface."""

    def textCursor(self) -> QTextCursor: ...

    def shown_text(self) -> str: ...

    def set_matches(self, matches: list[tuple[int, int]], current: int) -> None: ...


class FindBar(QWidget):
    """A search strip: Enter finds next, Shift+Enter previous, Escape closes. Ignores case.

    Signals:
        closed: The bar was closed; the code should get the focus.
    """

    closed = Signal()

    def __init__(self, theme: Theme, code: Findable, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._code = code
        self._matches: list[tuple[int, int]] = []
        self._current = -1
        self._field = SearchField(theme, "Find in this view", delay_ms=80)
        self._field.installEventFilter(self)
        self._field.text_settled.connect(self._on_text_settled)
        self._count = MutedLabel(theme)
        self._count.setMinimumWidth(self._count.fontMetrics().horizontalAdvance("10,000 of 10,000"))
        row = hbox(self, (self._field, 1), SPACE_1, self._count, gap=SPACE_1, margin=(SPACE_2, SPACE_1))
        for icon, text, slot in (
            ("chevron-up", "Previous match", self.find_previous),
            ("chevron-down", "Next match", self.find_next),
            ("close", "Close find bar", self.close_bar),
        ):
            row.addWidget(self._button(icon, text, slot))
        self.hide()

    def open_bar(self) -> None:
        """Show the bar, ready to type; a short selection becomes the search text."""
        selected = self._code.textCursor().selectedText()
        if selected and len(selected) < 200 and "\u2029" not in selected:
            self._field.setText(selected)
        self.show()
        self._field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._field.selectAll()
        self.refresh()

    def close_bar(self) -> None:
        self.hide()
        self._code.set_matches([], -1)
        self.closed.emit()

    def refresh(self) -> None:
        """Search again, because the content changed."""
        if not self.isHidden():
            self._on_text_settled(self._field.text())

    def find_next(self) -> None:
        self._step(1)

    def find_previous(self) -> None:
        self._step(-1)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress:
            return self._on_key_pressed(event)
        return super().eventFilter(watched, event)

    def _on_key_pressed(self, event: QKeyEvent) -> bool:
        if event.key() == Qt.Key.Key_Escape:
            self.close_bar()
        elif event.key() not in ENTER_KEYS:
            return False
        elif self._field.is_waiting:
            self._field.settle()  # the first match, not the one after it
        else:
            self._step(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        return True

    def _button(self, icon: str, text: str, slot: object) -> QToolButton:
        action = QAction(text, self)
        self._theme.set_icon(action, icon, "muted")
        action.triggered.connect(slot)
        button = ActionToolButton(action)
        button.setAccessibleName(text)
        return button

    def _on_text_settled(self, text: str) -> None:
        self._matches = _find_matches(self._code.shown_text(), text)
        self._current = 0 if self._matches else -1
        self._show_current()

    def _step(self, by: int) -> None:
        if self._matches:
            self._current = (self._current + by) % len(self._matches)
            self._show_current()

    def _show_current(self) -> None:
        self._count.setText(self._count_text())
        self._count.set_tone("muted" if self._matches or not self._field.text() else "error")
        self._code.set_matches(self._matches, self._current)

    def _count_text(self) -> str:
        if not self._field.text():
            return ""
        if not self._matches:
            return "No matches"
        total = f"{len(self._matches):,} {'match' if len(self._matches) == 1 else 'matches'}"
        return f"{self._current + 1:,} of {total}" + ("+" if len(self._matches) == MAX_MATCHES else "")


def _find_matches(text: str, searched: str) -> list[tuple[int, int]]:
    if not searched:
        return []
    found = re.finditer(re.escape(searched), text, re.IGNORECASE)
    return [match.span() for match in islice(found, MAX_MATCHES)]


class SearchField(QLineEdit):
    """A search field: icon, clear button, Escape clears, Enter applies at once.

    Signals:
        text_settled: The text was unchanged for `delay_ms`; carries it, never the same twice in a row.
        down_pressed: The user wants to go to the list below.
    """

    text_settled = Signal(str)
    down_pressed = Signal()

    def __init__(
        self, theme: Theme, placeholder: str, *, delay_ms: int = 150, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._settled = ""
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(delay_ms)
        self._timer.timeout.connect(self.settle)
        self.setPlaceholderText(placeholder)
        self.setAccessibleName(placeholder)
        self._clear_action = self._add_icons()
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
        if event.key() == Qt.Key.Key_Down:
            self.down_pressed.emit()
        super().keyPressEvent(event)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self.text() != self._settled:
            self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        self._timer.stop()
        super().hideEvent(event)

    def _add_icons(self) -> QAction:
        glass, clear = QAction(self), QAction("Clear", self)
        self._theme.set_icon(glass, "search", "muted")
        self._theme.set_icon_later(clear, "close", "muted")
        clear.triggered.connect(self.clear)
        self.addAction(glass, QLineEdit.ActionPosition.LeadingPosition)
        self.addAction(clear, QLineEdit.ActionPosition.TrailingPosition)
        clear.setVisible(False)  # after addAction, which shows it
        return clear

    def _on_text_changed(self, text: str) -> None:
        self._theme.apply_icon(self._clear_action)
        self._clear_action.setVisible(bool(text))
        self._timer.start()
