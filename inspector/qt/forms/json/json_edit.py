"""JSON text editor: highlighting, gutter, folding, bracket matching, marks, completion.

The work per key press is bounded by what is visible, so a text of 1 MB stays responsive. For that reason
QSyntaxHighlighter is not used: it visits every line before the first paint.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QRect, Qt, QTimer, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextLayout,
)
from PySide6.QtWidgets import QTextEdit, QWidget

from inspector.qt.forms.json import gutter
from inspector.qt.forms.json.completion import Completer, CompletionPopup
from inspector.qt.forms.json.gutter import Folding, Gutter
from inspector.qt.theme import SPACE_2, Theme
from inspector.qt.widgets.code.code_edit import Kind, ends_in_string, qt_column, scan
from inspector.qt.widgets.inputs.controls import is_completion_key
from inspector.qt.widgets.text.text_box import CONTINUATION_MARK, TextBox, row_offset

_KINDS: tuple[Kind, ...] = ("key", "string", "number", "literal")
_MAX_ROWS_BACK = 200
_SCHEMES = 1_000_000
_MAX_MARKED = 200
_MAX_LINES_SEARCHED = 5000
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_STEP = "  "
_CLOSING = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True)
class Mark:
    """A error marked at a range of the text."""

    start: int
    end: int
    text: str


class JsonEdit(TextBox):
    """A JSON text editor.

    Signals:
        edited: The user changed the text; not emitted by `set_text`, coloring or folding.
    """

    edited = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme.mono_font(), parent)
        self._theme = theme
        self.is_quiet = False  # True while the text changes by code, not by the user
        self._marks: list[tuple[int, int]] = []  # in rows, Qt positions
        self._matches: list[tuple[int, int]] = []
        self._current_match = -1
        self._colors = JsonHighlighter(theme)
        self._has_old_colors = False
        self.gutter = Gutter(self, theme)
        self.folding = Folding(self)
        self.completion = CompletionPopup(self, theme)
        self.fill_height()
        self.setLineWrapMode(self.LineWrapMode.NoWrap)
        self._color_soon = QTimer(self, singleShot=True, interval=0)
        self._color_soon.timeout.connect(self._color_visible)
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        self.textChanged.connect(self._on_text_changed)
        self.blockCountChanged.connect(self.fit_gutter)
        self.updateRequest.connect(self.gutter.follow)
        self.cursorPositionChanged.connect(self._on_cursor_moved)
        theme.changed.connect(self._on_theme_changed)

    def set_text(self, text: str) -> bool:
        self.is_quiet = True
        is_exact = super().set_text(text)
        self.is_quiet = False
        self.set_marks(())
        self._color_soon.start()
        return is_exact

    def set_completer(self, completer: Completer) -> None:
        """Set the function called with the text and the offset to get completions."""
        self.completion.completer = completer

    def cursor_at(self, offset: int) -> QTextCursor:
        """Return a cursor at a character offset of the text."""
        rows = self.rows()
        cursor = self.textCursor()
        cursor.setPosition(qt_column(rows, row_offset(rows, offset)))
        return cursor

    def set_marks(self, marks: Sequence[Mark]) -> None:
        """Underline errors and describe them in the gutter."""
        named: dict[int, str] = {}
        self._marks = []
        for mark in marks[:_MAX_MARKED]:
            start, end = self.cursor_at(mark.start), self.cursor_at(mark.end)
            self._marks.append((start.position(), end.position()))
            named.setdefault(start.blockNumber(), mark.text)
        self.gutter.set_marks(named)
        self._select_extra()

    def go_to(self, offset: int) -> None:
        """Bring a character offset into view, unfolded and focused."""
        self._move_to(self.cursor_at(offset))
        self.setFocus()

    def shown_text(self) -> str:
        """Return the displayed rows, for searching."""
        return self.rows()

    def set_matches(self, matches: list[tuple[int, int]], current: int) -> None:
        """Highlight search matches in `shown_text()` and bring the current one into view."""
        self._matches, self._current_match = matches, current
        if 0 <= current < len(matches):
            cursor = self.textCursor()
            cursor.setPosition(qt_column(self.rows(), matches[current][0]))
            self._move_to(cursor)
        self._select_extra()

    def _move_to(self, cursor: QTextCursor) -> None:
        self.folding.unfold_around(cursor.block())
        self.setTextCursor(cursor)
        self.centerCursor()

    def _select_extra(self) -> None:
        """Highlight marks, matches and brackets."""
        errors = [self._underlined(start, end) for start, end in self._marks]
        self.setExtraSelections([*errors, *self._match_selections(), *self._bracket_selections()])

    def _underlined(self, start: int, end: int) -> QTextEdit.ExtraSelection:
        form = self._background("error", 0.10)
        form.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
        form.setUnderlineColor(self._theme.color("error"))
        last = self.document().characterCount() - 1
        start = min(start, max(0, last - 1))  # at the very end, underline the last character
        return self._selection(start, min(max(end, start + 1), last), form)

    def _match_selections(self) -> Iterator[QTextEdit.ExtraSelection]:
        """Yield the matches nearest to the current one: there may be thousands."""
        first = max(0, self._current_match - _MAX_MARKED // 2)
        rows = self.rows() if self._matches else ""
        for position, (start, end) in enumerate(self._matches[first : first + _MAX_MARKED], start=first):
            form = self._background("accent", 0.45 if position == self._current_match else 0.2)
            yield self._selection(qt_column(rows, start), qt_column(rows, end), form)

    def _bracket_selections(self) -> list[QTextEdit.ExtraSelection]:
        """Highlight the bracket beside the cursor and its partner."""
        cursor = self.textCursor()
        line, column = cursor.block().text(), cursor.positionInBlock()
        found = dict(gutter.brackets(line)) if line.isascii() else {}
        at = column if column in found else column - 1
        if at not in found:
            return []
        forward = found[at] in "{["
        position = gutter.matching_bracket(
            line, at, self._lines_from(cursor.block(), forward), forward=forward
        )
        if position is None:
            return []
        other = self.document().findBlockByNumber(
            cursor.blockNumber() + (position[0] if forward else -position[0])
        )
        starts = (cursor.block().position() + at, other.position() + position[1])
        return [self._selection(start, start + 1, self._background("accent", 0.25)) for start in starts]

    def _lines_from(self, block: QTextBlock, forward: bool) -> Iterator[str]:
        for _ in range(_MAX_LINES_SEARCHED):
            block = block.next() if forward else block.previous()
            if not block.isValid():
                return
            yield block.text()

    def _background(self, tone: str, share: float) -> QTextCharFormat:
        form = QTextCharFormat()
        form.setBackground(self._theme.tokens.tint("error" if tone == "error" else "accent", share))
        return form

    def _selection(self, start: int, end: int, form: QTextCharFormat) -> QTextEdit.ExtraSelection:
        selection = QTextEdit.ExtraSelection()
        cursor = QTextCursor(self.document())
        cursor.setPosition(start)
        cursor.setPosition(max(start, end), QTextCursor.MoveMode.KeepAnchor)
        selection.cursor, selection.format = cursor, form
        return selection

    def visible_blocks(self) -> Iterator[tuple[QTextBlock, QRect]]:
        """Yield the lines in view with their rectangles."""
        block = self.firstVisibleBlock()
        box = self.blockBoundingGeometry(block).translated(self.contentOffset()).toRect()
        while block.isValid() and box.top() <= self.viewport().height():
            yield block, box
            # By lines, not blocks: folded blocks have no lines, and there may be many.
            block = self.document().findBlockByLineNumber(block.firstLineNumber() + block.lineCount())
            box = QRect(
                box.left(), box.bottom() + 1, box.width(), round(self.blockBoundingRect(block).height())
            )

    def refresh(self) -> None:
        """Repaint and recolor the visible part."""
        self.viewport().update()
        self.gutter.update()
        self._color_soon.start()

    def _color_visible(self) -> None:
        self.is_quiet = True
        for block, _ in list(self.visible_blocks()):
            self._colors.color(block)
        self.is_quiet = False

    def _on_scrolled(self) -> None:
        self.completion.close()
        self._color_soon.start()

    def _on_cursor_moved(self) -> None:
        block = self.textCursor().block()
        if not block.isVisible():
            self.folding.unfold_around(block)
        self._select_extra()

    def _on_text_changed(self) -> None:
        if self.is_quiet:
            return
        self._color_soon.start()
        if self._marks:
            self.set_marks(())
        self.edited.emit()

    def _on_theme_changed(self) -> None:
        """Set the colors; those of a hidden editor are set when it is shown."""
        self._has_old_colors = not self.isVisible()
        if self._has_old_colors:
            return
        self._colors = JsonHighlighter(self._theme)
        self.refresh()
        self._select_extra()

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and self.completion.handle_key(event):
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        with_control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if is_completion_key(event):
            self.completion.show_suggestions()
        elif event.key() in _ENTER and not with_control:
            self._break_line()
        else:
            if unindents(event.text(), self.textCursor()):
                self._unindent()
            super().keyPressEvent(event)
            self.completion.on_typed(event.text())

    def _break_line(self) -> None:
        cursor = self.textCursor()
        between, after = indent_after(cursor)
        cursor.beginEditBlock()
        cursor.insertText(f"\n{between}")
        position = cursor.position()
        if after is not None:
            cursor.insertText(f"\n{after}")
            cursor.setPosition(position)
        cursor.endEditBlock()
        self.setTextCursor(cursor)
        self.ensureCursorVisible()

    def _unindent(self) -> None:
        cursor = self.textCursor()
        for _ in range(2):
            cursor.deletePreviousChar()

    def fit_gutter(self) -> None:
        width = self.gutter.preferred_width()
        self.setViewportMargins(width, 0, 0, 0)
        inside = self.contentsRect()
        self.gutter.setGeometry(inside.left(), inside.top(), width, inside.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self.viewport())
        painter.setPen(self._theme.color("muted"))
        for block, box in self.visible_blocks():
            if self.folding.is_folded(block):
                right = block.layout().lineAt(0).naturalTextRect().right() + self.contentOffset().x()
                painter.drawText(round(right) + SPACE_2, box.top() + self.fontMetrics().ascent(), "⋯")
        painter.end()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit_gutter()
        self._color_soon.start()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._has_old_colors:
            self._on_theme_changed()
        self._color_soon.start()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.completion.close()


class JsonHighlighter:
    """Highlighting in one theme's colors. Lines already colored and unchanged are skipped."""

    def __init__(self, theme: Theme) -> None:
        # A block remembers the revision and the scheme it was colored for.
        self._offset = _SCHEMES if theme.tokens.name == "dark" else 0
        self._formats: dict[Kind, QTextCharFormat] = {}
        for kind in _KINDS:
            self._formats[kind] = QTextCharFormat()
            self._formats[kind].setForeground(theme.color(kind))

    def color(self, block: QTextBlock) -> None:
        state = self._offset + block.revision() % _SCHEMES
        if block.userState() != state:
            block.layout().setFormats(self._ranges(block))
            block.setUserState(state)

    def _ranges(self, block: QTextBlock) -> list[QTextLayout.FormatRange]:
        row = block.text()
        ranges = []
        for start, length, kind in scan(row, _starts_in_string(block))[0]:
            stretch = QTextLayout.FormatRange()
            left = qt_column(row, start)
            stretch.start, stretch.length = left, qt_column(row, start + length) - left
            stretch.format = self._formats[kind]
            ranges.append(stretch)
        return ranges


