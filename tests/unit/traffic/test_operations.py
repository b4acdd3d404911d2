"""Operations: which rows belong together."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from inspector.base.json.values import JSON, JSONObject
from inspector.protocol import jsonrpc
from inspector.protocol.jsonrpc import EAGER_PARSE_LIMIT, Message, read
from inspector.traffic import operations
from inspector.traffic.log import TrafficLog
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import HttpExchange, RecordKind, Status
from tests.helpers.fakes import FakeClock
from tests.helpers.playbook import message

ASK: JSONObject = {"method": "elicitation/create", "params": {}}
RELATED = "io.modelcontextprotocol/related-task"


class Tape:
    """A recorder, and the operations of its rows."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.log = TrafficLog()
        self.recorder = Recorder(self.log, "srv", self.clock)

    def call(self, id: int, method: str = "tools/call", /, **params: JSON) -> int:
        if method == "tools/call":
            params.setdefault("name", "ask")
        return self.recorder.sent(jsonrpc.request(id, method, params))

    def response(self, id: int, /, **result: JSON) -> None:
        self.receive(message(id=id, result=result))

    def ask_back(self, id: int, state: JSON = None, *keys: str) -> None:
        """An `input_required` result."""
        requested: JSONObject = {"resultType": "input_required"}
        if state is not None:
            requested["requestState"] = state
        if keys:
            requested["inputRequests"] = dict.fromkeys(keys, ASK)
        self.response(id, **requested)

    def receive(self, frame: Message, exchange: int | None = None) -> None:
        self.recorder.received([frame], self.clock.monotonic_ns(), exchange=exchange)

    def http(self, number: int, carried: int = -1, method: str = "POST", *headers: tuple[str, str]) -> int:
        self.recorder.http.requested(number, HttpExchange(method, "http://x/", headers, 0), 0, 0, carried)
        return len(self.log) - 1

    @property
    def operations(self) -> list[int | None]:
        return [self.log.operation(row) for row in range(len(self.log))]


@pytest.fixture
def tape() -> Tape:
    return Tape()


def responses(*keys: str) -> JSONObject:
    return {key: {"action": "accept"} for key in keys}


def test_own_request_starts_an_operation_that_includes_its_response(tape: Tape) -> None:
    tape.call(1)
    tape.call(2)
    tape.response(2)
    tape.response(1)
    assert tape.operations == [0, 1, 1, 0]


# Calls, what each is asked for (state, keys), and retries (tool, state, keys) with the operation that each
# belongs to; "own" for one that begins its own.
Ask = tuple[str, JSON, Sequence[str]]
CASES: dict[str, tuple[list[Ask], list[tuple[str, JSON, Sequence[str], int | str]]]] = {
    "a state tells": ([("a", "s1", "k")], [("a", "s1", "k", 0)]),
    "a state alone tells": ([("a", "s1", "")], [("a", "s1", "", 0)]),
    "an empty state is one": ([("a", "", "k")], [("a", "", "k", 0)]),
    "states tell equal calls apart": (
        [("a", "s1", "k"), ("a", "s2", "k")],
        [("a", "s2", "k", 1), ("a", "s1", "k", 0)],
    ),
    "the tool and the keys tell": ([("a", None, "k"), ("b", None, "k")], [("b", None, "k", 1)]),
    "the keys tell, without a state": ([("a", None, "k"), ("a", None, "m")], [("a", None, "m", 1)]),
    "equal states are told apart by the keys": ([("a", "s", "k"), ("a", "s", "m")], [("a", "s", "m", 1)]),
    "two that wait for the same are not told apart": (
        [("a", None, "k"), ("a", None, "k")],
        [("a", None, "k", "own"), ("a", None, "k", "own")],
    ),
    "not by equal states either": ([("a", "s", "k"), ("a", "s", "k")], [("a", "s", "k", "own")]),
    "a state that nobody gave": ([("a", "s1", "k")], [("a", "s2", "k", "own")]),
    "a state that was left out": ([("a", "s1", "k")], [("a", None, "k", "own")]),
    "a state that was made up": ([("a", None, "k")], [("a", "s", "k", "own")]),
    "a state that leaked into another tool": ([("a", "s1", "k")], [("b", "s1", "k", "own")]),
    "other keys than were asked for": ([("a", None, "k")], [("a", None, "m", "own")]),
    "fewer keys than were asked for": ([("a", None, "km")], [("a", None, "k", "own")]),
    "a state may be sent again": ([("a", "s1", "k")], [("a", "s1", "k", 0), ("a", "s1", "k", 0)]),
    "answers without a state count once": (
        [("a", None, "k")],
        [("a", None, "k", 0), ("a", None, "k", "own")],
    ),
    "a state that is no text is none": ([("a", 7, "k")], [("a", None, "k", 0)]),
}


