"""Layout helpers: boxes, panel header, collapsible section, indented block, pages, tabs, removal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeVar

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import (
    QAbstractButton,
    QBoxLayout,
    QComboBox,
    QHBoxLayout,
    QLayout,
    QSizePolicy,
    QSplitter,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from inspector.base.plain_text import one_line
from inspector.qt.theme import HEADER_HEIGHT, ICON_SIZE, SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.inputs.controls import ActionToolButton
from inspector.qt.widgets.text.labels import Heading, MutedLabel

if TYPE_CHECKING:
    from PySide6.QtWidgets import QTabWidget

_WIDE_LEVELS = 4


class _Stretch(Enum):
    STRETCH = 1


STRETCH: Final = _Stretch.STRETCH
BoxItem = (
    QWidget
    | QLayout
    | _Stretch
    | int
    | tuple[QWidget | QLayout | _Stretch, int]
    | tuple[QWidget, int, Qt.AlignmentFlag]
    | None
)
Margin = int | tuple[int, int] | tuple[int, int, int, int] | None
_Box = TypeVar("_Box", bound=QBoxLayout)


def vbox(parent: QWidget | None, *items: BoxItem, gap: int = SPACE_2, margin: Margin = 0) -> QVBoxLayout:
    """Lay out items from top to bottom, in `parent` or (with None) as a nested layout.

    An item is a widget, a layout, STRETCH, an int (space in pixels) or None (skipped); `(item, stretch)`
    sets its stretch factor and `(widget, stretch, alignment)` its alignment too. `margin` is one number,
    (horizontal, vertical), (left, top, right, bottom), or None for the margins of the style. A `gap` of -1
    is the spacing of the style.
    """
    return _fill(QVBoxLayout(parent) if parent is not None else QVBoxLayout(), items, gap, margin)


def hbox(parent: QWidget | None, *items: BoxItem, gap: int = SPACE_2, margin: Margin = 0) -> QHBoxLayout:
    """Lay out items in reading direction; arguments as for `vbox`."""
    return _fill(QHBoxLayout(parent) if parent is not None else QHBoxLayout(), items, gap, margin)


def hsplit(*widgets: QWidget, sizes: Sequence[int] = (), stretch: int | None = None) -> QSplitter:
    """Put widgets side by side; the one at position `stretch` takes up a change of the size."""
    return _split(Qt.Orientation.Horizontal, widgets, sizes, stretch)


def vsplit(*widgets: QWidget, sizes: Sequence[int] = (), stretch: int | None = None) -> QSplitter:
    """Put widgets above one another; the one at position `stretch` takes up a change of the size."""
    return _split(Qt.Orientation.Vertical, widgets, sizes, stretch)


def _split(
    orientation: Qt.Orientation, widgets: Sequence[QWidget], sizes: Sequence[int], stretch: int | None
) -> QSplitter:
    splitter = QSplitter(orientation)
    splitter.setChildrenCollapsible(False)
    for widget in widgets:
        splitter.addWidget(widget)
    if sizes:
        splitter.setSizes(sizes)
    if stretch is not None:
        splitter.setStretchFactor(stretch, 1)
    return splitter


def _fill(box: _Box, items: Sequence[BoxItem], gap: int, margin: Margin) -> _Box:
    box.setSpacing(gap)
    if isinstance(margin, int):
        margin = (margin, margin)
    if margin is not None:
        box.setContentsMargins(*margin, *margin[: 4 - len(margin)])
    for item in items:
        match item if isinstance(item, tuple) else (item, None):
            case (int() as pixels, _):
                box.addSpacing(pixels)
            case (_Stretch(), factor):
                box.addStretch(1 if factor is None else factor)
            case (QLayout() as layout, factor):
                box.addLayout(layout, factor or 0)
            case (QWidget() as widget, factor, *alignment):
                box.addWidget(widget, factor or 0, *alignment)
    return box


class PanelHeader(QWidget):
    """Title, muted detail (a count, a state) and buttons, with a thin line below.

    Can be used with `QDockWidget.setTitleBarWidget`.
    """

    def __init__(self, theme: Theme, title: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._title, self._detail = Heading(theme, title), MutedLabel(theme)
        self._height = max(HEADER_HEIGHT, theme.row_height() + SPACE_3)
        self._row = hbox(
            self, self._title, SPACE_1, self._detail, STRETCH, gap=SPACE_1, margin=(SPACE_3, 0, SPACE_2, 1)
        )
        self._stretch_index = self._row.count() - 1
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
        """Add an icon button on the right; its accessible name is the action's text."""
        self._theme.apply_icon(action)
        button = ActionToolButton(action, self)
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
            self._row.setStretch(self._stretch_index, 0)
        self._row.addWidget(widget, stretch)

    def sizeHint(self) -> QSize:
        # A dock uses its title bar's size hint, whatever the fixed height.
        return QSize(super().sizeHint().width(), self._height)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(0, self.height() - 1, self.width(), 1, self._theme.color("line"))


