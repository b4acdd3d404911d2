"""Comparison of messages, exchanges and captures."""

from __future__ import annotations

import pytest

from inspector.base.errors import UserError
from inspector.base.json.values import JSON
from inspector.protocol import jsonrpc
from inspector.traffic.compare.captures import CaptureDiff, PairStatus
from inspector.traffic.compare.diff import IGNORE_NOTHING, IgnoreOptions
from inspector.traffic.compare.lines import Line, lines
from inspector.traffic.compare.messages import compare_exchanges, compare_messages
from inspector.traffic.log import TrafficLog
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import Direction, RecordKind
from tests.helpers.fakes import FakeClock
from tests.helpers.playbook import message


def compare_captures(
    left: TrafficLog, right: TrafficLog, ignoring: IgnoreOptions = IGNORE_NOTHING
) -> CaptureDiff:
    diff = CaptureDiff(left, right, ignoring)
    for _ in diff.steps():
        pass
    return diff


class Capture:
    """A log built call by call."""

    def __init__(self, server: str = "srv", first_id: int = 1) -> None:
        self.log = TrafficLog()
        self.clock = FakeClock()
        self.recorder = Recorder(self.log, server, self.clock)
        self._id = first_id

    def call(self, tool: str, result: JSON, seconds: float = 0.01, **arguments: JSON) -> int:
        """One call and its answer (an error when the result is a text); gives the request's row."""
        id, self._id = self._id, self._id + 1
        row = self.recorder.sent(jsonrpc.request(id, "tools/call", {"name": tool, "arguments": arguments}))
        self.clock.advance(seconds)
        if isinstance(result, str):
            response = message(id=id, error={"code": -1, "message": result})
        else:
            response = message(id=id, result=result)
        self.recorder.received([response], self.clock.monotonic_ns())
        return row

    def ask(self, method: str) -> int:
        id, self._id = self._id, self._id + 1
        return self.recorder.sent(jsonrpc.request(id, method, {}))


def test_messages_of_two_captures_are_compared() -> None:
    left, right = Capture(), Capture(first_id=9)
    left.call("add", {"sum": 3}, a=1)
    right.call("add", {"sum": 4}, a=1)
    diff = compare_messages(left.log, 1, right.log, 1, IgnoreOptions(ids=True))
    assert [diff.path_text(index) for index, _ in diff.differences()] == ["result.sum"]


def test_truncated_message_is_mentioned() -> None:
    log = TrafficLog()
    log.append(log.add_server("srv"), RecordKind.RESULT, Direction.IN, 0, 0, b'{"id"', size=9_000)
    log.append(0, RecordKind.RESULT, Direction.IN, 0, 0, b"{}")
    log.publish()
    note = compare_messages(log, 0, log, 1).note
    assert "Only the first 5 B of 8.8 KiB of the left message were saved." in note


@pytest.mark.parametrize("rows", [(0, 0), (1, 1), (0, 1)])
def test_an_exchange_is_compared_from_either_of_its_rows(rows: tuple[int, int]) -> None:
    left, right = Capture(), Capture()
    left.call("add", {"sum": 3}, 0.01, a=1)
    right.call("add", "failed", 0.5, a=2)
    diff = compare_exchanges(left.log, rows[0], right.log, rows[1])
    assert diff.request is not None
    assert diff.response is not None
    assert diff.request.summary() == "1 change"
    assert diff.response.summary() == "1 addition, 1 removal"
    assert not diff.is_same
    facts = {fact.name: (fact.left, fact.right) for fact in diff.facts if fact.is_different}
    assert (facts["Status"], facts["Duration"]) == (("ok", "error"), ("10 ms", "500 ms"))
    assert "Method" not in facts


def test_unanswered_exchange_is_compared_with_an_answered_one() -> None:
    left, right = Capture(), Capture()
    left.ask("ping")
    right.ask("ping")
    right.recorder.received([message(id=1, result={})], 0)
    diff = compare_exchanges(left.log, 0, right.log, 0)
    assert diff.request is not None
    assert diff.request.is_same
    assert diff.response is not None
    assert diff.response.note == "The left side has no such message."
    rows = [(row.left, row.right) for row in lines(diff.response) if isinstance(row, Line)]
    assert rows[:2] == [("", "{3 members}"), ("", 'jsonrpc: "2.0"')]
    assert compare_exchanges(left.log, 0, left.log, 0).response is None


