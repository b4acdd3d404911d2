"""Operations of a real server over HTTP, with sessions and stateless."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Iterator
from typing import TypeAlias

import pytest

from inspector.base.json.values import JSONObject
from inspector.config.servers.entries import Entry, HttpEntry
from inspector.demo.servers import command
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.engine import Engine
from inspector.engine.views import OutcomeKind
from inspector.traffic.analysis.related import Role, related_messages
from inspector.traffic.analysis.timeline import Timeline
from inspector.traffic.log import TrafficLog
from tests.helpers.servers import timeouts

PROFILE: JSONObject = {"action": "accept", "content": {"name": "Ann"}}
Rows: TypeAlias = dict[Role, int]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with subprocess.Popen(
        command("everything", http=True), stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        yield process.stderr.readline().split()[-1]
        process.stdin.close()
        process.stderr.read()
        assert process.wait(timeout=20) == 0


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    async def response(params: JSONObject) -> JSONObject:
        await asyncio.sleep(0)
        return PROFILE

    settings = timeouts(20, 20)
    engine = Engine(settings=settings, handlers={"elicitation/create": response})
    yield engine
    await engine.close()


async def elicit(engine: Engine, entry: Entry) -> int:
    """Connect and call a tool that sends a server request; return the row of the call."""
    engine.servers.add(entry)
    await engine.servers.connector.connect("srv")
    outcome = await engine.tool_caller.call("srv", ToolCall("elicit_form", {"message": "Who?"}))
    assert outcome.kind is OutcomeKind.RESULT, outcome
    log = engine.log
    return next(row for row in range(len(log)) if log.method(row) == "tools/call")


def reported(log: TrafficLog, row: int) -> Rows:
    """Count the related messages of a row by role."""
    found: Rows = {}
    for step in related_messages(log, row).steps:
        found[step.role] = found.get(step.role, 0) + 1
    return found


async def test_multi_round_call_over_http_is_one_operation(engine: Engine, url: str) -> None:
    call = await elicit(engine, HttpEntry(name="srv", url=url, era="2026-07-28"))
    related = reported(engine.log, call)
    assert related.items() >= {Role.REQUEST: 1, Role.RETRY: 1, Role.RESPONSE: 2, Role.HTTP: 2}.items()
    timeline = Timeline(engine.log)
    timeline.extend(range(len(engine.log)))
    bar = timeline.bar(call)
    assert bar is not None
    assert bar.end_ns is not None
    ((start, end),) = bar.waits
    assert end is not None
    assert bar.start_ns < start < end < bar.end_ns


async def test_server_request_during_a_call_over_http_belongs_to_it(engine: Engine, url: str) -> None:
    call = await elicit(engine, HttpEntry(name="srv", url=url, era="2025-11-25"))
    related = reported(engine.log, call)
    expected = {Role.REQUEST: 1, Role.SERVER_REQUEST: 1, Role.REPLY: 1, Role.RESPONSE: 1, Role.HTTP: 2}
    assert related.items() >= expected.items()
