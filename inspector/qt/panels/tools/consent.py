"""The question before a tool that says of itself that it destroys is called for the first time."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction

from inspector.engine.toolhints import ToolHints
from inspector.protocol.types import Tool
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.alert import Alert

_ABOUT = "consent"


class Consent(QObject):
    """Asks in the alert for confirmation, once per tool while the app runs."""

    def __init__(self, alert: Alert) -> None:
        super().__init__(alert)
        self._alert = alert
        self._given: set[str] = set()
        self._waiting: tuple[str, Callable[[], None]] | None = None
        self._accept = QAction("Call it", self)
        self._refuse = QAction("Cancel", self)
        self._accept.triggered.connect(self._on_accepted)
        self._refuse.triggered.connect(self.forget_question)

    def begin(self, tool: Tool, begin: Callable[[], None]) -> None:
        """Call `begin` now if no confirmation is needed, else once it is given."""
        if tool.name in self._given or not ToolHints.of(tool).says_it_destroys:
            begin()
            return
        self._waiting = (tool.name, begin)
        actions = [self._accept, self._refuse]
        self._alert.say(_ABOUT, "It may delete or overwrite things.", "Call it?", actions)
        buttons = self._alert.findChildren(ActionButton)
        next(each for each in buttons if each.text() == self._accept.text()).setFocus()

    def forget_question(self) -> None:
        """Close the question without starting anything."""
        self._waiting = None
        self._alert.close_about(_ABOUT)

    def _on_accepted(self) -> None:
        waiting = self._waiting
        self.forget_question()
        if waiting is not None:
            tool, begin = waiting
            self._given.add(tool)
            begin()
