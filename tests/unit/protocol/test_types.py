"""Tolerant parsing of lists: usable items are used, others are malformed with a reason."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.types import Implementation, Malformed, Prompt, Resource, Tool, read_items

json_values: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
members = ["name", "uri", "title", "description", "inputSchema", "annotations", "mimeType"]
entries = json_values | st.dictionaries(st.sampled_from(members), json_values)


@given(st.lists(entries) | json_values)
def test_every_entry_of_a_list_is_either_used_or_kept_as_malformed(value: JSON) -> None:
    count = len(value) if isinstance(value, list) else 1
    for items, malformed in (
        *(read_items(value, Tool.read), read_items(value, Resource.read), read_items(value, Prompt.read)),
    ):
        assert len(items) + len(malformed) == count


def test_tool_keeps_unknown_members() -> None:
    source: JSONObject = {"name": "add", "inputSchema": {"type": "object"}, "_meta": {"x": 1}, "future": [1]}
    tool = Tool.read(source)
    assert (tool.name, tool.title, tool.input_schema, tool.source) == ("add", "", {"type": "object"}, source)


def test_title_in_the_annotations_is_used_when_there_is_no_other() -> None:
    assert Tool.read({"name": "a", "annotations": {"title": "Old"}}).title == "Old"
    assert Tool.read({"name": "a", "title": "New", "annotations": {"title": "Old"}}).title == "New"


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (7, "not an object: 7"),
        (["x" * 100], 'not an object: ["xxx'),
        ({}, '"name" must be a non-empty string'),
        ({"name": ""}, '"name" must be'),
        ({"name": 5}, '"name" must be'),
    ],
)
def test_an_entry_that_cannot_be_used_says_why_and_the_others_are_used(entry: JSON, reason: str) -> None:
    items, malformed = read_items([{"name": "good"}, entry, {"name": "better"}], Tool.read)
    assert [tool.name for tool in items] == ["good", "better"]
    assert malformed == [Malformed(entry, malformed[0].reason)]
    assert malformed[0].reason.startswith(reason)


@pytest.mark.parametrize("value", [None, {}, "tools", 5])
def test_non_list_is_one_malformed_item(value: JSON) -> None:
    assert read_items(value, Prompt.read) == (
        [],
        [Malformed(value, "the list is missing or is not an array")],
    )


def test_members_of_the_wrong_type_are_treated_as_absent() -> None:
    tool = Tool.read({"name": "a", "title": 5, "description": None, "inputSchema": [], "annotations": "x"})
    assert (tool.title, tool.description, tool.input_schema, tool.hints) == ("", "", {}, ())
    assert Resource.read({"uri": "x:y", "name": 5}).name == ""
    assert Implementation.read("words") == Implementation("", "", "")


@pytest.mark.parametrize(
    ("annotations", "hints"),
    [
        ({}, ()),
        ({"readOnlyHint": True, "destructiveHint": True}, ("read-only",)),
        ({"destructiveHint": True, "idempotentHint": True}, ("destructive", "idempotent")),
        ({"readOnlyHint": "yes", "openWorldHint": True}, ("open world",)),
        ({"destructiveHint": False}, ()),
    ],
)
def test_only_given_annotations_are_hints(annotations: JSONObject, hints: tuple[str, ...]) -> None:
    assert Tool.read({"name": "a", "annotations": annotations}).hints == hints
