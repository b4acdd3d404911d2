"""What a model is to answer: system prompt, messages, wishes about the model, limits, tools."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inspector.base.jsonvalue import compact, excerpt, shorten
from inspector.base.plaintext import one_line
from inspector.base.units import plural
from inspector.engine.contents import Content, ContentKind, Message
from inspector.protocol.sampling import ModelPreferences, SamplingAsked
from inspector.protocol.types import Tool
from inspector.qt.models.sampledmessages import messages_of, shown_json
from inspector.qt.theme import SPACE_2, SPACE_3, SPACE_4, SPACE_6, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.fold import Fold
from inspector.qt.widgets.keyvalue import Fact, KeyValueList
from inspector.qt.widgets.labels import Muted, PlainLabel
from inspector.qt.widgets.messages import MessageCard
from inspector.qt.widgets.sharebar import ShareBar

AT_ONCE = 6  # latest messages, which the reply is about
_MORE = 30
_LONGEST = 1_500
_MOST_TOOLS = 100
_MOST_WORDS = 20
_MOST_SCHEMA = 6_000


class PromptView(QWidget):
    """The prompt of a sampling request.

    Signals:
        content_requested, uri_requested: As in `Section`.
    """

    content_requested = Signal(object)
    uri_requested = Signal(str)

    def __init__(self, theme: Theme, asked: SamplingAsked, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._messages = list(_shown(asked))
        self._first = len(self._messages)  # the first message shown
        self.cards: list[MessageCard] = []
        self._earlier_action = QAction("", self)
        self._earlier_action.triggered.connect(partial(self.show_earlier, _MORE))
        self._earlier = ActionButton(self._earlier_action, "quiet")
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        if asked.system_prompt:
            self._column.addWidget(self._card(_system(asked.system_prompt)))
        self._column.addWidget(self._earlier, 0, Qt.AlignmentFlag.AlignLeft)
        self._place = self._column.count()
        self.show_earlier(AT_ONCE)
        self._add_wishes(asked)

    def show_earlier(self, count: int) -> None:
        """Show earlier messages, above the existing ones."""
        start = max(self._first - count, 0)
        cards = [self._card(message) for message in self._messages[start : self._first]]
        for place, card in enumerate(cards):
            self._column.insertWidget(self._place + place, card)
        self.cards[:0] = cards
        self._first = start
        self._earlier_action.setText(f"Show {plural(start, 'earlier message')}")
        self._earlier.setVisible(start > 0)

    def _card(self, message: Message) -> MessageCard:
        card = MessageCard(self._theme, message, _LONGEST)
        card.open_requested.connect(self.content_requested)
        card.uri_requested.connect(self.uri_requested)
        return card

    def _add_wishes(self, asked: SamplingAsked) -> None:
        below = QVBoxLayout()
        below.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_2)
        below.setSpacing(SPACE_2)
        facts = _facts(asked)
        if facts:
            below.addWidget(KeyValueList(self._theme, facts))
        bars = _bars(self._theme, asked.preferences)
        if bars:
            row = QHBoxLayout()
            row.setSpacing(SPACE_4)
            for bar in bars:
                row.addWidget(bar)
            row.addStretch(1)
            below.addLayout(row)
        if asked.tools:
            words = f"{plural(len(asked.tools), 'tool')} offered: {_names(asked.tools)}"
            below.addWidget(Fold(self._theme, words, partial(self._make_tools, asked.tools)))
        self._column.addLayout(below)

    def _make_tools(self, tools: tuple[Tool, ...]) -> QWidget:
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(SPACE_6, 0, 0, 0)
        column.setSpacing(SPACE_2)
        for tool in tools[:_MOST_TOOLS]:
            column.addWidget(PlainLabel(self._theme, one_line(tool.name), mono=True, selectable=True))
            if tool.description:
                words = shorten(tool.description, 600)
                column.addWidget(Muted(self._theme, words, wrap=True))
            column.addWidget(Fold(self._theme, "Schema", partial(self._make_schema, tool)))
        if len(tools) > _MOST_TOOLS:
            column.addWidget(Muted(self._theme, f"And {len(tools) - _MOST_TOOLS:,} more."))
        return inside

    def _make_schema(self, tool: Tool) -> QWidget:
        text = shown_json(tool.input_schema, _MOST_SCHEMA)
        return PlainLabel(self._theme, text, mono=True, wrap=True, selectable=True)


def _shown(asked: SamplingAsked) -> list[Message]:
    return [shown for message in asked.messages for shown in messages_of(message.role, list(message.blocks))]


def _system(text: str) -> Message:
    data = text.encode(errors="surrogatepass")
    return Message("system", Content(ContentKind.TEXT, data), "system prompt")


def _facts(asked: SamplingAsked) -> list[Fact]:
    """Return only what the server specified."""
    limits = (
        f"at most {plural(asked.max_tokens, 'token')}" if asked.max_tokens is not None else "",
        f"temperature {asked.temperature:g}" if asked.temperature is not None else "",
        f"stops at {_quoted(asked.stop_sequences)}" if asked.stop_sequences else "",
    )
    wishes = (
        ", ".join(one_line(shorten(each, 80)) for each in asked.preferences.hints[:_MOST_WORDS]),
        f"context {one_line(asked.include_context)}" if asked.include_context else "",
        f"tool use {one_line(asked.tool_choice)}" if asked.tool_choice else "",
    )
    facts = {
        "Limits": " · ".join(filter(None, limits)),
        "Model": " · ".join(filter(None, wishes)),
        "Metadata": excerpt(asked.metadata, 2_000) if asked.metadata else "",
    }
    return [Fact(label, value, mono=label == "Metadata") for label, value in facts.items() if value]


def _quoted(texts: tuple[str, ...]) -> str:
    """Return the texts with visible line breaks."""
    return ", ".join(compact(shorten(text, 60)) for text in texts[:_MOST_WORDS])


def _bars(theme: Theme, wishes: ModelPreferences) -> list[ShareBar]:
    shares = {"Cost": wishes.cost, "Speed": wishes.speed, "Intelligence": wishes.intelligence}
    return [ShareBar(theme, word, share) for word, share in shares.items() if share is not None]


def _names(tools: tuple[Tool, ...]) -> str:
    names = ", ".join(one_line(tool.name) for tool in tools[:5])
    return shorten(f"{names}, …" if len(tools) > 5 else names, 120)
