"""The forms that servers can be exported to: what each tool calls a thing, and what it has no word for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Style: TypeAlias = Literal["${NAME}", "${env:NAME}", "${input:id}", "none"]

_HTTP = {"http": "http", "sse": "sse"}


@dataclass(frozen=True, slots=True)
class ExportForm:
    """The configuration file format of another tool.

    `types` maps our transports to the tool's names; "" writes no type. `members` are the other settings it
    supports: `cwd`, `disabled` or `enabled`, `timeout` by unit, `oauth`, `watch`, and `defaults` of
    variables. `variables` is its placeholder syntax, "none" if it expands nothing.
    """

    tool: str
    file_name: str
    table: str
    types: Mapping[str, str]
    members: frozenset[str] = frozenset()
    variables: Style = "${NAME}"
    url: Mapping[str, str] = field(default_factory=dict)  # where the member is not "url"
    syntax: Literal["json", "toml"] = "json"


EXPORT_FORMS: dict[str, ExportForm] = {
    "mcp.json": ExportForm(
        "Claude Code", ".mcp.json", "mcpServers", {"stdio": "stdio", **_HTTP, "ws": "ws"},
        frozenset({"timeout-ms", "oauth", "defaults"}),
    ),
    "flat": ExportForm(
        "Claude Code plugins", ".mcp.json", "", {"stdio": "", **_HTTP}, frozenset({"defaults"})
    ),
    "claude-desktop": ExportForm(
        "Claude Desktop", "claude_desktop_config.json", "mcpServers", {"stdio": ""}, variables="none"
    ),
    "vscode": ExportForm(
        "VS Code", ".vscode/mcp.json", "servers", {"stdio": "stdio", **_HTTP},
        frozenset({"cwd", "watch"}), "${input:id}",
    ),
    "cursor": ExportForm(
        "Cursor", ".cursor/mcp.json", "mcpServers", {"stdio": "stdio", "http": "", "sse": ""},
        variables="${env:NAME}",
    ),
    "windsurf": ExportForm(
        "Windsurf", "mcp_config.json", "mcpServers", {"stdio": "", "http": "", "sse": ""},
        frozenset({"disabled"}), "${env:NAME}", {"http": "serverUrl", "sse": "serverUrl"},
    ),
    "cline": ExportForm(
        "Cline", "cline_mcp_settings.json", "mcpServers",
        {"stdio": "stdio", "http": "streamableHttp", "sse": "sse"},
        frozenset({"disabled", "timeout-s"}), "none",
    ),
    "zed": ExportForm(
        "Zed", "settings.json", "context_servers", {"stdio": "", "http": ""},
        frozenset({"enabled"}), "none",
    ),
    "codex": ExportForm(
        "Codex", "config.toml", "mcp_servers", {"stdio": "", "http": ""},
        frozenset({"cwd", "enabled", "timeout-toml"}), "none", syntax="toml",
    ),
    "gemini": ExportForm(
        "Gemini CLI", "settings.json", "mcpServers", {"stdio": "", "http": "", "sse": ""},
        frozenset({"cwd", "timeout-ms"}), url={"http": "httpUrl"},
    ),
    "copilot": ExportForm(
        "Copilot CLI", "mcp-config.json", "mcpServers", {"stdio": "local", **_HTTP}, variables="${NAME}"
    ),
}  # fmt: skip
