"""URL elicitations: as a server request, and as the error -32042."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from inspector.base.errors import UserError
from inspector.base.json.values import JSON, JSONObject
from inspector.engine.inbox.views import Reply
from inspector.engine.views import OutcomeKind
from inspector.protocol.revisions import R3, R5
from inspector.protocol.server_requests.request import RequestEnd
from tests.helpers.fakes import LoopTime
from tests.unit.engine.inbox.inbox_stage import CANCEL, CONSENT, DECLINE, DONE, PAGE, InboxStage, Peer, settle

OTHER_PAGE: JSONObject = {**PAGE, "url": "https://x.test/b", "elicitationId": "e2"}
REQUIRED = -32042
NO_NOTICE = "Dismissed before the server reported that the page was completed."


@pytest.fixture
async def stage(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[InboxStage]:
    stage = InboxStage(monkeypatch)
    yield stage
    await stage.engine.close()
    assert stage.inbox.inbox_requests() == ()


def complete(peer: Peer, id: JSON) -> None:
    peer.wire.show_message(method="notifications/elicitation/complete", params={"elicitationId": id})


async def test_consent_is_sent_immediately_and_the_request_stays_until_completion(stage: InboxStage) -> None:
    peer = await stage.connect()
    peer.ask("elicitation/create", PAGE)
    stage.reply(await stage.inbox_request(), CONSENT)
    assert await peer.next() == {"jsonrpc": "2.0", "id": "q", "result": CONSENT}
    assert (await stage.inbox_request()).awaits_completion
    for id in ("e2", "", 5, None):
        complete(peer, id)  # an unknown id
    inbox_request = await stage.inbox_request()
    with pytest.raises(UserError, match="already has a reply"):
        stage.reply(inbox_request, DECLINE)
    complete(peer, "e1")
    assert await stage.end() == (RequestEnd.ANSWERED, "")
    complete(peer, "e1")
    assert peer.wire.sends_nothing()


@pytest.mark.parametrize("response", [DECLINE, CANCEL])
async def test_without_consent_completion_is_not_awaited(stage: InboxStage, response: JSONObject) -> None:
    peer = await stage.connect()
    peer.ask("elicitation/create", PAGE)
    stage.reply(await stage.inbox_request(), response)
    assert (await peer.next())["result"] == response
    assert await stage.end() == (RequestEnd.ANSWERED, "")


async def test_completion_before_consent_is_not_awaited(stage: InboxStage) -> None:
    peer = await stage.connect()
    peer.ask("elicitation/create", PAGE)
    inbox_request = await stage.inbox_request()
    complete(peer, "e1")
    assert len(stage.inbox.inbox_requests()) == 1
    stage.reply(inbox_request, CONSENT)
    assert await stage.end() == (RequestEnd.ANSWERED, "")


async def test_request_awaiting_completion_can_be_dismissed_or_marked_done(stage: InboxStage) -> None:
    peer = await stage.connect()
    for act, note in ((stage.inbox.dismiss, NO_NOTICE), (stage.inbox.mark_completed, "")):
        peer.ask("elicitation/create", PAGE)
        inbox_request = await stage.inbox_request()
        with pytest.raises(UserError, match="This server request is pending"):
            act(inbox_request.id)
        stage.reply(inbox_request, CONSENT)
        await peer.next()
        act(inbox_request.id)
        assert await stage.end() == (RequestEnd.ANSWERED, note)


async def test_request_awaiting_completion_closes_with_its_server_and_no_other(stage: InboxStage) -> None:
    one, two = await stage.connect(name="one"), await stage.connect(name="two")
    for peer in (one, two):
        peer.ask("elicitation/create", PAGE)
        stage.reply(await stage.inbox_request(-1), CONSENT)
        await peer.next()
    one.wire.end()
    await settle()
    assert [inbox_request.server for inbox_request in stage.inbox.inbox_requests()] == ["two"]
    (gone,) = stage.inbox.past()
    assert (gone.end, gone.note) == (RequestEnd.SERVER_GONE, "The server exited with code 9.")
    complete(two, "e1")
    await stage.ended()


async def test_without_an_id_there_is_nothing_to_wait_for(stage: InboxStage) -> None:
    peer = await stage.connect()
    peer.ask("elicitation/create", {**PAGE, "elicitationId": 5})
    inbox_request = await stage.inbox_request()
    assert inbox_request.input_requests[0].notes != ()
    stage.reply(inbox_request, CONSENT)
    assert await stage.end() == (RequestEnd.ANSWERED, "")


async def test_stateless_call_is_repeated_immediately(stage: InboxStage) -> None:
    peer = await stage.connect(R5)
    call = stage.call()
    await peer.ask_in_result(page={"method": "elicitation/create", "params": PAGE})
    stage.reply(await stage.inbox_request(), CONSENT, "page")
    assert (await peer.reply(**DONE))["params"]["inputResponses"] == {"page": CONSENT}
    assert (await call).kind is OutcomeKind.RESULT
    assert await stage.end() == (RequestEnd.ANSWERED, "")


async def test_request_is_retried_when_all_url_elicitations_are_complete(stage: InboxStage) -> None:
    peer = await stage.connect()
    call = stage.call("pay")
    first = await peer.refuse(REQUIRED, {"elicitations": [PAGE, OTHER_PAGE]})
    inbox_request = await stage.inbox_request()
    assert (inbox_request.method, inbox_request.subject, inbox_request.round, inbox_request.max_rounds) == (
        "tools/call",
        "pay",
        1,
        10,
    )
    assert [(each.key, each.params) for each in inbox_request.input_requests] == [
        ("e1", PAGE),
        ("e2", OTHER_PAGE),
    ]
    stage.reply(inbox_request, CONSENT, "e1")
    stage.reply(inbox_request, CONSENT, "e2")
    assert (await stage.inbox_request()).awaits_completion
    complete(peer, "e2")
    await settle()
    assert peer.wire.sends_nothing()
    complete(peer, "e1")
    second = await peer.reply(**DONE)
    assert second["id"] != first["id"]
    assert second["params"] == first["params"]
    assert (await call).kind is OutcomeKind.RESULT
    assert await stage.end() == (RequestEnd.ANSWERED, "")


async def test_user_may_mark_the_url_elicitation_as_done(stage: InboxStage) -> None:
    peer = await stage.connect()
    call = stage.call()
    await peer.refuse(REQUIRED, {"elicitations": [PAGE]})
    inbox_request = await stage.inbox_request()
    stage.reply(inbox_request, CONSENT, "e1")
    stage.inbox.mark_completed(inbox_request.id)
    await peer.reply(**DONE)
    assert (await call).kind is OutcomeKind.RESULT


@pytest.mark.parametrize("response", [DECLINE, CANCEL])
async def test_declining_returns_the_original_error(stage: InboxStage, response: JSONObject) -> None:
    peer = await stage.connect()
    call = stage.call()
    data: JSONObject = {"elicitations": [PAGE, OTHER_PAGE]}
    await peer.refuse(REQUIRED, data)
    stage.reply(await stage.inbox_request(), response, "e2")
    outcome = await call
    assert (outcome.kind, outcome.summary) == (OutcomeKind.RPC_ERROR, "-32042 (URL elicitation required): no")
    assert b'"elicitationId"' in outcome.response
    assert peer.wire.sends_nothing()
    assert await stage.end() == (RequestEnd.ANSWERED, "")


async def test_dismissing_the_request_returns_the_error_too(stage: InboxStage) -> None:
    peer = await stage.connect()
    call = stage.call()
    await peer.refuse(REQUIRED, {"elicitations": [PAGE]})
    inbox_request = await stage.inbox_request()
    stage.reply(inbox_request, CONSENT, "e1")
    stage.inbox.dismiss(inbox_request.id)
    assert (await call).kind is OutcomeKind.RPC_ERROR
    assert await stage.end() == (RequestEnd.ANSWERED, NO_NOTICE)


async def test_any_request_may_require_url_elicitation(stage: InboxStage) -> None:
    peer = await stage.connect()
    listing = stage.start(stage.engine.list_tools("srv"))
    await peer.refuse(REQUIRED, {"elicitations": [PAGE]})
    inbox_request = await stage.inbox_request()
    assert inbox_request.method == "tools/list"
    stage.reply(inbox_request, CONSENT, "e1")
    complete(peer, "e1")
    await peer.reply(tools=[])
    assert (await listing).items == ()


async def test_cancelling_the_call_or_losing_the_server_closes_the_request(stage: InboxStage) -> None:
    peer = await stage.connect()
    call = stage.call()
    await peer.refuse(REQUIRED, {"elicitations": [PAGE]})
    stage.reply(await stage.inbox_request(), CONSENT, "e1")
    call.cancel()
    await asyncio.wait([call])
    assert await stage.end() == (RequestEnd.CALL_ENDED, "")
    call = stage.call()
    await peer.refuse(REQUIRED, {"elicitations": [PAGE]})
    await stage.inbox_request()
    peer.wire.end()
    assert (await call).is_lost
    assert (await stage.ended()).end is RequestEnd.SERVER_GONE


async def test_inbox_timeout_ends_with_the_consent(stage: InboxStage) -> None:
    peer = await stage.connect()
    await stage.engine.settings.set("inbox.timeout", 30)
    time = LoopTime()
    call = stage.call()
    await peer.refuse(REQUIRED, {"elicitations": [PAGE]})
    await stage.inbox_request()
    await time.advance(20)
    stage.reply(await stage.inbox_request(), CONSENT, "e1")
    await time.advance(100)
    assert (await stage.inbox_request()).awaits_completion
    complete(peer, "e1")
    await peer.reply(**DONE)
    assert (await call).waited_ns == 120 * 10**9


async def test_late_reply_returns_the_error(stage: InboxStage) -> None:
    peer = await stage.connect()
    await stage.engine.settings.set("inbox.timeout", 30)
    time = LoopTime()
    call = stage.call()
    await peer.refuse(REQUIRED, {"elicitations": [PAGE]})
    await stage.inbox_request()
    await time.advance(31)
    assert (await call).kind is OutcomeKind.RPC_ERROR
    assert await stage.end() == (RequestEnd.TIMED_OUT, "")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (None, "its data has no array of elicitations"),
        ({"elicitations": []}, "its data has no array of elicitations"),
        ({"elicitations": [5]}, "one of its elicitations is not an object"),
        ({"elicitations": [{**PAGE, "url": 5}]}, "url"),
        ({"elicitations": [{**PAGE, "elicitationId": ""}]}, "one of its elicitations has no elicitationId"),
        ({"elicitations": [PAGE, PAGE]}, "two of its elicitations have the same elicitationId"),
        (
            {"elicitations": [{"message": "?", "requestedSchema": {"type": "object", "properties": {}}}]},
            "one of its elicitations does not have the mode “url”",
        ),
    ],
)
async def test_error_without_elicitations_is_the_result_with_a_finding(
    stage: InboxStage, data: JSON, reason: str
) -> None:
    peer = await stage.connect()
    call = stage.call()
    await peer.refuse(REQUIRED, data)
    assert (await call).kind is OutcomeKind.RPC_ERROR
    (note,) = stage.notes()
    assert note.startswith("-32042 (URL elicitation required): URL elicitation not shown: ")
    assert reason in note
    assert stage.seen == []


async def test_undeclared_elicitation_is_not_shown(stage: InboxStage) -> None:
    stage.declare_only("roots/list")
    peer = await stage.connect()
    call = stage.call()
    await peer.refuse(REQUIRED, {"elicitations": [PAGE]})
    assert (await call).kind is OutcomeKind.RPC_ERROR
    assert stage.notes() == [
        "-32042 (URL elicitation required): URL elicitation not shown: MCP Lens did not declare elicitation."
    ]


@pytest.mark.parametrize("revision", [R3, R5])
async def test_only_one_protocol_version_has_this_error(
    stage: InboxStage, revision: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = await stage.connect(revision)  # type: ignore[arg-type]
    call = stage.call()
    await peer.refuse(REQUIRED, {"elicitations": [PAGE]})
    assert (await call).kind is OutcomeKind.RPC_ERROR
    assert stage.seen == []


async def test_server_that_requires_urls_endlessly_is_stopped_after_ten_rounds(stage: InboxStage) -> None:
    peer = await stage.connect()
    call = stage.call()
    for count in range(1, 11):
        await peer.refuse(REQUIRED, {"elicitations": [PAGE]})
        inbox_request = await stage.inbox_request()
        assert (inbox_request.round, len(inbox_request.earlier)) == (count, count - 1)
        stage.inbox.reply(inbox_request.id, "e1", Reply(result=CONSENT))
        complete(peer, "e1")
    await peer.refuse(REQUIRED, {"elicitations": [PAGE]})
    assert (await call).kind is OutcomeKind.RPC_ERROR
    assert "the server requested input more than 10 times in a row" in stage.notes()[-1]
