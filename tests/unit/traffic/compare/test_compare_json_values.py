"""Structural comparison of two JSON values."""

from __future__ import annotations

import copy
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON, ExactNumber, write_number
from inspector.traffic.compare import json_values as values_module
from inspector.traffic.compare.diff import ChangeKind, Cut, Diff, IgnoreOptions, Key, Path
from inspector.traffic.compare.json_values import compare

ADDED, REMOVED, CHANGED = ChangeKind.ADDED, ChangeKind.REMOVED, ChangeKind.CHANGED
MOVED, IGNORED = ChangeKind.MOVED, ChangeKind.IGNORED

names = st.sampled_from(["name", "id", "type", "text", "a", "b", "createdAt"])
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, 1.0, -0.0, float("nan"), ExactNumber("1.10"), ExactNumber("1e400")])
    | st.text("ab\n", max_size=3)
    | st.lists(st.sampled_from(["some words", "other words"]), min_size=8, max_size=12).map("\n".join)
)
values: st.SearchStrategy[JSON] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(names, inner, max_size=4),
    max_leaves=25,
)
ignorings = st.builds(
    IgnoreOptions,
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.lists(st.sampled_from(["a", "**.b", "[*]", "a[*].text", "[0]"]), max_size=2).map(tuple),
    st.sampled_from(["", "a|b", "n.*"]),
)


