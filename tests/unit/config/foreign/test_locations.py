"""The configuration files of each tool are found on every platform."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inspector.config.foreign.discovery import ConfigLocation, find_servers, locations_for

_MAC = "Library/Application Support"
_ROAMING = "AppData/Roaming"
_CLINE = "User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
_EVERYWHERE = {
    ".claude.json": "Claude Code",
    ".mcp.json": "Claude Code",
    ".cursor/mcp.json": "Cursor",
    ".codeium/windsurf/mcp_config.json": "Windsurf",
    ".cline/data/settings/cline_mcp_settings.json": "Cline",
    ".codex/config.toml": "Codex",
    ".gemini/settings.json": "Gemini CLI",
    ".copilot/mcp-config.json": "Copilot CLI",
}
_DESKTOP = "claude_desktop_config.json"
_OF_PLATFORM = {
    "linux": {
        ".config/Claude/claude_desktop_config.json": "Claude Desktop",
        ".config/Code/User/mcp.json": "VS Code",
        ".config/Code - Insiders/User/mcp.json": "VS Code Insiders",
        f".config/Code/{_CLINE}": "Cline",
        ".config/zed/settings.json": "Zed",
    },
    "darwin": {
        f"{_MAC}/Claude/claude_desktop_config.json": "Claude Desktop",
        f"{_MAC}/Code/User/mcp.json": "VS Code",
        f"{_MAC}/Code/{_CLINE}": "Cline",
        ".config/zed/settings.json": "Zed",
    },
    "win32": {
        f"{_ROAMING}/Claude/claude_desktop_config.json": "Claude Desktop",
        f"AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/{_DESKTOP}": "Claude Desktop",
        f"{_ROAMING}/Code/User/mcp.json": "VS Code",
        f"{_ROAMING}/Code/{_CLINE}": "Cline",
        f"{_ROAMING}/Zed/settings.json": "Zed",
    },
}
_TABLES = {"VS Code": "servers", "VS Code Insiders": "servers", "Zed": "context_servers"}


def _write(path: Path, tool: str, name: str = "one") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".toml":
        path.write_text(f'[mcp_servers.{name}]\ncommand = "run"\n')
    else:
        path.write_text(json.dumps({_TABLES.get(tool, "mcpServers"): {name: {"command": "run"}}}))


def _cases() -> list[tuple[str, str, str]]:
    return [
        (platform, path, tool)
        for platform, own in _OF_PLATFORM.items()
        for path, tool in {**_EVERYWHERE, **own}.items()
    ]


@pytest.mark.parametrize(("platform", "path", "tool"), _cases())
def test_user_level_servers_are_found(tmp_path: Path, platform: str, path: str, tool: str) -> None:
    _write(tmp_path / path, tool)
    (server,) = find_servers(locations_for(platform, tmp_path, {}, None)).servers
    assert (server.name, server.source.tool, server.source.scope) == ("one", tool, "user")
    assert server.source.path == tmp_path / path
    assert server.entry is not None


@pytest.mark.parametrize(
    ("path", "tool"),
    [
        (".mcp.json", "Claude Code"),
        (".vscode/mcp.json", "VS Code"),
        (".cursor/mcp.json", "Cursor"),
        (".zed/settings.json", "Zed"),
        (".codex/config.toml", "Codex"),
        (".gemini/settings.json", "Gemini CLI"),
    ],
)
def test_project_servers_are_found_from_a_subfolder(tmp_path: Path, path: str, tool: str) -> None:
    folder = tmp_path / "home" / "work"
    _write(folder / path, tool)
    (folder / "src" / "deep").mkdir(parents=True)
    for each in (folder, folder / "src" / "deep"):
        (server,) = find_servers(locations_for("linux", tmp_path / "home", {}, each)).servers
        assert (server.source.tool, server.source.scope) == (tool, "folder")


@pytest.mark.parametrize(
    ("variable", "path", "tool"),
    [
        ("CODEX_HOME", "config.toml", "Codex"),
        ("COPILOT_HOME", "mcp-config.json", "Copilot CLI"),
        ("CLAUDE_CONFIG_DIR", ".claude.json", "Claude Code"),
        ("XDG_CONFIG_HOME", "zed/settings.json", "Zed"),
    ],
)
def test_a_variable_moves_the_files_of_its_tool(tmp_path: Path, variable: str, path: str, tool: str) -> None:
    moved = tmp_path / "elsewhere"
    _write(moved / path, tool)
    found = find_servers(locations_for("linux", tmp_path / "home", {variable: str(moved)}, None))
    assert [server.source.tool for server in found.servers] == [tool]
    assert not find_servers(locations_for("linux", tmp_path / "home", {variable: "elsewhere"}, None)).servers


def test_each_file_is_listed_once_when_working_in_the_home_folder(tmp_path: Path) -> None:
    _write(tmp_path / ".mcp.json", "Claude Code")
    _write(tmp_path / ".cursor" / "mcp.json", "Cursor", "two")
    found = find_servers(locations_for("linux", tmp_path, {}, tmp_path))
    assert [(server.name, server.source.scope) for server in found.servers] == [
        ("one", "user"),
        ("two", "user"),
    ]


def test_the_nearer_file_overrides_the_farther_one(tmp_path: Path) -> None:
    home, folder = tmp_path, tmp_path / "work" / "project"
    _write(folder / ".mcp.json", "Claude Code")
    _write(folder.parent / ".mcp.json", "Claude Code")
    _write(home / ".mcp.json", "Claude Code")
    local = {"projects": {str(folder): {"mcpServers": {"one": {"command": "local"}}}}}
    (home / ".claude.json").write_text(json.dumps({"mcpServers": {"one": {"command": "user"}}, **local}))
    chain = find_servers(locations_for("linux", home, {}, folder / "src")).by_name()["one"]
    assert [server.source.folder for server in chain] == [folder, folder, folder.parent, None, None]
    assert [(server.source.path, server.source.scope) for server in chain] == [
        (home / ".claude.json", "folder"),
        (folder / ".mcp.json", "folder"),
        (folder.parent / ".mcp.json", "folder"),
        (home / ".claude.json", "user"),
        (home / ".mcp.json", "user"),
    ]


def test_project_settings_override_user_settings_and_neither_overrides_a_file_that_is_used(
    tmp_path: Path,
) -> None:
    home, folder = tmp_path, tmp_path / "project"
    settings = [
        folder / ".claude" / "settings.local.json",
        folder / ".claude" / "settings.json",
        home / ".claude" / "settings.json",
    ]
    for path in settings:
        _write(path, "Claude Code")
    chain = find_servers(locations_for("linux", home, {}, folder)).by_name()["one"]
    assert [server.source.path for server in chain] == settings
    assert [server.source.scope for server in chain] == ["folder", "folder", "user"]
    _write(folder / ".mcp.json", "Claude Code")
    _write(home / ".claude.json", "Claude Code")
    chain = find_servers(locations_for("linux", home, {}, folder)).by_name()["one"]
    assert [server.source.path for server in chain] == [
        folder / ".mcp.json",
        home / ".claude.json",
        *settings,
    ]


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_managed_settings_come_first_and_system_defaults_last(platform: str, tmp_path: Path) -> None:
    scopes = [location.scope for location in locations_for(platform, tmp_path, {}, tmp_path / "work")]
    assert scopes[0] == scopes[-1] == "system"
    order = [scope for at, scope in enumerate(scopes) if at == 0 or scopes[at - 1] != scope]
    assert order == ["system", "folder", "user", "system"]


def test_no_path_is_listed_twice(tmp_path: Path) -> None:
    locations = locations_for("linux", tmp_path, {}, tmp_path)
    assert len({(location.path, location.format) for location in locations}) == len(locations)
    assert all(isinstance(location, ConfigLocation) for location in locations)
