"""HTTP client of a login, mostly for URLs that a server named, and its log rows.

Each URL is checked as text before anything is sent, and each IP address before connecting
(`protocol.auth.url_guard`). Redirects are followed only within one origin (for a metadata document also
to the same URL over https), and never with a code, a token or a secret. What is configured for the MCP
server (headers, CA file, client certificate, disabled verification) is used for that server's origin only. No
cookies are stored, responses are bounded, every wait has a limit.

The log rows belong to the MCP server and contain secrets as sent, like all rows: they are masked on screen
and in exports.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from ipaddress import ip_address
from itertools import count
from typing import TypeAlias
from urllib.parse import urlencode

from inspector.base.clock import Clock
from inspector.base.errors import RequestTimedOut
from inspector.base.json.values import JSONObject, to_wire
from inspector.base.redaction import is_secret_name
from inspector.base.units import duration
from inspector.config.servers.entries import OAuthSettings
from inspector.protocol.auth.url_guard import (
    ALLOW_PRIVATE,
    NEVER_CONTACTED,
    AddressKind,
    Allowance,
    BlockReason,
    GuardedUrl,
    UrlBlocked,
    check_url,
    classify,
    describe,
)
from inspector.protocol.http_rules import redirect_target
from inspector.traffic.log import TrafficLog
from inspector.traffic.recorder import Recorder, record_http
from inspector.traffic.records import LOGIN_SUBJECT, RecordKind
from inspector.transport.base import Headers, WireEvent
from inspector.transport.http_exchange import Exchange, Exchanges
from inspector.transport.network import Network, proxy_for
from inspector.transport.peer import Peer

NO_ROW = -1


MAX_DOCUMENT_SIZE = 64 * 1024  # for metadata
MAX_RESPONSE_SIZE = 1024 * 1024  # for everything else
CONNECT_TIMEOUT = 10.0
STEP_TIMEOUT = 30.0
MAX_REDIRECTS = 5
_CREDENTIAL_HEADERS = ("authorization", "dpop")

NetworkLoader: TypeAlias = Callable[[], Awaitable[Network]]


@dataclass(frozen=True, slots=True)
class LoginTarget:
    """The MCP server that a login is for, as configured."""

    name: str
    url: str
    settings: OAuthSettings = field(default_factory=OAuthSettings)


@dataclass(frozen=True, slots=True)
class RejectedResponse:
    """The MCP server's response that requires a login, so that it need not be probed again."""

    status: int
    headers: Headers
    body: bytes = field(default=b"", repr=False)
    with_token: bool = False


@dataclass(frozen=True, slots=True)
class LoginRequest:
    """A request as it will be sent, for review and editing. `cap` limits the response size."""

    method: str
    url: str
    headers: Headers = field(default=(), repr=False)
    body: bytes = field(default=b"", repr=False)
    cap: int = MAX_RESPONSE_SIZE
    follows_redirects: bool = False


@dataclass(frozen=True, slots=True)
class LoginResponse:
    """The response, whatever its status. A redirect that was not followed is one too."""

    url: str  # final URL after redirects
    status: int
    headers: Headers = field(repr=False)
    body: bytes = field(repr=False)
    row: int = NO_ROW  # of the exchange in the traffic log
    redirects: tuple[str, ...] = ()  # followed, in order
    peer: Peer | None = None  # who sent it

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def content_type(self) -> str:
        return self.header("content-type").partition(";")[0].strip().lower()

    def header(self, name: str) -> str:
        """Return the first header of this name; "" if absent."""
        return next(iter(self.values(name)), "")

    def values(self, name: str) -> tuple[str, ...]:
        """Return all headers of this name, verbatim."""
        return tuple(value for key, value in self.headers if key.lower() == name.lower())


def get_document(url: str, headers: Headers = ()) -> LoginRequest:
    """Return a GET request for metadata."""
    accept = ("Accept", "application/json")
    return LoginRequest("GET", url, (accept, *headers), cap=MAX_DOCUMENT_SIZE, follows_redirects=True)


def post_form(url: str, fields: Iterable[tuple[str, str]], headers: Headers = ()) -> LoginRequest:
    """Return a POST request for tokens or revocation. Redirects are not followed.

    What it carries is meant for this URL only.
    """
    kind = ("Content-Type", "application/x-www-form-urlencoded")
    body = urlencode(list(fields)).encode()
    return LoginRequest("POST", url, (kind, ("Accept", "application/json"), *headers), body)


def post_json(url: str, value: JSONObject, headers: Headers = ()) -> LoginRequest:
    """Return a POST request for registration."""
    kind = ("Content-Type", "application/json")
    return LoginRequest("POST", url, (kind, ("Accept", "application/json"), *headers), to_wire(value))


