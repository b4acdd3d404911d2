"""Ignore rules of comparisons, and path patterns."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.errors import UserError
from inspector.base.json.values import JSON
from inspector.traffic.compare.diff import (
    IgnoreOptions,
    IgnoreRules,
    Key,
    PatternMatcher,
    path_text,
    read_pattern,
)

keys: st.SearchStrategy[Key] = st.text(max_size=6) | st.integers(0, 999_999_999)


@given(st.lists(keys, min_size=1, max_size=5).map(tuple))
def test_path_is_parsed_as_written(path: tuple[Key, ...]) -> None:
    assert read_pattern(path_text(path)).steps == path


@given(st.text(alphabet='ab.[]*"0 \\', max_size=8))
def test_any_text_is_a_pattern_or_an_error_message(text: str) -> None:
    with contextlib.suppress(UserError):
        assert read_pattern(text).steps


@pytest.mark.parametrize(
    ("pattern", "path", "is_match"),
    [
        ("result.content[*].text", ("result", "content", 3, "text"), True),
        ("result.content[*].text", ("result", "content", 3), False),
        ("result.content[*].text", ("result", "content", 3, "text", "x"), False),
        ("result.*.text", ("result", "content", "text"), True),
        ("result.*", ("result", 0), False),
        ("[*]", ("a",), False),
        ("**.text", ("text",), True),
        ("**.text", ("a", 0, "text"), True),
        ("a.**.z", ("a", "b", "c", "z"), True),
        ("a.**.z", ("b", "z"), False),
        ('["a b"][2]', ("a b", 2), True),
    ],
)
def test_pattern_matches_specific_paths(pattern: str, path: tuple[Key, ...], is_match: bool) -> None:
    locations = PatternMatcher((read_pattern(pattern),))
    state = locations.start()
    for key in path:
        state = locations.step(state, key)
    assert locations.is_match(state) is is_match


def ignores(name: str, value: JSON, **options: bool) -> bool:
    rules = IgnoreRules(IgnoreOptions(**options))  # type: ignore[arg-type]
    return rules.ignores(None, name, value)


@pytest.mark.parametrize("name", ["id", "requestId", "task_id", "session-id", "uuid", "toolID"])
def test_ids_are_recognized_by_their_names(name: str) -> None:
    assert ignores(name, 7, ids=True)
    assert not ignores(name, 7, times=True)


@pytest.mark.parametrize("name", ["valid", "paid", "identity", "Grid", "text"])
def test_names_that_only_look_like_ids_are_compared(name: str) -> None:
    assert not ignores(name, 7, ids=True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("createdAt", 1_700_000_000),
        ("timestamp", "2026-01-02"),
        ("updated", "2026-01-02T03:04:05.123+01:00"),
        ("Last-Modified", "Tue, 15 Nov 1994 08:12:31 GMT"),
        ("elapsed_ms", 12.5),
        ("duration", "12 ms"),
        ("exp", 1_700_000_000),
    ],
)
def test_times_are_recognized_by_their_names_and_values(name: str, value: JSON) -> None:
    assert ignores(name, value, times=True)
    assert not ignores(name, value, ids=True, metadata=True)


@pytest.mark.parametrize(
    ("name", "value"),
    [("count", 1_700_000_000), ("format", 3), ("timestamp", "never"), ("items", 2), ("createdAt", [1])],
)
def test_values_that_are_not_times_are_compared(name: str, value: JSON) -> None:
    assert not ignores(name, value, times=True)


def test_timestamps_and_uuids_inside_text_are_ignored() -> None:
    rules = IgnoreRules(IgnoreOptions(ids=True, times=True))
    first = rules.blanked("at 2026-01-02 03:04:05 by 123e4567-e89b-12d3-a456-426614174000")
    assert first == rules.blanked("at 2027-11-12T13:14:15.5Z by 00000000-e89b-12d3-a456-426614174fff")
    assert first != rules.blanked("at noon by 123e4567-e89b-12d3-a456-426614174000")


@pytest.mark.parametrize(
    "ignoring",
    [
        IgnoreOptions(paths=("a..b",)),
        IgnoreOptions(paths=("",)),
        IgnoreOptions(names="("),
        IgnoreOptions(names="(a+)+"),
    ],
)
def test_invalid_pattern_is_reported(ignoring: IgnoreOptions) -> None:
    with pytest.raises(UserError) as failure:
        ignoring.check()
    assert failure.value.next_step
