"""Handwritten messages on a connection: ids, tokens and responses."""

from __future__ import annotations

from inspector.protocol.connection import (
    Connection,
    NotificationReceived,
    ProgressReceived,
    ResponseReceived,
    UnexpectedResponse,
)
from inspector.protocol.jsonrpc import Match, Message, read
from tests.helpers.playbook import Playbook, Received, frame, message


def adopted(connection: Connection, raw: bytes) -> list[Message]:
    return connection.adopt(read(raw))


def test_response_to_an_adopted_request_is_expected() -> None:
    connection = Connection()
    (request,) = adopted(connection, frame(id="mine", method="x"))
    with Playbook(connection.receive) as play:
        play >> Received(frame(id="mine", result={}))
        play << ResponseReceived(request, message(id="mine", result={}))


def test_newer_of_two_requests_with_one_id_gets_the_response() -> None:
    connection = Connection()
    connection.request("older")
    (newer,) = adopted(connection, frame(id=1, method="newer"))
    with Playbook(connection.receive) as play:
        play >> Received(frame(id=1, result={}))
        play << ResponseReceived(newer, message(id=1, result={}))
        play >> Received(frame(id=1, result={}))
        play << UnexpectedResponse(message(id=1, result={}), Match.REPEATED)


def test_batch_requests_are_all_pending_and_the_last_one_per_id_wins() -> None:
    connection = Connection()
    raw = b"[%s,%s,%s]" % (frame(id=5, method="a"), frame(method="b"), frame(id=5, method="c"))
    assert [request.method for request in adopted(connection, raw)] == ["c"]


def test_non_request_is_not_adopted() -> None:
    connection = Connection()
    for raw in (b"{", b"hello", b"[", frame(method="n"), frame(id=None, method="x"), frame(id=1, result={})):
        assert adopted(connection, raw) == []


def test_progress_token_belongs_to_the_request_that_contains_it() -> None:
    connection = Connection()
    adopted(connection, frame(id=70, method="x", params={"_meta": {"progressToken": "p"}}))
    reported = frame(method="notifications/progress", params={"progressToken": "p", "progress": 2})
    with Playbook(connection.receive) as play:
        play >> Received(reported)
        play << ProgressReceived(70, 2, None, "")
        play >> Received(frame(id=70, result={}))
        play.next()
        play >> Received(reported)
        play << NotificationReceived(read(reported))


def test_used_ids_and_tokens_are_skipped() -> None:
    connection = Connection()
    adopted(connection, frame(id=1, method="x", params={"_meta": {"progressToken": 2}}))
    adopted(connection, b'{"jsonrpc":"2.0","id":4.0,"method":"x"}')
    adopted(connection, b'{"jsonrpc":"2.0","id":{"a":5},"method":"x","params":{"_meta":[]}}')
    assert [connection.next_id(), connection.request("x").id, connection.next_id()] == [3, 5, 6]
