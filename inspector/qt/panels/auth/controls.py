"""The buttons that move a login, and which of them can be used now."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QWidget

from inspector.oauth.steps import LoginView, StepId, StepState
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.actionbutton import ActionButton, ButtonKind
from inspector.qt.widgets.labels import Muted
from inspector.qt.widgets.spinner import Spinner

_AHEAD = (StepState.READY, StepState.WAITING)
_BEHIND = (StepState.DONE, StepState.FAILED, StepState.SKIPPED)


class LoginControls(QWidget):
    """The buttons that start a login, and during one continue, go back or stop.

    Signals:
        begun: Start a login; carries whether it runs automatically.
        moved: Control the login; carries "next", "run", "retry" or "cancel".
        went: Run up to a step or go back to one; carries "run_to" or "back", and the StepId.
    """

    begun = Signal(bool)
    moved = Signal(str)
    went = Signal(str, object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._chosen: StepId | None = None
        self.log_in = self._action("Log in", "Go through all steps at once")
        self.begin = self._action("Step by step", "Begin a login, and look at each step before it is done")
        self.next = self._action("Next", "Do the next step (Ctrl+Return here)")
        self.run = self._action("Run to the end", "Do all steps that are left")
        self.run_to = self._action("Run to here", "Do the steps up to the chosen one, and that one too")
        self.retry = self._action("Retry", "Do the step again that failed")
        self.back = self._action(
            "Back to here", "Go back to the chosen step; what came after it is forgotten"
        )
        self.cancel = self._action("Cancel", "End this login")
        self._spinner = Spinner(theme)
        self._words = Muted(theme)
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
        is_asked = view is not None and view.question is not None
        is_ready = active and is_idle and state is StepState.READY and not is_asked
        self.next.setEnabled(is_ready)
        self.run.setEnabled(is_ready)
        picked = _state_of(view, chosen)
        self.run_to.setEnabled(is_ready and picked in _AHEAD)
        self.back.setEnabled(is_idle and picked in _BEHIND)
        self.cancel.setEnabled(active)
        self._spinner.setVisible(view is not None and view.is_running)
        self._words.setText(_words(view))

    def actions_of(self) -> list[QAction]:
        """Return the actions in button order."""
        return list(self._buttons)

    def is_shown(self, action: QAction) -> bool:
        return self._buttons[action].isVisibleTo(self)

    # --------------------------------------------------------------

    def _show_only(self, wanted: dict[QAction, bool]) -> None:
        """Hide unneeded buttons first: all at once may need more room than there is."""
        for action in sorted(wanted, key=wanted.__getitem__):
            self._buttons[action].setVisible(wanted[action])

    def _connect(self) -> None:
        self.log_in.triggered.connect(lambda: self.begun.emit(True))
        self.begin.triggered.connect(lambda: self.begun.emit(False))
        self.next.triggered.connect(lambda: self.moved.emit("next"))
        self.run.triggered.connect(lambda: self.moved.emit("run"))
        self.retry.triggered.connect(lambda: self.moved.emit("retry"))
        self.cancel.triggered.connect(lambda: self.moved.emit("cancel"))
        self.run_to.triggered.connect(lambda: self.went.emit("run_to", self._chosen))
        self.back.triggered.connect(lambda: self.went.emit("back", self._chosen))

    def _action(self, words: str, tip: str) -> QAction:
        action = QAction(words, self)
        action.setToolTip(tip)
        return action

    def _lay_out(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE_3, SPACE_1, SPACE_3, SPACE_2)
        row.setSpacing(SPACE_2)
        for button in self._buttons.values():
            row.addWidget(button)
        row.addWidget(self._spinner)
        row.addWidget(self._words, 1)


def _state_of(view: LoginView | None, chosen: StepId | None) -> StepState | None:
    steps = view.steps if view is not None else ()
    return next((step.state for step in steps if step.id is chosen), None)


def _words(view: LoginView | None) -> str:
    if view is None:
        return ""
    if view.is_over:
        return "Logged in" if view.result is not None else "Ended"
    if view.question is not None:
        return "Waits for your answer"
    current = view.current
    if current is None:
        return ""
    done = sum(step.state in (StepState.DONE, StepState.SKIPPED) for step in view.steps)
    return f"{done} of {len(view.steps)} done"
