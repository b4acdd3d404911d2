"""Prompts panel: the list, the selected prompt's arguments, and its messages, with the raw response."""

from __future__ import annotations

from functools import cached_property, partial

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QWidget

from inspector.base.json.values import JSON
from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.engine.content.content import Content, PromptContent, read_prompt
from inspector.engine.server_view import ServerView
from inspector.engine.views import CallOutcome, OutcomeKind, ServerStatus
from inspector.protocol.handshake import NegotiationResult
from inspector.protocol.revisions import missing_capability
from inspector.protocol.types import Listing, Malformed, Prompt
from inspector.qt.actions import Actions
from inspector.qt.bridge import Bridge
from inspector.qt.forms.named_values import NamedValue, NamedValues, ValueCompleter
from inspector.qt.models.feature_list import PROMPTS, FeatureListModel, Item
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.views.content_view import ContentView
from inspector.qt.views.feature_panel import Runner, SingleListPanel
from inspector.qt.views.messages import MessagesView, as_text
from inspector.qt.views.panel import PanelContext
from inspector.qt.views.response_view import SwitchedResponseView, parsed
from inspector.qt.widgets.code.raw_edit import claim_keys, is_submit
from inspector.qt.widgets.inputs.controls import ActionButton, icon_button
from inspector.qt.widgets.layout import STRETCH, hbox, hsplit, vbox
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel

_MAX_DESCRIPTION_LENGTH = 600
_SUBMIT_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_MIN_WIDTH = 180


class PromptsPanel(SingleListPanel):
    """The prompts of one server."""

    help_page = "tools"
    kind = "prompt"
    list_method = "prompts/list"

    def __init__(self, context: PanelContext) -> None:
        self.model = FeatureListModel(PROMPTS)
        super().__init__(context, self.model)
        self.view = PromptView(context.bridge, context.server, context.actions, context.theme)
        self.view.readiness_changed.connect(context.readiness_changed)
        self.view.result.uri_requested.connect(context.uri_requested)
        self.list.activated.connect(self._on_activated)
        self._lay_out_side_by_side(self.view, 220)

    def set_view(self, view: ServerView) -> None:
        self.view.set_connected(view.status is ServerStatus.CONNECTED)
        super().set_view(view)

    async def _fetch(self) -> Listing[Prompt]:
        return await self._bridge.ask(lambda engine: engine.list_prompts(self._server))

    def _on_connected(self, negotiated: NegotiationResult) -> None:
        missing = missing_capability("completion/complete", negotiated.capabilities, negotiated.revision)
        self.view.completes = not missing

    def _show_item(self, item: Item) -> None:
        if isinstance(item, Prompt):
            self.view.set_prompt(item)
        elif isinstance(item, Malformed):
            self.view.set_malformed(item)

    def _on_activated(self) -> None:
        """Handle Return on a prompt: focus its arguments, or get it if it has none."""
        rows = self.view.form.rows
        if rows:
            next(iter(rows.values())).setFocus()
        else:
            self.view.get()


