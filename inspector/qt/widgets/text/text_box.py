"""Text inputs that stay responsive with any pasted text: `TextLine` and `TextBox`.

Qt lays out a line as a whole: one of 700,000 characters takes a second per key press. Long lines are
therefore shown as several rows. A continued row ends in `GOES_ON`, a Unicode noncharacter, so joining the
rows restores the exact text. Rows never leave the text widget.
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

GOES_ON = "\ufdef"  # not U+FDD0, which Qt uses as a separator
MAX_ROW_LENGTH = 2000
_JOINT = f"{GOES_ON}\n"


def to_rows(text: str) -> str:
    """Break long lines into rows. Must not be used for text that contains `GOES_ON`."""
    if len(text) <= MAX_ROW_LENGTH:
        return text
    lines = text.split("\n")
    if max(map(len, lines)) <= MAX_ROW_LENGTH:
        return text
    return "\n".join(line if len(line) <= MAX_ROW_LENGTH else _broken(line) for line in lines)


def from_rows(rows: str) -> str:
    """Return the text of the rows, also after edits."""
    if GOES_ON not in rows:
        return rows
    return rows.replace(_JOINT, "").replace(GOES_ON, "")


def row_offset(rows: str, offset: int) -> int:
    """Convert an offset in the text to one in the rows."""
    at = 0
    while offset > 0:
        joint = rows.find(_JOINT, at)
        if joint < 0 or offset < joint - at:
            break
        offset -= joint - at
        at = joint + len(_JOINT)
    return min(at + offset, len(rows))


def text_offset(rows: str, offset: int) -> int:
    """Convert an offset in the rows to one in the text."""
    return len(from_rows(rows[:offset]))


def _broken(line: str) -> str:
    return _JOINT.join(line[at : at + MAX_ROW_LENGTH] for at in range(0, len(line), MAX_ROW_LENGTH))


MAX_LINE_LENGTH = 2000
_LINES_SHOWN = (2, 12)
_MAX_TEXT_LENGTH = 20_000_000


def is_plain_line(text: str) -> bool:
    """Return whether a line edit shows the text unchanged and stays fast."""
    return len(text) <= MAX_LINE_LENGTH and text.isprintable()


class TextLine(QLineEdit):
    """A line edit that rejects text too large for one line and passes it on.

    Qt would replace line breaks, and takes ten seconds for 700,000 characters.

    Signals:
        overflowed: Pasted or dropped text exceeds a line; carries the whole text.
    """

    overflowed = Signal(str)

    def paste(self) -> None:
        self._take(QGuiApplication.clipboard().mimeData())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Paste):
            self.paste()
        else:
            super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        clipboard = QGuiApplication.clipboard()
        if event.button() is Qt.MouseButton.MiddleButton and clipboard.supportsSelection():
            self._take(clipboard.mimeData(QClipboard.Mode.Selection))
        else:
            super().mouseReleaseEvent(event)

    def dropEvent(self, event: QDropEvent) -> None:
        if is_plain_line(event.mimeData().text()):
            super().dropEvent(event)
        else:
            event.acceptProposedAction()
            self._take(event.mimeData())

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = self.createStandardContextMenu()
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for action in menu.actions():
            if action.objectName() == "edit-paste":
                action.triggered.disconnect()
                action.triggered.connect(self.paste)
        menu.popup(event.globalPos())

    def _take(self, data: QMimeData | None) -> None:
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


class TextBox(QPlainTextEdit):
    """A text box that grows with its lines; Tab moves to the next field.

    Long lines are broken into rows (`longlines`). `text` returns the original; `toPlainText` would return
    the rows, with spaces for no-break spaces.
    """

    def __init__(
        self, font: QFont, parent: QWidget | None = None, *, lines: tuple[int, int] = _LINES_SHOWN
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
        """Show a text; return False if it could not be returned exactly."""
        if GOES_ON in text or len(text) > _MAX_TEXT_LENGTH:
            return False
        self.setPlainText(to_rows(text))
        return self.text() == text

    def grow_freely(self) -> None:
        """Take all the available height."""
        self._lines_shown = (0, 0)
        self.setMinimumHeight(0)
        self.setMaximumHeight(16_777_215)  # QWIDGETSIZE_MAX

    def insertFromMimeData(self, source: QMimeData) -> None:
        text = source.text().replace("\r\n", "\n")
        self.textCursor().insertText(to_rows(text.replace(GOES_ON, "")))
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
