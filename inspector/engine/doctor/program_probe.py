"""Evidence about a command: its file, interpreter and runtime version.

Looks up what a command would start without starting it. Only known runtimes (Node.js, Python, uv, Docker,
…) are run, to ask for their version. `rules.programs` has the diagnoses.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from inspector.base.environment import IS_WINDOWS
from inspector.base.errors import ConnectFailed
from inspector.base.plain_text import one_line
from inspector.base.search_path import folders_in, installed_folders, search_path
from inspector.transport.orphan_guard import OrphanGuard
from inspector.transport.process import (
    ChildProcess,
    describe_exit,
    within,
)
from inspector.transport.programs import (
    Command,
    env_program,
    find_file,
    find_on_path,
    find_program,
    is_path,
    read_head,
    suffixes_in,
)

_VERSION_TIMEOUT = 5.0
_MAX_OUTPUT = 4096


@dataclass(frozen=True, slots=True)
class ProgramInfo:
    """The file that a command would start; if `found` is empty, `problem` says why.

    `alternatives` are files of that name outside the PATH, or of the name of `missing_program`. `head` are
    the first bytes of the file; `interpreter` is from its shebang line.
    """

    name: str
    found: str = ""
    problem: str = ""
    is_path: bool = False
    path: str = ""  # the path checked, if the command is a path
    exists: bool = False
    is_folder: bool = False
    alternatives: tuple[str, ...] = ()
    cwd: str = ""
    cwd_exists: bool = True
    head: bytes = b""
    interpreter: str = ""
    interpreter_exists: bool = True
    is_interpreter_executable: bool = True
    missing_program: str = ""  # of `#!/usr/bin/env X`, if X is not on the PATH


def inspect_program(command: Command) -> ProgramInfo:
    """Look up the program. Blocking but quick: a few file system calls."""
    name = os.path.expanduser(command.argv[0]) if command.argv else ""
    path = os.path.abspath(os.path.join(command.cwd, name)) if is_path(name) else ""
    found = problem = ""
    try:
        found = find_program(command)
    except ConnectFailed as exc:
        problem = exc.summary
    env = command.environment()
    head = read_head(found or path)
    interpreter = "" if IS_WINDOWS else _interpreter(head)
    missing = env_program(head) if found and not IS_WINDOWS else ""
    if missing and find_on_path(missing, env) is not None:
        missing = ""
    wanted = missing or ("" if found or path else name)
    return ProgramInfo(
        name=name,
        found=found,
        problem=problem,
        is_path=bool(path),
        path=path,
        exists=bool(found) or os.path.exists(path) if path else bool(found),
        is_folder=os.path.isdir(path) if path else False,
        alternatives=tuple(_find_alternatives(wanted, env, os.path.dirname(found))),
        cwd=command.cwd,
        cwd_exists=not command.cwd or os.path.isdir(command.cwd),
        head=head,
        interpreter=interpreter,
        interpreter_exists=not interpreter or os.path.exists(interpreter),
        is_interpreter_executable=not interpreter or os.access(interpreter, os.X_OK),
        missing_program=missing,
    )


def _find_alternatives(name: str, env: Mapping[str, str], first: str) -> list[str]:
    """Return the programs of that name in a folder, in the usual folders and on the inherited PATH."""
    if not name or os.path.basename(name) != name:
        return []
    folders = [first] if first else []
    folders += installed_folders({**os.environ, **env})
    folders += folders_in(search_path().value)  # a PATH that is set for the server replaces it
    files = (find_file(name, [folder], suffixes_in(env)) for folder in folders)
    return list(dict.fromkeys(file for file in files if file is not None))


def _interpreter(head: bytes) -> str:
    if not head.startswith(b"#!"):
        return ""
    line = head[2:].partition(b"\n")[0].decode(errors="replace").lstrip(" ")
    return line.partition(" ")[0]


@dataclass(frozen=True, slots=True)
class Runtime:
    """A known runtime.

    `part_of` is the product that contains it, if it is not installed on its own. `min_major` is the oldest
    major version that current servers and SDKs support, 0 if irrelevant.
    """

    name: str
    install: str
    min_major: int = 0
    part_of: str = ""


_NODE = "Install Node.js (nodejs.org)"
_UV = "Install uv (docs.astral.sh/uv)"
RUNTIMES = {
    "node": Runtime("Node.js", _NODE, 18),
    "npx": Runtime("npx", _NODE, part_of="Node.js"),
    "npm": Runtime("npm", _NODE, part_of="Node.js"),
    "bun": Runtime("Bun", "Install Bun (bun.sh)"),
    "bunx": Runtime("bunx", "Install Bun (bun.sh)", part_of="Bun"),
    "deno": Runtime("Deno", "Install Deno (deno.com)"),
    "python": Runtime("Python", "Install Python, or use python3"),
    "python3": Runtime("Python", "Install Python (python.org)"),
    "uv": Runtime("uv", _UV),
    "uvx": Runtime("uvx", _UV, part_of="uv"),
    "pipx": Runtime("pipx", "Install pipx (pipx.pypa.io)"),
    "docker": Runtime("Docker", "Install Docker (docs.docker.com)"),
    "podman": Runtime("Podman", "Install Podman (podman.io)"),
    "java": Runtime("Java", "Install a Java runtime"),
    "dotnet": Runtime(".NET", "Install .NET (dot.net)"),
    "go": Runtime("Go", "Install Go (go.dev)"),
    "ruby": Runtime("Ruby", "Install Ruby"),
}
_FLAGS = {"go": "version"}


def runtime_of(program: str) -> Runtime | None:
    """Return the known runtime of a command by name, None for any other program."""
    return RUNTIMES.get(_stem(program))


def _stem(program: str) -> str:
    name = re.split(r"[/\\]", program)[-1].lower()
    name = re.sub(r"\.(exe|cmd|bat)$", "", name)
    return "python3" if re.fullmatch(r"python3\.\d+", name) else name


def major_of(version: str) -> int:
    """Return 20 for "v20.11.1", 0 if there is no number."""
    match = re.search(r"\d+", version)
    return int(match[0]) if match else 0


@dataclass(frozen=True, slots=True)
class VersionInfo:
    version: str = ""
    problem: str = ""
    exit_code: int | None = 0


async def version_of(program: str, command: Command, guard: OrphanGuard) -> VersionInfo:
    """Ask a known runtime for its version. Nothing else is ever started here."""
    listener = _Listener()
    flag = _FLAGS.get(_stem(program), "--version")
    requested = replace(command, argv=(program, flag))
    try:
        child = await ChildProcess.start(requested, listener, guard)
    except ConnectFailed as exc:
        return VersionInfo(problem=exc.summary)
    try:
        has_exited = await within(_VERSION_TIMEOUT, listener.exited)
    finally:
        await child.stop()
    reported = next((line for line in listener.text().splitlines() if line.strip()), "")
    if not has_exited:
        return VersionInfo(problem=f"It did not report its version within {_VERSION_TIMEOUT:g} s.")
    if listener.code != 0:
        status = describe_exit(listener.code)
        said = f": {one_line(reported)[:200]}" if reported else ""
        problem = f"{os.path.basename(program)} {flag} {status}{said}"
        return VersionInfo(problem=problem, exit_code=listener.code)
    return VersionInfo(one_line(reported)[:80])


class _Listener:
    """Collects the beginning of a process's output."""

    def __init__(self) -> None:
        self.exited = asyncio.Event()
        self.code: int | None = None
        self._output = b""

    def text(self) -> str:
        return self._output.decode(errors="replace")

    def on_started(self, pid: int) -> None:
        pass

    def on_stdout(self, data: bytes) -> int:
        self._output = (self._output + data)[:_MAX_OUTPUT]
        return data.count(b"\n")

    def on_stderr(self, data: bytes) -> int:
        return self.on_stdout(data)

    def on_stdout_closed(self) -> None:
        pass

    def on_exit(self, code: int | None) -> None:
        self.code = code
        self.exited.set()
