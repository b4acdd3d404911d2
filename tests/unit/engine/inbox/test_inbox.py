"""Inbox requests: replied to in every way, or ended without a reply, in both eras."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from inspector.base.errors import ConnectionLost, UserError
from inspector.base.json import values
from inspector.base.json.values import JSON, JSONObject, to_wire
from inspector.engine.inbox import inbox as inbox_module
from inspector.engine.inbox import pending
from inspector.engine.inbox.views import SAMPLING_REJECTED, InboxRequest, Reply
from inspector.engine.views import OutcomeKind
from inspector.protocol import jsonrpc
from inspector.protocol.revisions import R1, R4, R5
from inspector.protocol.server_requests import sampling as sampling_module
from inspector.protocol.server_requests.request import RequestEnd
from tests.helpers.fakes import LoopTime
from tests.unit.engine.inbox.inbox_stage import (
    ACCEPT,
    ASK,
    CANCEL,
    CONSENT,
    DECLINE,
    DONE,
    PAGE,
    SAMPLE,
    SAMPLED,
    InboxStage,
    settle,
)

FORM_ASKED: JSONObject = {"method": "elicitation/create", "params": ASK}
SAMPLE_ASKED: JSONObject = {"method": "sampling/createMessage", "params": SAMPLE}


@pytest.fixture
async def stage(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[InboxStage]:
    stage = InboxStage(monkeypatch)
    yield stage
    await stage.engine.close()
    assert stage.inbox.inbox_requests() == ()


@pytest.mark.parametrize("response", [ACCEPT, DECLINE, CANCEL])
async def test_server_request_is_pending_in_the_inbox(stage: InboxStage, response: JSONObject) -> None:
    peer = await stage.connect()
    call = stage.call("greet")
    request = await peer.next()
    peer.ask("elicitation/create", ASK)
    inbox_request = await stage.inbox_request()
    assert peer.wire.sends_nothing()
    assert (
        inbox_request.server,
        inbox_request.revision,
        inbox_request.round,
        inbox_request.method,
        inbox_request.subject,
    ) == (
        "srv",
        R4,
        0,
        "tools/call",
        "greet",
    )
    assert [(each.key, each.method, each.params) for each in inbox_request.input_requests] == [
        ("", "elicitation/create", ASK)
    ]
    log = stage.engine.log
    assert inbox_request.row is not None
    assert inbox_request.operation is not None
    assert log.method(inbox_request.row) == "elicitation/create"
    assert log.subject(inbox_request.operation) == "greet"
    stage.reply(inbox_request, response)
    assert await peer.next() == {"jsonrpc": "2.0", "id": "q", "result": response}
    ended = await stage.ended()
    assert (ended.id, ended.end) == (inbox_request.id, RequestEnd.ANSWERED)
    assert ended.input_requests[0].reply == Reply(result=response)
    peer.wire.show_message(id=request["id"], result=DONE)
    assert (await call).kind is OutcomeKind.RESULT


@pytest.mark.parametrize("response", [ACCEPT, DECLINE, CANCEL])
async def test_request_in_a_result_is_pending_in_the_inbox_and_the_call_is_repeated(
    stage: InboxStage, response: JSONObject
) -> None:
    peer = await stage.connect(R5)
    call = stage.call("greet")
    await peer.ask_in_result("st\u2028ate", who=FORM_ASKED)
    inbox_request = await stage.inbox_request()
    assert (inbox_request.round, inbox_request.max_rounds, inbox_request.method, inbox_request.subject) == (
        1,
        10,
        "tools/call",
        "greet",
    )
    assert inbox_request.row is not None
    assert inbox_request.operation is not None
    assert stage.engine.log.partner(inbox_request.operation) == inbox_request.row
    stage.reply(inbox_request, response, "who")
    second = await peer.reply(**DONE)
    assert second["params"]["requestState"] == "st\u2028ate"
    assert second["params"]["inputResponses"] == {"who": response}
    assert (await call).kind is OutcomeKind.RESULT
    assert (await stage.end()) == (RequestEnd.ANSWERED, "")


async def test_sampling_is_answered_or_rejected_with_an_error(stage: InboxStage) -> None:
    peer = await stage.connect()
    peer.ask("sampling/createMessage", SAMPLE)
    stage.reply(await stage.inbox_request(), SAMPLED)
    assert (await peer.next())["result"] == SAMPLED
    peer.ask("sampling/createMessage", SAMPLE, 2)
    inbox_request = await stage.inbox_request()
    assert inbox_request.operation is None  # no request of ours was pending
    stage.inbox.reply(inbox_request.id, "", SAMPLING_REJECTED)
    assert await peer.next() == {
        "jsonrpc": "2.0",
        "id": 2,
        "error": {"code": -1, "message": "The user rejected the sampling request"},
    }
    assert (await stage.end()) == (RequestEnd.ANSWERED, "")


async def test_rejecting_sampling_in_a_result_ends_the_call_despite_another_pending_request(
    stage: InboxStage,
) -> None:
    peer = await stage.connect(R5)
    call = stage.call()
    await peer.ask_in_result(think=SAMPLE_ASKED, who=FORM_ASKED)
    inbox_request = await stage.inbox_request()
    stage.inbox.reply(inbox_request.id, "think", SAMPLING_REJECTED)
    outcome = await call
    assert (outcome.kind, outcome.summary, outcome.next_step) == (
        OutcomeKind.FAILED,
        "The server requested sampling/createMessage, which was rejected: "
        "The user rejected the sampling request.",
        "The call was not continued.",
    )
    assert peer.wire.sends_nothing()
    assert (await stage.end())[0] is RequestEnd.ANSWERED


async def test_several_input_requests_are_shown_together_and_sent_when_all_are_answered(
    stage: InboxStage, tmp_path: Path
) -> None:
    peer = await stage.connect(R5, roots=(str(tmp_path),))
    call = stage.call()
    await peer.ask_in_result(who=FORM_ASKED, think=SAMPLE_ASKED, dirs={"method": "roots/list"})
    inbox_request = await stage.inbox_request()
    assert [input_request.key for input_request in inbox_request.unanswered] == ["who", "think"]
    stage.reply(inbox_request, DECLINE, "who")
    assert [each.key for each in (await stage.inbox_request()).unanswered] == ["think"]
    with pytest.raises(UserError, match="already has a reply"):
        stage.reply(inbox_request, ACCEPT, "who")
    stage.inbox.retract(inbox_request.id, "who")
    stage.reply(inbox_request, SAMPLED, "think")
    await settle()
    assert peer.wire.sends_nothing()
    stage.reply(inbox_request, ACCEPT, "who")
    second = await peer.reply(**DONE)
    assert second["params"]["inputResponses"] == {
        "who": ACCEPT,
        "think": SAMPLED,
        "dirs": {"roots": [{"uri": tmp_path.as_uri(), "name": tmp_path.name}]},
    }
    await call
    with pytest.raises(UserError, match="no longer pending"):
        stage.reply(inbox_request, ACCEPT, "who")
    with pytest.raises(UserError, match="no longer pending"):
        stage.inbox.retract(inbox_request.id, "who")


async def test_roots_alone_are_answered_without_the_inbox(stage: InboxStage, tmp_path: Path) -> None:
    peer = await stage.connect(roots=(str(tmp_path),))
    peer.ask("roots/list", None)
    assert (await peer.next())["result"] == {"roots": [{"uri": tmp_path.as_uri(), "name": tmp_path.name}]}
    assert (stage.seen, stage.inbox.past()) == ([], ())


async def test_server_without_roots_gets_an_empty_list(stage: InboxStage) -> None:
    peer = await stage.connect()
    peer.ask("roots/list", {})
    assert (await peer.next())["result"] == {"roots": []}


async def test_previous_rounds_are_shown_with_the_next_round(stage: InboxStage) -> None:
    peer = await stage.connect(R5)
    call = stage.call()
    await peer.ask_in_result("one", who=FORM_ASKED)
    stage.reply(await stage.inbox_request(), ACCEPT, "who")
    await peer.ask_in_result("two", think=SAMPLE_ASKED)
    inbox_request = await stage.inbox_request()
    assert inbox_request.round == 2
    (earlier,) = inbox_request.earlier
    assert [(each.key, each.reply) for each in earlier.input_requests] == [("who", Reply(result=ACCEPT))]
    stage.reply(inbox_request, SAMPLED, "think")
    await peer.reply(**DONE)
    await call
    other = stage.call()
    await peer.ask_in_result("one", who=FORM_ASKED)
    assert (await stage.inbox_request()).earlier == ()
    stage.reply(await stage.inbox_request(), ACCEPT, "who")
    await peer.reply(**DONE)
    await other


async def test_two_servers_ask_at_once_and_are_answered_in_any_order(stage: InboxStage) -> None:
    old, new = await stage.connect(R4, "old"), await stage.connect(R5, "new")
    call = stage.call(server="new")
    old.ask("elicitation/create", ASK, 7)
    old.ask("sampling/createMessage", SAMPLE, 8)
    await new.ask_in_result(who=FORM_ASKED)
    first, second, third = [await stage.inbox_request(index) for index in range(3)]
    assert [inbox_request.server for inbox_request in (first, second, third)] == ["old", "old", "new"]
    stage.reply(third, DECLINE, "who")
    assert (await new.reply(**DONE))["params"]["inputResponses"] == {"who": DECLINE}
    await call
    stage.reply(second, SAMPLED)
    assert (await old.next())["id"] == 8
    stage.reply(first, ACCEPT)
    assert await old.next() == {"jsonrpc": "2.0", "id": 7, "result": ACCEPT}


async def test_findings_about_a_request_are_shown_with_it(stage: InboxStage) -> None:
    peer = await stage.connect()
    nested: JSONObject = {"type": "object", "properties": {"n": {"type": "object"}}}
    peer.ask("elicitation/create", {"message": "?", "requestedSchema": nested})
    inbox_request = await stage.inbox_request()
    assert inbox_request.input_requests[0].notes != ()
    stage.reply(inbox_request, DECLINE)


async def test_request_cancelled_by_the_server_leaves_the_list_with_its_reason(stage: InboxStage) -> None:
    peer = await stage.connect()
    peer.ask("elicitation/create", ASK)
    await stage.inbox_request()
    peer.wire.show_message(
        method="notifications/cancelled", params={"requestId": "q", "reason": "no\nlonger"}
    )
    assert await stage.end() == (RequestEnd.WITHDRAWN, "no longer")
    assert peer.wire.sends_nothing()
    with pytest.raises(UserError, match="no longer pending"):
        stage.reply(stage.seen[0], ACCEPT)


async def test_request_cancelled_before_it_is_shown_is_still_reported(
    stage: InboxStage,
) -> None:
    peer = await stage.connect()
    peer.ask("elicitation/create", ASK)
    peer.wire.show_message(method="notifications/cancelled", params={"requestId": "q", "reason": "oops"})
    assert await stage.end() == (RequestEnd.WITHDRAWN, "oops")
    assert len(stage.seen) == 1
    assert peer.wire.sends_nothing()
    peer.ask("elicitation/create", ASK)  # the id is free again
    stage.reply(await stage.inbox_request(), ACCEPT)
    assert (await peer.next())["result"] == ACCEPT


async def test_cancelled_ping_is_ignored(stage: InboxStage) -> None:
    peer = await stage.connect()
    peer.ask("ping", {})
    peer.wire.show_message(method="notifications/cancelled", params={"requestId": "q"})
    await settle()
    assert (stage.seen, peer.wire.sends_nothing()) == ([], True)


@pytest.mark.parametrize("is_lost", [True, False])
async def test_request_of_a_disconnected_server_closes(stage: InboxStage, is_lost: bool) -> None:
    peer = await stage.connect()
    peer.ask("elicitation/create", ASK)
    await stage.inbox_request()
    if is_lost:
        peer.wire.end()
    else:
        await stage.engine.servers.connector.disconnect("srv")
    reason = "The server exited with code 9." if is_lost else "The connection was closed."
    assert await stage.end() == (RequestEnd.SERVER_GONE, reason)


async def test_call_with_pending_requests_fails_when_the_server_disconnects(stage: InboxStage) -> None:
    peer = await stage.connect(R5)
    call = stage.call()
    await peer.ask_in_result(who=FORM_ASKED)
    await stage.inbox_request()
    peer.wire.end()
    outcome = await call
    assert (outcome.kind, outcome.is_lost) == (OutcomeKind.FAILED, True)
    assert outcome.summary == "The server exited with code 9."
    assert await stage.end() == (RequestEnd.SERVER_GONE, "The server exited with code 9.")


async def test_cancelling_the_call_closes_the_requests_of_its_result(stage: InboxStage) -> None:
    peer = await stage.connect(R5)
    call = stage.call()
    await peer.ask_in_result(who=FORM_ASKED)
    await stage.inbox_request()
    call.cancel()
    await asyncio.wait([call])
    assert await stage.end() == (RequestEnd.CALL_ENDED, "")


async def test_a_request_outlives_the_call_that_caused_it_and_says_so(stage: InboxStage) -> None:
    peer = await stage.connect()
    call = stage.call()
    request = await peer.next()
    peer.ask("elicitation/create", ASK)
    assert (await stage.inbox_request()).note == ""
    peer.wire.show_message(id=request["id"], result=DONE)
    await call
    inbox_request = await stage.inbox_request()
    assert inbox_request.note == "The call that caused it has ended; the server may still expect a response."
    stage.reply(inbox_request, ACCEPT)
    assert (await peer.next())["result"] == ACCEPT


async def test_manually_sent_reply_closes_the_request(stage: InboxStage) -> None:
    peer = await stage.connect()
    peer.ask("elicitation/create", ASK)
    await stage.inbox_request()
    raw = to_wire({"jsonrpc": "2.0", "id": "q", "result": {"action": "maybe"}})
    await stage.engine.send_raw("srv", raw)
    assert (await peer.next())["result"] == {"action": "maybe"}
    assert await stage.end() == (RequestEnd.ANSWERED, "The response was written manually.")
    assert peer.wire.sends_nothing()


@pytest.mark.parametrize(
    ("method", "params", "response"),
    [
        ("elicitation/create", ASK, {"result": CANCEL}),
        (
            "sampling/createMessage",
            SAMPLE,
            {"error": {"code": -1, "message": "The user did not answer in time"}},
        ),
    ],
)
async def test_request_that_times_out_is_answered_automatically(
    stage: InboxStage, method: str, params: JSONObject, response: JSONObject
) -> None:
    peer = await stage.connect()
    await stage.engine.settings.set("inbox.timeout", 30)
    time = LoopTime()
    peer.ask(method, params)
    await time.advance(0)
    await time.advance(29)
    assert len(stage.inbox.inbox_requests()) == 1
    await time.advance(2)
    assert await peer.next() == {"jsonrpc": "2.0", "id": "q", **response}
    assert await stage.end() == (RequestEnd.TIMED_OUT, "")


async def test_request_that_times_out_sends_the_replies_it_has(stage: InboxStage) -> None:
    peer = await stage.connect(R5)
    await stage.engine.settings.set("inbox.timeout", 30)
    time = LoopTime()
    call = stage.call()
    await peer.ask_in_result(a=FORM_ASKED, b=FORM_ASKED)
    await time.advance(0)
    await time.advance(0)
    stage.reply(await stage.inbox_request(), ACCEPT, "a")
    await time.advance(31)
    assert (await peer.reply(**DONE))["params"]["inputResponses"] == {"a": ACCEPT, "b": CANCEL}
    await call


@pytest.mark.parametrize(
    ("method", "params", "code", "words"),
    [
        ("elicitation/create", {"message": "?"}, -32602, "Invalid params for elicitation/create: "),
        ("elicitation/create", [1], -32602, '"params" must be an object'),
        ("elicitation/create", {"mode": "url", "message": "?"}, -32602, "Invalid params for elicitation"),
        ("elicitation/create", {**ASK, "mode": "fax"}, -32602, "elicitation.fax was not declared"),
        ("sampling/createMessage", {"messages": 5}, -32602, "Invalid params for sampling/createMessage: "),
        ("magic/do", {}, -32601, "The client does not support magic/do"),
    ],
)
async def test_unanswerable_request_is_rejected_and_shown(
    stage: InboxStage, method: str, params: JSON, code: int, words: str
) -> None:
    peer = await stage.connect()
    peer.ask(method, params)
    error = (await peer.next())["error"]
    assert error["code"] == code
    assert words in error["message"]
    inbox_request = await stage.ended()
    assert (inbox_request.end, inbox_request.note) == (RequestEnd.REFUSED, error["message"])
    assert [each.method for each in inbox_request.input_requests] == [method]
    assert stage.seen == [inbox_request]


async def test_undeclared_request_is_rejected_and_shown(stage: InboxStage) -> None:
    stage.declare_only("elicitation/create")
    peer = await stage.connect()
    peer.ask("sampling/createMessage", SAMPLE)
    assert (await peer.next())["error"]["code"] == -32601
    assert (await stage.ended()).end is RequestEnd.REFUSED
    peer.ask("roots/list", {}, 2)
    assert (await peer.next())["error"]["code"] == -32601


@pytest.mark.parametrize(
    ("requested", "reason", "count"),
    [
        ({"method": "elicitation/create", "params": {"message": "?"}}, "requestedSchema", 1),
        ({"method": "magic/do"}, "“magic/do”, which is not allowed inside a result", 1),
        ({"params": {}}, "the input request “who” cannot be used", 0),
    ],
)
async def test_unanswerable_request_in_a_result_fails_the_call_and_is_shown(
    stage: InboxStage, requested: JSONObject, reason: str, count: int
) -> None:
    peer = await stage.connect(R5)
    call = stage.call()
    await peer.ask_in_result(who=requested)
    outcome = await call
    assert outcome.kind is OutcomeKind.FAILED
    assert reason in outcome.summary
    inbox_request = await stage.ended()
    assert inbox_request.end is RequestEnd.REFUSED
    assert reason in inbox_request.note
    assert len(inbox_request.input_requests) == count
    assert (inbox_request.method, inbox_request.subject, inbox_request.round) == ("tools/call", "greet", 1)


async def test_server_that_asks_endlessly_is_stopped_after_ten_rounds(stage: InboxStage) -> None:
    peer = await stage.connect(R5)
    call = stage.call()
    for count in range(1, 11):
        await peer.ask_in_result("s", who=FORM_ASKED)
        inbox_request = await stage.inbox_request()
        assert (inbox_request.round, len(inbox_request.earlier)) == (count, count - 1)
        stage.reply(inbox_request, ACCEPT, "who")
    await peer.ask_in_result("s", who=FORM_ASKED)
    outcome = await call
    assert "the server requested input more than 10 times in a row" in outcome.summary
    assert (await stage.ended()).end is RequestEnd.REFUSED


async def test_call_timeouts_pause_while_its_request_is_pending(stage: InboxStage) -> None:
    peer = await stage.connect()
    time = LoopTime()
    call = stage.call()
    request = await peer.next()
    await time.advance(6)
    peer.ask("elicitation/create", ASK)
    await time.advance(0)
    await time.advance(1000)
    stage.reply(await stage.inbox_request(), ACCEPT)
    await peer.next()
    await settle()
    await time.advance(3.9)  # six of ten seconds were used
    assert not call.done()
    peer.wire.show_message(id=request["id"], result=DONE)
    outcome = await call
    assert outcome.kind is OutcomeKind.RESULT
    assert outcome.waited_ns == 1000 * 10**9


async def test_timeouts_resume_when_the_request_is_answered(stage: InboxStage) -> None:
    peer = await stage.connect()
    time = LoopTime()
    call = stage.call()
    await peer.next()
    await time.advance(6)
    peer.ask("elicitation/create", ASK)
    await time.advance(0)
    await time.advance(1000)
    stage.reply(await stage.inbox_request(), ACCEPT)
    await settle()
    await time.advance(4.1)
    outcome = await call
    assert "did not respond to tools/call within 10.1" in outcome.summary
    assert outcome.waited_ns == 1000 * 10**9


async def test_overlapping_pending_requests_are_counted_once(stage: InboxStage) -> None:
    peer = await stage.connect()
    time = LoopTime()
    call = stage.call()
    request = await peer.next()
    peer.ask("elicitation/create", ASK, "a")
    peer.ask("elicitation/create", ASK, "b")
    await time.advance(0)
    await time.advance(20)
    stage.reply(await stage.inbox_request(0), ACCEPT)
    await settle()
    await time.advance(20)
    assert not call.done()
    peer.wire.show_message(id=request["id"], result=DONE)  # before the second one is answered
    assert (await call).waited_ns == 40 * 10**9
    stage.reply(await stage.inbox_request(), DECLINE)


async def test_unrelated_call_keeps_its_timeouts(stage: InboxStage) -> None:
    peer = await stage.connect()
    time = LoopTime()
    call = stage.call()
    await peer.next()
    peer.ask("elicitation/create", ASK)
    await time.advance(0)
    other = stage.call("other")
    await settle()
    await time.advance(10.1)
    assert "did not respond to tools/call" in (await other).summary
    assert not call.done()
    call.cancel()
    stage.reply(await stage.inbox_request(), DECLINE)


async def test_all_pending_calls_pause_when_the_cause_is_unknown(stage: InboxStage) -> None:
    peer = await stage.connect()
    time = LoopTime()
    calls = [stage.call("one"), stage.call("two")]
    requests = [await peer.next(), await peer.next()]
    peer.ask("elicitation/create", ASK)
    await time.advance(0)
    assert (await stage.inbox_request()).operation is None
    await time.advance(1000)
    stage.reply(await stage.inbox_request(), ACCEPT)
    await settle()
    for request in requests:
        peer.wire.show_message(id=request["id"], result=DONE)
    assert [(await call).kind for call in calls] == [OutcomeKind.RESULT] * 2


async def test_user_time_is_counted_separately_in_stateless_mode_too(stage: InboxStage) -> None:
    peer = await stage.connect(R5)
    time = LoopTime()
    call = stage.call()
    for _ in range(2):
        await peer.ask_in_result("s", who=FORM_ASKED)
        await stage.inbox_request()
        await time.advance(50)
        stage.reply(await stage.inbox_request(), ACCEPT, "who")
    await peer.reply(**DONE)
    assert (await call).waited_ns == 100 * 10**9


async def test_reading_a_resource_may_send_requests_and_counts_user_time_too(stage: InboxStage) -> None:
    peer = await stage.connect(R5)
    time = LoopTime()
    reading = stage.start(stage.engine.read_resource("srv", "a://b"))
    await peer.ask_in_result(who=FORM_ASKED)
    inbox_request = await stage.inbox_request()
    assert (inbox_request.method, inbox_request.subject) == ("resources/read", "a://b")
    await time.advance(5)
    stage.reply(inbox_request, ACCEPT, "who")
    await peer.reply(contents=[])
    assert (await reading).waited_ns == 5 * 10**9


async def test_number_of_finished_requests_is_limited(stage: InboxStage) -> None:
    peer = await stage.connect(R1)
    for number in range(600):
        peer.ask("sampling/createMessage", {}, number)
        await peer.next()
    assert len(stage.inbox.past()) == 500
    assert stage.inbox.past()[-1].id == 600


async def test_thousands_of_requests_of_a_crashed_server_close_with_it(stage: InboxStage) -> None:
    peer = await stage.connect()
    for number in range(3000):
        peer.ask("elicitation/create", ASK, number)
    await settle()
    assert len(stage.inbox.inbox_requests()) == 3000
    peer.wire.end()
    assert (await stage.end())[0] is RequestEnd.SERVER_GONE


async def test_requests_beyond_the_inbox_limit_are_rejected(
    stage: InboxStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox_module, "MAX_OPEN", 3)
    peer = await stage.connect()
    for number in range(4):
        peer.ask("elicitation/create", ASK, number)
    error = (await peer.next())["error"]
    assert (error["code"], error["message"]) == (-32603, "3 server requests are already pending")
    await settle()
    assert stage.inbox.past()[-1].end is RequestEnd.REFUSED
    assert len(stage.inbox.inbox_requests()) == 3
    stage.reply(stage.inbox.inbox_requests()[0], DECLINE)
    await peer.next()
    peer.ask("elicitation/create", ASK, "again")
    await settle()
    assert len(stage.inbox.inbox_requests()) == 3
    for inbox_request in stage.inbox.inbox_requests():
        stage.reply(inbox_request, DECLINE)


@pytest.mark.parametrize("mode", ["withdrawn", "server gone"])
async def test_request_that_ends_while_being_answered_is_listed_once(stage: InboxStage, mode: str) -> None:
    peer = await stage.connect()
    peer.ask("elicitation/create", ASK)
    inbox_request = await stage.inbox_request()
    stage.reply(inbox_request, ACCEPT)
    if mode == "withdrawn":
        peer.wire.show_message(method="notifications/cancelled", params={"requestId": "q"})
    else:
        peer.wire.end()
    await settle()
    assert [each.id for each in stage.inbox.past()] == [inbox_request.id]


async def test_call_cancelled_while_being_answered_is_listed_once(
    stage: InboxStage,
) -> None:
    peer = await stage.connect(R5)
    call = stage.call()
    await peer.ask_in_result(a=FORM_ASKED)
    inbox_request = await stage.inbox_request()
    stage.reply(inbox_request, ACCEPT, "a")
    call.cancel()
    await settle()
    assert call.cancelled()
    assert [each.id for each in stage.inbox.past()] == [inbox_request.id]


def image(data: str) -> JSONObject:
    content: JSONObject = {"type": "image", "data": data, "mimeType": "image/png"}
    return {"messages": [{"role": "user", "content": content}], "maxTokens": 9}


async def test_big_image_is_validated_off_the_event_loop(
    stage: InboxStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []

    def block_problem(block: JSONObject, revision: object) -> str:
        threads.append(threading.get_ident())
        return "holds data that is not Base64"

    monkeypatch.setattr(sampling_module, "block_problem", block_problem)
    opened: asyncio.Future[InboxRequest] = asyncio.get_running_loop().create_future()
    stage.inbox.changed.connect(
        lambda inbox_request: None if opened.done() else opened.set_result(inbox_request)
    )
    peer = await stage.connect()
    peer.ask("sampling/createMessage", image("!" * 1_000_000))
    inbox_request = await asyncio.wait_for(opened, 30)
    assert inbox_request.input_requests[0].notes == ("A content block holds data that is not Base64.",)
    assert threads
    assert threading.get_ident() not in threads
    stage.reply(inbox_request, SAMPLED)
    assert (await peer.next())["result"] == SAMPLED


async def test_big_request_is_parsed_once(stage: InboxStage, monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[int] = []

    def parse(text: str) -> JSON:
        texts.append(len(text))
        return values.parse(text)

    peer = await stage.connect()
    opened: asyncio.Future[InboxRequest] = asyncio.get_running_loop().create_future()
    stage.inbox.changed.connect(
        lambda inbox_request: None if opened.done() else opened.set_result(inbox_request)
    )
    monkeypatch.setattr(jsonrpc, "parse", parse)
    peer.ask("sampling/createMessage", image("A" * 1_000_000))
    stage.reply(await asyncio.wait_for(opened, 30), SAMPLED)
    await peer.next()
    assert sum(size > 1_000_000 for size in texts) == 1


async def test_finished_requests_have_a_memory_limit(
    stage: InboxStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending, "MAX_BYTES", 2_500_000)
    peer = await stage.connect(R1)
    for number in range(4):
        peer.ask("sampling/createMessage", {"messages": [image("A" * 1_000_000)]}, number)
        await peer.next()
    assert [inbox_request.id for inbox_request in stage.inbox.past()] == [3, 4]


async def test_answered_requests_are_not_retained_by_the_running_call(stage: InboxStage) -> None:
    peer = await stage.connect()
    call = stage.call()
    request = await peer.next()
    for number in range(5):
        peer.ask("elicitation/create", ASK, number)
        stage.reply(await stage.inbox_request(), DECLINE)
        await peer.next()
    (waiter,) = stage.engine.servers.get("srv").session.conversation().pending.of_operation(None)
    assert len(waiter.response._callbacks) <= 2
    peer.wire.show_message(id=request["id"], result=DONE)
    await call


@pytest.mark.parametrize("params", [ASK, PAGE])
async def test_reply_that_cannot_be_sent_is_reported_on_its_request(
    stage: InboxStage, monkeypatch: pytest.MonkeyPatch, params: JSONObject
) -> None:
    peer = await stage.connect()
    peer.ask("elicitation/create", params)
    inbox_request = await stage.inbox_request()

    async def send(message: object, envelope: object = None) -> None:
        raise ConnectionLost("Nothing listens there.", "Check that the server runs.")

    monkeypatch.setattr(peer.wire, "send", send)
    stage.reply(inbox_request, CONSENT if params is PAGE else ACCEPT)
    words = "Could not send the reply: Nothing listens there. Check that the server runs."
    assert await stage.end() == (RequestEnd.NOT_SENT, words)
    assert len(stage.inbox.past()) == 1
    assert stage.inbox._by_server_request == {}


async def test_answered_request_leaves_only_its_history_entry(stage: InboxStage) -> None:
    peer = await stage.connect()
    peer.ask("elicitation/create", ASK)
    stage.reply(await stage.inbox_request(), ACCEPT)
    await peer.next()
    peer.ask("sampling/createMessage", SAMPLE, 2)
    inbox_request = await stage.inbox_request()
    stage.inbox.reply(inbox_request.id, "", SAMPLING_REJECTED)
    await peer.next()
    peer.ask("elicitation/create", {**ASK, "task": {}}, 3)
    await peer.next()
    stage.reply(await stage.inbox_request(), ACCEPT)
    await settle()
    assert stage.inbox._by_server_request == {}
