"""Reply rules with a real server, the current SDK, in both shapes: replied, and marked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from inspector.config.reply_rules import Endpoint, ReplyRule, RuleKind
from inspector.config.servers.entries import StdioEntry
from inspector.demo.servers import command
from inspector.engine.inbox.inbox import Inbox
from inspector.engine.inbox.reply_rules import ReplyRules
from inspector.engine.views import OutcomeKind
from inspector.protocol.server_requests.replies import form_reply
from inspector.protocol.server_requests.request import RequestEnd
from inspector.traffic.records import RecordKind
from tests.helpers.httpfaults import FaultServer
from tests.peers.visit import Visit, visiting
from tests.unit.engine.inbox.chat_endpoint_stage import COMPLETION, description


@pytest.fixture(params=["auto", "legacy-first"])
def entry(request: pytest.FixtureRequest) -> StdioEntry:
    program, *args = command("everything")
    return StdioEntry(name="sdk", command=program, args=tuple(args), era=request.param)


@asynccontextmanager
async def with_rules(entry: StdioEntry, *rules: ReplyRule) -> AsyncIterator[Visit]:
    responses = ReplyRules()
    await responses.save(rules)
    async with visiting(entry, inbox=Inbox(rules=responses)) as visit:
        yield visit


def rule(name: str, kind: RuleKind, filter: str = "", **more: Any) -> ReplyRule:
    return ReplyRule(name, name, kind, filter, is_on=True, **more)


async def text(visit: Visit, tool: str, **arguments: Any) -> str:
    outcome = await visit.call(tool, **arguments)
    assert outcome.kind is OutcomeKind.RESULT, (outcome.kind, outcome.summary, outcome.response[:500])
    return "\n".join(block["text"] for block in json.loads(outcome.response)["result"]["content"])


async def test_matching_rule_answers_a_server_request_and_the_reply_is_marked(
    entry: StdioEntry,
) -> None:
    yes = rule("Yes", RuleKind.CANNED, "method:elicitation/create", reply=form_reply({"name": "Ada"}))
    async with with_rules(entry, yes, rule("Parrot", RuleKind.ECHO)) as visit:
        assert "Ada" in await text(visit, "elicit_form")
        assert "A color?" in await text(visit, "sampling", prompt="A color?")
        past = visit.engine.inbox.past()
        log = visit.engine.log
        notes = [record.raw.decode() for record in log.find("sdk", RecordKind.LOCAL)]
    assert [inbox_request.end for inbox_request in past] == [RequestEnd.ANSWERED] * 2
    assert [
        inbox_request.input_requests[0].reply.rule
        for inbox_request in past
        if inbox_request.input_requests[0].reply
    ] == ["Yes", "Parrot"]
    assert notes == ["Answered by rule “Yes”.", "Answered by rule “Parrot”."]


async def test_script_rule_replies_to_consecutive_calls(entry: StdioEntry, tmp_path: Path) -> None:
    script = tmp_path / "answers.jsonl"
    script.write_text('"red"\n"blue"\n')
    async with with_rules(entry, rule("Book", RuleKind.SCRIPT, script=str(script))) as visit:
        reported = [await text(visit, "sampling", prompt="A color?") for _ in range(2)]
    assert ["red" in reported[0], "blue" in reported[1]] == [True, True]


async def test_endpoint_receives_the_server_request(entry: StdioEntry) -> None:
    async with FaultServer() as service:
        service.order("answer", description(COMPLETION))
        endpoint = Endpoint(service.url(path="/v1"), "gpt-9", timeout=20)
        async with with_rules(entry, rule("Model", RuleKind.ENDPOINT, endpoint=endpoint)) as visit:
            assert await text(visit, "sampling", prompt="A color?") == "gpt-9 said: Hello"
        (call,) = service.calls
    assert call.path == "/v1/chat/completions"
    assert call.message["messages"][-1] == {"role": "user", "content": "A color?"}
