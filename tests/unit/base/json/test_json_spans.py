"""The exact text of an object's member."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.scanner import member_text
from inspector.base.json.values import JSON, JSONError

VALUES: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=3), VALUES, min_size=1), st.sampled_from([None, 0, 3]), st.booleans())
def test_any_member_has_the_same_value_as_in_the_whole(
    value: dict[str, JSON], indent: int | None, ascii: bool
) -> None:
    text = json.dumps({"outer": value, "other": 1}, indent=indent, ensure_ascii=ascii)
    for name, member in value.items():
        found = member_text(text, "outer", name)
        assert json.loads(found) == member
        assert found in text
        assert found == found.strip() or isinstance(member, str)


@pytest.mark.parametrize(
    "written", ["1.10", "1e400", "9" * 400, "-0", '"\\u0041"', "[ 1,2 ]", '{"b":1,"a":2,"a":3}']
)
def test_spelling_and_spacing_are_kept(written: str) -> None:
    assert member_text(f' {{"x" : 1, "y" :\t{written} , "z":[]}}', "y") == written


def test_last_duplicate_name_wins_and_names_may_contain_escapes() -> None:
    assert member_text('{"a":1,"\\u0061":2}', "a") == "2"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "no property 'a'"),
        ('{"b":1}', "no property 'a'"),
        ("[]", "Expecting '{'"),
        ("", "Expecting '{'"),
        ('{"a":1', "Expecting ','"),
        ('{"a" 1}', "Expecting ':'"),
        ('{"a":}', "Expecting value"),
        ('{"a":"', "Unterminated string"),
        ('{"a":' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ('{"a":' + "9" * 5_000 + "}", "digits"),
    ],
)
def test_missing_member_and_invalid_json_are_reported(text: str, words: str) -> None:
    with pytest.raises(JSONError, match=words):
        member_text(text, "a")
