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
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from inspector.base.errors import ConfigError, ConnectFailed, FailureKind, LensError
from inspector.base.plain_text import visible
from inspector.cli import output
from inspector.cli.output import ExitCode, Parser, seconds
from inspector.config.paths import secrets_path, server_list_path
from inspector.config.servers.entries import (
    Entry,
    HttpEntry,
    StdioEntry,
    WebSocketEntry,
    check_continue_as,
    check_url,
    is_websocket,
    name_from_argv,
)
from inspector.config.servers.placeholders import stored_secrets_of
from inspector.config.servers.server_list import ServerListFile
from inspector.engine.engine import Engine
from inspector.engine.secrets import Secrets, make_store
from inspector.engine.server_view import ServerView
from inspector.engine.settings import SettingsStore
from inspector.engine.views import ServerStatus
from inspector.schema.tool_names import is_qualified, matching_servers
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RecordKind

Work = Callable[[Engine, str], Awaitable[int]]
"""Takes the engine and the server's name; returns the exit code."""

ServersWork = Callable[[Engine, Mapping[str, LensError | None]], Awaitable[int]]
"""Takes the engine and, by name, why each server is not connected; returns the exit code."""

_LONGER_TIMEOUT = 60  # seconds
USAGE = "(--url URL | --server NAME | -- COMMAND [ARGS …])"
_SERVER_HINT = "Use one of --url URL, --server NAME, or -- COMMAND at the end."
_MAX_CONNECTING = 8  # servers at a time
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
    settings = _settings(options.connect_timeout, request_timeout)
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


def run_on_servers(
    entries: Sequence[Entry],
    work: ServersWork,
    *,
    connect_timeout: float | None = None,
    request_timeout: float | None = None,
    show_stderr: bool = False,
) -> int:
    """Connect to several servers at once, run the work, stop the servers. Raises LensError."""
    settings = _settings(connect_timeout, request_timeout)
    return _run(_on_servers(entries, settings, work, show_stderr=show_stderr))


async def _on_servers(
    entries: Sequence[Entry], settings: SettingsStore, work: ServersWork, *, show_stderr: bool
) -> int:
    engine = _make_engine(entries, settings, show_stderr)
    slots = asyncio.Semaphore(_MAX_CONNECTING)

    async def connect(entry: Entry) -> LensError | None:
        try:
            async with slots:
                engine.servers.add(entry)
                await _connect(engine, entry.name, settings.get("connections.connectTimeout"))
        except LensError as exc:
            return exc
        return None

    try:
        failures = await asyncio.gather(*map(connect, entries))
        return await work(
            engine, {entry.name: failure for entry, failure in zip(entries, failures, strict=True)}
        )
    finally:
        await engine.close()


def _settings(connect_timeout: float | None, request_timeout: float | None) -> SettingsStore:
    given = {"connections.connectTimeout": connect_timeout, "connections.requestTimeout": request_timeout}
    if not os.environ.get("MCP_LENS_DEBUG"):
        logging.getLogger().addHandler(logging.NullHandler())  # else Python prints tracebacks to stderr
    return SettingsStore(defaults={id: timeout for id, timeout in given.items() if timeout is not None})


def _make_engine(entries: Sequence[Entry], settings: SettingsStore, show_stderr: bool) -> Engine:
    # Open the secret store only if an entry refers to secrets: the keychain may prompt the user.
    has_secrets = any(stored_secrets_of(entry) for entry in entries)
    secrets = Secrets(lambda: make_store(secrets_path())) if has_secrets else None
    engine = Engine(settings=settings, secrets=secrets)
    if show_stderr:
        _StderrFollower(engine.log)
    return engine


async def _on_server(
    entry: Entry, settings: SettingsStore, work: Work, *, show_stderr: bool, connects: bool
) -> int:
    engine = _make_engine([entry], settings, show_stderr)
    _StreamFollower(engine)
    try:
        engine.servers.add(entry)
        if connects:
            await _connect(engine, entry.name, settings.get("connections.connectTimeout"))
        return await work(engine, entry.name)
    finally:
        await engine.close()


async def _connect(engine: Engine, name: str, timeout: float) -> None:
    try:
        await engine.servers.connector.connect(name)
    except ConnectFailed as exc:
        if exc.kind is not FailureKind.TIMEOUT:
            raise
        longer = max(_LONGER_TIMEOUT, round(2 * timeout))
        next_step = f"{exc.next_step} To wait longer, use --connect-timeout {longer}."
        raise ConnectFailed(exc.summary, next_step.lstrip(), kind=exc.kind) from exc


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


class _StreamFollower:
    """Reports on stderr that the optional stream of server messages was lost, or is open again."""

    def __init__(self, engine: Engine) -> None:
        self._reported = ""
        engine.servers.changed.connect(self._on_changed)

    def _on_changed(self, view: ServerView) -> None:
        if view.stream_problem == self._reported:
            return
        self._reported = view.stream_problem
        if view.stream_problem:
            output.print_error(
                f"Server messages are not received: {view.stream_problem} Requests are not affected."
            )
        elif view.status is ServerStatus.CONNECTED:
            output.print_error("Server messages are received again.")


