"""A line in which a filter is written: it offers how to go on, and shows where a mistake is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtCore import QEvent, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QFocusEvent, QHideEvent, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QLineEdit

from inspector.qt.theme import SPACE_1, Theme
from inspector.qt.widgets.labels import PlainLabel, plain_tooltip
from inspector.qt.widgets.searchfield import SearchField

# The list is imported when it first opens, to keep startup fast.
if TYPE_CHECKING:
    from inspector.qt.widgets.suggestions import Suggestion, SuggestionList

Completer: TypeAlias = "Callable[[str, int], Sequence[Suggestion]]"
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_STEPS = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 8, Qt.Key.Key_PageUp: -8}


@dataclass(frozen=True, slots=True)
class Complaint:
    """What is wrong with a filter, and at which column, counted from 0."""

    column: int
    sentence: str

    def in_words(self) -> str:
        return f"Column {self.column + 1}: {self.sentence}"


class FilterField(SearchField):
    """The field for a filter. `complete` gets the text and the cursor's column while typing.

    Signals:
        text_settled: As in `SearchField`.
        stop_requested: The user does not want to wait for the rest of the search.
        down_pressed: The Down key was pressed without suggestions open.
        complaint_left: The user left an invalid filter; carries what is wrong. Empty once they are back or
            it is valid: the field itself then shows it.
    """

    stop_requested = Signal()
    down_pressed = Signal()
    complaint_left = Signal(str)

    def __init__(self, theme: Theme, placeholder: str, complete: Completer) -> None:
        super().__init__(theme, placeholder)
        self._theme = theme
        self._complete = complete
        self._complaint: Complaint | None = None
        self._told_left = ""
        self._progress: float | None = None
        self._list: SuggestionList | None = None
        self._note: PlainLabel | None = None
        self.setFont(theme.mono_font(0.95))
        self._stop = QAction("Stop looking", self)
        theme.dress(self._stop, "stop", "muted")
        self._stop.triggered.connect(self.stop_requested)
        self.addAction(self._stop, QLineEdit.ActionPosition.TrailingPosition)
        self._stop.setVisible(False)
        self.textEdited.connect(self._on_text_edited)
        self.textChanged.connect(lambda: self._hide_note())

    @property
    def complaint(self) -> Complaint | None:
        return self._complaint

    def set_complaint(self, complaint: Complaint | None) -> None:
        """Underline the problem and describe it while the field is focused."""
        self._complaint = complaint
        state = "error" if complaint is not None else ""
        if self.property("state") != state:
            self.setProperty("state", state)
            self.style().polish(self)
        self.setToolTip(plain_tooltip(complaint.sentence) if complaint is not None else "")
        self.setAccessibleDescription(complaint.sentence if complaint is not None else "")
        self._show_note()
        self._tell_left()
        self.update()

    def set_progress(self, share: float | None) -> None:
        """Show progress as a thin line along the bottom; None if there is none."""
        if share != self._progress:
            self._progress = share
            self._stop.setVisible(share is not None)
            self.update()

    def suggestions(self) -> Sequence[Suggestion]:
        """Return the suggestions shown."""
        is_open = self._list is not None and self._list.isVisible()
        return self._list.suggestions if is_open and self._list is not None else ()

    # -------------------------------------------------------------- keys

    def event(self, event: QEvent) -> bool:
        # Otherwise Tab would leave the field before it is seen as a key.
        if isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress and self.suggestions():
            if event.key() == Qt.Key.Key_Tab:
                return self._on_list_key(event)
        elif event.type() is QEvent.Type.ShortcutOverride and self.suggestions():
            event.accept()  # Escape only closes the list
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.suggestions() and self._on_list_key(event):
            return
        if event.key() == Qt.Key.Key_Down:
            self.down_pressed.emit()
            return
        if event.key() == Qt.Key.Key_Space and event.modifiers() == Qt.KeyboardModifier.ControlModifier:
            self._offer()
            return
        super().keyPressEvent(event)

    def _on_list_key(self, event: QKeyEvent) -> bool:
        """Handle a key for the list.

        Tab accepts the first suggestion or the selected one. Enter accepts only a selected one and
        otherwise applies the text, which usually cannot be suggested.
        """
        assert self._list is not None
        key = Qt.Key(event.key())
        current = self._list.current()
        if key in _STEPS:
            self._list.step(_STEPS[key])
        elif key == Qt.Key.Key_Escape:
            self._list.hide()
            self._show_note()  # its place was taken by the list
        elif key == Qt.Key.Key_Tab:
            self._accept(current or self._list.suggestions[0])
        elif key in _ENTER and current is not None:
            self._accept(current)
        else:
            if key in _ENTER:
                self._list.hide()
                self._show_note()
            return False
        return True

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._close_list()
        self._hide_note()
        self._tell_left()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._show_note()
        self._tell_left()

    def hideEvent(self, event: QHideEvent) -> None:
        self._close_list()
        self._hide_note()
        super().hideEvent(event)

    # -------------------------------------------------------------- suggestions

    def _on_text_edited(self) -> None:
        self._complaint = None
        self._offer()

    def _offer(self) -> None:
        suggestions = self._complete(self.text(), self.cursorPosition())
        if not suggestions or not self.hasFocus():
            self._close_list()
            return
        if self._list is None:
            from inspector.qt.widgets.suggestions import SuggestionList

            self._list = SuggestionList(self._theme, self)
            self._list.chosen.connect(self._accept)
        self._list.show_under(self._below(suggestions[0].start), suggestions)

    def _accept(self, suggestion: Suggestion) -> None:
        self._close_list()
        text = self.text()
        self.setText(text[: suggestion.start] + suggestion.text + text[suggestion.end :])
        self.setCursorPosition(suggestion.start + len(suggestion.text))
        if suggestion.text.endswith((":", ".")):
            self._offer()  # a word needs its value

    def _close_list(self) -> None:
        if self._list is not None:
            self._list.hide()

    # -------------------------------------------------------------- the complaint

    def _show_note(self) -> None:
        if self._complaint is None or not self.hasFocus() or self.suggestions():
            self._hide_note()
            return
        from inspector.qt.widgets.suggestions import floating_sheet

        if self._note is None:
            self._note = PlainLabel(self._theme, tone="error", parent=self)
            self._note.setWindowFlags(Qt.WindowType.ToolTip)
            self._note.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
            self._note.setMargin(SPACE_1 + 2)
        self._note.setText(self._complaint.in_words())
        self._note.setStyleSheet(floating_sheet(self._theme) + f"color: {self._theme.color('error').name()};")
        self._note.adjustSize()
        self._note.move(self._below(self._complaint.column))
        self._note.show()

    def _tell_left(self) -> None:
        is_left = self._complaint is not None and not self.hasFocus()
        words = self._complaint.in_words() if is_left and self._complaint is not None else ""
        if words != self._told_left:
            self._told_left = words
            self.complaint_left.emit(words)

    def _hide_note(self) -> None:
        if self._note is not None:
            self._note.hide()

    def _below(self, column: int) -> QPoint:
        """Return the screen position below a column of the text."""
        left = min(max(0, self._left_of(column)), self.width())
        return self.mapToGlobal(QPoint(left, self.height() + 2))

    def _left_of(self, column: int) -> int:
        """Return where a column is drawn, by font metrics: Qt only tells where the cursor is."""
        metrics, text = self.fontMetrics(), self.text()
        cursor = self.cursorRect().center().x() - metrics.horizontalAdvance(text[: self.cursorPosition()])
        return cursor + metrics.horizontalAdvance(text[:column])

    # -------------------------------------------------------------- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        if self._complaint is not None:
            self._paint_underline(painter, self._complaint)
        if self._progress is not None:
            width = round((self.width() - 4) * self._progress)
            painter.fillRect(2, self.height() - 3, width, 2, self._theme.color("accent"))

    def _paint_underline(self, painter: QPainter, complaint: Complaint) -> None:
        start = min(complaint.column, len(self.text()))
        left = self._left_of(start)
        end = self._left_of(min(_end_of_word(self.text(), start), len(self.text())))
        right = min(max(end, left + 8), self.width() - 28)
        painter.setPen(QPen(self._theme.color("error"), 1.5))
        base = (self.height() + self.fontMetrics().height()) // 2 - 1
        for x in range(max(left, 4), right, 4):
            painter.drawLine(x, base + (x // 4 % 2) * 2, x + 4, base + ((x // 4 + 1) % 2) * 2)


def _end_of_word(text: str, start: int) -> int:
    end = text.find(" ", start + 1)
    return end if end >= 0 else len(text)
