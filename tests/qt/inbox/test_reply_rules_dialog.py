"""Reply rules dialog: add, order, enable, test and save rules; API keys are never shown."""

from __future__ import annotations

import json
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from inspector.base.json.values import JSONObject
from inspector.config.reply_rules import RuleKind
from inspector.config.servers.entries import StdioEntry
from inspector.demo.servers import command
from inspector.engine.inbox.views import Reply, RequestItem
from inspector.protocol.revisions import R4
from inspector.protocol.server_requests.request import server_request_of
from inspector.qt.dialogs.inbox.reply_kinds import ACCEPTED, ERROR, RAW, TEXT
from inspector.qt.dialogs.inbox.reply_rules import ReplyRulesDialog
from inspector.qt.forms.schema.plain_editors import PlainBox, PlainChoice, PlainJson, PlainLine
from inspector.traffic.records import Direction, RecordKind
from tests.qt.lens_driver import Lens, visible_text

SAMPLING: JSONObject = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}],
    "maxTokens": 9,
}
FORM: JSONObject = {
    "message": "Who?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
}
KINDS = list(RuleKind)


def write(lens: Lens, *rules: Any) -> None:
    (lens.folder / "answers.json").write_text(json.dumps({"rules": list(rules)}))


def saved(lens: Lens) -> list[dict[str, Any]]:
    path = lens.folder / "answers.json"
    rules: list[dict[str, Any]] = json.loads(path.read_text())["rules"] if path.exists() else []
    return rules


def opened(lens: Lens, count: int = 0) -> ReplyRulesDialog:
    lens.do("app.answers")
    dialog = lens.dialog(ReplyRulesDialog)
    lens.until(lambda: dialog.add_action.isEnabled())
    assert dialog.list.topLevelItemCount() == count
    return dialog


def ask(lens: Lens, method: str = "sampling/createMessage", params: JSONObject = SAMPLING) -> Reply | None:
    request = RequestItem("", server_request_of(method, params))
    return lens.ask(lambda engine: engine.reply_rules.reply("demo", request, R4))


def choose(dialog: ReplyRulesDialog, number: int) -> None:
    item = dialog.list.topLevelItem(number)
    assert item is not None
    dialog.list.setCurrentItem(item)


def turn_on(dialog: ReplyRulesDialog, number: int) -> None:
    item = dialog.list.topLevelItem(number)
    assert item is not None
    item.setCheckState(0, Qt.CheckState.Checked)


def pick_kind(dialog: ReplyRulesDialog, kind: RuleKind) -> None:
    box = dialog.form.fields.editor("kind", PlainChoice).box
    box.setCurrentIndex(KINDS.index(kind))
    box.activated.emit(KINDS.index(kind))


def line(dialog: ReplyRulesDialog, name: str) -> QLineEdit:
    return dialog.form.fields.editor(name, PlainLine).line


def position_text(dialog: ReplyRulesDialog) -> str:
    return dialog.form.fields.help_text("loops")


def test_new_rule_is_disabled_and_replies_once_enabled(lens: Lens) -> None:
    dialog = opened(lens)
    lens.press("Add rule", dialog)
    line(dialog, "name").clear()
    QTest.keyClicks(line(dialog, "name"), "Greeting")
    QTest.keyClicks(dialog.form.filter, "method:sampling/*")
    QTest.keyClicks(dialog.form.fields.editor("text", PlainBox).box, "Hello there")
    lens.until(lambda: saved(lens) and saved(lens)[0].get("answer") == "Hello there")
    (rule,) = saved(lens)
    assert (rule["name"], rule["filter"], rule["on"]) == ("Greeting", "method:sampling/*", False)
    assert ask(lens) is None
    turn_on(dialog, 0)
    lens.until(lambda: saved(lens)[0]["on"] is True)
    reply = ask(lens)
    assert reply is not None
    assert reply.rule == "Greeting"


