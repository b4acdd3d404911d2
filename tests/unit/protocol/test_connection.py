"""The client side of a connection, as playbooks of messages and events."""

from __future__ import annotations

import pytest

from inspector.base.errors import LocalProtocolError
from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.connection import (
    Connection,
    NotificationReceived,
    ProgressReceived,
    RequestReceived,
    RequestWithdrawn,
    ResponseReceived,
    UnexpectedResponse,
    UnusableReceived,
)
from inspector.protocol.jsonrpc import METHOD_NOT_FOUND, Kind, Match, read, read_overlong
from inspector.protocol.unusable import explain_line
from tests.helpers.playbook import Playbook, Received, frame, message


def str_head(value: object) -> str:
    return str(value)[:12]


@pytest.fixture
def connection() -> Connection:
    return Connection()


def progress(token: JSON, value: JSON = 1, **more: JSON) -> bytes:
    return frame(method="notifications/progress", params={"progressToken": token, "progress": value, **more})


def cancelled(id: JSON, **more: JSON) -> bytes:
    return frame(method="notifications/cancelled", params={"requestId": id, **more})


def test_response_belongs_to_its_request(connection: Connection) -> None:
    first, second = connection.request("tools/list"), connection.request("ping")
    with Playbook(connection.receive) as play:
        play >> Received(frame(id=2, result={}))
        play << ResponseReceived(second, message(id=2, result={}))
        play >> Received(frame(id=1, error={"code": 1, "message": "no"}))
        play << ResponseReceived(first, message(id=1, error={"code": 1, "message": "no"}))


def test_our_ids_increase_and_are_never_reused(connection: Connection) -> None:
    ids = []
    for _ in range(3):
        request = connection.request("ping")
        connection.receive(message(id=request.id, result={}))
        ids.append(request.id)
    assert ids == [1, 2, 3]


def test_duplicate_response_is_unexpected_and_marked_as_repeated(connection: Connection) -> None:
    request = connection.request("ping")
    with Playbook(connection.receive) as play:
        play >> Received(frame(id=1, result={}))
        play << ResponseReceived(request, message(id=1, result={}))
        play >> Received(frame(id=1, result={"again": True}))
        play << UnexpectedResponse(message(id=1, result={"again": True}), Match.REPEATED)


@pytest.mark.parametrize("id", [9, "1", ""])
def test_response_with_an_unused_id_is_unexpected(connection: Connection, id: int | str) -> None:
    with Playbook(connection.receive) as play:
        play >> Received(frame(id=id, result={}))
        play << UnexpectedResponse(message(id=id, result={}), Match.UNKNOWN)


@pytest.mark.parametrize(
    "members",
    [{"result": {}}, {"id": None, "error": {"code": -32700, "message": "?"}}, {"id": True, "result": {}}],
)
def test_response_without_an_id_completes_nothing(connection: Connection, members: JSONObject) -> None:
    with Playbook(connection.receive) as play:
        play >> Received(frame(**members))
        play << UnexpectedResponse(message(**members), Match.UNKNOWN)


def test_response_after_a_cancel_is_late(connection: Connection) -> None:
    connection.request("tools/call")
    notice = connection.cancel(1, "enough")
    assert notice is not None
    assert notice.body() == {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": 1, "reason": "enough"},
    }
    with Playbook(connection.receive) as play:
        play >> Received(frame(id=1, result={}))
        play << UnexpectedResponse(message(id=1, result={}), Match.LATE)


def test_answered_request_cannot_be_cancelled(connection: Connection) -> None:
    connection.request("ping")
    connection.receive(message(id=1, result={}))
    assert connection.cancel(1, "too late") is None


def test_initialize_is_cancelled_without_a_notification(connection: Connection) -> None:
    connection.request("initialize")
    assert connection.cancel(1, "timed out") is None
    with Playbook(connection.receive) as play:
        play >> Received(frame(id=1, result={}))
        play << UnexpectedResponse(message(id=1, result={}), Match.LATE)


def test_drain_returns_the_unanswered_requests(connection: Connection) -> None:
    connection.request("ping")
    lost = connection.request("tools/list")
    connection.receive(message(id=1, result={}))
    assert connection.drain() == [lost]
    assert connection.drain() == []


def test_too_long_response_still_completes_its_request(connection: Connection) -> None:
    request = connection.request("tools/call")
    response = read_overlong(b'{"jsonrpc":"2.0","id":1,"result":{"content":[', 10**9)
    assert connection.receive(response) == [ResponseReceived(request, response)]


def test_progress_is_reported_by_the_id_of_its_request(connection: Connection) -> None:
    request = connection.request("tools/call", {"name": "x", "_meta": {"mine": 1}}, progress=True)
    assert request.params == {"name": "x", "_meta": {"mine": 1, "progressToken": 1}}
    with Playbook(connection.receive) as play:
        play >> Received(progress(1, 0.5, total=2, message="half"))
        play << ProgressReceived(1, 0.5, 2.0, "half")
        play >> Received(progress(1, 1, total="two", message=7))
        play << ProgressReceived(1, 1.0, None, "")


@pytest.mark.parametrize("token", [2, "1", None, True, 1.0, [1]])
def test_progress_without_a_pending_request_is_a_plain_notification(
    connection: Connection, token: JSON
) -> None:
    connection.request("tools/call", progress=True)
    with Playbook(connection.receive) as play:
        play >> Received(progress(token))
        play << NotificationReceived(read(progress(token)))


