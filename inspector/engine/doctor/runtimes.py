"""The programs that start most servers: how they tell their version, and where they come from."""

from __future__ import annotations

import asyncio
import os
import re
from dataclasses import dataclass

from inspector.base.errors import ConnectFailed
from inspector.base.plaintext import one_line
from inspector.transport.orphanguard import OrphanGuard
from inspector.transport.process import ChildProcess, within
from inspector.transport.program import Command

_LIMIT = 5.0
_MOST = 4096


@dataclass(frozen=True, slots=True)
class Runtime:
    """A known runtime.

    `oldest` is the oldest major version that current servers and SDKs support, 0 if irrelevant.
    """

    what: str
    install: str
    oldest: int = 0


_NODE = "Install Node.js (nodejs.org)"
_UV = "Install uv (docs.astral.sh/uv)"
RUNTIMES = {
    "node": Runtime("Node.js", _NODE, 18),
    "npx": Runtime("npx, a part of Node.js", _NODE),
    "npm": Runtime("npm, a part of Node.js", _NODE),
    "bun": Runtime("Bun", "Install Bun (bun.sh)"),
    "bunx": Runtime("bunx, a part of Bun", "Install Bun (bun.sh)"),
    "deno": Runtime("Deno", "Install Deno (deno.com)"),
    "python": Runtime("Python", "Install Python, or write python3"),
    "python3": Runtime("Python", "Install Python (python.org)"),
    "uv": Runtime("uv", _UV),
    "uvx": Runtime("uvx, a part of uv", _UV),
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


def is_installer(program: str) -> bool:
    """True if it may have to download the server before starting it."""
    return _stem(program) in ("npx", "npm", "bunx", "uv", "uvx", "pipx", "docker", "podman")


def major_of(version: str) -> int:
    """Return 20 for "v20.11.1", 0 if there is no number."""
    match = re.search(r"\d+", version)
    return int(match[0]) if match else 0


@dataclass(frozen=True, slots=True)
class VersionSeen:
    version: str = ""
    problem: str = ""


async def version_of(program: str, command: Command, guard: OrphanGuard) -> VersionSeen:
    """Ask a known runtime for its version. Nothing else is ever started here."""
    listener = _Listener()
    flag = _FLAGS.get(_stem(program), "--version")
    asked = Command((program, flag), command.env, command.cwd)
    try:
        child = await ChildProcess.start(asked, listener, guard)
    except ConnectFailed as exc:
        return VersionSeen(problem=exc.summary)
    try:
        is_over = await within(_LIMIT, listener.exited)
    finally:
        await child.stop()
    said = next((line for line in listener.text().splitlines() if line.strip()), "")
    if not is_over:
        return VersionSeen(problem=f"It did not tell its version within {_LIMIT:g} s.")
    if not listener.is_success:
        return VersionSeen(
            problem=f"{os.path.basename(program)} {flag} {listener.status}: {one_line(said)[:200]}"
        )
    return VersionSeen(one_line(said)[:80])


class _Listener:
    """Collects the beginning of a process's output."""

    def __init__(self) -> None:
        self.exited = asyncio.Event()
        self.status = ""
        self._said = b""

    @property
    def is_success(self) -> bool:
        return self.status.endswith("code 0")

    def text(self) -> str:
        return self._said.decode(errors="replace")

    def on_started(self, pid: int) -> None:
        pass

    def on_stdout(self, data: bytes) -> None:
        self._said = (self._said + data)[:_MOST]

    def on_stderr(self, data: bytes) -> None:
        self._said = (self._said + data)[:_MOST]

    def on_stdout_closed(self) -> None:
        pass

    def on_exit(self, status: str) -> None:
        self.status = status
        self.exited.set()
