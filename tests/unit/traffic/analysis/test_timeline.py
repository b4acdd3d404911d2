"""Timeline: positions of bars, what is painted, and that the cost depends on the pixels."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSONObject
from inspector.protocol import jsonrpc
from inspector.traffic.analysis import timeline as timeline_module
from inspector.traffic.analysis.lanes import MAX_SUBROWS, Lane, Piece
from inspector.traffic.analysis.timeline import MarkKind, Timeline
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, RecordKind, Status
from tests.unit.traffic.traffic_stage import MS, WALL, Action, TrafficBuilder, actions

ASKED: JSONObject = {"resultType": "input_required", "requestState": "s"}


def timeline_of(log: TrafficLog) -> Timeline:
    timeline = Timeline(log)
    timeline.extend(range(len(log)))
    return timeline


def bars(timeline: Timeline, log: TrafficLog) -> dict[int, tuple[int, int | None, Status]]:
    """Return start and end in milliseconds, and the status, by operation."""
    found = {}
    for operation in range(len(log)):
        bar = timeline.bar(operation) if log.operation(operation) == operation else None
        if bar is not None:
            end = None if bar.end_ns is None else (bar.end_ns - WALL) // MS
            found[operation] = ((bar.start_ns - WALL) // MS, end, bar.status)
    return found


def test_bar_spans_from_the_request_to_its_response() -> None:
    conversation = TrafficBuilder()
    id = conversation.call()
    conversation.pass_ms(5)
    conversation.receive(id=id, error={"code": 1, "message": ""})
    timeline = timeline_of(conversation.log)
    assert bars(timeline, conversation.log) == {0: (0, 5, Status.ERROR)}
    assert len(timeline) == 1
    assert timeline.span() == (WALL, WALL + 5 * MS)


def test_bar_is_open_until_its_response_arrives() -> None:
    conversation = TrafficBuilder()
    id = conversation.call()
    timeline = timeline_of(conversation.log)
    assert bars(timeline, conversation.log) == {0: (0, None, Status.PENDING)}
    conversation.pass_ms(5)
    conversation.response(id)
    assert timeline.refresh(conversation.log.touched) is True
    assert bars(timeline, conversation.log) == {0: (0, 5, Status.OK)}


def test_rounds_are_one_bar_and_the_time_between_them_is_user_time() -> None:
    conversation = TrafficBuilder()
    first = conversation.call()
    conversation.pass_ms(5)
    conversation.response(first, ASKED)
    conversation.pass_ms(1000)
    second = conversation.call("echo", 0, requestState="s")
    conversation.pass_ms(5)
    conversation.response(second)
    timeline = timeline_of(conversation.log)
    assert bars(timeline, conversation.log) == {0: (0, 1010, Status.OK)}
    assert timeline.waits(0) == ((WALL + 5 * MS, WALL + 1005 * MS),)


def test_server_request_is_user_time_until_our_reply() -> None:
    conversation = TrafficBuilder()
    conversation.call()
    conversation.receive(id=7, method="elicitation/create", params={})
    timeline = timeline_of(conversation.log)
    assert timeline.waits(0) == ((WALL, None),)
    conversation.pass_ms(30)
    conversation.recorders[0].sent(jsonrpc.result(7, {}))
    assert timeline.waits(0) == ((WALL, WALL + 30 * MS),)


def test_task_bar_continues_with_its_polls_and_polling_is_not_user_time() -> None:
    conversation = TrafficBuilder()
    conversation.response(conversation.call(), {"task": {"taskId": "t"}})
    conversation.pass_ms(10)
    conversation.response(conversation.send("tasks/get", 0, taskId="t"))
    conversation.pass_ms(10)
    result = conversation.send("tasks/result", 0, taskId="t")
    poll = conversation.send("tasks/get", 0, taskId="t")
    conversation.response(poll)
    timeline = timeline_of(conversation.log)
    assert bars(timeline, conversation.log) == {0: (0, None, Status.PENDING)}
    conversation.pass_ms(10)
    conversation.response(result, {"isError": True})
    timeline.refresh(conversation.log.touched)
    assert bars(timeline, conversation.log) == {0: (0, 30, Status.TOOL_ERROR)}
    assert timeline.waits(0) == ()


def test_cancelled_call_ends_with_its_last_known_row() -> None:
    conversation = TrafficBuilder()
    id = conversation.call("x", 0, _meta={"progressToken": 1})
    timeline = timeline_of(conversation.log)
    conversation.pass_ms(5)
    timeline.extend([conversation.receive(method="notifications/progress", params={"progressToken": 1})])
    conversation.pass_ms(5)
    conversation.recorders[0].end_request(id, Status.CANCELLED)
    timeline.refresh(conversation.log.touched)
    assert bars(timeline, conversation.log) == {0: (0, 5, Status.CANCELLED)}
    cancel = jsonrpc.notification("notifications/cancelled", {"requestId": id})
    timeline.extend([conversation.recorders[0].sent(cancel)])
    assert bars(timeline, conversation.log) == {0: (0, 10, Status.CANCELLED)}


def test_any_row_of_an_operation_adds_its_whole_bar() -> None:
    conversation = TrafficBuilder()
    id = conversation.call()
    conversation.pass_ms(5)
    conversation.response(id)
    conversation.call()
    timeline = Timeline(conversation.log)
    timeline.extend([1])
    assert bars(timeline, conversation.log) == {0: (0, 5, Status.OK)}
    assert timeline.where(2) is None
    assert timeline.refresh([2]) is False


def test_marks_say_what_happened_inside() -> None:
    conversation = TrafficBuilder()
    id = conversation.call("x", 0, _meta={"progressToken": 1})
    http = conversation.post(1, 0)
    conversation.pass_ms(5)
    conversation.recorders[0].http.event(
        1, "event: message", conversation.clock.monotonic_ns(), conversation.clock.wall_ns()
    )
    conversation.receive(0, 1, method="notifications/progress", params={"progressToken": 1})
    conversation.log_message()
    conversation.recorders[0].http.update(1, first_byte_ns=3 * MS)
    conversation.response(id, ASKED)
    conversation.response(conversation.call("x", 0, requestState="s"), {"task": {"taskId": "t"}})
    conversation.response(conversation.send("tasks/get", 0, taskId="t"))
    marks = timeline_of(conversation.log).marks(0)
    assert [(mark.kind, (mark.at_ns - WALL) // MS) for mark in marks] == [
        (MarkKind.FIRST_BYTE, 3),
        (MarkKind.SSE, 5),
        (MarkKind.PROGRESS, 5),
        (MarkKind.LOG, 5),
        (MarkKind.ROUND, 5),
        (MarkKind.POLL, 5),
    ]
    assert marks[0].row == http


def append(log: TrafficLog, monotonic: int, wall: int, duration: int | None) -> int:
    row = log.append(0, RecordKind.REQUEST, Direction.OUT, monotonic, wall, b"{}", "tools/call")
    log.set_operation(row, row)
    if duration is not None:
        response = log.append(
            0, RecordKind.RESULT, Direction.IN, monotonic + duration, wall + duration, b"{}"
        )
        log.link(row, response, Status.OK)
        log.set_operation(response, row)
    return row


def test_runs_are_placed_by_wall_clock_and_measured_by_monotonic_clock() -> None:
    log = TrafficLog()
    log.add_server("srv")
    first = append(log, 10**15, WALL, 5 * MS)
    second = append(log, 10**15 + 20 * MS, WALL + 21 * MS, 5 * MS)  # the wall clock runs a little fast
    third = append(log, 10**6, WALL + 10**12, 5 * MS)  # another run
    log.publish()
    timeline = timeline_of(log)
    assert [timeline.where(row) for row in (first, second, third)] == [
        (WALL, WALL + 5 * MS, 0, 0),
        (WALL + 20 * MS, WALL + 25 * MS, 0, 0),
        (WALL + 10**12, WALL + 10**12 + 5 * MS, 0, 0),
    ]


def test_operation_pending_at_the_end_of_its_run_does_not_stay_open() -> None:
    log = TrafficLog()
    log.add_server("srv")
    lost = append(log, 10**15, WALL, None)
    append(log, 10**15 + 20 * MS, WALL + 20 * MS, 5 * MS)
    append(log, 10**6, WALL + 10**12, 5 * MS)
    log.publish()
    bar = timeline_of(log).bar(lost)
    assert bar is not None
    assert (bar.start_ns, bar.end_ns, bar.status) == (WALL, WALL + 25 * MS, Status.PENDING)


def test_unreasonable_times_are_harmless() -> None:
    """A file may hold any number."""
    log = TrafficLog()
    log.add_server("srv")
    for monotonic, wall in ((-(2**62), 2**63 - 20), (2**63 - 2**40, 0), (0, 0)):
        row = append(log, monotonic, wall, 10)
        log.columns.duration[row] = 2**63 - 1
    log.publish()
    timeline = timeline_of(log)
    span = timeline.span()
    assert span is not None
    assert sum(timeline.overview(100).counts) == 3
    assert len(timeline.window(*span, 100)[0].pieces) <= 202


@given(actions, st.lists(st.integers(0, 60), max_size=5))
def test_bars_built_incrementally_equal_those_of_the_whole(script: list[Action], cuts: list[int]) -> None:
    conversation = TrafficBuilder("a", "b")
    live = Timeline(conversation.log)
    seen = touched = 0
    for index, action in enumerate([*script, ("log", 0, 0)]):
        conversation.play(action)
        if index in cuts or index == len(script):
            live.refresh(conversation.log.touched[touched:])
            live.extend(range(seen, len(conversation.log)))
            touched, seen = len(conversation.log.touched), len(conversation.log)
    whole = timeline_of(conversation.log)
    assert bars(live, conversation.log) == bars(whole, conversation.log)
    assert live.span() == whole.span()
    assert [live.waits(row) for row in range(seen)] == [whole.waits(row) for row in range(seen)]
    for timeline in (live, whole):
        check_paint(timeline, conversation.log)


def check_paint(timeline: Timeline, log: TrafficLog) -> None:
    start, end = timeline.span() or (0, 0)
    operations = [row for row in range(len(log)) if log.operation(row) == row]
    lanes = timeline.window(start, end + 1, 10**6)
    assert sum(piece.bars for lane in lanes for piece in lane.pieces) == len(operations) == len(timeline)
    for lane in lanes:
        for number in range(MAX_SUBROWS):
            check_no_overlap([piece for piece in lane.pieces if piece.subrow == number])
    for row in operations:
        position = timeline.where(row)
        assert position is not None
        assert position.server == log.server(row)
        if position.subrow < MAX_SUBROWS:
            assert timeline.at(position.start_ns, position.server, position.subrow) == row


def check_no_overlap(pieces: list[Piece]) -> None:
    for one, following in pairwise(pieces):
        assert one.end_ns is not None
        assert one.end_ns <= following.start_ns


spans = st.tuples(st.integers(0, 10_000), st.integers(1, 400) | st.integers(1, 10_000))


@given(st.lists(spans, max_size=150), st.integers(1, 60), st.integers(0, 9000), st.integers(1, 9000))
def test_a_window_never_has_more_to_paint_than_its_pixels_allow(
    shapes: list[tuple[int, int]], width: int, t0: int, length: int
) -> None:
    """In any order of arrival: a start may be earlier than the previous one."""
    lane = Lane()
    for operation, (start, duration) in enumerate(shapes):
        lane.place(start, start + duration, operation)
    pixel = -(-length // width)
    for subrow in lane.all():
        pieces = subrow.pieces(t0, t0 + length, pixel)
        assert len(pieces) <= 2 * width + 2
        if not subrow.is_overflow:
            check_no_overlap(pieces)
        inside = [
            start
            for start, end in zip(subrow.starts, subrow.ends, strict=True)
            if t0 <= start < t0 + length or (not subrow.is_overflow and start < t0 < end)
        ]
        assert sum(piece.bars for piece in pieces) >= len(inside)
        assert all(piece.bars == 1 for piece in pieces if _is_wide(piece, pixel) and not subrow.is_overflow)


def _is_wide(piece: Piece, pixel: int) -> bool:
    return piece.end_ns is None or piece.end_ns - piece.start_ns >= 2 * pixel


def crowd(count: int, servers: int = 1, max_length: int = 3 * MS) -> TrafficLog:
    """Concurrent calls to several servers; one in a hundred fails."""
    log = TrafficLog()
    for number in range(servers):
        log.add_server(f"srv{number}")
    rng = random.Random(7)
    for number in range(count):
        at = number * MS // 2
        row = log.append(
            number % servers, RecordKind.REQUEST, Direction.OUT, at, WALL + at, b"", "tools/call"
        )
        log.set_operation(row, row)
        log.columns.duration[row] = rng.randrange(max_length)
        log.columns.status[row] = Status.ERROR if number % 100 == 99 else Status.OK
    log.publish()
    return log


def test_many_operations_are_merged_and_show_the_worst_status() -> None:
    timeline = timeline_of(crowd(20_000))
    start, end = timeline.span() or (0, 0)
    (lane,) = timeline.window(start, end + 1, 100)
    assert lane.name == "srv0"
    assert sum(piece.bars for piece in lane.pieces) == 20_000
    assert len(lane.pieces) <= (2 * 100 + 2) * lane.subrows
    assert Status.ERROR in {piece.status for piece in lane.pieces if piece.bars > 10}


def test_few_operations_are_separate_bars() -> None:
    timeline = timeline_of(crowd(20_000))
    (lane,) = timeline.window(WALL + 100 * MS, WALL + 105 * MS, 1000)
    assert all(piece.bars == 1 for piece in lane.pieces)
    assert 10 <= len(lane.pieces) <= 20


def test_crowded_lanes_share_the_paint_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_module, "_MAX_PIECES", 500)
    timeline = timeline_of(crowd(20_000, servers=5, max_length=30 * MS))
    start, end = timeline.span() or (0, 0)
    lanes = timeline.window(start, end + 1, 1000)
    assert sum(len(lane.pieces) for lane in lanes) <= 2 * 500 + 2 * sum(lane.subrows for lane in lanes)
    assert sum(piece.bars for lane in lanes for piece in lane.pieces) == 20_000


def test_only_requested_lanes_are_returned() -> None:
    timeline = timeline_of(crowd(100, servers=3))
    assert [lane.server for lane in timeline.window(WALL, WALL + 10**9, 100, servers=[2, 0])] == [0, 2]


def test_overflow_beyond_the_sub_rows_is_merged_into_the_last() -> None:
    timeline = timeline_of(crowd(100, max_length=10**12))
    (lane,) = timeline.window(WALL, WALL + 10**12, 500)
    assert lane.subrows == MAX_SUBROWS + 1
    beyond = [piece for piece in lane.pieces if piece.subrow == MAX_SUBROWS]
    assert sum(piece.bars for piece in lane.pieces) == 100
    assert sum(piece.bars for piece in beyond) > 50
    operation = timeline.at(beyond[0].start_ns, 0, MAX_SUBROWS)
    assert operation == beyond[0].operation


def test_overview_counts_every_operation_at_its_start() -> None:
    timeline = timeline_of(crowd(1000))
    overview = timeline.overview(50)
    assert sum(overview.counts) == 1000
    assert all(15 <= count <= 25 for count in overview.counts)
    assert overview.statuses.count(Status.ERROR) == 10
    assert (overview.start_ns, overview.end_ns) == timeline.span()


def test_empty_log_has_nothing_to_paint() -> None:
    timeline = timeline_of(TrafficLog())
    assert timeline.window(0, 1, 100) == ()
    assert timeline.overview(100).counts == ()
    assert timeline.span() is None
    assert timeline.at(0, 0, 0) is None


def test_a_bar_too_small_to_hit_is_found_next_to_the_pointer() -> None:
    conversation = TrafficBuilder()
    conversation.response(conversation.call())
    conversation.pass_ms(100)
    conversation.response(conversation.call())
    timeline = timeline_of(conversation.log)
    assert timeline.at(WALL + 3 * MS, 0, 0) is None
    assert timeline.at(WALL + 3 * MS, 0, 0, slack=5 * MS) == 0
    assert timeline.at(WALL + 97 * MS, 0, 0, slack=5 * MS) == 2
    assert timeline.at(WALL, 5, 0) is None
    assert timeline.at(WALL, 0, 7) is None
