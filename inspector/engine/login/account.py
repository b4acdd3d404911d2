"""What one server needs for logins: tokens, their refresh, and the tools of a login flow.

Loaded with the first request that needs it, not at start-up.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from inspector.base.clock import Clock
from inspector.config.servers.entries import Entry, HttpEntry, IdentityProvider, OAuthSettings
from inspector.engine.settings import SettingsStore
from inspector.oauth.authorizer import Authorizer, LogIn, LoginRequirement
from inspector.oauth.http import LoginHttp, LoginRecorder, LoginTarget
from inspector.oauth.login.context import LoginTools, Opener
from inspector.oauth.login.flow import Login
from inspector.oauth.loopback import LoopbackListener
from inspector.oauth.store import LoginStore, SecretStorage, StoredLogin
from inspector.oauth.token_endpoint import TokenLifecycle
from inspector.protocol.auth.dpop import Nonces
from inspector.protocol.auth.url_guard import Allowance, allowance_for
from inspector.protocol.revisions import Revision
from inspector.session.connect import network_of
from inspector.traffic.log import TrafficLog
from inspector.transport.network import Network


@dataclass(slots=True)
class Account:
    """Login state of one server."""

    target: LoginTarget
    tools: LoginTools
    lifecycle: TokenLifecycle
    authorizer: Authorizer
    login: Login | None = None
    adopted: StoredLogin | None = None  # tokens in use that came from the login
    step_up: LoginRequirement | None = None  # additional scopes were requested; no login for them yet
    needs_provider_login: bool = False  # a browserless login reached the identity provider's login page

    @property
    def needs_browser(self) -> bool:
        """True if every login uses the browser; an enterprise login does so only occasionally."""
        return self.target.settings.grant == "authorization_code"


@dataclass(frozen=True, slots=True)
class LoginEnvironment:
    """Dependencies shared by all accounts."""

    secrets: SecretStorage
    log: TrafficLog
    clock: Clock
    settings: SettingsStore
    resolve: Callable[[Entry], Awaitable[Entry]]  # resolves references in an entry; raises ConfigError


def make_account(
    entry: HttpEntry,
    environment: LoginEnvironment,
    log_in: LogIn,
    open_browser: Opener,
    revision: Callable[[], Revision],
    on_tokens: Callable[[], None],
) -> Account:
    settings = entry.auth if isinstance(entry.auth, OAuthSettings) else OAuthSettings()
    clock, target = environment.clock, LoginTarget(entry.name, entry.url, settings)
    store = LoginStore(environment.secrets, entry.name, entry.url)
    nonces, recorder = Nonces(), LoginRecorder(environment.log, entry.name, clock)
    provider = settings.identity_provider or IdentityProvider()
    allowance = allowance_for(
        entry.url,
        private=settings.private,
        plain_http=settings.plain_http,
        typed=(provider.issuer, provider.token_endpoint),
    )

    async def look_up() -> Network:
        """Return the network settings, with current secrets. Raises ConfigError if one is missing."""
        resolved = await environment.resolve(entry)
        return network_of(
            resolved if isinstance(resolved, HttpEntry) else entry, environment.settings.connection()
        )

    def make_http(allowance: Allowance) -> LoginHttp:
        return LoginHttp(look_up, allowance, clock, recorder)

    lifecycle = TokenLifecycle(target, store, clock, recorder, nonces, allowance, make_http)
    authorizer = Authorizer(target, store, lifecycle, nonces, log_in, revision, on_tokens)
    tools = LoginTools(
        make_http, store, clock, recorder, open_browser, partial(_listener, clock), allowance, nonces
    )
    return Account(target, tools, lifecycle, authorizer)


def _listener(clock: Clock, host: str, port: int, path: str) -> LoopbackListener:
    return LoopbackListener(clock, host=host, port=port, path=path)
