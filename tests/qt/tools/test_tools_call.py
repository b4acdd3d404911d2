"""Tool calls: the input, the messages on the wire and every way a call can end."""

from __future__ import annotations

import json

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QProgressBar, QPushButton

from inspector.engine.views import OutcomeKind, ServerStatus
from inspector.protocol.types import Tool
from inspector.qt.panels.tools.panel import ToolsPanel
from tests.qt.lens_driver import TIMEOUT, Lens, faulty, scripted, visible_text


def field(panel: ToolsPanel, name: str) -> QLineEdit:
    """Return the line edit of an argument."""
    rows = panel.call_view.arguments.form.rows()
    widget = next(row for row in rows if row.member.name == name).slot.editor.widget
    assert isinstance(widget, QLineEdit)
    return widget


def type_into(widget: QLineEdit, text: str) -> None:
    widget.setFocus()
    widget.selectAll()
    QTest.keyClicks(widget, text)


def button(panel: ToolsPanel, text: str) -> QPushButton:
    return next(each for each in panel.findChildren(QPushButton) if each.text() == text)


def press(lens: Lens, panel: ToolsPanel, text: str) -> None:
    lens.window.show_tab("tools")
    QTest.mouseClick(button(panel, text), Qt.MouseButton.LeftButton)


def test_typed_arguments_are_sent_with_their_types(lens: Lens) -> None:
    panel = lens.connect(scripted())
    lens.window.show_tab("tools")
    type_into(field(panel, "text"), "hello <b>")
    type_into(field(panel, "count"), "7")
    with lens.bot.waitSignal(panel.call_view.result.shown):
        press(lens, panel, "Call")
    assert lens.sent("tools/call")[0]["arguments"] == {"text": "hello <b>", "count": 7}
    assert json.loads(panel.call_view.result.content.shown_text()) == {"text": "hello <b>", "count": 7}
    assert panel.call_view.result.badge.text == "result"


def test_ctrl_return_calls_once_from_a_field_the_json_view_and_elsewhere(lens: Lens) -> None:
    panel = lens.connect(scripted())
    lens.window.show_tab("tools")
    lens.window.activateWindow()
    type_into(field(panel, "text"), "hi")
    editor = panel.call_view.arguments
    positions = [
        (field(panel, "text"), Qt.Key.Key_Return),
        (field(panel, "text"), Qt.Key.Key_Enter),
        (lens.window.traffic.table, Qt.Key.Key_Return),
        (editor.json_view.box, Qt.Key.Key_Return),
    ]
    for widget, key in positions:
        if widget is editor.json_view.box:
            editor.show_json()
        widget.setFocus()
        with lens.bot.waitSignal(panel.call_view.result.shown, timeout=TIMEOUT):
            QTest.keyClick(widget, key, Qt.KeyboardModifier.ControlModifier)
    lens.settle()
    assert [call["arguments"] for call in lens.sent("tools/call")] == [{"text": "hi"}] * len(positions)


def test_invalid_arguments_are_shown_at_their_field_and_nothing_is_sent(lens: Lens) -> None:
    panel = lens.connect(scripted())
    type_into(field(panel, "count"), "11")
    lens.do("tool.call")
    lens.settle()
    assert lens.sent("tools/call") == []
    problems = [row.error_text() for row in panel.call_view.arguments.form.rows()]
    assert all(problems), problems
    lens.do("tool.call_anyway")
    lens.until(lambda: lens.sent("tools/call"))
    assert lens.sent("tools/call")[0]["arguments"] == {"count": 11}


