"""Small controls: text, action and icon buttons, segmented switch, key bindings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QActionEvent,
    QEnterEvent,
    QFont,
    QFontMetrics,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
    QShortcut,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QButtonGroup,
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from inspector.qt.theme import ICON_SIZE, Theme
from inspector.qt.widgets.text.labels import plain_tooltip

ButtonKind = Literal["plain", "primary", "danger", "quiet"]
ENTER_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
# Keys that move the selection of a list, and by how many rows.
STEP_KEYS = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 8, Qt.Key.Key_PageUp: -8}
_COMPLETION_MODIFIERS = (Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.MetaModifier)
_PADDING = 4
_TEXT_BUTTON_RADIUS = 4.0
_SEGMENT_RADIUS = 5.0


def is_completion_key(event: QKeyEvent) -> bool:
    """True for Ctrl+Space. Meta is the Control key of macOS, where Command+Space opens Spotlight."""
    return event.key() == Qt.Key.Key_Space and event.modifiers() in _COMPLETION_MODIFIERS


class ActionButton(QPushButton):
    """A push button that shows and triggers a QAction (Qt offers this for tool buttons only).

    Text and state are the action's. `kind` selects the style: at most one `primary` in view; `danger` for
    destructive actions; `quiet` looks like a link.
    """

    def __init__(self, action: QAction, kind: ButtonKind = "plain", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._action = action
        self.setProperty("kind", kind)
        self.clicked.connect(action.trigger)
        action.changed.connect(self._on_action_changed)
        self._on_action_changed()

    def _on_action_changed(self) -> None:
        action = self._action
        self.setText(action.text())
        self.setEnabled(action.isEnabled())
        self.setToolTip(plain_tooltip(action.toolTip() if action.toolTip() != action.iconText() else ""))
        self.setAccessibleName(action.iconText())


class ActionToolButton(QToolButton):
    """A tool button that shows and triggers a QAction.

    It follows the action by itself. QToolButton would set it as the default action again after each change,
    and each time connect to it once more (Qt 6.11): memory grows, and every change takes longer.
    """

    def __init__(self, action: QAction, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setDefaultAction(action)

    def actionEvent(self, event: QActionEvent) -> None:
        action = event.action()
        if event.type() is QEvent.Type.ActionChanged and action == self.defaultAction():
            self._follow(action)
        else:
            super().actionEvent(event)

    def _follow(self, action: QAction) -> None:
        self.setText(action.iconText().replace("&", "&&"))
        self.setIcon(action.icon())
        self.setToolTip(action.toolTip())
        self.setCheckable(action.isCheckable())
        self.setChecked(action.isChecked())
        self.setEnabled(action.isEnabled())


def icon_button(action: QAction) -> QToolButton:
    """Create a button for an action with an icon."""
    button = ActionToolButton(action)
    button.setIconSize(QSize(ICON_SIZE, ICON_SIZE))
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    button.setAccessibleName(action.iconText())
    return button


class TextButton(QAbstractButton):
    """Text in a palette role's color, with a subtle background on hover."""

    def __init__(
        self, text: str, font: QFont, role: QPalette.ColorRole, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._role = role
        self.setFont(font)
        self.setText(text)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self.font())
        return QSize(metrics.horizontalAdvance(self._widest_text()) + 2 * _PADDING, metrics.height() + 2)

    def shown_text(self) -> str:
        """Return the text to paint now; its place is as wide as `_widest_text`."""
        return self.text()

    def _widest_text(self) -> str:
        return self.text()

    def enterEvent(self, event: QEnterEvent) -> None:
        self.update()
        super().enterEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if self.underMouse() or self.isDown():
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self.palette().color(QPalette.ColorRole.Midlight))
            painter.drawRoundedRect(QRectF(self.rect()), _TEXT_BUTTON_RADIUS, _TEXT_BUTTON_RADIUS)
        painter.setPen(self.palette().color(self._role))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter.value, self.shown_text())


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
        button = self._neighbor(step)
        button.setFocus(Qt.FocusReason.TabFocusReason)
        button.click()

    def _neighbor(self, step: int) -> QAbstractButton:
        """Return the next visible segment in a direction, wrapping around."""
        count = len(self._group.buttons())
        options = (self._group.button((self.index() + step * far) % count) for far in range(1, count + 1))
        return next(button for button in options if not button.isHidden())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._theme.color("edge"), 1))
        painter.setBrush(self._theme.color("raised"))
        painter.drawRoundedRect(
            QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), _SEGMENT_RADIUS, _SEGMENT_RADIUS
        )

    def _button(self, index: int, label: str) -> QToolButton:
        button = QToolButton(self)
        button.setText(label)
        button.setCheckable(True)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._group.addButton(button, index)
        return button


def bind_keys(
    widget: QWidget, keys: str | QKeySequence | QKeySequence.StandardKey, action: Callable[[], object]
) -> QShortcut:
    shortcut = QShortcut(QKeySequence(keys), widget)
    shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
    shortcut.activated.connect(action)
    return shortcut
