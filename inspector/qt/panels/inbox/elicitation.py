"""Inbox sections for form elicitation and URL elicitation.

A form can be accepted, declined or cancelled. A URL is opened only on a click, which is also the consent
sent to the server.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from inspector.base.errors import UserError
from inspector.base.json.values import JSONObject, text_of
from inspector.base.units import plural
from inspector.base.web_link import may_open, read_link
from inspector.engine.inbox.views import InboxRequest, Reply, RequestItem
from inspector.protocol.server_requests.elicitation import secret_fields, secret_in_message
from inspector.protocol.server_requests.replies import accepted, cancelled, consented, declined, problems_of
from inspector.protocol.server_requests.request import FormAsked, UrlAsked
from inspector.qt.bridge import Bridge
from inspector.qt.forms.schema.arguments_editor import ArgumentsEditor, SchemaValidator
from inspector.qt.link_opener import LinkOpener
from inspector.qt.panels.inbox.section import Section
from inspector.qt.theme import SPACE_3, Theme
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.key_value_list import Fact, KeyValueList
from inspector.qt.widgets.text.labels import MutedLabel
from inspector.qt.widgets.text.long_text import LongText, UrlLabel
from inspector.schema.values import FormError, prefilled

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
        self, bridge: Bridge, theme: Theme, card: InboxRequest, question: RequestItem, asked: FormAsked
    ) -> None:
        super().__init__(theme, card, question)
        self._asked = asked
        self.message = LongText(theme, asked.message.strip())
        self.secrets = Alert(theme)
        self.editor = ArgumentsEditor(
            theme, submit_keys=False, validate=SchemaValidator(bridge, self), fits=True
        )
        self._fill(self.asked, (self.message,))
        if not asked.message.strip():
            self.message.hide()
        no_fields = MutedLabel(theme, _NO_FIELDS)
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


class UrlSection(Section):
    """A URL elicitation. Opening the page is consent, which is sent to the server.

    What happens on the page is not reported back.
    """

    def __init__(
        self, opener: LinkOpener, theme: Theme, card: InboxRequest, question: RequestItem, asked: UrlAsked
    ) -> None:
        super().__init__(theme, card, question)
        self._opener = opener
        self._asked = asked
        self._link = read_link(asked.url)
        self.message = LongText(theme, asked.message.strip())
        self.address = UrlLabel(theme, self._link)
        self.facts = KeyValueList(theme, self._facts())
        self.warnings = Alert(theme)
        words = QWidget()
        self._fill(words, (self.message, self.facts, self.address))
        self._fill(self.asked, (self.warnings, words), margin=0)
        if not asked.message.strip():
            self.message.hide()
        self._warn()
        self.open_action = self._action(
            "Open in browser", self.open_page, "Open the page, and tell the server that you agreed to"
        )
        self.copy_action = self._action("Copy address", self._copy, "Opens nothing, and tells nobody")
        self.agree_action = self._action(
            "I opened it myself", self._consent, "Tell the server that you agreed to visit the page"
        )
        self.decline_action = self._action("Decline", self._decline, DECLINE_TIP)
        self.cancel_action = self._action("Cancel", self._cancel, CANCEL_TIP)
        self.open_action.setEnabled(not may_open(self._link))
        self.bar.add(self.open_action, "primary")
        self.bar.add(self.copy_action)
        self.bar.add(self.decline_action)
        self.bar.add(self.cancel_action)
        # Always visible: a long message or URL must not hide where the button leads.
        self.bar.add_words(
            MutedLabel(theme, f"Goes to {self._link.ascii_host}" if self._link.ascii_host else "")
        )
        self.show_question(card, question)

    def open_page(self) -> None:
        """Open the page and reply with accept. If it cannot be opened, nothing is sent."""
        try:
            self._opener.open(self._asked.url)
        except UserError as exc:
            self.bar.alert.say("opening", exc.summary, exc.next_step, [self.copy_action, self.agree_action])
            return
        self._consent()

    def open_again(self) -> None:
        """Open the page again, after the reply was sent."""
        try:
            self._opener.open(self._asked.url)
        except UserError as exc:
            self.warnings.say("opening", exc.summary, exc.next_step, [self.copy_action])

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._asked.url)

    def _consent(self) -> None:
        self._decide(Reply(consented()))

    def _decline(self) -> None:
        self._decide(Reply(declined()))

    def _cancel(self) -> None:
        self._decide(Reply(cancelled()))

    def _facts(self) -> list[Fact]:
        link = self._link
        if not link.ascii_host:
            return []
        facts = [Fact("Host", link.ascii_host, mono=True)]
        if link.is_international:
            facts.append(Fact("Shown as", link.unicode_host, mono=True, tone="warn"))
        if link.port is not None:
            facts.append(Fact("Port", str(link.port), mono=True))
        return facts

    def _show_remarks(self, remarks: Sequence[str]) -> None:
        """Show the remarks, except one already shown as a warning."""
        reason = may_open(read_link(text_of(self._question.params, "url")))
        super()._show_remarks(tuple(each for each in remarks if not reason or reason not in each))

    def _warn(self) -> None:
        if reason := may_open(self._link):
            self.warnings.say("problem", f"This address is not opened. {reason}", tone="error")
        for number, warning in enumerate(self._link.warnings):
            self.warnings.say(str(number), warning)