def test_rules_are_tried_in_the_order_set_by_the_user(lens: Lens) -> None:
    write(lens, *({"kind": "canned", "on": True, "name": name, "answer": name} for name in ("one", "two")))
    dialog = opened(lens, 2)
    assert not dialog.up_action.isEnabled()
    choose(dialog, 1)
    dialog.up_action.trigger()
    lens.until(lambda: [rule["name"] for rule in saved(lens)] == ["two", "one"])
    assert dialog.list.number() == 0, "it stays selected"
    reply = ask(lens)
    assert reply is not None
    assert reply.rule == "two"


def test_removed_rule_can_be_restored_with_all_its_content(lens: Lens) -> None:
    rules = [{"kind": "echo", "name": f"{n}", "color": "red", "id": f"{n}"} for n in range(3)]
    write(lens, *rules)
    dialog = opened(lens, 3)
    choose(dialog, 1)
    QTest.keyClick(dialog.list, Qt.Key.Key_Delete)
    lens.until(lambda: [rule["name"] for rule in saved(lens)] == ["0", "2"])
    lens.press("Undo", dialog.alert)
    lens.until(lambda: [rule["name"] for rule in saved(lens)] == ["0", "1", "2"])
    assert saved(lens)[1]["color"] == "red"


def test_reply_is_shown_in_full_and_unchanged_when_only_the_name_changes(lens: Lens) -> None:
    replies: list[tuple[Any, str]] = [
        ("Hello", TEXT),
        ({"action": "accept", "content": {"n": 1}}, ACCEPTED),
        ({"action": "accept"}, ACCEPTED),
        ({"error": {"code": -1, "message": "No"}}, ERROR),
        ({"error": {"code": -1, "message": "No", "data": 7}}, RAW),
        ({"action": "accept", "extra": 1}, RAW),
        ({"action": "explode"}, RAW),
        ({}, RAW),
    ]
    write(lens, *({"kind": "canned", "name": f"{n}", "answer": a} for n, (a, _) in enumerate(replies)))
    dialog = opened(lens, len(replies))
    for number, (reply, which) in enumerate(replies):
        choose(dialog, number)
        assert dialog.form.fields.editor("what", PlainChoice).draft() == which
        QTest.keyClicks(line(dialog, "name"), "x")
        dialog.form.settle()
        assert dialog.rules[number].reply == reply
        assert dialog.rules[number].name == f"{number}x"


def test_switching_the_kind_and_back_loses_nothing(lens: Lens) -> None:
    write(lens, {"kind": "canned", "name": "A", "answer": "Hello"})
    dialog = opened(lens, 1)
    pick_kind(dialog, RuleKind.ECHO)
    lens.until(lambda: saved(lens)[0]["kind"] == "echo")
    pick_kind(dialog, RuleKind.CANNED)
    lens.until(lambda: saved(lens)[0]["kind"] == "canned")
    assert saved(lens)[0]["answer"] == "Hello"


def test_invalid_json_is_reported_and_the_rule_keeps_its_reply(lens: Lens) -> None:
    write(lens, {"kind": "canned", "name": "A", "answer": {"odd": 1}})
    dialog = opened(lens, 1)
    QTest.keyClicks(dialog.form.fields.editor("raw", PlainJson).box, "oops")
    dialog.form.settle()
    assert "The result is not JSON" in dialog.form.alert.text("rule")
    assert dialog.rules[0].reply == {"odd": 1}


def test_invalid_json_does_not_discard_changes_of_other_fields(lens: Lens) -> None:
    endpoint = {"url": "http://localhost:1/v1", "extra": {"seed": 7}}
    write(lens, {"kind": "endpoint", "name": "M", "endpoint": endpoint})
    dialog = opened(lens, 1)
    QTest.keyClicks(dialog.form.fields.editor("endpoint.extra", PlainJson).box, "oops")
    QTest.keyClicks(line(dialog, "endpoint.url"), "/chat")
    dialog.form.settle()
    assert "Extra is not JSON" in dialog.form.alert.text("rule")
    assert dialog.rules[0].endpoint.url == "http://localhost:1/v1/chat"
    assert dialog.rules[0].endpoint.extra == {"seed": 7}


