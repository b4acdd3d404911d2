"""Where the detail of a row stands: beside the rows, below them, or nowhere while none is chosen."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QWidget

# When narrower, a table and a message do not fit side by side.
_WIDE = 800
# When lower, they do not fit on top of each other either.
_HIGH = 380
_SHARES = {Qt.Orientation.Horizontal: 0.63, Qt.Orientation.Vertical: 0.45}


class DetailSplit(QSplitter):
    """Rows and detail.

    A wide panel reserves the detail's place, so that nothing moves when a row is selected; a narrow one
    gives the rows all the space until then, and puts the detail below them if it is tall enough.
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
        """Replace the placeholder with the detail."""
        self.replaceWidget(1, view)
        self._detail.hide()
        self._detail.deleteLater()
        self._detail = view
        view.show()
        self._arrange()
        self._apply_share()

    def set_has_row(self, has_row: bool) -> None:
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
