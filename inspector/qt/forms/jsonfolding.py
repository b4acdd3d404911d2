"""Hiding what is inside a list or an object of JSON text; the text itself stays as it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from PySide6.QtGui import QTextBlock

from inspector.qt.forms import jsonfolds

if TYPE_CHECKING:
    from inspector.qt.forms.jsonedit import JsonEdit


class Folding:
    """The folds of a `JsonEdit`."""

    def __init__(self, edit: JsonEdit) -> None:
        self._edit = edit

    def can_fold(self, block: QTextBlock) -> bool:
        return block.next().isValid() and jsonfolds.opens(block.text())

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
        far = jsonfolds.closing_line(_lines(block))
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
