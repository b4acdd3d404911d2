"""Changes of a server's lists: items, renames, hidden characters, and what is no change."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.drift import ChangeKind, FeatureLists, ItemChange, changes_text, compare_features


def tool(name: str, description: str = "", /, **members: JSON) -> JSONObject:
    made: JSONObject = {"name": name, "inputSchema": {"type": "object"}, **members}
    return {**made, "description": description} if description else made


def takes(**properties: JSON) -> JSONObject:
    return {"type": "object", "properties": properties}


def compared(before: list[JSONObject], after: list[JSONObject], kind: str = "tools") -> list[ItemChange]:
    return list(compare_features({kind: before}, {kind: after}))


def test_added_and_removed_items_are_reported_by_name() -> None:
    changes = compared([tool("a"), tool("b")], [tool("b"), tool("c")])
    assert [(change.change_kind, change.name) for change in changes] == [
        (ChangeKind.ADDED, "c"),
        (ChangeKind.REMOVED, "a"),
    ]


def test_a_changed_item_names_the_members_that_differ() -> None:
    before = tool(
        "a", "Reads.", annotations={"readOnlyHint": True}, inputSchema=takes(path={"type": "string"})
    )
    after = tool("a", "Reads it.", annotations={"readOnlyHint": True}, inputSchema=takes(path={}))
    (change,) = compared([before], [{**after, "outputSchema": {}}])
    assert change.change_kind is ChangeKind.CHANGED
    assert set(change.fields) == {"description", "inputSchema", "outputSchema"}


def test_reordering_is_not_a_change() -> None:
    before = [
        tool("a", inputSchema={"type": "object", "required": ["x", "y"], "properties": {"x": {}, "y": {}}}),
        tool("b"),
    ]
    after = [
        tool("b"),
        tool("a", inputSchema={"properties": {"y": {}, "x": {}}, "required": ["y", "x"], "type": "object"}),
    ]
    assert not compared(before, after)


def test_order_of_choices_matters() -> None:
    choices: list[JSON] = ["x", "y"]
    before, after = ([tool("a", inputSchema={"enum": each})] for each in (choices, choices[::-1]))
    assert [change.fields for change in compared(before, after)] == [("inputSchema",)]


def test_true_is_not_one() -> None:
    (change,) = compared([tool("a", extra=1)], [tool("a", extra=True)])
    assert change.fields == ("extra",)


def test_a_tool_with_another_name_but_the_same_body_was_renamed() -> None:
    (change,) = compared([tool("read", "Reads a file.")], [tool("read_file", "Reads a file.", title="Read")])
    assert (change.change_kind, change.old_name, change.name) == (ChangeKind.RENAMED, "read", "read_file")
    assert set(change.fields) == {"name", "title"}


def test_renamed_and_changed_tool_is_matched_by_description_or_schema() -> None:
    schema, other = takes(path={"type": "string"}), takes(file={"type": "string"})
    before = [tool("a", "Reads.", inputSchema=schema), tool("b", "Writes.", inputSchema=takes(text={}))]
    after = [tool("x", "Reads.", inputSchema=other), tool("y", "Writes it.", inputSchema=takes(text={}))]
    renamed = {change.old_name: change for change in compared(before, after)}
    assert renamed["a"].name == "x"
    assert "inputSchema" in renamed["a"].fields
    assert renamed["b"].name == "y"
    assert "description" in renamed["b"].fields


def test_tools_without_distinguishing_features_are_not_matched() -> None:
    changes = compared([tool("a")], [tool("b")])
    assert {change.change_kind for change in changes} == {ChangeKind.ADDED, ChangeKind.REMOVED}


def test_ambiguous_similarity_is_ignored() -> None:
    before = [tool("a", "Old.", x=1), tool("b", "Old.", x=2)]
    after = [tool("c", "Old.", x=3), tool("d", "Old.", x=4)]
    assert {change.change_kind for change in compared(before, after)} == {
        ChangeKind.ADDED,
        ChangeKind.REMOVED,
    }


def test_resource_at_another_uri_is_matched_by_name() -> None:
    before: list[JSONObject] = [{"uri": "file:///a", "name": "Log"}]
    after: list[JSONObject] = [{"uri": "file:///b", "name": "Log"}]
    (change,) = compared(before, after, "resources")
    assert (change.change_kind, change.old_name, change.name) == (
        ChangeKind.RENAMED,
        "file:///a",
        "file:///b",
    )


def test_size_and_time_of_a_resource_are_not_compared() -> None:
    before: JSONObject = {"uri": "x:", "name": "x", "size": 1, "annotations": {"lastModified": "2025"}}
    after: JSONObject = {"uri": "x:", "name": "x", "size": 2}
    assert not compared([before], [after], "resources")
    assert compared([before], [{**after, "mimeType": "text/html"}], "resources")


def test_items_with_equal_names_are_distinguished() -> None:
    before = [tool("a", "One."), tool("a", "Two.")]
    assert not compared(before, list(before))
    (change,) = compared(before, [tool("a", "One."), tool("a", "Another.")])
    assert (change.name, change.number, change.fields) == ("a", 1, ("description",))
    (removed,) = compared(before, [tool("a", "One.")])
    assert (removed.change_kind, removed.number) == (ChangeKind.REMOVED, 1)


def test_unrequested_list_is_not_compared() -> None:
    assert not compare_features({"tools": [tool("a")]}, {"prompts": [{"name": "p"}]})


def test_server_info_is_compared() -> None:
    before: FeatureLists = {"server": [{"serverInfo": {"name": "s", "version": "1"}, "capabilities": {}}]}
    after: FeatureLists = {
        "server": [{"serverInfo": {"name": "s", "version": "2"}, "capabilities": {}, "instructions": "!"}]
    }
    (change,) = compare_features(before, after)
    assert (change.kind, set(change.fields)) == ("server", {"serverInfo", "instructions"})


@pytest.mark.parametrize("char", ["\u200b", "\u202e", "\U000e0041", "\x1b"])
def test_hidden_characters_that_are_new_are_pointed_out(char: str) -> None:
    (change,) = compared([tool("a", "Adds.")], [tool("a", f"Adds.{char}")])
    assert change.hidden.startswith("description: ")
    (added,) = compared([], [tool("b", inputSchema=takes(x={"description": f"A{char}"}))])
    assert added.hidden.startswith("inputSchema: ")


def test_accepted_hidden_characters_and_windows_line_endings_are_not_pointed_out() -> None:
    (change,) = compared([tool("a", "Adds\u200b.")], [tool("a", "Adds\u200b\r\nnumbers \u2764\ufe0f.")])
    assert change.fields == ("description",)
    assert not change.hidden


def test_values_nested_as_deeply_as_possible_are_compared() -> None:
    deep: JSON = 1
    for _ in range(5_000):
        deep = [deep]
    (change,) = compared([tool("a", x=1)], [tool("a", x=deep)])
    assert change.fields == ("x",)


def test_changes_are_summarized_by_list() -> None:
    before: FeatureLists = {
        "tools": [tool("a", "A."), tool("b", "B.")],
        "prompts": [],
        "server": [{"instructions": "1"}],
    }
    after: FeatureLists = {
        "tools": [tool("a", "?"), tool("b", "!")],
        "prompts": [{"name": "p"}],
        "server": [{}],
    }
    text = changes_text(compare_features(before, after))
    assert text == "2 tools changed, 1 prompt added, server information changed"


_TEXTS = st.text("abc\u200b", max_size=3)
_TOOLS = st.lists(st.builds(lambda name, text: tool(name, text), _TEXTS.filter(bool), _TEXTS), max_size=6)


@given(_TOOLS, _TOOLS, st.randoms())
def test_every_different_item_is_reported_once(
    before: list[JSONObject], after: list[JSONObject], dice: random.Random
) -> None:
    changes = compared(before, after)
    counts = {became: sum(change.change_kind is became for change in changes) for became in ChangeKind}
    assert len(after) == len(before) + counts[ChangeKind.ADDED] - counts[ChangeKind.REMOVED]
    assert not compared(before, before)
    names = [item["name"] for item in before]
    if len(set(map(str, names))) == len(names):
        assert not compared(before, dice.sample(before, len(before)))
