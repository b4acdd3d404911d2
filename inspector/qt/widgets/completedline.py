"""A line of text whose value somebody else may know how to go on with, after a while."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QHideEvent, QKeyEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from inspector.qt.theme import Theme
from inspector.qt.widgets.suggestions import Suggestion, SuggestionList

DELAY_MS = 200
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_STEPS = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 8, Qt.Key.Key_PageUp: -8}


class CompletedLine(QLineEdit):
    """A line edit that requests completions when typing pauses, and shows them.

    Tab accepts the first one or the selected one; Enter only the selected one; Escape closes the list. Down
    or Ctrl+Space requests them at once.

    Signals:
        completions_wanted: Carries the text to complete. Replaces an earlier request.
        completions_not_wanted: They are no longer needed.
    """

    completions_wanted = Signal(str)
    completions_not_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._list: SuggestionList | None = None
        self.completes = False
        self.setFont(theme.mono_font())
        self._timer = QTimer(self, interval=DELAY_MS, singleShot=True)
        self._timer.timeout.connect(self.ask)
        self.textEdited.connect(self._on_text_edited)

    def suggestions(self) -> Sequence[Suggestion]:
        """Return the suggestions shown."""
        return self._list.suggestions if self._list is not None and self._list.isVisible() else ()

    def ask(self) -> None:
        """Request completions without waiting."""
        self._timer.stop()
        if self.completes:
            self.completions_wanted.emit(self.text())

    def show_completions(self, values: Sequence[str]) -> None:
        """Show completions, unless focus was lost or the only one is the current text."""
        offered = [Suggestion(value, 0, len(self.text())) for value in values]
        if not self.hasFocus() or not offered or [each.text for each in offered] == [self.text()]:
            self._close()
            return
        if self._list is None:
            self._list = SuggestionList(self._theme, self)
            self._list.chosen.connect(self._accept)
        self._list.show_under(self.mapToGlobal(QPoint(0, self.height() + 2)), offered)

    # -------------------------------------------------------------- keys

    def event(self, event: QEvent) -> bool:
        # Otherwise Tab would leave the field before it is seen as a key.
        if isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress and self.suggestions():
            if event.key() == Qt.Key.Key_Tab:
                return self._on_list_key(event)
        elif (
            isinstance(event, QKeyEvent)
            and event.type() is QEvent.Type.ShortcutOverride
            and event.key() == Qt.Key.Key_Escape
            and self.suggestions()
        ):
            event.accept()  # Escape only closes the list
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.suggestions() and self._on_list_key(event):
            return
        is_space = event.key() == Qt.Key.Key_Space
        asks = is_space and event.modifiers() == Qt.KeyboardModifier.ControlModifier
        if self.completes and (asks or event.key() == Qt.Key.Key_Down):
            self.ask()
            return
        super().keyPressEvent(event)

    def _on_list_key(self, event: QKeyEvent) -> bool:
        assert self._list is not None
        key, current = Qt.Key(event.key()), self._list.current()
        if key in _STEPS:
            self._list.step(_STEPS[key])
        elif key == Qt.Key.Key_Escape:
            self._close()
        elif key == Qt.Key.Key_Tab:
            self._accept(current or self._list.suggestions[0])
        elif key in _ENTER and current is not None and not event.modifiers():
            self._accept(current)
        else:
            return False
        return True

    # --------------------------------------------------------------

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._give_up()

    def hideEvent(self, event: QHideEvent) -> None:
        self._give_up()
        super().hideEvent(event)

    def _on_text_edited(self) -> None:
        self._close()
        self.completions_not_wanted.emit()
        if self.completes:
            self._timer.start()

    def _give_up(self) -> None:
        self._timer.stop()
        self._close()
        self.completions_not_wanted.emit()

    def _accept(self, suggestion: Suggestion) -> None:
        self._close()
        self._timer.stop()
        self.setText(suggestion.text)

    def _close(self) -> None:
        if self._list is not None:
            self._list.hide()
