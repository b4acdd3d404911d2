"""Fields of a reply rule, and the conversion between a rule and the value of its form.

A rule has the fields of all kinds: echo, fixed reply, script file, HTTP endpoint. An endpoint's key is
write-only.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from typing import Any

from PySide6.QtWidgets import QFileDialog, QWidget

from inspector.base.json.values import JSON, JSONObject
from inspector.config.reply_rules import (
    DEFAULT_PER_MINUTE,
    DEFAULT_TIMEOUT,
    MAX_PER_MINUTE,
    Endpoint,
    ReplyRule,
    RuleKind,
    reply_problem,
)
from inspector.protocol.jsonrpc import USER_REJECTED
from inspector.protocol.server_requests.replies import ACCEPT, CANCEL, DECLINE, SAMPLING_REFUSED
from inspector.qt.forms.schema.plain_editors import (
    Hint,
    PlainEditor,
    PlainFile,
    PlainSecret,
    Row,
    choice,
)
from inspector.qt.widgets.inputs.filter_bar import Completer, FilterField
from inspector.schema.fields import (
    ABSENT,
    BooleanField,
    IntegerField,
    NumberField,
    ObjectField,
    TextField,
)
from inspector.schema.values import Draft

KIND_LABELS = {
    RuleKind.CANNED: "Fixed reply",
    RuleKind.ECHO: "Echo",
    RuleKind.SCRIPT: "Scripted replies",
    RuleKind.ENDPOINT: "Model endpoint",
}
ECHO_HELP = "Replies with the last user message. Sampling only."
NOTHING_SENT = "Nothing else is sent."
TEXT, ACCEPTED, DECLINED, CANCELLED, ERROR, RAW = "text", "accept", "decline", "cancel", "error", "raw"
_REPLIES = {
    TEXT: "Text (sampling)",
    ACCEPTED: "Accept (elicitation)",
    DECLINED: "Decline (elicitation)",
    CANCELLED: "Cancel (elicitation)",
    ERROR: "Error",
    RAW: "Result as JSON",
}
_SCRIPT_HELP = (
    "A JSON array of replies, or one reply per line: a string (model text), a result as JSON, "
    'or {"error": {"code": -1, "message": "…"}}. After the last reply, requests wait for you.'
)
_MAX_LENGTH = 2_000
_NUMBER_WIDTH = 90


class FilterEditor(PlainEditor):
    """The filter of a rule."""

    def __init__(self, *args: Any, complete: Completer) -> None:
        self._complete = complete
        super().__init__(*args)

    def make_widget(self) -> QWidget:
        self.line = FilterField(self.theme, self.hint.placeholder, self._complete)
        self.line.text_settled.connect(self._on_picked)
        return self.line

    def draft(self) -> Draft:
        return self.line.text().strip()

    def set_draft(self, draft: Draft) -> bool:
        self.line.setText(str(draft) if draft is not ABSENT else "")
        self.line.settle()
        return True

    def finish(self) -> None:
        self.line.settle()


class ScriptFile(PlainFile):
    """The path of a reply script."""

    def prepare(self, dialog: QFileDialog) -> None:
        super().prepare(dialog)
        dialog.setNameFilters(["JSON and JSON Lines (*.json *.jsonl *.ndjson)", "All files (*)"])


def _of_kind(value: JSONObject, kind: RuleKind) -> bool:
    return value.get("kind", RuleKind.CANNED.value) == kind.value


def _is_reply(value: JSONObject, reply: str) -> bool:
    return _of_kind(value, RuleKind.CANNED) and value.get("what", TEXT) == reply


def _line(title: str, name: str, placeholder: str, **hints: Any) -> Row:
    return TextField(title=title, max_length=_MAX_LENGTH), Hint(placeholder=placeholder, name=name, **hints)


def _json(title: str, what: str, placeholder: str, **hints: Any) -> Row:
    hint = Hint(placeholder=placeholder, name=placeholder, text=what, **hints)
    return ObjectField(title=title), hint


def rule_fields(complete: Completer) -> dict[str, Row]:
    """Return the fields; `complete` completes filters."""
    script = partial(_of_kind, kind=RuleKind.SCRIPT)
    return {
        "name": _line("Name", "Rule name", "Name"),
        "filter": (
            TextField(title="Filter"),
            Hint(
                partial(FilterEditor, complete=complete),
                "All requests, or server:name method:sampling/*",
                name="Filter: which server requests the rule replies to",
            ),
        ),
        "kind": choice("Reply type", {kind.value: label for kind, label in KIND_LABELS.items()}),
        "what": choice("Reply", _REPLIES, shown_if=partial(_of_kind, kind=RuleKind.CANNED)),
        "text": (
            TextField(multiline=True),
            Hint(
                placeholder="Model text", name="Model text", lines=2, shown_if=partial(_is_reply, reply=TEXT)
            ),
        ),
        "content": _json(
            "",
            "The content",
            "Form values as JSON; leave empty for URL elicitations",
            shown_if=partial(_is_reply, reply=ACCEPTED),
        ),
        "raw": _json("", "The result", "Result as JSON", shown_if=partial(_is_reply, reply=RAW)),
        "code": (
            IntegerField(title="Code", minimum=-(2**31), maximum=2**31 - 1),
            Hint(name="Error code", width=_NUMBER_WIDTH, shown_if=partial(_is_reply, reply=ERROR)),
        ),
        "message": _line(
            "", "Error message", "Message", beside=True, shown_if=partial(_is_reply, reply=ERROR)
        ),
        "script": (
            TextField(title="File", description=_SCRIPT_HELP, max_length=_MAX_LENGTH),
            Hint(ScriptFile, "File path", name="Script file", shown_if=script),
        ),
        "loops": (BooleanField(title="Start over after the last reply"), Hint(shown_if=script)),
        **_endpoint_fields(),
    }


def _endpoint_fields() -> dict[str, Row]:
    endpoint = partial(_of_kind, kind=RuleKind.ENDPOINT)
    return {
        "endpoint.url": _line("URL", "Endpoint URL", "https://host/v1", shown_if=endpoint),
        "endpoint.model": _line(
            "Model", "Model", "Leave empty to use the model the server prefers", shown_if=endpoint
        ),
        "key": (
            TextField(title="API key", max_length=_MAX_LENGTH),
            Hint(PlainSecret, name="API key", shown_if=endpoint),
        ),
        "endpoint.timeout": (
            NumberField(title="Timeout", minimum=1, maximum=86_400, default=DEFAULT_TIMEOUT),
            Hint(unit="s", width=_NUMBER_WIDTH, shown_if=endpoint),
        ),
        "endpoint.per_minute": (
            IntegerField(minimum=1, maximum=MAX_PER_MINUTE, default=DEFAULT_PER_MINUTE),
            Hint(
                name="Maximum endpoint requests per minute",
                tip="Limits your costs if a server sends requests in a loop. Further requests wait for you.",
                unit="per minute",
                text="Rate limit",
                beside=True,
                shown_if=endpoint,
            ),
        ),
        "endpoint.extra": _json(
            "Extra", "Extra", "Extra request properties as JSON; null removes a property", shown_if=endpoint
        ),
    }


def value_of(rule: ReplyRule) -> JSONObject:
    """Return a rule as the value of its form."""
    what = _shown_as(rule.reply)
    reply = rule.reply if isinstance(rule.reply, dict) else {}
    error = reply.get("error") if what == ERROR else None
    return {
        "name": rule.name,
        "filter": rule.filter,
        "kind": rule.kind.value,
        "what": what,
        "text": rule.reply if isinstance(rule.reply, str) else "",
        **({"content": reply["content"]} if what == ACCEPTED and "content" in reply else {}),
        "raw": reply,
        "code": USER_REJECTED,
        "message": SAMPLING_REFUSED,
        **(error if isinstance(error, dict) else {}),
        "script": rule.script,
        "loops": rule.loops,
        "endpoint": asdict(rule.endpoint),
    }


def changed_rule(rule: ReplyRule, value: dict[str, Any]) -> ReplyRule:
    """Return the rule with the values of its form. Raises ValueError if the reply is invalid."""
    kind = RuleKind(value.get("kind", RuleKind.CANNED.value))
    return replace(
        rule,
        **{name: value[name] for name in ("name", "filter", "script", "loops")},
        kind=kind,
        endpoint=Endpoint(**{**value["endpoint"], "key": rule.endpoint.key}),
        reply=_reply(value) if kind is RuleKind.CANNED else rule.reply,
    )


def _reply(value: dict[str, Any]) -> JSON:
    match value.get("what", TEXT):
        case "text":
            return str(value["text"])
        case "accept":
            return {"action": ACCEPT, **({"content": value["content"]} if "content" in value else {})}
        case "decline":
            return {"action": DECLINE}
        case "cancel":
            return {"action": CANCEL}
        case "error":
            return {"error": {"code": value["code"], "message": value["message"]}}
    reply: JSONObject = value.get("raw", {})
    if problem := reply_problem(reply):
        raise ValueError(f"Invalid result: {problem}.")
    return reply


def _shown_as(reply: JSON) -> str:
    """Return the choice that shows a reply completely; any object can be shown as JSON."""
    if not isinstance(reply, dict):
        return TEXT
    if list(reply) == ["error"]:
        error = reply["error"]
        return ERROR if isinstance(error, dict) and set(error) == {"code", "message"} else RAW
    action, others = reply.get("action"), set(reply) - {"action"}
    if action == ACCEPT and (not others or (others == {"content"} and isinstance(reply["content"], dict))):
        return ACCEPTED
    if others or action not in (DECLINE, CANCEL):
        return RAW
    return DECLINED if action == DECLINE else CANCELLED
