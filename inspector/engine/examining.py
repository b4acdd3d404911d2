"""A server out of a file of another tool, looked at closely: what would be started or contacted?

Reads files, and blocks on that: for a thread beside the loop. Starts and contacts nothing. Names are expanded
only to find the program, and only those that the person agreed to.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from inspector.base.errors import ConfigError, ConnectFailed
from inspector.base.jsonvalue import JSONObject
from inspector.base.units import size
from inspector.config.auth import BearerSettings, OAuthSettings
from inspector.config.entries import Entry, HttpEntry, StdioEntry
from inspector.config.entrysecrets import plain_of, references_of
from inspector.config.expansion import Values, expand_known, is_expanded, names_in
from inspector.config.finding import FoundServer
from inspector.config.trust import Program, check_batch, check_command, content_of, digest_of
from inspector.engine.preparing import known_values
from inspector.engine.programfiles import Hashes, scripts_of
from inspector.transport.program import Command, child_environment, find_program

MOST_NAMES = 100
MOST_TEXT = 256 * 1024


@dataclass(frozen=True, slots=True)
class Examined:
    """`entry` is as it would be used: with the folder that it would run in. `content` is what to agree to.

    With a `problem` it cannot be trusted; `is_importable` says whether a copy could do without that.
    """

    entry: Entry
    folder: str
    program: Program | None
    content: JSONObject
    problem: str = ""
    is_importable: bool = True

    @property
    def seen(self) -> str:
        return digest_of(self.content)


def examine(
    found: FoundServer,
    working_folder: Path,
    allowed: frozenset[str] = frozenset(),
    hashes: Hashes | None = None,
) -> Examined:
    """`allowed` are the variables of the environment that may be put in. Never raises for what it finds."""
    assert found.entry is not None
    folder = folder_of(found, working_folder)
    entry = replace(found.entry, name=found.name)
    file = str(found.source.path or "")
    problem = problem_of_size(entry) or _problem_of_references(entry)
    if not isinstance(entry, StdioEntry):
        return Examined(entry, "", None, content_of(entry, file, str(folder)), problem, not problem)
    if not entry.cwd:
        entry = replace(entry, cwd=str(folder))
    environment = {name: os.environ[name] for name in allowed if name in os.environ}
    expanded = expand_known(entry, Values(environment, known=known_values(folder)))
    assert isinstance(expanded, StdioEntry)
    program, why_not = _program(expanded, hashes or Hashes())
    content = content_of(entry, file, str(folder), program)
    return Examined(entry, expanded.cwd, program, content, problem or why_not, not problem)


def place_of(found: FoundServer, working_folder: Path) -> tuple[str, str, str]:
    """What approvals go by: file, folder and name."""
    return str(found.source.path or ""), str(folder_of(found, working_folder)), found.name


def folder_of(found: FoundServer, working_folder: Path) -> Path:
    """What `${workspaceFolder}` is, and where it runs when it does not say: the folder whose file it is, or
    the home of a person whose file it is, wherever MCP Lens was started."""
    path = found.source.path
    if found.source.scope != "folder" or path is None:
        return Path.home()
    own = path.parent.parent if path.parent.name.startswith(".") else path.parent
    return own if working_folder.is_relative_to(own) else working_folder


def problem_of_size(entry: Entry) -> str:
    """Nobody agrees to what nobody can read; no system would start it either."""
    names = names_in(entry)
    if len(names.variables) + len(names.inputs) > MOST_NAMES:
        return f"It wants more than {MOST_NAMES} variables and inputs. Nobody can decide about that."
    if sum(map(len, _words(entry))) > MOST_TEXT:
        return f"Its settings are longer than {size(MOST_TEXT)}. Nobody can read that."
    return ""


def _words(entry: Entry) -> Iterator[str]:
    yield entry.name
    if isinstance(entry, StdioEntry):
        yield from (entry.command, *entry.args, entry.cwd)
    else:
        yield entry.url
    for name, value in plain_of(entry).items():
        yield name
        yield value


def _problem_of_references(entry: Entry) -> str:
    """A file of somebody else has no business with what is stored or lies on this machine."""
    auth = entry.auth if isinstance(entry, HttpEntry) else None
    has_secrets = bool(references_of(entry)) or isinstance(auth, BearerSettings)
    if isinstance(auth, OAuthSettings):
        has_secrets = has_secrets or bool(auth.references())
        if auth.assertion_file or auth.assertion_variable:
            return "Its login would send a file or a variable of this machine. Set up the login yourself."
    if has_secrets:
        return "It refers to secrets that are stored on this machine. Add it by hand, with its secrets."
    return ""


def _program(entry: StdioEntry, hashes: Hashes) -> tuple[Program, str]:
    """What would be started, and why it would not be."""
    command = os.path.expanduser(entry.command)
    try:
        check_command(command, os.path.isabs(command))
    except ConfigError as exc:
        return Program(), str(exc)
    if is_expanded(command) or is_expanded(entry.cwd):
        return Program(), ""
    env = child_environment(plain_of(entry))
    try:
        found = find_program(Command((command, *entry.args), {}, entry.cwd), env.get("PATH", os.defpath))
    except ConnectFailed:
        return Program(), ""  # connecting will say it; once the program is there, it is another content
    path = os.path.abspath(found)
    try:
        if os.name == "nt":
            check_batch(path, entry.args)
        scripts = scripts_of(entry.args, entry.cwd)
    except ConfigError as exc:
        return Program(path), str(exc)
    digest, *others = hashes.of_all((path, *scripts))
    return Program(path, digest, tuple(zip(scripts, others, strict=True))), ""


def given_names(entry: Entry) -> tuple[str, ...]:
    given: Mapping[str, object] = entry.env if isinstance(entry, StdioEntry) else entry.headers
    return tuple(given)
