"""JSON reindented for display and serialized for the wire: same value, same number spelling."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.scanner import Reindenter, reindent
from inspector.base.json.values import JSON, ExactNumber, JSONError, pretty, read_number, to_wire

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=20,
)
layouts = st.sampled_from([None, 0, 1, "\t"])
numbers = st.from_regex(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,4})?", fullmatch=True)


def without_spaces(text: str) -> str:
    """The text without the white space between its tokens."""
    return re.sub(r'("(?:[^"\\]|\\.)*")|\s', lambda match: match[1] or "", text, flags=re.DOTALL)


@given(values, st.booleans(), layouts)
def test_formatted_text_is_the_same_value(value: Any, is_ascii: bool, indent: int | str | None) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii, indent=indent)
    assert json.loads(reindent(text)) == json.loads(text)


@given(values, layouts)
def test_without_escapes_only_whitespace_changes(value: Any, indent: int | str | None) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    if "\\u" not in text:
        assert without_spaces(reindent(text)) == without_spaces(text)


@given(st.text())
def test_any_text_keeps_everything_but_whitespace_and_escapes(text: str) -> None:
    if "\\u" not in text:
        assert "".join(reindent(text).split()) == "".join(text.split())


@given(values)
def test_layout_matches_pretty(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if "\\u" not in text:
        assert reindent(text) == pretty(value)


@given(st.text(), st.integers(0, 50))
def test_output_up_to_the_limit_is_a_prefix_of_the_whole(text: str, limit: int) -> None:
    encoded = json.dumps([text, 1])
    whole, shown = reindent(encoded), reindent(encoded, limit)
    assert whole[: limit + 1] == shown[: limit + 1]


def laid_out_in_pieces(text: str, cuts: list[int]) -> str:
    edges = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    layout = Reindenter()
    parts = [layout.feed(text[start:end]) for start, end in pairwise(edges)]
    return "".join(parts) + layout.finish()


@given(values, st.booleans(), layouts, st.lists(st.integers(0, 10_000), max_size=20))
def test_piecewise_layout_looks_the_same(
    value: Any, is_ascii: bool, indent: int | str | None, cuts: list[int]
) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii, indent=indent)
    assert laid_out_in_pieces(text, cuts) == reindent(text)


@given(st.text(alphabet=st.sampled_from('ud83de0\\" [,1'), max_size=60))
def test_piecewise_layout_of_any_text_keeps_all_but_whitespace_and_escapes(text: str) -> None:
    shown = laid_out_in_pieces(text, list(range(len(text))))
    if "\\u" not in text:
        assert "".join(shown.split()) == "".join(text.split())


@pytest.mark.parametrize("text", [r'["\ud83d\ude00"]', r'["\\u0041\u00e9\ud83d"]', r'{"a\"b" : 12 34}'])
def test_every_split_point_gives_the_same_layout(text: str) -> None:
    assert {laid_out_in_pieces(text, [cut]) for cut in range(len(text))} == {reindent(text)}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (r'"\u00e9\u4e2d"', '"é中"'),
        (r'"\ud83d\ude00"', '"😀"'),
        (r'"\u0041\/\n\t"', r'"A\/\n\t"'),
        (r'"\ud83d"', r'"\ud83d"'),  # half a pair
        (r'"\ude00\ud83d"', r'"\ude00\ud83d"'),
        (r'"\\u0041"', r'"\\u0041"'),  # an escaped backslash, and then letters
        (r'"\u0022\u005c"', r'"\u0022\u005c"'),  # would end the string, or begin an escape
        (r'"\u0000\u001b\u007f\u0085"', r'"\u0000\u001b\u007f\u0085"'),
        (r'"\u202e\u2066\u200b\u2028"', r'"\u202e\u2066\u200b\u2028"'),  # would turn or hide the text
        (r'"\u00zz"', r'"\u00zz"'),
    ],
)
def test_escaped_letters_are_decoded_and_other_escapes_stay(text: str, shown: str) -> None:
    assert reindent(text) == shown


@pytest.mark.parametrize("number", ["1.10", "1e400", "-0", "1E+2", "0.1234567890123456789", "9" * 5000])
def test_numbers_keep_their_spelling(number: str) -> None:
    assert reindent(f"[{number}]") == f"[\n  {number}\n]"


def test_duplicate_keys_are_kept() -> None:
    assert reindent('{"a":1,"a":2}') == '{\n  "a": 1,\n  "a": 2\n}'


def test_formatting_does_not_repair_errors() -> None:
    """Two words that were apart stay apart: `12 34` is not 1234."""
    assert reindent("[12 34, tru e]") == "[\n  12 34,\n  tru e\n]"
    assert reindent('{"a" "b"}') == '{\n  "a" "b"\n}'
    assert reindent('"open') == '"open'
    assert reindent("]]") == "\n]\n]"


@pytest.mark.parametrize("part", ["x", r"line\n", r"\u4e2d"])
def test_multi_megabyte_string_is_read_in_one_go(part: str) -> None:
    """Each once took seconds and gigabytes; the timeout of pytest is far above what is needed."""
    text = f'"{part * 500_000}"'
    assert reindent(text, 1000)[:6] == reindent(f'"{part * 10}"')[:6]


def test_nesting_depth_uses_no_stack() -> None:
    assert reindent("[" * 100_000).count("[") == 100_000


@given(numbers)
def test_number_is_sent_as_written(text: str) -> None:
    number = read_number(text)
    assert number is not None
    assert to_wire({"a": [number, {"b": number}]}).decode() == f'{{"a":[{text},{{"b":{text}}}]}}'


@given(values)
def test_wire_format_parses_to_the_same_value(value: Any) -> None:
    assert json.loads(to_wire(value)) == value


@given(values)
def test_exact_number_does_not_change_its_neighbors(value: JSON) -> None:
    assert to_wire([value, ExactNumber("1.10")]) == b"[" + to_wire(value) + b",1.10]"


def test_lone_surrogate_next_to_an_exact_number_is_escaped() -> None:
    assert to_wire({"\ud83d": ["\udead", ExactNumber("-0")]}) == rb'{"\ud83d":["\udead",-0]}'


def test_value_nested_too_deeply_to_serialize_is_rejected_with_a_message() -> None:
    deep: JSON = ExactNumber("1.10")
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(JSONError, match="nested too deeply to serialize"):
        to_wire(deep)
    while isinstance(deep, list):  # taken apart by hand: so is its memory
        deep = deep.pop()
