"""What Return and closing brackets do in JSON text."""

from __future__ import annotations

from PySide6.QtGui import QTextCursor

_STEP = "  "
_CLOSING = {"{": "}", "[": "]"}


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
