"""The recorder: links between rows, statuses and times."""

from __future__ import annotations

import json

import pytest

from inspector.base.json.values import JSON
from inspector.protocol import jsonrpc
from inspector.protocol.jsonrpc import EAGER_PARSE_LIMIT, Message, read
from inspector.traffic.log import TrafficLog
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import Direction, Record, RecordKind, Status
from tests.helpers.fakes import FakeClock
from tests.helpers.playbook import message

MS = 1_000_000


class Taped:
    """A recorder with its log and a fake clock."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.log = TrafficLog()
        self.recorder = Recorder(self.log, "srv", self.clock)

    def receive(self, *messages: Message) -> None:
        self.recorder.received(messages, self.clock.monotonic_ns())

    @property
    def rows(self) -> list[Record]:
        return [self.log.record(row) for row in range(len(self.log))]


@pytest.fixture
def tape() -> Taped:
    return Taped()


def test_call_and_response_link_to_each_other(tape: Taped) -> None:
    tape.recorder.sent(jsonrpc.request(1, "tools/call", {"name": "add"}))
    tape.clock.advance(0.042)
    tape.receive(message(id=1, result={}))

    request, response = tape.rows
    assert (request.partner, response.partner) == (1, 0)
    assert (request.status, response.status) == (Status.OK, Status.OK)
    assert request.duration_ns == response.duration_ns == 42 * MS
    assert (response.method, response.subject) == ("tools/call", "add")
    assert (request.direction, response.direction) == (Direction.OUT, Direction.IN)
    assert (request.kind, response.kind) == (RecordKind.REQUEST, RecordKind.RESULT)


def test_request_is_pending_until_its_response_arrives(tape: Taped) -> None:
    tape.recorder.sent(jsonrpc.request(1, "ping"))
    (request,) = tape.rows
    assert (request.status, request.duration_ns, request.partner) == (Status.PENDING, None, None)


@pytest.mark.parametrize(
    ("members", "status"),
    [
        ({"result": {}}, Status.OK),
        ({"result": {"isError": False}}, Status.OK),
        ({"result": {"isError": "true"}}, Status.OK),
        ({"result": {"content": [{"isError": True}]}}, Status.OK),
        ({"result": {"isError": True}}, Status.TOOL_ERROR),
        ({"error": {"code": 1, "message": ""}}, Status.ERROR),
        ({"error": "words"}, Status.ERROR),
    ],
)
@pytest.mark.parametrize("filler", [0, EAGER_PARSE_LIMIT, 3 * EAGER_PARSE_LIMIT])
def test_request_status_is_taken_from_its_response_small_or_big(
    tape: Taped, members: dict[str, JSON], status: Status, filler: int
) -> None:
    body = {"jsonrpc": "2.0", "id": 1, **json.loads(json.dumps(members))}
    for member in ("result", "error"):
        if isinstance(body.get(member), dict):
            body[member]["filler"] = "x" * filler
    tape.recorder.sent(jsonrpc.request(1, "tools/call", {"name": "add"}))
    tape.receive(read(json.dumps(body).encode()))
    assert tape.rows[0].status is status


def test_big_successful_result_is_not_parsed_for_its_status(
    tape: Taped, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The official SDKs write "isError": false into every result, also into one of 50 MB."""
    response = read(
        b'{"jsonrpc":"2.0","id":1,"result":{"content":["%s"],"isError": false}}' % (b"x" * 70_000)
    )
    tape.recorder.sent(jsonrpc.request(1, "tools/call", {"name": "add"}))
    monkeypatch.setattr("inspector.protocol.jsonrpc.parse", lambda text: pytest.fail("it was parsed"))
    tape.receive(response)
    assert tape.rows[0].status is Status.OK


def test_unmatched_responses_say_so_and_change_nothing(tape: Taped) -> None:
    tape.recorder.sent(jsonrpc.request(1, "ping"))
    tape.receive(
        message(id=1, result={}), message(id=1, error={"code": 1, "message": ""}), message(id="1", result={})
    )
    assert [row.problem for row in tape.rows] == [
        "",
        "",
        "second response to the same request (ID 1)",
        "response without a matching request (ID '1')",
    ]
    assert tape.rows[0].status is Status.OK
    assert [row.partner for row in tape.rows] == [1, 0, None, None]


def test_long_server_strings_do_not_stay_in_memory(tape: Taped) -> None:
    long = "x" * 100_000
    tape.receive(message(id=long, result={}), message(method=long), message(id=10**4000, result={}))
    assert sum(len(tape.log.strings.text(number)) for number in range(len(tape.log.strings))) < 10_000
    assert tape.rows[0].problem.startswith("response without a matching request (ID 'xxx")
    assert len(str(tape.rows[0].id)) < 10_000
    assert long in tape.rows[0].raw.decode()


