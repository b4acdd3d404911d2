"""Which server a command talks to: a URL, one of the catalogue, or a command to start."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from inspector.base.errors import ConfigError
from inspector.cli.parser import Parser, seconds
from inspector.config.catalogue import Catalogue
from inspector.config.entries import (
    Entry,
    HttpEntry,
    StdioEntry,
    WebSocketEntry,
    check_url,
    is_websocket,
    name_from_argv,
)
from inspector.config.paths import catalogue_path

# RFC 9110, section 5.6.2: a field name is a token. Section 5.5: a value holds no CR, LF or NUL.
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*([^\r\n\0]*)")
USAGE = "(--url URL | --server NAME | -- COMMAND [ARGS …])"
_HOW = "Use one of --url URL, --server NAME, or -- COMMAND at the very end."


def add_server_options(parser: Parser) -> None:
    server = parser.add_argument_group("server (exactly one of --url, --server and -- COMMAND)")
    server.add_argument("--url", help="a server that is running, over HTTP or WebSocket")
    server.add_argument("--server", metavar="NAME", help="a server of the catalogue")
    server.add_argument("--config", type=Path, metavar="FILE", help="the catalogue, instead of your own")
    server.add_argument(
        "--header", action="append", default=[], metavar="'NAME: VALUE'", help="send this header to the URL"
    )
    server.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="set this variable for the command; without a value, hand on your own",
    )
    server.add_argument(
        "--connect-timeout", type=seconds, metavar="S", help="give up connecting after S seconds (15)"
    )
    server.add_argument("--stderr", action="store_true", help="show what the command writes to stderr")


def chosen_entry(options: argparse.Namespace) -> Entry:
    """Return the server chosen by the options. Raises ConfigError."""
    entry = _named_entry(options.url, options.server, options.server_command, options.config)
    headers = dict(_header(text) for text in options.header)
    env = dict(_variable(text) for text in options.env)
    if isinstance(entry, StdioEntry):
        _refuse(headers, "--header is for URLs, and this server is a command.")
        return replace(entry, env={**entry.env, **env})
    _refuse(env, "--env is for commands, and this server is a URL.")
    return replace(entry, headers={**entry.headers, **headers})


def _named_entry(
    url: str | None, server: str | None, command: list[str] | None, config: Path | None
) -> Entry:
    if sum(choice is not None for choice in (url, server, command)) != 1:
        raise ConfigError("Name one server, not several." if url or server else "Name a server.", _HOW)
    if url is not None:
        kind = WebSocketEntry if is_websocket(check_url(url)) else HttpEntry
        return kind(name=url, url=url)
    if server is not None:
        return Catalogue(config or catalogue_path()).find(server)
    if not command:
        raise ConfigError("Nothing follows after --.", "Give the command that starts the server.")
    return StdioEntry(name=name_from_argv(command), command=command[0], args=tuple(command[1:]))


def _header(text: str) -> tuple[str, str]:
    match = _HEADER.fullmatch(text.strip())
    if match is None:
        # The text is not repeated in the message: it may hold a secret.
        raise ConfigError("A --header cannot be read.", "Write it as 'Name: value'.")
    return match[1], match[2]


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or "\0" in text:
        raise ConfigError(
            "An --env cannot be read.", "Write it as NAME=value, or as NAME to hand on your own."
        )
    if equals:
        return name, value
    if name not in os.environ:
        raise ConfigError(f"The variable {name!r} is not set here.", f"Set it, or write --env {name}=value.")
    return name, os.environ[name]


def _refuse(given: Iterable[object], problem: str) -> None:
    if given:
        raise ConfigError(problem, "Leave it out.")
