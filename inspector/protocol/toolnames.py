"""The name by which clients offer a tool to a model: `mcp__server__tool`."""

from __future__ import annotations

import re

_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_-]")


def namespaced(server: str, tool: str) -> str:
    """Return the tool name of Claude Code and Codex, for permission rules, hooks and prompts.

    Models allow letters, digits, _ and - in tool names: any other character becomes _. Servers or tools
    whose names differ only there get the same name.
    """
    return f"mcp__{_allowed(server)}__{_allowed(tool)}"


def _allowed(name: str) -> str:
    return _NOT_ALLOWED.sub("_", name)
