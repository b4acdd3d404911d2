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
        self._generation = 0
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
        view = ContentView(self._theme)
        view.uri_requested.connect(self.uri_requested)
        return view

    @cached_property
    def _content_page(self) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(ActionButton(self._back_action, "quiet"), 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self.content, 1)
        self._pages.addWidget(page)
        return page

    def show_nothing(self, *, has_arguments: bool = True) -> None:
        """Show that the prompt was not requested yet."""
        self._generation += 1
        text = "Fill in the arguments and get the prompt." if has_arguments else "Get the prompt."
        self._explain("empty", "No messages yet", text)

    def show_waiting(self, cancel: QAction) -> None:
        self._generation += 1
        self._explain("loading", "Getting the prompt", "Waiting for the prompts/get response.", action=cancel)

    def show_malformed(self, value: JSON) -> None:
        self._generation += 1
        self.copy_action.setEnabled(False)
        super().show_malformed(value)

    async def show_outcome(self, outcome: CallOutcome) -> None:
        self._generation += 1
        generation = self._generation
        if not self._explain_missing_result(outcome):
            prompt = PromptContent(())
            if outcome.kind is OutcomeKind.RESULT:
                prompt = await self._bridge.work(read_prompt, outcome.response)
            if generation != self._generation:
                return  # something newer was shown meanwhile
            self._show_response(outcome, prompt)
            self._open()
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
        self._pages.setCurrentWidget(self._content_page)
        self.content.setFocus()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(as_text(self._prompt.messages))

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
