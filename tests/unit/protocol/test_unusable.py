"""Explanations of output that is no usable response."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.connection import Certainty, Connection, UnexpectedResponse, UnusableReceived
from inspector.protocol.jsonrpc import Kind, Message, RequestId, read
from inspector.protocol.unusable import LineJoiner, Unusable, explain_id, explain_unfinished, other_type
from tests.helpers.playbook import frame, message

RESULT: JSONObject = {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "a"}], "note": "{[,"}}
RESPONSE = json.dumps(RESULT).encode()
PRETTY = json.dumps(RESULT, indent=2).encode()


def explain(*lines: bytes) -> Unusable:
    """Return the explanation of the last line."""
    joiner = LineJoiner()
    found: Unusable | None = None
    for line in lines:
        parsed = read(line)
        assert parsed.kind in (Kind.INVALID, Kind.TEXT), parsed
        found = joiner.feed(parsed)
    assert found is not None
    return found


@pytest.mark.parametrize("member", ["result", "error"])
def test_large_response_with_a_wrong_id_is_not_parsed(member: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """T24: a response at the size limit takes several times its size to parse, and blocks all servers."""
    value: JSONObject = {"code": 1, "message": "m", "data": "x" * 2**20}
    response = read(json.dumps({"jsonrpc": "2.0", "id": 9, member: value}).encode())
    monkeypatch.setattr(Message, "body", lambda _: pytest.fail("parsed"))
    found = explain_id(response, 1)
    assert "with the ID 9, which no pending request has" in found.what
    assert ("an error object of 1.0 MiB" in found.what) is (member == "error")


def unusable(connection: Connection, raw: bytes) -> UnusableReceived:
    (event,) = [each for each in connection.receive(read(raw)) if isinstance(each, UnusableReceived)]
    return event


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ([b"Content-Length: 120"], "Content-Length headers, as language servers do"),
        ([RESPONSE.decode().encode("utf-16-le")], "UTF-16 text"),
        ([b"\0" + RESPONSE.decode().encode("utf-16-le")], "UTF-16 text"),
        ([RESPONSE.decode().encode("utf-16-be")], "UTF-16 text"),
        ([RESPONSE.decode().encode("utf-16")], "UTF-16 text"),
        ([RESPONSE + b"\0"], "a message with NUL bytes"),
        ([b"\0\0\0" + RESPONSE], "a message with NUL bytes"),
        (PRETTY.split(b"\n"), "one message over 12 lines"),
        ([b'{"jsonrpc": "2.0", "id": 1,', b'"result": {}}'], "one message over 2 lines"),
        ([b"{'jsonrpc': '2.0', 'id': 1, 'result': {}}"], "a message that is not valid JSON (Expecting "),
        ([RESPONSE[:-1] + b",}"], "a message that is not valid JSON ("),
        ([b'{"jsonrpc":"2.0","id":1}'], "an object that is no response: it has neither "),
        ([frame(id=1, method="x", result={})], 'an object that is no response: it has "method" and also '),
        ([b"Listening on stdin"], "text that is not JSON-RPC: “Listening on stdin”"),
        ([b'{"level":"info","id":1}'], "JSON that is not JSON-RPC: "),
        ([b"INFO: " + RESPONSE], "text before a message in the same line: “INFO:”"),
    ],
)
def test_line_is_explained(lines: list[bytes], what: str) -> None:
    found = explain(*lines)
    assert found.what.startswith(what)
    assert found.fix.endswith(".")


@pytest.mark.parametrize(
    ("lines", "ids"),
    [
        ([RESPONSE.decode().encode("utf-16")], (1,)),
        ([RESPONSE + b"\0"], (1,)),
        (PRETTY.split(b"\n"), (1,)),
        ([RESPONSE[:-1] + b",}"], (1,)),
        ([b"{'jsonrpc': '2.0', 'id': 'a', 'result': {}}"], ("a",)),
        ([b'{"jsonrpc":"2.0","id":1}'], (1,)),
        ([b'{"result":{"jsonrpc":"2.0","id":1},}'], ()),  # the id of another object
        ([b'{"level":"info","id":1,}'], ()),  # no JSON-RPC
        ([b'{"level":"info","id":1}'], ()),
        ([b"Content-Length: 120"], ()),
        ([b"sent " + RESPONSE], (1,)),
        ([b"received " + frame(id=1, method="ping")], ()),  # a log entry about a request
    ],
)
def test_ids_are_those_of_the_message_that_was_meant(lines: list[bytes], ids: tuple[RequestId, ...]) -> None:
    found = explain(*lines)
    assert found.ids == ids
    assert found.is_response is bool(ids)


@pytest.mark.parametrize(
    ("head", "id", "ids"),
    [
        (RESPONSE + b"\r", "carriage-returns", (1,)),
        (RESPONSE + b"\r" + RESPONSE + b"\r", "carriage-returns", (1, 1)),
        (RESPONSE, "no-line-feed", (1,)),
        (RESPONSE + b'{"jsonrpc":"2.0","id":2,"result":{}}', "no-line-feed", (1, 2)),
        (RESPONSE + b"\0", "nul-bytes", (1,)),
        (RESPONSE.decode().encode("utf-16-le"), "utf16-output", (1,)),
        (b"Password: ", "no-line-feed", ()),
        (RESPONSE[:20], "no-line-feed", ()),
    ],
)
def test_output_without_a_line_feed_is_explained(head: bytes, id: str, ids: tuple[RequestId, ...]) -> None:
    found = explain_unfinished(head)
    assert (found.id, found.ids, found.is_response) == (id, ids, bool(ids))


def test_message_after_a_header_is_explained_by_the_header() -> None:
    joiner = LineJoiner()
    joiner.feed(read(b"Content-Length: 99\r"))
    found = joiner.unfinished(RESPONSE)
    assert (found.id, found.ids) == ("lsp-framing", (1,))


def test_flood_of_text_is_not_explained_for_ever() -> None:
    joiner = LineJoiner()
    explained = [joiner.feed(read(b"log line")) for _ in range(1500)]
    assert explained.count(None) == 500
    found = joiner.feed(read(RESPONSE[:-1] + b",}"))
    assert found is not None
    assert found.ids == (1,)


def test_message_over_too_many_lines_is_dropped() -> None:
    joiner = LineJoiner()
    for _ in range(400):
        joiner.feed(read(b"{" + b'"a": "' + b"x" * 1000 + b'",'))
    assert joiner._size <= 257 * 1024


@pytest.mark.parametrize(
    ("id", "other"), [("1", 1), (" -7 ", -7), (1, "1"), (2.0, 2), ("x", None), (True, None), (None, None)]
)
def test_id_in_the_other_type(id: JSON, other: RequestId | None) -> None:
    assert other_type(id) == other


@given(st.lists(st.binary(max_size=200) | st.sampled_from([RESPONSE, *PRETTY.split(b"\n"), b"\0", b"{'"])))
def test_any_output_is_explained_without_an_error(lines: list[bytes]) -> None:
    joiner = LineJoiner()
    for raw in lines:
        explain_unfinished(raw)
        parsed = read(raw)
        if parsed.kind in (Kind.INVALID, Kind.TEXT):
            joiner.feed(parsed)


@given(st.dictionaries(st.text(), st.text() | st.lists(st.integers() | st.text()), max_size=5))
def test_pretty_printed_response_is_found_whatever_it_holds(value: JSONObject) -> None:
    lines = json.dumps({"jsonrpc": "2.0", "id": 7, "result": {"value": value}}, indent=1).splitlines()
    assert explain(*(line.encode("utf-8", "surrogatepass") for line in lines)).ids == (7,)


@given(st.sampled_from(["utf-16-le", "utf-16-be", "utf-16"]), st.integers(0, 10**9))
def test_response_in_utf16_is_found(encoding: str, id: int) -> None:
    raw = json.dumps({"jsonrpc": "2.0", "id": id, "result": {}}).encode(encoding)
    assert explain(raw).ids == (id,)


class TestConnection:
    """What the connection makes of unusable output while requests are pending."""

    @pytest.fixture
    def connection(self) -> Connection:
        return Connection()

    @pytest.mark.parametrize(
        ("raw", "certainty"),
        [
            (frame(id="1", result={}), Certainty.CERTAIN),
            (frame(id=1.0, result={}), Certainty.CERTAIN),
            (frame(id=1), Certainty.CERTAIN),
            (frame(id=1, method="ping", result={}), Certainty.CERTAIN),
            (frame(id=1, result={}, error={"code": 1, "message": "no"}), Certainty.CERTAIN),
            (RESPONSE + RESPONSE, Certainty.CERTAIN),
            (RESPONSE + b"\0" + RESPONSE, Certainty.CERTAIN),
            (frame(id=1, method="ping"), Certainty.CERTAIN),
            (frame(method="notifications/message", params={}) + RESPONSE, Certainty.CERTAIN),
            (frame(id="s", method="roots/list") + RESPONSE, Certainty.CERTAIN),
            (b"INFO " + RESPONSE, Certainty.LIKELY),
            (b"[]", Certainty.LIKELY),
            (b"[" + frame(id=9, result={}) + b"]", Certainty.LIKELY),
            (RESPONSE[:-1] + b",}", Certainty.LIKELY),
            (frame(id=9, result={}), Certainty.LIKELY),
            (frame(id=None, result={}), Certainty.LIKELY),
            (frame(error={"code": 1, "message": "no"}), Certainty.LIKELY),
        ],
    )
    def test_response_is_assigned_to_its_request_but_completes_nothing(
        self, connection: Connection, raw: bytes, certainty: Certainty
    ) -> None:
        request = connection.request("ping")
        event = unusable(connection, raw)
        assert (event.request, event.certainty) == (request, certainty)
        assert connection.drain() == [request]

    @pytest.mark.parametrize("raw", [frame(id=9, result={}), frame(error={"code": 1, "message": "no"})])
    def test_response_without_a_valid_id_is_not_assigned_if_several_are_pending(
        self, connection: Connection, raw: bytes
    ) -> None:
        connection.request("ping")
        connection.request("ping")
        assert unusable(connection, raw).request is None

    def test_response_without_an_id_may_be_about_a_notification(self, connection: Connection) -> None:
        connection.request("initialize")
        connection.receive(message(id=1, result={}))
        connection.notify("notifications/initialized")
        connection.request("tools/list")
        error = frame(id=None, error={"code": -32601, "message": "no"})
        assert unusable(connection, error).certainty is Certainty.POSSIBLE
        connection.receive(message(id=2, result={}))  # it has processed the notification before this
        connection.request("tools/list")
        assert unusable(connection, error).certainty is Certainty.LIKELY

    def test_invented_id_cannot_be_about_a_notification(self, connection: Connection) -> None:
        connection.request("initialize")
        connection.receive(message(id=1, result={}))
        connection.notify("notifications/initialized")
        connection.request("tools/call")
        assert unusable(connection, frame(id=9, result={})).certainty is Certainty.LIKELY

    def test_probe_without_a_response_does_not_hide_what_a_response_is_about(
        self, connection: Connection
    ) -> None:
        connection.request("server/discover")
        connection.cancel(1, "timed out")
        request = connection.request("tools/call")
        event = unusable(connection, frame(id=None, error={"code": 1, "message": "no"}))
        assert (event.request, event.certainty) == (request, Certainty.LIKELY)

    def test_every_response_in_one_line_is_assigned(self, connection: Connection) -> None:
        first, second = connection.request("a"), connection.request("b")
        events = connection.receive(read(frame(id=1, result={}) + frame(id=2, result={})))
        assert [event.request for event in events if isinstance(event, UnusableReceived)] == [first, second]

    def test_response_without_an_id_may_be_about_a_cancelled_request(self, connection: Connection) -> None:
        connection.request("tools/call")
        connection.cancel(1, "enough")
        connection.request("tools/call")
        assert unusable(connection, frame(id=None, error={"code": 1, "message": "no"})).request is None

    @pytest.mark.parametrize("raw", [frame(id=9, result={}), frame(id="1", result={})])
    def test_nothing_is_assigned_when_nothing_is_pending(self, connection: Connection, raw: bytes) -> None:
        (event,) = connection.receive(read(raw))
        assert isinstance(event, UnexpectedResponse)

    def test_late_response_is_not_assigned(self, connection: Connection) -> None:
        connection.request("a")
        connection.cancel(1, "enough")
        connection.request("b")
        assert [type(event) for event in connection.receive(message(id=1, result={}))] == [UnexpectedResponse]

    def test_repeated_response_may_explain_a_missing_one_but_is_not_assigned(
        self, connection: Connection
    ) -> None:
        connection.request("a")
        connection.receive(message(id=1, result={}))
        connection.request("b")
        event = unusable(connection, frame(id=1, result={}))
        assert (event.request, event.unusable.is_response) == (None, False)
        assert event.unusable.what == "a response with the ID 1, which no pending request has"
        connection.receive(message(id=2, result={}))
        assert [type(event) for event in connection.receive(message(id=1, result={}))] == [UnexpectedResponse]

    def test_both_error_and_result_name_the_error(self, connection: Connection) -> None:
        connection.request("ping")
        event = unusable(connection, frame(id=1, result={}, error={"code": -5, "message": "Boom."}))
        assert event.unusable.what == 'a response with both "result" and "error"; the error is -5: Boom'

    def test_unfinished_output_with_the_id_is_certain(self, connection: Connection) -> None:
        request = connection.request("ping")
        (event,) = connection.receive_unfinished(RESPONSE + b"\r")
        assert isinstance(event, UnusableReceived)
        assert (event.request, event.certainty) == (request, Certainty.CERTAIN)
        connection.close_request(1)
        assert connection.receive_unfinished(RESPONSE) == []

    @given(st.binary(max_size=80))
    def test_unusable_output_never_completes_a_request(self, raw: bytes) -> None:
        connection = Connection()
        request = connection.request("ping")
        parsed: Message = read(raw)
        connection.receive(parsed)
        connection.receive_unfinished(raw)
        assert parsed.kind.is_response or connection.drain() == [request]
