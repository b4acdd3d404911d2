"""A row of buttons of which exactly one is down: for a few choices that should all be in view."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QHBoxLayout, QSizePolicy, QToolButton, QWidget

from inspector.qt.theme import Theme

_RADIUS = 5.0


class Segments(QWidget):
    """A segmented switch; arrow keys move between the segments, Tab leaves it.

    Signals:
        chosen: The user picked another segment; carries its index. Not emitted by `choose`.
    """

    chosen = Signal(int)

    def __init__(self, theme: Theme, labels: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._group = QButtonGroup(self)
        row = QHBoxLayout(self)
        row.setContentsMargins(2, 2, 2, 2)
        row.setSpacing(2)
        for index, label in enumerate(labels):
            row.addWidget(self._button(index, label))
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.choose(0)
        self._group.idClicked.connect(self.chosen)
        theme.changed.connect(self.update)

    def index(self) -> int:
        return self._group.checkedId()

    def choose(self, index: int) -> None:
        """Select a segment without emitting `chosen`."""
        self._group.button(index).setChecked(True)
        self.setFocusProxy(self._group.button(index))

    def button(self, index: int) -> QToolButton:
        button = self._group.button(index)
        assert isinstance(button, QToolButton)
        return button

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
            return
        button = self._neighbour(step)
        button.setFocus(Qt.FocusReason.TabFocusReason)
        button.click()

    def _neighbour(self, step: int) -> QAbstractButton:
        """Return the next visible segment in a direction, wrapping around."""
        count = len(self._group.buttons())
        ways = (self._group.button((self.index() + step * far) % count) for far in range(1, count + 1))
        return next(button for button in ways if not button.isHidden())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._theme.color("edge"), 1))
        painter.setBrush(self._theme.color("raised"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), _RADIUS, _RADIUS)

    def _button(self, index: int, label: str) -> QToolButton:
        button = QToolButton(self)
        button.setText(label)
        button.setCheckable(True)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._group.addButton(button, index)
        return button
