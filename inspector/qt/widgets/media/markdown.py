"""Markdown subset for reading: parser and view of headings, lists, quotes, code and tables.

The text is untrusted, so Qt's parser is not used: it takes three seconds for 16 KB of table rows and
loads the images that a text names. This one takes linear time and supports no HTML, images or clickable
links.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, Flag, auto

from PySide6.QtCore import QTimer
from PySide6.QtGui import QFont, QTextBlockFormat, QTextCharFormat, QTextCursor, QTextTableFormat
from PySide6.QtWidgets import QTextEdit, QWidget

from inspector.base.plain_text import visible
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, SPACE_4, SPACE_6, Theme, Tone
from inspector.qt.widgets.layout import vbox
from inspector.qt.widgets.text.labels import MutedLabel

MAX_CHARACTERS = 96 * 1024
MAX_LINES = 10_000
MAX_BLOCKS = 3_000
MAX_PARAGRAPH_SIZE = 2_000  # characters; longer paragraphs are split
_MAX_DEPTH = 8
_MAX_URL_LENGTH = 120
_SLICE_S = 0.008
_HEADING_SIZES = (1.6, 1.35, 1.18, 1.08, 1.0, 1.0)


class BlockKind(Enum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    QUOTE = "quote"
    CODE = "code"
    TABLE = "table"
    RULE = "rule"


class Style(Flag):
    PLAIN = 0
    STRONG = auto()
    EMPHASIS = auto()
    CODE = auto()
    STRUCK = auto()
    LINK = auto()
    MUTED = auto()


@dataclass(frozen=True, slots=True)
class Block:
    """A block to lay out. `level`: heading level (1 to 6), or depth of an item or quote."""

    kind: BlockKind
    text: str
    level: int = 0
    marker: str = ""  # an item's bullet or number
    rows: tuple[tuple[str, ...], ...] = ()  # of a table; the first one is its header


@dataclass(frozen=True, slots=True)
class Span:
    text: str
    style: Style = Style.PLAIN


class MarkdownView(QWidget):
    """A read-only page, filled in time slices, so that a long text does not block the window."""

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._text = ""
        self._is_cut = False
        self._blocks: Iterator[Block] = iter(())
        self._count = 0
        self._position = 0
        self._formats: dict[tuple[Style, BlockKind, int], QTextCharFormat] = {}
        self.page = QTextEdit()
        self.page.setReadOnly(True)
        self.page.setUndoRedoEnabled(False)
        self.page.setAccessibleName(name)
        self.page.setFrameShape(QTextEdit.Shape.NoFrame)
        self.page.document().setDocumentMargin(SPACE_3)
        self._note = MutedLabel(theme)
        self._note.setContentsMargins(SPACE_3, SPACE_1, SPACE_3, SPACE_1)
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._add_some)
        vbox(self, (self.page, 1), self._note, gap=0)
        self.setFocusProxy(self.page)
        theme.changed.connect(self._on_theme_changed)
        self._begin()

    @property
    def is_filling(self) -> bool:
        return self._timer.isActive()

    def set_text(self, text: str, *, keeps_position: bool = False) -> None:
        """Set the text. With `keeps_position`, the scroll position stays, for a new version of a text."""
        if keeps_position and text == self._text:
            return
        self._text = text
        self._begin(keeps_position=keeps_position)

    def clear(self) -> None:
        self.set_text("")

    def _begin(self, *, keeps_position: bool = False) -> None:
        position = self._position or self.page.verticalScrollBar().value()
        self._hold_position(position if keeps_position else 0)
        self.page.clear()
        self._count = 0
        head = "\n".join(self._text[:MAX_CHARACTERS].split("\n", MAX_LINES)[:MAX_LINES])
        self._is_cut = len(head) < len(self._text)
        self._blocks = blocks(visible(head))
        self._report(is_cut=self._is_cut)
        self._add_some()

    def _add_some(self) -> None:
        """Add blocks for one time slice. The first runs at once: a short text does not flicker."""
        until = time.perf_counter() + _SLICE_S
        cursor = QTextCursor(self.page.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        is_done = False
        while time.perf_counter() < until:
            block = next(self._blocks, None)
            if block is None or self._count >= MAX_BLOCKS:
                self._report(is_cut=block is not None or self._is_cut)
                is_done = True
                break
            self._add(cursor, block)
        cursor.endEditBlock()
        self._reset_cursor()
        self._restore_position(is_done=is_done)
        if is_done:
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()

    def _reset_cursor(self) -> None:
        """Reset the page's cursor, which would follow the added text and scroll the view."""
        cursor = self.page.textCursor()
        if not cursor.hasSelection() and cursor.position():
            cursor.setPosition(0)
            self.page.setTextCursor(cursor)

    def _hold_position(self, position: int) -> None:
        """Set the scroll position to restore; nothing is painted until the page is long enough."""
        self._position = position
        self.page.setUpdatesEnabled(not position)

    def _restore_position(self, *, is_done: bool) -> None:
        bar = self.page.verticalScrollBar()
        if self._position and (is_done or bar.maximum() >= self._position):
            bar.setValue(self._position)
            self._hold_position(0)

    def _report(self, *, is_cut: bool) -> None:
        self._note.setText("Only the beginning is rendered. See Text for the full content." if is_cut else "")
        self._note.setVisible(is_cut)

    def _add(self, cursor: QTextCursor, block: Block) -> None:
        if block.rows:
            self._count += len(block.rows) * len(block.rows[0])
            self._add_table(cursor, block)
            return
        format = self._block_format(block)
        if self._count:
            cursor.insertBlock(format)
        else:
            cursor.setBlockFormat(format)
        self._count += 1
        if block.kind is BlockKind.CODE:
            cursor.insertText(block.text, self._char_format(Style.CODE, block))
            return
        if block.kind is BlockKind.RULE:
            cursor.insertText("─" * 24, self._char_format(Style.MUTED, block))
            return
        if block.marker:
            cursor.insertText(f"{block.marker}\u00a0\u00a0", self._char_format(Style.MUTED, block))
        for span in spans(block.text):
            cursor.insertText(span.text, self._char_format(span.style, block))

    def _add_table(self, cursor: QTextCursor, block: Block) -> None:
        format = QTextTableFormat()
        format.setCellPadding(SPACE_1)
        format.setCellSpacing(0)
        format.setBorderCollapse(True)
        format.setBorder(1)
        format.setBorderBrush(self._theme.color("line"))
        format.setBottomMargin(SPACE_2)
        table = cursor.insertTable(len(block.rows), len(block.rows[0]), format)
        for row, cells in enumerate(block.rows):
            for column, cell in enumerate(cells):
                inside = table.cellAt(row, column).firstCursorPosition()
                for span in spans(cell):
                    style = span.style | Style.STRONG if row == 0 else span.style
                    inside.insertText(span.text, self._char_format(style, block))
        cursor.movePosition(QTextCursor.MoveOperation.End)

    def _block_format(self, block: Block) -> QTextBlockFormat:
        format = QTextBlockFormat()
        format.setBottomMargin(SPACE_2)
        match block.kind:
            case BlockKind.HEADING:
                format.setTopMargin(SPACE_4 if self._count else 0)
            case BlockKind.ITEM:
                format.setBottomMargin(SPACE_1)
                format.setLeftMargin(SPACE_4 * (block.level + 1))
                format.setTextIndent(-SPACE_4 + 2)
            case BlockKind.QUOTE:
                format.setLeftMargin(SPACE_6 * block.level)
            case BlockKind.CODE:
                format.setBackground(self._theme.color("sunken"))
                format.setLeftMargin(SPACE_2)
                format.setNonBreakableLines(False)
        return format

    def _char_format(self, style: Style, block: Block) -> QTextCharFormat:
        """Return a format, cached per theme: a hostile paragraph has thousands of spans."""
        key = (style, block.kind, block.level)
        if key not in self._formats:
            self._formats[key] = self._make_format(style, block)
        return self._formats[key]

    def _make_format(self, style: Style, block: Block) -> QTextCharFormat:
        format = QTextCharFormat()
        is_heading = block.kind is BlockKind.HEADING
        scale = _HEADING_SIZES[block.level - 1] if is_heading else 1.0
        font = self._theme.mono_font(0.95) if Style.CODE in style else self._theme.ui_font(scale)
        font.setWeight(QFont.Weight.DemiBold if is_heading or Style.STRONG in style else font.weight())
        font.setItalic(Style.EMPHASIS in style)
        font.setStrikeOut(Style.STRUCK in style)
        format.setFont(font)
        is_quiet = Style.MUTED in style or block.kind is BlockKind.QUOTE
        tone: Tone = "muted" if is_quiet else "text"  # a link cannot be clicked, and does not look so
        format.setForeground(self._theme.color(tone))
        return format

    def _on_theme_changed(self) -> None:
        self._formats.clear()
        if self._text:
            self._begin(keeps_position=True)


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$", re.DOTALL)
_RULE = re.compile(r" {0,3}(?:-[ \t]*){3,}$|^ {0,3}(?:\*[ \t]*){3,}$|^ {0,3}(?:_[ \t]*){3,}$")
_ITEM = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)])[ \t]+(.*)", re.DOTALL)
_QUOTE = re.compile(r" {0,3}((?:>[ \t]?)+)(.*)", re.DOTALL)
_TABLE = re.compile(r"[ \t]*\|")
_SEPARATOR = re.compile(r"[ \t]*\|[-|: \t]*-[-|: \t]*$")
_CELL_END = re.compile(r"(?<!\\)\|")
_MAX_CELLS = 600  # laying out a table takes a millisecond per 30 cells; larger ones are shown as written
_MAX_TABLE_SIZE = 16 * 1024
_CHECKED = {"[ ] ": "☐", "[x] ": "☑", "[X] ": "☑"}


def blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a text lazily."""
    return _Reader(text).blocks()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._kind = BlockKind.PARAGRAPH
        self._level = 0
        self._marker = ""
        self._lines: list[str] = []

    def blocks(self) -> Iterator[Block]:
        fence = ""
        for line in _lines(self._text):
            if not line and not fence:
                if self._lines:  # checked here: there may be a hundred thousand empty lines
                    yield from self._finish()
                continue
            opened = _FENCE.match(line)
            if fence:
                if opened and opened[1].startswith(fence):
                    yield from self._finish()
                    fence = ""
                else:
                    self._lines.append(line)
            elif opened:
                yield from self._finish()
                fence = opened[1]
                self._begin(BlockKind.CODE, marker=fence)
            else:
                yield from self._line(line)
        yield from self._finish()

    def _line(self, line: str) -> Iterator[Block]:
        if line.isspace():
            yield from self._finish()
        elif heading := _HEADING.match(line):
            yield from self._finish()
            yield Block(BlockKind.HEADING, (heading[2] or "").rstrip(" #"), len(heading[1]))
        elif _RULE.match(line):
            yield from self._finish()
            yield Block(BlockKind.RULE, "")
        elif quote := _QUOTE.match(line):
            yield from self._continue(BlockKind.QUOTE, min(quote[1].count(">"), _MAX_DEPTH), quote[2])
        elif item := _ITEM.match(line):
            yield from self._finish()
            self._begin(BlockKind.ITEM, min(len(item[1].expandtabs(4)) // 2, _MAX_DEPTH), item[2])
            self._lines.append(item[3])
        elif self._may_begin_code and (_TABLE.match(line) or line.startswith(("    ", "\t"))):
            yield from self._continue(BlockKind.CODE, 0, line)
        else:
            yield from self._paragraph(line)

    @property
    def _may_begin_code(self) -> bool:
        """True unless in a paragraph, which a table or indented line does not interrupt."""
        return not self._lines or self._kind is BlockKind.CODE

    def _paragraph(self, line: str) -> Iterator[Block]:
        """Add a line to the current block; code begun by a table ends here."""
        if self._kind is BlockKind.CODE:
            yield from self._finish()
        self._lines.append(line)

    def _continue(self, kind: BlockKind, level: int, text: str) -> Iterator[Block]:
        if (self._kind, self._level) != (kind, level):
            yield from self._finish()
            self._begin(kind, level)
        self._lines.append(text)

    def _begin(self, kind: BlockKind, level: int = 0, marker: str = "") -> None:
        self._kind, self._level, self._marker = kind, level, marker

    def _finish(self) -> Iterator[Block]:
        lines, self._lines = self._lines, []
        kind, level, marker = self._kind, self._level, self._marker
        self._begin(BlockKind.PARAGRAPH)
        if kind is BlockKind.CODE and not marker and (rows := _table_rows(lines)):
            yield Block(BlockKind.TABLE, "", rows=rows)
        elif kind is BlockKind.CODE:
            yield from (Block(kind, piece) for piece in _code_pieces(lines))
        elif lines:
            text = _joined(lines)
            if kind is BlockKind.ITEM:
                box = _CHECKED.get(text[:4], "")
                marker, text = box or _bullet(marker), text[4:] if box else text
            yield from _pieces(Block(kind, text, level, marker))


def _table_rows(lines: list[str]) -> tuple[tuple[str, ...], ...]:
    """Return the rows of a table, the header first; none if the lines are no table, or too large a one."""
    if len(lines) < 2 or sum(map(len, lines)) > _MAX_TABLE_SIZE or not _SEPARATOR.match(lines[1]):
        return ()
    rows = [_cells(line) for line in (lines[0], *lines[2:])]
    width = len(rows[0])
    if width != len(_cells(lines[1])) or width * len(rows) > _MAX_CELLS:
        return ()
    return tuple((*row[:width], *("",) * (width - len(row))) for row in rows)


def _cells(line: str) -> tuple[str, ...]:
    inner = line.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return tuple(cell.strip() for cell in _CELL_END.split(inner))


def _lines(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield text[start:end].removesuffix("\r")
        start = end + 1


def _joined(lines: list[str]) -> str:
    """Join a paragraph's lines: only two spaces or a backslash make a line break."""
    parts: list[str] = []
    for line in lines:
        is_broken = line.endswith(("  ", "\\"))
        parts.append(line.strip().removesuffix("\\") + ("\u2028" if is_broken else " "))
    return "".join(parts).rstrip(" \u2028")