def test_arguments_are_fully_checked_while_typing(lens: Lens) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "minProperties": 1,
        "maxProperties": 1,
    }
    panel = lens.connect(scripted(tools=[{"name": "strict", "inputSchema": schema}]))
    editor = panel.call_view.arguments
    editor.show_json()
    with lens.bot.waitSignal(editor.errors_changed, timeout=TIMEOUT, check_params_cb=bool):
        editor.json_view.box.setPlainText('{"a": "x", "b": 2}')
    lens.do("tool.call")
    lens.settle()
    assert lens.sent("tools/call") == []
    lens.do("tool.call_anyway")
    lens.until(lambda: lens.sent("tools/call"))
    assert lens.sent("tools/call")[0]["arguments"] == {"a": "x", "b": 2}


def test_arguments_are_kept_when_switching_tools_or_servers_and_back(lens: Lens) -> None:
    other = {"name": "other", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}
    number = {"type": "object", "properties": {"n": {"type": "integer"}}}
    tools = [{"name": "number", "inputSchema": number}, other]
    panel = lens.connect(scripted("one", tools=tools))
    type_into(field(panel, "n"), "12x")
    panel.choose("other")
    type_into(field(panel, "text"), "of other")
    panel.choose("number")
    assert field(panel, "n").text() == "12x", "input stays, valid or not"
    panel.call_view.arguments.show_json()
    lens.connect(scripted("two", tools=tools))
    assert field(lens.tools, "n").text() == ""
    lens.choose("one")
    panel.choose("other")
    assert field(panel, "text").text() == "of other"


def test_invalid_json_is_kept_while_another_tool_is_selected(lens: Lens) -> None:
    panel = lens.connect(scripted())
    editor = panel.call_view.arguments
    editor.show_json()
    editor.json_view.box.setPlainText('{"text": ')
    panel.choose("fails")
    panel.choose("echo")
    assert panel.call_view.arguments.json_view.text() == '{"text": '


def test_tool_error_protocol_error_and_result_are_distinguished(lens: Lens) -> None:
    panel = lens.connect(scripted())
    result = panel.call_view.result
    assert lens.call("fails").kind is OutcomeKind.TOOL_ERROR
    assert result.badge.text == "tool error"
    assert result.content.shown_text() == "The disk is full."
    assert lens.call("refuses").kind is OutcomeKind.RPC_ERROR
    assert result.badge.text == "error"
    assert "No such thing" in visible_text(result) + result.message.shown_text()
    assert not result.tabs.isTabVisible(result.tabs.indexOf(result.content))
    assert lens.call("echo", {"text": "ok"}).kind is OutcomeKind.RESULT
    assert result.badge.text == "result"


def test_progress_is_shown_and_cancel_notifies_the_server(lens: Lens) -> None:
    panel = lens.connect(scripted())
    panel.choose("steps")
    lens.do("tool.call")
    lens.until(lambda: "2 of 4  half-way" in visible_text(panel.call_view))
    (bar,) = panel.call_view.findChildren(QProgressBar)
    assert bar.value() * 2 == bar.maximum()
    assert not lens.actions["tool.call"].isEnabled()
    with lens.bot.waitSignal(panel.call_view.result.shown):
        lens.do("tool.cancel")
    assert "Cancelled" in visible_text(panel.call_view.result)
    assert not bar.isVisibleTo(panel.call_view)
    lens.until(lambda: lens.sent("notifications/cancelled"))
    request = next(row for row in lens.records() if row.method == "tools/call")
    assert lens.sent("notifications/cancelled")[0]["requestId"] == request.id
    assert lens.actions["tool.call"].isEnabled()
    assert not lens.actions["tool.cancel"].isEnabled()


def test_server_crash_during_a_call_fails_it_with_the_last_output(lens: Lens) -> None:
    panel = lens.connect(scripted())
    recorded = len(lens.records())
    outcome = lens.call("dies")
    assert outcome.kind is OutcomeKind.FAILED
    shown = visible_text(panel.call_view.result)
    assert "code 9" in shown
    assert "Fatal: lost the database." in shown
    lens.wait_for("scripted", ServerStatus.FAILED)
    assert "code 9" in visible_text(panel)
    assert len(lens.records()) > recorded
    assert lens.window.traffic.model.rowCount() > 0
    lens.do("server.reconnect")
    lens.wait_for("scripted", ServerStatus.CONNECTED)
    lens.until(lambda: panel.list.isVisibleTo(panel))
    assert panel.list.currentIndex().data() == "dies"


