"""Colours for the lines of JSON that are in view.

QSyntaxHighlighter is not used: it visits every line before the first paint.
"""

from __future__ import annotations

from PySide6.QtGui import QTextBlock, QTextCharFormat, QTextLayout

from inspector.qt.forms.longlines import GOES_ON
from inspector.qt.theme import Theme
from inspector.qt.widgets.jsonscan import Kind, ends_in_string, qt_column, scan

_KINDS: tuple[Kind, ...] = ("key", "string", "number", "literal")
_MOST_ROWS_BACK = 200
_SCHEMES = 1_000_000


class Colours:
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
    while before.isValid() and before.text().endswith(GOES_ON) and len(rows) < _MOST_ROWS_BACK:
        rows.append(before.text())
        before = before.previous()
    is_open = False
    for row in reversed(rows):
        is_open = ends_in_string(row, is_open)
    return is_open
