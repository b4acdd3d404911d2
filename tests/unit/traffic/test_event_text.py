"""Texts of server-sent events: formatting and parsing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.traffic.recorder import EventText, comment_text, event_text, read_event

names = st.text("abcé:/-_0", max_size=12)


@given(
    names,
    st.none() | names,
    st.none() | st.integers(0, 10**9),
    st.none() | st.text(min_size=1),
    st.integers(0),
)
def test_event_text_round_trips(
    event: str, id: str | None, retry_ms: int | None, data: str | None, size: int
) -> None:
    raw = data.encode() if data is not None else None
    assert read_event(event_text(event, id, retry_ms, raw, size)) == EventText(event, id, retry_ms, data)


@given(st.text())
def test_comment_is_not_an_event(comment: str) -> None:
    assert read_event(comment_text(comment)) is None


@pytest.mark.parametrize("unit", ["  id: x  retry: 1  data: ", "  (1 bytes of data)", "  retry: "])
def test_ambiguous_event_name_is_parsed_in_one_pass(unit: str) -> None:
    """A backtracking implementation would not finish."""
    assert read_event(event_text(unit * 200_000, None, None, None, 1)) is not None
