"""Routes to a configured server, client capabilities, version negotiation and connection timeout.

`Negotiator` drives a `protocol.handshake.Negotiation` over an open connection: it sends each request and
reports the response, the HTTP rejection or the silence back. `ConnectTimeout` limits a connection attempt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote

from inspector import __version__
from inspector.base.clock import Clock
from inspector.base.errors import (
    ConfigError,
    ConnectFailed,
    ConnectionLost,
    FailureKind,
    HttpRefused,
    NeedsLogin,
    NotReached,
    RequestTimedOut,
    UnusableResponse,
    UserError,
)
from inspector.base.json.values import JSONObject
from inspector.config.preferences.settings import ConnectionSettings
from inspector.config.servers.entries import (
    Entry,
    HttpEntry,
    OAuthSettings,
    StdioEntry,
    WebSocketEntry,
    installer_of,
)
from inspector.config.servers.entry_secrets import (
    plain_values,
    resolve_secrets,
    secret_references,
    without_references,
)
from inspector.protocol.client_capabilities import (
    CLIENT_CREDENTIALS,
    DPOP,
    ENTERPRISE,
    WORKLOAD,
    ClientCapabilities,
)
from inspector.protocol.discovery import EraChoice, negotiation_for, read_era_choice
from inspector.protocol.handshake import (
    ClientProfile,
    InitializeHandshake,
    Negotiation,
    NegotiationResponse,
    NegotiationResult,
    NextRequest,
    NoResponse,
)
from inspector.protocol.http_rules import suggests_http_sse
from inspector.protocol.jsonrpc import Message
from inspector.protocol.revisions import NEWEST_HANDSHAKE, Era, Revision, find_revision
from inspector.session.state import RequestHandler, Route
from inspector.transport.base import Authorization, Transport
from inspector.transport.legacy_sse import LegacySseTransport
from inspector.transport.network import Network
from inspector.transport.orphan_guard import OrphanGuard
from inspector.transport.programs import Command
from inspector.transport.stdio import StdioTransport
from inspector.transport.streamable_http import StreamableHttpTransport
from inspector.transport.websocket import WebSocketTransport

T = TypeVar("T")
_EXTENSIONS = {"client_credentials": CLIENT_CREDENTIALS, "enterprise": ENTERPRISE, "wif": WORKLOAD}


def make_routes(
    entry: Entry,
    declared: ClientCapabilities,
    guard: OrphanGuard,
    clock: Clock,
    settings: ConnectionSettings,
    authorization: Authorization | None = None,
) -> tuple[Route, ...]:
    """Return the routes to a server, in the order in which they are tried.

    A URL of type "auto" may be Streamable HTTP or the older HTTP+SSE. With unresolved secret references,
    the routes refuse to connect: nothing is sent without its secrets.
    """
    if secret_references(entry):
        routes = make_routes(without_references(entry), declared, guard, clock, settings, authorization)
        return tuple(replace(route, make_transport=partial(_refuse, entry)) for route in routes)
    routes = _routes(entry, declared, guard, clock, settings, authorization)
    return tuple(replace(route, is_sequential=entry.sequential) for route in routes)


def _routes(
    entry: Entry,
    declared: ClientCapabilities,
    guard: OrphanGuard,
    clock: Clock,
    settings: ConnectionSettings,
    authorization: Authorization | None,
) -> tuple[Route, ...]:
    profile = ClientProfile("mcp-lens", "MCP Lens", __version__, declared)
    choice, continue_as = _era_choice(entry), find_revision(entry.continue_as)

    def negotiation(over_http: bool) -> Negotiation:
        return negotiation_for(choice, profile, over_http, continue_as)

    if isinstance(entry, StdioEntry):
        argv = (entry.command, *entry.args)
        command = Command(argv, plain_values(entry), entry.cwd, entry.inherit_environment)
        process = partial(StdioTransport, command, guard, clock, settings.line_cap)
        route = Route(process, lambda: negotiation(over_http=False), profile, is_process=True)
        return (replace(route, installer=installer_of(argv)),)
    network = network_of(entry, settings)
    if isinstance(entry, WebSocketEntry):
        return (
            Route(
                lambda: WebSocketTransport(entry.url, network, clock),
                lambda: negotiation(over_http=False),
                profile,
            ),
        )
    if entry.type == "sse" and isinstance(choice, Revision) and choice.era is Era.STATELESS:
        raise ConfigError(
            f"Server {entry.name!r} is set to {choice} over HTTP+SSE, which that protocol version does "
            "not support.",
            "Choose another protocol version, or Streamable HTTP (“http”).",
        )
    streamable = Route(
        partial(StreamableHttpTransport, entry.url, network, clock, authorization),
        lambda: negotiation(over_http=True),
        profile,
        closes_to_cancel=True,
    )
    pinned = choice if isinstance(choice, Revision) else NEWEST_HANDSHAKE
    http_sse = Route(
        partial(LegacySseTransport, entry.url, network, clock, authorization=authorization),
        lambda: InitializeHandshake(profile, pinned, continue_as),
        profile,
    )
    return {"http": (streamable,), "sse": (http_sse,), "auto": (streamable, http_sse)}[entry.type]


def _refuse(entry: Entry) -> Transport:
    resolve_secrets(entry, {})  # raises
    raise ConfigError(f"The secrets of server {entry.name!r} were not loaded.", "Connect again.")


def _era_choice(entry: Entry) -> EraChoice:
    choice = read_era_choice(entry.era)
    if choice is None:
        raise ConfigError(
            f"Server {entry.name!r} has an unknown protocol version: {entry.era!r}.",
            "Use “auto”, “legacy-first”, or a protocol version such as 2025-11-25.",
        )
    return choice


def network_of(entry: HttpEntry | WebSocketEntry, settings: ConnectionSettings) -> Network:
    """Return the configured network options; headers from the secret store are not included."""
    options = entry.network
    return Network(
        headers=tuple(plain_values(entry).items()),
        connect_timeout=settings.connect_timeout,
        proxy=options.proxy,
        use_environment_proxy=options.environment_proxy,
        ca_file=options.ca_file,
        login_ca_file=options.login_ca_file,
        client_certificate=options.client_certificate,
        client_key=options.client_key,
        verify=options.verify,
        http2=options.http2,
        message_cap=settings.line_cap,
    )


def capabilities_for(
    entry: Entry, default: ClientCapabilities, handled: Container[str]
) -> ClientCapabilities:
    """Return the capabilities to declare to a server: those chosen for it, or the default.

    The login extensions of the server are added to the default. `handled` are the methods that have a
    handler: chosen capabilities for other methods are dropped, unless the declaration is exact.
    """
    if entry.capabilities is None:
        for extension in _login_extensions(entry):
            default = default.with_member(("extensions", extension), {})
        return default
    chosen = ClientCapabilities(entry.capabilities, entry.exact_capabilities)
    return chosen if chosen.is_exact else chosen.restricted_to(handled)


def _login_extensions(entry: Entry) -> Iterator[str]:
    """Yield the extensions that the server's configured login uses."""
    auth = entry.auth if isinstance(entry, HttpEntry) else None
    if isinstance(auth, OAuthSettings):
        if auth.grant in _EXTENSIONS:
            yield _EXTENSIONS[auth.grant]
        if auth.dpop:
            yield DPOP


