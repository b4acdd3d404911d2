"""Editor for raw bytes to send, usually JSON; unedited bytes stay exactly the same."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import (
    QKeyEvent,
    QSyntaxHighlighter,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextOption,
)
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from inspector.base.units import size
from inspector.qt.theme import SPACE_1, Theme
from inspector.qt.widgets.code.code_edit import Kind, qt_column, scan
from inspector.qt.widgets.inputs.controls import ENTER_KEYS

# Editing more would be slow: larger messages are shown in part and can only be sent unchanged.
MAX_EDITED = 2 * 1024 * 1024
_MAX_COLORED = 128 * 1024
_PREVIEW_SIZE = 16 * 1024


class RawEdit(QPlainTextEdit):
    """An editor for bytes as text. While unchanged, `raw` returns exactly the bytes set.

    Text cannot represent all bytes: invalid UTF-8 and carriage returns are lost with the first edit
    (`is_lossy`). What is too large to edit is shown in part (`is_too_big`).

    Signals:
        submitted: Ctrl+Return was pressed.
    """

    submitted = Signal()

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._raw = b""
        self._shown = ""
        self.is_lossy = self.is_too_big = False
        self._colors = _Colors(self.document(), theme)
        self.setAccessibleName(name)
        self.setProperty("kind", "input")
        self.setTabChangesFocus(True)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        self.document().setDocumentMargin(SPACE_1)
        self._on_theme_changed()
        theme.changed.connect(self._on_theme_changed)

    def set_raw(self, raw: bytes) -> None:
        """Show these bytes. Can be undone."""
        self.is_too_big = len(raw) > MAX_EDITED
        text = raw.decode(errors="replace")
        if self.is_too_big:
            text = f"{text[:_PREVIEW_SIZE]}…"
        self._colors.is_on = len(text) <= _MAX_COLORED
        self._replace(text)
        self.setReadOnly(self.is_too_big)
        self._raw, self._shown = raw, self.text()
        self.is_lossy = not self.is_too_big and self._shown.encode(errors="replace") != raw

    def raw(self) -> bytes:
        text = self.text()
        return self._raw if text == self._shown else text.encode(errors="replace")

    @property
    def is_changed(self) -> bool:
        """True if the text was edited since the bytes were set."""
        return self.text() != self._shown

    def text(self) -> str:
        """Return the text as written; `toPlainText` would turn no-break spaces into spaces."""
        return self.document().toRawText().replace("\u2029", "\n")

    def warning(self) -> str:
        """Return a warning about the bytes that were set, "" if there is none."""
        if self.is_too_big:
            return f"{size(len(self._raw))}: too large to edit here. You can send it unchanged."
        if self.is_lossy and self.is_changed:
            return "Editing replaced bytes that are not valid text."
        if self.is_lossy:
            return "Some bytes are not valid text. They are sent unchanged unless you edit the message."
        return ""

    def _replace(self, text: str) -> None:
        self.setReadOnly(False)
        cursor = QTextCursor(self.document())
        cursor.beginEditBlock()
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(text)
        cursor.endEditBlock()
        self.moveCursor(QTextCursor.MoveOperation.Start)

    def event(self, event: QEvent) -> bool:
        # The window may have another command for these keys; here they submit.
        return claim_keys(event, is_submit) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if is_submit(event):
            self.submitted.emit()
        else:
            super().keyPressEvent(event)

    def _on_theme_changed(self) -> None:
        self.setFont(self._theme.mono_font())
        self._colors.set_theme(self._theme)


def is_submit(event: QKeyEvent) -> bool:
    """Return whether it is Ctrl+Return, on either Return key."""
    modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    return event.key() in ENTER_KEYS and modifiers == Qt.KeyboardModifier.ControlModifier


def claim_keys(event: QEvent, is_claimed: Callable[[QKeyEvent], bool]) -> bool:
    """Keep keys for a widget although the window has a command on them; return True if it was such a key."""
    is_override = event.type() is QEvent.Type.ShortcutOverride
    if not is_override or not isinstance(event, QKeyEvent) or not is_claimed(event):
        return False
    event.accept()
    return True


class _Colors(QSyntaxHighlighter):
    """Highlights JSON if it is small enough; a string may continue in the next line."""

    is_on = True

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        super().__init__(document)
        self._formats: dict[Kind, QTextCharFormat] = {}
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        kinds: tuple[Kind, ...] = ("key", "string", "number", "literal")
        for kind in kinds:
            self._formats[kind] = QTextCharFormat()
            self._formats[kind].setForeground(theme.color(kind))
        self.rehighlight()

    def highlightBlock(self, text: str) -> None:
        if not self.is_on:
            return
        spans, is_open = scan(text, self.previousBlockState() == 1)
        self.setCurrentBlockState(1 if is_open else 0)
        for start, length, kind in spans:
            left = qt_column(text, start)
            self.setFormat(left, qt_column(text, start + length) - left, self._formats[kind])
