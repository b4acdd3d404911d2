"""Comparison of bytes, and the display lines of a diff."""

from __future__ import annotations

import pickle
from collections.abc import Collection

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.base.json.values import JSON, to_wire
from inspector.traffic.compare import lines as lines_module
from inspector.traffic.compare import texts as texts_module
from inspector.traffic.compare.diff import Diff, IgnoreOptions
from inspector.traffic.compare.json_values import compare
from inspector.traffic.compare.lines import Fold, Line, lines
from inspector.traffic.compare.texts import compare_packed, compare_texts, pack

bodies = st.binary(max_size=40) | st.sampled_from(
    [
        b"{}",
        b"[1, 1.0]",
        b"[1.10]",
        b"NaN",
        b'{"a":1,"a":2}',
        b'"\xff"',
        b"[" * 2_000,
        b"-",
        b"\xef\xbb\xbf[]",
    ]
)


def shown(diff: Diff, opened: Collection[int] = ()) -> list[str]:
    """Format rows: indentation, both columns, and the kind of change."""
    return [
        f"{'  ' * row.depth}…{row.count}"
        if isinstance(row, Fold)
        else f"{'  ' * row.depth}{row.left} | {row.right} {row.mark.name}"
        for row in lines(diff, opened)
    ]


def folds(diff: Diff) -> list[int]:
    """Return the keys of the folds."""
    return [row.key for row in lines(diff) if isinstance(row, Fold) and row.key is not None]


@settings(max_examples=50)
@given(bodies, bodies)
def test_any_two_bodies_can_be_compared_shown_and_pickled(left: bytes, right: bytes) -> None:
    diff = compare_texts(left, right)
    assert diff.is_same or left != right
    assert lines(diff)
    assert pickle.loads(pickle.dumps(diff)) == diff or b"NaN" in left + right
    assert all(diff.path_text(index) is not None for index, _ in diff.differences())


def test_numbers_are_compared_as_they_were_written() -> None:
    assert shown(compare_texts(b'{"n": 1.10}', b'{"n": 1.1}'))[1:] == ["  n: 1.10 | n: 1.1 CHANGED"]
    assert compare_texts(b'{"n": 12345678901234567890}', b'{ "n":12345678901234567890}').is_same


def test_whitespace_and_member_order_are_ignored() -> None:
    assert compare_texts(b'{"a":1,"b":2}', b'{ "b": 2,\n"a": 1 }').is_same


def test_duplicate_member_name_is_mentioned() -> None:
    assert "more than once" in compare_texts(b'{"a":1,"a":2}', b'{"a":2}').note


def test_non_json_is_compared_by_lines() -> None:
    diff = compare_texts(b"one\ntwo\nthree", b"one\n2\nthree\nfour")
    assert shown(diff) == [
        "     1  one |    1  one SAME",
        "     2  two |    2  2 CHANGED",
        "     3  three |    3  three SAME",
        "   |    4  four ADDED",
    ]
    assert (diff.is_text, diff.note, diff.summary()) == (True, "", "1 change, 1 addition")


def test_reason_for_a_text_comparison_is_shown() -> None:
    assert compare_texts(b"{}", b"oops").note == "Compared as text: the right one is not JSON."


def test_json_that_is_nested_too_deeply_is_compared_by_its_lines() -> None:
    deep = b"[" * 10_000 + b"%d" + b"]" * 10_000
    diff = compare_texts(deep % 1, deep % 2)
    assert "nested too deeply" in diff.note
    assert diff.summary() == "1 change"
    assert diff.path_text(next(diff.differences())[0]) == "line 10001"


@pytest.mark.parametrize("depth", [395, 405, 990])
def test_deeply_nested_diff_can_still_be_pickled(depth: int) -> None:
    left, right = b"[" * depth + b"1" + b"]" * depth, b"[" * depth + b"2" + b"]" * depth
    diff = pickle.loads(pickle.dumps(compare_packed(pack(left, right))))
    assert diff.summary() == "1 change"


def test_too_large_values_are_only_reported_as_different(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts_module, "MAX_BYTES", 1_000)
    diff = compare_texts(b"a" * 2_000 + b"b", b"a" * 2_000 + b"c")
    assert "equal up to byte 2,000" in diff.note
    assert not diff.is_same


