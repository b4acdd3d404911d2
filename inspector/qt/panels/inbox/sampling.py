"""Inbox section for sampling: the prompt, the user's reply, and drafts by reply rules.

A draft is not sent: the user edits and sends it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from inspector.base.json.values import JSONObject
from inspector.config.reply_rules import ReplyRule, RuleKind
from inspector.engine.inbox.reply_rules import RuleInput, applies_to
from inspector.engine.inbox.views import SAMPLING_REJECTED, InboxRequest, Reply, RequestItem
from inspector.protocol.jsonrpc import error_code_text
from inspector.protocol.server_requests.replies import reply_problems
from inspector.protocol.server_requests.request import SamplingRequest
from inspector.qt.actions import native_keys
from inspector.qt.bridge import Bridge
from inspector.qt.panels.inbox.reply_editor import ReplyEditor
from inspector.qt.panels.inbox.sampling_prompt import PromptEditor, PromptView
from inspector.qt.panels.inbox.section import Section
from inspector.qt.theme import ICON_SIZE, Theme
from inspector.qt.widgets.inputs.controls import ActionButton, ActionToolButton
from inspector.qt.widgets.layout import hbox
from inspector.qt.widgets.notices.notices import Alert, reported
from inspector.qt.widgets.text.labels import MutedLabel
from inspector.schema.values import FormError

_NO_RULES = "No rule matches. Add one under Reply rules"
_CHECK_MS = 200
_MAX_ERRORS = 5
_REJECT_TIP = "Reject: the server gets the error “The user rejected the sampling request”"
_REJECT_ENDS_CALL_TIP = "Reject: the call ends, because this protocol version has no way to notify the server"


class SamplingSection(Section):
    """A sampling request. An invalid reply is reported but can still be sent."""

    def __init__(
        self,
        bridge: Bridge,
        theme: Theme,
        inbox_request: InboxRequest,
        input_request: RequestItem,
        request: SamplingRequest,
    ) -> None:
        super().__init__(theme, inbox_request, input_request)
        self._request = request
        self._drafted_by = ""  # the rule that drafted the reply, which the user may have edited
        self.prompt = self._make_prompt(request)
        self.prompt_editor = PromptEditor(theme, request)
        self.editor = ReplyEditor(bridge, theme, request.tools)
        self.errors = Alert(theme)
        self.draft = ReplyDraft(bridge, theme, self.editor.alert, self._rule_input)
        self.editor.head.addWidget(self.draft)
        self._request_column = self._fill(self.request_area, (self.prompt,), margin=0)
        self._fill(self.reply_area, (self.prompt_editor, self.editor, self.errors), margin=0)
        send_tip = native_keys("Send the reply to the server (Ctrl+Return)")
        self.send_action = self._action("Send reply", lambda: self.send(), send_tip)
        self.anyway_action = self._action("Send anyway", lambda: self.send(force=True))
        tip = _REJECT_ENDS_CALL_TIP if inbox_request.round else _REJECT_TIP
        self.reject_action = self._action("Reject", self._reject, tip)
        self.bar.add(self.send_action, "primary")
        self.bar.add(self.reject_action)
        self._check_timer = QTimer(self, singleShot=True, interval=_CHECK_MS)
        self._check_timer.timeout.connect(self.check)
        self.editor.changed.connect(self._on_changed)
        self.editor.content_requested.connect(self.content_requested)
        self.prompt_editor.edited.connect(self._on_prompt_edited)
        self.draft.drafted.connect(self._on_drafted)
        self.show_input_request(inbox_request, input_request)

    def send(self, *, force: bool = False) -> None:
        """Send the reply; ask first if it is empty."""
        if self.editor.is_empty and not force:
            self.bar.alert.show_message("reply", "The reply is empty.", actions=[self.anyway_action])
            return
        try:
            reply = self.editor.reply()
        except FormError as exc:
            self.bar.alert.show_message("reply", f"Can't send: {exc}", "Correct it first.")
            return
        self._decide(Reply(reply, drafted_by=self._drafted_by))

    @property
    def has_typed(self) -> bool:
        return not self.editor.is_empty

    def submit(self) -> None:
        self.send()

    def focus_first_field(self) -> bool:
        self.editor.set_focus()
        return True

    def check(self) -> None:
        """Show what is wrong with the current reply."""
        try:
            errors = reply_problems(self._request, self.editor.reply(), self._inbox_request.revision)
            errors = (*errors, *self.editor.errors())
        except FormError:
            errors = ()  # shown in the editor
        for number in range(_MAX_ERRORS):
            if number < len(errors):
                self.errors.show_message(str(number), errors[number])
            else:
                self.errors.close_topic(str(number))

    def _make_prompt(self, request: SamplingRequest) -> PromptView:
        prompt = PromptView(self._theme, request)
        prompt.content_requested.connect(self.content_requested)
        prompt.uri_requested.connect(self.uri_requested)
        return prompt

    def _on_prompt_edited(self, request: SamplingRequest) -> None:
        """Show the prompt that would be used."""
        previous, self.prompt = self.prompt, self._make_prompt(request)
        self._request_column.replaceWidget(previous, self.prompt)
        previous.hide()
        previous.deleteLater()

    def _rule_input(self) -> RuleInput:
        input_request = replace(self._input_request, request=self.prompt_editor.request)
        return RuleInput(self._inbox_request.server, input_request, self._inbox_request.revision)

    def _on_drafted(self, reply: JSONObject, rule: str) -> None:
        self.editor.set_reply(reply)
        self._drafted_by = rule

    def _on_changed(self) -> None:
        if self.editor.is_empty:
            self._drafted_by = ""
        self.bar.alert.close_topic("reply")
        self._check_timer.start()

    def _reject(self) -> None:
        self._decide(SAMPLING_REJECTED)


class ReplyDraft(QWidget):
    """A button with a menu of the matching rules, including disabled ones.

    Signals:
        drafted: A rule has drafted a reply; carries the result and the rule's name.
    """

    drafted = Signal(object, str)

    def __init__(
        self,
        bridge: Bridge,
        theme: Theme,
        alert: Alert,
        request: Callable[[], RuleInput],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._bridge, self._alert, self._request = bridge, alert, request
        self._task: asyncio.Task[object] | None = None
        self.menu = QMenu(self)
        self.menu.aboutToShow.connect(self.fill_menu)
        action = QAction("Draft reply with rule", self)
        action.setToolTip("Let a reply rule draft the reply; nothing is sent until you send it")
        action.setMenu(self.menu)
        self.button = ActionToolButton(action)
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.button.setIconSize(QSize(ICON_SIZE, ICON_SIZE))
        self.button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        theme.set_icon(action, "prompt")
        self._label = MutedLabel(theme)
        self.stop_action = QAction("Stop", self)
        self.stop_action.triggered.connect(self.stop)
        self._stop_button = ActionButton(self.stop_action, "quiet")
        hbox(self, self._label, self._stop_button, self.button)
        self._show_state("")

    def fill_menu(self) -> None:
        """Fill the menu with the current rules."""
        self.menu.clear()
        self.menu.addAction("Loading rules…").setEnabled(False)
        self._bridge.start("list reply rules", self._fill_menu(), self)

    def run(self, rule: ReplyRule) -> None:
        """Let a rule draft the reply; stops a draft in progress."""
        self.stop()
        self._show_state(f"Waiting for “{rule.title}”…")
        self._task = self._bridge.start("draft a reply", self._run(rule), self)

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self._show_state("")

    async def _fill_menu(self) -> None:
        rules = await self._bridge.ask(lambda engine: engine.reply_rules.rules())
        self.menu.clear()
        for rule in rules:
            if applies_to(rule, self._request().input_request):
                text = f"Ask {rule.title}" if rule.kind is RuleKind.ENDPOINT else f"Fill in with {rule.title}"
                self.menu.addAction(text.replace("&", "&&")).triggered.connect(partial(self.run, rule))
        if self.menu.isEmpty():
            self.menu.addAction(_NO_RULES).setEnabled(False)

    async def _run(self, rule: ReplyRule) -> None:
        self._alert.close_topic("draft")
        request = self._request()
        with reported(self._alert, "draft"):
            reply = await self._bridge.ask(lambda engine: engine.reply_rules.draft(rule, request))
            self._show_draft(rule, reply)
        self._task = None
        self._show_state("")

    def _show_draft(self, rule: ReplyRule, reply: Reply) -> None:
        result: JSONObject | None = reply.result
        if result is None:
            code = error_code_text(reply.code, from_client=True)
            text = f"“{rule.title}” would reject the request with {code}: {reply.message}."
            self._alert.show_message("draft", text, "Reject has the same effect.")
        else:
            self.drafted.emit(result, rule.title)

    def _show_state(self, text: str) -> None:
        self._label.setText(text)
        for part in (self._label, self._stop_button):
            part.setVisible(bool(text))
