"""Form for one reply rule, with a test run on the latest server request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLineEdit, QWidget

from inspector.base.json.values import JSON, JSONObject
from inspector.base.web_link import Link, read_link
from inspector.config.json_file import write_exactly
from inspector.config.reply_rules import ReplyRule, RuleKind
from inspector.engine.inbox.reply_rules import Attempt
from inspector.engine.inbox.views import Reply
from inspector.protocol.jsonrpc import error_code_text
from inspector.qt.dialogs.inbox.reply_kinds import (
    CANCELLED,
    DECLINED,
    ECHO_HELP,
    NOTHING_SENT,
    FilterEditor,
    changed_rule,
    rule_fields,
    value_of,
)
from inspector.qt.forms.json.json_edit import JsonEdit
from inspector.qt.forms.schema.plain_editors import PlainNumber, PlainSecret
from inspector.qt.forms.schema.plain_form import PlainForm
from inspector.qt.theme import SPACE_3, Theme
from inspector.qt.widgets.inputs.controls import ActionButton, ButtonKind
from inspector.qt.widgets.inputs.filter_bar import Completer, TextError
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.notices.notices import Alert

_LABEL_WIDTH = 80
_DELAY_MS = 250
_REPLY_HEIGHT = 150


class ReplyRuleForm(QWidget):
    """The form for one reply rule.

    Signals:
        changed: The rule changed; carries the ReplyRule. Emitted when typing pauses.
    """

    changed = Signal(object)

    def __init__(self, theme: Theme, complete: Completer, check: Callable[[str], TextError | None]) -> None:
        super().__init__()
        self._theme = theme
        self._check = check
        self._rule: ReplyRule | None = None
        self.fields = PlainForm(theme, rule_fields(complete), label_width=_LABEL_WIDTH)
        self.filter = self.fields.editor("filter", FilterEditor).line
        key = self.fields.editor("key", PlainSecret).control
        assert isinstance(key, QLineEdit)
        self.key = key
        self.alert = Alert(theme)
        self.try_action = QAction("Test with the last request", self)
        self.try_action.setToolTip("Show what the rule would reply; nothing is sent to the server")
        self.start_over_action = QAction("Start over", self)
        self.store_key_action = QAction("Store key", self)
        self.delete_key_action = QAction("Delete key", self)
        self.reply = JsonEdit(theme)
        self.reply.setReadOnly(True)
        self.reply.setAccessibleName("Reply that the rule would send")
        self.reply.setFixedHeight(_REPLY_HEIGHT)
        self.reply.hide()
        self._delay = QTimer(self, singleShot=True, interval=_DELAY_MS)
        self._lay_out()
        self._connect()

    @property
    def rule(self) -> ReplyRule | None:
        return self._rule

    def show_rule(self, rule: ReplyRule) -> None:
        """Show `rule`; pending edits of the previous one are emitted first."""
        self.settle()
        self._rule = rule
        self.fields.set_value(value_of(rule))
        self.filter.set_error(self._check(rule.filter))
        self._show_notes()
        self._clear_test()
        self._show_error()

    def settle(self) -> None:
        """Apply pending edits now instead of waiting for typing to pause."""
        self.fields.finish()
        if self._delay.isActive():
            self._read()

    def replace_endpoint_key(self, key: str) -> None:
        """Set the name under which the endpoint's key was stored, "" if it was deleted."""
        if self._rule is not None:
            self._set_rule(replace(self._rule, endpoint=replace(self._rule.endpoint, key=key)))

    def show_attempt(self, attempt: Attempt) -> None:
        requested = attempt.request
        target = f"{requested.input_request.method} of {requested.server}"
        self.alert.close_topic("try")
        self.reply.setVisible(attempt.reply is not None)
        if attempt.reply is None:
            self.alert.show_message("try", f"No reply to {target}. {attempt.reason}")
            return
        self.reply.set_text(write_exactly(_sent(attempt.reply)))
        notes = " ".join(attempt.notes)
        self.alert.show_message(
            "try",
            f"The rule would reply to {target} like this. {notes}".strip(),
            tone="warn" if notes else "ok",
        )

    def _connect(self) -> None:
        self._delay.timeout.connect(self._read)
        self.fields.value_changed.connect(self._on_edited)
        self.fields.editing_finished.connect(self._read)

    def _on_edited(self) -> None:
        self._show_notes()
        self._delay.start()

    def _show_notes(self) -> None:
        """Show the notes on the chosen kinds of rule and reply."""
        value = self.fields.value()
        self.fields.set_help("kind", ECHO_HELP if value.get("kind") == RuleKind.ECHO.value else "")
        self.fields.set_help("what", NOTHING_SENT if value.get("what") in (DECLINED, CANCELLED) else "")
        box = self.fields.editor("code", PlainNumber).box
        box.setToolTip(error_code_text(int(box.value()), from_client=True))

    def _read(self) -> None:
        """Read the rule from the fields; fields that cannot be read keep their previous value."""
        self._delay.stop()
        if self._rule is None:
            return
        value, problem = self.fields.value(), self.fields.problem()
        self.filter.set_error(self._check(str(value["filter"])))
        rule = self._rule
        try:
            rule = changed_rule(rule, value)
        except ValueError as exc:
            problem = problem or str(exc)
            rule = replace(rule, name=str(value["name"]), filter=str(value["filter"]))
        if problem:
            self.alert.show_message(
                "rule", problem, "Until you fix this, the rule keeps its previous reply.", tone="error"
            )
        else:
            self.alert.close_topic("rule")
        self._set_rule(rule)

    def _set_rule(self, rule: ReplyRule) -> None:
        if rule != self._rule:
            self._rule = rule
            self._clear_test()
            self._show_error()
            self.changed.emit(rule)

    def _clear_test(self) -> None:
        self.alert.close_topic("try")
        self.reply.hide()

    def _show_error(self) -> None:
        """Show what is wrong with the endpoint's URL."""
        rule = self._rule
        url = rule.endpoint.url if rule is not None and rule.kind is RuleKind.ENDPOINT else ""
        link = read_link(url) if url else Link("")
        if problem := link.problem:
            self.alert.show_message("address", f"This URL can't be used. {problem}", tone="error")
        elif link.scheme == "http" and not link.is_loopback:
            text = "This URL is not encrypted (http): others can read the requests and the API key."
            self.alert.show_message("address", text)
        elif link.is_international:
            self.alert.show_message("address", " ".join(link.warnings))
        else:
            self.alert.close_topic("address")

    def _lay_out(self) -> None:
        self.fields.add_widget("loops", _button(self.start_over_action), at_end=True)
        self.fields.add_widget("key", _button(self.store_key_action))
        self.fields.add_widget("key", _button(self.delete_key_action))
        row = hbox(None, _button(self.try_action), STRETCH, gap=-1)
        vbox(self, (self.fields, 1), self.alert, self.reply, row, margin=(SPACE_3, 0, 0, 0))


def _sent(reply: Reply) -> JSON:
    if reply.result is not None:
        return reply.result
    error: JSONObject = {"code": reply.code, "message": reply.message}
    return {"error": {**error, "data": reply.data} if reply.data is not None else error}


def _button(action: QAction, kind: ButtonKind = "plain") -> ActionButton:
    """Create a button that Return in a field does not press."""
    button = ActionButton(action, kind)
    button.setAutoDefault(False)
    return button
