"""Change notifications: unrequested in the handshake era, on requested streams in the stateless era."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from inspector.base.errors import ConnectionLost
from inspector.base.json.values import JSONObject
from inspector.protocol.jsonrpc import RpcError, read
from inspector.protocol.revisions import R4
from inspector.protocol.subscriptions import Filter
from inspector.traffic.records import RecordKind, Status
from inspector.transport.base import RequestFailed
from tests.helpers.fakes import LoopTime
from tests.unit.session.session_stage import META, EraStage, connected, params_of, settle

OFFERED: JSONObject = {"tools": {"listChanged": True}, "resources": {"subscribe": True}}


@asynccontextmanager
async def listening(*, over_http: bool = False) -> AsyncIterator[tuple[EraStage, JSONObject]]:
    """Yield a connected stage with an acknowledged stream for changes of the tools."""
    async with connected(offered=OFFERED, over_http=over_http) as stage:
        stage.client.resume()
        stream = await stage.next()
        stage.acknowledge(stream)
        yield stage, stream


async def break_off(stage: EraStage) -> None:
    """End the HTTP response that carries the stream, without a result."""
    request = read(stage.rows(RecordKind.REQUEST)[-1].raw)
    assert request.method == "subscriptions/listen"
    stage.wire.happen(RequestFailed(request, ConnectionLost("The event stream ended.", "Call again."), 0))
    await settle()


async def test_stream_is_opened_only_for_what_the_server_can_notify() -> None:
    offered: JSONObject = {"tools": {"listChanged": True}, "prompts": {}, "resources": {"listChanged": True}}
    async with connected(offered=offered) as stage:
        stage.client.resume()
        request = await stage.next()
    assert request["method"] == "subscriptions/listen"
    assert params_of(request) == {"notifications": {"toolsListChanged": True, "resourcesListChanged": True}}


@pytest.mark.parametrize("offered", [{}, {"tools": {}}, {"tools": {"listChanged": False}}, {"tools": 5}])
async def test_no_stream_is_opened_when_the_server_notifies_nothing(offered: JSONObject) -> None:
    async with connected(offered=offered) as stage:
        stage.client.resume()
        assert await stage.sends_nothing_more()


async def test_session_mode_opens_no_stream() -> None:
    async with connected(R4, offered=OFFERED) as stage:
        stage.client.resume()
        assert await stage.sends_nothing_more()


async def test_a_stream_may_be_quiet_for_hours() -> None:
    async with listening() as (stage, _):
        time = LoopTime()
        await time.advance(24 * 3600)
        assert await stage.sends_nothing_more()


async def test_notifications_on_a_stream_are_delivered() -> None:
    async with listening() as (stage, stream):
        received: list[str] = []
        stage.session.notified.connect(lambda message: received.append(message.method))
        stage.notify("tools/list_changed", stream)
        assert received == ["notifications/tools/list_changed"]
        assert stage.notes() == []


@pytest.mark.parametrize(
    ("meta", "problem"),
    [
        ({}, "it does not name its subscription."),
        ({f"{META}subscriptionId": "other"}, "the subscription 'other' is not open."),
    ],
)
async def test_invalid_notifications_are_delivered_and_reported(meta: JSONObject, problem: str) -> None:
    async with listening() as (stage, _):
        received: list[str] = []
        stage.session.notified.connect(lambda message: received.append(message.method))
        stage.wire.show_message(method="notifications/tools/list_changed", params={"_meta": meta})
        assert received == ["notifications/tools/list_changed"]
        assert stage.notes() == [f"notifications/tools/list_changed: {problem}"]


async def test_subscription_extends_the_filter_and_replaces_the_stream_once_acknowledged() -> None:
    async with listening() as (stage, old):
        await stage.client.subscribe("file:///a")
        new = await stage.next()
        assert params_of(new) == {
            "notifications": {"toolsListChanged": True, "resourceSubscriptions": ["file:///a"]}
        }
        assert await stage.sends_nothing_more()  # the old stream stays until the new one is acknowledged
        stage.acknowledge(new)
        notice = await stage.next()
        assert notice["method"] == "notifications/cancelled"
        assert params_of(notice)["requestId"] == old["id"]
        received: list[str] = []
        stage.session.notified.connect(lambda message: received.append(message.method))
        stage.notify("resources/updated", new, uri="file:///a")
        assert received == ["notifications/resources/updated"]
        assert stage.notes() == []


async def test_over_http_the_old_stream_is_closed_without_a_notification() -> None:
    async with listening(over_http=True) as (stage, old):
        await stage.client.subscribe("file:///a")
        stage.acknowledge(await stage.next())
        assert await stage.sends_nothing_more()
        assert [message.id for message in stage.wire.forgotten] == [old["id"]]


async def test_old_streams_are_closed_even_without_an_acknowledgement() -> None:
    async with listening() as (stage, old):
        time = LoopTime()
        await stage.client.subscribe("file:///a")
        await stage.next()
        await time.advance(5.1)
        assert params_of(await stage.next())["requestId"] == old["id"]


async def test_rapid_subscriptions_end_in_one_stream_for_all() -> None:
    async with listening() as (stage, _):
        for name in "abc":
            await stage.client.subscribe(f"file:///{name}")
        streams = [await stage.next() for _ in range(3)]
        stage.acknowledge(streams[-1])
        notices = [await stage.next() for _ in range(3)]
        assert [notice["method"] for notice in notices] == ["notifications/cancelled"] * 3
        assert params_of(streams[-1])["notifications"]["resourceSubscriptions"] == [
            "file:///a",
            "file:///b",
            "file:///c",
        ]
        stage.acknowledge(streams[0])  # too late: it was cancelled
        assert await stage.sends_nothing_more()


async def test_stream_is_closed_when_nothing_is_subscribed_any_more() -> None:
    async with connected(offered={"resources": {"subscribe": True}}) as stage:
        await stage.client.subscribe("file:///a")
        stream = await stage.next()
        stage.acknowledge(stream)
        await stage.client.unsubscribe("file:///a")
        assert params_of(await stage.next())["requestId"] == stream["id"]
        assert await stage.sends_nothing_more()


async def test_session_mode_subscribes_by_request() -> None:
    async with connected(R4, offered=OFFERED) as stage:
        pending = stage.start(stage.client.subscribe("file:///a"))
        request = await stage.reply()
        await pending
        assert (request["method"], request["params"]) == ("resources/subscribe", {"uri": "file:///a"})
        pending = stage.start(stage.client.unsubscribe("file:///a"))
        assert (await stage.reply())["method"] == "resources/unsubscribe"
        await pending


async def test_subscriptions_are_restored_on_a_new_connection() -> None:
    async with connected(R4, offered=OFFERED) as stage:
        for name in "ab":
            pending = stage.start(stage.client.subscribe(f"file:///{name}"))
            await stage.reply()
            await pending
        await stage.session.close()
        await stage.connect(**OFFERED)
        stage.client.resume()
        first = await stage.refuse(-32603, "not today")  # one that fails does not stop the others
        second = await stage.reply()
        assert [params_of(request)["uri"] for request in (first, second)] == ["file:///a", "file:///b"]


async def test_a_refused_subscription_is_not_stored() -> None:
    async with connected(R4, offered=OFFERED) as stage:
        pending = stage.start(stage.client.subscribe("file:///a"))
        await stage.refuse(-32602, "no such resource")
        with pytest.raises(RpcError):
            await pending
        stage.client.resume()
        assert await stage.sends_nothing_more()


async def test_streams_are_opened_again_on_a_new_connection() -> None:
    async with listening() as (stage, _):
        await stage.client.subscribe("file:///a")
        await stage.session.close()
        await stage.connect(**OFFERED)
        stage.client.resume()
        again = await stage.next()
        assert params_of(again)["notifications"]["resourceSubscriptions"] == ["file:///a"]


async def test_stream_ended_by_the_server_is_not_reopened() -> None:
    async with listening() as (stage, stream):
        time = LoopTime()
        stage.wire.show_message(id=stream["id"], result={"_meta": {f"{META}subscriptionId": stream["id"]}})
        await time.advance(60)
        assert await stage.sends_nothing_more()
        assert (
            stage.notes(RecordKind.STATE)[-1] == "Change stream closed: the server ended it with its result"
        )


async def test_stream_cancelled_by_the_server_is_not_reopened() -> None:
    async with listening() as (stage, stream):
        time = LoopTime()
        params: JSONObject = {"requestId": stream["id"], "reason": "tidying"}
        stage.wire.show_message(method="notifications/cancelled", params=params)
        await time.advance(60)
        assert await stage.sends_nothing_more()
        assert stage.notes(RecordKind.STATE)[-1] == "Change stream closed: the server cancelled it: tidying"
        row = next(row for row in stage.rows(RecordKind.REQUEST) if row.method == "subscriptions/listen")
        assert row.status is Status.CANCELLED


async def test_server_without_streams_is_not_asked_again() -> None:
    async with connected(offered=OFFERED) as stage:
        time = LoopTime()
        stage.client.resume()
        await stage.refuse(-32601, "Method not found")
        await time.advance(60)
        assert await stage.sends_nothing_more()
        assert stage.notes(RecordKind.STATE)[-1].startswith(
            "Change stream closed: the server rejected it: -32601 (method not found): Method not found"
        )


async def test_broken_stream_is_reopened_with_increasing_delays() -> None:
    async with listening(over_http=True) as (stage, stream):
        time = LoopTime()
        for pause in (1, 2, 4, 8, 16):
            await break_off(stage)
            await time.advance(pause - 0.1)
            assert await stage.sends_nothing_more()
            await time.advance(0.2)
            assert params_of(await stage.next()) == params_of(stream)
        await break_off(stage)
        await time.advance(600)
        assert await stage.sends_nothing_more()
        assert stage.notes()[-1] == "The notification stream failed repeatedly and stays closed."


async def test_reopened_stream_gets_all_its_attempts_back_and_missed_changes_are_reported() -> None:
    async with listening(over_http=True) as (stage, _):
        time = LoopTime()
        missed: list[Filter] = []
        stage.client.changes.missed.connect(missed.append)
        for number in range(1, 8):
            await break_off(stage)
            await time.advance(1.1)
            stage.acknowledge(await stage.next())
            assert missed == [Filter(tools=True)] * number


async def test_closing_ends_a_stream_that_waits_to_be_opened_again() -> None:
    async with listening(over_http=True) as (stage, _):
        await break_off(stage)
        await stage.session.close()
        assert await stage.sends_nothing_more()
