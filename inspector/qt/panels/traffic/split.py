"""Where the detail of a row stands: beside the rows, below them, or nowhere while none is chosen."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QWidget

# Narrower than this, a table and a message do not both fit beside one another.
_WIDE = 800
# Lower than this, they do not both fit on top of one another either.
_HIGH = 380
_SHARES = {Qt.Orientation.Horizontal: 0.63, Qt.Orientation.Vertical: 0.45}


class DetailSplit(QSplitter):
    """Rows and detail. A wide panel keeps a place for the detail, so that nothing moves when a row is chosen;
    a narrow one gives the rows everything until then, and puts the detail below them if it is high enough.
    """

    def __init__(self, rows: QWidget, place: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._shares = dict(_SHARES)
        self._has_row = False
        self._detail = place
        self.setChildrenCollapsible(False)
        self.addWidget(rows)
        self.addWidget(place)
        self.splitterMoved.connect(self._on_moved)

    def put_detail(self, view: QWidget) -> None:
        """In place of what stood there."""
        self.replaceWidget(1, view)
        self._detail.hide()
        self._detail.deleteLater()
        self._detail = view
        view.show()
        self._arrange()
        self._apply_share()

    def set_has_row(self, has_row: bool) -> None:
        """A row is chosen, or none any more."""
        if has_row != self._has_row:
            self._has_row = has_row
            self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()
        self._apply_share()

    def _arrange(self) -> None:
        is_wide = self.width() >= _WIDE
        below = not is_wide and self.height() >= _HIGH
        wanted = Qt.Orientation.Vertical if below else Qt.Orientation.Horizontal
        was_hidden = self._detail.isHidden()
        self._detail.setHidden(not is_wide and not self._has_row)
        if wanted is not self.orientation() or was_hidden:
            self.setOrientation(wanted)
            self._apply_share()

    def _apply_share(self) -> None:
        whole = self.height() if self.orientation() is Qt.Orientation.Vertical else self.width()
        share = round(whole * self._shares[self.orientation()])
        self.setSizes([share, whole - share])

    def _on_moved(self) -> None:
        first, second = self.sizes()
        if first + second:
            self._shares[self.orientation()] = first / (first + second)