class LoginHttp:
    """Sends the requests of one login, sequentially. Close it at the end.

    `network` is that of the login's MCP server, or a function that returns it with the first request, as it
    may refer to secrets. `allowance` has the server's origin and says which addresses its URLs may lead to.
    """

    def __init__(
        self,
        network: Network | NetworkLoader,
        allowance: Allowance,
        clock: Clock,
        recorder: LoginRecorder,
        step_timeout: float = STEP_TIMEOUT,
    ) -> None:
        self._network: Network | NetworkLoader = network
        self._allowance = allowance
        self._clock = clock
        self._recorder = recorder
        self._step_timeout = step_timeout
        self._numbers = count(1)
        self._exchanges: dict[str, Exchanges] = {}

    def check(self, url: str) -> GuardedUrl:
        """Return the URL if it may be contacted. Raises UrlBlocked."""
        return check_url(url, self._allowance)

    async def send(self, request: LoginRequest) -> LoginResponse:
        """Send a request.

        Raises UrlBlocked, ConnectionLost, RequestTimedOut, ConfigError, and UserError for a response that
        cannot be accepted.
        """
        try:
            async with asyncio.timeout(self._step_timeout):
                return await self._send(request)
        except TimeoutError as exc:
            timeout = duration(int(self._step_timeout * 1e9))
            raise RequestTimedOut(
                f"{self.check(request.url).host} did not complete its response within {timeout}.",
                "Try again. If it keeps failing, check that server.",
            ) from exc

    async def close(self) -> None:
        for exchanges in self._exchanges.values():
            await exchanges.close()
        self._exchanges = {}

    async def _send(self, request: LoginRequest) -> LoginResponse:
        followed: list[str] = []
        while True:
            response = await self._exchange(request)
            target = redirect_target(
                request.url,
                response.header("location"),
                request.method,
                response.status,
                allows_upgrade=_has_no_secrets(request),
            )
            if not request.follows_redirects or target is None or len(followed) == MAX_REDIRECTS:
                return replace(response, redirects=tuple(followed))
            followed.append(target)
            request = replace(request, url=target)

    async def _exchange(self, request: LoginRequest) -> LoginResponse:
        guarded, network = self.check(request.url), await self._load_network()
        exchanges = self._exchanges_with(guarded, network)
        tag = self._recorder.body(request.body)
        begun = exchanges.begin(request.method, guarded.url, request.headers, request.body, tag)
        try:
            async with begun as exchange:
                peer = exchange.peer(is_proxy=bool(proxy_for(network, guarded.url)))
                exchange.store_body(body := await exchange.read_body(request.cap))
                return self._response(exchange, body, peer)
        finally:
            exchanges.client.cookies.clear()

    def _response(self, exchange: Exchange, body: bytes, peer: Peer | None) -> LoginResponse:
        row = self._recorder.row_of(exchange.number)
        return LoginResponse(exchange.url, exchange.status, exchange.headers, body, row, peer=peer)

    async def _load_network(self) -> Network:
        """Return the network settings.

        Raises ConfigError for a missing secret; nothing is sent then.
        """
        if not isinstance(self._network, Network):
            self._network = await self._network()
        return self._network

    def _exchanges_with(self, guarded: GuardedUrl, network: Network) -> Exchanges:
        found = self._exchanges.get(guarded.origin)
        if found is None:
            is_own = guarded.origin == self._allowance.own_origin
            found = self._exchanges[guarded.origin] = Exchanges(
                guarded.url,
                _own_network(network) if is_own else _other_network(network),
                self._clock,
                self._recorder.report,
                numbers=self._numbers,
                check=partial(check_addresses, self._allowance.at(guarded.origin)),
            )
        return found


def _has_no_secrets(request: LoginRequest) -> bool:
    """True for a GET without secret headers, which the user may have added."""
    return request.method == "GET" and not any(is_secret_name(name) for name, _ in request.headers)


def _own_network(network: Network) -> Network:
    """Return the settings for the MCP server's origin: gateway headers stay, credentials do not."""
    headers = tuple(pair for pair in network.headers if pair[0].lower() not in _CREDENTIAL_HEADERS)
    return replace(network, headers=headers, connect_timeout=CONNECT_TIMEOUT, message_cap=MAX_RESPONSE_SIZE)


def _other_network(network: Network) -> Network:
    """Return the settings for other hosts: same proxy.

    A certificate that is trusted for the MCP server must not let it impersonate the authorization server.
    No headers or client certificate are sent, and `verify` stays on.
    """
    return Network(
        connect_timeout=CONNECT_TIMEOUT,
        proxy=network.proxy,
        use_environment_proxy=network.use_environment_proxy,
        ca_file=network.login_ca_file,
        message_cap=MAX_RESPONSE_SIZE,
    )


def check_addresses(allowance: Allowance, host: str, addresses: Iterable[str]) -> None:
    """Raise UrlBlocked if any address is not allowed.

    One forbidden address next to a good one is suspicious already.
    """
    for address in addresses:
        resolved = ip_address(address.partition("%")[0])
        kind = classify(resolved)
        if not allowance.permits(kind):
            is_loopback = kind is AddressKind.LOOPBACK
            what = describe(resolved) + (", but the server is not on this machine" if is_loopback else "")
            next_step = ALLOW_PRIVATE if kind is AddressKind.PRIVATE else NEVER_CONTACTED
            reason = BlockReason(kind.value)
            raise UrlBlocked(reason, f"{host} resolves to {address}, {what}.", next_step)


class LoginRecorder:
    """Writes the log rows of one login.

    Separate from the session's recorder, which numbers its own exchanges.
    """

    def __init__(self, log: TrafficLog, server: str, clock: Clock) -> None:
        self._recorder = Recorder(log, server, clock, LOGIN_SUBJECT)
        self._credentials = log.credentials

    def add_secret(self, name: str, value: str) -> None:
        """Register a secret that is not in the store before it is sent, so that echoes are masked."""
        self._credentials.add(value, name)

    def step(self, text: str) -> None:
        """Record a login step as text without secrets."""
        self._recorder.note(RecordKind.LOGIN, text)

    def body(self, body: bytes) -> int:
        """Record the next request's body; return its row, to be used as the request's tag."""
        return self._recorder.login_body(body) if body else NO_ROW

    def report(self, event: WireEvent) -> None:
        """Record an HTTP event; callback for `Exchanges`."""
        record_http(self._recorder, event)

    def row_of(self, exchange: int) -> int:
        """Return the row of an exchange by number; NO_ROW if there is none."""
        return self._recorder.http.row_of(exchange)
