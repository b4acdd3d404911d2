"""Typed calls: lists with all their pages; capabilities that the server did not declare."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from inspector.base.errors import CapabilityMissing, ConnectionLost, RemoteProtocolError, RpcError
from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.types import Listing, Malformed, Tool
from inspector.session.client import Client
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
    return {"result": {"tools": [{"name": name} for name in names], **more}}


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


async def test_repeated_cursor_ends_the_list_with_the_reason(connected: Stage) -> None:
    with pytest.raises(RemoteProtocolError, match="tools/list returned the cursor 'round' repeatedly"):
        await list_tools(connected, lambda request: page("a", nextCursor="round"))


async def test_non_string_cursor_ends_the_list_with_the_reason(connected: Stage) -> None:
    with pytest.raises(RemoteProtocolError, match="tools/list returned a cursor that is not a string: 5"):
        await list_tools(connected, lambda request: page("a", nextCursor=5))


async def test_list_with_too_many_pages_ends(connected: Stage) -> None:
    cursors = iter(range(1000))
    with pytest.raises(RemoteProtocolError, match="tools/list has more than 3 pages"):
        await list_tools(connected, lambda request: page("a", nextCursor=str(next(cursors))), max_pages=3)


async def test_error_in_the_middle_of_a_list_is_a_server_error(connected: Stage) -> None:
    error: JSONObject = {"error": {"code": -32602, "message": "bad cursor"}}
    with pytest.raises(RpcError, match="bad cursor") as caught:
        await list_tools(
            connected, lambda request: page("a", nextCursor="2") if "params" not in request else error
        )
    assert caught.value.code == -32602


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
        (lambda client: client.call_tool("x", {}), "tools"),
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
    call = connected.start(Client(connected.session, 10).call_tool("add", {"a": 1}))
    request = await connected.wire.next()
    assert request["params"] == {"name": "add", "arguments": {"a": 1}}
    connected.wire.send_frames(b'{ "id":2, "result":{"isError":true}, "jsonrpc":"2.0" }')
    exchange = (await call).exchange
    assert exchange.response.raw == b'{ "id":2, "result":{"isError":true}, "jsonrpc":"2.0" }'
