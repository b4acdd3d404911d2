"""Statistics by method and tool: counts, incremental updates, and percentile accuracy."""

from __future__ import annotations

from itertools import pairwise
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.protocol import jsonrpc
from inspector.traffic.analysis import statistics as statistics_module
from inspector.traffic.analysis.statistics import (
    OTHERS,
    PERCENTILE_ERROR,
    Latencies,
    MethodStats,
    RateSeries,
    Statistics,
)
from tests.unit.traffic.traffic_stage import MS, WALL, Action, TrafficBuilder, actions


def counted(conversation: TrafficBuilder, *rows: int) -> dict[tuple[str, str], MethodStats]:
    """Return the statistics of these rows, or of all, by method and subject."""
    statistics = Statistics(conversation.log)
    statistics.extend(rows or range(len(conversation.log)))
    return {(one.method, one.subject): one for one in statistics.summary()}


def test_call_and_response_are_counted_once_with_both_sizes() -> None:
    conversation = TrafficBuilder()
    id = conversation.call("add")
    conversation.pass_ms(42)
    conversation.response(id)
    whole, part = counted(conversation)["tools/call", ""], counted(conversation)["tools/call", "add"]
    assert (whole.count, whole.errors, whole.waiting) == (1, 0, 0)
    assert (whole.bytes_out, whole.bytes_in) == (conversation.log.size(0), conversation.log.size(1))
    assert whole.max_ns == whole.mean_ns == whole.p50_ns == whole.p99_ns == 42 * MS
    assert part.count == 1
    assert (part.server, part.is_ours) == ("srv", True)


@pytest.mark.parametrize("rows", [(0,), (1,), (0, 1)])
def test_exchange_counts_when_either_of_its_rows_matches_the_filter(rows: tuple[int, ...]) -> None:
    conversation = TrafficBuilder()
    id = conversation.call()
    conversation.pass_ms(5)
    conversation.receive(id=id, error={"code": 1, "message": ""})
    stats = counted(conversation, *rows)["tools/call", ""]
    assert (stats.count, stats.errors, stats.p50_ns) == (1, 1, 5 * MS)


def test_each_outcome_is_counted() -> None:
    conversation = TrafficBuilder()
    for action in ("error", "tool error", "cancel", "time out", "answer"):
        conversation.play(("call", 0, 0))
        conversation.play((action, 0, 0))
    conversation.play(("call", 0, 0))
    stats = counted(conversation)["tools/call", ""]
    assert (stats.count, stats.errors, stats.tool_errors) == (6, 1, 1)
    assert (stats.cancelled, stats.timed_out, stats.no_response, stats.waiting) == (1, 1, 0, 1)
    assert stats.incomplete == 2


def test_pending_request_is_settled_when_its_response_arrives() -> None:
    conversation = TrafficBuilder()
    statistics = Statistics(conversation.log)
    id = conversation.call()
    statistics.extend([0])
    conversation.pass_ms(7)
    conversation.response(id)
    statistics.extend([1])
    assert statistics.summary()[0].waiting == 1
    assert statistics.refresh([0, 0, 1]) is True
    (whole, _) = statistics.summary()
    assert (whole.waiting, whole.count, whole.max_ns) == (0, 1, 7 * MS)
    assert statistics.refresh([0]) is False


def test_notifications_and_requests_of_both_sides_are_counted_separately() -> None:
    conversation = TrafficBuilder("a", "b")
    conversation.response(conversation.send("ping"))
    conversation.receive(id=9, method="ping")
    conversation.log_message(1)
    statistics = Statistics(conversation.log)
    statistics.extend(range(len(conversation.log)))
    assert [(one.server, one.method, one.is_ours, one.count) for one in statistics.summary()] == [
        ("a", "ping", True, 1),
        ("a", "ping", False, 1),
        ("b", "notifications/message", False, 1),
    ]


def test_rows_without_a_method_are_in_no_group() -> None:
    conversation = TrafficBuilder()
    conversation.stderr()
    conversation.response(99)  # to nothing that was asked
    conversation.post(1, -1)
    assert counted(conversation) == {}


def test_user_time_is_excluded_from_latency() -> None:
    conversation = TrafficBuilder()
    id = conversation.call()
    conversation.pass_ms(10)
    conversation.receive(id=1, method="elicitation/create", params={})
    conversation.pass_ms(5000)
    conversation.recorders[0].sent(jsonrpc.result(1, {}))
    conversation.pass_ms(10)
    conversation.response(id)
    call, input_request = (
        counted(conversation)["tools/call", ""],
        counted(conversation)["elicitation/create", ""],
    )
    assert (call.p50_ns, call.user_wait_ns) == (20 * MS, 5000 * MS)
    assert (input_request.p50_ns, input_request.user_wait_ns, input_request.count) == (None, 5000 * MS, 1)


def test_two_simultaneous_requests_are_not_counted_twice() -> None:
    conversation = TrafficBuilder()
    id = conversation.call()
    for input_request in (1, 2):
        conversation.receive(id=input_request, method="sampling/createMessage", params={})
        conversation.pass_ms(100)
    for input_request in (1, 2):
        conversation.recorders[0].sent(jsonrpc.result(input_request, {}))
        conversation.pass_ms(100)
    conversation.response(id)
    call = counted(conversation)["tools/call", ""]
    assert (call.user_wait_ns, call.p50_ns) == (300 * MS, 100 * MS)


