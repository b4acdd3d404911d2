"""Automatic replies in the Inbox: tried first, marked, and never blocking the user."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from inspector.base.errors import UserError
from inspector.base.json.values import JSONObject
from inspector.config.reply_rules import ReplyRule, RuleKind
from inspector.engine.inbox.reply_rules import ReplyRules
from inspector.engine.inbox.views import Reply, RequestItem
from inspector.protocol.revisions import R4, R5, Revision
from inspector.protocol.server_requests import request as request_module
from inspector.protocol.server_requests.request import RequestEnd
from inspector.protocol.server_requests.sampling import SamplingRequest, read_sampling
from tests.unit.engine.inbox.inbox_stage import (
    ACCEPT,
    ASK,
    DECLINE,
    DONE,
    SAMPLE,
    SAMPLED,
    InboxStage,
    settle,
)


class Rules:
    """Replies to sampling once allowed; leaves the rest to the user."""

    def __init__(self) -> None:
        self.requested: list[tuple[str, str, Revision]] = []
        self.may_respond = asyncio.Event()
        self.may_respond.set()
        self.failure: Exception | None = None
        self.was_cancelled = False

    async def reply(self, server: str, input_request: RequestItem, revision: Revision) -> Reply | None:
        self.requested.append((server, input_request.method, revision))
        try:
            await self.may_respond.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        if self.failure is not None:
            raise self.failure
        is_sampling = input_request.method == "sampling/createMessage"
        return Reply(result=SAMPLED, rule="always\nfour") if is_sampling else None


@pytest.fixture
async def stage(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[InboxStage]:
    stage = InboxStage(monkeypatch)
    yield stage
    await stage.engine.close()


@pytest.fixture
def rules(stage: InboxStage) -> Rules:
    rules = stage.inbox.rules = Rules()
    return rules


async def test_automatic_reply_is_marked_and_never_pending(stage: InboxStage, rules: Rules) -> None:
    peer = await stage.connect()
    peer.ask("sampling/createMessage", SAMPLE)
    assert (await peer.next())["result"] == SAMPLED
    inbox_request = await stage.ended()
    assert inbox_request.input_requests[0].reply == Reply(result=SAMPLED, rule="always\nfour")
    assert stage.seen == [inbox_request]  # it did not flash up
    assert rules.requested == [("srv", "sampling/createMessage", R4)]
    (note,) = stage.notes()
    assert note.startswith("Answered by rule “always")


async def test_request_without_a_matching_rule_is_left_to_the_user(stage: InboxStage, rules: Rules) -> None:
    peer = await stage.connect()
    peer.ask("elicitation/create", ASK)
    inbox_request = await stage.inbox_request()
    stage.reply(inbox_request, DECLINE)
    assert (await peer.next())["result"] == DECLINE
    assert stage.notes() == []


async def test_a_rule_may_answer_a_part_of_a_request(stage: InboxStage, rules: Rules) -> None:
    peer = await stage.connect(R5)
    call = stage.call()
    await peer.ask_in_result(
        who={"method": "elicitation/create", "params": ASK},
        think={"method": "sampling/createMessage", "params": SAMPLE},
    )
    inbox_request = await stage.inbox_request()
    assert [each.key for each in inbox_request.unanswered] == ["who"]
    stage.reply(inbox_request, ACCEPT, "who")
    second = await peer.reply(**DONE)
    assert second["params"]["inputResponses"] == {"who": ACCEPT, "think": SAMPLED}
    await call


@pytest.mark.parametrize("failure", [UserError("The endpoint is away."), KeyError("oops")])
async def test_failing_rule_leaves_the_request_to_the_user_and_says_so(
    stage: InboxStage, rules: Rules, failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    rules.failure = failure
    peer = await stage.connect()
    with caplog.at_level("CRITICAL"):
        peer.ask("sampling/createMessage", SAMPLE)
        inbox_request = await stage.inbox_request()
    assert inbox_request.input_requests[0].notes[-1].startswith("A reply rule failed: ")
    stage.reply(inbox_request, SAMPLED)
    assert (await peer.next())["result"] == SAMPLED


async def test_request_that_waits_for_a_rule_is_shown_before_newer_ones(
    stage: InboxStage, rules: Rules
) -> None:
    rules.may_respond.clear()
    peer = await stage.connect()
    peer.ask("elicitation/create", ASK)
    await settle()
    stage.inbox.rules = None  # the second request has no rules to wait for
    peer.ask("elicitation/create", ASK, id="second")
    await settle()
    rules.may_respond.set()
    first, second = await stage.inbox_request(0), await stage.inbox_request(1)
    assert stage.seen == [first, second]
    assert first.id < second.id


async def test_user_may_be_faster_than_a_rule(stage: InboxStage, rules: Rules) -> None:
    rules.may_respond.clear()
    shown = asyncio.Event()
    stage.inbox.changed.connect(lambda inbox_request: shown.set())
    peer = await stage.connect()
    peer.ask("sampling/createMessage", SAMPLE)
    await shown.wait()
    stage.reply(await stage.inbox_request(), {**SAMPLED, "model": "me"})
    assert (await peer.next())["result"]["model"] == "me"
    await settle()
    assert rules.was_cancelled
    assert stage.notes() == []


async def test_slow_rule_answers_a_visible_request(stage: InboxStage, rules: Rules) -> None:
    rules.may_respond.clear()
    shown = asyncio.Event()
    stage.inbox.changed.connect(lambda inbox_request: shown.set())
    peer = await stage.connect()
    peer.ask("sampling/createMessage", SAMPLE)
    await shown.wait()
    assert len(stage.inbox.inbox_requests()) == 1
    rules.may_respond.set()
    assert (await peer.next())["result"] == SAMPLED
    assert (await stage.ended()).end is RequestEnd.ANSWERED


async def test_rule_is_cancelled_when_no_reply_is_needed_any_more(stage: InboxStage, rules: Rules) -> None:
    rules.may_respond.clear()
    peer = await stage.connect()
    peer.ask("sampling/createMessage", SAMPLE)
    await settle()
    peer.wire.show_message(method="notifications/cancelled", params={"requestId": "q"})
    await settle()
    assert rules.was_cancelled
    assert (await stage.ended()).end is RequestEnd.WITHDRAWN


async def test_server_request_is_parsed_once_on_its_way_to_the_rules(
    stage: InboxStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[JSONObject] = []

    def read(params: JSONObject) -> SamplingRequest:
        parsed.append(params)
        return read_sampling(params)

    monkeypatch.setattr(request_module, "read_sampling", read)
    stage.inbox.rules = rules = ReplyRules()
    await rules.save([ReplyRule("e", "Parrot", RuleKind.ECHO, is_on=True)])
    peer = await stage.connect()
    peer.ask("sampling/createMessage", SAMPLE)
    assert "result" in await peer.next()
    assert (await rules.attempt((await rules.rules())[0])).reply is not None
    assert parsed == [SAMPLE]
