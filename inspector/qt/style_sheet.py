"""The style sheet of the application, and the renewal of the colors it has applied.

Colors are palette roles or translucent, so one style sheet serves both schemes (`theme.palette`). Like the
theme, this module does not import QtWidgets, which are loaded later at start-up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from string import Template
from typing import Any, Protocol, cast

from PySide6.QtCore import QEvent, QObject


def stylesheet() -> str:
    """Return the application's style sheet, for the Fusion style and both schemes.

    Arrows and ticks come from the search path `glyphs:`.
    """
    return Template(_SHEET).substitute(
        {**{tone: f"palette({role})" for tone, role in _SHEET_ROLES}, **_GRAYS}
    )


class WidgetStyle(Protocol):
    """The part of QStyle that `Theme` uses."""

    def polish(self, widget: Any, /) -> None: ...


class StyledWidget(Protocol):
    """The part of QWidget that `Theme` uses."""

    def isVisible(self) -> bool: ...
    def isWindow(self) -> bool: ...
    def style(self) -> WidgetStyle: ...
    def children(self) -> Sequence[QObject]: ...
    def setProperty(self, name: str, value: str, /) -> bool: ...
    def installEventFilter(self, filter: QObject, /) -> None: ...
    def removeEventFilter(self, filter: QObject, /) -> None: ...


class Restyler(QObject):
    """Applies the palette to widgets styled by the style sheet, which caches colors for each widget.

    Polishing a widget renews its colors. Hidden widgets are polished when they are shown. It also restores
    the palette that the widget had before it was first polished, so a widget with its own palette has to set
    it again when the palette changes.
    """

    def restyle(self, widgets: Iterable[StyledWidget]) -> None:
        """Polish these widgets and the widgets in them, now or when they are shown."""
        for widget in widgets:
            if widget.isVisible():
                _polish(widget)
                self.restyle(_parts(widget))
            else:
                widget.installEventFilter(self)  # once, even if it is installed already

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Show:
            watched.removeEventFilter(self)
            self.restyle([cast("StyledWidget", watched)])
        return False


def _polish(widget: StyledWidget) -> None:
    widget.style().polish(widget)


def _parts(widget: StyledWidget) -> Iterator[StyledWidget]:
    """Yield the child widgets, except windows such as dialogs: they are restyled on their own."""
    for child in widget.children():
        if child.isWidgetType():
            part = cast("StyledWidget", child)
            if not part.isWindow():
                yield part


_SHEET_ROLES: tuple[tuple[str, str], ...] = (
    ("surface", "window"), ("raised", "button"), ("sunken", "alternate-base"), ("line", "midlight"),
    ("edge", "mid"), ("text", "window-text"), ("muted", "placeholder-text"), ("accent", "accent"),
    ("on_accent", "link-visited"), ("accent_hover", "shadow"), ("selection", "highlight"),
    ("error", "bright-text"),
)  # fmt: skip
# Translucent, so that they suit both schemes; `hover` looks like the token.
_GRAYS = {
    "hover": "rgba(128, 136, 152, 36)",
    "pressed": "rgba(128, 136, 152, 72)",
    "thumb": "rgba(128, 136, 152, 115)",
    "faint": "rgba(128, 136, 152, 204)",
    "danger": "rgba(220, 80, 90, 28)",
}

# Item views get no `::item` rules for tables: the style sheet engine would then paint every cell.
# A focus ring replaces one pixel of padding, so that nothing moves when focus does.
_SHEET = """
QToolTip { background: $raised; color: $text; border: 1px solid $edge; padding: 2px; }
QMainWindow::separator { background: $line; width: 1px; height: 1px; }
QMainWindow::separator:hover, QSplitter::handle:hover { background: $accent; }
QSplitter::handle { background: $line; }
QSplitter::handle:horizontal { width: 1px; }
QSplitter::handle:vertical { height: 1px; }
QStatusBar { background: $sunken; color: $muted; border-top: 1px solid $line; }
QStatusBar::item { border: 0; }

QDockWidget { color: $muted; titlebar-close-icon: url(glyphs:close.svg);
    titlebar-normal-icon: url(glyphs:float.svg); }
