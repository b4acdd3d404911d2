"""JSON with comments: the same value as without them, with unchanged offsets."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.scanner import member_locations
from inspector.base.json.values import JSON, JSONError
from inspector.config.foreign import formats

_LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=12)
_VALUES = st.recursive(
    _LEAVES,
    lambda children: (
        st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=8), children, max_size=4)
    ),
    max_leaves=20,
)
_STREWN = st.sampled_from(["", "", " ", "\n", '// it\'s "so"\n', "/* a, b } ] */", "/* // \n */\t", "/***/"])


@st.composite
def _commented(draw: st.DrawFn) -> tuple[JSON, str]:
    """A value, and its text with random comments and trailing commas."""
    value: JSON = draw(_VALUES)
    return value, _write(value, draw)


def _write(value: JSON, draw: st.DrawFn) -> str:
    before, after = draw(_STREWN), draw(_STREWN)
    if isinstance(value, dict) and value:
        items = [
            f"{draw(_STREWN)}{json.dumps(name)}{draw(_STREWN)}:{_write(child, draw)}"
            for name, child in value.items()
        ]
        return f"{before}{{{','.join(items)}{draw(st.sampled_from(['', ',']))}{draw(_STREWN)}}}{after}"
    if isinstance(value, list) and value:
        items = [_write(child, draw) for child in value]
        return f"{before}[{','.join(items)}{draw(st.sampled_from(['', ',']))}{draw(_STREWN)}]{after}"
    return f"{before}{json.dumps(value)}{after}"


@given(_commented())
def test_comments_and_trailing_commas_change_no_value(case: tuple[JSON, str]) -> None:
    value, text = case
    assert formats.read_jsonc(text)[0] == value


@given(_commented())
def test_offsets_and_line_breaks_are_preserved(case: tuple[JSON, str]) -> None:
    _, text = case
    plain = formats.blank_comments(text)
    assert len(plain) == len(text)
    assert [at for at, char in enumerate(plain) if char == "\n"] == [
        at for at, char in enumerate(text) if char == "\n"
    ]
    assert all(after in (before, " ") for after, before in zip(plain, text, strict=True))


@given(_VALUES)
def test_plain_json_is_unchanged(value: JSON) -> None:
    text = json.dumps(value)
    assert formats.blank_comments(text) == text


def test_byte_order_mark_is_not_part_of_the_text() -> None:
    assert formats.read_jsonc('\ufeff{"a": 1}')[0] == {"a": 1}


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ('{\n  // here\n  "a": 1\n  "b": 2\n}', "line 4, column 3"),
        ('{"a": 1} /* open', "line 1, column 10"),
        ("[,]", "line 1, column 2"),
        ('{"a": 1,,}', "line 1, column 9"),
        ('{\r\n "a": /* x */ nope}', "line 2, column 15"),
    ],
)
def test_error_is_reported_by_line_and_column(text: str, location: str) -> None:
    with pytest.raises(JSONError, match=location):
        formats.read_jsonc(text)


@pytest.mark.parametrize(
    "text", ['"' * 200_000, "/*" * 100_000, "[1," * 100_000, '"\\' * 100_000, "//\n" * 100_000]
)
@pytest.mark.timeout(20)
def test_hostile_text_is_rejected_in_time(text: str) -> None:
    with pytest.raises(JSONError):
        formats.read_jsonc(text)


def test_every_occurrence_of_a_duplicate_member_is_found() -> None:
    text = '{"s": {"a": 1, "b": 2, "a": 3}}'
    assert [name for name, _ in member_locations(text, "s")] == ["a", "b", "a"]
    assert [text[at] for _, at in member_locations(text, "s")] == ["1", "2", "3"]
    with pytest.raises(JSONError):
        member_locations(text, "nothing")