def test_captures_are_aligned_by_request() -> None:
    left, right = Capture("old"), Capture("new", first_id=40)
    left.call("add", {"sum": 3}, a=1)
    left.call("echo", {"text": "x"})
    left.call("gone", {})
    left.call("fail", {})
    right.call("add", {"sum": 3}, a=1)
    right.call("new", {})
    right.call("echo", {"text": "y"})
    right.call("fail", "no")
    diff = compare_captures(left.log, right.log)
    assert [diff.pair(number).status for number in range(len(diff))] == [
        PairStatus.SAME,
        PairStatus.ONLY_RIGHT,
        PairStatus.OTHER_BYTES,
        PairStatus.ONLY_LEFT,
        PairStatus.OTHER_STATUS,
    ]
    assert (diff.pair(1).left, diff.pair(1).right) == (None, 2)
    assert diff.pairs(PairStatus.ONLY_LEFT, PairStatus.ONLY_RIGHT) == [1, 3]


def test_undecided_pairs_are_compared_on_demand() -> None:
    left, right = Capture(), Capture(first_id=7)
    for capture, moment, text in ((left, "10:00:00", "a"), (right, "10:00:01", "b")):
        capture.call("clock", {"now": f"2026-01-02T{moment}Z"})
        capture.call("text", {"text": text})
        capture.call("alone" + text, {})
    diff = compare_captures(left.log, right.log, IgnoreOptions(ids=True, times=True))
    looked = [diff.compare_pair(number) for number in range(4)]
    assert [one is not None and one.is_same for one in looked] == [True, False, False, False]
    assert [diff.pair(number).status for number in range(2)] == [PairStatus.SAME, PairStatus.DIFFERENT]


def test_tools_are_compared_by_count_errors_and_median_duration() -> None:
    left, right = Capture(), Capture()
    for seconds in (0.1, 0.2, 0.9):
        left.call("add", {}, seconds)
    right.call("add", "no", 0.4)
    right.ask("ping")
    add, ping = compare_captures(left.log, right.log).subjects()
    assert (add.method, add.subject, add.counts, add.errors) == ("tools/call", "add", (3, 1), (0, 1))
    assert add.medians_ns == (200_000_000, 400_000_000)
    assert (ping.method, ping.counts, ping.medians_ns) == ("ping", (0, 1), (None, None))
    assert add.is_different
    assert not compare_captures(left.log, left.log).subjects()[0].is_different


def test_progress_is_monotonic_and_empty_captures_are_compared() -> None:
    assert len(compare_captures(TrafficLog(), TrafficLog())) == 0
    left, right = big_log(3_000, missing=1_000), big_log(3_000, missing=2_000)
    diff = CaptureDiff(left, right)
    shares = list(diff.steps())
    assert shares == sorted(shares)
    assert shares[-1] <= 1
    assert len(diff.pairs(PairStatus.ONLY_LEFT)) == len(diff.pairs(PairStatus.ONLY_RIGHT)) == 1
    assert len(diff) == 3_000


def test_big_bodies_are_compared_one_per_step() -> None:
    capture = Capture()
    for _ in range(5):
        capture.call("x", {"text": "y" * 1024 * 1024})
    shares = list(CaptureDiff(capture.log, capture.log).steps())
    assert [share for share in shares if share > 0.6] == pytest.approx([0.68, 0.76, 0.84, 0.92])


def test_invalid_ignore_path_is_reported_immediately() -> None:
    with pytest.raises(UserError):
        CaptureDiff(TrafficLog(), TrafficLog(), IgnoreOptions(names="("))


def big_log(count: int, missing: int) -> TrafficLog:
    log = TrafficLog()
    server = log.add_server("srv")
    for number in range(count):
        if number != missing:
            raw = b'{"id":%d}' % number
            log.append(server, RecordKind.REQUEST, Direction.OUT, 0, 0, raw, "m", f"s{number % 7}", number)
    log.publish()
    return log
