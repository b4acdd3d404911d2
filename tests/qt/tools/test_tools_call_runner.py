"""Call options, consent for destructive tools, call history and saved calls."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.views import OutcomeKind
from inspector.protocol.connection import ProgressReceived
from inspector.qt.models.palette import NoteRole
from inspector.qt.panels.tools.call_options import NO_OPTIONS
from inspector.qt.panels.tools.panel import CallView
from inspector.qt.widgets.inputs.popups import PickerPopup
from inspector.schema.values import FieldError
from tests.qt.lens_driver import TIMEOUT, Lens, scripted, visible_text

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
HINTS = {"destructiveHint": True, "openWorldHint": False}


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": TEXT, **more}


def put(lens: Lens, text: str) -> CallView:
    """Type the text with key events, as a user does."""
    view = lens.tools.call_view
    view.arguments.show_json()
    view.arguments.json_view.box.setPlainText(json.dumps({"text": text}))
    view.arguments.show_form()
    return view


def called(lens: Lens) -> CallView:
    view = lens.tools.call_view
    with lens.bot.waitSignal(view.result.shown, timeout=TIMEOUT):
        lens.do("tool.call")
    return view


def opened(lens: Lens, command: str) -> PickerPopup:
    lens.do(command)
    pickers = lens.tools.call_view.pickers
    lens.until(lambda: pickers.popup is not None and pickers.popup.isVisible())
    assert pickers.popup is not None
    return pickers.popup


def rows(popup: PickerPopup) -> list[str]:
    model = popup.list.model()
    return [str(model.index(row, 0).data()) for row in range(model.rowCount())]


def test_meta_and_timeout_are_sent_with_the_call_and_saved_with_the_tool(lens: Lens) -> None:
    panel = lens.connect(scripted(tools=[tool("echo"), tool("other")]))
    view = put(lens, "x")
    lens.do("call.options")
    options = view.drawer.options
    assert options.isVisibleTo(view)
    options.meta.setText('{"example.com/n": 12345678901234567890}')
    options.timeout.setValue(30)
    options.total.setValue(90)
    called(lens)
    sent = lens.sent("tools/call")[0]["_meta"]
    assert isinstance(sent, dict)
    assert sent["example.com/n"] == 12345678901234567890
    assert "30 s · 90 s total · _meta" in visible_text(view)
    panel.choose("other")
    assert options.meta.text() == ""
    panel.choose("echo")
    assert options.timeout.value() == 30


def test_call_exceeding_its_total_timeout_is_cancelled_and_the_server_notified(lens: Lens) -> None:
    panel = lens.connect(scripted())
    panel.choose("waits")
    panel.call_view.drawer.options.total.setValue(0.1)
    outcome = lens.call("waits")
    assert outcome.kind is OutcomeKind.FAILED
    assert "timed out after 0.1 s in total" in visible_text(panel.call_view.result)
    lens.until(lambda: lens.sent("notifications/cancelled"))
    assert lens.actions["tool.call"].isEnabled()


def test_non_object_meta_is_reported_and_nothing_is_sent(lens: Lens) -> None:
    lens.connect(scripted(tools=[tool("echo")]))
    view = put(lens, "x")
    view.drawer.options.meta.setText("{broken")
    lens.do("tool.call")
    lens.settle()
    assert lens.sent("tools/call") == []
    assert "_meta is not JSON" in view.alert.text("options")
    assert view.drawer.options.isVisibleTo(view)


def test_run_as_task_is_offered_only_where_the_tool_supports_it(lens: Lens) -> None:
    capabilities: dict[str, Any] = {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}}
    takes = tool("takes", execution={"taskSupport": "optional"})
    panel = lens.connect(scripted(tools=[takes, tool("refuses_tasks")], capabilities=capabilities))
    lens.do("call.options")
    task = panel.call_view.drawer.options.task
    assert task.isVisibleTo(panel)
    task.setChecked(True)
    lens.do("tool.call")
    lens.until(lambda: lens.sent("tools/call"))
    assert "task" in lens.sent("tools/call")[0]
    panel.choose("refuses_tasks")
    assert not task.isVisibleTo(panel)


def test_destructive_tool_asks_before_its_first_call_of_the_session(lens: Lens) -> None:
    lens.connect(scripted(tools=[tool("wipe", annotations=HINTS)]))
    view = put(lens, "all")
    lens.do("tool.call")
    lens.settle()
    assert lens.sent("tools/call") == []
    assert "may delete or overwrite" in view.alert.text("consent")
    lens.press("Cancel", view.alert)
    lens.settle()
    assert not view.alert.text("consent")
    assert lens.sent("tools/call") == []
    lens.do("tool.call")
    with lens.bot.waitSignal(view.result.shown, timeout=TIMEOUT):
        lens.press("Call", view.alert)
    assert len(lens.sent("tools/call")) == 1
    called(lens)
    assert len(lens.sent("tools/call")) == 2, "it asks once"


def test_consent_is_not_carried_over_to_another_tool(lens: Lens) -> None:
    panel = lens.connect(scripted(tools=[tool("wipe", annotations=HINTS), tool("echo")]))
    lens.do("tool.call")
    panel.choose("echo")
    assert not panel.call_view.alert.text("consent")
    panel.choose("wipe")
    lens.do("tool.call")
    lens.settle()
    assert lens.sent("tools/call") == []


def test_hints_are_badges_and_defaults_are_in_the_tooltip(lens: Lens) -> None:
    panel = lens.connect(scripted(tools=[tool("wipe", annotations=HINTS), tool("silent")]))
    badges = panel.call_view.head.hints
    assert [badge.text for badge in badges] == ["destructive", "closed world", ""]
    assert "not idempotent" in badges[0].toolTip()
    panel.choose("silent")
    assert [badge.text for badge in badges] == ["no hints", "", ""]
    assert "may be destructive" in badges[0].toolTip()


def test_last_arguments_are_restored_after_a_restart(make_lens: Callable[[], Lens]) -> None:
    def before() -> None:
        first.connect(scripted(tools=[tool("echo")]))
        put(first, "kept")
        called(first)

    def after() -> None:
        panel = second.connect(scripted(tools=[tool("echo")]))
        second.until(lambda: panel.call_view.arguments_stack.typed() == {"text": "kept"})

    first = make_lens()
    first.play(before)
    second = make_lens()
    second.play(after)


def test_arguments_typed_but_not_sent_are_remembered_too(lens: Lens) -> None:
    lens.connect(scripted(tools=[tool("echo"), tool("other")]))
    put(lens, "only typed")
    lens.tools.choose("other")
    history = lens.ask(lambda engine: engine.calls.history_of("scripted", "echo"))
    assert history.last_arguments() == {"text": "only typed"}
    assert history.calls == ()


def test_secrets_are_not_saved_and_this_is_reported(lens: Lens) -> None:
    schema = {"type": "object", "properties": {"password": {"type": "string"}}}
    panel = lens.connect(scripted(tools=[{"name": "login", "inputSchema": schema}]))
    lens.call("login", {"password": "hunter2"})
    popup = opened(lens, "call.history")
    assert "hunter2" not in rows(popup)[0]
    QTest.keyClick(popup.line, Qt.Key.Key_Return)
    lens.until(lambda: panel.call_view.alert.text("marks"))
    assert "password" in panel.call_view.alert.text("marks")


def test_history_restores_the_arguments_of_an_earlier_call(lens: Lens) -> None:
    lens.connect(scripted(tools=[tool("echo")]))
    view = lens.tools.call_view
    for text in ("first", "second", "third"):
        put(lens, text)
        called(lens)
    popup = opened(lens, "call.history")
    assert rows(popup) == ['{"text":"third"}', '{"text":"second"}', '{"text":"first"}']
    QTest.keyClick(popup.line, Qt.Key.Key_Down)
    QTest.keyClick(popup.line, Qt.Key.Key_Return)
    assert view.arguments_stack.typed() == {"text": "second"}
    popup = opened(lens, "call.history")
    QTest.keyClicks(popup.line, "fir")
    assert rows(popup) == ['{"text":"first"}']
    QTest.keyClick(popup.line, Qt.Key.Key_Escape)
    lens.until(lambda: view.pickers.popup is None)


def test_history_restores_the_options_of_an_earlier_call(lens: Lens) -> None:
    lens.connect(scripted(tools=[tool("echo")]))
    view = put(lens, "with")
    options = view.drawer.options
    options.meta.setText('{"example.com/trace": 1.10}')
    options.timeout.setValue(7)
    called(lens)
    options.meta.clear()
    options.timeout.setValue(0)
    put(lens, "without")
    called(lens)
    popup = opened(lens, "call.history")
    assert "_meta" in str(popup.list.model().index(1, 0).data(NoteRole))
    QTest.keyClick(popup.line, Qt.Key.Key_Down)
    QTest.keyClick(popup.line, Qt.Key.Key_Return)
    assert view.arguments_stack.typed() == {"text": "with"}
    assert options.timeout.value() == 7
    assert options.meta.text() == '{"example.com/trace":1.10}'
    popup = opened(lens, "call.history")
    QTest.keyClick(popup.line, Qt.Key.Key_Return)
    assert options.options() == NO_OPTIONS


def test_progress_shows_its_rate(lens: Lens) -> None:
    panel = lens.connect(scripted(tools=[tool("waits")]))
    lens.do("tool.call")
    running = panel.call_view.progress
    running.show_progress(ProgressReceived(1, 10, 50, "first"))
    assert "10 of 50  first" in visible_text(panel.call_view)
    lens.bot.waitUntil(lambda: running.elapsed_ns() > 250_000_000, timeout=TIMEOUT)
    running.show_progress(ProgressReceived(1, 20, 50, "more"))
    shown = visible_text(panel.call_view)
    assert re.search(r"20 of 50  [\d.]+/s · \d+ s left  more", shown), shown
    running.show_progress(ProgressReceived(1, 30, None, "no end"))
    assert re.search(r"30  [\d.]+/s  no end", visible_text(panel.call_view))
    with lens.bot.waitSignal(panel.call_view.result.shown, timeout=TIMEOUT) as shown:
        lens.do("tool.cancel")
    assert shown.args[0].kind is OutcomeKind.CANCELLED


def test_late_progress_is_not_shown_on_the_next_call(lens: Lens, monkeypatch: pytest.MonkeyPatch) -> None:
    panel = lens.connect(scripted(tools=[tool("echo"), tool("waits")]))
    view = panel.call_view
    received: list[Any] = []
    on_window = lens.app.bridge.on_window

    def listening(callback: Any) -> Any:
        received.append(callback)
        return on_window(callback)

    monkeypatch.setattr(lens.app.bridge, "on_window", listening)
    called(lens)
    panel.choose("waits")
    lens.do("tool.call")
    received[0](ProgressReceived(1, 10, 50, "of the call before"))
    assert "of the call before" not in visible_text(view)
    lens.until(lambda: len(received) == 2)
    received[1](ProgressReceived(2, 10, 50, "of this one"))
    assert "of this one" in visible_text(view)
    with lens.bot.waitSignal(view.result.shown, timeout=TIMEOUT):
        lens.do("tool.cancel")


def test_call_can_be_cancelled_while_its_arguments_are_validated(lens: Lens) -> None:
    view = lens.connect(scripted(tools=[tool("waits")])).call_view
    assert view.tool is not None
    check: asyncio.Future[tuple[FieldError, ...]] = asyncio.get_running_loop().create_future()
    view.runner.call(view.tool, ToolCall("waits", {}), check)
    lens.settle()
    with lens.bot.waitSignal(view.result.shown, timeout=TIMEOUT) as shown:
        lens.do("tool.cancel")
    assert shown.args[0].kind is OutcomeKind.CANCELLED
    check.set_result(())  # the validation ends later
    lens.settle()
    assert lens.sent("tools/call") == []


def test_call_cancelled_immediately_says_so(lens: Lens) -> None:
    panel = lens.connect(scripted(tools=[tool("waits")]))
    with lens.bot.waitSignal(panel.call_view.result.shown, timeout=TIMEOUT) as shown:
        lens.do("tool.call")
        lens.do("tool.cancel")
    assert shown.args[0].kind is OutcomeKind.CANCELLED
    assert not panel.call_view.is_running
