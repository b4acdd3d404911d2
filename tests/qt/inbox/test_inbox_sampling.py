"""Sampling requests: the prompt, manual replies of every kind, drafts by rules; on the wire."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from inspector.base.json.values import JSON, JSONObject
from inspector.config.reply_rules import ReplyRule, RuleKind
from inspector.demo.everything.resources import png
from inspector.protocol.server_requests.request import RequestEnd
from inspector.qt.models.inbox import end_text
from inspector.qt.panels.inbox.reply_blocks import TextRow, ToolUseRow
from inspector.qt.panels.inbox.reply_editor import MANUAL_MODEL
from inspector.qt.panels.inbox.sampling_prompt import FIRST_MESSAGES
from inspector.qt.views.content_view import ContentForm
from inspector.qt.widgets.text.badge import ShareBar
from inspector.traffic.records import RecordKind
from tests.qt.inbox.inbox_stage import InboxStage, requesting_server, sampling
from tests.qt.lens_driver import Lens, visible_text

WEATHER: JSONObject = {
    "name": "weather",
    "description": "Looks out of the window.",
    "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def write(stage: InboxStage, text: str, key: str | None = None) -> None:
    row = stage.sampling(key).editor.rows[0]
    assert isinstance(row, TextRow)
    row.box.set_text(text)


def test_reply_is_sent_as_written(lens: Lens) -> None:
    stage = InboxStage(lens)
    call = stage.call(ask=[sampling()])
    stage.wait_for(1)
    write(stage, "4,\nI think")
    stage.press("Send reply")
    expected = {
        "role": "assistant",
        "content": {"type": "text", "text": "4,\nI think"},
        "model": MANUAL_MODEL,
        "stopReason": "endTurn",
    }
    assert stage.replies(call) == [expected]
    stage.wait_for(0)
    assert "answered after" in stage.text()
    assert "4,\nI think" in stage.text()


def test_rejected_sampling_sends_an_error(lens: Lens) -> None:
    stage = InboxStage(lens)
    call = stage.call(ask=[sampling()])
    stage.wait_for(1)
    stage.press("Reject")
    assert stage.replies(call) == [{"code": -1, "message": "The user rejected the sampling request"}]
    lens.until(lambda: "rejected after" in stage.text())


def test_rejected_sampling_in_a_round_ends_the_call(lens: Lens) -> None:
    stage = InboxStage(lens, requesting_server(era="2026-07-28"))
    call = stage.call(rounds=[{"a": sampling(), "b": sampling("3 + 3?")}])
    stage.wait_for(1)
    assert "the call ends" in stage.sampling("a").reject_action.toolTip()
    lens.press("Reject", stage.section("a"))
    lens.until(call.done)
    assert len(lens.sent("tools/call")) == 1
    stage.wait_for(0)


def test_prompt_is_shown_with_everything_the_server_sent(lens: Lens) -> None:
    stage = InboxStage(lens)
    image: JSON = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(png()).decode()}
    use: JSON = {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Bergen"}}
    result: JSON = {"type": "tool_result", "toolUseId": "c1", "content": [{"type": "text", "text": "Rain"}]}
    input_request = sampling(
        systemPrompt="Be <b>terse</b>.",
        temperature=0.5,
        stopSequences=["\n\n", "END"],
        includeContext="none",
        modelPreferences={"hints": [{"name": "small"}], "speedPriority": 0.9, "costPriority": 0.1},
        metadata={"trace": 7},
        tools=[WEATHER],
        toolChoice={"mode": "auto"},
        messages=[
            {"role": "user", "content": {"type": "text", "text": "Weather?"}},
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]},
            {"role": "user", "content": image},
        ],
    )
    stage.call(ask=[input_request])
    stage.wait_for(1)
    text = visible_text(stage.sampling().prompt)
    for expected in (
        "Be <b>terse</b>.",
        "uses the tool weather · c1",
        "tool result · c1",
        "max tokens 100 · temperature 0.5",
        '"\\n\\n", "END"',
        "small",
        '{"trace":7}',
        "1 tool: weather",
    ):
        assert expected in text, expected
    bars = [each.accessibleName() for each in stage.sampling().prompt.findChildren(ShareBar)]
    assert bars == ["Cost 0.1", "Speed 0.9"]
    stage.press("1 tool: weather")
    assert "Looks out of the window." in stage.text()
    lens.press("Open", stage.sampling().prompt.cards[-1])
    assert stage.view.content.form() is ContentForm.IMAGE
    stage.press("Back to request")
    stage.press("Reject")


def test_latest_of_many_messages_are_shown_first(lens: Lens) -> None:
    stage = InboxStage(lens)
    messages: JSON = [{"role": "user", "content": {"type": "text", "text": f"m{n} "}} for n in range(30)]
    stage.call(ask=[sampling(messages=messages)])
    stage.wait_for(1)
    prompt = stage.sampling().prompt
    assert len(prompt.cards) == FIRST_MESSAGES
    assert "m29" in visible_text(prompt.cards[-1])
    stage.press("Show 24 earlier messages")
    assert len(prompt.cards) == 30
    assert "m0" in visible_text(prompt.cards[0])
    stage.press("Reject")


def test_reply_with_a_tool_use_is_filled_in_with_the_form_of_the_tool(lens: Lens) -> None:
    stage = InboxStage(lens)
    call = stage.call(ask=[sampling(tools=[WEATHER])])
    stage.wait_for(1)
    editor = stage.sampling().editor
    write(stage, "Let me see.")
    editor.add_tool_use()
    row = editor.rows[1]
    assert isinstance(row, ToolUseRow)
    assert row.name.currentText() == "weather"
    assert [each.name for each in row.editor.form.field.members] == ["city"]
    stage.sampling().check()
    lens.until(lambda: "Input of weather: city" in visible_text(stage.sampling().errors))
    row.editor.set_arguments({"city": "Bergen"})
    row.id.setText("call_1")
    stage.sampling().check()
    assert not visible_text(stage.sampling().errors)
    stage.press("Send reply")
    use = {"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Bergen"}}
    response = stage.replies(call)[0]
    assert response["content"] == [{"type": "text", "text": "Let me see."}, use]
    assert response["stopReason"] == "toolUse"


def test_image_from_a_file_is_sent_with_its_type(lens: Lens, tmp_path: Path) -> None:
    file = tmp_path / "sun.bin"
    file.write_bytes(png())
    stage = InboxStage(lens)
    call = stage.call(ask=[sampling()])
    stage.wait_for(1)
    editor = stage.sampling().editor
    editor.add_file("image", tmp_path / "none.png")
    lens.until(lambda: "Could not read none.png" in editor.alert.text("file"))
    editor.add_file("image", file)
    lens.until(lambda: len(editor.rows) == 2)
    assert not editor.alert.text("file")
    lens.press("Open", editor.rows[1])
    assert stage.view.content.form() is ContentForm.IMAGE
    stage.press("Back to request")
    editor.rows[0].removal_requested.emit()
    stage.press("Send reply")
    block = stage.replies(call)[0]["content"]
    assert (block["type"], block["mimeType"]) == ("image", "image/png")
    assert base64.b64decode(block["data"]) == png()


def test_form_and_json_views_are_the_same_reply_and_lose_nothing(lens: Lens) -> None:
    stage = InboxStage(lens)
    call = stage.call(ask=[sampling()])
    stage.wait_for(1)
    editor = stage.sampling().editor
    text = (
        '{"model": "m", "role": "assistant", "_meta": {"x": 1.50},\n'
        ' "content": [{"type": "text", "text": "a", "annotations": {}}, {"type": "hologram", "n": 1}]}'
    )
    editor.show_json()
    editor.json_view.box.setPlainText(text)
    editor.show_form()
    assert not editor.is_json_shown()
    assert len(editor.rows) == 2
    assert editor.model.text() == "m"
    editor.show_json()
    assert editor.json_view.text() == text
    editor.show_form()
    editor.model.setText("other")
    stage.press("Send reply")
    response = stage.replies(call)[0]
    assert response == {
        "role": "assistant",
        "model": "other",
        "_meta": {"x": 1.5},
        "content": [{"type": "text", "text": "a", "annotations": {}}, {"type": "hologram", "n": 1}],
    }


def test_invalid_reply_is_warned_about_and_can_still_be_sent(lens: Lens) -> None:
    stage = InboxStage(lens)
    call = stage.call(ask=[sampling()])
    stage.wait_for(1)
    editor = stage.sampling().editor
    editor.show_json()
    editor.json_view.box.setPlainText('{"role": "robot", "content": []}')
    problems = stage.sampling().errors
    lens.until(lambda: "robot" in visible_text(problems) and "“model” is missing" in visible_text(problems))
    stage.press("Send reply")
    assert stage.replies(call) == [{"role": "robot", "content": []}]


def test_invalid_json_is_not_sent(lens: Lens) -> None:
    stage = InboxStage(lens)
    call = stage.call(ask=[sampling()])
    stage.wait_for(1)
    editor = stage.sampling().editor
    editor.show_json()
    editor.json_view.box.setPlainText("{nothing")
    editor.show_form()
    assert editor.is_json_shown()
    stage.press("Send reply")
    assert "Can't send" in stage.sampling().bar.alert.text("reply")
    lens.settle()
    assert not call.done()
    stage.press("Reject")


def test_rule_gets_the_edited_prompt_and_its_reply_is_a_draft(lens: Lens) -> None:
    stage = InboxStage(lens)
    echo = ReplyRule(id="1", name="Echo", kind=RuleKind.ECHO)
    lens.ask(lambda engine: engine.reply_rules.save([echo]))
    call = stage.call(ask=[sampling("2 + 2?")])
    stage.wait_for(1)
    section = stage.sampling()
    stage.press("Edit prompt")
    editor = section.prompt_editor
    editor.view.box.setPlainText('{"messages": 5}')
    stage.press("Use this prompt")
    assert "Not a valid prompt" in editor.alert.text("prompt")
    editor.view.box.setPlainText(
        '{"messages": [{"role": "user", "content": {"type": "text", "text": "3 + 3?"}}]}'
    )
    stage.press("Use this prompt")
    assert "3 + 3?" in visible_text(section.prompt)
    assert "prompt edited" in stage.text()
    section.draft.fill_menu()
    lens.until(lambda: [each.text() for each in section.draft.menu.actions()] == ["Fill in with Echo"])
    section.draft.menu.actions()[0].trigger()
    lens.until(lambda: section.editor.model.text() != MANUAL_MODEL)
    row = section.editor.rows[0]
    assert isinstance(row, TextRow)
    assert row.box.text() == "3 + 3?"
    assert not call.done()
    row.box.set_text("6")
    stage.press("Send reply")
    assert stage.replies(call)[0]["content"] == {"type": "text", "text": "6"}
    stage.wait_for(0)
    inbox_request = stage.earlier()[0]
    assert inbox_request.end is RequestEnd.ANSWERED
    assert end_text(inbox_request).startswith("answered, drafted by rule “Echo” after")
    assert "drafted by rule “Echo”" in stage.text()
    notes = [each.raw.decode() for each in lens.records() if each.kind is RecordKind.LOCAL]
    assert "Drafted by rule “Echo”, sent by you." in notes


def test_draft_that_was_cleared_leaves_no_mark(lens: Lens) -> None:
    stage = InboxStage(lens)
    echo = ReplyRule(id="1", name="Echo", kind=RuleKind.ECHO)
    lens.ask(lambda engine: engine.reply_rules.save([echo]))
    call = stage.call(ask=[sampling("Hello")])
    stage.wait_for(1)
    section = stage.sampling()
    section.draft.run(echo)
    lens.until(lambda: section.editor.model.text() != MANUAL_MODEL)
    row = section.editor.rows[0]
    assert isinstance(row, TextRow)
    row.box.set_text("")
    row.box.set_text("My own")
    stage.press("Send reply")
    assert stage.replies(call)[0]["content"]["text"] == "My own"
    stage.wait_for(0)
    assert "drafted" not in end_text(stage.earlier()[0])


def test_automatic_reply_is_marked(lens: Lens) -> None:
    stage = InboxStage(lens)
    echo = ReplyRule(id="1", name="Parrot", kind=RuleKind.ECHO, is_on=True)
    lens.ask(lambda engine: engine.reply_rules.save([echo]))
    call = stage.call(ask=[sampling("Hello")])
    assert stage.replies(call)[0]["content"]["text"] == "Hello"
    lens.until(lambda: stage.earlier())
    stage.panel.show_request(stage.earlier()[0].id)
    assert "answered by rule “Parrot” after" in stage.text()
    assert "\nby rule “Parrot”" in stage.text()


@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
def test_deeply_nested_and_hostile_prompts_are_shown(lens: Lens, era: str) -> None:
    stage = InboxStage(lens, requesting_server(era=era))
    deep: JSON = {}
    for _ in range(400):
        deep = {"a": deep}
    input_request = sampling("\u202e<img src=x>", metadata=deep, systemPrompt="\x1b[31m")
    if era == "2025-11-25":
        stage.call(ask=[input_request])
    else:
        stage.call(rounds=[{"q": input_request}])
    stage.wait_for(1)
    assert "⟨U+202E⟩<img src=x>" in stage.text()
    stage.press("Reject")
    stage.wait_for(0)