def test_timestamps_in_lines_are_ignored_on_request() -> None:
    left, right = b"2026-01-02 03:04:05 up\nok", b"2026-01-02 03:04:06 up\nok"
    assert compare_texts(left, right, IgnoreOptions(times=True)).is_same
    assert not compare_texts(left, right).is_same


def test_equal_neighbors_are_folded_and_can_be_opened() -> None:
    left: JSON = {"items": [*range(20)]}
    right: JSON = {"items": [*range(10), "new", *range(10, 20)]}
    diff = compare(left, right)
    assert shown(diff) == [
        "{1 member} | {1 member} INSIDE",
        "  items: [20 items] | items: [21 items] INSIDE",
        "    …8",
        "    [8]: 8 | [8]: 8 SAME",
        "    [9]: 9 | [9]: 9 SAME",
        '     | [10]: "new" ADDED',
        "    [10]: 10 | [11]: 10 SAME",
        "    [11]: 11 | [12]: 11 SAME",
        "    …8",
    ]
    assert shown(diff, folds(diff)[:1])[2:4] == ["    [0]: 0 | [0]: 0 SAME", "    [1]: 1 | [1]: 1 SAME"]
    assert shown(diff, folds(diff))[-1] == "    [19]: 19 | [20]: 19 SAME"


def test_additions_are_shown_in_full_and_equal_parts_when_expanded() -> None:
    diff = compare({"same": {"x": [1]}}, {"same": {"x": [1]}, "new": {"name": "n", "list": []}})
    assert shown(diff) == [
        "{1 member} | {2 members} INSIDE",
        "  same: {1 member} | same: {1 member} SAME",
        "   | new: {2 members} ADDED",
        '     | name: "n" ADDED',
        "     | list: [] ADDED",
    ]
    key = next(row.key for row in lines(diff) if isinstance(row, Line) and row.key is not None)
    assert shown(diff, (key,))[2:4] == ["    x: [1 item] | x: [1 item] SAME", "      [0]: 1 | [0]: 1 SAME"]


def test_items_are_shown_with_their_identifying_name() -> None:
    diff = compare([{"name": "add", "x": 1}], [{"name": "add", "x": 2}])
    assert shown(diff)[1] == "  [0] add: {2 members} | [0] add: {2 members} INSIDE"


def test_long_text_is_shown_from_the_first_difference() -> None:
    row = lines(compare("a" * 5_000 + "left", "a" * 5_000 + "right"))[0]
    assert isinstance(row, Line)
    assert row.left == "…" + '"' + "a" * 40 + 'left"'
    assert row.note == "Differs from character 5,001; 5,004 characters became 5,005"


def test_lines_are_bounded_and_show_control_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "MAX_LINES", 10)
    rows = lines(compare_texts(b"{}", to_wire({f"\x1b[31m{n}": "\x1b\u202e" * 400 for n in range(50)})))
    assert len(rows) == 11
    last = rows[-1]
    assert isinstance(last, Line)
    assert last.note == "Only the first 10 lines are shown."
    for row in rows:
        assert isinstance(row, Line)
        assert "\x1b" not in row.right
        assert "\u202e" not in row.right


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
def test_folds_say_how_many_lines_they_hide(left: list[str], right: list[str]) -> None:
    diff = compare([*left], [*right])
    hidden = sum(row.count - 1 for row in lines(diff) if isinstance(row, Fold))
    assert len(lines(diff, folds(diff))) == len(lines(diff)) + hidden


def test_pickled_diff_omits_big_equal_parts() -> None:
    same: JSON = [{"name": f"tool{number}", "list": [*range(50)]} for number in range(400)]
    left, right = (
        to_wire({"a": same, "b": {"name": "x", "v": 1}}),
        to_wire({"a": same, "b": {"name": "x", "v": 2}}),
    )
    diff = compare_packed(pack(left, right))
    assert len(pickle.dumps(diff)) < 5_000
    assert shown(diff) == shown(compare_texts(left, right))
    assert folds(diff) == []
