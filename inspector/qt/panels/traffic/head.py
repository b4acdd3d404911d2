"""The head of a traffic panel: title, count, filter, views, buttons.

In two rows where one is too narrow; and where the names of the views do not fit either, they are in a menu.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QComboBox, QGridLayout, QHBoxLayout, QMenu, QToolButton, QWidget

from inspector.qt.theme import HEADER_HEIGHT, ICON_SIZE, SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.filterbar import FilterBar
from inspector.qt.widgets.labels import Heading, Muted
from inspector.qt.widgets.segments import Segments

VIEWS = ("Frames", "Operations", "Timeline", "Statistics")
# A filter must be readable: with less room than this, it gets its own row.
_LEAST_FOR_FILTER = 300
_LEAST_FOR_TITLE = 96


class TrafficHead(QWidget):
    """Lays out the header's controls above a thin line."""

    def __init__(
        self,
        theme: Theme,
        title: str,
        bar: FilterBar,
        views: Sequence[QAction],
        actions: Sequence[QAction],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._bar = bar
        self._title, self._detail = Heading(theme, title), Muted(theme)
        self._title.setMinimumWidth(min(self._title.sizeHint().width(), _LEAST_FOR_TITLE))
        self.views = Segments(theme, VIEWS)
        self._views_menu = _menu_button(theme, views)
        self.scope = QComboBox()
        self.scope.setAccessibleName("Whose traffic")
        self.scope.addItems(["All servers", "This server"])
        # As wide as it may ever be, so that the filter does not move while rows are counted.
        self._detail_width = self._detail.fontMetrics().horizontalAdvance("000,000 of 000,000")
        self._detail.setMaximumWidth(self._detail_width)
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
        self._is_tight: bool | None = None
        self._set_tight(False)
        self._arrange(is_narrow=False)
        theme.changed.connect(self.update)

    def set_detail(self, text: str) -> None:
        """Set the text beside the title, such as `12 of 250`."""
        self._detail.setText(text)
        self._fit_detail()

    def show_view(self, index: int) -> None:
        self.views.choose(index)
        self._views_menu.setText(VIEWS[index])

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        width, tools = event.size().width(), self._tools_width()
        title = min(self._title.sizeHint().width(), _LEAST_FOR_TITLE)
        room = width - title - self._detail_width - 4 * SPACE_3
        self._set_tight(room < tools)
        taken = self._title.sizeHint().width() + self._detail_width + tools + 4 * SPACE_3
        self._arrange(is_narrow=width - taken < _LEAST_FOR_FILTER)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(0, self.height() - 1, self.width(), 1, self._theme.color("line"))

    def minimumSizeHint(self) -> QSize:
        # As narrow as the tools alone: the rest yields before the dock cannot shrink.
        return QSize(240, super().minimumSizeHint().height())

    def _tools_width(self) -> int:
        """Return the width with all view names, whether or not they are shown now."""
        shown, other = self.views, self._views_menu
        hint = self._tools.sizeHint().width()
        return hint + shown.sizeHint().width() - other.sizeHint().width() if self._is_tight else hint

    def _set_tight(self, is_tight: bool) -> None:
        if is_tight == self._is_tight:
            return
        self._is_tight = is_tight
        self.views.setHidden(is_tight)
        self._views_menu.setHidden(not is_tight)
        self._fit_detail()

    def _fit_detail(self) -> None:
        """Keep it as wide as its text: a title may be cut, but a cut number would mislead."""
        words = self._detail.fontMetrics().horizontalAdvance(self._detail.text()) + SPACE_1
        self._detail.setMinimumWidth(min(words, self._detail_width) if self._is_tight else self._detail_width)

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
        row.addWidget(self._views_menu)
        row.addSpacing(SPACE_1)
        row.addWidget(self.scope)
        for action in actions:
            self._theme.dress_now(action)
            row.addWidget(_button(action, tools))
        return tools


def _menu_button(theme: Theme, actions: Sequence[QAction]) -> QToolButton:
    button = QToolButton()
    theme.dress(button, "chevron-down", "muted")
    button.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # puts the chevron after the text
    menu = QMenu(button)
    menu.addActions(list(actions))
    button.setMenu(menu)
    button.setText(VIEWS[0])
    button.setToolTip("View")
    button.setAccessibleName("View")
    button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button


def _button(action: QAction, parent: QWidget) -> QToolButton:
    button = QToolButton(parent)
    button.setDefaultAction(action)
    button.setIconSize(QSize(ICON_SIZE, ICON_SIZE))
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    button.setAccessibleName(action.iconText())
    # Qt hides the action in menus and tool bars only.
    action.visibleChanged.connect(lambda: button.setHidden(not action.isVisible()))
    return button
