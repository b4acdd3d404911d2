"""Prompts panel: arguments, messages, and the state that survives a list change."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from inspector.config.servers.entries import StdioEntry
from inspector.demo.everything.resources import png
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.qt.forms.named_values import MAX_ROWS
from inspector.qt.panels.prompts.panel import PromptsPanel
from inspector.qt.views.content_view import ContentForm
from inspector.qt.views.messages import BATCH_SIZE
from inspector.qt.window.tabs import PROMPTS, RESOURCES
from tests.qt.features.feature_stage import connect, feature_server, open_prompts, search, type_into
from tests.qt.lens_driver import TIMEOUT, Lens, visible_text
from tests.qt.widgets.test_hostile_text import HOSTILE, MARKUP, assert_harmless

PROMPT_LIST = [
    {
        "name": "greet",
        "title": "Greet someone",
        "description": "A short prompt.",
        "arguments": [
            {"name": "who", "description": "Whom to greet.", "required": True},
            {"name": "style", "title": "Manner"},
        ],
    },
    {"name": "mixed", "description": "Everything at once"},
    {"name": "refused"},
]
MIXED = [
    {"role": "user", "content": {"type": "text", "text": "Look at <b>this</b>"}},
    {
        "role": "user",
        "content": {"type": "image", "mimeType": "image/png", "data": base64.b64encode(png()).decode()},
    },
    {"role": "assistant", "content": {"type": "resource_link", "uri": "x://y", "name": "why"}},
    {"role": "assistant", "content": {"type": "resource", "resource": {"uri": "x://e", "text": "# Inside"}}},
    {"role": "robot", "content": {"type": "hologram"}},
]


def prompt_server(**script: Any) -> StdioEntry:
    contents = {"x://y": [{"uri": "x://y", "text": "because"}]}
    completions = {"style": ["formal", "friendly"]}
    script_defaults = {"prompts": PROMPT_LIST, "messages": {"mixed": MIXED}, "contents": contents}
    return feature_server(**{**script_defaults, "completions": completions, **script})


def rows(panel: PromptsPanel) -> list[Any]:
    return [panel.model.index(row).data() for row in range(panel.model.rowCount())]


def get(lens: Lens, panel: PromptsPanel, command: str = "prompt.get") -> CallOutcome:
    with lens.bot.waitSignal(panel.view.result.shown, timeout=TIMEOUT) as shown:
        lens.do(command)
    assert shown.args is not None
    outcome = shown.args[0]
    assert isinstance(outcome, CallOutcome)
    return outcome


def texts(panel: PromptsPanel) -> list[str]:
    return [visible_text(inbox_request) for inbox_request in panel.view.result.messages.cards]


def test_prompts_are_listed_described_and_searched(lens: Lens) -> None:
    panel = open_prompts(lens, prompt_server())
    assert rows(panel) == ["greet", "mixed", "refused"]
    shown = visible_text(panel.view)
    for text in ("Greet someone", "A short prompt.", "Whom to greet.", "Manner", "No messages yet"):
        assert text in shown
    search(panel.search, "at once")
    assert rows(panel) == ["mixed"]
    assert "greet" in visible_text(panel.view), "a search does not change the selection"
    QTest.keyClick(panel.search, Qt.Key.Key_Escape)
    assert panel.list.currentIndex().data() == "greet"


def test_only_filled_in_arguments_are_sent_and_empty_text_on_request(lens: Lens) -> None:
    panel = open_prompts(lens, prompt_server())
    line = panel.view.form.rows["who"].line
    assert line is not None
    type_into(line, "Ada")
    assert get(lens, panel).kind is OutcomeKind.RESULT
    panel.view.form.rows["style"].empty_button.click()
    get(lens, panel)
    sent = lens.sent("prompts/get")
    assert sent == [
        {"name": "greet", "arguments": {"who": "Ada"}},
        {"name": "greet", "arguments": {"who": "Ada", "style": ""}},
    ]
    assert '{"style": "", "who": "Ada"}' in texts(panel)[0]


def test_missing_argument_is_named_at_its_field_and_can_be_omitted_on_purpose(lens: Lens) -> None:
    panel = open_prompts(lens, prompt_server())
    lens.do("prompt.get")
    lens.settle()
    assert "Required by the prompt." in visible_text(panel.view.form)
    assert lens.sent("prompts/get") == []
    get(lens, panel, "prompt.get_anyway")
    assert lens.sent("prompts/get") == [{"name": "greet", "arguments": {}}]


def test_control_return_gets_the_prompt_and_calls_no_tool(lens: Lens) -> None:
    panel = open_prompts(lens, prompt_server())
    lens.window.activateWindow()
    line = panel.view.form.rows["who"].line
    assert line is not None
    type_into(line, "Ada")
    with lens.bot.waitSignal(panel.view.result.shown, timeout=TIMEOUT):
        QTest.keyClick(line, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    line.clear()
    shifted = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    with lens.bot.waitSignal(panel.view.result.shown, timeout=TIMEOUT):
        QTest.keyClick(line, Qt.Key.Key_Return, shifted)
    assert [each["arguments"] for each in lens.sent("prompts/get")] == [{"who": "Ada"}, {}]
    assert lens.workspace.tabs.currentWidget().isAncestorOf(panel)


def test_completions_appear_while_typing(lens: Lens) -> None:
    panel = open_prompts(lens, prompt_server())
    lens.window.activateWindow()
    panel.view.form.rows["who"].set_text("Ada")
    line = panel.view.form.rows["style"].line
    assert line is not None
    type_into(line, "f")
    lens.until(lambda: [each.text for each in line.suggestions()] == ["formal", "friendly"])
    QTest.keyClick(line, Qt.Key.Key_Escape)
    assert not line.suggestions()
    assert line.text() == "f"
    requested = lens.sent("completion/complete")[0]
    assert requested["ref"] == {"type": "ref/prompt", "name": "greet"}
    assert requested["context"] == {"arguments": {"who": "Ada"}}


def test_arguments_and_messages_are_restored_on_return(lens: Lens) -> None:
    panel = open_prompts(lens, prompt_server())
    panel.view.form.rows["who"].set_text("Ada")
    get(lens, panel)
    panel.choose("mixed")
    assert "No messages yet" in visible_text(panel.view)
    with lens.bot.waitSignal(panel.view.result.shown, timeout=TIMEOUT):
        panel.choose("greet")
    assert panel.view.form.strings() == {"who": "Ada"}
    assert "Ada" in texts(panel)[0]


def test_more_arguments_than_a_form_can_hold_are_reported(lens: Lens) -> None:
    arguments = [{"name": f"a{number}"} for number in range(MAX_ROWS + 3)] + [{"required": True}]
    panel = open_prompts(lens, prompt_server(prompts=[{"name": "many", "arguments": arguments}]))
    assert len(panel.view.form.rows) == MAX_ROWS
    shown = visible_text(panel.view)
    assert "3 more arguments can only be sent as a raw message." in shown
    assert "1 argument without a name can't be shown." in shown


def test_messages_are_shown_by_role_with_every_content_type(lens: Lens) -> None:
    panel = open_prompts(lens, prompt_server())
    panel.choose("mixed")
    get(lens, panel)
    cards = texts(panel)
    assert [inbox_request.splitlines()[0] for inbox_request in cards] == [
        "user",
        "user",
        "assistant",
        "assistant",
        "robot",
    ]
    assert "Look at <b>this</b>" in cards[0]
    assert "image/png" in cards[1]
    assert "x://y" in cards[2]
    assert "# Inside" in cards[3]
    assert "Unknown content type." in cards[4]
    assert "hologram" in cards[4]


def test_content_can_be_opened_separately_and_closed_again(lens: Lens) -> None:
    panel = open_prompts(lens, prompt_server())
    panel.choose("mixed")
    get(lens, panel)
    result = panel.view.result
    lens.press("Open", result.messages.cards[1])
    assert result.content.form() is ContentForm.IMAGE
    assert result.content.isVisibleTo(panel)
    lens.press("Back to messages", result)
    assert result.messages.isVisibleTo(panel)


def test_link_opens_the_resource(lens: Lens) -> None:
    panel = open_prompts(lens, prompt_server())
    panel.choose("mixed")
    get(lens, panel)
    lens.press("Read", panel.view.result.messages.cards[2])
    resources = lens.workspace.panel(RESOURCES)
    assert lens.workspace.tabs.currentWidget().isAncestorOf(resources)
    lens.until(lambda: resources.contents.result is not None)
    assert resources.contents.content.text.shown_text() == "because"


def test_messages_are_copied_as_text_and_shown_raw(lens: Lens) -> None:
    panel = open_prompts(lens, prompt_server())
    panel.choose("mixed")
    get(lens, panel)
    result = panel.view.result
    result.copy_action.trigger()
    copied = QGuiApplication.clipboard().text()
    assert copied.startswith("user:\nLook at <b>this</b>\n\nuser:\n[image/png")
    assert "assistant:\nx://y" in copied
    lens.press("Raw", result)
    assert '"type": "hologram"' in result.message.shown_text()


def test_many_messages_are_shown_on_demand(lens: Lens) -> None:
    messages = [
        {"role": "user", "content": {"type": "text", "text": f"No. {n}"}} for n in range(BATCH_SIZE + 5)
    ]
    panel = open_prompts(lens, prompt_server(messages={"mixed": messages}))
    panel.choose("mixed")
    get(lens, panel)
    assert len(texts(panel)) == BATCH_SIZE
    lens.press("Show more (5 messages)", panel.view.result)
    assert "No. 54" in texts(panel)[-1]


def test_error_is_shown_with_the_server_message(lens: Lens) -> None:
    panel = open_prompts(lens, prompt_server())
    panel.choose("refused")
    assert get(lens, panel).kind is OutcomeKind.RPC_ERROR
    assert "-32602 (invalid params): Not today" in visible_text(panel.view.result)
    assert '"Not today"' in panel.view.result.message.shown_text()


def test_prompt_request_can_be_cancelled(lens: Lens) -> None:
    panel = open_prompts(lens, prompt_server(prompts=[{"name": "waits"}]))
    lens.do("prompt.get")
    lens.until(lambda: lens.sent("prompts/get"))
    assert not lens.actions["prompt.get"].isEnabled()
    lens.press("Cancel", panel.view.result)
    lens.until(lambda: "Cancelled" in visible_text(panel.view.result))
    lens.until(lambda: lens.sent("notifications/cancelled"))
    assert lens.actions["prompt.get"].isEnabled()


def test_request_to_a_removed_server_says_why_and_ends(lens: Lens) -> None:
    panel = open_prompts(lens, prompt_server(prompts=[{"name": "alone"}]))
    panel.view._server = "gone"  # as if it were removed while the request is on its way
    with lens.bot.waitSignal(panel.view.result.shown, timeout=TIMEOUT) as shown:
        panel.view.get()
    assert shown.args[0].kind is OutcomeKind.FAILED
    assert "No server named 'gone'." in visible_text(panel.view.result)
    assert panel.view.can_get


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ({"capabilities": {}}, "This server does not offer prompts"),
        ({"prompts": []}, "The server's list of prompts is empty."),
        ({"prompts": "none"}, "invalid"),
    ],
)
def test_panel_without_prompts_says_why(lens: Lens, script: dict[str, Any], text: str) -> None:
    connect(lens, prompt_server(**script))
    lens.do("view.prompts")
    panel = lens.workspace.panel(PROMPTS)
    lens.until(lambda: text in "\n".join((visible_text(panel), *rows(panel))))


def test_unusable_entry_is_shown_with_the_raw_data(lens: Lens) -> None:
    panel = open_prompts(lens, prompt_server(prompts=[*PROMPT_LIST, {"title": "nameless"}]))
    panel.list.setCurrentIndex(panel.model.index(3))
    assert "Invalid" in visible_text(panel.view)
    assert "nameless" in panel.view.result.message.shown_text()
    assert not lens.actions["prompt.get"].isEnabled()


def test_refreshed_list_keeps_typed_input(lens: Lens) -> None:
    panel = open_prompts(lens, prompt_server())
    lens.window.activateWindow()
    line = panel.view.form.rows["who"].line
    assert line is not None
    type_into(line, "Ad")
    lens.do("prompt.refresh")
    lens.until(lambda: len(lens.sent("prompts/list")) == 2)
    lens.settle()
    QTest.keyClicks(line, "a")
    assert panel.view.form.strings() == {"who": "Ada"}
    assert panel.change_strip.isHidden()


def test_hostile_names_and_messages_stay_plain_and_visible(lens: Lens) -> None:
    hostile = {"name": HOSTILE, "title": HOSTILE, "description": HOSTILE}
    link = {"type": "resource_link", "uri": HOSTILE, "name": HOSTILE, "mimeType": HOSTILE}
    contents = [{"type": "text", "text": HOSTILE}, link, {"type": HOSTILE}]
    messages = [{"role": HOSTILE, "content": content} for content in contents]
    prompts = [{**hostile, "arguments": [hostile]}]
    panel = open_prompts(lens, prompt_server(prompts=prompts, messages={HOSTILE: messages}))
    get(lens, panel)
    assert_harmless(lens.window)
    assert MARKUP in texts(panel)[0]
