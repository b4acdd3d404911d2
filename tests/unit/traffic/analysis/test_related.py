"""Everything around one message, in order, and bounded."""

from __future__ import annotations

import pytest

from inspector.base.json.values import JSONObject
from inspector.protocol import jsonrpc
from inspector.protocol.jsonrpc import read
from inspector.traffic.analysis import related as follow_module
from inspector.traffic.analysis.related import RelatedMessages, Role, related_messages
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, RecordKind
from tests.unit.traffic.traffic_stage import MS, Talk


def roles(story: RelatedMessages) -> list[tuple[int, str]]:
    return [(step.row, step.role.value) for step in story.steps]


def test_call_is_followed_from_request_to_response_with_everything_in_between() -> None:
    talk = Talk("a", "b")
    talk.stderr()
    id = talk.call("x", 0, _meta={"progressToken": 1})
    talk.pass_ms(5)
    talk.receive(method="notifications/progress", params={"progressToken": 1})
    talk.log_message()
    talk.log_message(1)
    talk.stderr()
    talk.stderr(1)
    talk.receive(method="notifications/tools/list_changed")
    talk.receive(id=7, method="elicitation/create")
    talk.recorders[0].sent(jsonrpc.result(7, {}))
    talk.recorders[0].note(RecordKind.LOCAL, "something of ours")
    talk.pass_ms(5)
    talk.answer(id)
    talk.stderr()
    story = related_messages(talk.log, 1)
    assert roles(story) == [
        (1, "request"),
        (2, "progress"),
        (3, "log"),
        (5, "stderr"),
        (8, "question"),
        (9, "reply"),
        (10, "event"),
        (11, "response"),
    ]
    assert [step.offset_ns // MS for step in story.steps] == [0, 5, 5, 5, 5, 5, 5, 10]
    assert (story.operation, story.left_out, story.note) == (1, 0, "")


@pytest.mark.parametrize("row", range(4))
def test_operation_is_the_same_from_any_of_its_rows(row: int) -> None:
    talk = Talk()
    id = talk.call()
    asked: JSONObject = {"resultType": "input_required", "requestState": "s"}
    talk.answer(id, asked)
    talk.answer(talk.call("echo", 0, requestState="s"))
    assert roles(related_messages(talk.log, row)) == [
        (0, "request"),
        (1, "response"),
        (2, "retry"),
        (3, "response"),
    ]


def test_task_messages_belong_to_the_operation() -> None:
    talk = Talk()
    talk.answer(talk.call(), {"task": {"taskId": "t"}})
    talk.answer(talk.send("tasks/get", 0, taskId="t"))
    talk.receive(method="notifications/tasks/status", params={"taskId": "t"})
    assert [role for _, role in roles(related_messages(talk.log, 0))] == [
        "request",
        "response",
        "task",
        "response",
        "task",
    ]


def test_pending_operation_continues_to_the_latest_row() -> None:
    talk = Talk()
    talk.call()
    talk.log_message()
    assert roles(related_messages(talk.log, 0)) == [(0, "request"), (1, "log")]


def test_log_message_on_the_http_exchange_of_another_call_belongs_to_that_call() -> None:
    talk = Talk()
    for exchange in (1, 2):
        talk.call()
        talk.post(exchange, len(talk.log) - 1)
    talk.log_message(0, 2)
    assert roles(related_messages(talk.log, 0)) == [(0, "request"), (1, "HTTP")]
    assert roles(related_messages(talk.log, 2)) == [(2, "request"), (3, "HTTP"), (4, "log")]


def test_resent_request_and_its_original_link_to_each_other() -> None:
    talk = Talk()
    talk.answer(talk.call())
    talk.recorders[0].sent(jsonrpc.request(9, "tools/call", {"name": "echo"}), resent_of=0)
    assert roles(related_messages(talk.log, 0)) == [(0, "request"), (1, "response"), (2, "resent")]
    assert roles(related_messages(talk.log, 2)) == [(0, "original"), (2, "request")]
    assert related_messages(talk.log, 2).operation == 2


def test_row_without_an_operation_has_its_counterpart_and_its_exchange() -> None:
    talk = Talk()
    talk.receive(id=1, method="ping")
    talk.recorders[0].sent(jsonrpc.result(1, {}))
    stderr = talk.stderr()
    http = talk.post(1, -1)
    on_it = talk.receive(0, 1, method="notifications/tools/list_changed")
    assert (
        roles(related_messages(talk.log, 0))
        == roles(related_messages(talk.log, 1))
        == [(0, "question"), (1, "reply")]
    )
    assert roles(related_messages(talk.log, stderr)) == [(stderr, "stderr")]
    assert (
        roles(related_messages(talk.log, http))
        == roles(related_messages(talk.log, on_it))
        == [(http, "HTTP"), (on_it, "other")]
    )


def test_a_batch_is_a_request_and_a_response() -> None:
    talk = Talk()
    talk.recorders[0].sent(read(b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]'))
    talk.recorders[0].received([read(b'[{"jsonrpc":"2.0","id":1,"result":{}}]')], 0)
    assert roles(related_messages(talk.log, 0)) == [(0, "request"), (1, "response")]


# ------------------------------------------------------------------ bounds


def test_too_many_steps_are_truncated_to_the_first_and_last() -> None:
    talk = Talk()
    id = talk.call()
    for _ in range(100):
        talk.log_message()
    talk.answer(id)
    story = related_messages(talk.log, 0, most=10)
    assert [step.row for step in story.steps] == [0, 1, 2, 3, 4, 97, 98, 99, 100, 101]
    assert story.left_out == 92


def test_unscanned_rows_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow_module, "_SPAN", 10)
    talk = Talk()
    id = talk.call()
    for _ in range(100):
        talk.log_message()
    talk.answer(id)
    story = related_messages(talk.log, 0)
    assert [step.row for step in story.steps] == [*range(10), 101]
    assert story.note.startswith("Logs and stderr were looked for in the first 10 of 101 rows")


def test_response_is_included_however_far_away_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow_module, "_MEMBER_SPAN", 10)
    talk = Talk()
    id = talk.call()
    for _ in range(100):
        talk.receive(method="notifications/tools/list_changed")
    talk.answer(id)
    assert roles(related_messages(talk.log, 0)) == [(0, "request"), (101, "response")]


def test_request_is_included_even_if_it_does_not_know_its_operation() -> None:
    talk = Talk()
    request, answer = talk.call(), talk.stderr()
    assert request
    talk.log.belongs_to(0, -1)
    talk.log.belongs_to(answer, 0)
    assert [step.row for step in related_messages(talk.log, answer).steps] == [0, answer]


def test_steps_of_another_run_are_placed_by_the_wall_clock() -> None:
    log = TrafficLog()
    server = log.add_server("srv")
    log.append(server, RecordKind.REQUEST, Direction.OUT, 5_000_000 * MS, 10_000 * MS, b"{}")
    log.append(server, RecordKind.REQUEST, Direction.OUT, 7 * MS, 70_000 * MS, b"{}")
    for row in (0, 1):
        log.belongs_to(row, row)
    log.set_resent_of(1, 0)
    log.publish()
    (first, again) = related_messages(log, 0).steps
    assert (first.offset_ns, again.offset_ns, again.role) == (0, 60_000 * MS, Role.RESENT)