def test_cancelled_request_stays_cancelled_when_its_response_is_late(tape: Taped) -> None:
    tape.recorder.sent(jsonrpc.request(1, "ping"))
    tape.recorder.end_request(1, Status.CANCELLED)
    tape.receive(message(id=1, result={}))
    request, response = tape.rows
    assert request.status is Status.CANCELLED
    assert (response.status, response.problem) == (Status.LATE, "")
    assert [row.partner for row in tape.rows] == [None, None]


def test_late_response_that_is_invalid_still_has_a_finding(tape: Taped) -> None:
    tape.recorder.sent(jsonrpc.request(1, "ping"))
    tape.recorder.end_request(1, Status.TIMED_OUT)
    tape.receive(message(id=1, error={"message": ""}))
    assert tape.rows[1].status is Status.LATE
    assert tape.rows[1].problem


def test_response_to_a_stream_we_ended_is_not_a_problem(tape: Taped) -> None:
    tape.recorder.sent(jsonrpc.request(1, "subscriptions/listen"))
    tape.recorder.end_request(1, Status.CANCELLED)
    tape.receive(message(id=1, error={"code": -32000, "message": "Connection closed"}))
    assert [row.problem for row in tape.rows] == ["", ""]
    assert tape.rows[1].status is Status.NONE


def test_request_cancelled_by_the_server_is_no_longer_pending(tape: Taped) -> None:
    tape.receive(message(id=1, method="elicitation/create"), message(id=2, method="elicitation/create"))
    tape.recorder.cancel_server_request(1)
    assert [row.status for row in tape.rows] == [Status.CANCELLED, Status.PENDING]


def test_cancelling_an_answered_request_changes_nothing(tape: Taped) -> None:
    tape.recorder.sent(jsonrpc.request(1, "ping"))
    tape.receive(message(id=1, result={}))
    tape.recorder.end_request(1, Status.CANCELLED)
    assert tape.rows[0].status is Status.OK


def test_the_ids_of_both_sides_do_not_mix(tape: Taped) -> None:
    tape.recorder.sent(jsonrpc.request(1, "tools/list"))
    tape.receive(message(id=1, method="roots/list"))
    tape.recorder.sent(jsonrpc.result(1, {"roots": []}))
    tape.receive(message(id=1, result={}))
    assert [row.partner for row in tape.rows] == [3, 2, 1, 0]
    assert [row.method for row in tape.rows] == ["tools/list", "roots/list", "roots/list", "tools/list"]


def test_new_connection_ends_pending_requests_and_restarts_the_ids(tape: Taped) -> None:
    tape.recorder.sent(jsonrpc.request(1, "ping"))
    tape.receive(message(id=7, method="ping"))
    tape.recorder.new_conversation()
    tape.receive(message(id=1, result={}))
    assert [row.status for row in tape.rows[:2]] == [Status.NO_RESPONSE, Status.NO_RESPONSE]
    assert tape.rows[2].problem == "response without a matching request (ID 1)"


def test_batched_responses_are_linked_to_their_requests(tape: Taped) -> None:
    """In 2025-03-26, a server may respond to several requests in one array."""
    tape.recorder.sent(jsonrpc.request(1, "ping"))
    tape.recorder.sent(jsonrpc.request(2, "tools/call", {"name": "add"}))
    tape.clock.advance(0.5)
    responses: list[JSON] = [
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 2, "result": {"isError": True}},
    ]
    tape.receive(read(json.dumps(responses).encode()))
    first, second, batch = tape.rows
    assert (first.status, second.status) == (Status.OK, Status.TOOL_ERROR)
    assert (first.partner, second.partner) == (2, 2)
    assert first.duration_ns == 500 * MS
    assert batch.kind is RecordKind.BATCH


def test_batched_request_is_linked_to_our_response(tape: Taped) -> None:
    tape.receive(read(b'[{"jsonrpc":"2.0","id":"a","method":"ping"}]'))
    tape.recorder.sent(jsonrpc.result("a", {}))
    batch, response = tape.rows
    assert (batch.partner, response.partner) == (1, 0)
    assert response.problem == ""


@pytest.mark.parametrize(
    ("method", "params", "subject"),
    [
        ("tools/call", {"name": "add"}, "add"),
        ("resources/read", {"uri": "file:///x"}, "file:///x"),
        ("notifications/message", {"level": "info"}, "info"),
        ("tools/call", {"name": 5}, ""),
        ("tools/call", {"name": "x" * 1000}, "x" * 300),
        ("tools/list", {"name": "x"}, ""),
    ],
)
def test_row_names_its_subject(tape: Taped, method: str, params: dict[str, JSON], subject: str) -> None:
    tape.receive(message(method=method, params=params))
    assert tape.rows[0].subject == subject