def _bullet(marker: str) -> str:
    return "•" if marker in "-*+" else marker


def _pieces(block: Block) -> Iterator[Block]:
    for start in range(0, max(len(block.text), 1), MAX_PARAGRAPH_SIZE):
        text = block.text[start : start + MAX_PARAGRAPH_SIZE]
        yield Block(block.kind, text, block.level, "" if start else block.marker)


def _code_pieces(lines: list[str]) -> Iterator[str]:
    """Yield code with its lines kept; a long one is split into several blocks."""
    piece: list[str] = []
    length = 0
    for line in lines:
        for start in range(0, max(len(line), 1), MAX_PARAGRAPH_SIZE):
            part = line[start : start + MAX_PARAGRAPH_SIZE]
            if length + len(part) > MAX_PARAGRAPH_SIZE and piece:
                yield "\u2028".join(piece)
                piece, length = [], 0
            piece.append(part)
            length += len(part) + 1
    if piece:
        yield "\u2028".join(piece)


# Every repetition is bounded: each position is visited a limited number of times.
_INLINE = re.compile(
    r"\\(?P<escaped>[\\`*_{}\[\]()#+\-.!~<>|])"
    r"|(?P<ticks>`{1,3})(?P<code>[^`]{1,500})(?P=ticks)"
    r"|(?P<bang>!?)\[(?P<text>[^\[\]]{0,300})\]\((?P<url>[^()\s]{0,1000})(?:\s[^()]{0,200})?\)"
    r"|<(?P<auto>(?:https?|mailto):[^<>\s]{1,1000})>"
    r"|(?P<strong>\*\*|__)(?=\S)(?P<strongly>[^*_]{1,300})(?<=\S)(?P=strong)"
    r"|~~(?=\S)(?P<struck>[^~]{1,300})(?<=\S)~~"
    r"|(?<![*\w])\*(?=[^\s*])(?P<stars>[^*]{1,300})(?<=\S)\*(?!\*)"
    r"|(?<![_\w])_(?=[^\s_])(?P<lines>[^_]{1,300})(?<=\S)_(?![_\w])"
)