@pytest.mark.parametrize("value", ["half", None, True, {}, float("nan"), float("inf"), 10**400], ids=str_head)
def test_progress_with_an_unusable_number_is_a_plain_notification(
    connection: Connection, value: JSON
) -> None:
    connection.request("tools/call", progress=True)
    notification = message(method="notifications/progress", params={"progressToken": 1, "progress": value})
    (event,) = connection.receive(notification)
    assert event == NotificationReceived(notification)


def test_progress_after_the_response_is_a_plain_notification(connection: Connection) -> None:
    connection.request("tools/call", progress=True)
    connection.receive(message(id=1, result={}))
    with Playbook(connection.receive) as play:
        play >> Received(progress(1))
        play << NotificationReceived(read(progress(1)))


def test_notification_is_forwarded(connection: Connection) -> None:
    with Playbook(connection.receive) as play:
        play >> Received(frame(method="notifications/tools/list_changed"))
        play << NotificationReceived(message(method="notifications/tools/list_changed"))


def test_server_request_is_answered_in_its_own_id_space(connection: Connection) -> None:
    ours = connection.request("ping")
    with Playbook(connection.receive) as play:
        play >> Received(frame(id=1, method="roots/list"))
        play << RequestReceived(message(id=1, method="roots/list"))
        assert connection.response(1, {"roots": []}).body() == {
            "jsonrpc": "2.0",
            "id": 1,
            "result": {"roots": []},
        }
        play >> Received(frame(id=1, result={}))
        play << ResponseReceived(ours, message(id=1, result={}))


def test_a_request_is_refused_with_its_id_and_a_code(connection: Connection) -> None:
    connection.receive(message(id="a", method="sampling/createMessage"))
    refusal = connection.refuse("a", METHOD_NOT_FOUND, "not here", {"why": 1})
    assert refusal.kind is Kind.ERROR
    error: JSON = {"code": -32601, "message": "not here", "data": {"why": 1}}
    assert refusal.body() == {"jsonrpc": "2.0", "id": "a", "error": error}


@pytest.mark.parametrize("id", ["a", 1])
def test_answering_an_unknown_request_is_an_internal_error(connection: Connection, id: int | str) -> None:
    with pytest.raises(LocalProtocolError, match="no pending server request"):
        connection.response(id, {})


def test_answering_twice_is_an_internal_error(connection: Connection) -> None:
    connection.receive(message(id=1, method="ping"))
    connection.response(1, {})
    with pytest.raises(LocalProtocolError):
        connection.refuse(1, METHOD_NOT_FOUND, "")


def test_request_cancelled_by_the_server_is_withdrawn(connection: Connection) -> None:
    with Playbook(connection.receive) as play:
        play >> Received(frame(id=5, method="roots/list"))
        play << RequestReceived(message(id=5, method="roots/list"))
        play >> Received(cancelled(5, reason="never mind"))
        play << RequestWithdrawn(5, "never mind")
        play >> Received(cancelled(5))  # the second time there is nothing to cancel
        play << NotificationReceived(read(cancelled(5)))


@pytest.mark.parametrize("id", [6, None, "5", True])
def test_cancelling_an_unknown_request_is_a_plain_notification(connection: Connection, id: JSON) -> None:
    connection.receive(message(id=5, method="roots/list"))
    with Playbook(connection.receive) as play:
        play >> Received(cancelled(id))
        play << NotificationReceived(read(cancelled(id)))


def test_request_with_an_unusable_id_is_not_delivered(connection: Connection) -> None:
    with Playbook(connection.receive) as play:
        play >> Received(frame(id=None, method="ping"))
        play >> Received(frame(id=1.5, method="ping"))


def test_batch_is_processed_as_its_messages_in_order(connection: Connection) -> None:
    request = connection.request("ping")
    batch = b"[%s,%s,7,%s]" % (frame(method="n"), frame(id=1, result={}), frame(id=2, method="ping"))
    with Playbook(connection.receive) as play:
        play >> Received(batch)
        play << NotificationReceived(message(method="n"))
        play << ResponseReceived(request, message(id=1, result={}))
        play << UnusableReceived(explain_line(read(b"7")))
        play << RequestReceived(message(id=2, method="ping"))


def test_batch_with_stray_responses_completes_the_request_that_is_in_it(connection: Connection) -> None:
    request = connection.request("ping")
    stray, null = frame(id=9, result={}), frame(id=None, error={"code": 1, "message": "no"})
    with Playbook(connection.receive) as play:
        play >> Received(b"[%s,%s,%s]" % (stray, null, frame(id=1, result={})))
        play << ResponseReceived(request, message(id=1, result={}))
        play << UnexpectedResponse(read(stray), Match.UNKNOWN)
        play << UnexpectedResponse(read(null), Match.UNKNOWN)


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b"Listening", b"{}", b"[[]]", b'{"jsonrpc":"2.0","id":7}', b"[" * 100_000),
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"x":'
        + b"[" * 9000
        + b"]" * 9000
        + b"}}",
        frame(method="notifications/cancelled", params=5, id={}),
    ],
)
def test_non_message_completes_nothing(connection: Connection, raw: bytes) -> None:
    request = connection.request("ping")
    events = connection.receive(read(raw))
    assert all(isinstance(event, UnusableReceived) and event.request is None for event in events)
    assert connection.drain() == [request]
