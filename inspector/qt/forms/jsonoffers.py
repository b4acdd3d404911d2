"""The list of how JSON text may go on, and the keys that it takes while it is open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QTextCursor

from inspector.qt.forms.longlines import text_offset
from inspector.qt.theme import Theme
from inspector.qt.widgets.suggestions import Suggestion, SuggestionList

if TYPE_CHECKING:
    from inspector.qt.forms.jsonedit import JsonEdit

Completer = Callable[[str, int], Sequence[Suggestion]]

_STEPS = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 8, Qt.Key.Key_PageUp: -8}
_TAKING = (Qt.Key.Key_Tab, Qt.Key.Key_Return, Qt.Key.Key_Enter)
_LONGEST_TEXT = 256 * 1024


class Offers:
    """The completion list of a `JsonEdit`.

    Opens at quotes and colons, and on Ctrl+Space; Tab or Enter accepts an entry.
    """

    def __init__(self, edit: JsonEdit, theme: Theme) -> None:
        self._edit = edit
        self._theme = theme
        self._list: SuggestionList | None = None
        self.completer: Completer | None = None
        self._soon = QTimer(edit, singleShot=True, interval=0)
        self._soon.timeout.connect(self.ask)

    def shown(self) -> Sequence[Suggestion]:
        return self._list.suggestions if self._list is not None and self._list.isVisible() else ()

    def ask(self) -> None:
        """Offer completions at the cursor."""
        if self.completer is None or self._edit.document().characterCount() > _LONGEST_TEXT:
            return
        rows = self._edit.rows()
        place = python_column(rows, self._edit.textCursor().position())
        offered = self.completer(self._edit.text(), text_offset(rows, place))
        if not offered:
            self.close()
            return
        if self._list is None:
            self._list = SuggestionList(self._theme, self._edit)
            self._list.chosen.connect(self._accept)
        corner = self._edit.viewport().mapToGlobal(self._edit.cursorRect().bottomLeft() + QPoint(0, 2))
        self._list.show_under(corner, offered)
        self._list.step(1)

    def close(self) -> None:
        if self._list is not None:
            self._list.hide()

    def on_typed(self, text: str) -> None:
        """Open the list where keys and values begin, and update it while typing."""
        if text in ('"', ":") or (self.shown() and text):
            self._soon.start()
        elif self.shown():
            self.close()  # the cursor moved away

    def takes(self, event: QKeyEvent) -> bool:
        """Return whether the list handled a key."""
        if not self.shown() or self._list is None:
            return False
        key = Qt.Key(event.key())
        if event.type() is QEvent.Type.ShortcutOverride and key == Qt.Key.Key_Escape:
            event.accept()  # Escape only closes the list
            return True
        if event.type() is not QEvent.Type.KeyPress:
            return False
        if key in _STEPS:
            self._list.step(_STEPS[key])
        elif key == Qt.Key.Key_Escape:
            self.close()
        elif key in _TAKING and not event.modifiers():
            self._accept(self._list.current() or self._list.suggestions[0])
        else:
            return False
        return True

    def _accept(self, suggestion: Suggestion) -> None:
        self.close()
        cursor = self._edit.cursor_at(suggestion.start)
        end = self._edit.cursor_at(suggestion.end).position()
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText(suggestion.text)
        if suggestion.text in ('""', "{}", "[]"):
            cursor.movePosition(QTextCursor.MoveOperation.Left)
        self._edit.setTextCursor(cursor)
        if suggestion.text.endswith(": "):
            self._soon.start()  # complete the value


def python_column(text: str, position: int) -> int:
    """Convert Qt's UTF-16 position to a Python index: non-BMP characters count as one."""
    if text.isascii():
        return position
    units = text.encode("utf-16-le", "surrogatepass")[: 2 * position]
    return len(units.decode("utf-16-le", "surrogatepass"))
