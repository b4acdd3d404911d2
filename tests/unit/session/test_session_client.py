"""Typed calls: lists with all their pages; capabilities that the server did not declare."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from inspector.base.errors import CapabilityMissing, ConnectionLost, RemoteProtocolError
from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.jsonrpc import RpcError
from inspector.protocol.types import Listing, Malformed, Tool
from inspector.session.client import Client, ToolCall
from inspector.traffic.records import RecordKind
from tests.helpers.stage import Stage


async def serve(stage: Stage, response: Callable[[JSONObject], JSONObject]) -> None:
    while True:
        request = await stage.wire.next()
        stage.wire.show_message(id=request["id"], **response(request))


async def list_tools(
    stage: Stage, response: Callable[[JSONObject], JSONObject], max_pages: int = 100
) -> Listing[Tool]:
    server = stage.start(serve(stage, response))
    try:
        return await Client(stage.session, max_pages).list_tools()
    finally:
        server.cancel()


def page(*names: str, **more: JSON) -> JSONObject:
    tools: list[JSON] = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
    return {"result": {"tools": tools, **more}}


def cursor_of(request: JSONObject) -> JSON:
    params = request.get("params")
    return params.get("cursor") if isinstance(params, dict) else None


async def test_every_page_is_fetched_in_order(connected: Stage) -> None:
    pages = {
        None: page("a", "b", nextCursor="2"),
        "2": page("c", nextCursor=""),
        "": page("d", nextCursor=None),
    }
    listing = await list_tools(connected, lambda request: pages[cursor_of(request)])  # type: ignore[index]
    assert [tool.name for tool in listing.items] == ["a", "b", "c", "d"]
    assert listing.pages == 3


async def test_first_page_is_requested_without_params(connected: Stage) -> None:
    pending = connected.start(Client(connected.session, 10).list_prompts())
    request = await connected.wire.next()
    assert request == {"jsonrpc": "2.0", "id": 2, "method": "prompts/list"}
    connected.wire.show_message(id=2, result={"prompts": [{"name": "p"}]})
    assert [prompt.name for prompt in (await pending).items] == ["p"]


async def test_malformed_items_are_kept_beside_the_others(connected: Stage) -> None:
    listing = await list_tools(connected, lambda request: {"result": {"tools": [{"name": "a"}, 7]}})
    assert [tool.name for tool in listing.items] == ["a"]
    assert listing.malformed == (Malformed(7, "not an object: 7"),)


async def test_a_page_without_its_list_is_one_malformed_item(connected: Stage) -> None:
    listing = await list_tools(connected, lambda request: {"result": {}})
    assert listing.items == ()
    assert listing.malformed == (Malformed(None, "the list is missing or is not an array"),)


def names(listing: Listing[Tool]) -> list[str]:
    return [tool.name for tool in listing.items]


def findings(stage: Stage) -> list[str]:
    rows = stage.log.find("srv", RecordKind.RESULT, RecordKind.ERROR)
    return [row.problem for row in rows if row.problem]


async def test_list_with_a_repeated_cursor_is_shown_as_far_as_it_arrived(connected: Stage) -> None:
    """T26: a list whose cursor repeats never ends."""
    cursors = {
        None: page("a", nextCursor="x"),
        "x": page("b", nextCursor="y"),
        "y": page("c", nextCursor="x"),
    }
    listing = await list_tools(connected, lambda request: cursors[cursor_of(request)])  # type: ignore[index]
    assert names(listing) == ["a", "b", "c"]
    finding = '"nextCursor" “x” was sent before: the list never ends'
    assert listing.incomplete == f"In the response to tools/list, {finding}."
    assert "bug in the server" in listing.next_step
    assert findings(connected)[-1:] == [finding]


async def test_page_that_is_sent_again_and_again_is_listed_once(connected: Stage) -> None:
    listing = await list_tools(connected, lambda request: page("a", "b", nextCursor="round"))
    assert names(listing) == ["a", "b"]
    assert listing.incomplete


async def test_list_with_a_cursor_that_is_no_string_is_shown_as_far_as_it_arrived(connected: Stage) -> None:
    listing = await list_tools(connected, lambda request: page("a", nextCursor=5))
    assert names(listing) == ["a"]
    assert listing.incomplete == 'In the response to tools/list, "nextCursor" must be a string, not 5.'
    assert findings(connected)[-1:] == ['"nextCursor" must be a string, not 5']


async def test_list_with_too_many_pages_is_shown_up_to_the_limit(connected: Stage) -> None:
    cursors = iter(range(1000))

    def response(request: JSONObject) -> JSONObject:
        number = next(cursors)
        return page(f"t{number}", nextCursor=str(number))

    listing = await list_tools(connected, response, max_pages=3)
    assert names(listing) == ["t0", "t1", "t2"]
    assert listing.incomplete == "tools/list has more than 3 pages."
    assert findings(connected) == ["the list goes on after 3 pages, the pagination limit"]
    assert "pagination limit" in listing.next_step


async def test_list_whose_cursor_is_refused_is_shown_as_far_as_it_arrived(connected: Stage) -> None:
    error: JSONObject = {"error": {"code": -32602, "message": "bad cursor"}}
    listing = await list_tools(
        connected, lambda request: page("a", nextCursor="2") if "params" not in request else error
    )
    assert names(listing) == ["a"]
    assert listing.incomplete == "Page 2 of tools/list failed: -32602 (invalid params): bad cursor."
    assert findings(connected) == ["the server rejects the cursor “2”, which it sent itself"]


async def test_error_on_the_first_page_is_a_server_error(connected: Stage) -> None:
    with pytest.raises(RpcError, match="no list") as caught:
        await list_tools(connected, lambda request: {"error": {"code": -32603, "message": "no list"}})
    assert caught.value.code == -32603


def deep_page(depth: int) -> bytes:
    schema = '{"properties":' * depth + "{}" + "}" * depth
    tools = f'{{"name":"a"}}, {{"name":"deep [1]","inputSchema":{schema}}} ,{{"name":"b\\\\"}}'
    return f'{{"jsonrpc":"2.0","id":2,"result":{{"tools":[{tools}],"nextCursor":"n"}}}}'.encode()


@pytest.mark.parametrize("depth", [2_000, 20_000])
async def test_tool_that_is_nested_too_deeply_does_not_hide_the_others(connected: Stage, depth: int) -> None:
    pending = connected.start(Client(connected.session, 10).list_tools())
    await connected.wire.next()
    connected.wire.send_frames(deep_page(depth))
    assert cursor_of(await connected.wire.next()) == "n"
    connected.wire.show_message(id=3, **page("c"))
    listing = await pending
    assert names(listing) == ["a", "b\\", "c"]
    (bad,) = listing.malformed
    assert bad.reason == "“deep [1]”: nested too deeply to parse"
    assert "nested too deeply" in findings(connected)[0]


async def test_broken_tool_does_not_hide_the_others(connected: Stage) -> None:
    pending = connected.start(Client(connected.session, 10).list_tools())
    await connected.wire.next()
    connected.wire.send_frames(b'{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a"},{"name": oops}]}}')
    listing = await pending
    assert names(listing) == ["a"]
    assert len(listing.malformed) == 1


async def test_unreadable_response_says_so(connected: Stage) -> None:
    pending = connected.start(Client(connected.session, 10).list_tools())
    await connected.wire.next()
    connected.wire.send_frames(b'{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name": oops}]}}')
    with pytest.raises(RemoteProtocolError, match="could not parse the response: Expecting value"):
        await pending


@pytest.mark.parametrize(
    ("ask", "capability"),
    [
        (lambda client: client.list_tools(), "tools"),
        (lambda client: client.list_resources(), "resources"),
        (lambda client: client.list_prompts(), "prompts"),
        (lambda client: client.call_tool(ToolCall("x")), "tools"),
    ],
)
async def test_unsupported_list_is_not_requested(
    stage: Stage, ask: Callable[[Client], object], capability: str
) -> None:
    await stage.connect(capabilities={})
    with pytest.raises(
        CapabilityMissing, match=f"did not declare the capability “{capability}”. Nothing was sent."
    ):
        await ask(Client(stage.session, 10))  # type: ignore[misc]
    await asyncio.sleep(0)
    assert stage.wire.sends_nothing()


async def test_disconnected_server_is_not_sent_anything(stage: Stage) -> None:
    with pytest.raises(ConnectionLost, match="The server is not connected"):
        await Client(stage.session, 10).list_tools()


async def test_tool_is_called_with_its_arguments_and_returns_the_raw_response(connected: Stage) -> None:
    call = connected.start(Client(connected.session, 10).call_tool(ToolCall("add", {"a": 1})))
    request = await connected.wire.next()
    assert request["params"] == {"name": "add", "arguments": {"a": 1}}
    connected.wire.send_frames(b'{ "id":2, "result":{"isError":true}, "jsonrpc":"2.0" }')
    exchange = (await call).exchange
    assert exchange.response.raw == b'{ "id":2, "result":{"isError":true}, "jsonrpc":"2.0" }'


@pytest.mark.parametrize(
    ("value", "found"),
    [(b"NaN", ["it contains NaN, which is not JSON"]), (b'"a, NaN, b"', [])],
)
async def test_number_that_is_not_json_is_reported_in_a_large_result(
    connected: Stage, value: bytes, found: list[str]
) -> None:
    call = connected.start(Client(connected.session, 10).call_tool(ToolCall("add")))
    await connected.wire.next()
    padding = b"x" * 300_000
    connected.wire.send_frames(
        b'{"jsonrpc":"2.0","id":2,"result":{"content":[],"a":"%s","n":[1, %s, 2]}}' % (padding, value)
    )
    await call
    checks = [task for task in asyncio.all_tasks() if task.get_name() == "check numbers"]
    assert len(checks) == 1
    await asyncio.wait(checks)
    assert findings(connected) == found


async def test_tool_that_is_listed_on_two_pages_is_reported(connected: Stage) -> None:
    pages = {None: page("a", "b", nextCursor="2"), "2": page("c", "a")}
    listing = await list_tools(connected, lambda request: pages[cursor_of(request)])  # type: ignore[index]
    assert names(listing) == ["a", "b", "c", "a"]
    assert findings(connected) == ["the tool “a” is listed more than once"]


async def test_large_page_is_checked_when_it_is_parsed(connected: Stage) -> None:
    tools: list[JSON] = [{"name": "a", "description": "x" * 100_000, "inputSchema": "none"}]
    await list_tools(connected, lambda request: {"result": {"tools": tools}})
    assert findings(connected) == ['tool “a”: "inputSchema" must be an object, not “none”']


async def test_valid_lists_have_no_finding(connected: Stage) -> None:
    await list_tools(connected, lambda request: page("a", "b"))
    assert findings(connected) == []
