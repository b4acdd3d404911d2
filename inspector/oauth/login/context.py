"""State and tools of a running login, passed to its step functions.

`LoginFacts` is copied before each step, so that a login can go back to any of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from inspector.base.clock import Clock
from inspector.base.errors import UserError
from inspector.base.json.values import JSONObject
from inspector.base.redaction import masked_addresses
from inspector.config.servers.entries import OAuthSettings
from inspector.oauth.http import LoginHttp, LoginRecorder, LoginReply, LoginRequest
from inspector.oauth.login.steps import (
    Decision,
    HttpExchangeView,
    Input,
    LoginGrant,
    Overrides,
    Question,
    StepId,
    Table,
)
from inspector.oauth.loopback import DEFAULT_PATH, LoopbackListener
from inspector.oauth.signing import SigningKey
from inspector.oauth.store import LoginStore, StoredLogin
from inspector.protocol.auth import pkce
from inspector.protocol.auth.authorization_request import AuthorizeUrl
from inspector.protocol.auth.challenge import Challenge
from inspector.protocol.auth.client_registration import Client
from inspector.protocol.auth.dpop import Nonces
from inspector.protocol.auth.findings.finding import Finding
from inspector.protocol.auth.jwt import read_jwt
from inspector.protocol.auth.resource_metadata import (
    IssuerChoice,
    ResourceChoice,
    ResourceMetadataUrls,
    ResourceReading,
)
from inspector.protocol.auth.responses import Reply
from inspector.protocol.auth.scopes import ScopeChoice
from inspector.protocol.auth.server_metadata import MetadataSource, ServerMetadata
from inspector.protocol.auth.token_request import AuthMethod
from inspector.protocol.auth.tokens import TokenExpectation
from inspector.protocol.auth.url_guard import Allowance, BlockReason, UrlBlocked
from inspector.protocol.http_rules import Headers
from inspector.protocol.revisions import R2, Revision, is_between

# Secrets that may not come from the secret store, which registers all it returns.
_NOT_STORED = ("code", "assertion", "ID-JAG", "client secret")

WAIT_LIMIT = 600.0  # seconds for the user to log in

# Opens a URL in the user's browser. Raises UserError.
Opener = Callable[[str], Awaitable[None]]
# Takes host, port and path; returns it unopened.
MakeListener = Callable[[str, int, str], LoopbackListener]


class LoginStopped(UserError):
    """Ends the login at this step: why, and what to do."""


class BrowserNeeded(LoginStopped):
    """The login could continue in the browser, which must not be opened now."""


@dataclass(frozen=True, slots=True)
class Target:
    """The server that a login is for, as configured."""

    name: str
    url: str
    settings: OAuthSettings = field(default_factory=OAuthSettings)


@dataclass(frozen=True, slots=True)
class LoginTools:
    """Dependencies of a login, replaceable in tests."""

    make_http: Callable[[Allowance], LoginHttp]
    store: LoginStore
    clock: Clock
    recorder: LoginRecorder
    open_browser: Opener
    make_listener: MakeListener
    allowance: Allowance
    nonces: Nonces = field(default_factory=Nonces)
    new_verifier: Callable[[], str] = pkce.new_verifier
    new_state: Callable[[], str] = pkce.new_state
    wait_limit: float = WAIT_LIMIT

    def now(self) -> float:
        """Return seconds since 1970."""
        return self.clock.wall_ns() / 1e9


@dataclass(frozen=True, slots=True)
class Refused:
    """The MCP server's response that led to this login, which saves probing again."""

    status: int
    headers: Headers
    body: bytes = field(default=b"", repr=False)
    with_token: bool = False


