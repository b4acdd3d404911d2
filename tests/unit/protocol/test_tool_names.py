"""Namespaced tool names, `mcp__server__tool`."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.protocol.types import namespaced


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("github", "create_issue", "mcp__github__create_issue"),
        ("my server", "get.weather", "mcp__my_server__get_weather"),
        ("claude.ai/web", "a-b", "mcp__claude_ai_web__a-b"),
        ("größe", "名前", "mcp__gr__e____"),
        ("a__b", "c__d", "mcp__a__b__c__d"),
        ("", "", "mcp____"),
    ],
)
def test_unsupported_characters_become_underscores(server: str, tool: str, name: str) -> None:
    assert namespaced(server, tool) == name


@given(st.text(), st.text())
def test_name_contains_only_characters_models_accept(server: str, tool: str) -> None:
    name = namespaced(server, tool)
    assert re.fullmatch(r"mcp__[A-Za-z0-9_-]*__[A-Za-z0-9_-]*", name)
    assert len(name) == len("mcp____") + len(server) + len(tool)
