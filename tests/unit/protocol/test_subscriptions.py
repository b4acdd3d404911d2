"""Subscription streams: filters, acknowledgement, assignment of notifications, and ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.jsonrpc import Message, RequestId, read
from inspector.protocol.subscriptions import (
    Acknowledged,
    Delivered,
    End,
    Ended,
    Filter,
    StrayNotification,
    SubscriptionStreams,
    listen_params,
    subscription_id,
)
from tests.helpers.playbook import message

KEY = "io.modelcontextprotocol/subscriptionId"
TOOLS = Filter(tools=True)
BOTH = Filter(tools=True, uris=("file:///a",))


def notification(method: str, id: JSON = None, **params: JSON) -> Message:
    meta: JSONObject = {} if id is None else {"_meta": {KEY: id}}
    return message(method=f"notifications/{method}", params=meta | params)


def ack(id: JSON, **filter: JSON) -> Message:
    return notification("subscriptions/acknowledged", id, notifications=filter)


def listening(
    id: RequestId = "listen-1", filter: Filter = TOOLS, *, acknowledged: bool = True
) -> SubscriptionStreams:
    streams = SubscriptionStreams()
    streams.open(id, filter)
    if acknowledged:
        streams.receive(ack(id, **filter.to_json()))
    return streams


def test_filter_is_sent_with_only_the_requested_members() -> None:
    assert listen_params(Filter()) == {"notifications": {}}
    assert listen_params(BOTH) == {
        "notifications": {"toolsListChanged": True, "resourceSubscriptions": ["file:///a"]}
    }
    everything = Filter(True, True, True, ("a", "b"), ("t-1",))
    assert everything.to_json() == {
        "toolsListChanged": True,
        "promptsListChanged": True,
        "resourcesListChanged": True,
        "resourceSubscriptions": ["a", "b"],
        "taskIds": ["t-1"],
    }


filters = st.builds(
    Filter,
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.tuples(st.text()),
    st.tuples(st.text()) | st.just(()),
)


@given(filters)
def test_filter_round_trips(filter: Filter) -> None:
    assert Filter.read(filter.to_json()) == filter


@pytest.mark.parametrize(
    "value", [None, [], "x", {"toolsListChanged": 1, "resourceSubscriptions": "a", "taskIds": [5]}]
)
def test_invalid_filter_reads_as_an_empty_one(value: JSON) -> None:
    assert not Filter.read(value)


@given(filters, filters)
def test_filter_difference_contains_nothing_of_the_second(one: Filter, other: Filter) -> None:
    assert not one.without(one)
    difference = one.without(other)
    assert difference.without(other) == difference
    assert not difference.without(one)


def test_an_acknowledgement_says_what_is_honored_and_what_is_not() -> None:
    streams = listening(filter=BOTH, acknowledged=False)
    event = streams.receive(ack("listen-1", toolsListChanged=True))
    assert event == Acknowledged("listen-1", TOOLS, Filter(uris=("file:///a",)))


def test_acknowledging_more_than_requested_is_a_violation() -> None:
    event = listening(acknowledged=False).receive(
        ack("listen-1", toolsListChanged=True, promptsListChanged=True)
    )
    assert isinstance(event, Acknowledged)
    assert event.problem == "was acknowledged with more than was requested"


def test_second_acknowledgement_is_a_violation() -> None:
    event = listening().receive(ack("listen-1", toolsListChanged=True))
    assert isinstance(event, Acknowledged)
    assert event.problem == "was acknowledged twice"


def test_a_change_is_delivered_on_its_stream() -> None:
    change = notification("tools/list_changed", "listen-1")
    assert listening().receive(change) == Delivered("listen-1", change)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/list_changed", {}),
        ("prompts/list_changed", {}),
        ("resources/list_changed", {}),
        ("resources/updated", {"uri": "a"}),
        ("resources/updated", {"uri": "a/part"}),
        ("tasks", {"taskId": "t-1"}),
    ],
)
def test_each_kind_is_delivered_when_requested_and_reported_when_not(method: str, params: JSONObject) -> None:
    change = notification(method, 1, **params)
    requested = Filter(True, True, True, ("a",), ("t-1",))
    assert listening(1, requested).receive(change) == Delivered(1, change)
    problem = f"notifications/{method} was not requested on this subscription"
    assert listening(1, Filter()).receive(change) == Delivered(1, change, problem)


@pytest.mark.parametrize("method", ["progress", "message", "x/unknown"])
def test_notification_that_does_not_belong_on_a_stream_is_reported(method: str) -> None:
    event = listening(1, BOTH).receive(notification(method, 1))
    assert isinstance(event, Delivered)
    assert "was not requested on this subscription" in event.problem


def test_change_before_the_acknowledgement_is_used_and_reported() -> None:
    change = notification("tools/list_changed", "listen-1")
    event = listening(acknowledged=False).receive(change)
    assert event == Delivered("listen-1", change, "it came before the acknowledgement")


def test_unacknowledged_change_is_used_and_reported() -> None:
    streams = listening(filter=BOTH, acknowledged=False)
    streams.receive(ack("listen-1"))
    event = streams.receive(notification("tools/list_changed", "listen-1"))
    assert isinstance(event, Delivered)
    assert event.problem == "notifications/tools/list_changed was requested, but not acknowledged"


def test_unrequested_task_is_reported() -> None:
    event = listening(1, Filter(tasks=("t-1",))).receive(notification("tasks", 1, taskId="t-2"))
    assert isinstance(event, Delivered)
    assert event.problem


def test_streams_are_distinguished_by_their_typed_ids() -> None:
    streams = SubscriptionStreams()
    for id in (1, "1", 2):
        streams.open(id, TOOLS)
    assert streams.receive(ack("1", toolsListChanged=True)) == Acknowledged("1", TOOLS, Filter())
    late = streams.receive(notification("tools/list_changed", 1))
    assert isinstance(late, Delivered)
    assert (late.id, late.problem) == (1, "it came before the acknowledgement")
    good = streams.receive(notification("tools/list_changed", "1"))
    assert isinstance(good, Delivered)
    assert (good.id, good.problem) == ("1", "")


@pytest.mark.parametrize("id", ["listen-2", 1, "1"])
def test_a_change_for_a_stream_that_is_not_open_is_stray(id: JSON) -> None:
    change = notification("tools/list_changed", id)
    assert listening().receive(change) == StrayNotification(change, f"the subscription {id!r} is not open")


def test_a_closed_stream_gets_nothing_more() -> None:
    streams = listening()
    assert streams.close("listen-1")
    assert not streams.close("listen-1")
    assert isinstance(streams.receive(notification("tools/list_changed", "listen-1")), StrayNotification)


@pytest.mark.parametrize("id", [True, 1.0, None, [], {}])
def test_a_subscription_id_is_a_string_or_an_integer(id: JSON) -> None:
    assert subscription_id({KEY: id}) is None
    assert subscription_id([]) is None


def test_http_response_identifies_the_stream() -> None:
    streams = SubscriptionStreams()
    streams.open(1, TOOLS)
    streams.open(2, TOOLS)
    event = streams.receive(notification("subscriptions/acknowledged", notifications={}), carrier=2)
    assert event == Acknowledged(2, Filter(), TOOLS, "it does not name its subscription")
    change = notification("tools/list_changed")
    assert streams.receive(change, carrier=2) == Delivered(2, change, "it does not name its subscription")


def test_on_a_shared_channel_the_only_matching_stream_is_used() -> None:
    streams = SubscriptionStreams()
    streams.open(1, Filter(prompts=True))
    streams.open(2, TOOLS)
    change = notification("tools/list_changed")
    assert streams.receive(change) == Delivered(2, change, "it does not name its subscription")
    streams.open(3, TOOLS)
    assert streams.receive(change) is None, "it could be either"


@pytest.mark.parametrize(
    "other",
    [
        notification("progress", progressToken=1, progress=1),
        notification("message", level="info", data="x"),
        notification("tools/list_changed"),
        notification("cancelled", requestId=7),
        notification("cancelled", requestId=True),
        read(b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"a" 1}}'),
    ],
)
def test_unrelated_messages_are_ignored(other: Message) -> None:
    assert listening(filter=Filter(prompts=True)).receive(other) is None


def test_a_result_is_a_graceful_end() -> None:
    response = message(id="listen-1", result={"resultType": "complete", "_meta": {KEY: "listen-1"}})
    streams = listening()
    assert streams.responded("listen-1", response) == Ended("listen-1", End.GRACEFUL)
    assert streams.responded("listen-1", response) is None
    assert streams.filters == {}


@pytest.mark.parametrize("meta", [{}, {KEY: "listen-2"}, None])
def test_result_that_does_not_name_its_stream_still_ends_it(meta: JSON) -> None:
    ended = listening().responded("listen-1", message(id="listen-1", result={"_meta": meta}))
    assert ended == Ended("listen-1", End.GRACEFUL, problem="its result does not name the subscription")


def test_unreadable_result_ends_the_stream() -> None:
    ended = listening(1).responded(1, read(b'{"jsonrpc":"2.0","id":1,"result":{"_meta" 1}}'))
    assert ended is not None
    assert ended.how is End.GRACEFUL
    assert ended.problem.startswith("its result cannot be read")


def test_error_is_a_rejection() -> None:
    response = message(id="listen-1", error={"code": -32601, "message": "Method not found"})
    assert listening().responded("listen-1", response) == Ended(
        "listen-1", End.REFUSED, "-32601 (method not found): Method not found"
    )


@pytest.mark.parametrize(("reason", "shown"), [("shutting down", "shutting down"), (None, ""), (5, "")])
def test_the_server_may_cancel_a_stream(reason: JSON, shown: str) -> None:
    streams = listening(1)
    event = streams.receive(notification("cancelled", requestId=1, reason=reason))
    assert event == Ended(1, End.CANCELLED, shown)
    assert isinstance(streams.receive(notification("tools/list_changed", 1)), StrayNotification)


def test_lost_stream_ends_once_and_the_filters_say_what_each_requested() -> None:
    streams = SubscriptionStreams()
    streams.open(1, TOOLS)
    streams.open("b", BOTH)
    assert streams.filters == {1: TOOLS, "b": BOTH}
    assert streams.lose(1, "reset") == Ended(1, End.LOST, "reset")
    assert streams.lose(1, "reset") is None
    assert streams.filters == {"b": BOTH}
