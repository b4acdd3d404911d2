"""Gutter of the JSON editor: line numbers, folds and error marks; and bracket matching.

Folding hides lines and leaves the text unchanged. Brackets are matched line by line, without parsing
the document.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QHelpEvent, QMouseEvent, QPainter, QPaintEvent, QPolygonF, QTextBlock
from PySide6.QtWidgets import QToolTip, QWidget

from inspector.qt.theme import SPACE_1, SPACE_2, Theme
from inspector.qt.widgets.text.labels import plain_tooltip

if TYPE_CHECKING:
    from inspector.qt.forms.json.json_edit import JsonEdit

_FOLD_WIDTH = 16
_MARK_WIDTH = 12
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?')
_OPENS = re.compile(r"[{\[]\s*$")
_PAIRS = {"{": "}", "[": "]"}


class Gutter(QWidget):
    """The gutter of a `JsonEdit`. A click on a triangle folds or unfolds."""

    def __init__(self, edit: JsonEdit, theme: Theme) -> None:
        super().__init__(edit)
        self._edit = edit
        self._theme = theme
        self._marks: Mapping[int, str] = {}

    def set_marks(self, marks: Mapping[int, str]) -> None:
        """Set the errors by line number, from 0."""
        self._marks = marks
        self.update()

    def marks(self) -> Mapping[int, str]:
        return self._marks

    def preferred_width(self) -> int:
        digits = max(2, len(str(self._edit.blockCount())))
        return _MARK_WIDTH + digits * self._edit.fontMetrics().horizontalAdvance("0") + _FOLD_WIDTH

    def sizeHint(self) -> QSize:
        return QSize(self.preferred_width(), 0)

    def follow(self, rect: QRect, dy: int) -> None:
        """Follow a scroll or repaint of the text."""
        if dy:
            self.scroll(0, dy)
        else:
            self.update(0, rect.y(), self.width(), rect.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._edit.font())
        for block, box in self._edit.visible_blocks():
            line = QRect(0, box.top(), self.width() - _FOLD_WIDTH, self._edit.fontMetrics().height())
            painter.setPen(self._theme.tokens.tint("muted", 0.7))
            painter.drawText(line, Qt.AlignmentFlag.AlignRight.value, str(block.blockNumber() + 1))
            if block.blockNumber() in self._marks:
                self._paint_mark(painter, line)
            if self._edit.folding.can_fold(block):
                self._paint_fold(painter, line, self._edit.folding.is_folded(block))
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        for block, box in self._edit.visible_blocks():
            if box.top() <= event.position().y() < box.bottom() + 1 and self._edit.folding.can_fold(block):
                self._edit.folding.toggle(block)
                return

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), plain_tooltip(self._text_at(event.pos().y())), self)
            return True
        return super().event(event)

    def _text_at(self, y: int) -> str:
        for block, box in self._edit.visible_blocks():
            if box.top() <= y <= box.bottom():
                return self._marks.get(block.blockNumber(), "")
        return ""

    def _paint_mark(self, painter: QPainter, line: QRect) -> None:
        """Paint a disc with a notch, so that color alone does not distinguish it from a number."""
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.color("error"))
        size = _MARK_WIDTH - SPACE_1
        painter.drawEllipse(QRectF(SPACE_1 / 2, line.center().y() - size / 2, size, size))
        painter.setBrush(self._theme.color("surface"))
        painter.drawRect(
            QRectF(SPACE_1 / 2 + size / 2 - 0.75, line.center().y() - size / 4 - 0.5, 1.5, size / 2)
        )

    def _paint_fold(self, painter: QPainter, line: QRect, is_folded: bool) -> None:
        x, y, half = line.right() + SPACE_2, line.center().y() + 0.5, 3.0
        points = [(-half, -half / 2), (half, -half / 2), (0, half)]
        if is_folded:
            points = [(-half / 2, -half), (-half / 2, half), (half, 0)]
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.color("muted"))
        painter.drawPolygon(QPolygonF([QPointF(x + dx, y + dy) for dx, dy in points]))


class Folding:
    """The folds of a `JsonEdit`."""

    def __init__(self, edit: JsonEdit) -> None:
        self._edit = edit

    def can_fold(self, block: QTextBlock) -> bool:
        return block.next().isValid() and opens(block.text())

    def is_folded(self, block: QTextBlock) -> bool:
        return block.next().isValid() and not block.next().isVisible() and block.isVisible()

    def toggle(self, block: QTextBlock) -> None:
        """Fold or unfold the list or object that begins at the end of a line."""
        last = self._last_inside(block)
        if last is not None:
            self._show(block.next(), last, not block.next().isVisible())

    def unfold_around(self, block: QTextBlock) -> None:
        """Unfold whatever hides a line."""
        first = block
        while first.isValid() and not first.isVisible():
            first = first.previous()
        if first.isValid() and not block.isVisible():
            last = block
            while last.next().isValid() and not last.next().isVisible():
                last = last.next()
            self._show(first.next(), last, True)

    def _last_inside(self, block: QTextBlock) -> QTextBlock | None:
        far = closing_line(_lines(block))
        if far is None or far < 2:
            return None
        return self._edit.document().findBlockByNumber(block.blockNumber() + far - 1)

    def _show(self, first: QTextBlock, last: QTextBlock, visible: bool) -> None:
        block = first
        while block.isValid() and block.blockNumber() <= last.blockNumber():
            block.setVisible(visible)
            block.setLineCount(1 if visible else 0)
            block = block.next()
        document = self._edit.document()
        self._edit.is_quiet = True
        document.markContentsDirty(first.position(), last.position() + last.length() - first.position())
        self._edit.is_quiet = False
        layout = document.documentLayout()
        layout.documentSizeChanged.emit(layout.documentSize())
        self._edit.refresh()


def _lines(block: QTextBlock) -> Iterator[str]:
    while block.isValid():
        yield block.text()
        block = block.next()


def without_strings(line: str) -> str:
    """Blank out the strings of a line, so that only real brackets are left."""
    return _STRING.sub(lambda match: " " * len(match[0]), line) if '"' in line else line


def opens(line: str) -> bool:
    """Return whether a list or object begins at the end of the line."""
    return _OPENS.search(line) is not None and _OPENS.search(without_strings(line)) is not None


def brackets(line: str) -> Iterator[tuple[int, str]]:
    """Yield the brackets of a line with their columns."""
    plain = without_strings(line)
    yield from ((match.start(), match[0]) for match in re.finditer(r"[{}\[\]]", plain))


def closing_line(lines: Iterable[str]) -> int | None:
    """Return the index of the line that closes the first line's last bracket, None if none does."""
    depth = 0
    for number, line in enumerate(lines):
        found = [bracket for _, bracket in brackets(line)]
        if number == 0:
            depth = 1
            continue
        for bracket in found:
            depth += 1 if bracket in _PAIRS else -1
            if depth == 0:
                return number
    return None


def matching_bracket(
    line: str, column: int, others: Iterable[str], *, forward: bool
) -> tuple[int, int] | None:
    """Find the partner of a bracket: the number of lines onward (or back), and its column.

    `others` are the lines after this one, or before it, nearest first.
    """
    depth = 0
    for number, part in enumerate(_chain(line, others)):
        found = list(brackets(part))
        if number == 0:
            found = [one for one in found if (one[0] >= column if forward else one[0] <= column)]
        for at, bracket in found if forward else reversed(found):
            depth += 1 if (bracket in _PAIRS) == forward else -1
            if depth == 0:
                return number, at
    return None


def _chain(first: str, others: Iterable[str]) -> Iterator[str]:
    yield first
    yield from others
