"""Read-only code view over paged rows: line numbers, and highlighting of visible rows only.

The JSON scanner works row by row and accepts invalid JSON.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from PySide6.QtCore import QMimeData, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextLayout,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from inspector.qt.theme import SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.code.pager import Page

Kind: TypeAlias = Literal["key", "string", "number", "literal"]
_KINDS: tuple[Kind, ...] = ("key", "string", "number", "literal")
_OVERSCAN = 4
_STRING_REST = r'[^"\\]*(?:\\.[^"\\]*)*'
_TOKEN = re.compile(
    rf'(?P<string>"{_STRING_REST}(?P<end>"|\\?$))(?P<colon>\s*:)?'
    r"|(?P<number>-?\d[\d.eE+-]*)"
    r"|(?P<literal>\b(?:true|false|null|NaN|-?Infinity)\b)"
)
_CONTINUED = re.compile(rf'{_STRING_REST}(?P<end>"|\\?$)')
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


class CodeEdit(QPlainTextEdit):
    """Rows of code in a monospace font. Selecting and copying joins the rows of a line again.

    QSyntaxHighlighter is not used: it visits every block of a page before the first paint.

    Signals:
        copy_requested: The copy keys were pressed; the owner does the copying.
    """

    copy_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._rows: list[str] = []
        self._numbers: list[int] = []
        self._starts: list[int] = []
        self._length = 0
        self._last_number = 0
        self._text: str | None = None
        self._matches: list[tuple[int, int]] = []
        self._current = -1
        self._is_json = False
        self._is_dump = False
        self._colored: set[int] = set()
        self._open_strings: dict[int, bool] = {}
        self._formats: dict[Kind, QTextCharFormat] = {}
        self._gutter = _Gutter(self)
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setTabChangesFocus(True)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.document().setDocumentMargin(SPACE_2)
        self.updateRequest.connect(self._on_update_requested)
        self.setFont(theme.mono_font())
        self.setTabStopDistance(2 * self.fontMetrics().horizontalAdvance(" "))
        self._has_old_colors = False
        self._set_colors()
        theme.changed.connect(self._on_theme_changed)

    def set_page(self, page: Page, *, json: bool, numbered: bool, is_dump: bool = False) -> None:
        """Show a page from its top. In a dump, each row is a line."""
        self._is_json = json
        self._is_dump = is_dump
        self._gutter.setVisible(numbered)
        self._rows, self._numbers, self._starts = [], [], []
        self._length = self._last_number = 0
        self._matches, self._current = [], -1
        self._colored.clear()
        self._open_strings.clear()
        self._open_strings[-1] = page.starts_in_string
        self._record(page)
        self.setPlainText("\n".join(page.rows))
        self.verticalScrollBar().setValue(0)  # before its first layout, Qt scrolls down
        self._fit_gutter()
        self._refresh_visible()

    def add_page(self, page: Page) -> None:
        """Append a page; the scroll position stays."""
        self._record(page)
        end = QTextCursor(self.document())
        end.movePosition(QTextCursor.MoveOperation.End)
        end.insertText("\n" + "\n".join(page.rows))
        self._fit_gutter()
        self._refresh_visible()

    def scroll_to_end(self) -> None:
        self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())

    def shown_text(self) -> str:
        """Return the shown text, with the rows of each line joined."""
        if self._text is None:
            self._text = "".join(self._joined(self._rows, 0))
        return self._text

    def _record(self, page: Page) -> None:
        self._text = None
        self._last_number = max(self._last_number, *page.numbers, 0)
        for row, number in zip(page.rows, page.numbers, strict=True):
            if self._rows and self._breaks_before(number):
                self._length += 1
            self._starts.append(self._length)
            self._length += len(row)
            self._rows.append(row)
            self._numbers.append(number)

    def _breaks_before(self, number: int) -> bool:
        """Return whether the content has a line break before a row."""
        return number > 0 or self._is_dump

    def _joined(self, rows: list[str], first: int) -> Iterator[str]:
        for position, row in enumerate(rows):
            if position and self._breaks_before(self._numbers[first + position]):
                yield "\n"
            yield row

    def selected_text(self) -> str:
        """Return the selection, with the rows of each line joined."""
        cursor = self.textCursor()
        first = self.document().findBlock(cursor.selectionStart()).blockNumber()
        return "".join(self._joined(cursor.selectedText().split("\u2029"), first))

    def createMimeDataFromSelection(self) -> QMimeData:
        data = QMimeData()
        data.setText(self.selected_text())
        return data

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_requested.emit()
            event.accept()
        else:
            super().keyPressEvent(event)

    def set_matches(self, matches: list[tuple[int, int]], current: int) -> None:
        """Highlight these sorted spans of `shown_text()` and bring the current one into view."""
        self._matches, self._current = matches, current
        if 0 <= current < len(matches):
            self.setTextCursor(self._cursor_at(matches[current][0]))
            self.centerCursor()
        self._mark_matches()

    def _mark_matches(self) -> None:
        """Highlight only visible matches: there may be thousands."""
        marks: list[QTextEdit.ExtraSelection] = []
        if self._matches:
            blocks = list(self._visible_blocks())
            low = self._starts[blocks[0].blockNumber()] if blocks else 0
            last = blocks[-1].blockNumber() if blocks else 0
            high = self._starts[last] + len(self._rows[last])
            begin = bisect_left(self._matches, (low, 0))
            end = bisect_right(self._matches, (high, 0))
            marks = [self._mark(position) for position in range(max(begin - 1, 0), end)]
        self.setExtraSelections(marks)

    def _mark(self, position: int) -> QTextEdit.ExtraSelection:
        start, stop = self._matches[position]
        selection = QTextEdit.ExtraSelection()
        cursor = self._cursor_at(start)
        cursor.setPosition(self._cursor_at(stop).position(), QTextCursor.MoveMode.KeepAnchor)
        is_current = position == self._current
        selection.cursor = cursor
        selection.format.setBackground(
            self._theme.color("warn") if is_current else self._theme.tokens.tint("warn", 0.28)
        )
        if is_current:
            selection.format.setForeground(self._theme.color("surface"))
        return selection

    def _cursor_at(self, offset: int) -> QTextCursor:
        position = max(bisect_right(self._starts, offset) - 1, 0)
        row = self._rows[position]
        column = qt_column(row, min(offset - self._starts[position], len(row)))
        cursor = QTextCursor(self.document())
        cursor.setPosition(self.document().findBlockByNumber(position).position() + column)
        return cursor

    def _refresh_visible(self) -> None:
        if self._is_json and self.isVisible():
            for block in list(self._visible_blocks()):
                self._color(block)
        if self._matches:
            self._mark_matches()

    def _visible_blocks(self) -> Iterator[QTextBlock]:
        """Yield the visible blocks and a few below, without laying out others."""
        block = self.firstVisibleBlock()
        bottom = self.viewport().height()
        top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
        spare = _OVERSCAN
        while block.isValid() and spare:
            yield block
            top += self.blockBoundingRect(block).height()
            spare -= top > bottom
            block = block.next()

    def _color(self, block: QTextBlock) -> None:
        position = block.blockNumber()
        if position in self._colored:
            return
        self._colored.add(position)
        row = self._rows[position]
        spans, self._open_strings[position] = scan(row, self._starts_in_string(position))
        ranges = []
        for start, length, kind in spans:
            range_ = QTextLayout.FormatRange()
            left = qt_column(row, start)
            range_.start, range_.length = left, qt_column(row, start + length) - left
            range_.format = self._formats[kind]
            ranges.append(range_)
        block.layout().setFormats(ranges)

    def _starts_in_string(self, position: int) -> bool:
        """Return whether this row begins inside a string; looks back within the line only."""
        first = position
        while self._numbers[first] == 0 and first > 0 and first - 1 not in self._open_strings:
            first -= 1
        for row in range(first, position):
            is_open = self._numbers[row] == 0 and self._open_strings.get(row - 1, False)
            self._open_strings[row] = ends_in_string(self._rows[row], is_open)
        return self._numbers[position] == 0 and self._open_strings.get(position - 1, False)

    def _on_theme_changed(self) -> None:
        """Set the colors; those of a hidden view are set when it is shown."""
        self._has_old_colors = not self.isVisible()
        if not self._has_old_colors:
            self._set_colors()

    def _set_colors(self) -> None:
        for kind in _KINDS:
            format = QTextCharFormat()
            format.setForeground(self._theme.color(kind))
            self._formats[kind] = format
        self._colored.clear()
        self._refresh_visible()
        self._gutter.update()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        super().scrollContentsBy(dx, dy)
        if dy:
            self._refresh_visible()

    def resizeEvent(self, event: QResizeEvent) -> None:
        was_at_top = self.verticalScrollBar().value() == 0
        super().resizeEvent(event)
        self._fit_gutter()
        if was_at_top:  # rewrapping makes Qt lose the position
            self.verticalScrollBar().setValue(0)
        self._refresh_visible()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._has_old_colors:
            self._on_theme_changed()
        self._refresh_visible()

    def gutter_width(self) -> int:
        if self._gutter.isHidden():
            return 0
        digits = max(2, len(str(self._last_number)))
        return digits * self.fontMetrics().horizontalAdvance("0") + SPACE_3 + SPACE_2

    def paint_gutter(self, painter: QPainter, width: int) -> None:
        """Paint right-aligned numbers beside the rows that start a line."""
        painter.setFont(self.font())
        painter.setPen(self._theme.tokens.tint("muted", 0.7))
        top = self.blockBoundingGeometry(self.firstVisibleBlock()).translated(self.contentOffset()).top()
        height = self.fontMetrics().height()
        for block in self._visible_blocks():
            number = self._numbers[block.blockNumber()] if block.blockNumber() < len(self._numbers) else 0
            if number:
                box = QRect(0, round(top), width - SPACE_2, height)
                painter.drawText(box, Qt.AlignmentFlag.AlignRight.value, str(number))
            top += self.blockBoundingRect(block).height()

    def _fit_gutter(self) -> None:
        width = self.gutter_width()
        self.setViewportMargins(width, 0, 0, 0)
        inside = self.contentsRect()
        self._gutter.setGeometry(inside.left(), inside.top(), width, inside.height())

    def _on_update_requested(self, rect: QRect, dy: int) -> None:
        if dy:
            self._gutter.scroll(0, dy)
        else:
            self._gutter.update(0, rect.y(), self._gutter.width(), rect.height())


class _Gutter(QWidget):
    """The strip of line numbers, painted by `CodeEdit`."""

    def __init__(self, edit: CodeEdit) -> None:
        super().__init__(edit)
        self._edit = edit

    def sizeHint(self) -> QSize:
        return QSize(self._edit.gutter_width(), 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setClipRect(event.rect())
        self._edit.paint_gutter(painter, self.width())


class Span(NamedTuple):
    """A colored span of a row, in Python characters."""

    start: int
    length: int
    kind: Kind


def scan(row: str, in_string: bool = False) -> tuple[list[Span], bool]:
    """Return the row's colored spans, and whether a string continues in the next row.

    `in_string`: this row continues a string from the previous one.
    """
    spans: list[Span] = []
    at = 0
    if in_string:
        rest = _CONTINUED.match(row)
        if rest is None:
            return [Span(0, len(row), "string")], True
        spans.append(Span(0, rest.end(), "string"))
        if rest["end"] != '"':
            return spans, True
        at = rest.end()
    open_string = False
    for match in _TOKEN.finditer(row, at):
        if match["string"] is not None:
            spans.append(_string_span(match))
            open_string = match["end"] != '"'
        else:
            kind: Kind = "number" if match["number"] is not None else "literal"
            spans.append(Span(match.start(), match.end() - match.start(), kind))
    return spans, open_string


def ends_in_string(row: str, in_string: bool) -> bool:
    """Return the second result of `scan` only, for rows that are not visible."""
    quotes = row.replace("\\\\", "").replace('\\"', "").count('"')
    return in_string ^ (quotes % 2 == 1)


def _string_span(match: re.Match[str]) -> Span:
    kind: Kind = "key" if match["colon"] else "string"
    return Span(match.start("string"), match.end("string") - match.start("string"), kind)


def qt_column(row: str, column: int) -> int:
    """Convert a Python column to Qt's: UTF-16 units, so non-BMP characters count twice."""
    if row.isascii():
        return column
    return column + sum(1 for _ in _ASTRAL.finditer(row, 0, column))
