"""Literals of the filter language: units, times, patterns and free text."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.traffic.filter.body_search import Needle
from inspector.traffic.filter.literals import (
    Ago,
    Moment,
    TimeOfDay,
    glob,
    read_amount,
    read_duration,
    read_size,
    read_time,
    regular_expression,
    searches,
    time_of_day_ns,
)

S = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        *[
            ("3ns", 3),
            ("2us", 2_000),
            ("2µs", 2_000),
            ("500ms", S // 2),
            ("1.5s", 3 * S // 2),
            ("2m", 120 * S),
        ],
        *[("2min", 120 * S), ("1h", 3600 * S), ("1 d", 86_400 * S), ("0", 0)],
        ("0.1234567891s", 123_456_789),
    ],
)
def test_durations_have_units(text: str, nanoseconds: int) -> None:
    assert read_duration(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *[("800", 800), ("10k", 10_000), ("10K", 10_000), ("1.5MB", 1_500_000), ("64KiB", 65_536)],
        *[("1gi", 2**30), ("5B", 5), ("2 mib", 2**21)],
    ],
)
def test_k_is_a_thousand_and_ki_is_1024(text: str, size: int) -> None:
    assert read_size(text) == size


@pytest.mark.parametrize("text", ["", "5", "-5ms", "5x", "1e3s", "9" * 19 + "s", "٣s"])
def test_invalid_duration_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"unit|Expected a duration"):
        read_duration(text)


def test_amount_is_a_number_or_a_size_or_none() -> None:
    assert [read_amount(text) for text in ("5", "-2.5", "10k", "ten", "")] == [5, -2.5, 10_000, None, None]


@pytest.fixture(params=["UTC", "Europe/Berlin", "America/St_Johns"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def test_times_cover_an_interval_by_their_precision() -> None:
    minute = (14 * 60 + 3) * 60 * S
    assert read_time("14:03") == TimeOfDay(minute, minute + 60 * S)
    assert read_time("14:03:07") == TimeOfDay(minute + 7 * S, minute + 8 * S)
    exact = minute + 7 * S + 482_000_000
    assert read_time("14:03:07.482") == TimeOfDay(exact, exact + 1_000_000)
    assert read_time("-5m") == Ago(300 * S)
    epoch = 1_800_000_000
    assert read_time("2027-01-15T08:00Z") == Moment(epoch * S, (epoch + 60) * S)
    assert read_time("2027-01-15 09:00:00.5+01:00") == Moment(
        epoch * S + S // 2, epoch * S + S // 2 + S // 10
    )


def test_times_without_a_zone_are_local(zone: str) -> None:
    moment = read_time("2026-07-01T14:03:07")
    assert isinstance(moment, Moment)
    assert time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment.start // S)) == "2026-07-01 14:03:07"
    of_day = read_time("14:03:07")
    assert isinstance(of_day, TimeOfDay)
    assert time_of_day_ns(moment.start) == of_day.start


def test_a_day_may_have_25_hours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        day = read_time("2026-10-25")
    finally:
        monkeypatch.undo()
        time.tzset()
    assert isinstance(day, Moment)
    assert day.end - day.start == 25 * 3600 * S


@pytest.mark.parametrize(
    "pattern",
    [
        *("(a+)+", "((a*)b)*", r"(?:\w+\s*)+x", "(a{2,}){3,}", "([)+]+)*", "(a+){30}", "(?P<x>a+)+"),
        *("(a|aa)*b", "(a|a)+$", "(?:x|xy|z)*", r"(\s|.)*x", "(a|)*", "((a|ab)c)+", "(ab?|ac)*", "(a|A)*"),
        *(r"(\.|.)*x", "(a|aa){10,20}", "(a|aa){40}"),
    ],
)
def test_ambiguous_repetition_is_rejected(pattern: str) -> None:
    with pytest.raises(ValueError, match="can take forever"):
        regular_expression(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        *("(ab)+", "a+b+", r"\(a+\)+", "[(+]+", "(a+)b+", "(a+)?", "(?#a+)b+", "[[a]", "(?i)a+", "a|b*"),
        *("(foo|bar)+", "(?:bar|baz)*", r"(\.|,)+", r"(\d{1,3}\.){3}\d+", "(get|list)_", "([0-9a-f]{32},)*"),
        *("(a|ab)?c+", "(a|ab){2}", "(a|b)*|c", "(?:(?=a|ab)x)?"),
    ],
)
def test_other_patterns_are_accepted(pattern: str) -> None:
    regular_expression(pattern)


@given(st.sampled_from(["", "a", "a.*b", "|b", "^a", "(a|b)$", "?a", "+a", r"\n"]), st.text(alphabet="ab\n"))
def test_leading_wildcard_does_not_change_the_matches(rest: str, text: str) -> None:
    for pattern in (f".*{rest}", f".*?.*{rest}"):
        try:
            slow = re.compile(pattern)
        except re.error:
            continue
        assert searches(regular_expression(pattern), text) == (slow.search(text) is not None)


def test_leading_wildcard_costs_nothing() -> None:
    """Searching from each position to the end would take an hour."""
    assert not searches(regular_expression(".*foo"), "x" * 4 * 1024 * 1024)


_few = st.text(alphabet="ab*.", max_size=6)


@settings(max_examples=200, deadline=None)
@given(_few, st.text(alphabet="abAB.", max_size=8))
def test_glob_matches_like_a_backtracking_pattern(pattern: str, text: str) -> None:
    slow = regular_expression(r"\A" + pattern.lower().replace(".", r"\.").replace("*", "[^x]*") + r"\Z")
    assert (glob(pattern).fullmatch(text.casefold()) is not None) == (slow.search(text.lower()) is not None)


_letters = st.text(alphabet=st.sampled_from("abcÄéß/\\\"<>&'\n\t😀Ωи 7"), min_size=1, max_size=6)


@settings(max_examples=200, deadline=None)
@given(_letters, _letters, _letters, st.booleans(), st.booleans())
def test_text_is_found_in_every_json_spelling(
    before: str, text: str, after: str, is_ascii: bool, is_for_html: bool
) -> None:
    body = json.dumps({"x": before + text.swapcase() + after}, ensure_ascii=is_ascii)
    if is_for_html:
        body = (
            body.replace("<", "\\u003C").replace(">", "\\u003e").replace("&", "\\u0026").replace("/", "\\/")
        )
    needle = Needle(text)
    assert needle.is_in(body.encode())
    assert needle.is_in(text.encode())
    assert len(text) <= needle.max_length


def test_missing_text_is_not_found() -> None:
    for text in ("é", "a/b", "zebra", '"q"', "\n", "\ud800"):
        assert not Needle(text).is_in(b'{"x":"e, a-b, zebr, q"}'), text