@dataclass(slots=True)
class LoginFacts:
    """What a login knows. Values are replaced, never modified in place."""

    revision: Revision
    refused: Refused | None = None
    challenge: Challenge | None = None
    locations: ResourceMetadataUrls | None = None
    resource_content: JSONObject | None = None
    resource: ResourceReading | None = None
    is_legacy: bool = False  # no resource metadata: as in 2025-03-26
    issuer: IssuerChoice | None = None
    server_content: JSONObject | None = None
    server_source: MetadataSource = MetadataSource.NAMED
    server: ServerMetadata | None = None
    typed_client: Client | None = None  # provided by the user during the login
    redirect_uri: str = ""
    client: Client | None = None
    method: AuthMethod | None = None
    scopes: ScopeChoice | None = None
    resource_value: ResourceChoice | None = None
    provider: ServerMetadata | None = None  # enterprise identity provider
    provider_client: Client | None = None  # our client there
    provider_method: AuthMethod | None = None
    id_token: str = field(default="", repr=False)
    id_reply: LoginReply | None = None
    verifier: str = field(default="", repr=False)
    state: str = field(default="", repr=False)
    nonce: str = field(default="", repr=False)  # OpenID Connect nonce
    uses_dpop: bool = False
    key: SigningKey | None = None  # to bind the token to
    authorize: AuthorizeUrl | None = field(default=None, repr=False)
    response: str = field(default="", repr=False)
    code: str = field(default="", repr=False)
    assertion: str = field(default="", repr=False)
    requested: TokenExpectation | None = None
    reply: LoginReply | None = None
    held: StoredLogin | None = None
    is_saved: bool = False
    session_id: str = ""
    called_as: Revision | None = None  # protocol version under which the server accepted the token


@dataclass(slots=True)
class StepNotes:
    """What one step has to show."""

    inputs: list[Input] = field(default_factory=list)
    exchanges: list[HttpExchangeView] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    is_skipped: bool = False