def test_output_and_notes_are_separate_row_kinds(tape: Taped) -> None:
    tape.recorder.stderr([b"one", b"\xff"], tape.clock.monotonic_ns())
    tape.recorder.note(RecordKind.PROCESS, "Process 1 exited \ud83d")
    tape.receive(read(b"Listening"))
    assert [(row.kind, row.direction, row.raw) for row in tape.rows] == [
        (RecordKind.STDERR, Direction.IN, b"one"),
        (RecordKind.STDERR, Direction.IN, b"\xff"),
        (RecordKind.PROCESS, Direction.NONE, b"Process 1 exited ?"),
        (RecordKind.TEXT, Direction.IN, b"Listening"),
    ]
    assert [row.kind.is_message for row in tape.rows] == [False, False, False, True]


def test_message_is_dated_by_arrival_and_not_by_recording(tape: Taped) -> None:
    arrived, wall = tape.clock.monotonic_ns(), tape.clock.wall_ns()
    tape.clock.advance(3)
    tape.recorder.received([message(method="n")], arrived)
    assert (tape.rows[0].monotonic_ns, tape.rows[0].wall_ns) == (arrived, wall)


def test_truncated_message_has_its_full_size(tape: Taped) -> None:
    tape.recorder.received([message(method="n"), read(b"head")], 0, [5, 10**9])
    assert [row.size for row in tape.rows] == [5, 10**9]


NOTIFICATION_ITEM = "notification “notifications/message”"


@pytest.mark.parametrize(
    ("version", "finding"),
    [
        ("", f"a batch of 1 item, which is not allowed during negotiation: {NOTIFICATION_ITEM}"),
        ("2024-11-05", ""),
        ("2025-03-26", ""),
        ("2025-06-18", f"a batch of 1 item, which 2025-06-18 does not allow: {NOTIFICATION_ITEM}"),
        ("2025-11-25", f"a batch of 1 item, which 2025-11-25 does not allow: {NOTIFICATION_ITEM}"),
        ("2026-07-28", f"a batch of 1 item, which 2026-07-28 does not allow: {NOTIFICATION_ITEM}"),
    ],
)
def test_received_batch_is_a_finding_since_2025_06_18(tape: Taped, version: str, finding: str) -> None:
    if version:
        tape.recorder.set_revision(version)
    batch = read(b'[{"jsonrpc":"2.0","method":"notifications/message"}]')
    tape.receive(batch)
    tape.recorder.sent(batch)
    received, sent = tape.rows
    assert (received.problem, sent.problem) == (finding, "")


_STRAY_ITEMS = (
    'item 1: response without a matching request (ID 77); item 2: "id" must be a string or an integer; '
    "item 3: second response to the same request (ID 1); item 5: not a JSON-RPC message: it must be an object"
)


@pytest.mark.parametrize(
    ("version", "finding"),
    [
        ("2025-03-26", _STRAY_ITEMS),
        (
            "2025-11-25",
            "a batch of 5 items, which 2025-11-25 does not allow: response with ID 77, response without a "
            "valid ID, response with ID 1, response with ID 2, no message; " + _STRAY_ITEMS,
        ),
    ],
)
def test_findings_about_a_batch_name_the_item(tape: Taped, version: str, finding: str) -> None:
    tape.recorder.set_revision(version)
    for id in (1, 2):
        tape.recorder.sent(jsonrpc.request(id, "ping"))
    tape.receive(message(id=1, result={}))
    strays = [message(id=77, result={}), message(id=None, error={"code": 1, "message": "no"})]
    items = [*strays, message(id=1, result={}), message(id=2, result={})]
    tape.receive(read(b"[%s,5]" % b",".join(item.raw for item in items)))
    assert tape.rows[-1].problem == finding
    assert tape.rows[1].status is Status.OK


def test_findings_about_a_long_batch_are_cut(tape: Taped) -> None:
    tape.recorder.set_revision("2025-03-26")
    tape.receive(read(json.dumps([5] * 30).encode()))
    assert tape.rows[0].problem.endswith("item 10: not a JSON-RPC message: it must be an object; 20 more")


def test_findings_of_a_row_are_collected_once(tape: Taped) -> None:
    tape.receive(read(b'{"jsonrpc":"2.0","method":"a"}'))
    for finding in ("one", "two", "one"):
        tape.recorder.add_finding(0, finding)
    assert tape.rows[0].problem == "one; two"
    assert 0 in tape.log.touched
