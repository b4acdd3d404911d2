"""JSON trees: nothing is converted, and the tree of a large text is bounded."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON
from inspector.engine.content.json_tree import (
    MAX_TEXT_LENGTH,
    MAX_VALUES,
    MAX_WIDTH,
    Members,
    Number,
    TreeValue,
    json_tree,
    left_out,
    whole_length,
)
from inspector.engine.workers import INLINE_LIMIT

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=20,
)


def plain(value: TreeValue) -> JSON:
    """Return the value that a tree represents."""
    match value:
        case Number():
            return value.value
        case Members():
            return {name: plain(child) for name, child in value}
        case list():
            return [plain(child) for child in cast("list[TreeValue]", value)]
        case _:
            return value


def all_values(value: TreeValue) -> Iterator[TreeValue]:
    yield value
    if isinstance(value, list):
        for child in value:
            yield from all_values(child[1] if isinstance(child, tuple) else child)


@given(values)
def test_tree_represents_the_original_value(value: JSON) -> None:
    assert plain(json_tree(json.dumps(value).encode()).value) == value


def test_number_spelling_and_duplicate_keys_are_kept() -> None:
    tree = json_tree(b'{"a": 1.10, "a": 1e400, "n": NaN, "big": 12345678901234567890123}')
    assert tree.value == [("a", "1.10"), ("a", "1e400"), ("n", "NaN"), ("big", "12345678901234567890123")]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"{", "at line 1"),
        (b"[" * 200_000, "too deeply"),
        (b"", "Expecting value"),
    ],
)
def test_text_that_cannot_be_a_tree_says_why(raw: bytes, words: str) -> None:
    assert words in json_tree(raw).problem


def test_text_with_too_many_values_says_why() -> None:
    assert "more values" in json_tree(b"[" + b"1," * 3_000_001 + b"1]").problem


@pytest.mark.parametrize(
    "make",  # parameters stay in memory until the last test has run
    [
        lambda: list(range(100_000)),
        lambda: {f"key {location}": [{"a": 1}] * 5 for location in range(20_000)},
        lambda: {"result": {"content": [{"type": "text", "text": "x" * 5_000_000}]}},
        lambda: ["y" * 30_000] * 200,
    ],
    ids=["list", "object", "text", "texts"],
)
def test_tree_of_a_big_text_is_bounded_and_picklable(make: Callable[[], JSON]) -> None:
    raw = json.dumps(make()).encode()
    assert len(raw) > INLINE_LIMIT
    tree = json_tree(raw)
    seen = list(all_values(tree.value))
    assert tree.is_cut
    assert len(seen) <= MAX_VALUES + 1
    assert all(len(each) <= MAX_WIDTH for each in seen if isinstance(each, list))
    assert all(len(each) <= MAX_TEXT_LENGTH for each in seen if isinstance(each, str))
    data = pickle.dumps(tree)
    assert len(data) < 3 * 1024 * 1024
    assert pickle.loads(data).value == tree.value


def test_truncated_tree_says_how_much_is_missing() -> None:
    tree = pickle.loads(pickle.dumps(json_tree(json.dumps([0] * 100_000 + ["x" * 200_000]).encode())))
    assert left_out(tree.value) == 100_001 - MAX_WIDTH
    (text,) = pickle.loads(pickle.dumps(json_tree(json.dumps(["x" * 200_000]).encode()))).value
    assert whole_length(text) == 200_000
