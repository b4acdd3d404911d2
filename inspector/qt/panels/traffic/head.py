"""The head of a traffic panel: title, count, filter, views, buttons; in two rows where one is too narrow."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QComboBox, QGridLayout, QHBoxLayout, QToolButton, QWidget

from inspector.qt.theme import HEADER_HEIGHT, ICON_SIZE, SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.filterbar import FilterBar
from inspector.qt.widgets.labels import Heading, Muted
from inspector.qt.widgets.segments import Segments

VIEWS = ("Frames", "Operations", "Timeline", "Statistics")
# A filter wants to be read: with less room than this for it, it gets a row of its own.
_LEAST_FOR_FILTER = 300


class TrafficHead(QWidget):
    """Lays out what the panel gives it. One thin line below."""

    def __init__(
        self,
        theme: Theme,
        title: str,
        bar: FilterBar,
        actions: Sequence[QAction],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._bar = bar
        self._title, self._detail = Heading(theme, title), Muted(theme)
        self.views = Segments(theme, VIEWS)
        self.scope = QComboBox()
        self.scope.setAccessibleName("Whose traffic")
        self.scope.addItems(["All servers", "This server"])
        # As wide as it may ever be, so that the filter does not move while rows are counted.
        self._detail.setFixedWidth(self._detail.fontMetrics().horizontalAdvance("000,000 of 000,000"))
        self._tools = self._make_tools(actions)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(SPACE_3, 0, SPACE_2, 1)
        self._grid.setHorizontalSpacing(SPACE_2)
        self._grid.setVerticalSpacing(0)
        self._grid.setColumnStretch(2, 1)
        self._grid.addWidget(self._title, 0, 0)
        self._grid.addWidget(self._detail, 0, 1)
        self._grid.addWidget(self._tools, 0, 3)
        self._is_narrow: bool | None = None
        self._arrange(is_narrow=False)
        theme.changed.connect(self.update)

    def set_detail(self, text: str) -> None:
        """A few words beside the title: `12 of 250`."""
        self._detail.setText(text)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        parts = (self._title, self._detail, self._tools)
        taken = sum(part.sizeHint().width() for part in parts) + 4 * SPACE_3
        self._arrange(is_narrow=event.size().width() - taken < _LEAST_FOR_FILTER)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(0, self.height() - 1, self.width(), 1, self._theme.color("line"))

    def minimumSizeHint(self) -> QSize:
        # So narrow as the tools alone: the rest gives way before the dock cannot be made smaller.
        return QSize(240, super().minimumSizeHint().height())

    def _arrange(self, *, is_narrow: bool) -> None:
        if is_narrow == self._is_narrow:
            return
        self._is_narrow = is_narrow
        height = max(HEADER_HEIGHT, self._theme.row_height() + SPACE_3)
        if is_narrow:
            self._grid.addWidget(self._bar, 1, 0, 1, 4)
        else:
            self._grid.addWidget(self._bar, 0, 2)
        self._grid.setRowMinimumHeight(0, height)
        self._grid.setRowMinimumHeight(1, height if is_narrow else 0)

    def _make_tools(self, actions: Sequence[QAction]) -> QWidget:
        tools = QWidget()
        row = QHBoxLayout(tools)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_1)
        row.addWidget(self.views)
        row.addSpacing(SPACE_1)
        row.addWidget(self.scope)
        for action in actions:
            row.addWidget(_button(action))
        return tools


def _button(action: QAction) -> QToolButton:
    button = QToolButton()
    button.setDefaultAction(action)
    button.setIconSize(QSize(ICON_SIZE, ICON_SIZE))
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    button.setAccessibleName(action.iconText())
    return button
