"""Cards in the list and in front: several at once, several questions on one, rounds, ends, and drafts."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from inspector.engine.inbox.views import InboxRequest, InboxRequestEnd, Reply, RequestItem
from inspector.engine.views import ServerStatus
from inspector.protocol.revisions import R4
from inspector.qt.models.inbox import EARLIER, AgeRole, InboxModel, age_text, end_text, what_text
from inspector.qt.panels.inbox.request_view import MOST_QUESTIONS
from tests.qt.inbox.inbox_stage import InboxStage, asking, form, sampling
from tests.qt.lens_driver import Lens, words_on


def make_card(id: int, **more: Any) -> InboxRequest:
    asked = (RequestItem("", "elicitation/create", {"message": f"Question {id}"}),)
    given: dict[str, Any] = {"id": id, "server": "s", "revision": R4, "questions": asked}
    return InboxRequest(**{**given, "asked_ns": 0, "asked_wall_ns": 0, **more})


# ------------------------------------------------------------------ the list


def test_model_orders_pending_by_age_and_finished_latest_first(
    qtmodeltester: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspector.qt.models.inbox.MOST_EARLIER", 20)
    model = InboxModel(now=lambda: 75_000_000_000)
    qtmodeltester.check(model)
    for id in (2, 1, 3):
        model.put(make_card(id))
    assert [card.id for card in model.open_cards] == [1, 2, 3]
    model.put(make_card(1, end=InboxRequestEnd.WITHDRAWN, ended_ns=5))
    model.put(make_card(3, end=InboxRequestEnd.ANSWERED, ended_ns=9))
    model.put(make_card(3))  # old news
    rows = [model.card(row) for row in range(model.rowCount())]
    assert [card.id if card is not None else None for card in rows] == [2, None, 3, 1]
    assert model.index(1).data() == EARLIER
    assert not model.flags(model.index(1)) & Qt.ItemFlag.ItemIsSelectable
    assert model.index(0).data(AgeRole) == "1 min"
    assert model.index(2).data(AgeRole) is None
    assert "waiting for 1 min" in model.index(0).data(Qt.ItemDataRole.AccessibleTextRole)
    for id in range(10, 10 + 20):
        model.put(make_card(id, end=InboxRequestEnd.ANSWERED, ended_ns=id))
    assert model.rowCount() == 1 + 1 + 20


def test_text_says_what_is_asked_how_old_it_is_and_how_it_ended() -> None:
    assert what_text(make_card(1)) == "Form"
    assert [age_text(make_card(1), seconds * 10**9) for seconds in (0, 59, 60, 3_700, 7_500)] == [
        "0 s",
        "59 s",
        "1 min",
        "1 h 01 min",
        "2 h 05 min",
    ]
    by_rule = RequestItem("", "elicitation/create", {}, reply=Reply({"action": "accept"}, rule="Yes"))
    ended = make_card(1, questions=(by_rule,), end=InboxRequestEnd.ANSWERED, ended_ns=1_200_000_000)
    assert end_text(ended) == "accepted by the rule “Yes” after 1.20 s"
    assert end_text(make_card(1, end=InboxRequestEnd.OVERDUE)) == "not answered in time"


def test_inbox_is_empty_at_first(lens: Lens) -> None:
    stage = InboxStage(lens)
    assert "Nobody asks anything" in words_on(stage.panel)
    assert stage.panel.card_view is None


# ------------------------------------------------------------------ several cards


def test_cards_are_answered_in_any_order_and_drafts_stay(lens: Lens) -> None:
    stage = InboxStage(lens)
    counts: list[int] = []
    stage.panel.count_changed.connect(counts.append)
    first = stage.call(ask=[form("One?")])
    stage.wait_for(1)
    second = stage.call(ask=[form("Two?")])
    cards = stage.wait_for(2)
    assert "One?" in stage.words(), "the first one stays in front"
    line = stage.form().editor.form.findChild(QLineEdit)
    assert line is not None
    QTest.keyClicks(line, "draft of one")
    QTest.keyClick(stage.panel.list, Qt.Key.Key_Down)
    assert "Two?" in stage.words()
    stage.press("Decline")
    assert stage.said(second) == [{"action": "decline"}]
    stage.wait_for(1)
    assert stage.view.card.id == cards[0].id, "the next that waits is in front"
    stage.press("Accept")
    assert stage.said(first) == [{"action": "accept", "content": {"name": "draft of one"}}]
    stage.wait_for(0)
    assert counts == [1, 2, 1, 0]


def test_oldest_of_simultaneous_cards_is_in_front_regardless_of_arrival_order(lens: Lens) -> None:
    stage = InboxStage(lens)
    for id in (8, 7, 9):  # rules may have looked at the newer one sooner
        lens.app.bridge.card_changed.emit(make_card(id))
    assert [card.id for card in stage.wait_for(3)] == [7, 8, 9]
    assert stage.view.card.id == 7
    lens.app.bridge.card_changed.emit(make_card(6))
    stage.wait_for(4)
    assert stage.view.card.id == 7, "it stays, now that somebody may be reading it"
    lens.app.bridge.card_changed.emit(make_card(10))
    assert stage.panel.show_card(10), "who knows of a card can go to it at once"
    assert stage.view.card.id == 10


def test_new_card_does_not_replace_the_one_being_read(lens: Lens) -> None:
    stage = InboxStage(lens)
    stage.call(ask=[form("One?")])
    stage.wait_for(1)
    stage.press("Decline")
    stage.wait_for(0)
    stage.call(ask=[form("Two?")])
    stage.wait_for(1)
    assert "Two?" in stage.words(), "the one before is done with"
    assert stage.panel.show_card(stage.earlier()[0].id)
    QTest.keyClick(stage.panel.list, Qt.Key.Key_Up)
    QTest.keyClick(stage.panel.list, Qt.Key.Key_Down)
    assert "One?" in stage.words()
    stage.call(ask=[form("Three?")])
    stage.wait_for(2)
    assert "One?" in stage.words(), "somebody went there to read it"
    for left in (1, 0):
        stage.panel.show_card(stage.panel.model.open_cards[0].id)
        stage.press("Cancel")
        stage.wait_for(left)


def test_server_inbox_and_global_inbox_share_typed_input(lens: Lens) -> None:
    stage = InboxStage(lens, asking("a"), asking("b"))
    calls = [stage.call("a", ask=[form("Of a?")]), stage.call("b", ask=[form("Of b?")])]
    cards = stage.wait_for(2)
    only_b = stage.open("b")
    stage.wait_for(1, only_b)
    assert only_b.card_view is not None
    assert "Of b?" in words_on(only_b.card_view)
    line = only_b.card_view.findChild(QLineEdit)
    assert line is not None
    QTest.keyClicks(line, "typed")
    only_b.hide()
    stage.panel.show_card(next(card.id for card in cards if card.server == "b"))
    stage.press("Accept")
    assert stage.said(calls[1]) == [{"action": "accept", "content": {"name": "typed"}}]
    stage.wait_for(0, only_b)
    stage.wait_for(1)
    stage.press("Decline")
    assert stage.said(calls[0]) == [{"action": "decline"}]


def test_card_of_a_removed_server_stays_readable_in_the_global_inbox(lens: Lens) -> None:
    stage = InboxStage(lens)
    only = stage.open("asking")
    stage.call(ask=[form("Still there?")])
    stage.wait_for(1, only)
    assert only.card_view is not None or stage.panel.card_view is not None
    only.show_card(only.model.open_cards[0].id)
    only.deleteLater()
    QCoreApplication.sendPostedEvents(only, QEvent.Type.DeferredDelete)
    lens.run(lens.app.bridge.remove_server("asking"))
    stage.wait_for(0)
    assert stage.panel.show_card(stage.earlier()[0].id)
    assert "Still there?" in stage.words()


def test_pending_card_is_in_front_when_returning_to_the_inbox(lens: Lens) -> None:
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
    assert "Two?" in stage.words()
    QTest.keyClick(stage.panel.list, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    stage.wait_for(0)
    assert len(lens.sent("tools/call")) == 2, "the keys belong to the card here"


def test_pending_call_can_be_opened_from_its_card(lens: Lens) -> None:
    stage = InboxStage(lens)
    stage.call(ask=[form()])
    card = stage.wait_for(1)[0]
    with lens.bot.waitSignal(stage.panel.operation_requested) as asked:
        stage.press("Show call")
    assert asked.args is not None
    server, row = asked.args
    assert (server, row) == ("asking", card.operation)
    assert lens.records()[row].method == "tools/call"
    stage.press("Cancel")
    stage.wait_for(0)


# ------------------------------------------------------------------ several questions, several rounds


def test_several_requests_on_one_card_are_sent_together(lens: Lens) -> None:
    stage = InboxStage(lens, asking(era="2026-07-28"))
    call = stage.call(rounds=[{"who": form(), "sum": sampling(), "why": form("Why?")}])
    stage.wait_for(1)
    send = stage.view.footer.send_action
    assert "Not answered yet: 1 (Form), 2 (Sampling), 3 (Form)" in stage.words()
    stage.form("who").editor.set_arguments({"name": "Ada"})
    lens.press("Accept", stage.section("who"))
    lens.until(lambda: stage.section("who").question.reply is not None)
    lens.press("Decline", stage.section("why"))
    lens.until(lambda: stage.section("why").question.reply is not None)
    assert not send.isEnabled()
    lens.press("Send answer", stage.section("sum"))
    assert not send.isEnabled(), "an empty answer is asked about"
    stage.sampling("sum").anyway_action.trigger()
    assert send.isEnabled()
    lens.settle()
    assert not call.done()
    lens.press("Take back", stage.section("why"))
    lens.until(lambda: not send.isEnabled())
    assert "Not answered yet: 3 (Form)" in stage.words()
    lens.until(lambda: stage.section("sum").question.reply is not None)
    lens.press("Cancel", stage.section("why"))
    assert send.isEnabled()
    lens.press("Take back", stage.section("why"))
    assert not send.isEnabled()
    lens.press("Cancel", stage.section("why"))
    stage.press("Send answers")
    (answers,) = stage.said(call)
    assert answers["who"] == {"action": "accept", "content": {"name": "Ada"}}
    assert answers["why"] == {"action": "cancel"}
    assert answers["sum"]["role"] == "assistant"
    stage.wait_for(0)


def test_some_of_a_thousand_requests_are_shown_and_more_on_click(lens: Lens) -> None:
    stage = InboxStage(lens, asking(era="2026-07-28"))
    call = stage.call(rounds=[{f"q{number}": form() for number in range(1_000)}])
    stage.wait_for(1)
    assert len(stage.view.sections) < MOST_QUESTIONS, "the others follow when there is time"
    lens.until(lambda: len(stage.view.sections) == MOST_QUESTIONS)
    assert "5 (Form), and 995 more" in stage.words()
    stage.press("Show more of 970 questions")
    lens.until(lambda: len(stage.view.sections) == 2 * MOST_QUESTIONS)
    lens.until(lambda: "60 of 1,000 · Form" in stage.words())
    call.cancel()
    stage.wait_for(0)
    assert stage.earlier()[0].end is InboxRequestEnd.CALL_ENDED


def test_rounds_are_steps_and_the_next_one_comes_to_the_front(lens: Lens) -> None:
    stage = InboxStage(lens, asking(era="2026-07-28"))
    call = stage.call(rounds=[{"a": form("First?")}, {"b": form("Second?")}, {"c": form("Third?")}])
    for message in ("First?", "Second?", "Third?"):
        lens.until(partial(is_said, stage, message))
        stage.form().editor.set_arguments({"name": message})
        if message != "Third?":
            stage.press("Accept")
    assert "Round 3 of at most 10" in stage.words()
    steps = stage.view.rounds.steps
    assert [step.button.text().split(" after ")[0] for step in steps] == [
        "Round 1: Form · accepted",
        "Round 2: Form · accepted",
    ]
    steps[0].set_open(True)
    assert "Form: First?" in words_on(steps[0])
    assert '"First?"' in words_on(steps[0])
    stage.press("Accept")
    said = stage.said(call)
    assert [next(iter(each.values()))["content"]["name"] for each in said] == ["First?", "Second?", "Third?"]
    states = [each.get("requestState") for each in lens.sent("tools/call")]
    assert states[0] is None
    assert all(isinstance(state, str) for state in states[1:])


# ------------------------------------------------------------------ ends that nobody here chose


def test_cancelled_card_leaves_a_note_and_typed_input_stays(lens: Lens) -> None:
    stage = InboxStage(lens)
    stage.call(ask=[form()])
    stage.wait_for(1)
    stage.form().editor.set_arguments({"name": "half an answer"})
    stage.call(tool="withdraw")
    stage.wait_for(0)
    assert stage.earlier()[0].end is InboxRequestEnd.WITHDRAWN
    assert "Somebody else answered" in stage.view.head.note.text("note")
    words = stage.words()
    assert "withdrawn by the server after" in words
    assert "What you wrote was not sent." in words
    assert "Accept" not in words
    assert stage.form().editor.form.value() == {"name": "half an answer"}


def test_card_of_a_disconnected_server_says_so(lens: Lens) -> None:
    stage = InboxStage(lens)
    stage.call(ask=[form()])
    stage.wait_for(1)
    stage.call(tool="exits")
    stage.wait_for(0)
    assert stage.earlier()[0].end is InboxRequestEnd.SERVER_GONE
    assert "the server is gone" in stage.words()
    lens.until(lambda: lens.view("asking").status is not ServerStatus.CONNECTED)


def test_many_cards_are_answered_one_by_one_the_oldest_first(lens: Lens) -> None:
    stage = InboxStage(lens)
    calls = [stage.call(ask=[form(f"Question {number}?")]) for number in range(12)]
    waiting = [card.id for card in stage.wait_for(12)]
    for card_id in waiting:
        lens.until(partial(is_in_front, stage, card_id))
        stage.press("Decline")
    stage.wait_for(0)
    assert [card.id for card in stage.earlier()] == waiting[::-1]
    assert [stage.said(call) for call in calls] == [[{"action": "decline"}]] * 12


def is_in_front(stage: InboxStage, card_id: int) -> bool:
    return stage.view.card.id == card_id


def is_said(stage: InboxStage, words: str) -> bool:
    return stage.panel.card_view is not None and words in stage.words()
