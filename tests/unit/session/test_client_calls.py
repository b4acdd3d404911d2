"""Typed client calls in both eras: what is sent, what is returned, and what is never sent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from inspector.base.errors import CapabilityMissing, RemoteProtocolError, RequestTimedOut
from inspector.base.json.values import JSON, JSONObject, parse
from inspector.protocol import jsonrpc
from inspector.protocol.connection import ProgressReceived
from inspector.protocol.jsonrpc import RpcError
from inspector.protocol.revisions import R1, R2, R3, R4, R5, Revision
from inspector.protocol.types import CacheHints
from inspector.session import result_rules
from inspector.session.client import Client, ToolCall
from inspector.traffic.records import RecordKind, Status
from tests.helpers.fakes import LoopTime
from tests.unit.session.session_stage import TASKS, connected, meta_of, params_of, settle

Ask = Callable[[Client], Awaitable[Any]]

REF: JSONObject = {"type": "ref/prompt", "name": "p"}

# Call, and the capability that the server must have declared for it in R4 and R5.
GATED: list[tuple[str, Ask, str, str]] = [
    ("list tools", lambda client: client.list_tools(), "tools", "tools"),
    ("call", lambda client: client.call_tool(ToolCall("x")), "tools", "tools"),
    ("list resources", lambda client: client.list_resources(), "resources", "resources"),
    ("templates", lambda client: client.list_resource_templates(), "resources", "resources"),
    ("read", lambda client: client.read_resource("file:///a"), "resources", "resources"),
    ("subscribe", lambda client: client.subscribe("file:///a"), "resources.subscribe", "resources.subscribe"),
    (
        "unsubscribe",
        lambda client: client.unsubscribe("file:///a"),
        "resources.subscribe",
        "resources.subscribe",
    ),
    ("list prompts", lambda client: client.list_prompts(), "prompts", "prompts"),
    ("get", lambda client: client.get_prompt("p", {}), "prompts", "prompts"),
    ("complete", lambda client: client.complete(REF, "a", "v"), "completions", "completions"),
    ("set level", lambda client: client.set_level("info"), "logging", "logging"),
    ("get task", lambda client: client.tasks.get("t"), "tasks", f"extensions.{TASKS}"),
    ("list tasks", lambda client: client.tasks.list(), "tasks.list", f"extensions.{TASKS}"),
    ("cancel task", lambda client: client.tasks.cancel("t"), "tasks.cancel", f"extensions.{TASKS}"),
]


@pytest.mark.parametrize("over_http", [False, True])
@pytest.mark.parametrize("revision", [R4, R5], ids=str)
@pytest.mark.parametrize(("ask", "old", "new"), [row[1:] for row in GATED], ids=[row[0] for row in GATED])
async def test_unsupported_request_is_not_sent_and_the_error_names_the_capability(
    ask: Ask, old: str, new: str, revision: Revision, over_http: bool
) -> None:
    async with connected(revision, over_http=over_http) as stage:
        with pytest.raises(CapabilityMissing) as caught:
            await ask(stage.client)
        assert f"“{old if revision is R4 else new}”" in caught.value.summary
        assert caught.value.next_step == "Nothing was sent."
        assert await stage.sends_nothing_more()


@pytest.mark.parametrize("revision", [R4, R5], ids=str)
async def test_call_as_a_task_is_not_sent_to_a_server_without_task_support(revision: Revision) -> None:
    async with connected(revision, offered={"tools": {}, "tasks": {"list": {}}}) as stage:
        with pytest.raises(CapabilityMissing, match=r"“(tasks.requests.tools.call|extensions.*)”"):
            await stage.client.call_tool(ToolCall("x", as_task=True))
        assert await stage.sends_nothing_more()


@pytest.mark.parametrize("revision", [R1, R2, R3], ids=str)
async def test_versions_before_tasks_say_so(revision: Revision) -> None:
    async with connected(revision, offered={"tools": {}}) as stage:
        with pytest.raises(
            CapabilityMissing, match=f"Protocol version {revision} has no tasks. Nothing was sent."
        ):
            await stage.client.tasks.get("t")
        assert await stage.sends_nothing_more()


async def test_oldest_version_has_completion_without_declaring_it() -> None:
    async with connected(R1) as stage:
        pending = stage.start(stage.client.complete(REF, "a", "v"))
        await stage.reply(completion={"values": ["va", 7, "vb"], "total": 9, "hasMore": True})
        completion = await pending
    assert (completion.values, completion.total, completion.has_more) == (("va", "vb"), 9, True)


async def test_stateless_list_has_a_freshness_lifetime() -> None:
    async with connected(R5, offered={"tools": {}}) as stage:
        pending = stage.start(stage.client.list_tools())
        await stage.reply(tools=[], ttlMs=60_000, cacheScope="public")
        listing = await pending
    assert listing.cache == CacheHints(60_000, "public")


async def test_session_list_has_no_freshness_lifetime() -> None:
    async with connected(R4, offered={"tools": {}}) as stage:
        pending = stage.start(stage.client.list_tools())
        await stage.reply(tools=[])
        assert (await pending).cache is None


OFFERED: JSONObject = {
    "tools": {},
    "resources": {"subscribe": True},
    "prompts": {},
    "completions": {},
    "logging": {},
}


@pytest.mark.parametrize("revision", [R4, R5], ids=str)
@pytest.mark.parametrize(
    ("ask", "method", "params", "result"),
    [
        (lambda c: c.list_resource_templates(), "resources/templates/list", {}, {"resourceTemplates": []}),
        (
            lambda c: c.read_resource("file:///a b"),
            "resources/read",
            {"uri": "file:///a b"},
            {"contents": []},
        ),
        (
            lambda c: c.get_prompt("p", {"n": "1"}),
            "prompts/get",
            {"name": "p", "arguments": {"n": "1"}},
            {"messages": []},
        ),
        (
            lambda c: c.complete(REF, "a", "v", {"b": "w"}),
            "completion/complete",
            {
                "ref": REF,
                "argument": {"name": "a", "value": "v"},
                "context": {"arguments": {"b": "w"}},
            },
            {"completion": {"values": []}},
        ),
    ],
)
async def test_each_request_is_sent_with_its_method_and_params(
    ask: Ask, method: str, params: JSONObject, result: JSONObject, revision: Revision
) -> None:
    async with connected(revision, offered=OFFERED) as stage:
        pending = stage.start(ask(stage.client))
        request = await stage.reply(**result)
        await pending
    assert request["method"] == method
    assert params_of({"params": {}, **request}) == params
    assert ("params" in request) or revision is R4  # never absent in the stateless era


async def test_unusable_contents_and_messages_are_kept_beside_the_others() -> None:
    async with connected(R4, offered=OFFERED) as stage:
        pending = stage.start(stage.client.read_resource("file:///a"))
        await stage.reply(contents=[{"uri": "file:///a", "text": "t"}, 5])
        listing = await pending
    assert [contents.uri for contents in listing.items] == ["file:///a"]
    assert [malformed.value for malformed in listing.malformed] == [5]


async def test_error_is_a_server_error() -> None:
    async with connected(R5, offered=OFFERED) as stage:
        pending = stage.start(stage.client.read_resource("file:///a"))
        await stage.refuse(-32602, "no such resource")
        with pytest.raises(RpcError, match="no such resource"):
            await pending


@pytest.mark.parametrize(("revision", "method"), [(R4, "ping"), (R5, "server/discover")])
async def test_keep_alive_uses_the_method_of_the_protocol_mode(revision: Revision, method: str) -> None:
    async with connected(revision) as stage:
        pending = stage.start(stage.client.ping())
        assert (await stage.reply())["method"] == method
        await pending


async def test_log_level_is_set_by_a_request_in_session_mode() -> None:
    async with connected(R4, offered=OFFERED) as stage:
        pending = stage.start(stage.client.set_level("debug"))
        request = await stage.reply()
        await pending
    assert (request["method"], request["params"]) == ("logging/setLevel", {"level": "debug"})


async def test_log_level_is_sent_with_each_call_in_stateless_mode() -> None:
    async with connected(R5, offered=OFFERED) as stage:
        await stage.client.set_level("debug")
        assert await stage.sends_nothing_more()
        call = stage.start(stage.client.call_tool(ToolCall("x")))
        request = await stage.reply(content=[])
        await call
    assert meta_of(request)["logLevel"] == "debug"


async def test_without_a_level_a_call_requests_no_log() -> None:
    async with connected(R5, offered=OFFERED) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("x")))
        assert "logLevel" not in meta_of(await stage.reply(content=[]))
        await call


async def test_roots_change_is_notified_where_declared() -> None:
    async with connected(R4, capabilities={"roots": {"listChanged": True}}) as stage:
        await stage.client.roots_changed()
        assert (await stage.next())["method"] == "notifications/roots/list_changed"
    async with connected(R4, capabilities={"roots": {}}) as stage:
        with pytest.raises(
            CapabilityMissing, match=r"MCP Lens did not declare the capability “roots\.listChanged”"
        ):
            await stage.client.roots_changed()
        assert await stage.sends_nothing_more()
    async with connected(R5, capabilities={"roots": {}}) as stage:
        await stage.client.roots_changed()  # the stateless era has no such notification
        assert await stage.sends_nothing_more()


def tool(name: str, **annotations: JSON) -> JSONObject:
    return {
        "name": name,
        "inputSchema": {
            "type": "object",
            "properties": {
                key: {"type": "string", "x-mcp-header": value} for key, value in annotations.items()
            },
        },
    }


async def test_tool_with_an_invalid_annotation_is_dropped_over_http_and_kept_with_the_reason() -> None:
    tools: JSON = [tool("good", region="Region"), tool("bad", region="not a token"), 5]
    async with connected(R5, offered=OFFERED, over_http=True) as stage:
        pending = stage.start(stage.client.list_tools())
        await stage.reply(tools=tools)
        listing = await pending
    assert [item.name for item in listing.items] == ["good"]
    not_an_object, bad = listing.malformed
    assert not_an_object.value == 5
    assert bad.value == tool("bad", region="not a token")
    assert bad.reason == (
        "bad: property “region”: x-mcp-header “not a token” contains characters that are not allowed in a "
        "header name"
    )


@pytest.mark.parametrize(("revision", "over_http"), [(R5, False), (R4, True)], ids=str)
async def test_annotations_are_ignored_on_other_transports_and_versions(
    revision: Revision, over_http: bool
) -> None:
    async with connected(revision, offered=OFFERED, over_http=over_http) as stage:
        pending = stage.start(stage.client.list_tools())
        await stage.reply(tools=[tool("bad", region="not a token"), tool("good", region="Region")])
        assert [item.name for item in (await pending).items] == ["bad", "good"]
        call = stage.start(stage.client.call_tool(ToolCall("good", {"region": "eu"})))
        await stage.reply(content=[])
        await call
        assert stage.wire.envelopes[-1].headers == ()


async def test_annotated_arguments_are_sent_as_headers() -> None:
    async with connected(R5, offered=OFFERED, over_http=True) as stage:
        pending = stage.start(stage.client.list_tools())
        await stage.reply(tools=[tool("x", region="Region", other="Other")])
        await pending
        call = stage.start(stage.client.call_tool(ToolCall("x", {"region": "grün"})))
        await stage.reply(content=[])
        await call
    assert stage.wire.envelopes[-1].headers == (("Mcp-Param-Region", "=?base64?Z3LDvG4=?="),)


async def test_header_mismatch_causes_one_list_refresh_and_one_retry() -> None:
    async with connected(R5, offered=OFFERED, over_http=True) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("x", {"region": "eu"})))
        await stage.refuse(-32020, "Mcp-Param-Region is missing")
        assert (await stage.reply(tools=[tool("x", region="Region")]))["method"] == "tools/list"
        request = await stage.refuse(-32020, "still wrong")
        sent = [envelope.headers for envelope in stage.wire.envelopes]
        assert sent[-3:] == [(), (), (("Mcp-Param-Region", "eu"),)]
        done = await call
        assert request["method"] == "tools/call"
        assert b"still wrong" in done.exchange.response.raw
        assert await stage.sends_nothing_more()


async def test_header_mismatch_over_stdio_is_a_plain_error() -> None:
    async with connected(R5, offered=OFFERED) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("x")))
        await stage.refuse(-32020, "odd")
        assert b"odd" in (await call).exchange.response.raw
        assert await stage.sends_nothing_more()


@pytest.mark.parametrize("revision", [R4, R5], ids=str)
async def test_progress_reaches_the_caller_and_extends_the_timeout(revision: Revision) -> None:
    async with connected(revision, offered=OFFERED) as stage:
        time = LoopTime()
        changes: list[ProgressReceived] = []
        call = stage.start(stage.client.call_tool(ToolCall("x"), on_progress=changes.append))
        request = await stage.next()
        token = meta_of(request)["progressToken"]
        for step in (1, 2):
            await time.advance(9)  # the limit is 10
            stage.wire.show_message(
                method="notifications/progress",
                params={"progressToken": token, "progress": step, "total": 4, "message": f"step {step}"},
            )
        await time.advance(9)  # beyond 25 in all
        with pytest.raises(RequestTimedOut):
            await call
    assert [(one.progress, one.total, one.message) for one in changes] == [(1, 4, "step 1"), (2, 4, "step 2")]


@pytest.mark.parametrize(
    ("revision", "over_http", "notices"),
    [
        (R4, False, True),
        (R4, True, True),
        (R5, False, True),
        (R5, True, False),  # closing the response is the cancellation
    ],
    ids=str,
)
async def test_cancelling_a_call_is_signaled_according_to_version_and_transport(
    revision: Revision, over_http: bool, notices: bool
) -> None:
    async with connected(revision, offered=OFFERED, over_http=over_http) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("x")))
        request = await stage.next()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await settle()
        time = LoopTime()
        if notices:  # the server may still cancel its own requests on the exchange
            assert stage.wire.forgotten == []
            await time.advance(2.1)
        assert [message.id for message in stage.wire.forgotten] == [request["id"]]
        if notices:
            notice = await stage.next()
            assert notice["method"] == "notifications/cancelled"
            assert params_of(notice)["requestId"] == request["id"]
        assert await stage.sends_nothing_more()
        (row,) = (row for row in stage.rows(RecordKind.REQUEST) if row.method == "tools/call")
        assert row.status is Status.CANCELLED


@pytest.mark.parametrize("id_member", [b"", b'"id":null,'])
async def test_error_without_an_id_belongs_to_the_request_of_its_http_exchange(
    id_member: bytes,
) -> None:
    async with connected(R5, offered=OFFERED, over_http=True) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("x")))
        other = stage.start(stage.client.call_tool(ToolCall("y")))
        request, second = await stage.next(), await stage.next()
        frame = b'{"jsonrpc":"2.0",%s"error":{"code":-32600,"message":"cannot read you"}}' % id_member
        stage.send_on_exchange(request, frame)
        response = (await call).exchange.response
        assert response.raw == frame
        assert not other.done()
        stage.wire.show_message(id=second["id"], result={})
        await other
    requested, responded = stage.rows(RecordKind.REQUEST)[1], stage.rows(RecordKind.ERROR)[0]
    assert (requested.status, requested.partner) == (Status.ERROR, responded.number)
    assert (responded.method, responded.raw) == ("tools/call", frame)
    assert responded.problem == '"id" must be a string or an integer'


async def test_error_without_an_id_over_stdio_belongs_to_no_request() -> None:
    async with connected(R4, offered=OFFERED) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("x")))
        request = await stage.next()
        stage.wire.show_message(id=None, error={"code": -32700, "message": "Parse error"})
        await settle()
        assert not call.done()
        stage.wire.show_message(id=request["id"], result={})
        await call


@pytest.mark.parametrize("revision", [R2, R5], ids=str)
async def test_batched_responses_reach_their_callers(revision: Revision) -> None:
    async with connected(revision, offered=OFFERED) as stage:
        one = stage.start(stage.client.call_tool(ToolCall("x")))
        two = stage.start(stage.client.call_tool(ToolCall("y")))
        ids = [(await stage.next())["id"], (await stage.next())["id"]]
        stage.wire.send_frames(
            b'[{"jsonrpc":"2.0","id":%s,"result":{"content":[]}},'
            b'{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"no"}}]'
            % (str(ids[0]).encode(), str(ids[1]).encode())
        )
        responses = [(await call).exchange.response for call in (one, two)]
    assert [response.kind.name for response in responses] == ["RESULT", "ERROR"]
    (batch,) = stage.rows(RecordKind.BATCH)
    calls = [row for row in stage.rows(RecordKind.REQUEST) if row.method == "tools/call"]
    assert [(row.status, row.partner) for row in calls] == [
        (Status.OK, batch.number),
        (Status.ERROR, batch.number),
    ]


async def test_server_request_in_stateless_mode_is_recorded_and_not_answered() -> None:
    async with connected(R5, offered=OFFERED) as stage:
        stage.wire.show_message(id="mine", method="roots/list")
        assert await stage.sends_nothing_more()
        assert stage.notes() == [
            "The server sent the request roots/list; this protocol version does not allow server requests."
        ]


async def test_unreadable_task_is_a_server_error() -> None:
    async with connected(R4, offered={"tasks": {}}) as stage:
        pending = stage.start(stage.client.tasks.get("t"))
        await stage.reply(taskId="t", status="dreaming")
        with pytest.raises(RemoteProtocolError, match=r"could not parse the task.*dreaming"):
            await pending


async def test_result_of_100_kilobytes_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []

    def parse_counted(text: str) -> JSON:
        if len(text) > 1_000:  # not the scalars of the envelope
            parsed.append(len(text))
        return parse(text)

    async with connected(R5, offered={"tools": {}}) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("x")))
        request = await stage.next()
        for module in (jsonrpc, result_rules):
            monkeypatch.setattr(module, "parse", parse_counted, raising=False)
        text = 'a "task" ' * 10_000  # a result that may be a task is looked at
        content: list[JSON] = [{"type": "text", "text": text}, {"task": 1}]
        stage.wire.show_message(id=request["id"], result={"content": content, "resultType": "complete"})
        done = await call
        assert done.exchange.response.result["content"] == content
    assert len(parsed) == 1
