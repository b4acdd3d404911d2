"""A frame made readable for a glance: bounded, and never an exception."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.jsonpretty import reindent
from inspector.base.jsonvalue import JSON, compact, parse, pretty
from inspector.engine.prettytext import HEAD, pretty_text

json_values: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_a_frame_is_laid_out_and_means_the_same(value: JSON) -> None:
    shown = pretty_text(compact(value).encode(errors="surrogatepass"))
    if shown.is_json:  # a lone surrogate is no UTF-8
        assert parse(shown.text) == value or "\ufffd" in shown.text


@given(json_values)
def test_a_layout_is_that_of_the_standard_library(value: JSON) -> None:
    assert reindent(compact(value)) == pretty(value)


@pytest.mark.parametrize("text", ["1.10", "1e400", str(2**70), '{"a":1,"a":2}', "-0", "NaN"])
def test_what_was_sent_is_shown_as_it_was_sent(text: str) -> None:
    assert "".join(reindent(text).split()) == text


@pytest.mark.parametrize("raw", [b"Listening", b"", b"{bad", b"\xff\xfe"])
def test_what_is_no_json_is_shown_as_it_came_with_the_reason(raw: bytes) -> None:
    shown = pretty_text(raw)
    assert (shown.text, shown.is_json) == (raw.decode(errors="replace"), False)
    assert shown.problem


def test_a_byte_order_mark_does_not_make_it_less_readable() -> None:
    assert pretty_text(b"\xef\xbb\xbf[]").is_json


def test_a_frame_nested_too_deeply_to_be_read_is_laid_out_all_the_same() -> None:
    shown = pretty_text(b"[" * 4000 + b"]" * 4000)
    assert shown.is_json
    assert (shown.text.count("["), shown.text.count("]")) == (4000, 4000)


def test_of_a_long_frame_the_head_is_given_and_the_whole_length() -> None:
    shown = pretty_text(b'"%s"' % (b"x" * 2 * HEAD))
    assert len(shown.text) == HEAD
    assert shown.length == 2 * HEAD + 2