def exact(value: JSON) -> object:
    """Return a key that compares values as JSON: 1, 1.0 and true differ, NaN equals itself."""
    if isinstance(value, dict):
        return {name: exact(child) for name, child in value.items()}
    if isinstance(value, list):
        return [exact(child) for child in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return (type(value).__name__, value)
    return ("number", write_number(value))


def found(diff: Diff) -> list[tuple[str, ChangeKind]]:
    return [(diff.path_text(index), entry.kind) for index, entry in diff.differences()]


def whole(value: JSON | Cut) -> JSON:
    assert not isinstance(value, Cut)
    return value


def left_path(diff: Diff, index: int) -> Path:
    keys: list[Key] = []
    while index > 0:
        entry = diff.entries[index]
        if entry.left_key is not None and not entry.is_line:
            keys.append(entry.left_key)
        index = entry.parent
    return tuple(reversed(keys))


def apply(left: JSON, diff: Diff) -> JSON:
    """Return `left` with all differences applied: changes first, then removals, then additions."""
    root: list[JSON] = [copy.deepcopy(left)]
    going: dict[Path, list[Key]] = {}
    coming: list[tuple[Path, Key, JSON]] = []
    moved_from: list[Path] = []
    for index, entry in diff.differences():
        path = left_path(diff, index)
        if any(path[: len(moved)] == moved for moved in moved_from):
            continue  # the moved item is taken over as it is on the right
        if entry.kind is CHANGED:
            put(root, path, whole(entry.right))
        if entry.kind in (REMOVED, MOVED):
            going.setdefault(path[:-1], []).append(path[-1])
        if entry.kind in (ADDED, MOVED):
            assert entry.right_key is not None
            coming.append((left_path(diff, entry.parent), entry.right_key, whole(entry.right)))
        if entry.kind is MOVED:
            moved_from.append(path)
    holders = {path: at(root, path) for path in {*going, *(path for path, _, _ in coming)}}
    for path, keys in going.items():
        for key in sorted(keys, key=lambda key: key if isinstance(key, int) else 0, reverse=True):
            del holders[path][key]
    for path, key, value in sorted(coming, key=lambda come: come[1] if isinstance(come[1], int) else 0):
        holder = holders[path]
        if isinstance(key, int):
            cast("list[JSON]", holder).insert(key, value)
        else:
            holder[key] = value
    return root[0]


def at(root: list[JSON], path: Path) -> dict[Key, JSON]:
    """Return the container at a path. Indices are used like names."""
    value: JSON = root[0]
    for key in path:
        value = cast("dict[Key, JSON]", value)[key]
    return cast("dict[Key, JSON]", value)


def put(root: list[JSON], path: Path, value: JSON) -> None:
    if path:
        at(root, path[:-1])[path[-1]] = value
    else:
        root[0] = value


@given(values, ignorings)
def test_value_equals_itself(value: JSON, ignoring: IgnoreOptions) -> None:
    diff = compare(value, copy.deepcopy(value), ignoring)
    assert [entry.kind for entry in diff.entries] == [ChangeKind.SAME]
    assert diff.summary() == "Equal"


@given(values, values)
def test_applying_the_differences_to_the_left_gives_the_right(left: JSON, right: JSON) -> None:
    diff = compare(left, right)
    assert exact(apply(left, diff)) == exact(right)
    assert diff.is_same == (exact(left) == exact(right))


@given(values, values, ignorings)
def test_ignoring_never_adds_a_difference_between_equal_parts(
    left: JSON, right: JSON, ignoring: IgnoreOptions
) -> None:
    diff = compare(left, right, ignoring)
    for index, entry in diff.differences():
        if entry.left_key is not None and entry.right_key is not None and entry.kind is CHANGED:
            assert exact(whole(entry.left)) != exact(whole(entry.right)), diff.path_text(index)
    if compare(left, right).is_same:
        assert diff.is_same


def test_member_order_is_ignored() -> None:
    assert compare({"a": 1, "b": 2}, {"b": 2, "a": 1}).is_same


def test_tool_inserted_among_many_is_one_addition() -> None:
    tools: list[JSON] = [{"name": f"tool{number}", "description": "same"} for number in range(200)]
    diff = compare({"tools": tools}, {"tools": [*tools[:120], {"name": "new"}, *tools[120:]]})
    assert found(diff) == [("tools[120]", ADDED)]


def test_changed_named_item_is_compared_with_itself_at_any_position() -> None:
    left: JSON = [{"name": "a", "x": 1}, {"name": "b", "x": 1}]
    right: JSON = [{"name": "new", "x": 1}, {"name": "a", "x": 1}, {"name": "b", "x": 2}]
    assert found(compare(left, right)) == [("[0]", ADDED), ("[1].x", CHANGED)]


def test_named_item_at_another_position_is_moved() -> None:
    items: list[JSON] = [{"uri": f"file:///{number}"} for number in range(5)]
    diff = compare(items, [items[3], *items[:3], items[4]])
    assert found(diff) == [("[3]", MOVED)]
    assert next(diff.differences())[1].note == "Moved from [3] to [0]"


def test_content_blocks_of_one_type_are_paired() -> None:
    left: JSON = [{"type": "text", "text": "one"}, {"type": "image", "data": "x"}]
    right: JSON = [{"type": "text", "text": "two"}, {"type": "image", "data": "x"}]
    assert found(compare(left, right)) == [("[0].text", CHANGED)]


def test_a_number_written_differently_is_a_change_that_says_so() -> None:
    (_, change), *others = compare({"n": 1}, {"n": 1.0}).differences()
    assert (change.kind, change.note, others) == (CHANGED, "The same number, written differently", [])
    assert compare({"n": True}, {"n": 1}).summary() == "1 change"


def test_a_long_text_is_compared_by_its_lines() -> None:
    lines = [f"line {number}" for number in range(120)]
    diff = compare({"text": "\n".join(lines)}, {"text": "\n".join([*lines[:6], "new", *lines[7:]])})
    assert [(diff.path_text(index), change.note) for index, change in diff.differences()] == [
        ("text", "1 of 120 lines differs, the first at line 7")
    ]
    changed = [index for index, entry in enumerate(diff.entries) if entry.is_line and entry.kind is CHANGED]
    assert [diff.path_text(index) for index in changed] == ["text, line 7"]


def test_timestamps_in_text_lines_are_ignored_on_request() -> None:
    left = "\n".join(f"2026-01-02 03:04:{number:02} line {number}" for number in range(9))
    diff = compare(left, left.replace("2026", "2027").replace("line 4", "other"), IgnoreOptions(times=True))
    assert diff.entries[0].note == "1 of 9 lines differs, the first at line 5"


def test_short_multi_line_text_is_compared_by_lines() -> None:
    diff = compare('{\n  "degrees": 21\n}', '{\n  "degrees": 19\n}')
    assert diff.entries[0].note == "1 of 3 lines differs, the first at line 2"
    assert [entry.left for entry in diff.entries if entry.kind is CHANGED][1] == '  "degrees": 21'


def test_trailing_line_break_does_not_make_a_text_multi_line() -> None:
    diff = compare("done\n", "gone\n")
    assert not any(entry.is_line for entry in diff.entries)


def test_ignored_parts_are_shown_as_ignored() -> None:
    left: JSON = {"id": 1, "result": {"_meta": {"x": 1}, "at": "2026-01-02T03:04:05Z", "text": "ran"}}
    right: JSON = {"id": 2, "result": {"at": "2026-01-02T03:04:09Z", "text": "ran"}}
    diff = compare(left, right, IgnoreOptions(ids=True, times=True, metadata=True))
    assert diff.is_same
    assert [diff.path_text(index) for index, entry in enumerate(diff.entries) if entry.kind is IGNORED] == [
        "id",
        "result._meta",
        "result.at",
    ]
    assert diff.summary() == "No differences, apart from 3 ignored values"


def test_items_that_differ_only_in_ignored_parts_are_still_aligned() -> None:
    left: JSON = [{"id": number, "v": number % 7} for number in range(20)]
    right: list[JSON] = [{"id": number + 100, "v": number % 7} for number in range(20)]
    right.insert(5, "new")
    assert compare(left, right, IgnoreOptions(ids=True)).summary() == "1 addition, 20 ignored"


def test_selected_paths_and_names_are_ignored() -> None:
    left: JSON = {"content": [{"text": "a", "n": 1}, {"text": "b", "n": 1}], "x1": 1}
    right: JSON = {"content": [{"text": "c", "n": 1}, {"text": "d", "n": 2}], "x1": 2}
    diff = compare(left, right, IgnoreOptions(paths=("content[*].text",), names="x."))
    assert found(diff) == [("content[1].n", CHANGED)]


def test_ten_thousand_levels_are_compared() -> None:
    left: JSON = 1
    right: JSON = 2
    for _ in range(5_000):
        left, right = {"a": [left]}, {"a": [right]}
    diff = compare(left, right)
    (index, change), *others = diff.differences()
    assert (len(diff.path(index)), change.kind, others) == (10_000, CHANGED, [])


def test_very_many_differences_are_reported_with_less_detail_and_a_note(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(values_module, "MAX_ENTRIES", 1_000)
    left: JSON = [{"v": [number]} for number in range(2_000)]
    right: JSON = [{"v": [number + 0.5]} for number in range(2_000)]
    diff = compare(left, right)
    assert len(diff.entries) <= 3_000
    assert "were not compared" in diff.note
    assert exact(apply(left, diff)) == exact(right)
