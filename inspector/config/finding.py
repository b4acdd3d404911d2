"""Servers that a person has already: what the files of other tools hold, who overrides whom.

Reading only: nothing here is started, contacted or written, and no name in it is expanded. What it gives is
foreign content, and an entry of it is no permission to use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inspector.base.jsonvalue import JSONObject
from inspector.config.entries import Entry
from inspector.config.places import Place, Scope

PASTED = "pasted"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a server was found.

    `tool` is the tool whose file it is ("Claude Code"), or "pasted" without a path. `folder` is the folder
    that the server is for and where the tool would start it; None for user-level servers.
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
class FoundServer:
    """A server found in a file.

    `raw` is the file's content, `entry` the same converted to our settings, or None with a `problem`.
    `remarks` say what was ignored or interpreted differently. `line` is where it begins, 0 if unknown.
    """

    name: str
    source: Source
    raw: JSONObject
    entry: Entry | None
    problem: str = ""
    remarks: tuple[str, ...] = ()
    inputs: tuple[InputSpec, ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True)
class FoundFile:
    """An existing file. With a `problem`, which names line and column, it may have no servers."""

    source: Source
    servers: tuple[FoundServer, ...] = ()
    problem: str = ""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """All files found, by precedence: of two servers with the same name, the first wins."""

    files: tuple[FoundFile, ...] = ()

    @property
    def servers(self) -> tuple[FoundServer, ...]:
        return tuple(server for file in self.files for server in file.servers)

    def by_name(self) -> dict[str, tuple[FoundServer, ...]]:
        """Return the servers by name: the effective one first, then those it overrides."""
        names: dict[str, tuple[FoundServer, ...]] = {}
        for server in self.servers:
            names[server.name] = (*names.get(server.name, ()), server)
        return names


def look(places: Sequence[Place]) -> Found:
    """Read all existing files. Blocking disk I/O with size limits; never raises for bad content."""
    from inspector.config.formats.reading import read_places  # import the readers only when needed

    return Found(read_places(places))
