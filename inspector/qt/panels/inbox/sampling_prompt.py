"""Prompt of a sampling request: system prompt, messages, parameters, model preferences, tools.

The prompt can be edited before a reply rule's model gets it. The server's request itself is unchanged.
"""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from inspector.base.json.values import compact, excerpt, shorten
from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.engine.content.content import Content, ContentKind, Message
from inspector.protocol.server_requests.sampling import ModelPreferences, SamplingRequest, read_sampling
from inspector.protocol.types import Tool
from inspector.qt.forms.json.json_text_view import JsonTextView
from inspector.qt.models.content_parts import messages_of, shown_json
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, SPACE_4, SPACE_6, Theme
from inspector.qt.views.messages import MessageCard
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import STRETCH, CollapsibleSection, hbox, vbox
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.badge import Badge, ShareBar
from inspector.qt.widgets.text.key_value_list import Fact, KeyValueList
from inspector.qt.widgets.text.labels import FormStyle, MutedLabel, PlainLabel
from inspector.schema.values import FormError

_EDITOR_HEIGHT = 240
_PROMPT_MEMBERS = ("systemPrompt", "messages")
_HINT = "Reply rules that you run from here get this prompt. The server is not notified."
FIRST_MESSAGES = 6  # shown at first: the latest, which the reply is about
_MORE_MESSAGES = 30
_MAX_LENGTH = 1_500
_MAX_TOOLS = 100
_MAX_ITEMS = 20
_MAX_SCHEMA_SIZE = 6_000


