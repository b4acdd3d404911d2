"""Routes to a configured server, client capabilities, and version negotiation.

`Negotiator` drives a `protocol.handshake.Negotiation` over an open connection: it sends each request and
reports the response, the HTTP rejection or the silence back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import unquote

from inspector import __version__
from inspector.base.clock import Clock
from inspector.base.errors import ConfigError, ConnectFailed, ConnectionLost, HttpRefused, RequestTimedOut
from inspector.base.json.values import JSONObject
from inspector.config.preferences.settings import Settings
from inspector.config.servers.entries import Entry, HttpEntry, OAuthSettings, StdioEntry, WebSocketEntry
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
from inspector.protocol.revisions import NEWEST_HANDSHAKE, Era, Revision
from inspector.session.state import RequestHandler, Route
from inspector.transport.base import Authorization, Transport
from inspector.transport.legacy_sse import LegacySseTransport
from inspector.transport.network import Network
from inspector.transport.process import Command, OrphanGuard
from inspector.transport.stdio import StdioTransport
from inspector.transport.streamable_http import StreamableHttpTransport
from inspector.transport.websocket import WebSocketTransport

_EXTENSIONS = {"client_credentials": CLIENT_CREDENTIALS, "enterprise": ENTERPRISE, "wif": WORKLOAD}


def make_routes(
    entry: Entry,
    declared: ClientCapabilities,
    guard: OrphanGuard,
    clock: Clock,
    settings: Settings,
    authorization: Authorization | None = None,
) -> tuple[Route, ...]:
    """Return the routes to a server.

    A URL of type "auto" may be Streamable HTTP or the older HTTP+SSE. With unresolved secret references,
    the routes refuse to connect: nothing is sent without its secrets.
    """
    if secret_references(entry):
        routes = make_routes(without_references(entry), declared, guard, clock, settings, authorization)
        return tuple(replace(route, make_transport=partial(_refuse, entry)) for route in routes)
    profile = ClientProfile("mcp-lens", "MCP Lens", __version__, declared)
    choice = _era_choice(entry)

    def negotiation(over_http: bool) -> Negotiation:
        return negotiation_for(choice, profile, over_http)

    if isinstance(entry, StdioEntry):
        command = Command((entry.command, *entry.args), plain_values(entry), entry.cwd)
        process = partial(StdioTransport, command, guard, clock, settings.line_cap)
        return (Route(process, lambda: negotiation(over_http=False), profile, is_process=True),)
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
        lambda: InitializeHandshake(profile, pinned),
        profile,
    )
    return {"http": (streamable,), "sse": (http_sse,), "auto": (streamable, http_sse)}[entry.type]


def _refuse(entry: Entry) -> Transport:
    resolve_secrets(entry, {})  # raises
    raise ConfigError(f"The secrets of server {entry.name!r} were not loaded.")


def _era_choice(entry: Entry) -> EraChoice:
    choice = read_era_choice(entry.era)
    if choice is None:
        raise ConfigError(
            f"Server {entry.name!r} has an unknown protocol version: {entry.era!r}.",
            "Use “auto”, “legacy-first”, or a protocol version such as 2025-11-25.",
        )
    return choice


def network_of(entry: HttpEntry | WebSocketEntry, settings: Settings) -> Network:
    """Return the configured network options; headers from the secret store are not included."""
    options = entry.network
    return Network(
        headers=tuple(plain_values(entry).items()),
        connect_timeout=settings.connect_timeout,
        proxy=options.proxy,
        use_environment_proxy=options.environment_proxy,
        ca_file=options.ca_file,
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
        is_last_route: bool,
    ) -> None:
        self._ask = ask
        self._restart = restart
        self._is_process = is_process
        self._is_last_route = is_last_route
        self._lost: ConnectionLost | None = None

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
        except ConnectFailed as exc:
            if isinstance(reply, NoResponse) and self._lost is not None:
                # The exit code and the last lines of stderr say more than "no response".
                raise ConnectFailed(self._lost.summary, self._lost.next_step, kind=self._lost.kind) from exc
            raise

    async def _reply(self, ask: NextRequest) -> NegotiationResponse:
        self._lost = None
        try:
            return await self._ask(ask)
        except RequestTimedOut:
            return NoResponse("timeout")
        except HttpRefused as exc:
            if (
                ask.method == "initialize"
                and not self._is_last_route
                and suggests_http_sse(exc.status, exc.body)
            ):
                raise WrongRoute(exc.summary, exc.next_step) from exc
            return exc
        except ConnectionLost as exc:
            if not self._is_process:
                raise  # an outage says nothing about the protocol version
            self._lost = exc
            return NoResponse("exited")


class WrongRoute(ConnectFailed):
    """The server rejected the connection as a server with the older HTTP+SSE transport would."""