def test_big_result_shows_its_start_and_total_size_and_links_to_the_rest(lens: Lens) -> None:
    panel = lens.connect(scripted())
    outcome = lens.call("big")
    assert len(outcome.response) > 5_000_000
    result = panel.call_view.result
    assert result.content.is_partial
    assert result.content.shown_text().startswith("xxxx")
    assert "of 4.8 MiB" in visible_text(result)
    shown = len(result.content.shown_text())
    result.content.view.text.show_more()
    assert len(result.content.shown_text()) > shown


def test_late_parse_of_a_big_result_does_not_replace_a_newer_one(lens: Lens) -> None:
    panel = lens.connect(scripted())
    panel.choose("big")
    lens.do("tool.call")
    lens.until(lambda: lens.actions["tool.call"].isEnabled())
    lens.call("echo", {"text": "newest"})
    lens.ask(lambda engine: engine.work(len, b"wait for the worker" + b" " * 300_000))
    lens.settle()
    assert "newest" in panel.call_view.result.content.shown_text()
    assert len(lens.sent("tools/call")) == 2


def test_tool_without_a_schema_can_be_called(lens: Lens) -> None:
    lens.connect(scripted(tools=[{"name": "bare"}]))
    assert lens.call("bare").kind is OutcomeKind.RESULT
    assert lens.sent("tools/call")[0]["arguments"] == {}


def test_call_command_belongs_to_the_server_in_front(lens: Lens) -> None:
    lens.connect(scripted("one"))
    lens.connect(scripted("two"))
    lens.ask(lambda engine: engine.servers.connector.disconnect("one"))
    lens.wait_for("one", ServerStatus.IDLE)
    assert lens.workspace.view.name == "two"
    assert lens.actions["tool.call"].isEnabled(), "the end of another server's call disabled the command"
    lens.choose("one")
    assert not lens.actions["tool.call"].isEnabled()
    lens.ask(lambda engine: engine.servers.connector.connect_soon("two"))
    lens.until(lambda: len(lens.sent("initialize")) == 3)
    lens.wait_for("two", ServerStatus.CONNECTED)
    lens.settle()
    assert not lens.actions["tool.call"].isEnabled(), "another server enabled the command"


def test_two_servers_can_each_have_a_call_under_way(lens: Lens) -> None:
    one = lens.connect(scripted("one"))
    one.choose("steps")
    lens.do("tool.call")
    lens.until(lambda: "half-way" in visible_text(one.call_view))
    two = lens.connect(faulty("two"))
    assert not lens.actions["tool.cancel"].isEnabled()
    assert lens.call("echo", {"text": "meanwhile"}).kind is OutcomeKind.RESULT
    assert "meanwhile" in two.call_view.result.content.shown_text()
    lens.choose("one")
    assert lens.actions["tool.cancel"].isEnabled()
    with lens.bot.waitSignal(one.call_view.result.shown):
        lens.do("tool.cancel")
    lens.until(lambda: lens.sent("notifications/cancelled"))


def test_a_result_stays_with_its_tool(lens: Lens) -> None:
    panel = lens.connect(scripted())
    first = panel.call_view.tool
    assert first is not None
    lens.call(first.name, {"text": "mine", "count": 1})
    other = next(tool for row in range(panel.model.rowCount()) if (tool := panel.model.item(row)) != first)
    assert isinstance(other, Tool)
    panel.choose(other.name)
    assert "No result yet" in visible_text(panel.call_view.result)
    with lens.bot.waitSignal(panel.call_view.result.shown, timeout=TIMEOUT):
        panel.choose(first.name)
    assert "mine" in panel.call_view.result.content.shown_text()
