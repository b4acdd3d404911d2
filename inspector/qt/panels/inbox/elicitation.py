"""Inbox sections for form elicitation and URL elicitation.

A form can be accepted, declined or cancelled. A URL is opened only on a click, which is also the consent
sent to the server.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from inspector.base.json.values import JSONObject, text_of
from inspector.base.units import plural
from inspector.base.web_link import read_link
from inspector.engine.inbox.views import InboxRequest, Reply, RequestItem
from inspector.protocol.server_requests.elicitation import secret_fields, secret_in_message
from inspector.protocol.server_requests.replies import (
    cancel_reply,
    decline_reply,
    form_reply,
    reply_problems,
    url_reply,
)
from inspector.protocol.server_requests.request import FormElicitation, UrlElicitation
from inspector.qt.actions import native_keys
from inspector.qt.bridge import Bridge
from inspector.qt.forms.schema.arguments_editor import ArgumentsEditor, SchemaValidator
from inspector.qt.link_opener import LinkOpener
from inspector.qt.panels.inbox.section import Section
from inspector.qt.theme import SPACE_3, Theme
from inspector.qt.widgets.notices.notices import Alert, reported
from inspector.qt.widgets.text.key_value_list import Fact, KeyValueList
from inspector.qt.widgets.text.labels import MutedLabel
from inspector.qt.widgets.text.long_text import LongText, UrlLabel
from inspector.schema.values import FieldError, FormError, prefilled

DECLINE_TIP = "Tell the server that you declined"
CANCEL_TIP = "Tell the server that you dismissed the request without deciding"
_MAX_SECRETS = 3
_FIELD_WARNING = "Warning: this looks like a secret."
_NESTED_WARNING = "Warning: something here looks like a secret."
_NO_FIELDS = "No fields to fill in. Accept to confirm."


class FormSection(Section):
    """A form elicitation, filled with the server's defaults.

    Invalid values can still be sent after confirmation.
    """

    def __init__(
        self,
        bridge: Bridge,
        theme: Theme,
        inbox_request: InboxRequest,
        input_request: RequestItem,
        request: FormElicitation,
    ) -> None:
        super().__init__(theme, inbox_request, input_request)
        self._request = request
        self.message = LongText(theme, request.message.strip())
        self.secrets = Alert(theme)
        self.editor = ArgumentsEditor(
            theme, submit_keys=False, validate=SchemaValidator(bridge, self), fit_content=True
        )
        self._fill(self.request_area, (self.message,))
        if not request.message.strip():
            self.message.hide()
        no_fields = MutedLabel(theme, _NO_FIELDS)
        no_fields.setContentsMargins(SPACE_3, 0, SPACE_3, 0)
        self._fill(self.reply_area, (self.secrets, self.editor, no_fields), margin=0)
        (no_fields if request.properties else self.editor).hide()
        self.editor.set_schema(request.schema, self._warn_of_secrets())
        self._initial = prefilled(self.editor.form.field)
        self.editor.set_arguments(self._initial)
        self.editor.json_view.box.setAccessibleName("Reply as JSON")
        self.accept_action = self._action("Accept", self.accept, native_keys("Send the form (Ctrl+Return)"))
        self.decline_action = self._action("Decline", self._decline, DECLINE_TIP)
        self.cancel_action = self._action("Cancel", self._cancel, CANCEL_TIP)
        self.anyway_action = self._action("Send anyway", self._accept_anyway)
        self.bar.add(self.accept_action, "primary")
        self.bar.add(self.decline_action)
        self.bar.add(self.cancel_action)
        self.editor.value_changed.connect(lambda: self.bar.alert.close_topic("reply"))
        self.show_input_request(inbox_request, input_request)

    def accept(self) -> None:
        """Send the form; ask first if it does not match the schema."""
        try:
            content = self.editor.arguments()
        except FormError as exc:
            self._show_error(exc)
            return
        errors = reply_problems(self._request, form_reply(content), self._inbox_request.revision)
        if errors:
            self.bar.alert.show_message("reply", " ".join(errors), actions=[self.anyway_action])
        else:
            self.editor.submit(partial(self._send_valid, content))

    def _send_valid(self, content: JSONObject, errors: tuple[FieldError, ...]) -> None:
        if not self.needs_reply:
            return  # there was another reply while the form was validated
        if errors:
            self._show_error(FormError(errors))
        else:
            self._send(content)

    @property
    def has_typed(self) -> bool:
        try:
            return self.editor.arguments(force=True) != self._initial
        except FormError:
            return True

    def submit(self) -> None:
        self.accept()

    def focus_first_field(self) -> bool:
        if self._request.properties:
            self.editor.set_focus()
        return bool(self._request.properties)

    def _show_error(self, error: FormError) -> None:
        try:
            self.editor.arguments(force=True)
        except FormError:
            self.bar.alert.show_message("reply", f"Can't send: {error}", "Correct it first.")
            return
        text = f"{plural(len(error.errors), 'error')}: {error}"
        self.bar.alert.show_message("reply", text, actions=[self.anyway_action])

    def _accept_anyway(self) -> None:
        try:
            self._send(self.editor.arguments(force=True))
        except FormError as exc:
            self.bar.alert.show_message("reply", f"Can't send: {exc}", "Correct it first.")

    def _send(self, content: JSONObject) -> None:
        self._decide(Reply(form_reply(content)))

    def _decline(self) -> None:
        self._decide(Reply(decline_reply()))

    def _cancel(self) -> None:
        self._decide(Reply(cancel_reply()))

    def _warn_of_secrets(self) -> dict[str, str]:
        """Show a warning above the form; return the warnings for individual fields."""
        fields = secret_fields(self._request.schema)
        reason = secret_in_message(self._request.message)
        if not fields and not reason:
            return {}
        self.secrets.show_message(
            "secret",
            "This form seems to ask for a secret. What you type is sent to the server and recorded in "
            "the capture.",
            "Servers must not ask for secrets in a form.",
            tone="error",
        )
        for field in fields[:_MAX_SECRETS]:
            self.secrets.show_message("/".join(field.path), f"{' › '.join(field.path)}: {field.reason}")
        if len(fields) > _MAX_SECRETS:
            self.secrets.show_message(
                "more", f"And {plural(len(fields) - _MAX_SECRETS, 'more field')} like these."
            )
        if reason:
            self.secrets.show_message("message", reason)
        return {
            field.path[0]: _FIELD_WARNING if len(field.path) == 1 else _NESTED_WARNING
            for field in reversed(fields)
        }


class UrlSection(Section):
    """A URL elicitation. Opening the page is consent, which is sent to the server.

    What happens on the page is not reported back.
    """

    def __init__(
        self,
        opener: LinkOpener,
        theme: Theme,
        inbox_request: InboxRequest,
        input_request: RequestItem,
        request: UrlElicitation,
    ) -> None:
        super().__init__(theme, inbox_request, input_request)
        self._opener = opener
        self._request = request
        self._link = read_link(request.url)
        self.message = LongText(theme, request.message.strip())
        self.url = UrlLabel(theme, self._link)
        self.facts = KeyValueList(theme, self._facts())
        self.warnings = Alert(theme)
        text = QWidget()
        self._fill(text, (self.message, self.facts, self.url))
        self._fill(self.request_area, (self.warnings, text), margin=0)
        if not request.message.strip():
            self.message.hide()
        self._warn()
        self.open_action = self._action(
            "Open in browser", self.open_page, "Open the URL and tell the server that you accepted"
        )
        self.copy_action = self._action(
            "Copy URL", self._copy, "Opens nothing and sends nothing to the server"
        )
        self.confirm_action = self._action(
            "I opened it myself", self._accept, "Tell the server that you accepted"
        )
        self.decline_action = self._action("Decline", self._decline, DECLINE_TIP)
        self.cancel_action = self._action("Cancel", self._cancel, CANCEL_TIP)
        self.open_action.setEnabled(not self._link.problem)
        self.bar.add(self.open_action, "primary")
        self.bar.add(self.copy_action)
        self.bar.add(self.decline_action)
        self.bar.add(self.cancel_action)
        # Always visible: a long message or URL must not hide where the button leads.
        self.bar.add_text(
            MutedLabel(theme, f"Goes to {self._link.ascii_host}" if self._link.ascii_host else "")
        )
        self.show_input_request(inbox_request, input_request)

    def open_page(self) -> None:
        """Open the page and reply with accept. If it cannot be opened, nothing is sent."""
        with reported(self.bar.alert, "opening", actions=[self.copy_action, self.confirm_action]):
            self._opener.open(self._request.url)
            self._accept()

    def reopen_url(self) -> None:
        """Open the page again, after the reply was sent."""
        with reported(self.warnings, "opening", actions=[self.copy_action]):
            self._opener.open(self._request.url)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._request.url)

    def _accept(self) -> None:
        self._decide(Reply(url_reply()))

    def _decline(self) -> None:
        self._decide(Reply(decline_reply()))

    def _cancel(self) -> None:
        self._decide(Reply(cancel_reply()))

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

    def _show_notes(self, notes: Sequence[str]) -> None:
        """Show the notes, except one already shown as a warning."""
        reason = read_link(text_of(self._input_request.params, "url")).problem
        super()._show_notes(tuple(each for each in notes if not reason or reason not in each))

    def _warn(self) -> None:
        if reason := self._link.problem:
            self.warnings.show_message("problem", f"MCP Lens blocked this URL. {reason}", tone="error")
        for number, warning in enumerate(self._link.warnings):
            self.warnings.show_message(str(number), warning)
