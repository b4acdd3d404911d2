"""The slim header of a panel: what it shows on the left, what can be done on the right."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from inspector.qt.theme import HEADER_HEIGHT, ICON_SIZE, SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.labels import Heading, Muted


class PanelHeader(QWidget):
    """Title, a muted detail (a count, a state), then buttons; one thin line below.

    Also fits `QDockWidget.setTitleBarWidget`.
    """

    def __init__(self, theme: Theme, title: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._title, self._detail = Heading(theme, title), Muted(theme)
        self._height = max(HEADER_HEIGHT, theme.row_height() + SPACE_3)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(SPACE_3, 0, SPACE_2, 1)
        self._row.setSpacing(SPACE_1)
        self._row.addWidget(self._title)
        self._row.addSpacing(SPACE_1)
        self._row.addWidget(self._detail)
        self._row.addStretch(1)
        self._stretch_place = self._row.count() - 1
        self.set_title(title)
        self.set_detail("")
        self.setFixedHeight(self._height)
        theme.changed.connect(self.update)

    def set_title(self, text: str) -> None:
        self._title.setText(text)
        self._title.setVisible(bool(text))

    def set_detail(self, text: str) -> None:
        """Set the text beside the title, such as `12 of 250`."""
        self._detail.setText(text)
        self._detail.setVisible(bool(text))

    def add_action(self, action: QAction) -> QToolButton:
        """Add an icon button at the right. Tool tip and accessible name are the action's text."""
        self._theme.dress_now(action)
        button = QToolButton(self)
        button.setDefaultAction(action)
        button.setIconSize(QSize(ICON_SIZE, ICON_SIZE))
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.setAccessibleName(action.iconText())
        if action.menu() is not None:
            button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._row.addWidget(button)
        return button

    def add_widget(self, widget: QWidget, stretch: int = 0) -> None:
        """Add a control; with `stretch` it takes the space between title and buttons."""
        if stretch:
            self._row.setStretch(self._stretch_place, 0)
        self._row.addWidget(widget, stretch)

    def add_gap(self) -> None:
        """Add space between groups of buttons."""
        self._row.addSpacing(SPACE_2)

    def sizeHint(self) -> QSize:
        # A dock uses its title bar's size hint, whatever the fixed height.
        return QSize(super().sizeHint().width(), self._height)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(0, self.height() - 1, self.width(), 1, self._theme.color("line"))