QDockWidget::title { background: $surface; padding: 8px 12px; text-align: left;
    border-bottom: 1px solid $line; }
QDockWidget::close-button, QDockWidget::float-button { border: 0; border-radius: 4px; padding: 1px; }
QDockWidget::close-button:hover, QDockWidget::float-button:hover { background: $hover; }

QMenuBar { background: $surface; border-bottom: 1px solid $line; padding: 2px 4px; }
QMenuBar::item { background: transparent; padding: 4px 8px; border-radius: 4px; }
QMenuBar::item:selected { background: $hover; }
QMenu { background: $raised; border: 1px solid $edge; padding: 4px; }
QMenu::item { padding: 5px 24px 5px 8px; border-radius: 4px; }
QMenu::item:selected { background: $selection; }
QMenu::item:disabled { color: $faint; }
QMenu::separator { height: 1px; background: $line; margin: 4px 0; }
QMenu::icon { padding-left: 8px; }
QMenu::indicator { width: 16px; height: 16px; left: 6px; }
QMenu::indicator:checked { image: url(glyphs:check-muted.svg); }

QPushButton { background: $raised; color: $text; border: 1px solid $edge; border-radius: 5px;
    padding: 4px 12px; min-height: 16px; }
QPushButton:hover { background: $hover; }
QPushButton:pressed, QPushButton:checked { background: $pressed; }
QPushButton:focus { border: 2px solid $accent; padding: 3px 11px; }
QPushButton:disabled { background: $surface; color: $faint; border-color: $line; }
QPushButton[kind="primary"] { background: $accent; color: $on_accent; border-color: $accent; }
QPushButton[kind="primary"]:hover, QPushButton[kind="primary"]:pressed { background: $accent_hover; }
QPushButton[kind="primary"]:focus { border-color: $text; }
QPushButton[kind="primary"]:disabled { background: $hover; color: $faint; border-color: $line; }
QPushButton[kind="danger"] { color: $error; }
QPushButton[kind="danger"]:hover { background: $danger; }
QPushButton[kind="danger"]:disabled, QPushButton[kind="quiet"]:disabled { color: $faint; }
QPushButton[kind="quiet"] { background: transparent; border-color: transparent; color: $accent; }
QPushButton[kind="quiet"]:hover { background: $hover; }
QPushButton[kind="quiet"]:focus { border-color: $accent; }
QToolButton { background: transparent; border: 1px solid transparent; border-radius: 5px; padding: 3px; }
QToolButton:hover { background: $hover; }
QToolButton:pressed, QToolButton:checked { background: $pressed; }
QToolButton:focus { border-color: $accent; }
QToolButton:disabled { color: $faint; }
QToolButton::menu-indicator { image: none; }

QLineEdit, QAbstractSpinBox, QComboBox, QTextEdit[kind="input"], QPlainTextEdit[kind="input"] {
    background: $raised; color: $text; border: 1px solid $edge; border-radius: 5px; padding: 3px 7px;
    placeholder-text-color: $muted; selection-background-color: $selection; selection-color: $text; }
QLineEdit, QAbstractSpinBox, QComboBox { min-height: 18px; }
QLineEdit:focus, QAbstractSpinBox:focus, QComboBox:focus, QTextEdit[kind="input"]:focus,
QPlainTextEdit[kind="input"]:focus { border: 2px solid $accent; padding: 2px 6px; }
QLineEdit:disabled, QAbstractSpinBox:disabled, QComboBox:disabled { background: $sunken; color: $faint;
    border-color: $line; }
QLineEdit[state="error"], QAbstractSpinBox[state="error"], QComboBox[state="error"],
QPlainTextEdit[state="error"] { border-color: $error; }
QLineEdit QToolButton { padding: 0; }
QComboBox QLineEdit, QComboBox QLineEdit:focus { border: 0; padding: 0; background: transparent; }
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button { border: 0; background: transparent;
    width: 18px; }
