"""A configured server, by how it is reached."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from inspector.base.errors import ConfigError
from inspector.base.redact import MASK, masked_url, masked_words
from inspector.config.auth import BearerSettings, OAuthSettings, SecretRef
from inspector.protocol.probe import read_era_choice
from inspector.protocol.revisions import REVISIONS

# What a server can be marked with. In words, for those who read the file; the window has a tone for each.
COLOURS = ("blue", "green", "amber", "red", "violet", "teal")

Given: TypeAlias = str | SecretRef
"""The value of a header or a variable: as it is, or the name that it has in the secret store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """In seconds; None leaves it to the settings of the app.

    `request` counts from the request or its last progress, `total` in any case. Every `keep_alive`
    seconds the server is asked whether it is still there; 0 is never.
    """

    connect: float | None = None
    request: float | None = None
    total: float | None = None
    keep_alive: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSettings:
    """How a URL is reached. Nothing is taken from the surroundings unless it says so."""

    proxy: str = ""
    environment_proxy: bool = False
    ca_file: str = ""
    client_certificate: str = ""
    client_key: str = ""
    verify: bool = True
    http2: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """What every server has.

    `era` is "auto" (find out), "legacy-first", or the date of a revision. `auto_restart`
    connects again by itself when the connection is lost. `capabilities` are those that we declare, None
    for all that we can answer; with `exact_capabilities` every revision is told exactly these.
    `auto_connect` connects when the app starts. `watch` are globs below its working folder: it is restarted
    when such a file changes. `notes` and `colour` (one of COLOURS, or "") are for the person alone.
    """

    name: str
    enabled: bool = True
    roots: tuple[str, ...] = ()
    era: str = "auto"
    timeouts: Timeouts = Timeouts()
    auto_restart: bool = False
    capabilities: dict[str, Any] | None = None  # JSON
    exact_capabilities: bool = False
    auto_connect: bool = False
    watch: tuple[str, ...] = ()
    notes: str = ""
    colour: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StdioEntry(_Entry):
    """A program that we start."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, Given] = field(default_factory=dict)
    cwd: str = ""

    @property
    def transport(self) -> str:
        return "stdio"

    @property
    def address(self) -> str:
        """What a person would type to start it, secrets masked: for showing."""
        return " ".join(_quoted(word) for word in masked_words((self.command, *self.args)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _UrlEntry(_Entry):
    """A server that runs elsewhere."""

    url: str
    headers: Mapping[str, Given] = field(default_factory=dict)
    network: NetworkSettings = NetworkSettings()

    @property
    def address(self) -> str:
        """For showing: secrets in it are masked."""
        return masked_url(self.url)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpEntry(_UrlEntry):
    """Over Streamable HTTP ("http"), the HTTP+SSE of 2024 ("sse"), or whichever it turns out to be.

    Without `auth` a login is OAuth by its usual rules, when the server asks for one.
    """

    type: Literal["auto", "http", "sse"] = "auto"
    auth: OAuthSettings | BearerSettings | None = None

    @property
    def transport(self) -> str:
        return "sse" if self.type == "sse" else "http"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSocketEntry(_UrlEntry):
    """Over WebSocket, which no revision of the protocol defines but some servers speak."""

    @property
    def transport(self) -> str:
        return "ws"


Entry: TypeAlias = StdioEntry | HttpEntry | WebSocketEntry


def entry_from_text(text: str, name: str = "") -> Entry:
    """A server from what a person types: a URL, or a command line. Raises ConfigError.

    The command line is split as a shell would split it, but no shell ever sees it: no variables, no
    pipes, no globs.
    """
    text = text.strip()
    if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://", text):
        url = check_url(text)
        kind = WebSocketEntry if is_websocket(url) else HttpEntry
        return kind(name=name or _name_from_url(url), url=url)
    try:
        argv = shlex.split(text)
    except ValueError as exc:
        raise ConfigError(f"The command line cannot be read: {exc}.", "Close the quotes.") from exc
    if not argv or not argv[0]:
        raise ConfigError("Nothing was given.", "Type a command such as “npx -y some-server”, or a URL.")
    return StdioEntry(name=name or name_from_argv(argv), command=argv[0], args=tuple(argv[1:]))


def check_url(url: str) -> str:
    """The URL, when it is one that we can speak to. Raises ConfigError."""
    try:
        parts = urlsplit(url)
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError as exc:
        raise ConfigError(f"That is not a valid URL: {exc}.", "Check the host and the port.") from exc
    if "@" in parts.netloc:
        raise ConfigError("The URL holds a user name or a password.", "Give an Authorization header instead.")
    if not parts.hostname or not port_is_fine:
        raise ConfigError(f"{url!r} names no host.", "Give one such as http://localhost:8000/mcp.")
    if parts.scheme.lower() not in ("http", "https", "ws", "wss"):
        raise ConfigError(
            f"We cannot speak to a {parts.scheme or 'relative'} URL.",
            "Give an http, https, ws or wss URL.",
        )
    return url


def check_era(era: str) -> str:
    """The era, when it is one to choose from. Raises ConfigError."""
    if read_era_choice(era) is None:
        dates = ", ".join(revision.date for revision in REVISIONS)
        raise ConfigError(
            f"era: there is no {era!r}.", f"Give “auto”, “legacy-first”, or the date of a revision: {dates}."
        )
    return era


def check_timeouts(timeouts: Timeouts) -> Timeouts:
    """The timeouts, when one can wait that long. Raises ConfigError."""
    for name in ("connect", "request", "total", "keep_alive"):
        seconds = getattr(timeouts, name)
        is_never = name == "keep_alive" and seconds == 0
        if seconds is not None and not is_never and not 0 < seconds < math.inf:
            raise ConfigError(f"timeouts: {seconds} is no number of seconds to wait.", "Give more than 0.")
    return timeouts


def is_websocket(url: str) -> bool:
    return url[:6].lower().startswith(("ws://", "wss://"))


def name_from_argv(argv: list[str]) -> str:
    """A short name: the package or script that the command starts, rather than `npx` or `python`."""
    words = [word for word in argv[1:] if not word.startswith("-")]
    runners = {"npx", "uvx", "uv", "node", "python", "python3", "bunx", "deno", "docker", "run", "tool"}
    candidates = [argv[0], *words]
    chosen = next((word for word in candidates if _stem(word) not in runners), argv[0])
    return _stem(chosen)


def _stem(word: str) -> str:
    last = re.split(r"[/\\]", word.rstrip("/\\"))[-1] or word
    return re.sub(r"\.(py|js|mjs|ts|sh|exe|cmd|bat)$", "", re.sub(r"(?<=.)@[\w.^~-]+$", "", last))


def _name_from_url(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2] or "server"


def _quoted(word: str) -> str:
    return word if MASK in word else shlex.quote(word)
