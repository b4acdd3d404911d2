"""Result of prompts/get: the messages, one content by itself, and the raw response."""

from __future__ import annotations

from functools import cached_property

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inspector.base.json.values import JSON
from inspector.base.units import plural
from inspector.engine.content.content import Content, PromptContent, read_prompt
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.qt.bridge import Bridge
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.views.content_view import ContentView
from inspector.qt.views.messages import MessagesView, as_text
from inspector.qt.views.response_view import ResponseView
from inspector.qt.widgets.inputs.controls import ActionButton, icon_button

_MESSAGES = 0


class PromptResult(ResponseView):
    """The result of the latest prompts/get.

    Signals:
        shown: Carries the CallOutcome.
    """

    def __init__(self, bridge: Bridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(bridge, theme, "prompt", ("Messages", "Raw"), parent)
        self._turn = 0
        self._digest = PromptContent(())
        self.messages = MessagesView(theme)
        self.copy_action = QAction("Copy as text", self)
        theme.set_icon(self.copy_action, "copy")
        self._back_action = QAction("Back to messages", self)
        self._lay_out()
        self._connect()
        self.show_nothing()

    @cached_property
    def content(self) -> ContentView:
        """A single content. Created on first use, like the message."""
        view = ContentView(self._theme)
        view.uri_requested.connect(self.uri_requested)
        return view

    @cached_property
    def _single(self) -> QWidget:
        single = QWidget()
        column = QVBoxLayout(single)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(ActionButton(self._back_action, "quiet"), 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self.content, 1)
        self._pages.addWidget(single)
        return single

    def show_nothing(self, *, has_arguments: bool = True) -> None:
        """Show that the prompt was not requested yet."""
        self._turn += 1
        text = "Fill in the arguments and get the prompt." if has_arguments else "Get the prompt."
        self._explain("empty", "No messages yet", text)

    def show_waiting(self, cancel: QAction) -> None:
        self._turn += 1
        self._explain("loading", "Getting the prompt", "Waiting for the prompts/get response.", action=cancel)

    def show_malformed(self, value: JSON) -> None:
        self._turn += 1
        self.copy_action.setEnabled(False)
        super().show_malformed(value)

    async def show_outcome(self, outcome: CallOutcome) -> None:
        self._turn += 1
        turn = self._turn
        if not self._explain_end(outcome):
            digest = PromptContent(())
            if outcome.kind is OutcomeKind.RESULT:
                digest = await self._bridge.work(read_prompt, outcome.response)
            if turn != self._turn:
                return  # something newer was shown meanwhile
            self._show_response(outcome, digest)
            self._open()
        self.shown.emit(outcome)

    def _show_response(self, outcome: CallOutcome, digest: PromptContent) -> None:
        self._digest = digest
        is_got = outcome.kind is OutcomeKind.RESULT
        self._show_response_note(outcome, *([plural(len(digest.messages), "message")] if is_got else []))
        if is_got and not digest.messages:
            self.alert.show_message("empty", "The prompt has no messages.")
        self.messages.show_messages(digest.messages)
        self.copy_action.setEnabled(bool(digest.messages))
        self._offer(*([_MESSAGES] if digest.messages else []))

    def _page(self, view: int) -> QWidget:
        return self.messages

    def _on_open(self, content: Content) -> None:
        self.content.show_content(content)
        self._pages.setCurrentWidget(self._single)
        self.content.setFocus()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(as_text(self._digest.messages))

    def _connect(self) -> None:
        self.messages.open_requested.connect(self._on_open)
        self.messages.uri_requested.connect(self.uri_requested)
        self._back_action.triggered.connect(self._show_view)
        self.copy_action.triggered.connect(self._copy)

    def _lay_out(self) -> None:
        strip = QHBoxLayout()
        strip.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_1)
        strip.setSpacing(SPACE_2)
        strip.addWidget(self.badge)
        strip.addWidget(self._facts, 1)
        strip.addWidget(icon_button(self.copy_action))
        strip.addWidget(self.views)
        self._pages.addWidget(self.messages)
        self._inside.addLayout(strip)
        self._inside.addWidget(self.alert)
        self._inside.addWidget(self._pages, 1)
        self._inside.addWidget(self.saver)
