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
from inspector.base.redaction import masked_urls
from inspector.oauth.http import (
    LoginHttp,
    LoginRecorder,
    LoginRequest,
    LoginResponse,
    LoginTarget,
    RejectedResponse,
)
from inspector.oauth.login.steps import (
    Decision,
    HttpExchangeView,
    Input,
    LoginGrant,
    LoginPrompt,
    Overrides,
    StepId,
    Table,
)
from inspector.oauth.loopback import DEFAULT_PATH, LoopbackListener
from inspector.oauth.signing import SigningKey
from inspector.oauth.store import LoginStore, StoredLogin
from inspector.protocol.auth import pkce
from inspector.protocol.auth.authorization_request import AuthorizationUrl
from inspector.protocol.auth.challenge import Challenge
from inspector.protocol.auth.client_registration import Client
from inspector.protocol.auth.dpop import Nonces
from inspector.protocol.auth.findings.finding import Finding
from inspector.protocol.auth.jwt import read_jwt
from inspector.protocol.auth.resource_metadata import (
    IssuerChoice,
    ResourceChoice,
    ResourceMetadataResult,
    ResourceMetadataUrls,
)
from inspector.protocol.auth.responses import MetadataResponse
from inspector.protocol.auth.scopes import ScopeChoice
from inspector.protocol.auth.server_metadata import MetadataSource, ServerMetadata
from inspector.protocol.auth.token_request import AuthMethod
from inspector.protocol.auth.tokens import TokenExpectation
from inspector.protocol.auth.url_guard import Allowance, BlockReason, UrlBlocked
from inspector.protocol.revisions import R2, Revision, is_between

# Secrets that may not come from the secret store, which registers all it returns.
_UNSTORED_SECRETS = ("code", "assertion", "ID-JAG", "client secret")

BROWSER_TIMEOUT = 600.0  # seconds for the user to log in

# Opens a URL in the user's browser. Raises UserError.
Opener = Callable[[str], Awaitable[None]]
# Takes host, port and path; returns it unopened.
MakeListener = Callable[[str, int, str], LoopbackListener]


class LoginStopped(UserError):
    """Ends the login at this step: why, and what to do."""


class BrowserNeeded(LoginStopped):
    """The login could continue in the browser, which must not be opened now."""


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
    browser_timeout: float = BROWSER_TIMEOUT

    def now(self) -> float:
        """Return seconds since 1970."""
        return self.clock.wall_ns() / 1e9


