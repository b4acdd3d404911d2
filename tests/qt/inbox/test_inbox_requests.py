"""Inbox requests: several at once, several items in one, rounds, ends and typed input."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from inspector.engine.inbox.views import InboxRequest, Reply, RequestItem
from inspector.engine.views import ServerStatus
from inspector.protocol.revisions import R4
from inspector.protocol.server_requests.request import RequestEnd, server_request_of
from inspector.qt.models.inbox import EARLIER, AgeRole, InboxModel, age_text, end_text, what_text
from inspector.qt.panels.inbox.request_view import MAX_REQUESTS
from tests.qt.inbox.inbox_stage import InboxStage, form, requesting_server, sampling
from tests.qt.lens_driver import Lens, visible_text


def make_request(id: int, **more: Any) -> InboxRequest:
    items = (RequestItem("", server_request_of("elicitation/create", {"message": f"Form {id}"})),)
    values: dict[str, Any] = {"id": id, "server": "s", "revision": R4, "input_requests": items}
    return InboxRequest(**{**values, "requested_ns": 0, "requested_wall_ns": 0, **more})


def test_model_orders_pending_by_age_and_finished_latest_first(
    qtmodeltester: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspector.qt.models.inbox.MAX_EARLIER", 20)
    model = InboxModel(now=lambda: 75_000_000_000)
    qtmodeltester.check(model)
    for id in (2, 1, 3):
        model.put(make_request(id))
    assert [inbox_request.id for inbox_request in model.open_requests] == [1, 2, 3]
    model.put(make_request(1, end=RequestEnd.WITHDRAWN, ended_ns=5))
    model.put(make_request(3, end=RequestEnd.ANSWERED, ended_ns=9))
    model.put(make_request(3))  # an outdated update
    rows = [model.inbox_request(row) for row in range(model.rowCount())]
    assert [inbox_request.id if inbox_request is not None else None for inbox_request in rows] == [
        2,
        None,
        3,
        1,
    ]
    assert model.index(1).data() == EARLIER
    assert not model.flags(model.index(1)) & Qt.ItemFlag.ItemIsSelectable
    assert model.index(0).data(AgeRole) == "1 min"
    assert model.index(2).data(AgeRole) is None
    assert "waiting for 1 min" in model.index(0).data(Qt.ItemDataRole.AccessibleTextRole)
    for id in range(10, 10 + 20):
        model.put(make_request(id, end=RequestEnd.ANSWERED, ended_ns=id))
    assert model.rowCount() == 1 + 1 + 20


def test_text_has_the_kind_age_and_end_of_a_request() -> None:
    assert what_text(make_request(1)) == "Form elicitation"
    assert what_text(make_request(1, input_requests=())) == "Invalid input request"
    assert [age_text(make_request(1), seconds * 10**9) for seconds in (0, 59, 60, 3_700, 7_500)] == [
        "0 s",
        "59 s",
        "1 min",
        "1 h 01 min",
        "2 h 05 min",
    ]
    by_rule = RequestItem(
        "", server_request_of("elicitation/create", {}), reply=Reply({"action": "accept"}, rule="Yes")
    )
    ended = make_request(1, input_requests=(by_rule,), end=RequestEnd.ANSWERED, ended_ns=1_200_000_000)
    assert end_text(ended) == "accepted by rule “Yes” after 1.20 s"
    assert end_text(make_request(1, end=RequestEnd.TIMED_OUT)) == "timed out"


def test_inbox_is_empty_at_first(lens: Lens) -> None:
    stage = InboxStage(lens)
    assert "No server requests" in visible_text(stage.panel)
    assert stage.panel.request_view is None


def test_requests_get_replies_in_any_order_and_typed_input_stays(lens: Lens) -> None:
    stage = InboxStage(lens)
    counts: list[int] = []
    stage.panel.count_changed.connect(counts.append)
    first = stage.call(ask=[form("One?")])
    stage.wait_for(1)
    second = stage.call(ask=[form("Two?")])
    inbox_requests = stage.wait_for(2)
    assert "One?" in stage.text(), "the first one stays selected"
    line = stage.form().editor.form.findChild(QLineEdit)
    assert line is not None
    QTest.keyClicks(line, "draft of one")
    QTest.keyClick(stage.panel.list, Qt.Key.Key_Down)
    assert "Two?" in stage.text()
    stage.press("Decline")
    assert stage.replies(second) == [{"action": "decline"}]
    stage.wait_for(1)
    assert stage.view.inbox_request.id == inbox_requests[0].id, "the next pending one is selected"
    stage.press("Accept")
    assert stage.replies(first) == [{"action": "accept", "content": {"name": "draft of one"}}]
    stage.wait_for(0)
    assert counts == [1, 2, 1, 0]


def test_oldest_of_simultaneous_requests_is_selected_regardless_of_arrival_order(lens: Lens) -> None:
    stage = InboxStage(lens)
    for id in (8, 7, 9):  # reply rules may finish with the newer one sooner
        lens.app.bridge.inbox_changed.emit(make_request(id))
    assert [inbox_request.id for inbox_request in stage.wait_for(3)] == [7, 8, 9]
    assert stage.view.inbox_request.id == 7
    lens.app.bridge.inbox_changed.emit(make_request(6))
    stage.wait_for(4)
    assert stage.view.inbox_request.id == 7, "the selected one stays"
    lens.app.bridge.inbox_changed.emit(make_request(10))
    assert stage.panel.show_request(10), "a request can be opened at once"
    assert stage.view.inbox_request.id == 10


def test_new_request_does_not_replace_the_one_being_read(lens: Lens) -> None:
    stage = InboxStage(lens)
    stage.call(ask=[form("One?")])
    stage.wait_for(1)
    stage.press("Decline")
    stage.wait_for(0)
    stage.call(ask=[form("Two?")])
    stage.wait_for(1)
    assert "Two?" in stage.text(), "the previous one has ended"
    assert stage.panel.show_request(stage.earlier()[0].id)
    QTest.keyClick(stage.panel.list, Qt.Key.Key_Up)
    QTest.keyClick(stage.panel.list, Qt.Key.Key_Down)
    assert "One?" in stage.text()
    stage.call(ask=[form("Three?")])
    stage.wait_for(2)
    assert "One?" in stage.text(), "the user selected it"
    for left in (1, 0):
        stage.panel.show_request(stage.panel.model.open_requests[0].id)
        stage.press("Cancel")
        stage.wait_for(left)


def test_server_inbox_and_global_inbox_share_typed_input(lens: Lens) -> None:
    stage = InboxStage(lens, requesting_server("a"), requesting_server("b"))
    calls = [stage.call("a", ask=[form("Of a?")]), stage.call("b", ask=[form("Of b?")])]
    inbox_requests = stage.wait_for(2)
    only_b = stage.open("b")
    stage.wait_for(1, only_b)
    assert only_b.request_view is not None
    assert "Of b?" in visible_text(only_b.request_view)
    line = only_b.request_view.findChild(QLineEdit)
    assert line is not None
    QTest.keyClicks(line, "typed")
    only_b.hide()
    stage.panel.show_request(
        next(inbox_request.id for inbox_request in inbox_requests if inbox_request.server == "b")
    )
    stage.press("Accept")
    assert stage.replies(calls[1]) == [{"action": "accept", "content": {"name": "typed"}}]
    stage.wait_for(0, only_b)
    stage.wait_for(1)
    stage.press("Decline")
    assert stage.replies(calls[0]) == [{"action": "decline"}]


def test_request_of_a_removed_server_stays_readable_in_the_global_inbox(lens: Lens) -> None:
    stage = InboxStage(lens)
    only = stage.open("asking")
    stage.call(ask=[form("Still there?")])
    stage.wait_for(1, only)
    assert only.request_view is not None or stage.panel.request_view is not None
    only.show_request(only.model.open_requests[0].id)
    only.deleteLater()
    QCoreApplication.sendPostedEvents(only, QEvent.Type.DeferredDelete)
    lens.ask(lambda engine: engine.servers.remove("asking"))
    stage.wait_for(0)
    assert stage.panel.show_request(stage.earlier()[0].id)
    assert "Still there?" in stage.text()


def test_pending_request_is_selected_when_returning_to_the_inbox(lens: Lens) -> None:
    stage = InboxStage(lens)
    stage.call(ask=[form("One?")])
    stage.wait_for(1)
    stage.press("Cancel")
    stage.wait_for(0)
    QTest.keyClick(stage.panel.list, Qt.Key.Key_Home)
    stage.panel.hide()
    stage.call(ask=[form("Two?")])
    stage.wait_for(1)
    stage.panel.show()
    assert "Two?" in stage.text()
    QTest.keyClick(stage.panel.list, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    stage.wait_for(0)
    assert len(lens.sent("tools/call")) == 2, "the keys belong to the Inbox here"


def test_pending_call_can_be_opened_from_its_request(lens: Lens) -> None:
    stage = InboxStage(lens)
    stage.call(ask=[form()])
    inbox_request = stage.wait_for(1)[0]
    with lens.bot.waitSignal(stage.panel.operation_requested) as requested:
        stage.press("Show call")
    assert requested.args is not None
    server, row = requested.args
    assert (server, row) == ("asking", inbox_request.operation)
    assert lens.records()[row].method == "tools/call"
    stage.press("Cancel")
    stage.wait_for(0)


def test_replies_to_several_items_are_sent_together(lens: Lens) -> None:
    stage = InboxStage(lens, requesting_server(era="2026-07-28"))
    call = stage.call(rounds=[{"who": form(), "sum": sampling(), "why": form("Why?")}])
    stage.wait_for(1)
    send = stage.view.footer.send_action
    assert "No reply yet: 1 (Form elicitation), 2 (Sampling request), 3 (Form elicitation)" in stage.text()
    stage.form("who").editor.set_arguments({"name": "Ada"})
    lens.press("Accept", stage.section("who"))
    lens.until(lambda: stage.section("who").input_request.reply is not None)
    lens.press("Decline", stage.section("why"))
    lens.until(lambda: stage.section("why").input_request.reply is not None)
    assert not send.isEnabled()
    lens.press("Send reply", stage.section("sum"))
    assert not send.isEnabled(), "an empty reply must be confirmed"
    stage.sampling("sum").anyway_action.trigger()
    assert send.isEnabled()
    lens.settle()
    assert not call.done()
    lens.press("Undo reply", stage.section("why"))
    lens.until(lambda: not send.isEnabled())
    assert "No reply yet: 3 (Form elicitation)" in stage.text()
    lens.until(lambda: stage.section("sum").input_request.reply is not None)
    lens.press("Cancel", stage.section("why"))
    assert send.isEnabled()
    lens.press("Undo reply", stage.section("why"))
    assert not send.isEnabled()
    lens.press("Cancel", stage.section("why"))
    stage.press("Send replies")
    (replies,) = stage.replies(call)
    assert replies["who"] == {"action": "accept", "content": {"name": "Ada"}}
    assert replies["why"] == {"action": "cancel"}
    assert replies["sum"]["role"] == "assistant"
    stage.wait_for(0)


def test_some_of_a_thousand_requests_are_shown_and_more_on_click(lens: Lens) -> None:
    stage = InboxStage(lens, requesting_server(era="2026-07-28"))
    call = stage.call(rounds=[{f"q{number}": form() for number in range(1_000)}])
    stage.wait_for(1)
    assert len(stage.view.sections) < MAX_REQUESTS, "the others are added later"
    lens.until(lambda: len(stage.view.sections) == MAX_REQUESTS)
    assert "5 (Form elicitation), and 995 more" in stage.text()
    stage.press("Show more (970 requests)")
    lens.until(lambda: len(stage.view.sections) == 2 * MAX_REQUESTS)
    lens.until(lambda: "60 of 1,000 · Form elicitation" in stage.text())
    call.cancel()
    stage.wait_for(0)
    assert stage.earlier()[0].end is RequestEnd.CALL_ENDED


def test_rounds_are_steps_and_the_next_one_is_selected(lens: Lens) -> None:
    stage = InboxStage(lens, requesting_server(era="2026-07-28"))
    call = stage.call(rounds=[{"a": form("First?")}, {"b": form("Second?")}, {"c": form("Third?")}])
    for message in ("First?", "Second?", "Third?"):
        lens.until(partial(is_shown, stage, message))
        stage.form().editor.set_arguments({"name": message})
        if message != "Third?":
            stage.press("Accept")
    assert "Round 3 of at most 10" in stage.text()
    steps = stage.view.rounds.steps
    assert [step.button.text().split(" after ")[0] for step in steps] == [
        "Round 1: Form elicitation · accepted",
        "Round 2: Form elicitation · accepted",
    ]
    steps[0].button.setChecked(True)
    assert "Form elicitation: First?" in visible_text(steps[0])
    assert '"First?"' in visible_text(steps[0])
    stage.press("Accept")
    replies = stage.replies(call)
    assert [next(iter(each.values()))["content"]["name"] for each in replies] == [
        "First?",
        "Second?",
        "Third?",
    ]
    states = [each.get("requestState") for each in lens.sent("tools/call")]
    assert states[0] is None
    assert all(isinstance(state, str) for state in states[1:])


def test_cancelled_request_leaves_a_note_and_typed_input_stays(lens: Lens) -> None:
    stage = InboxStage(lens)
    stage.call(ask=[form()])
    stage.wait_for(1)
    stage.form().editor.set_arguments({"name": "half a reply"})
    stage.call(tool="withdraw")
    stage.wait_for(0)
    assert stage.earlier()[0].end is RequestEnd.WITHDRAWN
    assert "Another client replied" in stage.view.head.note.text("note")
    text = stage.text()
    assert "cancelled by the server after" in text
    assert "Your reply was not sent." in text
    assert "Accept" not in text
    assert stage.form().editor.form.value() == {"name": "half a reply"}


def test_request_of_a_disconnected_server_says_so(lens: Lens) -> None:
    stage = InboxStage(lens)
    stage.call(ask=[form()])
    stage.wait_for(1)
    stage.call(tool="exits")
    stage.wait_for(0)
    assert stage.earlier()[0].end is RequestEnd.SERVER_GONE
    assert "server disconnected" in stage.text()
    lens.until(lambda: lens.view("asking").status is not ServerStatus.CONNECTED)


def test_many_requests_get_replies_one_by_one_the_oldest_first(lens: Lens) -> None:
    stage = InboxStage(lens)
    calls = [stage.call(ask=[form(f"Form {number}?")]) for number in range(12)]
    pending = [inbox_request.id for inbox_request in stage.wait_for(12)]
    for inbox_id in pending:
        lens.until(partial(is_selected, stage, inbox_id))
        stage.press("Decline")
    stage.wait_for(0)
    assert [inbox_request.id for inbox_request in stage.earlier()] == pending[::-1]
    assert [stage.replies(call) for call in calls] == [[{"action": "decline"}]] * 12


def is_selected(stage: InboxStage, inbox_id: int) -> bool:
    return stage.view.inbox_request.id == inbox_id


def is_shown(stage: InboxStage, text: str) -> bool:
    return stage.panel.request_view is not None and text in stage.text()
