"""Text inputs that stay responsive with any pasted text: `TextLine` and `TextBox`.

Qt lays out a line as a whole: one of 700,000 characters takes a second per key press. `TextBox` therefore
breaks long lines into rows. A row that is continued ends in `CONTINUATION_MARK`, a Unicode noncharacter,
so that joining the rows restores the exact text.
"""

from __future__ import annotations

from PySide6.QtCore import QMimeData, Qt, Signal
from PySide6.QtGui import (
    QClipboard,
    QContextMenuEvent,
    QDropEvent,
    QFont,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
)
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QWidget

CONTINUATION_MARK = "\ufdef"  # not U+FDD0, which Qt uses as a separator
MAX_ROW_LENGTH = 2000
MAX_LINE_LENGTH = 2000
_ROW_JOINT = f"{CONTINUATION_MARK}\n"
_DEFAULT_LINES = (2, 12)
_MAX_TEXT_LENGTH = 20_000_000


class TextLine(QLineEdit):
    """A line edit that rejects text too long for one line, and emits it instead.

    Qt would replace line breaks, and take ten seconds for 700,000 characters.

    Signals:
        overflowed: Pasted or dropped text is too long; carries the complete text.
    """

    overflowed = Signal(str)

    def paste(self) -> None:
        self._insert_data(QGuiApplication.clipboard().mimeData())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Paste):
            self.paste()
        else:
            super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        clipboard = QGuiApplication.clipboard()
        if event.button() is Qt.MouseButton.MiddleButton and clipboard.supportsSelection():
            self._insert_data(clipboard.mimeData(QClipboard.Mode.Selection))
        else:
            super().mouseReleaseEvent(event)

    def dropEvent(self, event: QDropEvent) -> None:
        if is_plain_line(event.mimeData().text()):
            super().dropEvent(event)
        else:
            event.acceptProposedAction()
            self._insert_data(event.mimeData())

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = self.createStandardContextMenu()
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for action in menu.actions():
            if action.objectName() == "edit-paste":
                action.triggered.disconnect()
                action.triggered.connect(self.paste)
        menu.popup(event.globalPos())

    def _insert_data(self, data: QMimeData | None) -> None:
        text = data.text() if data is not None else ""
        if not text or self.isReadOnly():
            return
        if is_plain_line(text) and len(self.text()) + len(text) <= MAX_LINE_LENGTH:
            self.insert(text)
            self.textEdited.emit(self.text())
            return
        start = self.selectionStart() if self.hasSelectedText() else self.cursorPosition()
        before, after = self.text()[:start], self.text()[start + len(self.selectedText()) :]
        self.overflowed.emit(f"{before}{text}{after}")


def is_plain_line(text: str) -> bool:
    """Return whether a line edit shows the text unchanged and stays fast."""
    return len(text) <= MAX_LINE_LENGTH and text.isprintable()


class TextBox(QPlainTextEdit):
    """A text box that grows with its lines; Tab moves to the next field.

    `text` returns the original text; `toPlainText` would return the rows, with spaces for no-break spaces.
    """

    def __init__(
        self, font: QFont, parent: QWidget | None = None, *, lines: tuple[int, int] = _DEFAULT_LINES
    ) -> None:
        super().__init__(parent)
        self._text: str | None = None
        self._rows: str | None = None
        self._lines_shown = lines
        self.setProperty("kind", "input")
        self.setFont(font)
        self.document().setDocumentMargin(1)  # aligns the text with that of a line edit
        self.setTabChangesFocus(True)
        self.textChanged.connect(self._on_changed)
        self._fit_height()

    def text(self) -> str:
        if self._text is None:
            self._text = from_rows(self.rows())
        return self._text

    def rows(self) -> str:
        """Return the document's content."""
        if self._rows is None:
            self._rows = self.document().toRawText().replace("\u2029", "\n")
        return self._rows

    def set_text(self, text: str) -> bool:
        """Set the text; return False if `text` cannot return exactly this text."""
        if CONTINUATION_MARK in text or len(text) > _MAX_TEXT_LENGTH:
            return False
        self.setPlainText(to_rows(text))
        return self.text() == text

    def fill_height(self) -> None:
        """Take all the available height."""
        self._lines_shown = (0, 0)
        self.setMinimumHeight(0)
        self.setMaximumHeight(16_777_215)  # QWIDGETSIZE_MAX

    def insertFromMimeData(self, source: QMimeData) -> None:
        text = source.text().replace("\r\n", "\n")
        self.textCursor().insertText(to_rows(text.replace(CONTINUATION_MARK, "")))
        self.ensureCursorVisible()

    def createMimeDataFromSelection(self) -> QMimeData:
        data = QMimeData()
        data.setText(from_rows(self.textCursor().selectedText().replace("\u2029", "\n")))
        return data

    def _on_changed(self) -> None:
        self._text = self._rows = None
        self._fit_height()

    def _fit_height(self) -> None:
        minimum, maximum = self._lines_shown
        if maximum:
            lines = min(max(self.blockCount(), minimum), maximum)
            self.setFixedHeight(lines * self.fontMetrics().lineSpacing() + 12)


def to_rows(text: str) -> str:
    """Break long lines into rows. Must not be used for text that contains `CONTINUATION_MARK`."""
    if len(text) <= MAX_ROW_LENGTH:
        return text
    lines = text.split("\n")
    if max(map(len, lines)) <= MAX_ROW_LENGTH:
        return text
    return "\n".join(line if len(line) <= MAX_ROW_LENGTH else _split_line(line) for line in lines)


def _split_line(line: str) -> str:
    return _ROW_JOINT.join(line[at : at + MAX_ROW_LENGTH] for at in range(0, len(line), MAX_ROW_LENGTH))


def from_rows(rows: str) -> str:
    """Return the text of the rows, also after edits."""
    if CONTINUATION_MARK not in rows:
        return rows
    return rows.replace(_ROW_JOINT, "").replace(CONTINUATION_MARK, "")


def row_offset(rows: str, offset: int) -> int:
    """Convert an offset in the text to one in the rows."""
    at = 0
    while offset > 0:
        joint = rows.find(_ROW_JOINT, at)
        if joint < 0 or offset < joint - at:
            break
        offset -= joint - at
        at = joint + len(_ROW_JOINT)
    return min(at + offset, len(rows))


def text_offset(rows: str, offset: int) -> int:
    """Convert an offset in the rows to one in the text."""
    return len(from_rows(rows[:offset]))
