"""Status bar of the window: the state of the secret store, and messages for a while.

The bar is created on first use and hidden while it is empty.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QAction, QPalette
from PySide6.QtWidgets import QMainWindow, QSizeGrip, QStatusBar, QToolButton, QWidget

from inspector.config.secrets.records import SecretsState
from inspector.qt.bridge import Bridge
from inspector.qt.models.secrets import is_worth_showing, status_hint, status_text, status_tone
from inspector.qt.theme import ICON_SIZE, Theme
from inspector.qt.widgets.text.labels import plain_tooltip


def add_secrets_status(
    window: QMainWindow, bridge: Bridge, theme: Theme, action: QAction, state: SecretsState
) -> SecretsStatus | None:
    """Add the entry if there is something to show; without secrets there is no status bar."""
    if not is_worth_showing(state):
        return None
    status = SecretsStatus(bridge, theme, action)
    _bar_of(window).addPermanentWidget(status)
    status.show_state(state)
    return status


class SecretsStatus(QToolButton):
    """The state of the secret store in the status bar. A click triggers `action`."""

    def __init__(self, bridge: Bridge, theme: Theme, action: QAction, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._state: SecretsState | None = None
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setIconSize(QSize(ICON_SIZE, ICON_SIZE))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.clicked.connect(action.trigger)
        bridge.secrets_changed.connect(self.show_state)
        theme.changed.connect(self._apply_theme)

    def show_state(self, state: SecretsState) -> None:
        self._state = state
        text = status_text(state)
        self.setText(text)
        self.setAccessibleName(text)
        self.setToolTip(plain_tooltip(status_hint(state)))
        self._apply_theme()
        self.setVisible(is_worth_showing(state))
        bar = self.parentWidget()
        if isinstance(bar, QStatusBar):
            _show_bar(bar)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange:
            self._apply_color()  # restyling restores an older palette

    def _apply_theme(self) -> None:
        if self._state is None:
            return
        tone = status_tone(self._state)
        self._theme.set_icon(self, "warning" if tone == "warn" else "key", tone)
        self._apply_color()

    def _apply_color(self) -> None:
        if self._state is None:
            return
        color = self._theme.color(status_tone(self._state))
        if self.palette().buttonText().color() != color:
            colors = QPalette()
            colors.setColor(QPalette.ColorRole.ButtonText, color)
            self.setPalette(colors)


def show_in_status_bar(window: QMainWindow, text: str, seconds: int) -> None:
    """Show a message for a while; a bar created only for it is hidden again."""
    _bar_of(window).showMessage(text, seconds * 1_000)


def _bar_of(window: QMainWindow) -> QStatusBar:
    """Return the window's status bar, created on first use."""
    known = window.findChild(QStatusBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
    if known is not None:
        return known
    bar = window.statusBar()
    bar.setSizeGripEnabled(False)
    bar.messageChanged.connect(lambda _: _show_bar(bar))
    return bar


def _show_bar(bar: QStatusBar) -> None:
    """Hide the bar while it is empty."""
    inside = bar.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
    is_used = any(not each.isHidden() for each in inside if not isinstance(each, QSizeGrip))
    bar.setVisible(is_used or bool(bar.currentMessage()))
