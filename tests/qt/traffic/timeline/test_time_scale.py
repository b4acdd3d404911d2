"""Time over pixels: ticks at round moments, and which part of the time is in view."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.qt.panels.traffic.timeline.time_scale import (
    DAY,
    HOUR,
    MIN_NS,
    MINUTE,
    MS,
    SECOND,
    Mode,
    TimeRange,
    TimeScale,
    clock_text,
    moment,
)

NOON = 1_700_000_000 * SECOND

scales = st.builds(
    lambda start, length, width: TimeScale(start, start + length, width),
    st.integers(0, 2**62),
    st.integers(MIN_NS, 400 * DAY),
    st.integers(50, 3000),
)


@given(scales)
def test_ticks_are_in_view_and_far_enough_apart(scale: TimeScale) -> None:
    ticks = scale.ticks(spacing=90)
    assert all(scale.start_ns <= tick.at_ns <= scale.end_ns for tick in ticks)
    assert all(scale.x(after.at_ns) - scale.x(before.at_ns) >= 89 for before, after in pairwise(ticks))
    assert len(ticks) <= scale.width // 89 + 1


@given(scales, st.floats(0, 1))
def test_pixel_and_time_conversions_are_inverse(scale: TimeScale, share: float) -> None:
    x = share * scale.width
    assert scale.x(scale.at(x)) == pytest.approx(x, abs=0.5)


@pytest.mark.parametrize(
    ("length", "step", "digits"),
    [
        (20 * MS, 2 * MS, ".002"),
        (2 * SECOND, 200 * MS, ".200"),
        (20 * SECOND, 2 * SECOND, ":02"),
        (20 * MINUTE, 2 * MINUTE, ":02"),
    ],
)
def test_ticks_follow_the_zoom(length: int, step: int, digits: str) -> None:
    start = NOON // HOUR * HOUR
    ticks = TimeScale(start, start + length, 1000).ticks(spacing=96)
    assert ticks[1].at_ns - ticks[0].at_ns == step
    assert ticks[1].label.endswith(digits)


def test_a_whole_second_stands_out_among_milliseconds() -> None:
    ticks = TimeScale(NOON - 500 * MS, NOON + 500 * MS, 1000).ticks()
    assert [tick.at_ns for tick in ticks if tick.is_major] == [NOON]
    assert next(tick.label for tick in ticks if tick.is_major) == clock_text(NOON, 200 * MS)


def test_days_start_in_the_local_time_zone() -> None:
    for tick in TimeScale(NOON, NOON + 20 * DAY, 1000).ticks():
        when = moment(tick.at_ns)
        assert when is not None
        assert (when.hour, when.minute) == (0, 0)


def span_over(start: int, end: int, *, is_live: bool = False) -> TimeRange:
    span = TimeRange()
    span.is_live = is_live
    span.set_content((start, end), (start, end))
    return span


def test_everything_stays_in_view_as_content_grows() -> None:
    span = span_over(NOON, NOON + SECOND)
    span.set_content((NOON, NOON + 5 * SECOND), (NOON, NOON + 5 * SECOND))
    assert span.shown[0] <= NOON
    assert NOON + 5 * SECOND <= span.shown[1] <= NOON + 6 * SECOND


@given(st.floats(0, 1), st.floats(0.01, 0.99))
def test_zooming_in_keeps_the_moment_under_the_pointer(share: float, factor: float) -> None:
    span = span_over(NOON, NOON + 100 * SECOND)
    at = span.shown[0] + round(span.length * share)
    span.zoom(factor, at)
    assert (at - span.shown[0]) / span.length == pytest.approx(share, abs=0.001)


def test_view_cannot_leave_the_content() -> None:
    span = span_over(NOON, NOON + 100 * SECOND)
    span.show_span(NOON + 10 * SECOND, NOON + 20 * SECOND)
    span.pan(-HOUR)
    assert span.shown == (NOON - 2 * SECOND, NOON + 8 * SECOND)
    span.zoom(1000, NOON)
    assert span.shown == (NOON - 2 * SECOND, NOON + 102 * SECOND)


def test_live_end_is_followed_only_when_it_is_in_view() -> None:
    span = span_over(NOON, NOON + 100 * SECOND, is_live=True)
    longer = (NOON, NOON + 200 * SECOND)
    span.show_span(NOON + 10 * SECOND, NOON + 20 * SECOND)
    span.set_content(longer, longer)
    assert span.shown == (NOON + 10 * SECOND, NOON + 20 * SECOND)
    span.show_span(NOON + 190 * SECOND, NOON + 200 * SECOND)
    assert span.mode is Mode.FOLLOW
    span.set_content((NOON, NOON + HOUR), (NOON, NOON + HOUR))
    assert span.length == 10 * SECOND
    assert NOON + HOUR <= span.shown[1] <= NOON + HOUR + SECOND


def test_requested_range_is_revealed_without_unnecessary_zooming() -> None:
    span = span_over(NOON, NOON + 100 * SECOND)
    span.show_span(NOON, NOON + 10 * SECOND)
    span.reveal(NOON + 2 * SECOND, NOON + 3 * SECOND)
    assert span.shown == (NOON, NOON + 10 * SECOND)
    span.reveal(NOON + 50 * SECOND, NOON + 51 * SECOND)
    assert span.length == 10 * SECOND
    span.reveal(NOON + 50 * SECOND, NOON + 90 * SECOND)
    assert span.shown[0] <= NOON + 50 * SECOND
    assert span.shown[1] >= NOON + 90 * SECOND
