"""Line edit with asynchronous completions, and the suggestion list below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import (
    QFocusEvent,
    QFontMetrics,
    QHideEvent,
    QKeyEvent,
    QPainter,
    QStandardItem,
    QStandardItemModel,
)
from PySide6.QtWidgets import QLineEdit, QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from inspector.base.plain_text import one_line
from inspector.qt.theme import SPACE_2, SPACE_4, Theme
from inspector.qt.widgets.inputs.controls import ENTER_KEYS, STEP_KEYS, is_completion_key
from inspector.qt.widgets.text.labels import shortened

DELAY_MS = 200
_MAX_ROWS = 10
_MAX_LENGTH = 60


class CompletionLineEdit(QLineEdit):
    """A line edit that requests completions when typing pauses, and shows them.

    Tab accepts the first one or the selected one; Enter only the selected one; Escape closes the list. Down
    or Ctrl+Space requests them at once.

    Signals:
        completions_requested: Carries the text to complete. Replaces an earlier request.
        completions_dismissed: They are no longer needed.
    """

    completions_requested = Signal(str)
    completions_dismissed = Signal()

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
            self.completions_requested.emit(self.text())

    def show_completions(self, values: Sequence[str]) -> None:
        """Show completions, unless the field lost the focus or the only one is the current text."""
        suggestions = [Suggestion(value, 0, len(self.text())) for value in values]
        if not self.hasFocus() or not suggestions or [each.text for each in suggestions] == [self.text()]:
            self._close()
            return
        if self._list is None:
            self._list = SuggestionList(self._theme, self)
            self._list.chosen.connect(self._accept)
        self._list.show_under(self.mapToGlobal(QPoint(0, self.height() + 2)), suggestions)

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
        if self.completes and (is_completion_key(event) or event.key() == Qt.Key.Key_Down):
            self.ask()
            return
        super().keyPressEvent(event)

    def _on_list_key(self, event: QKeyEvent) -> bool:
        assert self._list is not None
        key, current = Qt.Key(event.key()), self._list.current()
        if key in STEP_KEYS:
            self._list.step(STEP_KEYS[key])
        elif key == Qt.Key.Key_Escape:
            self._close()
        elif key == Qt.Key.Key_Tab:
            self._accept(current or self._list.suggestions[0])
        elif key in ENTER_KEYS and current is not None and not event.modifiers():
            self._accept(current)
        else:
            return False
        return True

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._dismiss()

    def hideEvent(self, event: QHideEvent) -> None:
        self._dismiss()
        super().hideEvent(event)

    def _on_text_edited(self) -> None:
        self._close()
        self.completions_dismissed.emit()
        if self.completes:
            self._timer.start()

    def _dismiss(self) -> None:
        self._timer.stop()
        self._close()
        self.completions_dismissed.emit()

    def _accept(self, suggestion: Suggestion) -> None:
        self._close()
        self._timer.stop()
        self.setText(suggestion.text)

    def _close(self) -> None:
        if self._list is not None:
            self._list.hide()


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Replaces the text from `start` to `end` with `text`. `note` describes it."""

    text: str
    start: int
    end: int
    note: str = ""


class SuggestionList(QListView):
    """A popup below a line edit. It does not take the focus: the line edit forwards the keys.

    Signals:
        chosen: Carries the Suggestion that was clicked.
    """

    chosen = Signal(object)

    def __init__(self, theme: Theme, owner: QWidget) -> None:
        super().__init__(owner)
        self.setWindowFlags(Qt.WindowType.ToolTip)
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setFocusProxy(owner)
        self.setAccessibleName("Suggestions")
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setUniformItemSizes(True)
        self.setFont(theme.mono_font(0.95))
        self._theme = theme
        self.suggestions: Sequence[Suggestion] = ()
        self._model = QStandardItemModel(self)
        self.setModel(self._model)
        self.setItemDelegate(_TextAndNote(theme, self))
        self.clicked.connect(self._on_clicked)

    def show_under(self, position: QPoint, suggestions: Sequence[Suggestion]) -> None:
        """Show the list at `position`, in screen coordinates. Nothing is selected initially."""
        self.suggestions = suggestions
        self._model.clear()
        for each in suggestions:
            item = QStandardItem(shortened(one_line(each.text), _MAX_LENGTH))
            item.setData(shortened(one_line(each.note), _MAX_LENGTH), Qt.ItemDataRole.UserRole)
            self._model.appendRow(item)
        self.setStyleSheet(f"SuggestionList {{ {floating_sheet(self._theme)} }}")
        height = self._theme.row_height() * min(len(suggestions), _MAX_ROWS)
        self.setGeometry(self._on_screen(position, QSize(self._width() + SPACE_4, height + 4)))
        self.show()

    def step(self, by: int) -> None:
        here = self.currentIndex().row()
        row = (here + by) % max(1, len(self.suggestions)) if here >= 0 else 0 if by > 0 else -1
        self.setCurrentIndex(self._model.index(row % len(self.suggestions), 0))

    def current(self) -> Suggestion | None:
        """Return the selected suggestion."""
        row = self.currentIndex().row()
        return self.suggestions[row] if self.isVisible() and row >= 0 else None

    def _width(self) -> int:
        text, note = QFontMetrics(self.font()), QFontMetrics(self._theme.ui_font())
        widths = (
            text.horizontalAdvance(shortened(one_line(each.text), _MAX_LENGTH))
            + note.horizontalAdvance(shortened(one_line(each.note), _MAX_LENGTH))
            for each in self.suggestions
        )
        return max(widths, default=0) + 3 * SPACE_4

    def _on_screen(self, position: QPoint, size: QSize) -> QRect:
        """Return a geometry that is fully on the screen."""
        room = self.screen().availableGeometry()
        left = min(position.x(), room.right() - size.width())
        top = position.y() if position.y() + size.height() <= room.bottom() else room.bottom() - size.height()
        return QRect(QPoint(max(room.left(), left), max(room.top(), top)), size)

    def _on_clicked(self, index: QModelIndex) -> None:
        self.chosen.emit(self.suggestions[index.row()])


class _TextAndNote(QStyledItemDelegate):
    """Paints the text on the left in the line's font, and the note on the right, muted."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        painter.save()
        rect: QRect = option.rect
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, self._theme.color("selection"))
        inner = rect.adjusted(SPACE_2, 0, -SPACE_2, 0)
        middle = Qt.AlignmentFlag.AlignVCenter.value
        painter.setPen(self._theme.color("text"))
        painter.drawText(inner, middle | Qt.AlignmentFlag.AlignLeft.value, index.data())
        painter.setPen(self._theme.color("muted"))
        painter.setFont(self._theme.ui_font())
        note = index.data(Qt.ItemDataRole.UserRole)
        painter.drawText(inner, middle | Qt.AlignmentFlag.AlignRight.value, note)
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(40, self._theme.row_height())


def floating_sheet(theme: Theme) -> str:
    """Return the style of a floating popup: its background and border."""
    ground, edge = theme.color("raised").name(), theme.color("edge").name()
    return f"background: {ground}; border: 1px solid {edge};"