def _starts_in_string(block: QTextBlock) -> bool:
    """Return whether a row of a long line begins inside a string; looks back a limited way."""
    rows: list[str] = []
    before = block.previous()
    while before.isValid() and before.text().endswith(CONTINUATION_MARK) and len(rows) < _MAX_ROWS_BACK:
        rows.append(before.text())
        before = before.previous()
    is_open = False
    for row in reversed(rows):
        is_open = ends_in_string(row, is_open)
    return is_open


def indent_after(cursor: QTextCursor) -> tuple[str, str | None]:
    """Return the indent of a new line, and of a second one when between brackets."""
    line, column = cursor.block().text(), cursor.positionInBlock()
    margin = line[: len(line) - len(line.lstrip(" "))][:column]
    before, after = line[:column].rstrip(), line[column:].lstrip()
    if before[-1:] not in _CLOSING or not before:
        return margin, None
    return margin + _STEP, margin if after.startswith(_CLOSING[before[-1]]) else None


def unindents(text: str, cursor: QTextCursor) -> bool:
    """Return whether a key closes the enclosing bracket, which then moves one step left."""
    before = cursor.block().text()[: cursor.positionInBlock()]
    return text in ("}", "]") and before.endswith(_STEP) and not before.strip() and not cursor.hasSelection()