@pytest.mark.parametrize("case", CASES)
def test_retry_continues_the_matching_operation(tape: Tape, case: str) -> None:
    requested, retries = CASES[case]
    for id, (name, _, _) in enumerate(requested):
        tape.call(id, name=name)
    for id, (_, state, keys) in enumerate(requested):
        tape.ask_back(id, state, *keys)
    for id, (name, state, keys, expected) in enumerate(retries, 100):
        params: JSONObject = {"name": name}
        if keys:
            params["inputResponses"] = responses(*keys)
        if state is not None:
            params["requestState"] = state
        row = tape.call(id, **params)
        assert tape.log.operation(row) == (row if expected == "own" else expected)


def test_call_with_many_rounds_is_one_operation(tape: Tape) -> None:
    tape.call(1)
    for round in range(1, 6):
        tape.ask_back(round, f"s{round}", "k")
        tape.call(round + 1, requestState=f"s{round}", inputResponses=responses("k"))
    tape.response(6, content=[])
    assert set(tape.operations) == {0}


def test_state_of_an_earlier_round_continues_nothing(tape: Tape) -> None:
    tape.call(1)
    tape.ask_back(1, "s1", "k")
    tape.call(2, requestState="s1", inputResponses=responses("k"))
    tape.ask_back(2, "s2", "k")
    row = tape.call(3, requestState="s1", inputResponses=responses("k"))
    assert tape.log.operation(row) == row


def test_the_state_of_a_finished_operation_is_forgotten(tape: Tape) -> None:
    tape.call(1)
    tape.ask_back(1, "s1", "k")
    tape.call(2, requestState="s1", inputResponses=responses("k"))
    tape.response(2, content=[])
    row = tape.call(3, requestState="s1", inputResponses=responses("k"))
    assert tape.log.operation(row) == row


def test_message_resent_by_the_user_is_a_separate_operation(tape: Tape) -> None:
    tape.call(1)
    tape.ask_back(1, "s1", "k")
    params: JSONObject = {"name": "ask", "requestState": "s1", "inputResponses": responses("k")}
    row = tape.recorder.sent(jsonrpc.request(2, "tools/call", params), resent_of=0)
    assert tape.log.operation(row) == row


def test_a_state_outlives_the_connection_and_bare_keys_do_not(tape: Tape) -> None:
    """A stateless server accepts the state after a restart."""
    tape.call(1, name="a")
    tape.call(2, name="b")
    tape.ask_back(1, "s1", "k")
    tape.ask_back(2, None, "k")
    tape.recorder.new_conversation()
    with_state = tape.call(1, name="a", requestState="s1", inputResponses=responses("k"))
    bare = tape.call(2, name="b", inputResponses=responses("k"))
    assert [tape.log.operation(row) for row in (with_state, bare)] == [0, bare]


def test_state_may_be_bigger_than_the_eager_parse_limit(tape: Tape) -> None:
    state = "x" * (2 * EAGER_PARSE_LIMIT)
    tape.call(1)
    tape.ask_back(1, state, "k")
    params: JSONObject = {"name": "ask", "requestState": state, "inputResponses": responses("k")}
    tape.recorder.sent(jsonrpc.request(2, "tools/call", params))
    assert tape.operations == [0, 0, 0]


def test_pending_rounds_are_forgotten_beyond_a_limit(tape: Tape, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "_MAX_PENDING_INPUTS", 2)
    for id in range(5):
        tape.call(id)
        tape.ask_back(id, f"s{id}", "k")
    oldest = tape.call(10, requestState="s0", inputResponses=responses("k"))
    latest = tape.call(11, requestState="s4", inputResponses=responses("k"))
    assert tape.log.operation(oldest) == oldest
    assert tape.log.operation(latest) == 8


CREATED: dict[str, JSONObject] = {
    "2025-11-25": {"task": {"taskId": "t-9", "status": "working"}},
    "extension": {"resultType": "task", "taskId": "t-9", "status": "working"},
}


