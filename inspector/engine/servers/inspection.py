"""Inspection of a discovered server: what it would start or contact, with file hashes.

Starts and contacts nothing. Blocks on file reads: run it on a thread. Placeholders are expanded only to
find the program, and only those that the user allowed.

An approval is for a program with a certain content, so no input may decide which program or script is
started: its value is not part of what the user reviewed, and can change at any time.

The hashed files are the program and the scripts that its arguments name. A script may load others, but a
change of these files is a change of what was approved.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from inspector.base.errors import ConfigError, ConnectFailed
from inspector.base.json.values import JSONObject
from inspector.base.plain_text import one_line
from inspector.base.search_path import server_environment
from inspector.base.units import size
from inspector.config.foreign.discovery import DiscoveredServer
from inspector.config.servers.entries import BearerSettings, Entry, HttpEntry, OAuthSettings, StdioEntry
from inspector.config.servers.entry_secrets import plain_values, secret_references
from inspector.config.servers.placeholders import (
    Values,
    expand_known,
    has_placeholders,
    inputs_in,
    names_in,
)
from inspector.config.servers.trust import Program, check_command, content_of, digest_of
from inspector.engine.servers.entry_resolver import predefined_values
from inspector.transport.programs import Command, find_program

MAX_NAMES = 100
MAX_TEXT_SIZE = 256 * 1024


@dataclass(frozen=True, slots=True)
class InspectedServer:
    """A server from another client's file, as it would be used; `content` is what to approve.

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
    found: DiscoveredServer,
    working_folder: Path,
    allowed: frozenset[str] = frozenset(),
    hashes: Hashes | None = None,
    inputs: Mapping[str, str] | None = None,
) -> InspectedServer:
    """Inspect a server; `allowed` are environment variables it may use, `inputs` values of its inputs.

    Never raises for the file's content.
    """
    assert found.entry is not None
    folder = folder_of(found, working_folder)
    entry = replace(found.entry, name=found.name)
    file = str(found.source.path or "")
    problem = size_problem(entry) or _reference_problem(entry)
    if not isinstance(entry, StdioEntry):
        return InspectedServer(entry, "", None, content_of(entry, file, str(folder)), problem, not problem)
    if not entry.cwd:
        entry = replace(entry, cwd=str(folder))
    inherited = server_environment()
    environment = {name: inherited[name] for name in allowed if name in inherited}
    expanded = expand_known(entry, Values(environment, inputs or {}, predefined_values(folder)))
    assert isinstance(expanded, StdioEntry)
    program, why_not = _program(expanded, hashes or Hashes())
    why_not = _input_problem(entry) or why_not
    content = content_of(entry, file, str(folder), program)
    return InspectedServer(entry, expanded.cwd, program, content, problem or why_not, not problem)


def check_inputs(
    found: DiscoveredServer,
    working_folder: Path,
    allowed: frozenset[str],
    reviewed: InspectedServer,
    inputs: Mapping[str, str],
) -> None:
    """Raise ConfigError if these values change which program or script is started."""
    if not inputs:
        return
    actual = inspect_server(found, working_folder, allowed, inputs=inputs)
    if actual.problem:
        raise ConfigError(actual.problem)
    if actual.program != reviewed.program:
        known = () if reviewed.program is None else dict(reviewed.program.scripts)
        scripts = () if actual.program is None else tuple(path for path, _ in actual.program.scripts)
        started = ", ".join(path for path in scripts if path not in known) or "another program"
        raise ConfigError(
            f"With the values of its inputs it would start {one_line(started)}, which is not part of what "
            "you reviewed. It was not used.",
            "Import a copy, or write the path into the file instead of ${input:…}.",
        )


def approval_key(found: DiscoveredServer, working_folder: Path) -> tuple[str, str, str]:
    """Return the key of approvals: file, folder and name."""
    return str(found.source.path or ""), str(folder_of(found, working_folder)), found.name


def folder_of(found: DiscoveredServer, working_folder: Path) -> Path:
    """Return the value of `${workspaceFolder}`, also the default working directory.

    It is the folder of a project file, or the home directory for a user-level file, wherever MCP Lens was
    started.
    """
    path = found.source.path
    if found.source.scope != "folder" or path is None:
        return Path.home()
    own = path.parent.parent if path.parent.name.startswith(".") else path.parent
    return own if working_folder.is_relative_to(own) else working_folder


def size_problem(entry: Entry) -> str:
    """Reject settings too large to review, which no system would start either."""
    names = names_in(entry)
    if len(names.variables) + len(names.inputs) > MAX_NAMES:
        return f"It uses more than {MAX_NAMES} variables and inputs, which is too many to review."
    if sum(map(len, _texts(entry))) > MAX_TEXT_SIZE:
        return f"Its settings are larger than {size(MAX_TEXT_SIZE)}, which is too long to review."
    return ""


def _texts(entry: Entry) -> Iterator[str]:
    yield entry.name
    if isinstance(entry, StdioEntry):
        yield from (entry.command, *entry.args, entry.cwd)
    else:
        yield entry.url
    for name, value in plain_values(entry).items():
        yield name
        yield value


