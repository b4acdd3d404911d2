"""JSON values: one exception for every parse error, and bytes that can always be sent."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON, ExactNumber, JSONError, compact, parse, pretty, shorten, to_wire

json_values: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(json_values)
def test_serialized_value_parses_to_the_same_value(value: JSON) -> None:
    assert parse(compact(value)) == value
    assert parse(pretty(value)) == value
    assert json.loads(to_wire(value)) == value


@given(json_values)
def test_wire_format_has_no_line_break(value: JSON) -> None:
    assert b"\n" not in to_wire(value)


def test_lone_surrogate_is_sent_as_an_escape() -> None:
    value: JSON = {"text": "half a \ud83d"}
    assert to_wire(value) == b'{"text":"half a \\ud83d"}'
    assert parse(to_wire(value).decode()) == value


def test_a_big_integer_keeps_every_digit() -> None:
    assert parse(str(2**70)) == 2**70
    assert to_wire(2**70) == str(2**70).encode()


def test_nan_is_parsed_although_it_is_not_valid_json() -> None:
    value = parse("NaN")
    assert isinstance(value, float)
    assert math.isnan(value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "Expecting value at line 1, column 1"),
        ('{"a":\n  tru}', "Expecting value at line 2, column 3"),
        ("{} {}", "Extra data at line 1, column 4"),
        ("[" * 100_000, "nested too deeply to parse"),
    ],
)
def test_parse_failures_are_one_error_type_with_a_position(text: str, problem: str) -> None:
    with pytest.raises(JSONError, match=problem):
        parse(text)


def test_integer_of_any_length_is_valid_json_and_keeps_its_digits() -> None:
    digits = "9" * 5000
    value = parse(f'{{"n": -{digits}, "m": [1, {digits}]}}')
    assert value == {"n": ExactNumber(f"-{digits}"), "m": [1, ExactNumber(digits)]}
    assert to_wire(value) == f'{{"n":-{digits},"m":[1,{digits}]}}'.encode()


@pytest.mark.parametrize("rest", [",}", "", ", " + '"a": [' * 100_000])
def test_error_after_a_long_integer_is_a_json_error(rest: str) -> None:
    """T23: a second parser reads a text with a long integer; what it raises must not end the connection."""
    with pytest.raises(JSONError, match=r"line 1, column|nested too deeply"):
        parse(f'{{"n": {"9" * 5000}{rest}')


@given(st.text(), st.integers(min_value=1, max_value=50))
def test_shortened_text_fits_and_starts_the_same(text: str, limit: int) -> None:
    short = shorten(text, limit)
    assert len(short) <= limit
    assert short == text or (short.endswith("…") and text.startswith(short[:-1]))


@pytest.mark.parametrize("depth", [800, 5000])
def test_values_deeper_than_900_levels_are_rejected_on_every_python(depth: int) -> None:
    text = '{"a":[' * (depth // 2) + '"]}\\"[[["' + "]}" * (depth // 2)
    if depth > 900:
        with pytest.raises(JSONError, match="nested too deeply"):
            parse(text)
    else:
        assert isinstance(parse(text), dict)


def test_brackets_in_strings_do_not_count_as_nesting() -> None:
    text = '["' + "[{" * 5000 + '\\"' + "[" * 5000 + '"]'
    assert len(str(parse(text))) > 10_000


def test_long_flat_values_are_not_nested() -> None:
    assert parse("[" + "[],{}," * 5000 + "1]") is not None
