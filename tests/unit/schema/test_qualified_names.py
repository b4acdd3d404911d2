"""Qualified tool names as hosts build them, and findings about tools."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSONObject
from inspector.protocol.types import Tool, namespaced
from inspector.schema.tool_names import (
    MAX_NAME_LENGTH,
    matching_servers,
    matching_tools,
    offered_names,
    tool_findings,
    tools_of_any_server,
)

SCHEMA: JSONObject = {"type": "object"}


def tool(name: str, **members: object) -> Tool:
    source = {"name": name, "inputSchema": SCHEMA, **members}
    return Tool.read(source)  # type: ignore[arg-type]


def test_names_that_fit_and_differ_are_offered_unchanged() -> None:
    assert offered_names([("git hub", "add"), ("x", "a.b")]) == ["mcp__git_hub__add", "mcp__x__a_b"]


def test_names_that_collide_or_are_too_long_get_a_digest() -> None:
    names = offered_names([("s", "a.b"), ("s", "a_b"), ("s", "x" * 90), ("s", "a.b")])
    assert len(set(names)) == 4
    assert all(re.fullmatch(r"mcp__s__(a_b|x+)_[0-9a-f]{8}", name) for name in names)
    assert len(names[2]) == MAX_NAME_LENGTH


@given(st.lists(st.tuples(st.text(max_size=80), st.text(max_size=80)), max_size=8), st.sampled_from([63, 64]))
def test_offered_names_are_unique_and_accepted_by_model_apis(
    tools: list[tuple[str, str]], limit: int
) -> None:
    names = offered_names(tools, limit)
    assert len(set(names)) == len(tools)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]+", name) and len(name) <= limit for name in names)


@given(st.lists(st.tuples(st.text(max_size=70), st.text(max_size=70)), max_size=6, unique=True))
def test_every_offered_name_leads_back_to_its_tool(tools: list[tuple[str, str]]) -> None:
    for pair, name in zip(tools, offered_names(tools), strict=True):
        assert pair in matching_tools(name, tools)
        assert pair in matching_tools(namespaced(*pair), tools)


@pytest.mark.parametrize(
    ("name", "servers"),
    [
        ("mcp__my_server__add", ["my server", "my.server"]),
        ("mcp__a__b__c", ["a", "a__b"]),
        ("mcp__other__add", []),
        ("my_server__add", []),
    ],
)
def test_servers_are_matched_as_hosts_sanitize_their_names(name: str, servers: list[str]) -> None:
    assert matching_servers(name, ["my server", "my.server", "a", "a__b"]) == servers


def test_any_server_name_is_accepted_if_the_server_has_none() -> None:
    tools = ["echo", "a.b", "b"]
    assert tools_of_any_server("mcp__x__echo", tools) == ["echo"]
    assert tools_of_any_server("mcp__x__y__a_b", tools) == ["a.b"]
    assert tools_of_any_server("x__echo", tools) == []


def test_tools_whose_names_collide_after_sanitizing_are_reported_at_each_of_them() -> None:
    first, second, third = tool_findings([("s", tool("a.b")), ("s", tool("a_b")), ("s", tool("c"))])
    assert first == ("Its qualified name mcp__s__a_b is also that of “a_b”: models cannot tell them apart.",)
    assert "also that of “a.b”" in second[0]
    assert third == ()


def test_a_collision_with_a_tool_of_another_server_names_that_server() -> None:
    findings = tool_findings([("my server", tool("add")), ("my.server", tool("add"))])
    assert "also that of “add” of “my.server”" in findings[0][0]


def test_a_qualified_name_over_64_characters_is_reported() -> None:
    exact, over = tool_findings([("s", tool("x" * 56)), ("s", tool("x" * 57))])
    assert exact == ()
    assert "has 65 characters. Model APIs allow 64" in over[0]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"name": "t"}, '"inputSchema" is missing.'),
        ({"name": "t", "inputSchema": None}, '"inputSchema" is null instead of an object.'),
        ({"name": "t", "inputSchema": "x"}, '"inputSchema" is a string instead of an object.'),
    ],
)
def test_a_tool_without_an_input_schema_is_reported(source: JSONObject, expected: str) -> None:
    (findings,) = tool_findings([("s", Tool.read(source))])
    assert findings[0].startswith(expected)