@dataclass(slots=True)
class LoginFacts:
    """What a login knows. Values are replaced, never modified in place."""

    revision: Revision
    refused: RejectedResponse | None = None
    challenge: Challenge | None = None
    locations: ResourceMetadataUrls | None = None
    resource_content: JSONObject | None = None
    resource: ResourceMetadataResult | None = None
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
    provider_client: Client | None = None  # the client ID there
    provider_method: AuthMethod | None = None
    id_token: str = field(default="", repr=False)
    id_token_response: LoginResponse | None = None
    verifier: str = field(default="", repr=False)
    state: str = field(default="", repr=False)
    nonce: str = field(default="", repr=False)  # OpenID Connect nonce
    uses_dpop: bool = False
    key: SigningKey | None = None  # to bind the token to
    authorize: AuthorizationUrl | None = field(default=None, repr=False)
    response: str = field(default="", repr=False)
    code: str = field(default="", repr=False)
    assertion: str = field(default="", repr=False)
    expected: TokenExpectation | None = None
    token_response: LoginResponse | None = None
    stored_login: StoredLogin | None = None
    is_saved: bool = False
    session_id: str = ""
    accepted_revision: Revision | None = None  # protocol version under which the server accepted the token


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
        target: LoginTarget,
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
        self.prompt: LoginPrompt | None = None
        self.edited: LoginRequest | None = None
        # Codes that were sent and states used in a browser: going back does not make them valid again.
        self.used_secrets: set[str] = set()
        self.listener: LoopbackListener | None = None
        self.check = check  # raises LoginStopped for a finding that this mode does not allow
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
    def allows_legacy_flow(self) -> bool:
        """True if a login without protected resource metadata may proceed as in 2025-03-26."""
        chosen = self.overrides.revision
        return chosen is None or is_between(chosen, chosen, R2)

    def add_decision(self, text: str) -> None:
        self.notes.decisions.append(Decision(masked_urls(text)))

    def add_input(self, name: str, value: str | None, origin: str = "", *, is_secret: bool = False) -> None:
        if is_secret and value and name in _UNSTORED_SECRETS:
            self.tools.recorder.add_secret(name, value)
        shown = "(none)" if value is None else value if is_secret else masked_urls(value)
        self.notes.inputs.append(Input(name, shown, origin, is_secret and bool(value)))

    def add_findings(self, found: Iterable[Finding]) -> None:
        known = {(one.id, one.seen) for one in self.notes.findings}
        shown = [_without_secrets(one) for one in found]
        self.notes.findings += [one for one in shown if (one.id, one.seen) not in known]

    def add_table(self, title: str, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
        masked_rows = tuple(tuple(map(masked_urls, row)) for row in rows)
        if masked_rows:
            self.notes.tables.append(Table(title, columns, masked_rows))

    def add_claims(self, name: str, token: str) -> None:
        """Show the claims of a token, if it can be decoded."""
        view = read_jwt(token)
        if view is None:
            return
        rows = [("header", key, str(value)) for key, value in view.header.items()]
        rows += [("claims", key, str(value)) for key, value in view.claims.items()]
        self.add_table(f"Decoded {name} (signature not verified)", ("", "Name", "Value"), rows)

    async def send(self, request: LoginRequest) -> LoginResponse:
        """Send a request, or the user's edited version, and record the response. Raises UserError."""
        request, self.edited = self.edited or request, None
        started = self.tools.clock.monotonic_ns()
        try:
            response = await self.http.send(request)
        except UserError as exc:
            if isinstance(exc, UrlBlocked) and exc.reason is BlockReason.PRIVATE:
                self.record_blocked(request.url)
            elapsed = self.tools.clock.monotonic_ns() - started
            seen = HttpExchangeView(request, request.url, elapsed_ns=elapsed, failure=exc.summary)
            self.notes.exchanges.append(seen)
            self.on_change()
            raise
        elapsed = self.tools.clock.monotonic_ns() - started
        self.tools.nonces.update(response.url, response.header("dpop-nonce") or None)
        self.notes.exchanges.append(
            HttpExchangeView(
                request,
                response.url,
                response.status,
                response.headers,
                response.body,
                elapsed,
                response.row,
                response.redirects,
                peer=response.peer,
            )
        )
        self.on_change()
        return response

    def record_blocked(self, *urls: str) -> None:
        """Record hosts in a private network, which the user may allow."""
        hosts = [urlsplit(url).hostname or url for url in urls]
        self.blocked += [host for host in hosts if host not in self.blocked]

    async def allow_private(self) -> None:
        """Allow private addresses from now on."""
        self.blocked = []
        self.allowance = replace(self.allowance, private=True)
        await self.http.close()
        self.http = self.tools.make_http(self.allowance)

    async def fetch_metadata(self, request: LoginRequest) -> MetadataResponse:
        """Like `send`, for a possible metadata URL: a failure is a response too."""
        try:
            response = await self.send(request)
        except UserError as exc:
            advice = exc.next_step if isinstance(exc, UrlBlocked) else ""
            return MetadataResponse(request.url, failure=exc.summary, advice=advice)
        if urlsplit(response.url).scheme != urlsplit(request.url).scheme:
            self.add_decision(f"Redirected to {response.url}. Use https in the URL that you entered, too.")
        return MetadataResponse(response.url, response.status, response.headers, response.body)

    async def open_listener(self) -> str:
        """Return the redirect URI, opening a listener for it unless there is one."""
        if self.listener is not None and self.facts.redirect_uri:
            return self.facts.redirect_uri
        await self.close_listener()
        host = self.overrides.redirect_host or self.settings.redirect_host or "127.0.0.1"
        path = self.overrides.redirect_path or self.settings.redirect_path or DEFAULT_PATH
        fixed = self.overrides.redirect_port
        port = self.settings.redirect_port if fixed is None else fixed
        self.listener = await self._open(host, port, path)
        self.facts.redirect_uri = self.listener.wait.redirect_uri
        return self.facts.redirect_uri

    async def reopen_listener(self) -> None:
        """Listen on the same URI again, after one callback was received there."""
        await self.close_listener()
        parts = urlsplit(self.facts.redirect_uri)
        listener = self.tools.make_listener(parts.hostname or "", parts.port or 80, parts.path)
        await listener.open()
        self.listener = listener

    async def _open(self, host: str, port: int, path: str) -> LoopbackListener:
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
        """Return the ports of registered clients: a free one allows reusing its client."""
        issuer = self.facts.issuer.issuer if self.facts.issuer is not None else ""
        if not self.needs_browser:  # the identity provider's client was not registered by MCP Lens
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
    seen, fix, evidence = map(masked_urls, (found.seen, found.fix, found.evidence))
    return replace(found, seen=seen, fix=fix, evidence=evidence)
