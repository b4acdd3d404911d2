"""Discovered servers: where other clients store their servers on each platform, and what is there.

Read-only: nothing is started, contacted, written or expanded. The result is untrusted content;
discovering a server is not permission to use it.

Locations are in order of precedence, highest first. Claude Code documents: managed by the system, then
local (its own file, for this folder), then project (`.mcp.json`), then user. Gemini CLI: system settings,
then project, user, and system defaults. VS Code, Cursor, Zed and Codex: folder before user. There is no
rule between clients: a name in files of two clients is shown twice, the nearer file first.

Claude Code's settings files may contain servers too, as older versions accepted; current ones ignore them,
so they come after all others: project before user settings. Its permission rules are those of a session
started in the folder: of that folder, of the root of its repository (local settings only), of the user, and
managed ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from inspector.base.json.values import JSONObject
from inspector.config.servers.entries import Entry

if TYPE_CHECKING:
    from inspector.config.foreign.permissions import PermissionRule

PASTED = "pasted"

Scope: TypeAlias = Literal["folder", "user", "system"]

_MAX_PARENTS = 32
_MAX_DROP_INS = 64
_CLINE_SETTINGS = "globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
_VSCODE_FOLDERS = {"VS Code": "Code", "VS Code Insiders": "Code - Insiders", "VSCodium": "VSCodium"}


@dataclass(frozen=True, slots=True)
class Source:
    """Where a server was found.

    `tool` is the client whose file it is ("Claude Code"), or "pasted" without a path. `folder` is the folder
    that the server is for and where the client would start it; None for user-level servers.
    """

    tool: str
    scope: Scope
    path: Path | None
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class InputSpec:
    """A value that the file leaves to the user: what `${input:id}` stands for."""

    id: str
    description: str = ""
    is_password: bool = False
    default: str = ""
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DiscoveredServer:
    """A server found in a file.

    `raw` is the file's content, `entry` the same as an `Entry`, or None with a `problem`.
    `notes` say what was ignored or interpreted differently. `line` is where it begins, 0 if unknown.
    `is_ignored`: its client does not read servers from this file.
    """

    name: str
    source: Source
    raw: JSONObject
    entry: Entry | None
    problem: str = ""
    notes: tuple[str, ...] = ()
    inputs: tuple[InputSpec, ...] = ()
    line: int = 0
    is_ignored: bool = False


@dataclass(frozen=True, slots=True)
class DiscoveredFile:
    """An existing file. With a `problem`, which names line and column, it may have no servers."""

    source: Source
    servers: tuple[DiscoveredServer, ...] = ()
    problem: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DiscoveredServers:
    """All files found, by precedence, and the permission rules of Claude Code in any of them."""

    files: tuple[DiscoveredFile, ...] = ()
    rules: tuple[PermissionRule, ...] = ()

    @property
    def servers(self) -> tuple[DiscoveredServer, ...]:
        return tuple(server for file in self.files for server in file.servers)

    def by_name(self) -> dict[str, tuple[DiscoveredServer, ...]]:
        """Return the servers by name: the effective one first, then those it overrides."""
        names: dict[str, tuple[DiscoveredServer, ...]] = {}
        for server in self.servers:
            names[server.name] = (*names.get(server.name, ()), server)
        return {
            name: tuple(sorted(chain, key=lambda server: server.is_ignored)) for name, chain in names.items()
        }


@dataclass(frozen=True, slots=True)
class ConfigLocation:
    """A file that may contain servers: its client, its format and its scope.

    `format` is a key of `formats.FILE_FORMATS`. `folder` is the folder that its servers are for; in a file
    with servers for several folders, the one to look up. `has_rules`: its permission rules apply.
    """

    tool: str
    scope: Scope
    path: Path
    format: str
    folder: Path | None = None
    has_rules: bool = False


def find_servers(locations: Sequence[ConfigLocation]) -> DiscoveredServers:
    """Read all existing files. Blocking disk I/O with size limits; never raises for bad content."""
    from inspector.config.foreign.reader import discovered, read_locations  # only when needed

    return discovered(read_locations(locations))


def locations_for(
    platform: str, home: Path, environment: Mapping[str, str], folder: Path | None
) -> tuple[ConfigLocation, ...]:
    """Return all files to look at. `platform` is `sys.platform`; `folder` None skips projects.

    Looks for the root of the repository, managed settings and Store apps, and opens no file.
    """
    machine = _Machine(platform, home, environment)
    user = tuple(_user_locations(machine))
    # In the home folder the same files would be listed twice; count them as user-level.
    user_paths = {location.path for location in user if location.format != "claude-user"}
    project = (each for each in _folder_locations(machine, folder) if each.path not in user_paths)
    locations = (*_system_locations(machine), *project, *user, *_default_locations(machine))
    return tuple({(location.path, location.format): location for location in locations}.values())


def local_locations(folder: Path | None = None) -> tuple[ConfigLocation, ...]:
    """Return the locations on this machine, for a folder or the current working directory."""
    import os
    import sys

    try:
        working_directory = (folder or Path.cwd()).absolute()
    except FileNotFoundError:  # removed meanwhile
        return locations_for(sys.platform, Path.home(), os.environ, None)
    return locations_for(sys.platform, Path.home(), os.environ, working_directory)


class _Machine:
    """The directories in which programs store their settings."""

    def __init__(self, platform: str, home: Path, environment: Mapping[str, str]) -> None:
        self.is_windows = platform == "win32"
        self.is_mac = platform == "darwin"
        self.home = home
        self._environment = environment

    def path_from(self, variable: str, default: Path) -> Path:
        """Return a path that a variable may override; relative values are ignored."""
        value = self._environment.get(variable, "")
        return Path(value) if value and Path(value).is_absolute() else default

    @property
    def support(self) -> Path:
        """Directory of application settings for GUI programs."""
        if self.is_windows:
            return self.path_from("APPDATA", self.home / "AppData" / "Roaming")
        if self.is_mac:
            return self.home / "Library" / "Application Support"
        return self.config

    @property
    def local(self) -> Path:
        """Directory of settings that stay on this machine; Windows only."""
        return self.path_from("LOCALAPPDATA", self.home / "AppData" / "Local")

    @property
    def config(self) -> Path:
        return self.path_from("XDG_CONFIG_HOME", self.home / ".config")

    @property
    def zed(self) -> Path:
        return self.support / "Zed" if self.is_windows else self.config / "zed"

    @property
    def claude(self) -> Path:
        """Directory of `.claude.json`; CLAUDE_CONFIG_DIR moves it together with `.claude`."""
        return self.path_from("CLAUDE_CONFIG_DIR", self.home)

    def shared(self, mac: str, windows: str, linux: str) -> Path:
        """Return a machine-wide folder, by its name on each platform."""
        if self.is_windows:
            return self.path_from("PROGRAMDATA", Path("C:/ProgramData")) / windows
        return Path("/Library/Application Support", mac) if self.is_mac else Path("/etc", linux)


def _system_locations(machine: _Machine) -> Iterator[ConfigLocation]:
    claude = machine.shared("ClaudeCode", "ClaudeCode", "claude-code")
    yield ConfigLocation("Claude Code", "system", claude / "managed-mcp.json", "mcp.json")
    if machine.is_windows:
        programs = machine.path_from("PROGRAMFILES", Path("C:/Program Files"))
        yield ConfigLocation(
            "Claude Code", "system", programs / "ClaudeCode" / "managed-mcp.json", "mcp.json"
        )
        claude = programs / "ClaudeCode"
    for path in (claude / "managed-settings.json", *_drop_ins(claude / "managed-settings.d")):
        yield ConfigLocation("Claude Code", "system", path, "claude-settings", has_rules=True)
    gemini = machine.shared("GeminiCli", "gemini-cli", "gemini-cli") / "settings.json"
    path = machine.path_from("GEMINI_CLI_SYSTEM_SETTINGS_PATH", gemini)
    yield ConfigLocation("Gemini CLI", "system", path, "gemini")


def _drop_ins(folder: Path) -> list[Path]:
    """Return the JSON files in a folder of managed settings, in the order in which they are merged."""
    try:
        names = sorted(each.name for each in folder.iterdir())
    except OSError:
        return []
    chosen = [name for name in names if name.endswith(".json") and not name.startswith(".")]
    return [folder / name for name in chosen[:_MAX_DROP_INS]]


def _repository_root(folder: Path) -> Path | None:
    return next((each for each in (folder, *folder.parents)[:_MAX_PARENTS] if _exists(each / ".git")), None)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # not permitted, or NUL in the path
        return False


def _folder_locations(machine: _Machine, folder: Path | None) -> Iterator[ConfigLocation]:
    if folder is None:
        return
    root = None if machine.is_windows else _repository_root(folder)
    yield ConfigLocation("Claude Code", "folder", machine.claude / ".claude.json", "claude-folder", folder)
    for each in (folder, *folder.parents)[:_MAX_PARENTS]:
        yield ConfigLocation("Claude Code", "folder", each / ".mcp.json", "mcp.json", each)
        local, shared = each / ".claude" / "settings.local.json", each / ".claude" / "settings.json"
        yield ConfigLocation(
            "Claude Code", "folder", local, "claude-settings", each, has_rules=each in (folder, root)
        )
        yield ConfigLocation(
            "Claude Code", "folder", shared, "claude-settings", each, has_rules=each == folder
        )
        yield ConfigLocation("VS Code", "folder", each / ".vscode" / "mcp.json", "vscode", each)
        yield ConfigLocation("Cursor", "folder", each / ".cursor" / "mcp.json", "mcp.json", each)
        yield ConfigLocation("Zed", "folder", each / ".zed" / "settings.json", "zed", each)
        yield ConfigLocation("Codex", "folder", each / ".codex" / "config.toml", "codex", each)
        yield ConfigLocation("Gemini CLI", "folder", each / ".gemini" / "settings.json", "gemini", each)
    yield ConfigLocation("MCP registry", "folder", folder / "server.json", "registry", folder)


def _user_locations(machine: _Machine) -> Iterator[ConfigLocation]:
    home = machine.home
    yield ConfigLocation("Claude Code", "user", machine.claude / ".claude.json", "claude-user")
    yield ConfigLocation("Claude Code", "user", home / ".mcp.json", "mcp.json")
    settings = machine.path_from("CLAUDE_CONFIG_DIR", home / ".claude") / "settings.json"
    yield ConfigLocation("Claude Code", "user", settings, "claude-settings", has_rules=True)
    for tool, name in _VSCODE_FOLDERS.items():
        profile = machine.support / name / "User"
        yield ConfigLocation(tool, "user", profile / "mcp.json", "vscode")
        yield ConfigLocation(tool, "user", profile / "settings.json", "vscode-settings")
    yield ConfigLocation("Cursor", "user", home / ".cursor" / "mcp.json", "mcp.json")
    yield ConfigLocation("Windsurf", "user", home / ".codeium" / "windsurf" / "mcp_config.json", "mcp.json")
    for name in (*_VSCODE_FOLDERS.values(), "Cursor", "Windsurf"):
        yield ConfigLocation("Cline", "user", machine.support / name / "User" / _CLINE_SETTINGS, "mcp.json")
    cline = home / ".cline" / "data" / "settings" / "cline_mcp_settings.json"
    yield ConfigLocation("Cline", "user", machine.path_from("CLINE_MCP_SETTINGS_PATH", cline), "mcp.json")
    yield ConfigLocation("Zed", "user", machine.zed / "settings.json", "zed")
    codex = machine.path_from("CODEX_HOME", home / ".codex") / "config.toml"
    yield ConfigLocation("Codex", "user", codex, "codex")
    yield ConfigLocation("Gemini CLI", "user", home / ".gemini" / "settings.json", "gemini")
    copilot = machine.path_from("COPILOT_HOME", home / ".copilot") / "mcp-config.json"
    yield ConfigLocation("Copilot CLI", "user", copilot, "mcp.json")
    for folder in _claude_desktop_folders(machine):
        path = folder / "claude_desktop_config.json"
        yield ConfigLocation("Claude Desktop", "user", path, "claude-desktop")


def _claude_desktop_folders(machine: _Machine) -> Iterator[Path]:
    """Yield the folders of its settings; Windows redirects those of an app from the Store."""
    if machine.is_windows:
        for package in sorted((machine.local / "Packages").glob("Claude_*")):
            yield package / "LocalCache" / "Roaming" / "Claude"
    yield machine.support / "Claude"


def _default_locations(machine: _Machine) -> Iterator[ConfigLocation]:
    if not machine.is_windows:
        yield ConfigLocation("Codex", "system", Path("/etc/codex/config.toml"), "codex")
    defaults = machine.shared("GeminiCli", "gemini-cli", "gemini-cli") / "system-defaults.json"
    path = machine.path_from("GEMINI_CLI_SYSTEM_DEFAULTS_PATH", defaults)
    yield ConfigLocation("Gemini CLI", "system", path, "gemini")
