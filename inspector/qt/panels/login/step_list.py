"""List of login steps with state and worst finding, and the buttons that control the login."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QAction, QPainter
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QStyleOptionViewItem, QWidget

from inspector.base.units import plural
from inspector.oauth.login.steps import LoginView, Step, StepId, StepState
from inspector.qt.actions import native_keys
from inspector.qt.panels.login.findings import SEVERITY_MARKS, paint_state, worst
from inspector.qt.theme import ICON_SIZE, SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.inputs.controls import ActionButton, ButtonKind
from inspector.qt.widgets.item_views import RowDelegate, style_list
from inspector.qt.widgets.layout import hbox
from inspector.qt.widgets.notices.empty_state import Spinner
from inspector.qt.widgets.text.badge import paint_dot
from inspector.qt.widgets.text.labels import MutedLabel, plain_tooltip

_PENDING = (StepState.READY, StepState.WAITING)
_ENDED = (StepState.DONE, StepState.FAILED, StepState.SKIPPED)
_STEP_ROLE = Qt.ItemDataRole.UserRole


class StepList(QListWidget):
    """The login's steps. Follows the login while the user stays on its current step.

    Signals:
        step_chosen: Another step was selected; carries its StepId.
    """

    step_chosen = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._steps: tuple[Step, ...] = ()
        self._flow = 0
        self._current: StepId | None = None
        self.setAccessibleName("Login steps")
        style_list(self, theme)
        self.setItemDelegate(_StepRows(theme, self))
        self.currentRowChanged.connect(self._on_row_changed)
        theme.changed.connect(self.viewport().update)

    def show_view(self, view: LoginView) -> None:
        follows = view.flow_id != self._flow or self.chosen() in (self._current, None)
        self._flow = view.flow_id
        self._fill(view.steps)
        current = view.current
        self._current = current.id if current is not None else None
        if follows:
            self.choose(self._current or view.steps[-1].id)

    def choose(self, step: StepId) -> None:
        row = next((position for position, each in enumerate(self._steps) if each.id is step), -1)
        if row >= 0:
            self.setCurrentRow(row)

    def chosen(self) -> StepId | None:
        row = self.currentRow()
        return self._steps[row].id if 0 <= row < len(self._steps) else None

    def sizeHint(self) -> QSize:
        return QSize(230, super().sizeHint().height())

    def _fill(self, steps: tuple[Step, ...]) -> None:
        if [each.id for each in steps] != [each.id for each in self._steps]:
            self.blockSignals(True)
            self.clear()
            for _ in steps:
                self.addItem(QListWidgetItem())
            self.blockSignals(False)
        self._steps = steps
        for position, step in enumerate(steps):
            item = self.item(position)
            if item.data(_STEP_ROLE) != step:
                item.setData(_STEP_ROLE, step)
                item.setText(f"{position + 1}  {step.id.value}")
                text = _state_text(step)
                item.setToolTip(plain_tooltip(text))
                item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{step.id.value}, {text}")

    def _on_row_changed(self, row: int) -> None:
        if 0 <= row < len(self._steps):
            self.step_chosen.emit(self._steps[row].id)


def _state_text(step: Step) -> str:
    found = f", {plural(len(step.findings), 'finding')}" if step.findings else ""
    return f"{step.state.value}{found}"


class _StepRows(RowDelegate):
    def paint_row(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        box: QRect,
        text: str,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        step = index.data(_STEP_ROLE)
        if not isinstance(step, Step):
            return
        mark = QRectF(box.left(), box.top(), ICON_SIZE, box.height())
        paint_state(painter, mark, self._theme, step.state)
        room = box.adjusted(ICON_SIZE + SPACE_1, 0, -self._paint_worst(painter, box, step), 0)
        is_muted = step.state in (StepState.WAITING, StepState.SKIPPED)
        painter.setFont(option.font)
        painter.setPen(self._theme.color("muted" if is_muted else "text"))
        self.draw_text(painter, room, text)

    def _paint_worst(self, painter: QPainter, box: QRect, step: Step) -> int:
        """Paint the worst severity and return the width it takes."""
        severity = worst(step.findings)
        if severity is None:
            return 0
        shape, tone = SEVERITY_MARKS[severity]
        mark = QRectF(box.right() - ICON_SIZE, box.top(), ICON_SIZE, box.height())
        paint_dot(painter, mark, shape, self._theme.color(tone))
        return ICON_SIZE + SPACE_1


class LoginControls(QWidget):
    """The buttons that start a login, and during one continue, go back or stop.

    Signals:
        start_requested: Start a login; carries whether to run all steps.
        command_requested: Control the login; carries "next", "run", "retry" or "cancel".
        step_command_requested: Run to a step or go back; carries "run_to" or "back", and the StepId.
    """

    start_requested = Signal(bool)
    command_requested = Signal(str)
    step_command_requested = Signal(str, object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._chosen: StepId | None = None
        self.log_in = self._action("Log in", "Run all steps at once")
        self.begin = self._action("Log in step by step", "Start a login and review each step before it runs")
        self.next = self._action("Next", native_keys("Run the next step (Ctrl+Return here)"))
        self.run = self._action("Run to the end", "Run all remaining steps")
        self.run_to = self._action("Run to here", "Run all steps up to and including the selected one")
        self.retry = self._action("Retry", "Run the failed step again")
        self.back = self._action(
            "Go back to here", "Go back to the selected step; the results of later steps are discarded"
        )
        self.cancel = self._action("Cancel", "Cancel this login")
        self._spinner = Spinner(theme)
        self._label = MutedLabel(theme)
        kinds: dict[QAction, ButtonKind] = {self.log_in: "primary", self.next: "primary"}
        self._buttons = {
            action: ActionButton(action, kinds.get(action, "plain"))
            for action in (
                *(self.log_in, self.begin, self.next, self.run, self.run_to),
                *(self.retry, self.back, self.cancel),
            )
        }
        self._lay_out()
        self._connect()
        self.show_view(None, None)

    def show_view(self, view: LoginView | None, chosen: StepId | None) -> None:
        """Show the login's state and the selected step."""
        self._chosen = chosen
        active = view is not None and not view.is_over
        is_idle = view is not None and not view.is_running
        current = view.current if view is not None else None
        state = current.state if current is not None else None
        has_failed = active and state is StepState.FAILED
        self._show_only(
            {
                **dict.fromkeys((self.log_in, self.begin), not active),
                **dict.fromkeys((self.next, self.run, self.run_to, self.cancel), active),
                self.retry: has_failed,
                self.back: view is not None,
            }
        )
        self.log_in.setText("Log in again" if view is not None else "Log in")
        self.retry.setEnabled(has_failed and is_idle)
        has_prompt = view is not None and view.prompt is not None
        is_ready = active and is_idle and state is StepState.READY and not has_prompt
        self.next.setEnabled(is_ready)
        self.run.setEnabled(is_ready)
        chosen_state = _state_of(view, chosen)
        self.run_to.setEnabled(is_ready and chosen_state in _PENDING)
        self.back.setEnabled(is_idle and chosen_state in _ENDED)
        self.cancel.setEnabled(active)
        self._spinner.setVisible(view is not None and view.is_running)
        self._label.setText(_status_text(view))

    def _show_only(self, shown: dict[QAction, bool]) -> None:
        """Hide unneeded buttons first: all at once may need more room than there is."""
        for action in sorted(shown, key=shown.__getitem__):
            self._buttons[action].setVisible(shown[action])

    def _connect(self) -> None:
        self.log_in.triggered.connect(lambda: self.start_requested.emit(True))
        self.begin.triggered.connect(lambda: self.start_requested.emit(False))
        self.next.triggered.connect(lambda: self.command_requested.emit("next"))
        self.run.triggered.connect(lambda: self.command_requested.emit("run"))
        self.retry.triggered.connect(lambda: self.command_requested.emit("retry"))
        self.cancel.triggered.connect(lambda: self.command_requested.emit("cancel"))
        self.run_to.triggered.connect(lambda: self.step_command_requested.emit("run_to", self._chosen))
        self.back.triggered.connect(lambda: self.step_command_requested.emit("back", self._chosen))

    def _action(self, text: str, tip: str) -> QAction:
        action = QAction(text, self)
        action.setToolTip(tip)
        return action

    def _lay_out(self) -> None:
        hbox(
            self,
            *self._buttons.values(),
            self._spinner,
            (self._label, 1),
            margin=(SPACE_3, SPACE_1, SPACE_3, SPACE_2),
        )


def _state_of(view: LoginView | None, chosen: StepId | None) -> StepState | None:
    steps = view.steps if view is not None else ()
    return next((step.state for step in steps if step.id is chosen), None)


def _status_text(view: LoginView | None) -> str:
    if view is None:
        return ""
    if view.is_over:
        return "Logged in" if view.result is not None else "Ended"
    if view.prompt is not None:
        return "Waiting for your input"
    current = view.current
    if current is None:
        return ""
    done = sum(step.state in (StepState.DONE, StepState.SKIPPED) for step in view.steps)
    return f"{done} of {len(view.steps)} steps done"
