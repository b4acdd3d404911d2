"""Toasts in the lower right corner of a window, above everything else."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QElapsedTimer, QEvent, QObject, QPoint, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QAccessible, QAccessibleEvent, QAction, QColor, QCursor, QPainter, QPaintEvent
from PySide6.QtWidgets import QApplication, QStatusBar, QWidget

from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.inputs.controls import ActionButton, ButtonKind
from inspector.qt.widgets.layout import STRETCH, discard, hbox, vbox
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel

_WIDTH = 352
_MAX_SHOWN = 3
_SHOWN_MS = 10_000
_CHECK_AGAIN_MS = 2_000  # while the user may be about to use it
_POINTER_IDLE_MS = 30_000  # a pointer that has not moved for this long is ignored
_SHADOW = 5
_RADIUS = 7


class Toasts(QWidget):
    """A stack of toasts, newest at the bottom. More than three are queued and counted.

    It never takes the focus, so typing is not interrupted. A toast closes after a while, but not while the
    pointer is on the stack or its buttons have the focus. A pointer that was already there, or does not
    move for long, does not count.

    Signals:
        action_triggered: The user pressed a toast's first button; carries its key.
        all_requested: The user wants to see the queued toasts too.
    """

    action_triggered = Signal(int)
    all_requested = Signal()

    def __init__(self, theme: Theme, window: QWidget) -> None:
        super().__init__(window)
        self._theme = theme
        self._window = window
        self._toasts: dict[int, Toast] = {}
        self._pointer = QPoint()  # where it was at the last check
        self._pointer_idle = QElapsedTimer()
        self._pointer_idle.start()
        self.more_action = QAction("More", self)
        self.more_action.triggered.connect(self.all_requested)
        self._more = _FloatingSheet(theme)
        hbox(self._more, _button(self.more_action, "quiet"), margin=SPACE_1 + _SHADOW)
        self._column = vbox(self, self._more, gap=0)
        self.setFixedWidth(_WIDTH)
        self.hide()
        window.installEventFilter(self)

    @property
    def shown(self) -> tuple[Toast, ...]:
        """The visible toasts, oldest first."""
        return tuple(self._toasts.values())[:_MAX_SHOWN]

    def all_keys(self) -> tuple[int, ...]:
        """Return the keys of all toasts, including queued ones."""
        return tuple(self._toasts)

    def put(self, key: int, title: str, text: str, about: str, note: str, action_text: str) -> None:
        """Show or update a toast. `note` is beside the title, `about` below the text.

        `action_text` is the text of its first button.
        """
        toast = self._toasts.get(key)
        if toast is None:
            toast = self._toasts[key] = Toast(self._theme, key, action_text)
            toast.first_action.triggered.connect(partial(self._on_action, key))
            toast.later_action.triggered.connect(partial(self.withdraw, key))
            toast.timer.timeout.connect(partial(self._on_time_up, toast))
            self._column.insertWidget(self._column.count() - 1, toast)
        toast.show_message(title, text, about, note)
        self._arrange()

    def withdraw(self, key: int) -> None:
        """Remove a toast that is no longer needed."""
        toast = self._toasts.pop(key, None)
        if toast is not None:
            toast.timer.stop()
            discard(toast)
            self._arrange()

    def _on_action(self, key: int) -> None:
        self.withdraw(key)
        self.action_triggered.emit(key)

    def _is_held(self, toast: Toast) -> bool:
        """Return whether the user is about to use a toast."""
        focused = QApplication.focusWidget()
        return self._is_pointed_at(toast) or (focused is not None and self.isAncestorOf(focused))

    def _is_pointed_at(self, toast: Toast) -> bool:
        pointer = QCursor.pos()
        if pointer != self._pointer:
            self._pointer = pointer
            self._pointer_idle.restart()
        is_over = self.rect().contains(self.mapFromGlobal(pointer))
        return (
            is_over and pointer != toast.pointer_at_start and self._pointer_idle.elapsed() < _POINTER_IDLE_MS
        )

    def _on_time_up(self, toast: Toast) -> None:
        if self._is_held(toast):
            toast.timer.start(_CHECK_AGAIN_MS)
        else:
            self.withdraw(toast.key)

    def _arrange(self) -> None:
        shown = self.shown
        for toast in self._toasts.values():
            toast.setVisible(toast in shown)
        for toast in shown:
            toast.begin()
        hidden = len(self._toasts) - len(shown)
        self.more_action.setText(f"{hidden:,} more")
        self._more.setVisible(bool(hidden))
        self.setVisible(bool(shown))
        if shown:
            self._reposition()
            self.raise_()

    def _reposition(self) -> None:
        """Move to the corner, above the status bar."""
        self._column.activate()
        self.resize(_WIDTH, self._column.sizeHint().height())
        bar = self._window.findChild(QStatusBar)
        below = bar.height() if bar is not None and bar.isVisible() else 0
        room = self._window.rect()
        left = max(room.width() - self.width() - SPACE_3, 0)
        self.move(left, max(room.height() - below - self.height() - SPACE_3, 0))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Resize and self.isVisible():
            self._reposition()
        return super().eventFilter(watched, event)


class _FloatingSheet(QWidget):
    """A floating sheet with a border and a painted shadow."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        theme.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        sheet = QRectF(self.rect()).adjusted(_SHADOW, _SHADOW, -_SHADOW, -_SHADOW)
        for step in range(_SHADOW, 0, -1):
            painter.setBrush(QColor(0, 0, 0, 5))
            grown = sheet.adjusted(-step, -step + 1, step, step)
            painter.drawRoundedRect(grown, _RADIUS + step, _RADIUS + step)
        painter.setPen(self._theme.color("edge"))
        painter.setBrush(self._theme.color("raised"))
        painter.drawRoundedRect(sheet.adjusted(0.5, 0.5, -0.5, -0.5), _RADIUS, _RADIUS)


