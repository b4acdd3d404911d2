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
    """A server from another tool's file, as it would be used; `content` is what to approve.

    `entry` includes the folder it would run in. With a `problem` it cannot be trusted; `is_importable` says
    whether an imported copy would avoid that.
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
    """Examine a server; `allowed` are environment variables it may use.

    Never raises for the file's content.
    """
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
    """Return the key of approvals: file, folder and name."""
    return str(found.source.path or ""), str(folder_of(found, working_folder)), found.name


def folder_of(found: FoundServer, working_folder: Path) -> Path:
    """Return the value of `${workspaceFolder}`, also the default working directory.

    It is the folder of a project file, or the home directory for a user-level file, wherever MCP Lens was
    started.
    """
    path = found.source.path
    if found.source.scope != "folder" or path is None:
        return Path.home()
    own = path.parent.parent if path.parent.name.startswith(".") else path.parent
    return own if working_folder.is_relative_to(own) else working_folder


def problem_of_size(entry: Entry) -> str:
    """Reject settings too large to review, which no system would start either."""
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
    """Reject references to local secrets and files: another tool's file must not use them."""
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
    """Return what would be started, and a problem that prevents it."""
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
        return Program(), ""  # connecting reports it; once the program exists, the content differs
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