def test_roots_request_is_timed_without_user_time() -> None:
    conversation = TrafficBuilder()
    conversation.receive(id=1, method="roots/list")
    conversation.pass_ms(3)
    conversation.recorders[0].sent(jsonrpc.result(1, {}))
    stats = counted(conversation)["roots/list", ""]
    assert (stats.p50_ns, stats.user_wait_ns) == (3 * MS, 0)


@given(actions, st.lists(st.integers(0, 60), max_size=5), st.booleans())
def test_incremental_slices_give_the_same_result_as_all_at_once(
    script: list[Action], cuts: list[int], is_sparse: bool
) -> None:
    conversation = TrafficBuilder("a", "b")
    live = Statistics(conversation.log)
    seen = touched = 0
    for index, action in enumerate([*script, ("log", 0, 0)]):
        conversation.play(action)
        if index in cuts or index == len(script):
            live.refresh(conversation.log.touched[touched:])
            rows = range(seen, len(conversation.log))
            live.extend(list(rows) if is_sparse else rows)
            touched, seen = len(conversation.log.touched), len(conversation.log)
    whole = Statistics(conversation.log)
    whole.extend(range(len(conversation.log)))
    assert live.summary() == whole.summary()
    assert live.rate(50) == whole.rate(50)


def test_subjects_beyond_the_limit_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics_module, "_MAX_SUBJECTS", 2)
    conversation = TrafficBuilder()
    for tool in ("a", "b", "c", "d", "a"):
        conversation.call(tool)
    stats = counted(conversation)
    assert {subject: one.count for (_, subject), one in stats.items()} == {"": 5, "a": 2, "b": 1, OTHERS: 2}


durations = st.lists(st.integers(0, 10**13) | st.integers(0, 200), min_size=1, max_size=200)


@given(durations, st.sampled_from([0.5, 0.95, 0.99, 1.0]))
def test_percentiles_are_within_the_documented_error(values: list[int], fraction: float) -> None:
    latencies = Latencies()
    for value in values:
        latencies.add(value)
    exact = sorted(values)[max(1, ceil(fraction * len(values))) - 1]
    (found,) = latencies.percentiles([fraction])
    assert found is not None
    assert abs(found - exact) <= exact * PERCENTILE_ERROR
    assert (latencies.minimum, latencies.maximum) == (min(values), max(values))
    assert latencies.mean == sum(values) // len(values)


@given(durations, durations)
def test_merged_latencies_equal_those_of_all(first: list[int], second: list[int]) -> None:
    both, one, other = Latencies(), Latencies(), Latencies()
    for value in first:
        one.add(value)
        both.add(value)
    for value in second:
        other.add(value)
        both.add(value)
    one.merge(other)
    assert one.percentiles([0.1, 0.5, 0.9]) == both.percentiles([0.1, 0.5, 0.9])
    assert one.bins() == both.bins()


@given(durations, st.integers(1, 30))
def test_histogram_bins_are_contiguous_and_cover_everything(values: list[int], maximum: int) -> None:
    latencies = Latencies()
    for value in values:
        latencies.add(value)
    bins = latencies.bins(maximum)
    assert sum(one.count for one in bins) == len(values)
    assert len(bins) <= maximum
    assert all(one.end_ns == next.start_ns for one, next in pairwise(bins))
    assert bins[0].start_ns <= min(values) <= max(values) < bins[-1].end_ns


def test_without_timings_there_are_no_percentiles() -> None:
    assert Latencies().percentiles([0.5]) == [None]
    assert Latencies().bins() == ()


moments = st.lists(st.integers(0, 10**11).map(lambda at: WALL + at), min_size=1, max_size=200)


@given(moments, st.integers(1, 40), st.integers(1, 20))
def test_rate_includes_every_message_regardless_of_slices(times: list[int], buckets: int, cut: int) -> None:
    whole, sliced = RateSeries(), RateSeries()
    whole.add(times, times[::3])
    for start in range(0, len(times), cut):
        part = range(start, min(len(times), start + cut))
        sliced.add((times[i] for i in part), (times[i] for i in part if i % 3 == 0))
    found = whole.rate(buckets)
    assert found == sliced.rate(buckets)
    assert (sum(found.messages), sum(found.errors)) == (len(times), len(times[::3]))
    assert len(found.messages) == len(found.errors) <= buckets
    assert found.start_ns <= min(times)
    assert max(times) < found.start_ns + found.width_ns * len(found.messages)


def test_buckets_widen_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics_module, "_MAX_BUCKETS", 8)
    series = RateSeries()
    for second in range(100):
        series.add([WALL + second * 1000 * MS], [])
    found = series.rate(1000)
    assert sum(found.messages) == 100
    assert len(found.messages) <= 8


def test_rate_can_be_computed_for_a_range() -> None:
    series = RateSeries()
    series.add([WALL + second * 1000 * MS for second in range(100)], [WALL + 50_000 * MS])
    found = series.rate(10, WALL + 40_000 * MS, WALL + 60_000 * MS)
    assert (sum(found.messages), sum(found.errors)) == (20, 1)
    assert (found.start_ns, found.width_ns) == (WALL + 40_000 * MS, 2000 * MS)


def test_rate_of_an_empty_log_is_empty() -> None:
    assert RateSeries().rate(10).messages == ()


def test_errors_are_counted_when_their_responses_arrive() -> None:
    conversation = TrafficBuilder()
    for action in ("error", "tool error", "answer"):
        conversation.play(("call", 0, 1000))
        conversation.play((action, 0, 0))
    conversation.stderr()
    statistics = Statistics(conversation.log)
    statistics.extend(range(len(conversation.log)))
    found = statistics.rate(100)
    assert (sum(found.messages), sum(found.errors)) == (6, 2)
