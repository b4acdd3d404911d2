"""JSON text and numbers round-trip without loss."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.text import JSONTextError, read, same, write, write_line
from inspector.base.json.values import JSON, ExactNumber, read_number, write_number
from inspector.schema.keywords import is_integer, is_multiple

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
json_values: st.SearchStrategy[JSON] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
number_texts = st.from_regex(r"\A-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,5})?\Z")


@given(number_texts)
def test_any_json_number_is_written_as_it_was_read(text: str) -> None:
    number = read_number(text)
    assert number is not None
    assert write_number(number) == text


@pytest.mark.parametrize(
    "text", ["", "abc", "01", "+1", "1.", ".5", "1e", "NaN", "Infinity", "٣", "1_000", " 1"]
)
def test_invalid_json_number_is_not_read_as_one(text: str) -> None:
    assert read_number(text) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [("12", int), ("1.5", float), ("1.50", ExactNumber), ("1e400", ExactNumber), ("-0", ExactNumber),
     ("9" * 5000, ExactNumber), ("0.1234567890123456789", ExactNumber)],
)  # fmt: skip
def test_a_number_is_kept_exact_only_where_plain_python_would_change_it(text: str, kind: type) -> None:
    assert type(read_number(text)) is kind


def test_an_integer_beyond_the_digits_python_converts_is_written_in_full() -> None:
    assert write_number(10**5000) == "1" + "0" * 5000


def test_a_copied_exact_number_keeps_its_text() -> None:
    assert write_number(copy.deepcopy(ExactNumber("1.10"))) == "1.10"


def test_integers_and_multiples_are_checked_without_float_error() -> None:
    assert is_integer(ExactNumber("1e400"))
    assert not is_integer(ExactNumber("100000000000000000000.5"))
    assert is_multiple(0.3, 0.1)
    assert not is_multiple(0.35, 0.1)


@given(json_values)
def test_value_round_trips(value: JSON) -> None:
    assert same(read(write(value)), value)
    assert same(read(write_line(value)), value)
    assert "\n" not in write_line(value)


@given(json_values)
def test_written_value_means_the_same_to_another_parser(value: JSON) -> None:
    assert json.loads(write(value)) == value


def test_sameness_distinguishes_values_that_python_calls_equal() -> None:
    assert not same(1, True)
    assert not same(1, 1.0)
    assert not same({"a": 1, "b": 2}, {"b": 2, "a": 1})


def test_a_value_nested_a_hundred_thousand_deep_is_written() -> None:
    value: JSON = []
    for _ in range(100_000):
        value = [value]
    assert write(value).startswith("[\n  [")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1,\n "b" 2}', "Line 2, column 6: a colon is missing"),
        ("", "Line 1, column 1: the text is empty"),
        ('{"a": 1, "a": 2}', 'Duplicate key "a"'),
        ("[NaN]", "NaN is not a JSON number"),
        ("[" * 100_000, "Nested too deeply to parse"),
    ],
)
def test_invalid_json_is_rejected_with_position_and_cause(text: str, problem: str) -> None:
    with pytest.raises(JSONTextError) as caught:
        read(text)
    assert str(caught.value) == problem


def test_invisible_or_fragile_characters_are_written_as_escapes() -> None:
    assert write("a\u202eb\u2028\ud800é😀") == '"a\\u202eb\\u2028\\ud800é😀"'
