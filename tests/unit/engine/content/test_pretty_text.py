"""Pretty-printed messages: bounded, and never an exception."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.scanner import reindent
from inspector.base.json.values import JSON, compact, parse, pretty
from inspector.engine.content.text_formats import MAX_PRETTY_LENGTH, pretty_text

json_values: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_message_is_formatted_and_means_the_same(value: JSON) -> None:
    shown = pretty_text(compact(value).encode(errors="surrogatepass"))
    if shown.is_json:  # a lone surrogate is not valid UTF-8
        assert parse(shown.text) == value or "\ufffd" in shown.text


@given(json_values)
def test_layout_matches_the_standard_library(value: JSON) -> None:
    assert reindent(compact(value)) == pretty(value)


@pytest.mark.parametrize("text", ["1.10", "1e400", str(2**70), '{"a":1,"a":2}', "-0", "NaN"])
def test_original_spelling_is_kept(text: str) -> None:
    assert "".join(reindent(text).split()) == text


@pytest.mark.parametrize("raw", [b"Listening", b"", b"{bad", b"\xff\xfe"])
def test_non_json_is_shown_verbatim_with_the_reason(raw: bytes) -> None:
    shown = pretty_text(raw)
    assert (shown.text, shown.is_json) == (raw.decode(errors="replace"), False)
    assert shown.problem


def test_byte_order_mark_does_not_prevent_formatting() -> None:
    assert pretty_text(b"\xef\xbb\xbf[]").is_json


def test_message_nested_too_deeply_to_parse_is_still_formatted() -> None:
    shown = pretty_text(b"[" * 4000 + b"]" * 4000)
    assert shown.is_json
    assert (shown.text.count("["), shown.text.count("]")) == (4000, 4000)


def test_long_message_gives_its_start_and_total_length() -> None:
    shown = pretty_text(b'"%s"' % (b"x" * 2 * MAX_PRETTY_LENGTH))
    assert len(shown.text) == MAX_PRETTY_LENGTH
    assert shown.length == 2 * MAX_PRETTY_LENGTH + 2
