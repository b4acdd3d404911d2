"""Messages related to a row: complete, in order, and bounded."""

from __future__ import annotations

import pytest

from inspector.base.json.values import JSONObject
from inspector.protocol import jsonrpc
from inspector.protocol.jsonrpc import read
from inspector.traffic.analysis import related as related_module
from inspector.traffic.analysis.related import RelatedMessages, Role, related_messages
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, RecordKind
from tests.unit.traffic.traffic_stage import MS, TrafficBuilder


def roles(related: RelatedMessages) -> list[tuple[int, str]]:
    return [(step.row, step.role.value) for step in related.steps]


def test_call_is_followed_from_request_to_response_with_everything_in_between() -> None:
    conversation = TrafficBuilder("a", "b")
    conversation.stderr()
    id = conversation.call("x", 0, _meta={"progressToken": 1})
    conversation.pass_ms(5)
    conversation.receive(method="notifications/progress", params={"progressToken": 1})
    conversation.log_message()
    conversation.log_message(1)
    conversation.stderr()
    conversation.stderr(1)
    conversation.receive(method="notifications/tools/list_changed")
    conversation.receive(id=7, method="elicitation/create")
    conversation.recorders[0].sent(jsonrpc.result(7, {}))
    conversation.recorders[0].note(RecordKind.LOCAL, "something of ours")
    conversation.pass_ms(5)
    conversation.response(id)
    conversation.stderr()
    related = related_messages(conversation.log, 1)
    assert roles(related) == [
        (1, "request"),
        (2, "progress"),
        (3, "log"),
        (5, "stderr"),
        (8, "server request"),
        (9, "reply"),
        (10, "event"),
        (11, "response"),
    ]
    assert [step.offset_ns // MS for step in related.steps] == [0, 5, 5, 5, 5, 5, 5, 10]
    assert (related.operation, related.left_out, related.note) == (1, 0, "")


@pytest.mark.parametrize("row", range(4))
def test_operation_is_the_same_from_any_of_its_rows(row: int) -> None:
    conversation = TrafficBuilder()
    id = conversation.call()
    requested: JSONObject = {"resultType": "input_required", "requestState": "s"}
    conversation.response(id, requested)
    conversation.response(conversation.call("echo", 0, requestState="s"))
    assert roles(related_messages(conversation.log, row)) == [
        (0, "request"),
        (1, "response"),
        (2, "retry"),
        (3, "response"),
    ]


def test_task_messages_belong_to_the_operation() -> None:
    conversation = TrafficBuilder()
    conversation.response(conversation.call(), {"task": {"taskId": "t"}})
    conversation.response(conversation.send("tasks/get", 0, taskId="t"))
    conversation.receive(method="notifications/tasks/status", params={"taskId": "t"})
    assert [role for _, role in roles(related_messages(conversation.log, 0))] == [
        "request",
        "response",
        "task",
        "response",
        "task",
    ]


def test_pending_operation_continues_to_the_latest_row() -> None:
    conversation = TrafficBuilder()
    conversation.call()
    conversation.log_message()
    assert roles(related_messages(conversation.log, 0)) == [(0, "request"), (1, "log")]


def test_log_message_on_the_http_exchange_of_another_call_belongs_to_that_call() -> None:
    conversation = TrafficBuilder()
    for exchange in (1, 2):
        conversation.call()
        conversation.post(exchange, len(conversation.log) - 1)
    conversation.log_message(0, 2)
    assert roles(related_messages(conversation.log, 0)) == [(0, "request"), (1, "HTTP")]
    assert roles(related_messages(conversation.log, 2)) == [(2, "request"), (3, "HTTP"), (4, "log")]


def test_resent_request_and_its_original_link_to_each_other() -> None:
    conversation = TrafficBuilder()
    conversation.response(conversation.call())
    conversation.recorders[0].sent(jsonrpc.request(9, "tools/call", {"name": "echo"}), resent_of=0)
    assert roles(related_messages(conversation.log, 0)) == [(0, "request"), (1, "response"), (2, "resent")]
    assert roles(related_messages(conversation.log, 2)) == [(0, "original"), (2, "request")]
    assert related_messages(conversation.log, 2).operation == 2


def test_row_without_an_operation_has_its_counterpart_and_its_exchange() -> None:
    conversation = TrafficBuilder()
    conversation.receive(id=1, method="ping")
    conversation.recorders[0].sent(jsonrpc.result(1, {}))
    stderr = conversation.stderr()
    http = conversation.post(1, -1)
    on_it = conversation.receive(0, 1, method="notifications/tools/list_changed")
    assert (
        roles(related_messages(conversation.log, 0))
        == roles(related_messages(conversation.log, 1))
        == [(0, "server request"), (1, "reply")]
    )
    assert roles(related_messages(conversation.log, stderr)) == [(stderr, "stderr")]
    assert (
        roles(related_messages(conversation.log, http))
        == roles(related_messages(conversation.log, on_it))
        == [(http, "HTTP"), (on_it, "other")]
    )


def test_a_batch_is_a_request_and_a_response() -> None:
    conversation = TrafficBuilder()
    conversation.recorders[0].sent(read(b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]'))
    conversation.recorders[0].received([read(b'[{"jsonrpc":"2.0","id":1,"result":{}}]')], 0)
    assert roles(related_messages(conversation.log, 0)) == [(0, "request"), (1, "response")]


def test_too_many_steps_are_truncated_to_the_first_and_last() -> None:
    conversation = TrafficBuilder()
    id = conversation.call()
    for _ in range(100):
        conversation.log_message()
    conversation.response(id)
    related = related_messages(conversation.log, 0, maximum=10)
    assert [step.row for step in related.steps] == [0, 1, 2, 3, 4, 97, 98, 99, 100, 101]
    assert related.left_out == 92


def test_unscanned_rows_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(related_module, "_MEANWHILE_SPAN", 10)
    conversation = TrafficBuilder()
    id = conversation.call()
    for _ in range(100):
        conversation.log_message()
    conversation.response(id)
    related = related_messages(conversation.log, 0)
    assert [step.row for step in related.steps] == [*range(10), 101]
    assert related.note.startswith("Logs and stderr were searched only in the first 10 of 101 rows")


def test_response_is_included_however_far_away_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(related_module, "_OPERATION_SPAN", 10)
    conversation = TrafficBuilder()
    id = conversation.call()
    for _ in range(100):
        conversation.receive(method="notifications/tools/list_changed")
    conversation.response(id)
    assert roles(related_messages(conversation.log, 0)) == [(0, "request"), (101, "response")]


def test_request_is_included_even_if_it_does_not_know_its_operation() -> None:
    conversation = TrafficBuilder()
    request, response = conversation.call(), conversation.stderr()
    assert request
    conversation.log.set_operation(0, -1)
    conversation.log.set_operation(response, 0)
    assert [step.row for step in related_messages(conversation.log, response).steps] == [0, response]


def test_steps_of_another_run_are_placed_by_the_wall_clock() -> None:
    log = TrafficLog()
    server = log.add_server("srv")
    log.append(server, RecordKind.REQUEST, Direction.OUT, 5_000_000 * MS, 10_000 * MS, b"{}")
    log.append(server, RecordKind.REQUEST, Direction.OUT, 7 * MS, 70_000 * MS, b"{}")
    for row in (0, 1):
        log.set_operation(row, row)
    log.set_resent_of(1, 0)
    log.publish()
    (first, again) = related_messages(log, 0).steps
    assert (first.offset_ns, again.offset_ns, again.role) == (0, 60_000 * MS, Role.RESENT)
