"""Argument editors of the tools visited last, the input of all others, and the call variables bar.

The bar below the form lists the call variables that the arguments use, with their values.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QStackedWidget, QWidget

from inspector.base.json.values import JSON, JSONObject, excerpt, shorten
from inspector.base.plain_text import one_line
from inspector.base.redaction import MASK
from inspector.config.calls.history import without_marks
from inspector.config.calls.variables import Variables, expand, is_known, is_secret, names_in
from inspector.protocol.types import Tool
from inspector.qt.bridge import Bridge
from inspector.qt.forms.schema.arguments_editor import ArgumentsEditor, EditorState, SchemaValidator
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import discard, hbox
from inspector.qt.widgets.text.labels import PlainLabel
from inspector.schema.values import Expansion, FormError, Resolve

_SETTLE_DELAY_MS = 400
_MAX_EDITORS = 4
_MAX_LISTED = 6
_MAX_LENGTH = 30


class ToolArguments(QStackedWidget):
    """One editor per tool, of which only those used last are kept: a form takes 1 to 2 MB.

    What was typed for the other tools is kept, and shown in a new editor when the user returns. A tool's
    first editor starts with its last arguments, from this session or an earlier one.

    Signals:
        settled: Typing has paused, or other arguments are shown.
        secrets_omitted: Arguments were restored without secrets, which are not saved to disk; carries the
            JSON pointers to where they were.
    """

    settled = Signal()
    secrets_omitted = Signal(object)

    def __init__(
        self, bridge: Bridge, server: str, theme: Theme, before: QWidget, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._server = server
        self._theme = theme
        self._before = before  # the widget before it in the tab order
        self._validator = SchemaValidator(bridge, self)
        self._tool: Tool | None = None
        self._editors: dict[str, tuple[Tool, ArgumentsEditor]] = {}  # the one used last is the last
        self._states: dict[str, EditorState] = {}  # of edited tools without an editor
        self._variables: dict[str, Variables] = {}
        self._edited: set[str] = set()
        self._empty_editor = ArgumentsEditor(theme, submit_keys=False)
        self.addWidget(self._empty_editor)
        self._timer = QTimer(self, interval=_SETTLE_DELAY_MS, singleShot=True)
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
        self.setCurrentWidget(self._empty_editor)
        self.settled.emit()

    def typed(self) -> JSONObject | None:
        """Return the arguments, valid or not; None if a part of them cannot be sent at all."""
        try:
            return self.current.arguments(force=True)
        except FormError:
            return None

    def load(self, arguments: JSONObject) -> None:
        """Load the arguments of an earlier or saved call."""
        cleaned, pointers = without_marks(arguments)
        self.current.set_arguments(cleaned)
        self._on_edited()
        self._settle_now()
        self.secrets_omitted.emit(pointers)

    def set_variables(self, tool: str, variables: Variables) -> None:
        """Set how `${name}` is resolved for a tool: arguments are checked as they would be sent."""
        if self._variables.get(tool) != variables:
            self._variables[tool] = variables
            if tool in self._editors:
                self._editors[tool][1].set_resolve(resolver(variables))

    def _editor_of(self, tool: Tool) -> ArgumentsEditor:
        known_tool, editor = self._editors.pop(tool.name, (None, None))
        if known_tool is not None and editor is not None and _schema_of(known_tool) == _schema_of(tool):
            self._editors[tool.name] = (tool, editor)
            return editor
        new_editor = self._make(tool)
        state = editor.state() if editor is not None else self._states.pop(tool.name, None)
        if state is not None:
            new_editor.restore(state)
        elif editor is None:
            self._bridge.start(f"last arguments of {tool.name}", self._restore_last(tool, new_editor), self)
        if editor is not None:
            discard(editor)
        self._delete_oldest(new_editor)
        return new_editor

    def _delete_oldest(self, current: ArgumentsEditor) -> None:
        """Delete the editors above the limit, except those with an entry that cannot be read."""
        for name, (_, editor) in list(self._editors.items()):
            if len(self._editors) <= _MAX_EDITORS:
                return
            state = editor.state()
            if state is not None and editor not in (current, self.currentWidget()):
                del self._editors[name]
                if name in self._edited:
                    self._states[name] = state
                discard(editor)

    def _make(self, tool: Tool) -> ArgumentsEditor:
        editor = ArgumentsEditor(
            self._theme, submit_keys=False, validate=self._validator, takes_own_keys=True
        )
        editor.set_schema(_schema_of(tool))
        if tool.name in self._variables:
            editor.set_resolve(resolver(self._variables[tool.name]))
        self.addWidget(editor)
        # Qt appends later widgets to the tab order, and moves a widget together with its content only if
        # that has a focus policy and an inner focus proxy.
        editor.setFocusProxy(editor.switch)
        editor.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        QWidget.setTabOrder(self._before, editor)
        editor.value_changed.connect(self._on_edited)
        self._editors[tool.name] = (tool, editor)
        return editor

    async def _restore_last(self, tool: Tool, editor: ArgumentsEditor) -> None:
        """Restore the last arguments, unless the user has already typed."""
        history = await self._bridge.ask(lambda engine: engine.calls.history_of(self._server, tool.name))
        last = history.last_arguments()
        is_current = self._editors.get(tool.name, (None, None))[1] is editor
        if not last or tool.name in self._edited or not is_current:
            return
        cleaned, pointers = without_marks(last)
        editor.set_arguments(cleaned)
        if self._tool is not None and self._tool.name == tool.name:
            self.settled.emit()
            self.secrets_omitted.emit(pointers)

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
            work = self._bridge.ask(lambda engine: engine.calls.remember(self._server, tool, arguments))
            self._bridge.start(f"remember arguments of {tool}", work, self)
        self.settled.emit()


def _schema_of(tool: Tool) -> JSON:
    """Return the input schema as it was sent, which may not be an object."""
    return tool.source.get("inputSchema", {})


class VariablesBar(QWidget):
    """The call variables that a call uses. Hidden if there are none."""

    def __init__(self, theme: Theme, edit: QAction, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.has_unknown = False
        self._label = PlainLabel(theme, wrap=True, tone="muted")
        hbox(self, (self._label, 1), ActionButton(edit, "quiet"), margin=(SPACE_3, SPACE_1, SPACE_2, SPACE_1))
        self.hide()

    def show_used(self, texts: JSON, variables: Variables) -> None:
        names = names_in(texts)
        self.setVisible(bool(names))
        self._label.setText("   ".join(_value_text(name, variables) for name in names[:_MAX_LISTED]))
        self.has_unknown = any(not is_known(name, variables) for name in names)
        self._label.set_tone("warn" if self.has_unknown else "muted")

    def text(self) -> str:
        return "" if self.isHidden() else self._label.text()


def resolver(variables: Variables) -> Resolve:
    """Return the function that resolves variables in an argument, for a form."""

    def resolve(text: str) -> Expansion:
        names = names_in(text)
        unknown = [name for name in names if not is_known(name, variables)]
        if unknown:
            names_text = ", ".join(_reference(name) for name in unknown[:_MAX_LISTED])
            verb = "has" if len(unknown) == 1 else "have"
            escaped = f"$${{{shorten(unknown[0], 40)}}}"
            return Expansion(
                problem=f"{names_text} {verb} no value: set it under Call variables, or write {escaped} for "
                "the text itself"
            )
        return Expansion(expand(text, variables), is_secret=any(is_secret(name) for name in names))

    return resolve


def _reference(name: str) -> str:
    return f"${{{shorten(name, 40)}}}"


def _value_text(name: str, variables: Variables) -> str:
    if not is_known(name, variables):
        return f"{_reference(name)} has no value"
    if is_secret(name):  # show only the name
        return f"{_reference(name)} = {MASK}"
    return f"{_reference(name)} = {one_line(excerpt(variables.values[name], _MAX_LENGTH))}"