def test_invalid_filter_is_marked(lens: Lens) -> None:
    write(lens, {"kind": "echo", "name": "A"})
    dialog = opened(lens, 1)
    dialog.form.filter.setText("dur>>")
    dialog.form.settle()
    assert dialog.form.filter.error is not None


def test_disabled_rule_can_be_tried_on_the_last_server_request(lens: Lens) -> None:
    write(lens, {"kind": "canned", "name": "A", "answer": {"action": "accept", "content": {"nome": "x"}}})
    dialog = opened(lens, 1)
    lens.press("Test with the last request", dialog)
    lens.until(lambda: "No server request received yet" in dialog.form.alert.text("try"))
    assert ask(lens, "elicitation/create", FORM) is None
    lens.press("Test with the last request", dialog)
    lens.until(lambda: "would reply to elicitation/create" in dialog.form.alert.text("try"))
    assert "Not a field of the form: “nome”." in dialog.form.alert.text("try")
    assert json.loads(dialog.form.reply.text()) == {"action": "accept", "content": {"nome": "x"}}
    dialog.form.filter.setText("server:other")
    dialog.form.settle()
    assert dialog.form.reply.isHidden(), "the rule has changed"
    lens.press("Test with the last request", dialog)
    lens.until(lambda: "filter does not match" in dialog.form.alert.text("try"))


def test_api_key_is_stored_apart_from_the_rule_and_never_shown(lens: Lens) -> None:
    write(lens, {"id": "m", "kind": "endpoint", "name": "M", "endpoint": {"url": "http://localhost:1/v1"}})
    dialog = opened(lens, 1)
    key = dialog.form.key
    assert not dialog.form.store_key_action.isEnabled()
    QTest.keyClicks(key, "sk-hidden-1234")
    assert key.displayText() != "sk-hidden-1234"
    lens.press("Store key", dialog)
    lens.until(lambda: saved(lens)[0]["endpoint"].get("key") == "answers/endpoint/m")
    lens.until(lambda: not key.text())
    stored = lens.ask(lambda engine: engine.secrets.get("answers/endpoint/m"))
    assert stored == "sk-hidden-1234"
    assert "sk-hidden" not in (lens.folder / "answers.json").read_text()
    assert "sk-hidden" not in visible_text(dialog)
    assert "Stored" in key.placeholderText()
    lens.press("Delete key", dialog)
    lens.until(lambda: not saved(lens)[0]["endpoint"].get("key"))
    assert lens.ask(lambda engine: engine.secrets.get("answers/endpoint/m")) is None


def test_api_key_of_a_permanently_removed_rule_is_deleted(lens: Lens) -> None:
    lens.ask(lambda engine: engine.secrets.put("answers/endpoint/m", "sk-old"))
    write(lens, {"id": "m", "kind": "endpoint", "name": "M", "endpoint": {"key": "answers/endpoint/m"}})
    dialog = opened(lens, 1)
    dialog.remove_action.trigger()
    lens.until(lambda: saved(lens) == [])
    dialog.close()
    lens.until(lambda: lens.ask(lambda engine: engine.secrets.get("answers/endpoint/m")) is None)


def test_unencrypted_url_is_warned_about(lens: Lens) -> None:
    write(lens, {"kind": "endpoint", "name": "M", "endpoint": {"url": "http://localhost:1/v1"}})
    dialog = opened(lens, 1)
    assert dialog.form.alert.text("address") == ""
    line(dialog, "endpoint.url").clear()
    QTest.keyClicks(line(dialog, "endpoint.url"), "http://192.168.1.4/v1")
    dialog.form.settle()
    assert "not encrypted" in dialog.form.alert.text("address")
    line(dialog, "endpoint.url").clear()
    QTest.keyClicks(line(dialog, "endpoint.url"), "ftp://x")
    dialog.form.settle()
    assert "can't be used" in dialog.form.alert.text("address")