def add_server_options(parser: Parser) -> None:
    server = parser.add_argument_group("server (exactly one of --url, --server or -- COMMAND)")
    server.add_argument("--url", help="URL of a running server (HTTP or WebSocket)")
    server.add_argument("--server", metavar="NAME", help="name of a configured server")
    server.add_argument("--config", type=Path, metavar="FILE", help="server list file to use")
    server.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="'NAME: VALUE'",
        help="send this header to the URL; other processes can read it: use the next two for secrets",
    )
    server.add_argument(
        "--header-env",
        action="append",
        default=[],
        metavar="NAME=VARIABLE",
        help="send this header with the value of an environment variable",
    )
    server.add_argument(
        "--header-file",
        action="append",
        default=[],
        metavar="FILE",
        help="send the headers in a file with a line 'NAME: VALUE' for each; - reads stdin",
    )
    server.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="set this environment variable for the command; without a value, pass yours through",
    )
    server.add_argument(
        "--connect-timeout",
        type=seconds,
        metavar="S",
        help="connection timeout in seconds (default: 15); for a command it counts from its first output, at "
        "the latest 10 s after its start",
    )
    server.add_argument(
        "--continue-as",
        metavar="VERSION",
        help="protocol version to use if the server names an unknown one, such as 2025-11-25",
    )
    server.add_argument("--stderr", action="store_true", help="show the command's stderr")


def chosen_entry(options: argparse.Namespace) -> Entry:
    """Return the server chosen by the options. Raises ConfigError."""
    entry = _named_entry(options.url, options.server, options.server_command, options.config)
    if options.continue_as is not None:
        entry = replace(entry, continue_as=check_continue_as(options.continue_as))
    headers = _headers(options)
    env = dict(_variable(text) for text in options.env)
    if isinstance(entry, StdioEntry):
        _reject(headers, "A header applies only to URLs, but this server is a command.")
        return replace(entry, env={**entry.env, **env})
    _reject(env, "--env applies only to commands, but this server is a URL.")
    return replace(entry, headers={**entry.headers, **headers})


def all_entries(config: Path | None) -> list[Entry]:
    """Return the enabled servers of the server list; what is wrong with it goes to stderr."""
    loaded = ServerListFile(config or server_list_path()).load()
    for problem in loaded.problems:
        output.print_error(problem)
    return [entry for entry in loaded.entries if entry.enabled]


def server_for(tool: str, options: argparse.Namespace) -> str | None:
    """Return the configured server that a qualified tool name refers to, if the options name none.

    Raises ConfigError if no server has that name, or several have.
    """
    if options.url or options.server or options.server_command is not None or not is_qualified(tool):
        return None
    path = options.config or server_list_path()
    found = matching_servers(tool, [entry.name for entry in ServerListFile(path).load().entries])
    if not found:
        raise ConfigError(f"No server in {path} fits the tool name {tool!r}.", _SERVER_HINT)
    if len(found) > 1:
        names = ", ".join(map(repr, found))
        raise ConfigError(
            f"Several servers fit the tool name {tool!r}: {names}.", "Choose one with --server."
        )
    return found[0]


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
        return _enabled_entry(ServerListFile(config or server_list_path()), server)
    if not command:
        raise ConfigError("No command after --.", "Add the command that starts the server.")
    return StdioEntry(name=name_from_argv(command), command=command[0], args=tuple(command[1:]))


def _enabled_entry(server_list: ServerListFile, name: str) -> Entry:
    """Return a configured server. Raises ConfigError if it is disabled: then it is never connected."""
    entry = server_list.find(name)
    if not entry.enabled:
        raise ConfigError(
            f"The server {name!r} is disabled in {server_list.path}.",
            "Enable it in MCP Lens (Server ▸ Enabled), or change “disabled” or “enabled” in that file.",
        )
    return entry


def _headers(options: argparse.Namespace) -> dict[str, str]:
    """Return the headers of all options; those of `--header` win, as they are visible."""
    headers: dict[str, str] = {}
    for path in options.header_file:
        headers |= _headers_in_file(path)
    headers |= dict(_header_from_environment(text) for text in options.header_env)
    headers = {name: value.replace("${", "$${") for name, value in headers.items()}  # not placeholders
    return headers | dict(_header(text, "--header") for text in options.header)


def _header(text: str, where: str) -> tuple[str, str]:
    match = _HEADER.fullmatch(text.strip())
    if match is None:
        # The text is not quoted in the message: it may hold a secret.
        raise ConfigError(f"Invalid {where}.", "Write it as 'Name: value'.")
    return match[1], match[2]


def _header_from_environment(text: str) -> tuple[str, str]:
    name, equals, variable = text.partition("=")
    if not equals or not variable:
        # Not quoted either: it may be a value instead of the name of a variable.
        raise ConfigError("Invalid --header-env.", "Write it as HEADER=VARIABLE.")
    if variable not in os.environ:
        raise ConfigError(
            f"--header-env {name}: the environment variable with its value is not set.", "Set and export it."
        )
    return _header(f"{name}: {os.environ[variable]}", f"header name or value for --header-env {name}")


def _headers_in_file(path: str) -> dict[str, str]:
    """Read a header per line; empty lines and those that begin with `#` are ignored."""
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not UTF-8 text"
        raise ConfigError(
            f"Could not read the header file {path}: {reason}.", "Check its path and content."
        ) from exc
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    return dict(
        _header(line, f"line {number} in the header file {path}")
        for number, line in lines
        if line and not line.startswith("#")
    )


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
