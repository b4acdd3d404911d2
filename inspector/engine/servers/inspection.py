"""Inspection of a found server: what it would start or contact, with file hashes.

Starts and contacts nothing. Blocks on file reads: run it on a thread. Placeholders are expanded only to
find the program, and only those that the user allowed.

The hashed files are the program and the scripts that its arguments name. A script may load others, but a
change of these files is a change of what was approved. The views are frozen and may cross threads.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.base.errors import ConfigError, ConnectFailed
from inspector.base.json.values import JSONObject
from inspector.base.units import size
from inspector.config.foreign.discovery import FoundServer
from inspector.config.servers.entries import BearerSettings, Entry, HttpEntry, OAuthSettings, StdioEntry
from inspector.config.servers.entry_secrets import plain_of, references_of
from inspector.config.servers.placeholders import Values, expand_known, is_expanded, names_in
from inspector.config.servers.trust import Program, check_batch, check_command, content_of, digest_of
from inspector.engine.servers.preparation import known_values
from inspector.transport.process import Command, child_environment, find_program

if TYPE_CHECKING:
    from inspector.config.foreign.discovery import FoundFile, InputSpec, Source
    from inspector.config.servers.entry_diff import FieldChange

MAX_NAMES = 100
MAX_TEXT_SIZE = 256 * 1024


@dataclass(frozen=True, slots=True)
class InspectedServer:
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


def inspect_server(
    found: FoundServer,
    working_folder: Path,
    allowed: frozenset[str] = frozenset(),
    hashes: Hashes | None = None,
) -> InspectedServer:
    """Examine a server; `allowed` are environment variables it may use.

    Never raises for the file's content.
    """
    assert found.entry is not None
    folder = folder_of(found, working_folder)
    entry = replace(found.entry, name=found.name)
    file = str(found.source.path or "")
    problem = problem_of_size(entry) or _problem_of_references(entry)
    if not isinstance(entry, StdioEntry):
        return InspectedServer(entry, "", None, content_of(entry, file, str(folder)), problem, not problem)
    if not entry.cwd:
        entry = replace(entry, cwd=str(folder))
    environment = {name: os.environ[name] for name in allowed if name in os.environ}
    expanded = expand_known(entry, Values(environment, known=known_values(folder)))
    assert isinstance(expanded, StdioEntry)
    program, why_not = _program(expanded, hashes or Hashes())
    content = content_of(entry, file, str(folder), program)
    return InspectedServer(entry, expanded.cwd, program, content, problem or why_not, not problem)


def position_of(found: FoundServer, working_folder: Path) -> tuple[str, str, str]:
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
    if len(names.variables) + len(names.inputs) > MAX_NAMES:
        return f"It uses more than {MAX_NAMES} variables and inputs, which is too many to review."
    if sum(map(len, _label(entry))) > MAX_TEXT_SIZE:
        return f"Its settings are larger than {size(MAX_TEXT_SIZE)}, which is too long to review."
    return ""


def _label(entry: Entry) -> Iterator[str]:
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
            return (
                "Its login would send a file or an environment variable of this machine. Set up the login "
                "yourself."
            )
    if has_secrets:
        return "It refers to secrets stored on this machine. Add it manually, with its secrets."
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


class Trust(Enum):
    """Trust in a found server; the values are display text."""

    NONE = "not trusted"
    CHANGED = "changed since you trusted it"
    GIVEN = "trusted"


@dataclass(frozen=True, slots=True)
class FoundView:
    """A server in another tool's file, with all that is needed to decide about it.

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
class FoundReport:
    """Result of the last scan: servers by precedence, and the files they are in."""

    servers: tuple[FoundView, ...] = ()
    files: tuple[FoundFile, ...] = ()
    problem: str = ""  # with our trust file


_SCRIPTS = (".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".sh", ".rb", ".pl", ".php", ".jar", ".lua", ".ps1")
_OF_FOLDER = (
    "package.json",
    "index.js",
    "__main__.py",
)  # entry points that runtimes look for in a folder
_MAX_FILES = 1000
_MAX_FOLDERS = 4
_MAX_BYTES = 512 * 1024 * 1024  # per server; beyond that only head, tail, size and mtime are hashed
_END = 1024 * 1024


class Hashes:
    """Cache of file hashes: twenty servers may start the same program, by twenty links."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], str] = {}

    def of_all(self, paths: Sequence[str]) -> list[str]:
        """Return a hash per path; "" if it is not a regular file or cannot be read."""
        left = _MAX_BYTES
        found: list[str] = []
        for path in paths:
            try:
                status = os.stat(path)
            except (OSError, ValueError):
                found.append("")
                continue
            is_complete = status.st_size <= left
            left -= status.st_size if is_complete else 0
            key = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, is_complete)
            if key not in self._known:
                self._known[key] = hash_of(path, is_complete)
            found.append(self._known[key])
        return found


def hash_of(path: str, is_complete: bool = True) -> str:
    """Hash a file's content, or its head, tail, size and mtime."""
    try:
        if not is_plain(path):  # opening a FIFO would block
            return ""
        with open(path, "rb") as file:
            if is_complete:
                return hashlib.file_digest(file, "sha256").hexdigest()
            status = os.fstat(file.fileno())
            digest = hashlib.sha256(f"{status.st_size} {status.st_mtime_ns}".encode())
            digest.update(file.read(_END))
            file.seek(-_END, os.SEEK_END)
            digest.update(file.read(_END))
            return f"ends {digest.hexdigest()}"
    except OSError:
        return ""


def scripts_of(args: Sequence[str], folder: str) -> tuple[str, ...]:
    """Return the regular files that these arguments refer to, run in this folder.

    These are the first non-option argument, anything named like a script, and the module after `-m`. Raises
    ConfigError.
    """
    found: dict[str, None] = {}
    for path in _scripts(args, folder):
        if is_plain(path):
            found[os.path.abspath(path)] = None
        if len(found) > _MAX_FILES:
            raise ConfigError(
                f"Its arguments name more than {_MAX_FILES:,} files, which is too many to check."
            )
    return tuple(found)


def is_plain(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _scripts(args: Sequence[str], folder: str) -> Iterator[str]:
    """Yield candidate paths; not all of them exist."""
    words = [(argument.partition("=")[2] if argument.startswith("-") else argument) for argument in args]
    folders = [folder, *_folders(words, folder)]
    is_first, before = True, ""
    for argument, word in zip(args, words, strict=True):
        path = os.path.join(folder, os.path.expanduser(word))
        if before == "-m":
            yield from _of_module(os.path.join(folder, *word.split(".")))
        elif word.lower().endswith(_SCRIPTS):
            yield from (os.path.join(each, os.path.expanduser(word)) for each in folders)
        elif word and is_first:
            yield path
            yield from (os.path.join(path, name) for name in _OF_FOLDER)
        is_first = is_first and argument.startswith("-")
        before = argument


def _of_module(path: str) -> Iterator[str]:
    yield f"{path}.py"
    yield os.path.join(path, "__init__.py")
    yield os.path.join(path, "__main__.py")


def _folders(words: Sequence[str], folder: str) -> list[str]:
    """Return absolute folders, as in `uv --directory /a/b run server.py`, that may hold scripts."""
    found: dict[str, None] = {}
    for word in words:
        path = os.path.expanduser(word)
        if os.path.isabs(path) and path != folder and len(found) < _MAX_FOLDERS and os.path.isdir(path):
            found[path] = None
    return list(found)
