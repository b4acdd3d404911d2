"""The arguments of every tool that was looked at: nothing that was typed is ever put away."""

from __future__ import annotations

import contextlib

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from inspector.base.jsonvalue import JSONObject
from inspector.config.notkept import without_marks
from inspector.config.variables import Variables
from inspector.protocol.types import Tool
from inspector.qt.bridge import Bridge
from inspector.qt.forms.argumentseditor import ArgumentsEditor
from inspector.qt.forms.validating import Validating
from inspector.qt.panels.tools.variablesline import resolver
from inspector.qt.theme import Theme
from inspector.schema.values import FormError

_SETTLED_MS = 400


class Editors(QStackedWidget):
    """One editor per tool.

    A new one starts with the tool's last arguments, from this run of the app or an earlier one.

    Signals:
        settled: Typing has paused, or other arguments are shown.
        marks_found: Last arguments were restored without secrets, which are not saved to disk; carries the
            JSON pointers to where they were.
    """

    settled = Signal()
    marks_found = Signal(object)

    def __init__(
        self, bridge: Bridge, server: str, theme: Theme, before: QWidget, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._server = server
        self._theme = theme
        self._before = before  # the widget before it in the tab order
        self._validating = Validating(bridge, self)
        self._tool: Tool | None = None
        self._known: dict[str, tuple[Tool, ArgumentsEditor]] = {}
        self._variables: dict[str, Variables] = {}
        self._edited: set[str] = set()
        self._nothing = ArgumentsEditor(theme, submit_keys=False)
        self.addWidget(self._nothing)
        self._timer = QTimer(self, interval=_SETTLED_MS, singleShot=True)
        self._timer.timeout.connect(self._on_settled)

    @property
    def current(self) -> ArgumentsEditor:
        editor = self.currentWidget()
        assert isinstance(editor, ArgumentsEditor)
        return editor

    def show_tool(self, tool: Tool) -> None:
        """Show a tool's arguments. If its schema changed meanwhile, they move to a new form."""
        self._settle_now()
        self._tool = tool
        self.setCurrentWidget(self._editor_of(tool))
        self.settled.emit()

    def show_none(self) -> None:
        self._settle_now()
        self._tool = None
        self.setCurrentWidget(self._nothing)
        self.settled.emit()

    def typed(self) -> JSONObject | None:
        """Return the arguments, valid or not; None if a part of them cannot be sent at all."""
        try:
            return self.current.arguments(anyway=True)
        except FormError:
            return None

    def put(self, arguments: JSONObject) -> None:
        """Load the arguments of an earlier or saved call."""
        cleaned, places = without_marks(arguments)
        self.current.set_arguments(cleaned)
        self._on_edited()
        self._settle_now()
        self.marks_found.emit(places)

    def set_variables(self, tool: str, variables: Variables) -> None:
        """Set how `${name}` is resolved for a tool: arguments are checked as they would be sent."""
        if self._variables.get(tool) != variables:
            self._variables[tool] = variables
            if tool in self._known:
                self._known[tool][1].set_resolve(resolver(variables))

    # --------------------------------------------------------------

    def _editor_of(self, tool: Tool) -> ArgumentsEditor:
        known, editor = self._known.get(tool.name, (None, None))
        if known is not None and editor is not None and known.input_schema == tool.input_schema:
            return editor
        renewed = self._make(tool)
        if editor is None:
            self._bridge.start(f"last arguments of {tool.name}", self._put_last(tool, renewed), self)
        else:
            with contextlib.suppress(FormError):
                renewed.set_arguments(editor.arguments(anyway=True))
            self.removeWidget(editor)
            editor.deleteLater()
        return renewed

    def _make(self, tool: Tool) -> ArgumentsEditor:
        editor = ArgumentsEditor(self._theme, submit_keys=False, validate=self._validating)
        editor.set_schema(tool.input_schema)
        if tool.name in self._variables:
            editor.set_resolve(resolver(self._variables[tool.name]))
        self.addWidget(editor)
        # Qt appends later widgets to the tab order, and moves a widget together with its content only if
        # that has a focus policy and an inner focus proxy.
        editor.setFocusProxy(editor.switch)
        editor.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        QWidget.setTabOrder(self._before, editor)
        editor.value_changed.connect(self._on_edited)
        self._known[tool.name] = (tool, editor)
        return editor

    async def _put_last(self, tool: Tool, editor: ArgumentsEditor) -> None:
        """Restore the last arguments, unless the user has already typed."""
        history = await self._bridge.ask_calls(lambda calls: calls.history_of(self._server, tool.name))
        last = history.last_arguments()
        is_there = self._known.get(tool.name, (None, None))[1] is editor
        if not last or tool.name in self._edited or not is_there:
            return
        cleaned, places = without_marks(last)
        editor.set_arguments(cleaned)
        if self._tool is not None and self._tool.name == tool.name:
            self.settled.emit()
            self.marks_found.emit(places)

    def _on_edited(self) -> None:
        if self._tool is not None:
            self._edited.add(self._tool.name)
            self._timer.start()

    def _settle_now(self) -> None:
        if self._timer.isActive():
            self._timer.stop()
            self._on_settled()

    def _on_settled(self) -> None:
        arguments = self.typed()
        if self._tool is not None and arguments is not None:
            tool = self._tool.name
            work = self._bridge.ask_calls(lambda calls: calls.remember(self._server, tool, arguments))
            self._bridge.start(f"remember arguments of {tool}", work, self)
        self.settled.emit()