def roots_of(folders: Callable[[], tuple[str, ...]]) -> RequestHandler:
    """Return a `roots/list` handler that lists the current folders."""

    async def list_roots(params: JSONObject) -> JSONObject:
        return {"roots": [root_of(folder) for folder in folders()]}

    return list_roots


def root_of(folder: str) -> JSONObject:
    """Return a folder as an MCP root. A URI is sent unchanged."""
    if "://" in folder:
        return {"uri": folder, "name": unquote(folder.rstrip("/").rpartition("/")[2]) or folder}
    path = Path(folder).expanduser().absolute()
    return {"uri": path.as_uri(), "name": path.name or str(path)}


_START_ALLOWANCE = 10.0  # seconds
_SLOW_AFTER = 5.0  # seconds after which the user may decide to wait longer


def start_allowance(limit: float) -> float:
    """Return the seconds a process without output gets to start, in addition to the timeout `limit`."""
    return min(_START_ALLOWANCE, limit)


def download_text(installer: str) -> str:
    """Say that this program may be downloading the server; "" without one."""
    what = "image" if installer in ("docker", "podman") else "package"
    return f"{installer} may be downloading the {what}." if installer else ""


class ConnectTimeout:
    """Timeout of one connection attempt; it can be extended meanwhile.

    For a process it counts from its first output, or from `start_allowance` after its start if that is
    earlier: npx may have to download the server first. Nor does it include a `server/discover` that a
    process ignored. `on_slow` is called when `slow_hint` changes.
    """

    def __init__(self, limit: float, route: Route, on_slow: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._limit = limit
        self._route = route
        self._on_slow = on_slow
        self._began = self._loop.time()
        self._due = self._began + limit
        self._is_counting = not route.is_process
        self._is_slow = False
        self._timeout: asyncio.Timeout | None = None

    @property
    def seconds(self) -> float:
        """Seconds from the start of the attempt until it times out."""
        return round(self._due - self._began, 1)

    @property
    def slow_hint(self) -> str:
        """What a slow process may be doing, and how long it may take; "" unless it is slow."""
        if not self._is_slow:
            return ""
        return f"{download_text(self._route.installer)} MCP Lens waits {self.seconds:g} s in total.".lstrip()

    async def run(self, attempt: Awaitable[T]) -> T:
        """Await the attempt. Raises TimeoutError."""
        timer = self._loop.call_later(min(_SLOW_AFTER, self._limit / 3), self._set_slow)
        try:
            async with asyncio.timeout_at(self._due) as self._timeout:
                return await attempt
        finally:
            timer.cancel()
            self._timeout = None

    def process_started(self) -> None:
        if self._route.is_process:
            self._is_counting = False
            self._set(self._loop.time() + start_allowance(self._limit) + self._limit)

    def output_received(self) -> None:
        if not self._is_counting:
            self._is_counting = True
            self._set(min(self._due, self._loop.time() + self._limit))

    def probe_ignored(self) -> None:
        if self._route.is_process:
            self._set(max(self._due, self._loop.time() + self._limit))

    def extend(self, seconds: float) -> None:
        """Time out no earlier than in so many seconds, whatever the process does meanwhile."""
        self._is_counting = True
        self._set(max(self._due, self._loop.time() + seconds))
        self._set_slow()

    def _set_slow(self) -> None:
        if self._route.is_process:
            self._is_slow = True
            self._on_slow()

    def _set(self, due: float) -> None:
        self._due = due
        if self._timeout is not None and not self._timeout.expired():
            self._timeout.reschedule(due)


class Negotiator:
    """Negotiates the protocol version.

    Raises ConnectFailed and NeedsLogin; WrongRoute unless this is the last route.
    """

    def __init__(
        self,
        ask: Callable[[NextRequest], Awaitable[Message]],
        restart: Callable[[], Awaitable[None]],
        *,
        is_process: bool,
        is_over_http: bool,
        is_last_route: bool,
    ) -> None:
        self._ask = ask
        self._restart = restart
        self._is_process = is_process
        self._is_over_http = is_over_http
        self._is_last_route = is_last_route
        self._error: UserError | None = None  # instead of a response
        self._login: NeedsLogin | None = None

    async def run(self, negotiation: Negotiation) -> NegotiationResult:
        step: NextRequest | NegotiationResult = negotiation.first()
        while isinstance(step, NextRequest):
            if step.needs_restart:
                await self._restart()
            step = self._receive(negotiation, await self._reply(step))
        return step

    def _receive(
        self, negotiation: Negotiation, reply: NegotiationResponse
    ) -> NextRequest | NegotiationResult:
        try:
            return negotiation.receive(reply)
        except NeedsLogin as exc:
            raise self._login or exc from None  # the original has the headers that a login needs
        except ConnectFailed as exc:
            if isinstance(reply, NoResponse) and self._error is not None:
                # The exit code, the last lines of stderr or what arrived say more than "no response".
                kind = self._error.kind if self._error.kind is not FailureKind.OTHER else exc.kind
                raise ConnectFailed(self._error.summary, self._error.next_step, kind=kind) from exc
            raise

    async def _reply(self, ask: NextRequest) -> NegotiationResponse:
        self._error = None
        try:
            return await self._ask(ask)
        except RequestTimedOut as exc:
            self._error = exc
            return NoResponse("timeout")
        except UnusableResponse as exc:
            self._error = exc
            return NoResponse("unusable")
        except HttpRefused as exc:
            if (
                ask.method == "initialize"
                and not self._is_last_route
                and suggests_http_sse(exc.status, exc.body)
            ):
                raise WrongRoute(exc.summary, exc.next_step) from exc
            return exc
        except NeedsLogin as exc:
            if ask.method != "server/discover" or exc.was_tried:
                raise
            self._login = exc
            return HttpRefused(exc.summary, exc.next_step, exc.status)
        except ConnectionLost as exc:
            if self._is_process:
                self._error = exc
                return NoResponse("exited")
            if ask.method != "server/discover" or not self._is_over_http or isinstance(exc, NotReached):
                raise
            self._error = exc
            return NoResponse("disconnected")


class WrongRoute(ConnectFailed):
    """The server rejected the connection as a server with the older HTTP+SSE transport would."""