class PromptView(QWidget):
    """The prompt of a sampling request.

    Signals:
        content_requested, uri_requested: As in `Section`.
    """

    content_requested = Signal(object)
    uri_requested = Signal(str)

    def __init__(self, theme: Theme, request: SamplingRequest, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._messages = list(_shown(request))
        self._first = len(self._messages)  # the first message shown
        self.cards: list[MessageCard] = []
        self._earlier_action = QAction("", self)
        self._earlier_action.triggered.connect(partial(self.show_earlier, _MORE_MESSAGES))
        self._earlier = ActionButton(self._earlier_action, "quiet")
        self._column = vbox(self, gap=0)
        if request.system_prompt:
            self._column.addWidget(self._message_card(_system(request.system_prompt)))
        self._column.addWidget(self._earlier, 0, Qt.AlignmentFlag.AlignLeft)
        self._first_position = self._column.count()
        self.show_earlier(FIRST_MESSAGES)
        self._add_preferences(request)

    def show_earlier(self, count: int) -> None:
        """Show earlier messages, above the existing ones."""
        start = max(self._first - count, 0)
        cards = [self._message_card(message) for message in self._messages[start : self._first]]
        for position, card in enumerate(cards):
            self._column.insertWidget(self._first_position + position, card)
        self.cards[:0] = cards
        self._first = start
        self._earlier_action.setText(f"Show {plural(start, 'earlier message')}")
        self._earlier.setVisible(start > 0)

    def _message_card(self, message: Message) -> MessageCard:
        card = MessageCard(self._theme, message, _MAX_LENGTH)
        card.open_requested.connect(self.content_requested)
        card.uri_requested.connect(self.uri_requested)
        return card

    def _add_preferences(self, request: SamplingRequest) -> None:
        facts = _facts(request)
        below = vbox(None, KeyValueList(self._theme, facts) if facts else None, margin=(SPACE_3, SPACE_2))
        bars = _bars(self._theme, request.preferences)
        if bars:
            below.addLayout(hbox(None, *bars, STRETCH, gap=SPACE_4))
        if request.tools:
            text = f"{plural(len(request.tools), 'tool')}: {_names(request.tools)}"
            below.addWidget(CollapsibleSection(self._theme, text, partial(self._make_tools, request.tools)))
        self._column.addLayout(below)

    def _make_tools(self, tools: tuple[Tool, ...]) -> QWidget:
        content = QWidget()
        column = vbox(content, margin=(SPACE_6, 0, 0, 0))
        for tool in tools[:_MAX_TOOLS]:
            column.addWidget(PlainLabel(self._theme, one_line(tool.name), mono=True, selectable=True))
            if tool.description:
                text = shorten(tool.description, 600)
                column.addWidget(MutedLabel(self._theme, text, wrap=True))
            column.addWidget(CollapsibleSection(self._theme, "Schema", partial(self._make_schema, tool)))
        if len(tools) > _MAX_TOOLS:
            column.addWidget(MutedLabel(self._theme, f"And {len(tools) - _MAX_TOOLS:,} more."))
        return content

    def _make_schema(self, tool: Tool) -> QWidget:
        text = shown_json(tool.input_schema, _MAX_SCHEMA_SIZE)
        return PlainLabel(self._theme, text, mono=True, wrap=True, selectable=True)


def _shown(request: SamplingRequest) -> list[Message]:
    return [
        shown for message in request.messages for shown in messages_of(message.role, list(message.blocks))
    ]


def _system(text: str) -> Message:
    data = text.encode(errors="surrogatepass")
    return Message("system prompt", Content(ContentKind.TEXT, data))


def _facts(request: SamplingRequest) -> list[Fact]:
    """Return only what the server specified."""
    hints = (one_line(shorten(each, 80)) for each in request.preferences.hints[:_MAX_ITEMS])
    parameters = (
        f"max tokens {request.max_tokens:,}" if request.max_tokens is not None else "",
        f"temperature {request.temperature:g}" if request.temperature is not None else "",
        f"stop sequences {_quoted(request.stop_sequences)}" if request.stop_sequences else "",
        f"context {one_line(request.include_context)}" if request.include_context else "",
        f"tool choice {one_line(request.tool_choice)}" if request.tool_choice else "",
    )
    facts = {
        "Parameters": " · ".join(filter(None, parameters)),
        "Model hints": ", ".join(hints),
        "Metadata": excerpt(request.metadata, 2_000) if request.metadata else "",
    }
    return [Fact(label, value, mono=label == "Metadata") for label, value in facts.items() if value]


def _quoted(texts: tuple[str, ...]) -> str:
    """Return the texts with visible line breaks."""
    return ", ".join(compact(shorten(text, 60)) for text in texts[:_MAX_ITEMS])


def _bars(theme: Theme, preferences: ModelPreferences) -> list[ShareBar]:
    shares = {"Cost": preferences.cost, "Speed": preferences.speed, "Intelligence": preferences.intelligence}
    return [ShareBar(theme, label, share) for label, share in shares.items() if share is not None]


def _names(tools: tuple[Tool, ...]) -> str:
    names = ", ".join(one_line(tool.name) for tool in tools[:5])
    return shorten(f"{names}, …" if len(tools) > 5 else names, 120)


class PromptEditor(QWidget):
    """Edits a sampling request's prompt, initially collapsed to a button.

    Messages and system prompt are edited as JSON, as received.

    Signals:
        edited: Use another prompt; carries the SamplingRequest.
    """

    edited = Signal(object)

    def __init__(self, theme: Theme, request: SamplingRequest, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._original = request
        self._request = request
        self._view: JsonTextView | None = None
        self.alert = Alert(theme)
        self.badge = Badge(theme, tone="wait")
        self.edit_action = self._action("Edit prompt", self._open)
        self.use_action = self._action("Use this prompt", self.use)
        self.discard_action = self._action("Discard changes", self._close)
        self.reset_action = self._action("Restore the server's prompt", self._reset)
        self._lay_out()
        self._show_state()

    @property
    def request(self) -> SamplingRequest:
        """The request with the prompt to use."""
        return self._request

    @property
    def view(self) -> JsonTextView:
        """The JSON editor, created when first opened."""
        if self._view is None:
            self._view = JsonTextView(FormStyle.of(self._theme))
            self._view.box.setAccessibleName("Prompt as JSON")
            self._view.box.setMinimumHeight(_EDITOR_HEIGHT)
            self._column.insertWidget(1, self._view)
        return self._view

    def use(self) -> None:
        """Use the edited prompt if it is a valid sampling request."""
        try:
            edited = self.view.read_object()
            original = self._original.source
            rest = {name: value for name, value in original.items() if name not in _PROMPT_MEMBERS}
            request = read_sampling({**rest, **edited})
        except FormError:
            return  # shown below the text
        except ValueError as exc:
            self.alert.show_message("prompt", f"Not a valid prompt: {exc}.", "Correct it.")
            return
        self._use(request)

    def _open(self) -> None:
        params = self._request.source
        self.view.set_value({name: params[name] for name in _PROMPT_MEMBERS if name in params})
        self.view.show()
        self._label.show()
        self._show_state()
        self.view.box.setFocus()

    def _close(self) -> None:
        if self._view is not None:
            self._view.hide()
        self._label.hide()
        self.alert.close_all()
        self._show_state()

    def _reset(self) -> None:
        self._use(self._original)

    def _use(self, request: SamplingRequest) -> None:
        self._request = request
        self._close()
        self.edited.emit(request)

    def _show_state(self) -> None:
        is_open = self._view is not None and not self._view.isHidden()
        is_edited = self._request != self._original
        self.badge.set_text("prompt edited" if is_edited else "")
        for button, is_shown in zip(
            self._buttons, (not is_open, is_open, is_open, is_edited and not is_open), strict=True
        ):
            button.setVisible(is_shown)

    def _action(self, text: str, slot: object) -> QAction:
        action = QAction(text, self)
        action.triggered.connect(slot)
        return action

    def _lay_out(self) -> None:
        actions = (self.edit_action, self.use_action, self.discard_action, self.reset_action)
        self._buttons = [ActionButton(action, "quiet") for action in actions]
        self._label = MutedLabel(self._theme, _HINT, wrap=True)
        self._label.hide()
        self._label.setContentsMargins(SPACE_3, 0, SPACE_3, 0)
        # No left margin: aligns the first button's text with the edge.
        row = hbox(None, *self._buttons, self.badge, STRETCH, margin=(0, 0, SPACE_3, 0))
        self._column = vbox(self, self._label, self.alert, row, gap=SPACE_1)
