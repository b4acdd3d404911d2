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
    """Where a server was read. `tool` is whose file it is ("Claude Code"), or "pasted" without a path.

    `folder` is the one that it is for, where the tool would start it; None for servers of a person.
    """

    tool: str
    scope: Scope
    path: Path | None
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class InputSpec:
    """A value that its file leaves to the person: what `${input:id}` stands for."""

    id: str
    description: str = ""
    is_password: bool = False
    default: str = ""
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A server as it stands in a file.

    `raw` is what the file says, `entry` the same in our words, or None with a `problem`. The `remarks` say
    what of it we leave out or read otherwise. `line` is where it begins, 0 when that is not known.
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
    """A file that is there. With a `problem`, which names line and column, it may have given no servers."""

    source: Source
    servers: tuple[FoundServer, ...] = ()
    problem: str = ""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """All files that there are, strongest first: of two servers of a name, the first one counts."""

    files: tuple[FoundFile, ...] = ()

    @property
    def servers(self) -> tuple[FoundServer, ...]:
        return tuple(server for file in self.files for server in file.servers)

    def by_name(self) -> dict[str, tuple[FoundServer, ...]]:
        """Of each name the one that counts, then those that it overrides."""
        names: dict[str, tuple[FoundServer, ...]] = {}
        for server in self.servers:
            names[server.name] = (*names.get(server.name, ()), server)
        return names


def look(places: Sequence[Place]) -> Found:
    """Read every file that is there. Blocks on the disk, within bounds; never raises for what it finds."""
    from inspector.config.formats.reading import read_places  # the readers are loaded when somebody looks

    return Found(read_places(places))
