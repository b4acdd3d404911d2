"""Frozen values of discovered servers; they may cross threads."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the window shows these before the configuration is imported
    from inspector.config.foreign.discovery import DiscoveredFile, InputSpec, Source
    from inspector.config.foreign.permissions import PermissionRule, ToolPermission
    from inspector.config.servers.entry_diff import FieldChange


class Trust(Enum):
    """Trust in a discovered server; the values are display text."""

    NONE = "not trusted"
    CHANGED = "changed since you trusted it"
    GIVEN = "trusted"


@dataclass(frozen=True, slots=True)
class DiscoveredServerView:
    """A server in another client's file, with all that is needed to decide about it.

    Nothing is shortened or expanded: `command`, `args`, `cwd` and `url` are as in the file, and untrusted
    text. `program` is the file that would be started, "" if missing or dependent on placeholders; `scripts`
    are the files among the arguments that it would run. `facts` are all settings by path, secrets masked;
    `cautions` are non-obvious risks. `seen` identifies exactly this content; pass it back with the
    decision.
    """

    id: str
    name: str
    source: Source
    line: int
    trust: Trust
    seen: str
    problem: str = ""  # why it cannot be trusted; it can still be viewed
    notes: tuple[str, ...] = ()
    overridden_by: Source | None = None
    overrides: tuple[Source, ...] = ()
    transport: str = ""
    command: str = ""
    args: tuple[str, ...] = ()
    env_names: tuple[str, ...] = ()
    cwd: str = ""
    folder: str = ""  # working directory
    program: str = ""
    scripts: tuple[str, ...] = ()
    url: str = ""
    header_names: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()  # environment variables to pass, each with its own consent
    other_names: tuple[str, ...] = ()  # workspaceFolder etc.
    inputs: tuple[InputSpec, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    cautions: tuple[str, ...] = ()
    changes: tuple[FieldChange, ...] = ()  # since it was trusted
    is_enabled: bool = True
    is_importable: bool = True
    server: str = ""  # name among our servers, once trusted


@dataclass(frozen=True, slots=True)
class DiscoveryReport:
    """Result of the last scan: servers by precedence, and the files they are in.

    `rules` are Claude Code's permission rules for MCP tools, also of files that are not shown.
    """

    servers: tuple[DiscoveredServerView, ...] = ()
    files: tuple[DiscoveredFile, ...] = ()
    problem: str = ""  # with our trust file
    rules: tuple[PermissionRule, ...] = ()

    def permission(self, server: str, tool: str) -> ToolPermission | None:
        """Return what Claude Code's rules say about a tool of one of our servers; None without a rule.

        A trusted server keeps the name of its file there, even if ours has a number added.
        """
        if not self.rules:
            return None
        from inspector.config.foreign.permissions import permission_for

        name = next((view.name for view in self.servers if view.server == server), server)
        return permission_for(self.rules, name, tool)
