"""Headless engine for one command: choice of the server, connection, guaranteed shutdown.

The server is a URL, an entry of the server list, or a command to start. The engine is always stopped,
however the command ends.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import re
import signal
import sys
from collections.abc import Awaitable, Callable, Collection, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

from inspector.base.errors import ConfigError
from inspector.base.plain_text import visible
from inspector.cli import output
from inspector.cli.output import ExitCode, Parser, seconds
from inspector.config.paths import secrets_path, server_list_path
from inspector.config.preferences.settings import Settings
from inspector.config.servers.entries import (
    Entry,
    HttpEntry,
    StdioEntry,
    WebSocketEntry,
    check_url,
    is_websocket,
    name_from_argv,
)
from inspector.config.servers.placeholders import stored_secrets_of
from inspector.config.servers.server_list import ServerListFile
from inspector.engine.engine import Engine
from inspector.engine.secrets import Secrets, make_store
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RecordKind

Work = Callable[[Engine, str], Awaitable[int]]
"""Takes the engine and the server's name; returns the exit code."""

USAGE = "(--url URL | --server NAME | -- COMMAND [ARGS …])"
_SERVER_HINT = "Use one of --url URL, --server NAME, or -- COMMAND at the end."
# RFC 9110, section 5.6.2: a field name is a token. Section 5.5: a value holds no CR, LF or NUL.
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*([^\r\n\0]*)")


def run_on_server(
    options: argparse.Namespace,
    work: Work,
    request_timeout: float | None = None,
    *,
    connects: bool = True,
) -> int:
    """Connect to the server chosen by the options, run the work, stop the server.

    With `connects=False` the server is only added. Raises LensError.
    """
    entry = chosen_entry(options)
    settings = Settings()
    if options.connect_timeout is not None:
        settings = replace(settings, connect_timeout=options.connect_timeout)
    if request_timeout is not None:
        settings = replace(settings, request_timeout=request_timeout)
    if not os.environ.get("MCP_LENS_DEBUG"):
        logging.getLogger().addHandler(logging.NullHandler())  # else Python prints tracebacks to stderr
    return _run(_on_server(entry, settings, work, show_stderr=options.stderr, connects=connects))


def run_engine(work: Callable[[Engine], Awaitable[int]]) -> int:
    """Run work that needs an engine but no server. Raises LensError."""

    async def with_engine() -> int:
        engine = Engine()
        try:
            return await work(engine)
        finally:
            await engine.close()

    return _run(with_engine())


async def _on_server(
    entry: Entry, settings: Settings, work: Work, *, show_stderr: bool, connects: bool
) -> int:
    # Open the secret store only if the entry refers to secrets: the keychain may prompt the user.
    secrets = Secrets(lambda: make_store(secrets_path())) if stored_secrets_of(entry) else None
    engine = Engine(settings=settings, secrets=secrets)
    if show_stderr:
        _StderrFollower(engine.log)
    try:
        engine.add(entry)
        if connects:
            await engine.connect(entry.name)
        return await work(engine, entry.name)
    finally:
        await engine.close()


def _run(work: Coroutine[Any, Any, int]) -> int:
    """Run a coroutine.

    Ctrl+C and SIGTERM cancel it, so that it can stop the server before the process exits.
    """
    try:
        return asyncio.run(_until_terminated(work))
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


async def _until_terminated(work: Coroutine[Any, Any, int]) -> int:
    task = asyncio.current_task()
    assert task is not None
    is_terminated = False

    def on_terminate() -> None:
        nonlocal is_terminated
        if not is_terminated:  # a second signal must not interrupt the cleanup
            is_terminated = True
            task.cancel()

    with contextlib.suppress(NotImplementedError):  # Windows terminates processes without a signal
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, on_terminate)
    try:
        return await work
    except asyncio.CancelledError:
        if is_terminated:
            return ExitCode.TERMINATED
        raise


class _StderrFollower:
    """Copies the server's stderr to that of `mcp-lens` as it is recorded."""

    def __init__(self, log: TrafficLog) -> None:
        self._log = log
        self._seen = len(log)
        log.grew.connect(self._on_grew)

    def _on_grew(self, length: int) -> None:
        for row in range(self._seen, length):
            if self._log.kind(row) == RecordKind.STDERR:
                line = self._log.raw(row).decode(errors="replace")
                output.write_stderr(f"{visible(line) if output.is_terminal(sys.stderr) else line}\n")
        self._seen = length


def add_server_options(parser: Parser) -> None:
    server = parser.add_argument_group("server (exactly one of --url, --server or -- COMMAND)")
    server.add_argument("--url", help="URL of a running server (HTTP or WebSocket)")
    server.add_argument("--server", metavar="NAME", help="name of a configured server")
    server.add_argument("--config", type=Path, metavar="FILE", help="server list file to use")
    server.add_argument(
        "--header", action="append", default=[], metavar="'NAME: VALUE'", help="send this header to the URL"
    )
    server.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="set this environment variable for the command; without a value, pass yours through",
    )
    server.add_argument(
        "--connect-timeout", type=seconds, metavar="S", help="connection timeout in seconds (default: 15)"
    )
    server.add_argument("--stderr", action="store_true", help="show the command's stderr")


def chosen_entry(options: argparse.Namespace) -> Entry:
    """Return the server chosen by the options. Raises ConfigError."""
    entry = _named_entry(options.url, options.server, options.server_command, options.config)
    headers = dict(_header(text) for text in options.header)
    env = dict(_variable(text) for text in options.env)
    if isinstance(entry, StdioEntry):
        _reject(headers, "--header applies only to URLs, but this server is a command.")
        return replace(entry, env={**entry.env, **env})
    _reject(env, "--env applies only to commands, but this server is a URL.")
    return replace(entry, headers={**entry.headers, **headers})


def _named_entry(
    url: str | None, server: str | None, command: list[str] | None, config: Path | None
) -> Entry:
    if sum(choice is not None for choice in (url, server, command)) != 1:
        raise ConfigError(
            "More than one server specified." if url or server else "No server specified.", _SERVER_HINT
        )
    if url is not None:
        kind = WebSocketEntry if is_websocket(check_url(url)) else HttpEntry
        return kind(name=url, url=url)
    if server is not None:
        return ServerListFile(config or server_list_path()).find(server)
    if not command:
        raise ConfigError("No command after --.", "Add the command that starts the server.")
    return StdioEntry(name=name_from_argv(command), command=command[0], args=tuple(command[1:]))


def _header(text: str) -> tuple[str, str]:
    match = _HEADER.fullmatch(text.strip())
    if match is None:
        # The text is not quoted in the message: it may hold a secret.
        raise ConfigError("Invalid --header.", "Write it as 'Name: value'.")
    return match[1], match[2]


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or "\0" in text:
        raise ConfigError("Invalid --env.", "Write it as NAME=value, or as NAME to pass yours through.")
    if equals:
        return name, value
    if name not in os.environ:
        raise ConfigError(
            f"The environment variable {name!r} is not set.", f"Set it, or use --env {name}=value."
        )
    return name, os.environ[name]


def _reject(values: Collection[object], reason: str) -> None:
    if values:
        raise ConfigError(reason, "Remove it.")
