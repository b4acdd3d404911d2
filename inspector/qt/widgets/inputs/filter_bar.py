"""Filter bar: a field with completion and error marks, and a menu of earlier filters.

The bar does not know the filter language: it gets a function that completes and one that checks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from PySide6.QtCore import QEvent, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QFocusEvent, QHideEvent, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QLineEdit, QMenu, QPushButton, QWidget

from inspector.base.plain_text import one_line
from inspector.qt.theme import SPACE_1, Theme
from inspector.qt.widgets.inputs.controls import ENTER_KEYS, STEP_KEYS, ActionToolButton, is_completion_key
from inspector.qt.widgets.inputs.search import SearchField
from inspector.qt.widgets.layout import hbox
from inspector.qt.widgets.text.labels import PlainLabel, plain_tooltip, shortened

if TYPE_CHECKING:
    from inspector.qt.widgets.inputs.completion import Suggestion, SuggestionList

Completer: TypeAlias = "Callable[[str, int], Sequence[Suggestion]]"


class TextError(NamedTuple):
    """An error in the text of a filter field, at a column counted from 0."""

    column: int
    sentence: str

    def as_text(self) -> str:
        return f"Column {self.column + 1}: {self.sentence}"


Checker = Callable[[str], TextError | None]
_HISTORY_SHOWN = 12
_FINISHED_AFTER_S = 3.0  # a filter unchanged for this long is added to the history
_MAX_MENU_TEXT = 70


class FilterBar(QWidget):
    """A filter field, a chip for other restrictions, and a menu of filters.

    An invalid filter changes nothing: the previous one stays until it is valid.

    Signals:
        filter_changed: Another valid filter; carries its text.
        history_changed: Carries the filters used, newest first.
        saving_requested: Carries a name and the filter to save; an empty one deletes the name.
        chip_closed: The user removed the chip's restriction.
        help_requested: The user wants help on filters.
    """

    filter_changed = Signal(str)
    history_changed = Signal(object)
    saving_requested = Signal(str, str)
    chip_closed = Signal()
    help_requested = Signal()

    def __init__(
        self,
        theme: Theme,
        placeholder: str,
        complete: Completer,
        check: Checker,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._check = check
        self._applied = ""
        self._applied_at = 0.0
        self._is_confirmed = False
        self._history: Sequence[str] = ()
        self._saved: Mapping[str, str] = {}
        self.field = FilterField(theme, placeholder, complete)
        self._chip = QPushButton()
        self._more = ActionToolButton(QAction("Recent and saved filters", self))
        self._lay_out()
        self.field.text_settled.connect(self._on_text_settled)
        self.field.returnPressed.connect(self._on_return_pressed)
        self.field.down_pressed.connect(self._on_down_pressed)

    @property
    def applied(self) -> str:
        """The filter in effect: the latest valid one."""
        return self._applied

    def set_text(self, text: str) -> None:
        """Set the filter and apply it now."""
        self.field.setText(text)
        self.field.settle()
        self._is_confirmed = True

    def set_chip(self, text: str) -> None:
        """Set the restriction besides the filter; "" hides the chip."""
        self._theme.apply_icon(self._chip)
        self._chip.setText(text)
        self._chip.setVisible(bool(text))

    def set_history(self, texts: Sequence[str]) -> None:
        """Set the filters used before, newest first."""
        self._history = texts

    def set_saved(self, filters: Mapping[str, str]) -> None:
        """Set the saved filters by name."""
        self._saved = filters

    def focus_field(self) -> None:
        """Focus the field and select its text."""
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()

    def discard(self) -> None:
        """Discard an invalid filter and restore the one in effect."""
        self.field.setText(self._applied)
        self.field.settle()

    def ask_for_name(self) -> None:
        """Ask for a name and save the filter."""
        from inspector.qt.widgets.inputs.popups import NotePopup

        text = self.field.text().strip()
        if text and self._check(text) is None:
            popup = NotePopup(self._theme, "Save filter as", shortened(text, 40), self)
            popup.accepted.connect(lambda name: self.saving_requested.emit(name or text, text))
            popup.open_at(self.mapToGlobal(QPoint(0, self.height())))

    def remember(self) -> None:
        """Add the filter in effect to the history, unless it was only a pause in typing."""
        if self._applied and (self._is_confirmed or monotonic() - self._applied_at > _FINISHED_AFTER_S):
            rest = [text for text in self._history if text != self._applied]
            self._history = [self._applied, *rest]
            self.history_changed.emit(self._history)

    def _on_text_settled(self, text: str) -> None:
        text = text.strip()
        error = self._check(text) if text else None
        self.field.set_error(error)
        if error is None and text != self._applied:
            self.remember()  # the previous filter
            self._applied, self._applied_at, self._is_confirmed = text, monotonic(), False
            self.filter_changed.emit(text)

    def _on_return_pressed(self) -> None:
        self._is_confirmed = True

    def _on_down_pressed(self) -> None:
        if not self.field.text():
            self._open_menu()

    def menu(self) -> QMenu:
        """Create the menu of recent and saved filters, and actions for the current one."""
        menu = QMenu(self)
        self._add_texts(menu, "Saved", [(name, text) for name, text in self._saved.items()])
        self._add_texts(menu, "Recent", [(text, text) for text in self._history[:_HISTORY_SHOWN]])
        menu.addSeparator()
        save = menu.addAction("Save filter…", self.ask_for_name)
        save.setEnabled(bool(self.field.text().strip()) and self.field.error is None)
        if self._saved:
            remove = menu.addMenu("Delete")
            for name in self._saved:
                remove.addAction(_menu_text(name), partial(self.saving_requested.emit, name, ""))
        menu.addAction("Show filter syntax", self.help_requested.emit)
        return menu

    def _add_texts(self, menu: QMenu, title: str, texts: Sequence[tuple[str, str]]) -> None:
        if texts:
            menu.addSeparator()
            menu.addAction(title).setEnabled(False)  # Qt's section titles are not drawn by the style
        for name, text in texts:
            action = menu.addAction(_menu_text(name), partial(self.set_text, text))
            action.setToolTip(plain_tooltip(text))
        menu.setToolTipsVisible(True)

    def _open_menu(self) -> None:
        self.remember()
        menu = self.menu()
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self.mapToGlobal(QPoint(0, self.height() + 2)))

    def _lay_out(self) -> None:
        more = self._more.defaultAction()
        self._theme.set_icon(more, "bookmark", "muted")
        more.triggered.connect(self._open_menu)
        self._more.setAccessibleName(more.text())
        self._theme.set_icon_later(self._chip, "close", "muted")
        self._chip.setAccessibleName("Time range: click to clear")
        self._chip.setToolTip("Only this time range is shown; click to clear it")
        self._chip.clicked.connect(self.chip_closed)
        self._chip.hide()
        hbox(self, (self.field, 1), self._chip, self._more, gap=SPACE_1)
        self.setFocusProxy(self.field)


def _menu_text(text: str) -> str:
    """Escape for a menu, where an ampersand marks a mnemonic."""
    return shortened(one_line(text), _MAX_MENU_TEXT).replace("&", "&&")


class FilterField(SearchField):
    """The field for a filter. `complete` gets the text and the cursor's column while typing.

    Signals:
        text_settled: As in `SearchField`.
        stop_requested: The user wants to stop the search.
        down_pressed: The Down key was pressed without suggestions open.
        unfocused_error_changed: The field lost the focus with an invalid filter; carries the error. Carries
            "" once the field has the focus again, and shows the error itself, or the filter is valid.
    """

    stop_requested = Signal()
    down_pressed = Signal()
    unfocused_error_changed = Signal(str)

    def __init__(self, theme: Theme, placeholder: str, complete: Completer) -> None:
        super().__init__(theme, placeholder)
        self._complete = complete
        self._error: TextError | None = None
        self._reported_error = ""
        self._progress: float | None = None
        self._list: SuggestionList | None = None
        self._note: PlainLabel | None = None
        self.setFont(theme.mono_font(0.95))
        self._stop = QAction("Stop searching", self)
        theme.set_icon_later(self._stop, "stop", "muted")
        self._stop.triggered.connect(self.stop_requested)
        self.addAction(self._stop, QLineEdit.ActionPosition.TrailingPosition)
        self._stop.setVisible(False)
        self.textEdited.connect(self._on_text_edited)
        self.textChanged.connect(lambda: self._hide_note())

    @property
    def error(self) -> TextError | None:
        return self._error

    def set_error(self, error: TextError | None) -> None:
        """Underline the error, and describe it while the field has the focus."""
        self._error = error
        state = "error" if error is not None else ""
        if self.property("state") != state:
            self.setProperty("state", state)
            self.style().polish(self)
        self.setToolTip(plain_tooltip(error.sentence) if error is not None else "")
        self.setAccessibleDescription(error.sentence if error is not None else "")
        self._show_note()
        self._report_unfocused_error()
        self.update()

    def set_progress(self, share: float | None) -> None:
        """Show progress as a thin line along the bottom; None if there is none."""
        if share != self._progress:
            self._progress = share
            self._theme.apply_icon(self._stop)
            self._stop.setVisible(share is not None)
            self.update()

    def suggestions(self) -> Sequence[Suggestion]:
        """Return the suggestions shown."""
        is_open = self._list is not None and self._list.isVisible()
        return self._list.suggestions if is_open and self._list is not None else ()

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
        if is_completion_key(event):
            self._show_suggestions()
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
        if key in STEP_KEYS:
            self._list.step(STEP_KEYS[key])
        elif key == Qt.Key.Key_Escape:
            self._list.hide()
            self._show_note()  # it was hidden for the list
        elif key == Qt.Key.Key_Tab:
            self._accept(current or self._list.suggestions[0])
        elif key in ENTER_KEYS and current is not None:
            self._accept(current)
        else:
            if key in ENTER_KEYS:
                self._list.hide()
                self._show_note()
            return False
        return True

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._close_list()
        self._hide_note()
        self._report_unfocused_error()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._show_note()
        self._report_unfocused_error()

    def hideEvent(self, event: QHideEvent) -> None:
        self._close_list()
        self._hide_note()
        super().hideEvent(event)

    def _on_text_edited(self) -> None:
        self._error = None
        self._show_suggestions()

    def _show_suggestions(self) -> None:
        suggestions = self._complete(self.text(), self.cursorPosition())
        if not suggestions or not self.hasFocus():
            self._close_list()
            return
        if self._list is None:
            from inspector.qt.widgets.inputs.completion import SuggestionList

            self._list = SuggestionList(self._theme, self)
            self._list.chosen.connect(self._accept)
        self._list.show_under(self._below(suggestions[0].start), suggestions)

    def _accept(self, suggestion: Suggestion) -> None:
        self._close_list()
        text = self.text()
        self.setText(text[: suggestion.start] + suggestion.text + text[suggestion.end :])
        self.setCursorPosition(suggestion.start + len(suggestion.text))
        if suggestion.text.endswith((":", ".")):
            self._show_suggestions()  # for the value of the field

    def _close_list(self) -> None:
        if self._list is not None:
            self._list.hide()

    def _show_note(self) -> None:
        if self._error is None or not self.hasFocus() or self.suggestions():
            self._hide_note()
            return
        from inspector.qt.widgets.inputs.completion import floating_sheet

        if self._note is None:
            self._note = PlainLabel(self._theme, tone="error", parent=self)
            self._note.setWindowFlags(Qt.WindowType.ToolTip)
            self._note.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
            self._note.setMargin(SPACE_1 + 2)
        self._note.setText(self._error.as_text())
        self._note.setStyleSheet(floating_sheet(self._theme) + f"color: {self._theme.color('error').name()};")
        self._note.adjustSize()
        self._note.move(self._below(self._error.column))
        self._note.show()

    def _report_unfocused_error(self) -> None:
        is_left = self._error is not None and not self.hasFocus()
        text = self._error.as_text() if is_left and self._error is not None else ""
        if text != self._reported_error:
            self._reported_error = text
            self.unfocused_error_changed.emit(text)

    def _hide_note(self) -> None:
        if self._note is not None:
            self._note.hide()

    def _below(self, column: int) -> QPoint:
        """Return the screen position below a column of the text."""
        left = min(max(0, self._left_of(column)), self.width())
        return self.mapToGlobal(QPoint(left, self.height() + 2))

    def _left_of(self, column: int) -> int:
        """Return the x position of a column, from font metrics: Qt only has that of the cursor."""
        metrics, text = self.fontMetrics(), self.text()
        cursor = self.cursorRect().center().x() - metrics.horizontalAdvance(text[: self.cursorPosition()])
        return cursor + metrics.horizontalAdvance(text[:column])

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        if self._error is not None:
            self._paint_underline(painter, self._error)
        if self._progress is not None:
            width = round((self.width() - 4) * self._progress)
            painter.fillRect(2, self.height() - 3, width, 2, self._theme.color("accent"))

    def _paint_underline(self, painter: QPainter, error: TextError) -> None:
        start = min(error.column, len(self.text()))
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