def spans(text: str) -> Iterator[Span]:
    """Yield a block's text with its styles. URLs of links and images are written out."""
    end = 0
    for match in _INLINE.finditer(text):
        if match.start() > end:
            yield Span(text[end : match.start()])
        yield from _styled(match)
        end = match.end()
    if end < len(text):
        yield Span(text[end:])


def _styled(match: re.Match[str]) -> Iterator[Span]:
    group = match.lastgroup
    if group == "escaped":
        yield Span(match["escaped"])
    elif match["code"] is not None:
        yield Span(match["code"], Style.CODE)
    elif match["url"] is not None:
        yield from _link(match["text"], match["url"], is_image=bool(match["bang"]))
    elif match["auto"] is not None:
        yield Span(match["auto"], Style.LINK)
    elif match["strongly"] is not None:
        yield from _nested(match["strongly"], Style.STRONG)
    elif match["struck"] is not None:
        yield from _nested(match["struck"], Style.STRUCK)
    else:
        yield from _nested(match["stars"] or match["lines"] or "", Style.EMPHASIS)


def _nested(text: str, style: Style) -> Iterator[Span]:
    """Yield the text between two marks; it contains no such marks, so nesting is shallow."""
    for span in spans(text):
        yield Span(span.text, span.style | style)


def _link(text: str, url: str, *, is_image: bool) -> Iterator[Span]:
    """Yield a link's text and URL: the text alone could mislead."""
    shown = url if len(url) <= _MAX_URL_LENGTH else f"{url[: _MAX_URL_LENGTH - 1]}…"
    if is_image:
        yield Span(f"[image: {text}]" if text else "[image]", Style.MUTED)
    elif text and text != url:
        yield Span(text, Style.LINK)
    else:
        yield Span(shown, Style.LINK)
        return
    yield Span(f" ({shown})", Style.MUTED)
