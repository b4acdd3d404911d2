"""Registry of demo servers: names, descriptions, and the commands that start them.

Does not import the SDK, which takes about a second: a build function loads it in the server's process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from inspector.demo.wire import Wire

Builder = Callable[["Wire | None"], "Server[Any]"]
"""Builds the server. Its argument is the raw stdout over stdio, None over HTTP."""


@dataclass(frozen=True, slots=True)
class DemoServer:
    """A demo server in the registry.

    `build` is None for a server that is not run by the SDK as is: one that writes raw bytes (stdio only),
    or one that needs a whole site around it (HTTP only).
    """

    name: str
    title: str
    description: str
    build: Builder | None
    is_site: bool = False

    @property
    def supports_http(self) -> bool:
        return self.build is not None or self.is_site

    @property
    def supports_stdio(self) -> bool:
        return not self.is_site


def command(name: str, *, http: bool = False, port: int = 0, fault: str | None = None) -> list[str]:
    """Return the command line that starts a demo server as a child process.

    Over HTTP the child prints its URL as one line on stderr, `listening on http://127.0.0.1:PORT/mcp`, and
    exits when its stdin closes, so that it cannot outlive the process at the other end.
    """
    if name not in SERVERS:
        raise ValueError(f"Unknown demo server {name!r}. Available: {', '.join(SERVERS)}.")
    words = [*_interpreter(), "-m", "inspector.demo", name]
    if http:
        words += ["--http", "--port", str(port), "--until-eof"]
    if fault is not None:
        words += ["--fault", fault]
    return words


def faults_of(name: str | None) -> list[str]:
    """Return the names that `--fault` accepts for this server."""
    if name == "faulty":
        from inspector.demo.faulty_server import FAULTS

        return list(FAULTS)
    if name == "login":
        from inspector.demo.login.fault_switches import SWITCHES

        return list(SWITCHES)
    return []


def _interpreter() -> list[str]:
    """Return this interpreter, with options to keep the current folder off its path.

    A file there must not be able to shadow our modules. A checkout that was never installed can only be
    found through the current folder, so there it stays on the path.
    """
    import importlib.metadata  # imported here because it takes longer than the rest of this module

    try:
        importlib.metadata.distribution("mcp-lens")
    except importlib.metadata.PackageNotFoundError:
        return [sys.executable]
    return [sys.executable, "-P"]


def _build_everything(wire: Wire | None) -> Server[Any]:
    from inspector.demo.everything.server import build

    return build(wire)


def _build_library(wire: Wire | None) -> Server[Any]:
    from inspector.demo.library import build

    return build(wire)


SERVERS: dict[str, DemoServer] = {
    server.name: server
    for server in (
        DemoServer(
            "everything",
            "Everything",
            "Every feature of the protocol: all kinds of arguments and results, progress, logs, "
            "sampling, elicitation, roots, multi-round requests, tasks, changing resources, prompts, "
            "completion.",
            _build_everything,
        ),
        DemoServer(
            "library",
            "Library",
            "A large server: 250 tools and 120 resources, in pages of 50.",
            _build_library,
        ),
        DemoServer(
            "faulty",
            "Faulty",
            "Violates the protocol on demand: stray output, wrong ids, invalid results, partial lines, "
            "crashes.",
            None,
        ),
        DemoServer(
            "login",
            "Login",
            "Notes that require login, with a built-in authorization server and switches for its faults.",
            None,
            is_site=True,
        ),
    )
}
