"""What the engine shows of servers in files of other tools: frozen values, safe to hand to another thread."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the window shows these values before the configuration is imported
    from inspector.config.entrychanges import FieldChange
    from inspector.config.finding import FoundFile, InputSpec, Source


class Trust(Enum):
    """In the words that are shown."""

    NONE = "not trusted"
    CHANGED = "changed since you trusted it"
    GIVEN = "trusted"


@dataclass(frozen=True, slots=True)
class FoundView:
    """A server in a file of another tool, with all that a person needs to decide about it.

    Nothing in it is shortened or expanded: `command`, `args`, `cwd` and `url` are as the file has them, and
    untrusted text. `program` is the file that would be started, "" when that is not there or depends on
    names; `scripts` are files among the arguments that it would run. `facts` are all settings, place by
    place, values of secrets masked; `cautions` say what they can do that one does not see at a glance. `seen`
    stands for exactly this content: it is given back with the decision.
    """

    id: str
    name: str
    source: Source
    line: int
    trust: Trust
    seen: str
    problem: str = ""  # why it cannot be trusted; it can still be looked at
    remarks: tuple[str, ...] = ()
    overridden_by: Source | None = None
    overrides: tuple[Source, ...] = ()
    transport: str = ""
    command: str = ""
    args: tuple[str, ...] = ()
    env_names: tuple[str, ...] = ()
    cwd: str = ""
    folder: str = ""  # where it would run
    program: str = ""
    scripts: tuple[str, ...] = ()
    url: str = ""
    header_names: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()  # of the environment, that would be put in: each takes its own consent
    other_names: tuple[str, ...] = ()  # workspaceFolder and its like
    inputs: tuple[InputSpec, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    cautions: tuple[str, ...] = ()
    changes: tuple[FieldChange, ...] = ()  # since it was trusted
    is_enabled: bool = True
    is_importable: bool = True
    server: str = ""  # what it is called among our servers, once it is trusted


@dataclass(frozen=True, slots=True)
class FoundReport:
    """What was found the last time that we looked: servers, strongest first, and the files they are in."""

    servers: tuple[FoundView, ...] = ()
    files: tuple[FoundFile, ...] = ()
    problem: str = ""  # with our own list of approvals
