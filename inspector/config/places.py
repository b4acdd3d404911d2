"""Where other tools keep their servers, on each platform and for a folder that one works in.

The order is the one in which they count, strongest first. Claude Code documents: managed by the system,
then local (its own file, for this folder), then project (`.mcp.json`), then user. Gemini CLI: system
settings, then project, user, and the system's defaults. VS Code, Cursor, Zed and Codex: the folder before the
person. Between tools there is no such rule; where a name is in files of two of them, both are shown, the
nearer one first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

Scope: TypeAlias = Literal["folder", "user", "system"]

_MOST_PARENTS = 32
_CLINE = "globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
_VSCODES = {"VS Code": "Code", "VS Code Insiders": "Code - Insiders", "VSCodium": "VSCodium"}


@dataclass(frozen=True, slots=True)
class Place:
    """A file that may contain servers: whose it is, its format, and why we look there.

    `form` is a key of `formats.forms.FORMS`. `folder` is the folder that its servers are for; in a file
    with servers for several folders, the one to look up.
    """

    tool: str
    scope: Scope
    path: Path
    form: str
    folder: Path | None = None


def places_for(
    platform: str, home: Path, environment: Mapping[str, str], folder: Path | None
) -> tuple[Place, ...]:
    """Return all files to look at. `platform` is `sys.platform`; `folder` None skips projects."""
    machine = _Machine(platform, home, environment)
    of_person = tuple(_of_person(machine))
    # In the home folder the same files would be listed twice; count them as user-level.
    theirs = {place.path for place in of_person if place.form != "claude-user"}
    of_folder = (place for place in _of_folder(machine, folder) if place.path not in theirs)
    found = (*_of_system(machine), *of_folder, *of_person, *_defaults(machine))
    return tuple({(place.path, place.form): place for place in found}.values())


def places_here(folder: Path | None = None) -> tuple[Place, ...]:
    """Return the places on this machine, for a folder or the current working directory."""
    import os
    import sys

    try:
        working = (folder or Path.cwd()).absolute()
    except FileNotFoundError:  # removed meanwhile
        return places_for(sys.platform, Path.home(), os.environ, None)
    return places_for(sys.platform, Path.home(), os.environ, working)


class _Machine:
    """The directories in which programs keep their settings."""

    def __init__(self, platform: str, home: Path, environment: Mapping[str, str]) -> None:
        self.is_windows = platform == "win32"
        self.is_mac = platform == "darwin"
        self.home = home
        self._environment = environment

    def given(self, variable: str, otherwise: Path) -> Path:
        """Return a path that a variable may override; relative values are ignored."""
        value = self._environment.get(variable, "")
        return Path(value) if value and Path(value).is_absolute() else otherwise

    @property
    def support(self) -> Path:
        """Directory of application settings for GUI programs."""
        if self.is_windows:
            return self.given("APPDATA", self.home / "AppData" / "Roaming")
        if self.is_mac:
            return self.home / "Library" / "Application Support"
        return self.config

    @property
    def config(self) -> Path:
        return self.given("XDG_CONFIG_HOME", self.home / ".config")

    @property
    def zed(self) -> Path:
        return self.support / "Zed" if self.is_windows else self.config / "zed"

    @property
    def claude(self) -> Path:
        """Directory of `.claude.json`; CLAUDE_CONFIG_DIR moves it together with `.claude`."""
        return self.given("CLAUDE_CONFIG_DIR", self.home)

    def shared(self, mac: str, windows: str, linux: str) -> Path:
        """Return a machine-wide folder, by its name on each platform."""
        if self.is_windows:
            return self.given("PROGRAMDATA", Path("C:/ProgramData")) / windows
        return Path("/Library/Application Support", mac) if self.is_mac else Path("/etc", linux)


def _of_system(machine: _Machine) -> Iterator[Place]:
    claude = machine.shared("ClaudeCode", "ClaudeCode", "claude-code")
    yield Place("Claude Code", "system", claude / "managed-mcp.json", "mcp.json")
    if machine.is_windows:
        programs = machine.given("PROGRAMFILES", Path("C:/Program Files"))
        yield Place("Claude Code", "system", programs / "ClaudeCode" / "managed-mcp.json", "mcp.json")
    gemini = machine.shared("GeminiCli", "gemini-cli", "gemini-cli") / "settings.json"
    path = machine.given("GEMINI_CLI_SYSTEM_SETTINGS_PATH", gemini)
    yield Place("Gemini CLI", "system", path, "gemini")


def _of_folder(machine: _Machine, folder: Path | None) -> Iterator[Place]:
    if folder is None:
        return
    yield Place("Claude Code", "folder", machine.claude / ".claude.json", "claude-folder", folder)
    for each in (folder, *folder.parents)[:_MOST_PARENTS]:
        yield Place("Claude Code", "folder", each / ".mcp.json", "mcp.json", each)
        yield Place(
            "Claude Code", "folder", each / ".claude" / "settings.local.json", "claude-settings", each
        )
        yield Place("Claude Code", "folder", each / ".claude" / "settings.json", "claude-settings", each)
        yield Place("VS Code", "folder", each / ".vscode" / "mcp.json", "vscode", each)
        yield Place("Cursor", "folder", each / ".cursor" / "mcp.json", "mcp.json", each)
        yield Place("Zed", "folder", each / ".zed" / "settings.json", "zed", each)
        yield Place("Codex", "folder", each / ".codex" / "config.toml", "codex", each)
        yield Place("Gemini CLI", "folder", each / ".gemini" / "settings.json", "gemini", each)
    yield Place("MCP registry", "folder", folder / "server.json", "registry", folder)


def _of_person(machine: _Machine) -> Iterator[Place]:
    home = machine.home
    yield Place("Claude Code", "user", machine.claude / ".claude.json", "claude-user")
    yield Place("Claude Code", "user", home / ".mcp.json", "mcp.json")
    settings = machine.given("CLAUDE_CONFIG_DIR", home / ".claude") / "settings.json"
    yield Place("Claude Code", "user", settings, "claude-settings")
    for tool, name in _VSCODES.items():
        profile = machine.support / name / "User"
        yield Place(tool, "user", profile / "mcp.json", "vscode")
        yield Place(tool, "user", profile / "settings.json", "vscode-settings")
    yield Place("Cursor", "user", home / ".cursor" / "mcp.json", "mcp.json")
    yield Place("Windsurf", "user", home / ".codeium" / "windsurf" / "mcp_config.json", "mcp.json")
    for name in (*_VSCODES.values(), "Cursor", "Windsurf"):
        yield Place("Cline", "user", machine.support / name / "User" / _CLINE, "mcp.json")
    cline = home / ".cline" / "data" / "settings" / "cline_mcp_settings.json"
    yield Place("Cline", "user", machine.given("CLINE_MCP_SETTINGS_PATH", cline), "mcp.json")
    yield Place("Zed", "user", machine.zed / "settings.json", "zed")
    codex = machine.given("CODEX_HOME", home / ".codex") / "config.toml"
    yield Place("Codex", "user", codex, "codex")
    yield Place("Gemini CLI", "user", home / ".gemini" / "settings.json", "gemini")
    copilot = machine.given("COPILOT_HOME", home / ".copilot") / "mcp-config.json"
    yield Place("Copilot CLI", "user", copilot, "mcp.json")
    yield Place("Claude Desktop", "user", _claude_desktop(machine), "claude-desktop")


def _claude_desktop(machine: _Machine) -> Path:
    return machine.support / "Claude" / "claude_desktop_config.json"


def _defaults(machine: _Machine) -> Iterator[Place]:
    if not machine.is_windows:
        yield Place("Codex", "system", Path("/etc/codex/config.toml"), "codex")
    defaults = machine.shared("GeminiCli", "gemini-cli", "gemini-cli") / "system-defaults.json"
    path = machine.given("GEMINI_CLI_SYSTEM_DEFAULTS_PATH", defaults)
    yield Place("Gemini CLI", "system", path, "gemini")
