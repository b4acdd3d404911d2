"""Sampling: what a model is asked, and the answer that the person gives in its place."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QTimer

from inspector.base.jsonvalue import JSONObject
from inspector.engine.answerrules import Asked
from inspector.engine.cards import SAMPLING_REJECTED, Card, Question, Reply
from inspector.protocol.asking import SamplingAsked
from inspector.protocol.replies import problems_of
from inspector.qt.bridge import Bridge
from inspector.qt.panels.inbox.answereditor import AnswerEditor
from inspector.qt.panels.inbox.drafting import Drafting
from inspector.qt.panels.inbox.prompteditor import PromptEditor
from inspector.qt.panels.inbox.promptview import PromptView
from inspector.qt.panels.inbox.section import Section
from inspector.qt.theme import Theme
from inspector.qt.widgets.alert import Alert
from inspector.schema.values import FormError

_PAUSE_MS = 200
_MOST_PROBLEMS = 5
_DECLINE_TIP = "Say no: the server gets the error “The user rejected the sampling request”"
_DECLINE_ENDS = "Say no: the call ends, since this revision has no way to tell the server so"


class SamplingSection(Section):
    """A sampling request. An invalid reply is reported but can still be sent."""

    def __init__(
        self, bridge: Bridge, theme: Theme, card: Card, question: Question, asked: SamplingAsked
    ) -> None:
        super().__init__(theme, card, question)
        self._asked = asked
        self._drafted_by = ""  # the rule that drafted the reply, which the user may have edited
        self.prompt = self._make_prompt(asked)
        self.prompt_editor = PromptEditor(theme, asked)
        self.editor = AnswerEditor(bridge, theme, asked.tools)
        self.problems = Alert(theme)
        self.drafting = Drafting(bridge, theme, self.editor.alert, self._asked_as_edited)
        self.editor.head.addWidget(self.drafting)
        self.asked_column = self._fill(self.asked, (self.prompt,), margin=0)
        self._fill(self.answer, (self.prompt_editor, self.editor, self.problems), margin=0)
        send_tip = "Send it to the server (Ctrl+Return)"
        self.send_action = self._action("Send answer", lambda: self.send(), send_tip)
        self.anyway_action = self._action("Send anyway", lambda: self.send(anyway=True))
        tip = _DECLINE_ENDS if card.round else _DECLINE_TIP
        self.decline_action = self._action("Decline", self._decline, tip)
        self.bar.add(self.send_action, "primary")
        self.bar.add(self.decline_action)
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self.check)
        self.editor.changed.connect(self._on_changed)
        self.editor.content_requested.connect(self.content_requested)
        self.prompt_editor.edited.connect(self._on_prompt_edited)
        self.drafting.drafted.connect(self._on_drafted)
        self.show_question(card, question)

    def send(self, *, anyway: bool = False) -> None:
        """Send the reply; ask first if it is empty."""
        if self.editor.is_empty and not anyway:
            self.bar.alert.say("wrong", "The answer is empty.", actions=[self.anyway_action])
            return
        try:
            answer = self.editor.answer()
        except FormError as exc:
            self.bar.alert.say("wrong", f"This cannot be sent: {exc}", "Correct it first.")
            return
        self._decide(Reply(answer, drafted_by=self._drafted_by))

    @property
    def has_typed(self) -> bool:
        return not self.editor.is_empty

    def submit(self) -> None:
        self.send()

    def enter(self) -> bool:
        self.editor.set_focus()
        return True

    def check(self) -> None:
        """Show what is wrong with the current reply."""
        try:
            said = problems_of(self._asked, self.editor.answer(), self._card.revision)
            problems = (*said, *self.editor.problems())
        except FormError:
            problems = ()  # shown in the editor
        for number in range(_MOST_PROBLEMS):
            if number < len(problems):
                self.problems.say(str(number), problems[number])
            else:
                self.problems.close_about(str(number))

    def _make_prompt(self, asked: SamplingAsked) -> PromptView:
        prompt = PromptView(self._theme, asked)
        prompt.content_requested.connect(self.content_requested)
        prompt.uri_requested.connect(self.uri_requested)
        return prompt

    def _on_prompt_edited(self, asked: SamplingAsked) -> None:
        """Show the prompt that would be used."""
        former, self.prompt = self.prompt, self._make_prompt(asked)
        self.asked_column.replaceWidget(former, self.prompt)
        former.hide()
        former.deleteLater()

    def _asked_as_edited(self) -> Asked:
        question = replace(self._question, params=self.prompt_editor.params)
        return Asked(self._card.server, question, self._card.revision)

    def _on_drafted(self, answer: JSONObject, rule: str) -> None:
        self.editor.set_answer(answer)
        self._drafted_by = rule

    def _on_changed(self) -> None:
        if self.editor.is_empty:
            self._drafted_by = ""
        self.bar.alert.close_about("wrong")
        self._pause.start()

    def _decline(self) -> None:
        self._decide(SAMPLING_REJECTED)
