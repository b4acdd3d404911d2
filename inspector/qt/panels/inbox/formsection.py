"""Elicitation, form mode: a form to fill in, and three ways to answer it."""

from __future__ import annotations

from inspector.base.jsonvalue import JSONObject
from inspector.base.units import plural
from inspector.engine.cards import Card, Question, Reply
from inspector.protocol.asking import FormAsked
from inspector.protocol.replies import accepted, cancelled, declined, problems_of
from inspector.protocol.secretfields import secret_fields, secret_in_message
from inspector.qt.bridge import Bridge
from inspector.qt.forms.argumentseditor import ArgumentsEditor
from inspector.qt.forms.validating import Validating
from inspector.qt.panels.inbox.section import Section
from inspector.qt.theme import SPACE_3, Theme
from inspector.qt.widgets.alert import Alert
from inspector.qt.widgets.labels import Muted
from inspector.qt.widgets.longtext import LongText
from inspector.schema.start import prefilled
from inspector.schema.values import FormError

DECLINE_TIP = "Say no: the server is told that you decided against it"
CANCEL_TIP = "Say neither yes nor no: the server is told that you went away without deciding"
_MOST_SECRETS = 3
_BESIDE = "Careful: this seems to be a secret."
_INSIDE = "Careful: something in here seems to be a secret."
_NO_FIELDS = "There is nothing to fill in: to accept is to say yes."


class FormSection(Section):
    """A form elicitation, filled with the server's defaults.

    Values that do not fit can still be sent after confirmation.
    """

    def __init__(
        self, bridge: Bridge, theme: Theme, card: Card, question: Question, asked: FormAsked
    ) -> None:
        super().__init__(theme, card, question)
        self._asked = asked
        self.message = LongText(theme, asked.message.strip())
        self.secrets = Alert(theme)
        self.editor = ArgumentsEditor(theme, submit_keys=False, validate=Validating(bridge, self), fits=True)
        self._fill(self.asked, (self.message,))
        if not asked.message.strip():
            self.message.hide()
        no_fields = Muted(theme, _NO_FIELDS)
        no_fields.setContentsMargins(SPACE_3, 0, SPACE_3, 0)
        self._fill(self.answer, (self.secrets, self.editor, no_fields), margin=0)
        (no_fields if asked.properties else self.editor).hide()
        self.editor.set_schema(asked.schema, self._warn_of_secrets())
        self._start = prefilled(self.editor.form.field)
        self.editor.set_arguments(self._start)
        self.editor.json_view.box.setAccessibleName("Answer as JSON")
        self.accept_action = self._action("Accept", self.accept, "Send what is filled in (Ctrl+Return)")
        self.decline_action = self._action("Decline", self._decline, DECLINE_TIP)
        self.cancel_action = self._action("Cancel", self._cancel, CANCEL_TIP)
        self.anyway_action = self._action("Send anyway", self._accept_anyway)
        self.bar.add(self.accept_action, "primary")
        self.bar.add(self.decline_action)
        self.bar.add(self.cancel_action)
        self.editor.value_changed.connect(lambda: self.bar.alert.close_about("wrong"))
        self.show_question(card, question)

    def accept(self) -> None:
        """Send the form; ask first if it does not fit."""
        try:
            content = self.editor.arguments()
        except FormError as exc:
            self._complain(len(exc.errors), exc)
            return
        problems = problems_of(self._asked, accepted(content), self._card.revision)
        if problems:
            self.bar.alert.say("wrong", " ".join(problems), actions=[self.anyway_action])
        else:
            self._send(content)

    @property
    def has_typed(self) -> bool:
        try:
            return self.editor.arguments(anyway=True) != self._start
        except FormError:
            return True

    def submit(self) -> None:
        self.accept()

    def enter(self) -> bool:
        if self._asked.properties:
            self.editor.set_focus()
        return bool(self._asked.properties)

    def _complain(self, count: int, error: FormError) -> None:
        try:
            self.editor.arguments(anyway=True)
        except FormError:
            self.bar.alert.say("wrong", f"This cannot be sent: {error}", "Correct it first.")
            return
        words = f"{plural(count, 'problem')}: {error}"
        self.bar.alert.say("wrong", words, actions=[self.anyway_action])

    def _accept_anyway(self) -> None:
        try:
            self._send(self.editor.arguments(anyway=True))
        except FormError as exc:
            self.bar.alert.say("wrong", f"This cannot be sent: {exc}", "Correct it first.")

    def _send(self, content: JSONObject) -> None:
        self._decide(Reply(accepted(content)))

    def _decline(self) -> None:
        self._decide(Reply(declined()))

    def _cancel(self) -> None:
        self._decide(Reply(cancelled()))

    def _warn_of_secrets(self) -> dict[str, str]:
        """Show a warning above the form; return the warnings for individual fields."""
        fields = secret_fields(self._asked.schema)
        reason = secret_in_message(self._asked.message)
        if not fields and not reason:
            return {}
        self.secrets.say(
            "secret",
            "This form seems to ask for a secret. What you type goes to the server, and into the recording.",
            "Servers must not ask for secrets in a form.",
            tone="error",
        )
        for field in fields[:_MOST_SECRETS]:
            self.secrets.say("/".join(field.path), f"{' › '.join(field.path)}: {field.reason}")
        if len(fields) > _MOST_SECRETS:
            self.secrets.say("more", f"And {plural(len(fields) - _MOST_SECRETS, 'more field')} like these.")
        if reason:
            self.secrets.say("message", reason)
        return {field.path[0]: _BESIDE if len(field.path) == 1 else _INSIDE for field in reversed(fields)}
