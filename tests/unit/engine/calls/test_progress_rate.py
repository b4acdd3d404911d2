"""Progress rate of a call, and the remaining time."""

from __future__ import annotations

import math

import pytest

from inspector.base.units import three_digits
from inspector.qt.panels.tools.call_runner import ProgressRate


def reported(*seen: tuple[float, float], total: float | None = None) -> ProgressRate:
    pace = ProgressRate()
    for now, progress in seen:
        pace.add(now, progress, total)
    return pace


def test_rate_and_time_left_are_derived_from_two_samples() -> None:
    pace = reported((0, 0), (2, 4), total=10)
    assert pace.rate() == 2
    assert pace.seconds_left(2) == 3
    assert pace.seconds_left(4) == 1, "time goes on between two looks"
    assert pace.seconds_left(60) == 0
    assert (pace.counted(), pace.text(2)) == ("4 of 10", "2/s · 3 s left")


@pytest.mark.parametrize("total", [1, 100])
def test_total_of_a_hundred_or_one_is_shown_in_percent(total: float) -> None:
    pace = reported((0, 0), (1, total / 4), total=total)
    assert (pace.counted(), pace.text(1)) == ("25%", "25%/s · 3 s left")


def test_without_a_total_there_is_a_rate_and_no_time_left() -> None:
    pace = reported((0, 10), (1, 1510))
    assert (pace.counted(), pace.text(1)) == ("1,510", "1,500/s")


def test_slow_progress_is_shown_per_minute() -> None:
    assert reported((0, 0), (30, 1), total=50).text(30) == "2/min · 24 min 30 s left"
    assert reported((0, 0), (3600, 1), total=50).text(3600) == "0.0167/min · 49.0 h left"


@pytest.mark.parametrize("seen", [[], [(0, 5)], [(0, 1), (0.1, 2)], [(0, 5), (1, 5)], [(0, 5), (1, 4)]])
def test_too_few_samples_give_no_rate(seen: list[tuple[float, float]]) -> None:
    assert reported(*seen, total=10).text(5) == ""


def test_old_speed_is_forgotten() -> None:
    pace = reported(*((second, float(second * 100)) for second in range(20)))
    for second in range(20, 60):
        pace.add(second, 1900 + second - 19, None)
    assert pace.rate() == pytest.approx(1)


def test_flood_is_counted_without_storing_every_sample() -> None:
    pace = reported(*((number / 100_000, float(number)) for number in range(100_000)))
    assert pace.rate() == pytest.approx(100_000)
    assert len(pace._samples) < 1000


@pytest.mark.parametrize("strange", [math.nan, math.inf, -math.inf])
def test_unusable_numbers_are_ignored(strange: float) -> None:
    pace = reported((0, 0), (1, 1), total=strange)
    pace.add(2, strange, strange)
    assert pace.text(2) == "1/s"


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.01674, "0.0167"), (29.84, "29.8"), (999.4, "999"), (999.6, "1,000"), (1474.2, "1,474")],
)
def test_rates_have_three_digits_and_no_exponent(value: float, words: str) -> None:
    assert three_digits(value) == words