class Toast(_FloatingSheet):
    """A toast: title, note, text, and two buttons."""

    def __init__(self, theme: Theme, key: int, action_text: str) -> None:
        super().__init__(theme)
        self.key = key
        self.timer = QTimer(self, singleShot=True)
        self.pointer_at_start = QPoint()
        self._title = Heading(theme)
        self._note = MutedLabel(theme)
        self._label = PlainLabel(theme, elide=Qt.TextElideMode.ElideRight)
        self._about = MutedLabel(theme)
        self.first_action = QAction(action_text, self)
        self.later_action = QAction("Later", self)
        self.later_action.setToolTip("Dismiss; the request stays in the Inbox")
        self._lay_out()

    def show_message(self, title: str, text: str, about: str, note: str) -> None:
        self._title.setText(title)
        self._note.setText(note)
        self._label.setText(text)
        self._about.setText(about)
        self._about.setVisible(bool(about))
        self.setAccessibleName(". ".join(word for word in (title, text, about) if word))

    def begin(self) -> None:
        """Start the timer when it becomes visible."""
        if not self.timer.isActive():
            self.timer.start(_SHOWN_MS)
            self.pointer_at_start = QCursor.pos()
            QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.Alert))

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.color("wait"))
        height = self.height() - 2 * (_SHADOW + _RADIUS)
        painter.drawRoundedRect(QRectF(_SHADOW + 1, _SHADOW + _RADIUS, 3, height), 1.5, 1.5)

    def _lay_out(self) -> None:
        buttons = hbox(
            None,
            _button(self.first_action, "plain"),
            _button(self.later_action, "quiet"),
            STRETCH,
            gap=SPACE_1,
            margin=(0, SPACE_1, 0, 0),
        )
        vbox(
            self,
            hbox(None, (self._title, 1), self._note),
            self._label,
            self._about,
            buttons,
            gap=2,
            margin=(SPACE_4 + _SHADOW, SPACE_2 + _SHADOW, SPACE_3 + _SHADOW, SPACE_2 + _SHADOW),
        )


def _button(action: QAction, kind: ButtonKind) -> ActionButton:
    """Create a button that does not take the focus when clicked."""
    button = ActionButton(action, kind)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    button.setAutoDefault(False)
    return button