QAbstractSpinBox::up-arrow, QHeaderView::up-arrow { image: url(glyphs:chevron-up.svg); width: 12px; }
QAbstractSpinBox::down-arrow, QHeaderView::down-arrow { image: url(glyphs:chevron-down.svg);
    width: 12px; }
QComboBox::drop-down { border: 0; width: 22px; }
QComboBox::down-arrow { image: url(glyphs:chevron-down.svg); width: 16px; height: 16px; }
QComboBox QAbstractItemView { background: $raised; border: 1px solid $edge; padding: 4px; }
QCheckBox, QRadioButton { spacing: 8px; }
QCheckBox::indicator, QRadioButton::indicator, QAbstractItemView::indicator { width: 14px; height: 14px;
    border: 1px solid $edge; border-radius: 4px; background: $raised; }
QRadioButton::indicator { border-radius: 8px; }
QCheckBox::indicator:hover, QRadioButton::indicator:hover { border-color: $muted; }
QCheckBox::indicator:focus, QRadioButton::indicator:focus { border-color: $accent; }
QCheckBox:focus, QRadioButton:focus { color: $accent; }
QCheckBox::indicator:checked, QAbstractItemView::indicator:checked { background: $accent;
    border-color: $accent; image: url(glyphs:light/check.svg); }
QCheckBox::indicator:indeterminate, QAbstractItemView::indicator:indeterminate { background: $accent;
    border-color: $accent; image: url(glyphs:light/dash.svg); }
*[scheme="dark"] QCheckBox::indicator:checked, *[scheme="dark"] QAbstractItemView::indicator:checked {
    image: url(glyphs:dark/check.svg); }
*[scheme="dark"] QCheckBox::indicator:indeterminate,
*[scheme="dark"] QAbstractItemView::indicator:indeterminate { image: url(glyphs:dark/dash.svg); }
QRadioButton::indicator:checked { border: 5px solid $accent; width: 6px; height: 6px;
    background: $on_accent; }

QAbstractScrollArea { border: 0; }
QAbstractItemView { background: $surface; border: 0; outline: 0; selection-background-color: $selection;
    selection-color: $text; }
*[place="sidebar"], *[place="sidebar"] QAbstractItemView { background: $sunken; }
QTableView { gridline-color: transparent; }
QTreeView::branch { background: transparent; }
QTreeView::branch:has-children:closed { image: url(glyphs:chevron-right.svg); }
QTreeView::branch:has-children:open { image: url(glyphs:chevron-down.svg); }
QHeaderView { background: $surface; border: 0; }
QHeaderView::section { background: $surface; color: $muted; border: 0; border-bottom: 1px solid $line;
    padding: 0 4px; min-height: 25px; }
QHeaderView::section:hover { color: $text; background: $hover; }
QTableCornerButton::section { background: $surface; border: 0; }

QTabWidget::pane { border: 0; border-top: 1px solid $line; }
QTabBar { background: transparent; }
QTabBar::tab { background: transparent; color: $muted; border: 0; border-bottom: 2px solid transparent;
    padding: 7px 2px 6px 2px; margin: 0 8px; }
QTabBar::tab:hover { color: $text; }
QTabBar::tab:selected { color: $text; border-bottom-color: $accent; }
QTabBar::tab:focus { background: $hover; }
QTabBar::tab:disabled { color: $faint; }

QScrollBar { background: transparent; border: 0; }
QScrollBar:vertical { width: 10px; }
QScrollBar:horizontal { height: 10px; }
QScrollBar::handle { background: $thumb; border-radius: 3px; margin: 2px; }
QScrollBar::handle:hover { background: $muted; }
QScrollBar::handle:vertical { min-height: 32px; }
QScrollBar::handle:horizontal { min-width: 32px; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QAbstractScrollArea::corner { background: transparent; }

QProgressBar { background: $hover; border: 0; border-radius: 2px; max-height: 4px; min-height: 4px;
    color: transparent; }
QProgressBar::chunk { background: $accent; border-radius: 2px; }
QGroupBox { border: 0; border-top: 1px solid $line; margin-top: 20px; padding-top: 8px; }
QGroupBox::title { subcontrol-origin: margin; color: $muted; padding: 0 8px 4px 0; }
"""
