"""The exact text of an object's member."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.scanner import item_texts, member_text, scalar_members
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


@given(st.lists(VALUES, max_size=5), st.sampled_from([None, 0, 3]), st.booleans())
def test_items_of_an_array_have_the_same_values_as_in_the_whole(
    items: list[JSON], indent: int | None, ascii: bool
) -> None:
    text = json.dumps({"n": {"b": "]", "a": items}, "z": 1}, indent=indent, ensure_ascii=ascii)
    assert [json.loads(item) for item in item_texts(text, "n", "a")] == items


@given(st.dictionaries(st.text(max_size=3), VALUES), st.sampled_from([None, 0, 3]), st.booleans())
def test_scalar_members_have_the_same_values_as_in_the_whole(
    value: dict[str, JSON], indent: int | None, ascii: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii)
    assert scalar_members(text) == {
        name: member for name, member in value.items() if not isinstance(member, dict | list)
    }


def test_items_nested_to_any_depth_are_found() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    assert item_texts(f'{{"a": [1, {deep}, "\\\\"]}}', "a") == ["1", deep, '"\\\\"']
    assert scalar_members(f'{{"a": {deep}, "b": 1}}') == {"b": 1}


@pytest.mark.parametrize(
    "text", ["", "{}", '{"a":1}', '{"a":[', '{"a":[1', '{"a":["', '{"a":[1 2]}', '{"a":[,]}']
)
def test_text_without_the_array_is_reported(text: str) -> None:
    with pytest.raises(JSONError):
        item_texts(text, "a")