def _reference_problem(entry: Entry) -> str:
    """Reject references to local secrets and files: another client's file must not use them."""
    auth = entry.auth if isinstance(entry, HttpEntry) else None
    has_secrets = bool(secret_references(entry)) or isinstance(auth, BearerSettings)
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


def _input_problem(entry: StdioEntry) -> str:
    """Reject inputs that decide which program is started."""
    texts = [("command", entry.command), ("working directory", entry.cwd)]
    texts += [(name, value) for name, value in plain_values(entry).items() if name.upper() == "PATH"]
    for label, text in texts:
        if inputs := inputs_in(text):
            return (
                f"Its {label} contains ${{input:{one_line(inputs[0])}}}, so MCP Lens cannot check which "
                "program it starts. Import a copy, or write the value into the file."
            )
    return ""


def _program(entry: StdioEntry, hashes: Hashes) -> tuple[Program, str]:
    """Return what would be started, and a problem that prevents it."""
    command = os.path.expanduser(entry.command)
    try:
        check_command(command, os.path.isabs(command))
    except ConfigError as exc:
        return Program(), str(exc)
    if has_placeholders(command) or has_placeholders(entry.cwd):
        return Program(), ""
    argv = (command, *entry.args)
    try:
        found = find_program(Command(argv, plain_values(entry), entry.cwd, entry.inherit_environment))
    except ConnectFailed:
        return Program(), ""  # connecting reports it; once the program exists, the content differs
    path = os.path.abspath(found)
    try:
        scripts = scripts_of(entry.args, entry.cwd)
    except ConfigError as exc:
        return Program(path), str(exc)
    digest, *others = hashes.of_all((path, *scripts))
    return Program(path, digest, tuple(zip(scripts, others, strict=True))), ""


def value_names(entry: Entry) -> tuple[str, ...]:
    """Return the names of the entry's environment variables, or of its headers."""
    values: Mapping[str, object] = entry.env if isinstance(entry, StdioEntry) else entry.headers
    return tuple(values)


_SCRIPT_SUFFIXES = (
    *(".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".sh", ".rb", ".pl"),
    *(".php", ".jar", ".lua", ".ps1"),
)
_FOLDER_ENTRY_POINTS = ("package.json", "index.js", "__main__.py")  # runtimes look for them in a folder
_MAX_FILES = 1000
_MAX_FOLDERS = 32
_MAX_BYTES = 512 * 1024 * 1024  # per server; beyond that only head, tail, size and mtime are hashed
_EDGE_SIZE = 1024 * 1024


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
        if not is_regular_file(path):  # opening a FIFO would block
            return ""
        with open(path, "rb") as file:
            if is_complete:
                return hashlib.file_digest(file, "sha256").hexdigest()
            status = os.fstat(file.fileno())
            digest = hashlib.sha256(f"{status.st_size} {status.st_mtime_ns}".encode())
            digest.update(file.read(_EDGE_SIZE))
            file.seek(-_EDGE_SIZE, os.SEEK_END)
            digest.update(file.read(_EDGE_SIZE))
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
        if is_regular_file(path):
            found[os.path.abspath(path)] = None
        if len(found) > _MAX_FILES:
            raise ConfigError(
                f"Its arguments name more than {_MAX_FILES:,} files, which is too many to check."
            )
    return tuple(found)


def is_regular_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _scripts(args: Sequence[str], folder: str) -> Iterator[str]:
    """Yield candidate paths; not all of them exist."""
    values = [(argument.partition("=")[2] if argument.startswith("-") else argument) for argument in args]
    folders = [folder, *_folders(values, folder)]
    is_first, before = True, ""
    for argument, value in zip(args, values, strict=True):
        path = os.path.join(folder, os.path.expanduser(value))
        if before == "-m":
            yield from _module_files(os.path.join(folder, *value.split(".")))
        elif value.lower().endswith(_SCRIPT_SUFFIXES):
            yield from (os.path.join(each, os.path.expanduser(value)) for each in folders)
        elif value and is_first:
            yield path
            yield from (os.path.join(path, name) for name in _FOLDER_ENTRY_POINTS)
        is_first = is_first and argument.startswith("-")
        before = argument


def _module_files(path: str) -> Iterator[str]:
    yield f"{path}.py"
    yield os.path.join(path, "__init__.py")
    yield os.path.join(path, "__main__.py")


def _folders(values: Sequence[str], folder: str) -> list[str]:
    """Return other folders that may hold scripts, as in `uv --directory src run server.py`.

    None if no argument is named like a script. Raises ConfigError.
    """
    if not any(value.lower().endswith(_SCRIPT_SUFFIXES) for value in values):
        return []
    found: dict[str, None] = {}
    for value in values:
        path = os.path.abspath(os.path.join(folder, os.path.expanduser(value)))
        if value and path != folder and os.path.isdir(path):
            found[path] = None
        if len(found) > _MAX_FOLDERS:
            raise ConfigError(
                f"Its arguments name more than {_MAX_FOLDERS} folders and a script, which may be in any of "
                "them: too many to check."
            )
    return list(found)
