"""Requests of the demo server “everything”, with and without a session, get replies."""

from __future__ import annotations

import asyncio
import json
import sys
from functools import partial

import pytest

from inspector.base.json.values import JSONObject
from inspector.config.servers.entries import StdioEntry
from inspector.engine.views import CallOutcome
from inspector.qt.panels.inbox.reply_blocks import TextRow, ToolUseRow
from inspector.schema.fields import ChoiceField
from tests.qt.inbox.inbox_stage import InboxStage
from tests.qt.lens_driver import Lens, visible_text

ERAS = pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])


def demo(era: str) -> StdioEntry:
    args = ("-m", "inspector.demo", "everything")
    return StdioEntry(name="everything", command=sys.executable, args=args, era=era)


def result_text(lens: Lens, call: asyncio.Task[CallOutcome]) -> str:
    lens.until(call.done)
    content = json.loads(call.result().response)["result"]["content"]
    return "\n".join(block["text"] for block in content)


@ERAS
def test_form_with_every_kind_of_field_keeps_its_defaults(lens: Lens, era: str) -> None:
    stage = InboxStage(lens, demo(era))
    call = stage.call("everything", "elicit_all_fields")
    stage.wait_for(1)
    assert "“enumNames” is deprecated" in visible_text(stage.section().notes)
    editor = stage.form().editor
    stage.press("Accept")
    assert "2 errors" in stage.form().bar.alert.text("reply"), "text and choice are required"
    choice = next(member.field for member in editor.form.field.members if member.name == "choice")
    assert isinstance(choice, ChoiceField)
    value = {**editor.form.value(), "text": "héllo", "choice": choice.choices[0]}
    editor.set_arguments(value)
    stage.press("Accept")
    received = json.loads(result_text(lens, call).partition("\n")[2])
    assert received == value
    assert received["integer_default"] == 7
    assert received["several_titled"] == ["free"]


@ERAS
def test_sampling_with_a_tool_gets_a_manual_reply(lens: Lens, era: str) -> None:
    stage = InboxStage(lens, demo(era))
    call = stage.call("everything", "sampling_tools", prompt="How warm is it?")
    stage.wait_for(1)
    editor = stage.sampling().editor
    editor.rows[0].removal_requested.emit()
    editor.add_tool_use()
    use = editor.rows[0]
    assert isinstance(use, ToolUseRow)
    use.editor.fill_with_example()
    first = stage.view.inbox_request.id
    stage.press("Send reply")
    lens.until(lambda: stage.view.inbox_request.is_open and stage.view.inbox_request.id != first)
    prompt = visible_text(stage.sampling().prompt)
    assert "uses the tool weather" in prompt
    assert "tool result" in prompt
    text = stage.sampling().editor.rows[0]
    assert isinstance(text, TextRow)
    text.box.set_text("Mild.")
    stage.press("Send reply")
    assert result_text(lens, call) == "mcp-lens-person said: Mild."


@ERAS
def test_trip_is_booked_step_by_step(lens: Lens, era: str) -> None:
    stage = InboxStage(lens, demo(era))
    call = stage.call("everything", "book_trip")
    contents: list[JSONObject] = [{}, {"day": "2027-01-31"}, {"seats": 2}]
    for step, content in enumerate(contents, start=1):
        lens.until(partial(is_at, stage, step))
        if step == 1:
            stage.form().editor.fill_with_example()
        else:
            stage.form().editor.set_arguments(content)
        if era == "2026-07-28":
            assert f"Round {step} of at most 10" in stage.text()
            assert len(stage.view.rounds.steps) == step - 1
        stage.press("Accept")
    booked = json.loads(result_text(lens, call).partition("\n")[2])
    assert booked["day"] == "2027-01-31"
    assert booked["seats"] == 2


def is_at(stage: InboxStage, step: int) -> bool:
    return stage.panel.request_view is not None and f"Step {step} of 3" in stage.text()


@ERAS
def test_roots_alongside_another_request_get_an_automatic_reply(lens: Lens, era: str) -> None:
    stage = InboxStage(lens, demo(era))
    call = stage.call("everything", "ask_twice", second="roots")
    stage.wait_for(1)
    assert "Form elicitation from" in stage.text()
    stage.press("Decline")
    text = result_text(lens, call)
    assert "decline" in text
    assert "second:" in text