def test_script_position_is_shown_and_can_be_reset(lens: Lens) -> None:
    script = lens.folder / "s.jsonl"
    script.write_text('"one"\n"two"\n')
    write(lens, {"id": "s", "kind": "script", "name": "S", "on": True})
    dialog = opened(lens, 1)
    line(dialog, "script").setText(str(script))
    lens.until(lambda: "0 of 2 replies" in position_text(dialog))
    lens.until(lambda: saved(lens)[0].get("script") == str(script))
    assert ask(lens) is not None
    dialog.close()
    dialog = opened(lens, 1)
    lens.until(lambda: "1 of 2 replies" in position_text(dialog))
    lens.press("Start over", dialog)
    lens.until(lambda: "0 of 2 replies" in position_text(dialog))
    script.unlink()
    dialog.form.fields.value_changed.emit()
    lens.press("Start over", dialog)
    lens.until(lambda: "Could not read" in position_text(dialog))


def test_rules_changed_elsewhere_meanwhile_are_not_overwritten(lens: Lens) -> None:
    write(lens, {"kind": "echo", "name": "Mine"})
    dialog = opened(lens, 1)
    write(lens, {"kind": "echo", "name": "Theirs"}, {"kind": "echo", "name": "Too"})
    dialog.add_action.trigger()
    lens.until(lambda: "The reply rules were changed outside MCP Lens" in dialog.alert.text("file"))
    lens.until(lambda: [rule.name for rule in dialog.rules] == ["Theirs", "Too"])
    assert [rule["name"] for rule in saved(lens)] == ["Theirs", "Too"]


def test_last_edit_is_saved_when_the_dialog_closes_immediately(lens: Lens) -> None:
    write(lens, {"kind": "canned", "name": "A"})
    dialog = opened(lens, 1)
    QTest.keyClicks(dialog.form.fields.editor("text", PlainBox).box, "Last words")
    dialog.close()
    lens.until(lambda: saved(lens)[0].get("answer") == "Last words")


def test_thousand_rules_open_without_delay_and_hostile_names_stay_text(lens: Lens) -> None:
    names = ["<b>bold</b>", "a\u202eb", "x" * 5_000, *(f"{n}" for n in range(990))]
    write(lens, *({"kind": "echo", "name": name, "id": f"{n}"} for n, name in enumerate(names)))
    dialog = opened(lens, len(names))
    shown = [item.text(0) for n in range(3) if (item := dialog.list.topLevelItem(n)) is not None]
    assert shown[0] == "<b>bold</b>"
    assert "\u202e" not in shown[1]
    assert len(shown[2]) <= 80


def test_rule_replies_to_a_real_server_on_the_wire(lens: Lens) -> None:
    write(lens, {"kind": "canned", "name": "Blue", "on": True, "filter": "server:sdk", "answer": "blue"})
    program, *args = command("everything")
    lens.connect(StdioEntry(name="sdk", command=program, args=tuple(args), era="legacy-first"))
    lens.call("sampling", {"prompt": "A color?"})
    responses = [
        json.loads(each.raw)["result"]
        for each in lens.records()
        if each.direction is Direction.OUT and each.kind is RecordKind.RESULT
    ]
    assert [response["content"]["text"] for response in responses if "model" in response] == ["blue"]
    notes = [each.raw.decode() for each in lens.records() if each.kind is RecordKind.LOCAL]
    assert "Answered by rule “Blue”." in notes


def test_inbox_timeout_is_chosen_here_and_saved(lens: Lens) -> None:
    dialog = opened(lens)
    within = dialog.timeout.seconds
    lens.until(within.isEnabled)
    assert within.text() == "no limit"
    within.setValue(45)
    path = lens.folder / "preferences.json"
    lens.until(lambda: path.exists() and json.loads(path.read_text()).get("inbox") == {"timeout": 45})
    assert lens.ask(lambda engine: engine.settings.get("inbox.timeout")) == 45
    dialog.close()
    again = opened(lens)
    lens.until(lambda: again.timeout.seconds.value() == 45)
