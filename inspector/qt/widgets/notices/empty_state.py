"""Placeholder for a panel without content (empty, loading or failed), and the spinner.

`ContentStack` switches between the content and the placeholder. The spinner's timer stops while hidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

from PySide6.QtCore import QRectF, Qt, QTimer
from PySide6.QtGui import QAction, QFont, QFontMetrics, QHideEvent, QPainter, QPaintEvent, QPen, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QStackedWidget, QWidget

from inspector.qt.theme import ICON_SIZE, SPACE_2, SPACE_3, SPACE_4, Theme, Tone
from inspector.qt.widgets.inputs.controls import ActionButton, ButtonKind
from inspector.qt.widgets.layout import STRETCH, discard, hbox, vbox
from inspector.qt.widgets.text.labels import PlainLabel

_MARK_SIZE = 28
_TEXT_WIDTH = 420
_QUOTED_WIDTH = 720
_STEP_MS = 50
_STEP_DEGREES = 20
_FULL_TURN = 360 * 16  # Qt measures arcs in 1/16 degree


class ContentStack(QStackedWidget):
    """Shows `content` when opened; otherwise why there is none, and what to do."""

    def __init__(self, theme: Theme, content: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._content = content
        self._placeholder = EmptyState(theme)
        self._explained: tuple[object, ...] = ()
        self.addWidget(content)
        self.addWidget(self._placeholder)

    def open(self) -> None:
        self.setCurrentWidget(self._content)

    def is_open(self) -> bool:
        return self.currentWidget() is self._content

    def explain(
        self,
        state: Literal["empty", "loading", "failed"],
        icon: str,
        title: str,
        sentence: str,
        next_step: str = "",
        action: QAction | None = None,
        other: QAction | None = None,
    ) -> None:
        """Hide the content and explain why.

        `action` is the next step, or cancels the wait; `other` is an alternative. Can be called repeatedly
        with the same values: the button is not recreated under a click.
        """
        reported = (state, icon, title, sentence, next_step, action, other)
        if reported == self._explained and not self.is_open():
            return
        self._explained = reported
        actions = [each for each in (action, other) if each is not None]
        if state == "loading":
            self._placeholder.show_loading(title, sentence, action, next_step, other)
        elif state == "failed":
            self._placeholder.show_failed(title, sentence, next_step, actions)
        else:
            self._placeholder.show_empty(icon, title, sentence, actions)
        self.setCurrentWidget(self._placeholder)


class EmptyState(QWidget):
    """A centered icon, title, sentence and buttons. The first button is primary."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icon: tuple[str, Tone] | None = None
        self._mark = QLabel()
        self._mark.setFixedSize(_MARK_SIZE, _MARK_SIZE)
        self._title = _Title(theme, wrap=True)
        self._text_label = PlainLabel(theme, tone="muted", wrap=True, selectable=True)
        self._buttons: list[ActionButton] = []
        self._button_row = hbox(None)
        self._column = vbox(self, gap=-1, margin=None)
        self._lay_out()
        theme.changed.connect(self._paint_mark)

    @cached_property
    def _spinner(self) -> Spinner:
        """The spinner below the icon's place, created when something is first loaded."""
        spinner = Spinner(self._theme, _MARK_SIZE - 4)
        position = self._column.indexOf(self._mark) + 1
        self._column.insertWidget(position, spinner, 0, Qt.AlignmentFlag.AlignHCenter)
        return spinner

    @cached_property
    def _advice(self) -> tuple[PlainLabel, PlainLabel]:
        """The labels of the next step and of quoted output, created for the first state that has one."""
        step = PlainLabel(self._theme, wrap=True)
        step.setAlignment(Qt.AlignmentFlag.AlignCenter)
        quoted = PlainLabel(self._theme, wrap=True, mono=True, selectable=True)
        position = self._column.indexOf(self._text_row) + 1
        self._column.insertLayout(position, _centered(step))
        self._column.insertLayout(position + 1, _centered(quoted, _QUOTED_WIDTH))
        return step, quoted

    def show_empty(self, icon: str, title: str, sentence: str, actions: Sequence[QAction] = ()) -> None:
        """Show that there is no content: what would be here, and how to get it."""
        self._show(icon, "muted", title, sentence, "", actions, "primary")

    def show_failed(self, title: str, cause: str, next_step: str, actions: Sequence[QAction] = ()) -> None:
        """Show a failure: the cause, what to do, and a button that does it."""
        self._show("error", "error", title, cause, next_step, actions, "primary")

    def show_loading(
        self,
        title: str,
        waits_for: str,
        cancel: QAction | None = None,
        next_step: str = "",
        other: QAction | None = None,
    ) -> None:
        """Show what is being waited for, and let the user cancel. `other` is an alternative."""
        actions = [each for each in (cancel, other) if each is not None]
        self._show(None, "muted", title, waits_for, next_step, actions, "plain")

    def _lay_out(self) -> None:
        column = self._column
        column.setContentsMargins(SPACE_4, SPACE_3, SPACE_4, SPACE_3)
        column.setSpacing(SPACE_2)
        column.addStretch(2)
        column.addWidget(self._mark, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addSpacing(SPACE_2)
        for label in (self._title, self._text_label):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._text_row = _centered(self._text_label)
        column.addLayout(_centered(self._title))
        column.addLayout(self._text_row)
        column.addSpacing(SPACE_3)
        column.addLayout(self._button_row)
        column.addStretch(3)
        self._button_row.addStretch()
        self._button_row.addStretch()

    def _show(
        self,
        icon: str | None,
        tone: Tone,
        title: str,
        sentence: str,
        next_step: str,
        actions: Sequence[QAction],
        first: ButtonKind,
    ) -> None:
        self._icon = (icon, tone) if icon else None
        self._mark.setVisible(icon is not None)
        if icon is None or "_spinner" in vars(self):
            self._spinner.setVisible(icon is None)
        _set_text(self._title, title)
        _set_text(self._text_label, sentence)
        if next_step or "_advice" in vars(self):
            self._show_advice(next_step)
        self.setAccessibleName(title)
        self._paint_mark()
        self._set_buttons(actions, first)

    def _show_advice(self, text: str) -> None:
        """Show the next step; the lines after the first quote output, such as stderr, where spaces matter."""
        step, _, quoted = text.partition("\n")
        step_label, quoted_label = self._advice
        _set_text(step_label, step)
        _set_text(quoted_label, quoted)
        metrics = QFontMetrics(self._theme.mono_font())
        max_width = max(metrics.horizontalAdvance(line) for line in quoted.split("\n"))
        quoted_label.setMaximumWidth(min(max_width + SPACE_2, _QUOTED_WIDTH))  # as a centered block

    def _set_buttons(self, actions: Sequence[QAction], first: ButtonKind) -> None:
        for button in self._buttons:
            discard(button)
        kinds: list[ButtonKind] = [first] + ["plain"] * len(actions)
        self._buttons = [
            ActionButton(action, kind, self) for action, kind in zip(actions, kinds, strict=False)
        ]
        for position, button in enumerate(self._buttons):
            self._button_row.insertWidget(1 + position, button)
            button.show()  # now: the layout would do so only after pending events

    def _paint_mark(self) -> None:
        if self._icon is not None:
            name, tone = self._icon
            self._mark.setPixmap(self._theme.pixmap(name, tone, _MARK_SIZE, self.devicePixelRatioF()))


class _Title(PlainLabel):
    def _label_font(self) -> QFont:
        return self._theme.ui_font(1.15, QFont.Weight.DemiBold)


def _set_text(label: PlainLabel, text: str) -> None:
    label.setText(text)
    label.setVisible(bool(text))


def _centered(label: QLabel, width: int = _TEXT_WIDTH) -> QHBoxLayout:
    """Center a label in a readable width; its own alignment would stop it from wrapping."""
    label.setMaximumWidth(width)
    return hbox(None, STRETCH, (label, 1000), STRETCH, gap=-1)


class Spinner(QWidget):
    """A spinning arc; its timer runs only while it is visible."""

    def __init__(self, theme: Theme, size: int = ICON_SIZE, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._angle = 0
        self._timer = QTimer(self)
        self._timer.setInterval(_STEP_MS)
        self._timer.timeout.connect(self._on_tick)
        self.setFixedSize(size, size)
        self.setAccessibleName("Busy")
        theme.changed.connect(self.update)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        self._timer.stop()
        super().hideEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        width = max(1.75, self.width() / 11)
        inset = width / 2 + 1
        box = QRectF(self.rect()).adjusted(inset, inset, -inset, -inset)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._theme.color("line"), width))
        painter.drawEllipse(box)
        painter.setPen(QPen(self._theme.color("accent"), width, c=Qt.PenCapStyle.RoundCap))
        painter.drawArc(box, -self._angle * 16, _FULL_TURN // 4)

    def _on_tick(self) -> None:
        self._angle = (self._angle + _STEP_DEGREES) % 360
        self.update()