class CollapsibleSection(QWidget):
    """A clickable heading that shows and hides what `make` creates on first use."""

    def __init__(
        self, theme: Theme, text: str, make: Callable[[], QWidget], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._make = make
        self._content: QWidget | None = None
        self.button = QToolButton()
        self.button.setCheckable(True)
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.button.setIconSize(QSize(ICON_SIZE, ICON_SIZE))
        self.button.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.set_text(text)
        self._column = vbox(self, self.button, gap=SPACE_1)
        self.button.toggled.connect(self._on_toggled)
        theme.set_icon(self.button, "chevron-right", "muted")

    @property
    def is_open(self) -> bool:
        return self.button.isChecked()

    def set_text(self, text: str) -> None:
        self.button.setText(one_line(text).replace("&", "&&"))
        self.button.setAccessibleName(one_line(text))

    def _on_toggled(self, is_open: bool) -> None:
        self._theme.set_icon(self.button, "chevron-down" if is_open else "chevron-right", "muted")
        if is_open and self._content is None:
            self._content = self._make()
            self._column.addWidget(self._content)
        if self._content is not None:
            self._content.setVisible(is_open)


class IndentedBlock(QWidget):
    """A column that can be indented; deeper levels are indented less, to save width."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        self._is_indented = False
        self._margin = SPACE_3 if depth < _WIDE_LEVELS else SPACE_2 if depth < 2 * _WIDE_LEVELS else SPACE_1
        self.column = vbox(self, gap=-1, margin=None)
        self.set_indented(False)

    def set_indented(self, indented: bool) -> None:
        self._is_indented = indented
        self.column.setContentsMargins(self._margin if indented else 0, SPACE_1 if indented else 0, 0, 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._is_indented:
            QPainter(self).fillRect(0, 0, 1, self.height(), self.palette().color(QPalette.ColorRole.Mid))


class Pages(QWidget):
    """A stack as tall as its current page; QStackedWidget is as tall as the tallest."""

    def __init__(self, pages: Sequence[QWidget], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._pages = list(pages)
        self._index = 0
        vbox(self, *((page, 1) for page in pages), gap=0)
        self.choose(0)

    def index(self) -> int:
        return self._index

    def choose(self, index: int) -> None:
        self._index = index
        for position, page in enumerate(self._pages):
            page.setVisible(position == index)


class WidgetHolder(QWidget):
    """Holds one widget with the interface of a scroll area, without scrolling."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._widget: QWidget | None = None
        self._column = vbox(self, gap=-1)

    def setWidget(self, widget: QWidget) -> None:
        """Replace the widget; the previous one is deleted."""
        if self._widget is not None:
            discard(self._widget)
        self._widget = widget
        self._column.addWidget(widget)


def discard(widget: QWidget) -> None:
    """Take a widget out of its layout or stack and delete it once control returns to the event loop.

    `removeWidget` would leave it a child of its parent until then. If the children are listed meanwhile,
    PySide never frees the Python object of such a widget, nor anything that it refers to.
    """
    widget.hide()
    widget.setParent(None)
    widget.deleteLater()


def in_row(*widgets: QWidget, fills: bool = True) -> QWidget:
    """Lay out widgets in a row. With `fills`, wide ones take the free space; else it stays at the end."""
    from PySide6.QtWidgets import QSpinBox

    holder = QWidget()
    narrow = (QAbstractButton, QComboBox, QSpinBox)
    items = ((widget, 1 if fills and not isinstance(widget, narrow) else 0) for widget in widgets)
    hbox(holder, *items, None if fills else STRETCH)
    return holder


def show_tab(tabs: QTabWidget, position: int, is_shown: bool) -> None:
    """Show or hide a tab.

    Without a change, QTabBar.setTabVisible makes the bar skip a pending layout: the gap of a hidden tab
    would stay.
    """
    if tabs.isTabVisible(position) != is_shown:
        tabs.setTabVisible(position, is_shown)