@pytest.mark.parametrize("design", CREATED)
def test_task_requests_belong_to_the_call_that_created_the_task(tape: Tape, design: str) -> None:
    tape.call(1)
    tape.response(1, **CREATED[design])
    for id, verb in enumerate(("get", "result", "update", "cancel"), 2):
        tape.call(id, f"tasks/{verb}", taskId="t-9")
        tape.response(id, taskId="t-9", status="working")
    tape.receive(message(method="notifications/tasks/status", params={"taskId": "t-9"}))
    tape.receive(message(method="notifications/tasks", params={"taskId": "t-9"}))
    assert set(tape.operations) == {0}


def test_task_without_a_call_is_a_separate_operation(tape: Tape) -> None:
    tape.call(1)
    tape.response(1, content=[], task={"taskId": "t-9"})  # a tool's own member, beside its outcome
    tape.call(2, "tasks/get", taskId="t-9")
    tape.call(3, "tasks/get", taskId=["t-9"])
    tape.call(4, "tasks/list")
    assert tape.operations == [0, 0, 2, 3, 4]


def test_task_is_recognized_after_rounds_and_after_a_reconnect(tape: Tape) -> None:
    tape.call(1)
    tape.ask_back(1, "s1", "k")
    tape.call(2, requestState="s1", inputResponses=responses("k"))
    tape.response(2, **CREATED["extension"])
    tape.recorder.new_conversation()
    tape.call(1, "tasks/get", taskId="t-9")
    assert tape.operations == [0, 0, 0, 0, 0]


def test_task_request_belongs_to_its_task_whatever_else_is_pending(tape: Tape) -> None:
    tape.call(1)
    tape.response(1, **CREATED["2025-11-25"])
    tape.call(2)
    tape.call(3)
    meta: JSONObject = {RELATED: {"taskId": "t-9"}}
    tape.receive(message(id=7, method="elicitation/create", params={"_meta": meta}))
    tape.recorder.sent(jsonrpc.result(7, {"action": "accept"}))
    assert tape.operations == [0, 0, 2, 3, 0, 0]


def test_progress_belongs_to_the_request_with_the_token(tape: Tape) -> None:
    tape.call(1, _meta={"progressToken": 1})
    tape.call(2, _meta={"progressToken": "1"})
    tokens: list[JSON] = ["1", 1, 2, True, None, ["1"]]
    for token in tokens:
        tape.receive(message(method="notifications/progress", params={"progressToken": token, "progress": 1}))
    assert tape.operations == [0, 1, 1, 0, None, None, None, None]


def test_late_progress_still_belongs_to_its_request(tape: Tape) -> None:
    tape.call(1, _meta={"progressToken": 5})
    tape.response(1)
    tape.receive(message(method="notifications/progress", params={"progressToken": 5}))
    assert tape.operations == [0, 0, 0]


def test_our_cancellation_belongs_to_the_cancelled_request_and_a_server_one_does_not(tape: Tape) -> None:
    """The ids of both sides overlap: a server cancels requests of its own."""
    tape.call(1)
    tape.recorder.end_request(1, Status.CANCELLED)
    tape.recorder.sent(jsonrpc.notification("notifications/cancelled", {"requestId": 1}))
    tape.receive(message(method="notifications/cancelled", params={"requestId": 1}))
    tape.recorder.sent(jsonrpc.notification("notifications/progress", {"progressToken": 1}))
    tape.response(1)  # too late
    assert tape.operations == [0, 0, None, None, 0]


def test_logs_and_stderr_belong_to_no_operation(tape: Tape) -> None:
    tape.call(1)
    tape.receive(message(method="notifications/message", params={"level": "info", "data": "x"}))
    tape.recorder.stderr([b"x"], 0)
    tape.recorder.note(RecordKind.LOCAL, "x")
    assert tape.operations == [0, None, None, None]


@pytest.mark.parametrize("method", ["sampling/createMessage", "elicitation/create", "roots/list"])
def test_server_request_belongs_to_the_only_pending_call(tape: Tape, method: str) -> None:
    tape.call(1)
    tape.call(2, "subscriptions/listen")  # open for hours, and asks for nothing
    tape.receive(message(id=7, method=method))
    tape.recorder.sent(jsonrpc.result(7, {}))
    assert tape.operations == [0, 1, 0, 0]


