"""Parts that fit what is in them: for a page that scrolls as a whole."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QVBoxLayout, QWidget


class Pages(QWidget):
    """A stack as tall as its current page; QStackedWidget is as tall as the tallest."""

    def __init__(self, pages: Sequence[QWidget], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._pages = list(pages)
        self._index = 0
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for page in pages:
            column.addWidget(page, 1)
        self.choose(0)

    def index(self) -> int:
        return self._index

    def choose(self, index: int) -> None:
        self._index = index
        for place, page in enumerate(self._pages):
            page.setVisible(place == index)


class Place(QWidget):
    """Holds one widget, like a scroll area, and does not scroll it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._widget: QWidget | None = None
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)

    def setWidget(self, widget: QWidget) -> None:
        """Replace the widget; the previous one is deleted."""
        if self._widget is not None:
            self._column.removeWidget(self._widget)
            self._widget.hide()
            self._widget.deleteLater()
        self._widget = widget
        self._column.addWidget(widget)