class PromptView(QWidget):
    """Arguments on the left, messages on the right. One request at a time.

    Signals:
        readiness_changed: `can_get` may have changed.
    """

    readiness_changed = Signal()

    def __init__(
        self, bridge: Bridge, server: str, actions: Actions, theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._server = server
        self._actions = actions
        self._prompt: Prompt | None = None
        self._typed: dict[str, dict[str, str | None]] = {}
        self._is_connected = False
        self.completes = False
        self._title = Heading(theme)
        self._name = MutedLabel(theme)
        self._description = PlainLabel(theme, tone="muted", wrap=True, selectable=True)
        self.alert = Alert(theme)
        self.form = NamedValues(theme)
        self._completer = ValueCompleter(bridge, server, self.form)
        self.result = PromptResult(bridge, theme)
        self.runner = Runner(bridge, self)
        self.runner.changed.connect(self.readiness_changed)
        self._lay_out()

    @property
    def prompt(self) -> Prompt | None:
        return self._prompt

    @property
    def can_get(self) -> bool:
        return self._prompt is not None and self._is_connected and not self.runner.is_running

    def set_connected(self, connected: bool) -> None:
        self._is_connected = connected
        self.readiness_changed.emit()

    def set_prompt(self, prompt: Prompt) -> None:
        """Show a prompt, its arguments and latest messages. Those of the previous one are kept."""
        is_other = self._prompt is None or self._prompt.name != prompt.name
        self._save_typed()
        self._prompt = prompt
        self._show_text(prompt.title or prompt.name, prompt.name if prompt.title else "", prompt.description)
        self._show_form(prompt)
        if is_other:
            self._show_latest(prompt)
        self.readiness_changed.emit()

    def set_malformed(self, item: Malformed) -> None:
        """Show a list entry that cannot be requested: why, and what was sent."""
        self._save_typed()
        self._prompt = None
        self._show_text("Invalid", "", f"{item.reason}.")
        self.form.set_rows([], "", completes=False)
        self.result.show_malformed(item.value)
        self.readiness_changed.emit()

    def get(self, *, force: bool = False) -> None:
        """Get the prompt. Without a required argument nothing is sent, except with `force`."""
        if not self.can_get or self._prompt is None:
            return
        if self.form.missing() and not force:
            return
        arguments = self.form.strings()
        prompt = self._prompt
        self.result.show_waiting(self.runner.cancel_action)
        work = partial(self._get, prompt, arguments)
        self.runner.run(f"get {prompt.name}", work, partial(self._store, prompt))

    async def _get(self, prompt: Prompt, arguments: dict[str, str]) -> None:
        name = prompt.name
        outcome = await self._bridge.ask(lambda engine: engine.get_prompt(self._server, name, arguments))
        self.runner.finish()
        self._store(prompt, outcome)

    def _store(self, prompt: Prompt, outcome: CallOutcome) -> None:
        """Store an outcome with its prompt: shown now, or when the user returns to it."""
        self.runner.keep(prompt.name, outcome)
        if self._prompt is not None and self._prompt.name == prompt.name:
            self._show_latest(prompt)

    def _show_latest(self, prompt: Prompt) -> None:
        outcome = self.runner.outcomes.get(prompt.name)
        if outcome is None:
            self.result.show_nothing(has_arguments=bool(prompt.arguments))
        else:
            self._bridge.start(f"show {prompt.name}", self.result.show_outcome(outcome), self)

    def _show_text(self, title: str, name: str, description: str) -> None:
        self._title.setText(one_line(title))
        self._name.setText(one_line(name))
        self._name.setVisible(bool(name))
        self._description.setText(description.strip()[:_MAX_DESCRIPTION_LENGTH])
        self._description.setVisible(bool(description.strip()))
        self.alert.close_all()

    def _show_form(self, prompt: Prompt) -> None:
        self._completer.set_ref({"type": "ref/prompt", "name": prompt.name})
        arguments = prompt.arguments
        rows = [
            NamedValue(argument.name, argument.title, argument.description, argument.is_required)
            for argument in arguments
        ]
        self.form.set_rows(rows, "This prompt takes no arguments.", completes=self.completes)
        self.form.set_texts(self._typed.get(prompt.name, dict.fromkeys(self.form.rows)))
        listed = prompt.source.get("arguments")
        unusable = (len(listed) if isinstance(listed, list) else 0) - len(arguments)
        if unusable > 0:
            text = f"{plural(unusable, 'argument')} without a name can't be shown."
            self.alert.show_message("arguments", text, "Send the prompt as a raw message to try them.")

    def _save_typed(self) -> None:
        if self._prompt is not None:
            self._typed[self._prompt.name] = self.form.texts()

    def event(self, event: QEvent) -> bool:
        # The window has other commands on these keys; here they get the prompt.
        return claim_keys(event, _is_get_key) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if _is_get_key(event):
            self.get(force=not is_submit(event))
        else:
            super().keyPressEvent(event)

    def _lay_out(self) -> None:
        left = QWidget()
        title = hbox(None, self._title, (self._name, 1))
        head = vbox(None, title, self._description, gap=SPACE_1, margin=(SPACE_3, 0, SPACE_3, SPACE_1))
        buttons = hbox(
            None, ActionButton(self._actions["prompt.get"], "primary"), STRETCH, margin=(SPACE_3, SPACE_2)
        )
        vbox(left, head, self.alert, (self.form, 1), buttons, gap=SPACE_1, margin=(0, SPACE_2, 0, 0))
        splitter = hsplit(left, self.result)
        left.setMinimumWidth(_MIN_WIDTH)
        splitter.setSizes([360, 540])
        vbox(self, splitter)


def _is_get_key(event: QKeyEvent) -> bool:
    """Return whether it is Ctrl+Return, or with Shift to send it incomplete."""
    modifier = Qt.KeyboardModifier
    modifiers = event.modifiers() & ~(modifier.KeypadModifier | modifier.ShiftModifier)
    return event.key() in _SUBMIT_KEYS and modifiers == modifier.ControlModifier


_MESSAGES = 0


class PromptResult(SwitchedResponseView):
    """The result of the latest prompts/get.

    Signals:
        shown: Carries the CallOutcome.
    """

    def __init__(self, bridge: Bridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(bridge, theme, "prompt", ("Messages", "Raw"), parent)
        self._prompt = PromptContent(())
        self.messages = MessagesView(theme)
        self.copy_action = QAction("Copy as text", self)
        theme.set_icon(self.copy_action, "copy")
        self._back_action = QAction("Back to messages", self)
        self._lay_out()
        self._connect()
        self.show_nothing()

    @cached_property
    def content(self) -> ContentView:
        """The view of a single content, created on first use."""
        view = ContentView(self._theme, self._back_action)
        view.uri_requested.connect(self.uri_requested)
        self._pages.addWidget(view)
        return view

    def show_nothing(self, *, has_arguments: bool = True) -> None:
        """Show that the prompt was not requested yet."""
        text = "Fill in the arguments and get the prompt." if has_arguments else "Get the prompt."
        self.explain("empty", "No messages yet", text)

    def show_waiting(self, cancel: QAction) -> None:
        self.explain("loading", "Getting the prompt", "Waiting for the prompts/get response.", action=cancel)

    def show_malformed(self, value: JSON) -> None:
        self.copy_action.setEnabled(False)
        super().show_malformed(value)

    async def show_outcome(self, outcome: CallOutcome) -> None:
        generation = self._clear()
        if not self._explain_missing_result(outcome):
            prompt = await parsed(self._bridge, outcome, read_prompt) or PromptContent(())
            if generation != self._generation:
                return  # something newer was shown meanwhile
            self._show_response(outcome, prompt)
            self._stack.open()
        self.shown.emit(outcome)

    def _show_response(self, outcome: CallOutcome, prompt: PromptContent) -> None:
        self._prompt = prompt
        has_result = outcome.kind is OutcomeKind.RESULT
        self._show_status(outcome, *([plural(len(prompt.messages), "message")] if has_result else []))
        if has_result and not prompt.messages:
            self.alert.show_message("empty", "The prompt has no messages.")
        self.messages.show_messages(prompt.messages)
        self.copy_action.setEnabled(bool(prompt.messages))
        self._set_available_views(*([_MESSAGES] if prompt.messages else []))

    def _page(self, view: int) -> QWidget:
        return self.messages

    def _on_open(self, content: Content) -> None:
        self.content.show_content(content)
        self._pages.setCurrentWidget(self.content)
        self.content.setFocus()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(as_text(self._prompt.messages))

    def _connect(self) -> None:
        self.messages.open_requested.connect(self._on_open)
        self.messages.uri_requested.connect(self.uri_requested)
        self._back_action.triggered.connect(self._show_view)
        self.copy_action.triggered.connect(self._copy)

    def _lay_out(self) -> None:
        strip = hbox(
            None,
            self.badge,
            (self._facts, 1),
            icon_button(self.copy_action),
            self.views,
            margin=(SPACE_3, SPACE_2, SPACE_3, SPACE_1),
        )
        self._pages.addWidget(self.messages)
        self._inside.addLayout(strip)
        self._inside.addWidget(self.alert)
        self._inside.addWidget(self._pages, 1)