@pytest.mark.parametrize(
    ("open", "input_request"),
    [
        ([], "roots/list"),
        (["tools/call", "tools/call"], "elicitation/create"),
        (["tools/list"], "roots/list"),  # a server asks for roots right after connecting, by itself
        (["tools/call"], "ping"),
        (["tools/call"], "tasks/get"),
    ],
)
def test_server_request_with_an_ambiguous_cause_belongs_to_no_operation(
    tape: Tape, open: list[str], input_request: str
) -> None:
    for id, method in enumerate(open):
        tape.call(id, method)
    tape.receive(message(id=7, method=input_request))
    tape.recorder.sent(jsonrpc.result(7, {}))
    assert tape.operations[len(open) :] == [None, None]


def test_answered_or_cancelled_call_is_no_longer_pending(tape: Tape) -> None:
    tape.call(1)
    tape.call(2)
    tape.call(3)
    tape.response(1)
    tape.recorder.end_request(2, Status.CANCELLED)
    tape.receive(message(id=7, method="elicitation/create"))
    assert tape.operations[-1] == 2


def test_awaited_task_counts_as_its_call(tape: Tape) -> None:
    tape.call(1)
    tape.response(1, **CREATED["2025-11-25"])
    tape.call(2, "tasks/result", taskId="t-9")
    tape.call(3, "tasks/get", taskId="t-9")
    tape.receive(message(id=7, method="elicitation/create"))
    assert tape.operations[-1] == 0


def test_exchange_and_its_messages_belong_to_the_call_it_carries(tape: Tape) -> None:
    first, second = tape.call(1), tape.call(2)
    tape.http(1, first)
    tape.http(2, second)
    tape.receive(message(id=7, method="elicitation/create"), exchange=2)
    tape.recorder.http.event(1, "event: message", 0, 0)
    reply = tape.recorder.sent(jsonrpc.result(7, {}))
    tape.http(3, reply)
    tape.receive(message(id=2, result={}), exchange=2)
    assert tape.operations == [0, 1, 0, 1, 1, 0, 1, 1, 1]


def test_exchange_without_an_operation_message_belongs_to_none(tape: Tape) -> None:
    tape.call(1)
    tape.http(1, method="GET")
    tape.recorder.http.event(1, ": ping", 0, 0)
    tape.http(2, tape.recorder.sent(jsonrpc.notification("notifications/initialized")))
    assert tape.operations == [0, None, None, None, None]


def test_resumed_stream_belongs_to_the_call_whose_response_it_carries(tape: Tape) -> None:
    row = tape.call(1, _meta={"progressToken": 1})
    tape.http(1, row)
    resumed = tape.http(2, -1, "GET", ("Last-Event-ID", "5"))
    tape.receive(message(method="notifications/progress", params={"progressToken": 1}), exchange=2)
    assert tape.log.operation(resumed) == row
    assert resumed in tape.log.touched
    tape.recorder.http.event(2, "event: message", 0, 0)
    assert tape.operations[-1] == row


def test_stream_of_the_older_transport_belongs_to_no_call_although_it_carries_all_responses(
    tape: Tape,
) -> None:
    stream = tape.http(1, -1, "GET")
    tape.http(2, tape.call(1))
    tape.receive(message(id=1, result={}), exchange=1)
    assert tape.operations == [None, 1, 1, 1]
    assert tape.log.exchange(3) == stream


def test_a_batch_of_requests_is_one_operation(tape: Tape) -> None:
    batch: list[JSON] = [{"jsonrpc": "2.0", "id": id, "method": "ping"} for id in (1, 2)]
    tape.recorder.sent(read(json.dumps(batch).encode()))
    tape.response(2)
    tape.response(1)
    assert tape.operations == [0, 0, 0]


def test_batch_of_responses_belongs_to_an_operation_only_if_there_is_just_one(tape: Tape) -> None:
    for id in range(4):
        tape.call(id)
    for ids in ((0, 1, 0), (2,)):
        batch: list[JSON] = [{"jsonrpc": "2.0", "id": id, "result": {}} for id in ids]
        tape.receive(read(json.dumps(batch).encode()))
    assert tape.operations[4:] == [None, 2]


def test_memory_is_bounded_and_the_latest_entries_are_kept() -> None:
    latest: dict[int, int] = {}
    for key in range(1000):
        operations._remember(latest, key, -key, 10)
        assert len(latest) <= 20
        assert all(latest[one] == -one for one in range(max(0, key - 9), key + 1))
