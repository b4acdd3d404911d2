"""Input rounds: the input requests of a result get replies, and the call is sent again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import pytest

from inspector.base.errors import RemoteProtocolError, RequestCancelled
from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.jsonrpc import EAGER_PARSE_LIMIT, Message, RpcError, read
from inspector.protocol.revisions import R4
from inspector.session.client import ToolCall
from inspector.session.input_rounds import may_need_input
from tests.helpers.fakes import LoopTime
from tests.unit.session.session_stage import (
    connected,
    meta_of,
    params_of,
    raising,
    replying_with,
    settle,
)

OFFERED: JSONObject = {"tools": {}, "prompts": {}, "resources": {}}
CAPABILITIES: JSONObject = {"elicitation": {"form": {}}, "roots": {}}
ACCEPT: JSONObject = {"action": "accept", "content": {"n": "Ann"}}
ROOTS: JSONObject = {"roots": []}
FORM: JSONObject = {"type": "object", "properties": {"n": {"type": "string"}}}
ASK: JSONObject = {
    "method": "elicitation/create",
    "params": {"message": "Name?", "requestedSchema": FORM},
}
DONE: JSONObject = {"content": [{"type": "text", "text": "done"}]}


def needs_input(state: JSON = None, **requests: JSON) -> JSONObject:
    result: JSONObject = {"resultType": "input_required"}
    if requests:
        result["inputRequests"] = requests
    if state is not None:
        result["requestState"] = state
    return result


async def test_request_is_answered_and_the_call_repeated_with_the_exact_state() -> None:
    state = 'öpaque "\\u0041" \u2028 '
    async with connected(
        offered=OFFERED,
        capabilities=CAPABILITIES,
        handlers={"elicitation/create": replying_with(ACCEPT)},
    ) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("greet", {"a": 1})))
        first = await stage.reply(**needs_input(state, who=ASK))
        second = await stage.reply(**DONE)
        done = await call
    assert params_of(first) == {"name": "greet", "arguments": {"a": 1}}
    assert params_of(second) == {
        "name": "greet",
        "arguments": {"a": 1},
        "requestState": state,
        "inputResponses": {"who": ACCEPT},
    }
    assert second["id"] != first["id"]
    assert done.rounds == 2
    assert done.exchange.response.result == DONE


async def test_several_requests_are_asked_at_once_and_answered_together() -> None:
    requested: list[JSONObject] = []
    both = asyncio.Barrier(2)

    async def response(params: JSONObject) -> JSONObject:
        requested.append(params)
        await both.wait()  # neither replies before both were asked
        return {"roots": []} if not params else ACCEPT

    handlers = {"elicitation/create": response, "roots/list": response}
    async with connected(offered=OFFERED, capabilities=CAPABILITIES, handlers=handlers) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("greet")))
        await stage.reply(**needs_input(who=ASK, dirs={"method": "roots/list"}))
        second = await stage.reply(**DONE)
        await call
    assert params_of(second)["inputResponses"] == {"who": ACCEPT, "dirs": ROOTS}
    assert "requestState" not in params_of(second)  # there was none
    assert len(requested) == 2


async def test_each_round_sends_only_its_own_replies_and_state() -> None:
    responses = [{"action": "accept", "content": {"n": n}} for n in (1, 2)]
    async with connected(
        offered=OFFERED,
        capabilities=CAPABILITIES,
        handlers={"elicitation/create": replying_with(*responses)},  # type: ignore[arg-type]
    ) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("greet")))
        await stage.reply(**needs_input("one", a=ASK))
        second = await stage.reply(**needs_input(b=ASK))
        third = await stage.reply(**DONE)
        assert (await call).rounds == 3
    assert params_of(second)["inputResponses"] == {"a": responses[0]}
    assert params_of(second)["requestState"] == "one"
    assert params_of(third)["inputResponses"] == {"b": responses[1]}
    assert "requestState" not in params_of(third)


@pytest.mark.parametrize("state", ["", "again"])
async def test_state_without_requests_is_retried_after_a_delay(state: str) -> None:
    async with connected(offered=OFFERED) as stage:
        time = LoopTime()
        call = stage.start(stage.client.call_tool(ToolCall("greet")))
        await stage.reply(**needs_input(state))
        assert await stage.sends_nothing_more()
        await time.advance(0.1)
        second = await stage.reply(**DONE)
        assert params_of(second) == {"name": "greet", "arguments": {}, "requestState": state}
        await call


@pytest.mark.parametrize(
    ("ask", "member", "items"),
    [
        (lambda client: client.read_resource("file:///a"), "contents", [{"uri": "file:///a", "text": "t"}]),
        (lambda client: client.get_prompt("p", {"x": "1"}), "messages", [{"role": "user", "content": {}}]),
    ],
)
async def test_prompts_and_resources_may_take_rounds_too(
    ask: Callable[[object], object], member: str, items: JSON
) -> None:
    async with connected(
        offered=OFFERED,
        capabilities=CAPABILITIES,
        handlers={"elicitation/create": replying_with(ACCEPT)},
    ) as stage:
        pending = stage.start(ask(stage.client))
        first = await stage.reply(**needs_input("s", who=ASK))
        second = await stage.reply(**{member: items})
        assert len((await pending).items) == 1
    assert params_of(second) == params_of(first) | {"requestState": "s", "inputResponses": {"who": ACCEPT}}


async def test_declined_request_is_a_normal_reply() -> None:
    decline: JSONObject = {"action": "decline"}
    async with connected(
        offered=OFFERED,
        capabilities=CAPABILITIES,
        handlers={"elicitation/create": replying_with(decline)},
    ) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("greet")))
        await stage.reply(**needs_input(who=ASK))
        assert params_of(await stage.reply(**DONE))["inputResponses"] == {"who": decline}
        await call


async def test_rejection_ends_the_call_without_another_round_and_closes_other_requests() -> None:
    was_closed = asyncio.Event()

    async def never(params: JSONObject) -> JSONObject:
        try:
            return await asyncio.Future()
        finally:
            was_closed.set()

    handlers = {"elicitation/create": never, "roots/list": raising(RpcError(-1, "I will not say"))}
    async with connected(offered=OFFERED, capabilities=CAPABILITIES, handlers=handlers) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("greet")))
        await stage.reply(**needs_input(who=ASK, dirs={"method": "roots/list"}))
        with pytest.raises(RequestCancelled) as caught:
            await call
        assert await stage.sends_nothing_more()
    assert str(caught.value) == (
        "The server requested roots/list, which was rejected: I will not say. The call was not continued."
    )
    assert was_closed.is_set()


async def test_internal_error_while_replying_reaches_the_caller(caplog: pytest.LogCaptureFixture) -> None:
    handlers = {"roots/list": raising(ZeroDivisionError("oops"))}
    async with connected(offered=OFFERED, capabilities=CAPABILITIES, handlers=handlers) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("greet")))
        with caplog.at_level(logging.CRITICAL):
            await stage.reply(**needs_input(dirs={"method": "roots/list"}))
            with pytest.raises(RequestCancelled, match="MCP Lens could not reply: ZeroDivisionError"):
                await call
        assert await stage.sends_nothing_more()


async def test_cancelling_a_call_closes_its_pending_request() -> None:
    is_open, was_closed = asyncio.Event(), asyncio.Event()

    async def never(params: JSONObject) -> JSONObject:
        is_open.set()
        try:
            return await asyncio.Future()
        finally:
            was_closed.set()

    async with connected(
        offered=OFFERED, capabilities=CAPABILITIES, handlers={"elicitation/create": never}
    ) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("greet")))
        await stage.reply(**needs_input(who=ASK))
        await is_open.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert was_closed.is_set()
        assert await stage.sends_nothing_more()  # its request was answered: there is nothing to cancel


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (needs_input(a={"method": "sampling/createMessage", "params": {}}), "did not declare sampling"),
        (
            needs_input(a={"method": "elicitation/create", "params": {"mode": "url"}}),
            "did not declare elicitation.",
        ),
        (needs_input(a={"method": "tools/list"}), "“tools/list”, which is not allowed inside a result"),
        (needs_input(), "neither inputRequests nor requestState"),
        (needs_input(5), "its requestState is not a string"),
        ({"resultType": "magic"}, "its resultType “magic” is not allowed for this request"),
        ({"resultType": "task", "taskId": "t", "status": "working"}, "did not declare the tasks extension"),
        ({"resultType": "input_required", "inputRequests": [1]}, '"inputRequests" must be an object'),
    ],
)
async def test_invalid_result_is_neither_used_nor_answered(result: JSONObject, reason: str) -> None:
    async with connected(
        offered=OFFERED,
        capabilities=CAPABILITIES,
        handlers={"elicitation/create": replying_with(ACCEPT)},
    ) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("greet")))
        await stage.reply(**result)
        with pytest.raises(RemoteProtocolError) as caught:
            await call
        assert reason in str(caught.value)
        assert await stage.sends_nothing_more()


async def test_server_that_asks_endlessly_is_stopped_after_ten_rounds() -> None:
    async with connected(
        offered=OFFERED,
        capabilities=CAPABILITIES,
        handlers={"elicitation/create": replying_with(ACCEPT)},
    ) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("greet")))
        for _ in range(11):
            await stage.reply(**needs_input("s", who=ASK))
        with pytest.raises(
            RemoteProtocolError, match="the server requested input more than 10 times in a row"
        ):
            await call
        assert await stage.sends_nothing_more()


async def test_calls_do_not_leak_into_each_other() -> None:
    responses: dict[str, asyncio.Future[JSONObject]] = {}

    async def response(params: JSONObject) -> JSONObject:
        future: asyncio.Future[JSONObject] = asyncio.get_running_loop().create_future()
        responses[str(params["message"])] = future
        return await future

    def ask(message: str) -> JSONObject:
        return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": FORM}}

    async with connected(
        offered=OFFERED, capabilities=CAPABILITIES, handlers={"elicitation/create": response}
    ) as stage:
        one = stage.start(stage.client.call_tool(ToolCall("one")))
        await stage.reply(**needs_input("state of one", k=ask("one")))
        two = stage.start(stage.client.call_tool(ToolCall("two")))
        await stage.reply(**needs_input("state of two", k=ask("two")))
        await settle()
        plain = stage.start(stage.client.call_tool(ToolCall("plain")))
        third = await stage.reply(**DONE)
        responses["two"].set_result({"action": "accept", "content": {"n": "two"}})
        of_two = await stage.reply(**DONE)
        responses["one"].set_result({"action": "cancel"})
        of_one = await stage.reply(**DONE)
        await asyncio.gather(one, two, plain)
    assert params_of(third) == {"name": "plain", "arguments": {}}
    assert params_of(of_two)["requestState"] == "state of two"
    assert params_of(of_two)["inputResponses"]["k"]["content"] == {"n": "two"}
    assert params_of(of_one)["requestState"] == "state of one"
    assert params_of(of_one)["inputResponses"] == {"k": {"action": "cancel"}}


async def test_error_in_a_later_round_is_the_result() -> None:
    async with connected(
        offered=OFFERED,
        capabilities=CAPABILITIES,
        handlers={"elicitation/create": replying_with(ACCEPT)},
    ) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("greet")))
        await stage.reply(**needs_input(who=ASK))
        await stage.refuse(-32603, "broke")
        done = await call
    assert done.rounds == 2
    assert b"broke" in done.exchange.response.raw


@pytest.mark.parametrize("kind", [None, "complete"])
async def test_missing_result_type_means_complete(kind: JSON) -> None:
    async with connected(offered=OFFERED) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("greet")))
        await stage.reply(**DONE, **({} if kind is None else {"resultType": kind}))
        assert (await call).rounds == 1


async def test_session_mode_treats_any_result_as_final() -> None:
    async with connected(R4, offered=OFFERED) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("greet")))
        await stage.reply(**needs_input("s", who=ASK))
        assert (await call).rounds == 1
        assert await stage.sends_nothing_more()


async def test_every_round_declares_client_info_and_capabilities() -> None:
    async with connected(
        offered=OFFERED,
        capabilities=CAPABILITIES,
        handlers={"elicitation/create": replying_with(ACCEPT)},
    ) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("greet")))
        rounds = [await stage.reply(**needs_input(who=ASK)), await stage.reply(**DONE)]
        await call
    for request in rounds:
        assert meta_of(request)["protocolVersion"] == "2026-07-28"
        assert meta_of(request)["clientInfo"]["name"] == "lens"
        assert meta_of(request)["clientCapabilities"] == CAPABILITIES


def big(result: bytes) -> Message:
    padding = b"x" * EAGER_PARSE_LIMIT
    return read(b'{"jsonrpc":"2.0","id":1,"result":{"text":"%s"%s}}' % (padding, result))


def test_megabytes_are_not_parsed_to_find_no_input_request() -> None:
    message = big(b',"resultType":"complete"')
    assert message.parsed is None
    assert not may_need_input(message)
    assert may_need_input(big(b',"resultType":"input_required"'))
    assert may_need_input(big(b',"resultType":"task"'))


async def test_big_result_is_returned_verbatim() -> None:
    async with connected(offered=OFFERED) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("greet")))
        request = await stage.next()
        more = b',"more":"%s"' % (b"x" * 256 * 1024)
        raw = big(more).raw.replace(b'"id":1,', b'"id":%s,' % str(request["id"]).encode())
        stage.wire.send_frames(raw)
        response = (await call).exchange.response
    assert response.raw == raw
    assert response.parsed is None


async def test_big_result_with_requests_is_answered_like_a_small_one() -> None:
    async with connected(offered=OFFERED) as stage:
        time = LoopTime()
        call = stage.start(stage.client.call_tool(ToolCall("greet")))
        state = "s" * EAGER_PARSE_LIMIT
        await stage.reply(**needs_input(state))
        await settle()
        await time.advance(0.1)
        second = await stage.reply(**DONE)
        await call
    assert params_of(second)["requestState"] == state
