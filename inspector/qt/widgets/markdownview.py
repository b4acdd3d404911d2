"""Markdown for reading, laid out by ourselves: nothing in it can load a file or be clicked."""

from __future__ import annotations

import time
from collections.abc import Iterator

from PySide6.QtCore import QTimer
from PySide6.QtGui import QFont, QTextBlockFormat, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QTextEdit, QVBoxLayout, QWidget

from inspector.base.plaintext import visible
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, SPACE_4, SPACE_6, Theme, Tone
from inspector.qt.widgets.labels import Muted
from inspector.qt.widgets.markdownlines import Block, BlockKind, Style, blocks, spans

MOST_CHARACTERS = 96 * 1024
MOST_LINES = 10_000
MOST_BLOCKS = 3_000
_TURN_S = 0.008
_HEADING_SIZES = (1.6, 1.35, 1.18, 1.08, 1.0, 1.0)


class MarkdownView(QWidget):
    """A read-only page, filled in short turns, so that a long text does not block the window."""

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._text = ""
        self._is_cut = False
        self._blocks: Iterator[Block] = iter(())
        self._count = 0
        self._place = 0
        self._formats: dict[tuple[Style, BlockKind, int], QTextCharFormat] = {}
        self.page = QTextEdit()
        self.page.setReadOnly(True)
        self.page.setUndoRedoEnabled(False)
        self.page.setAccessibleName(name)
        self.page.setFrameShape(QTextEdit.Shape.NoFrame)
        self.page.document().setDocumentMargin(SPACE_3)
        self._note = Muted(theme)
        self._note.setContentsMargins(SPACE_3, SPACE_1, SPACE_3, SPACE_1)
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._add_some)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.page, 1)
        column.addWidget(self._note)
        self.setFocusProxy(self.page)
        theme.changed.connect(self._on_theme_changed)
        self._begin()

    @property
    def is_filling(self) -> bool:
        return self._timer.isActive()

    def set_text(self, text: str, *, stays: bool = False) -> None:
        """Set the text. With `stays`, it is a new version, and the page must not move."""
        if stays and text == self._text:
            return
        self._text = text
        self._begin(stays=stays)

    def clear(self) -> None:
        self.set_text("")

    # --------------------------------------------------------------

    def _begin(self, *, stays: bool = False) -> None:
        place = self._place or self.page.verticalScrollBar().value()
        self._set_place(place if stays else 0)
        self.page.clear()
        self._count = 0
        head = "\n".join(self._text[:MOST_CHARACTERS].split("\n", MOST_LINES)[:MOST_LINES])
        self._is_cut = len(head) < len(self._text)
        self._blocks = blocks(visible(head))
        self._tell(is_cut=self._is_cut)
        self._add_some()

    def _add_some(self) -> None:
        """Add blocks for one turn. The first one runs at once: a short text does not flicker."""
        until = time.perf_counter() + _TURN_S
        cursor = QTextCursor(self.page.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        is_done = False
        while time.perf_counter() < until:
            block = next(self._blocks, None)
            if block is None or self._count >= MOST_BLOCKS:
                self._tell(is_cut=block is not None or self._is_cut)
                is_done = True
                break
            self._add(cursor, block)
        cursor.endEditBlock()
        self._stay_put()
        self._go_back(is_done=is_done)
        if is_done:
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()

    def _stay_put(self) -> None:
        """Reset the page's cursor, which would follow the added text and scroll the view."""
        own = self.page.textCursor()
        if not own.hasSelection() and own.position():
            own.setPosition(0)
            self.page.setTextCursor(own)

    def _set_place(self, place: int) -> None:
        """Set the scroll position to restore; nothing is painted until the page is long enough."""
        self._place = place
        self.page.setUpdatesEnabled(not place)

    def _go_back(self, *, is_done: bool) -> None:
        bar = self.page.verticalScrollBar()
        if self._place and (is_done or bar.maximum() >= self._place):
            bar.setValue(self._place)
            self._set_place(0)

    def _tell(self, *, is_cut: bool) -> None:
        self._note.setText("Only its beginning is laid out. Text has all of it." if is_cut else "")
        self._note.setVisible(is_cut)

    def _add(self, cursor: QTextCursor, block: Block) -> None:
        place = self._block_format(block)
        if self._count:
            cursor.insertBlock(place)
        else:
            cursor.setBlockFormat(place)
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

    def _block_format(self, block: Block) -> QTextBlockFormat:
        place = QTextBlockFormat()
        place.setBottomMargin(SPACE_2)
        match block.kind:
            case BlockKind.HEADING:
                place.setTopMargin(SPACE_4 if self._count else 0)
            case BlockKind.ITEM:
                place.setBottomMargin(SPACE_1)
                place.setLeftMargin(SPACE_4 * (block.level + 1))
                place.setTextIndent(-SPACE_4 + 2)
            case BlockKind.QUOTE:
                place.setLeftMargin(SPACE_6 * block.level)
            case BlockKind.CODE:
                place.setBackground(self._theme.color("sunken"))
                place.setLeftMargin(SPACE_2)
                place.setNonBreakableLines(False)
        return place

    def _char_format(self, style: Style, block: Block) -> QTextCharFormat:
        """Return a format, created once per theme: a hostile paragraph has thousands of spans."""
        key = (style, block.kind, block.level)
        if key not in self._formats:
            self._formats[key] = self._make_format(style, block)
        return self._formats[key]

    def _make_format(self, style: Style, block: Block) -> QTextCharFormat:
        form = QTextCharFormat()
        is_heading = block.kind is BlockKind.HEADING
        scale = _HEADING_SIZES[block.level - 1] if is_heading else 1.0
        font = self._theme.mono_font(0.95) if Style.CODE in style else self._theme.ui_font(scale)
        font.setWeight(QFont.Weight.DemiBold if is_heading or Style.STRONG in style else font.weight())
        font.setItalic(Style.EMPHASIS in style)
        font.setStrikeOut(Style.STRUCK in style)
        form.setFont(font)
        is_quiet = Style.MUTED in style or block.kind is BlockKind.QUOTE
        tone: Tone = "accent" if Style.LINK in style else "muted" if is_quiet else "text"
        form.setForeground(self._theme.color(tone))
        return form

    def _on_theme_changed(self) -> None:
        self._formats.clear()
        if self._text:
            self._begin(stays=True)