class LoginContext:
    """State and tools of one login, passed to its step functions."""

    def __init__(
        self,
        target: Target,
        tools: LoginTools,
        overrides: Overrides,
        facts: LoginFacts,
        *,
        scopes: ScopeChoice | None = None,
        opens_browser: bool = True,
        check: Callable[[list[Finding]], None],
        on_change: Callable[[], None],
    ) -> None:
        self.target = target
        self.settings = target.settings
        self.tools = tools
        self.allowance = tools.allowance
        self.http = tools.make_http(self.allowance)
        self.blocked: list[str] = []  # hosts in a private network that were not contacted
        self.overrides = overrides
        self.facts = facts
        self.first_revision = facts.revision
        self.step_up = scopes
        self.opens_browser = opens_browser
        self.notes = StepNotes()
        self.step = StepId.PROBE
        self.question: Question | None = None
        self.edited: LoginRequest | None = None
        # Codes that were sent and states used in a browser: going back does not make them valid again.
        self.spent: set[str] = set()
        self.listener: LoopbackListener | None = None
        self.check = check  # raises Stop for a finding that this mode does not allow
        self.on_change = on_change

    @property
    def grant(self) -> LoginGrant:
        return self.overrides.grant or LoginGrant(self.settings.grant)

    @property
    def needs_browser(self) -> bool:
        """True if the user authorizes in the browser at the server's own authorization server."""
        return self.grant is LoginGrant.CODE

    @property
    def revision(self) -> Revision:
        return self.facts.revision

    @property
    def may_be_oldest(self) -> bool:
        """True if a login without protected resource metadata may proceed as in 2025-03-26."""
        chosen = self.overrides.revision
        return chosen is None or is_between(chosen, chosen, R2)

    def decide(self, text: str) -> None:
        self.notes.decisions.append(Decision(masked_addresses(text)))

    def use(self, name: str, value: str | None, origin: str = "", *, is_secret: bool = False) -> None:
        if is_secret and value and name in _NOT_STORED:
            self.tools.recorder.know(name, value)
        shown = "(none)" if value is None else value if is_secret else masked_addresses(value)
        self.notes.inputs.append(Input(name, shown, origin, is_secret and bool(value)))

    def find(self, found: Iterable[Finding]) -> None:
        known = {(one.id, one.seen) for one in self.notes.findings}
        shown = [_without_secrets(one) for one in found]
        self.notes.findings += [one for one in shown if (one.id, one.seen) not in known]

    def show(self, title: str, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
        every = tuple(tuple(map(masked_addresses, row)) for row in rows)
        if every:
            self.notes.tables.append(Table(title, columns, every))

    def show_claims(self, name: str, token: str) -> None:
        """Show the claims of a token, if it can be decoded."""
        view = read_jwt(token)
        if view is None:
            return
        rows = [("header", key, str(value)) for key, value in view.header.items()]
        rows += [("claims", key, str(value)) for key, value in view.claims.items()]
        self.show(f"Decoded {name} (signature not verified)", ("", "Name", "Value"), rows)

    async def send(self, request: LoginRequest) -> LoginReply:
        """Send a request, or the user's edited version, and record the reply. Raises UserError."""
        request, self.edited = self.edited or request, None
        started = self.tools.clock.monotonic_ns()
        try:
            reply = await self.http.send(request)
        except UserError as exc:
            if isinstance(exc, UrlBlocked) and exc.reason is BlockReason.PRIVATE:
                self.block(request.url)
            elapsed = self.tools.clock.monotonic_ns() - started
            seen = HttpExchangeView(request, request.url, elapsed_ns=elapsed, failure=exc.summary)
            self.notes.exchanges.append(seen)
            self.on_change()
            raise
        elapsed = self.tools.clock.monotonic_ns() - started
        self.tools.nonces.note(reply.url, reply.header("dpop-nonce") or None)
        self.notes.exchanges.append(
            HttpExchangeView(
                request,
                reply.url,
                reply.status,
                reply.headers,
                reply.body,
                elapsed,
                reply.row,
                reply.redirects,
                peer=reply.peer,
            )
        )
        self.on_change()
        return reply

    def block(self, *urls: str) -> None:
        """Record hosts in a private network, which the user may allow."""
        hosts = [urlsplit(url).hostname or url for url in urls]
        self.blocked += [host for host in hosts if host not in self.blocked]

    async def allow_private(self) -> None:
        """Allow private addresses from now on."""
        self.blocked = []
        self.allowance = replace(self.allowance, private=True)
        await self.http.close()
        self.http = self.tools.make_http(self.allowance)

    async def inspect(self, request: LoginRequest) -> Reply:
        """Like `send`, for a possible metadata URL: a failure is a reply too."""
        try:
            reply = await self.send(request)
        except UserError as exc:
            return Reply(request.url, failure=exc.summary)
        if urlsplit(reply.url).scheme != urlsplit(request.url).scheme:
            self.decide(f"Redirected to {reply.url}. Use https in the URL that you entered, too.")
        return Reply(reply.url, reply.status, reply.headers, reply.body)

    async def open_listener(self) -> str:
        """Return the redirect URI, opening a listener for it unless there is one."""
        if self.listener is not None and self.facts.redirect_uri:
            return self.facts.redirect_uri
        await self.close_listener()
        host = self.overrides.redirect_host or self.settings.redirect_host or "127.0.0.1"
        path = self.overrides.redirect_path or self.settings.redirect_path or DEFAULT_PATH
        fixed = self.overrides.redirect_port
        port = self.settings.redirect_port if fixed is None else fixed
        self.listener = await self._opened(host, port, path)
        self.facts.redirect_uri = self.listener.wait.redirect_uri
        return self.facts.redirect_uri

    async def reopen_listener(self) -> None:
        """Listen on the same URI again, after one callback was received there."""
        await self.close_listener()
        parts = urlsplit(self.facts.redirect_uri)
        listener = self.tools.make_listener(parts.hostname or "", parts.port or 80, parts.path)
        await listener.open()
        self.listener = listener

    async def _opened(self, host: str, port: int, path: str) -> LoopbackListener:
        for candidate in (*(() if port else await self._earlier_ports(host, path)), port):
            listener = self.tools.make_listener(host, candidate, path)
            try:
                await listener.open()
            except UserError:
                if candidate == port:
                    raise
                continue
            return listener
        raise AssertionError

    async def _earlier_ports(self, host: str, path: str) -> list[int]:
        """Return ports that our clients are registered with: a free one allows reusing the client."""
        issuer = self.facts.issuer.issuer if self.facts.issuer is not None else ""
        if not self.needs_browser:  # we did not register the identity provider's client
            return []
        clients = [client for client in await self.tools.store.clients() if client.issuer == issuer]
        uris = [urlsplit(uri) for client in clients for uri in client.redirect_uris]
        return [uri.port for uri in uris if uri.hostname == host and uri.path == path and uri.port]

    async def close_listener(self) -> None:
        listener, self.listener = self.listener, None
        if listener is not None:
            await listener.close()


def _without_secrets(found: Finding) -> Finding:
    """Mask secrets in server URLs: they are for the server only."""
    seen, fix, evidence = map(masked_addresses, (found.seen, found.fix, found.evidence))
    return replace(found, seen=seen, fix=fix, evidence=evidence)
