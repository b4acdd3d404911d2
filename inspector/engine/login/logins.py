"""Logins of all servers, those that the user steps through and those that run automatically.

A server has at most one login at a time; a new one ends the previous one. Tokens are used for the
server's requests as soon as they are issued, whether it is connected or not.
The options of a server's logins are a setting, without secrets.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from inspector.base.clock import Clock
from inspector.base.errors import ConfigError, NeedsLogin, UserError
from inspector.base.json.values import JSON, JSONObject
from inspector.base.signals import Signal
from inspector.config.servers.entries import BearerSettings, Entry, HttpEntry, OAuthSettings
from inspector.engine.secrets import Secrets
from inspector.engine.settings import SettingsStore
from inspector.oauth.login_reason import LoginReason
from inspector.protocol.revisions import R5, Revision, find_revision
from inspector.session.state import Status
from inspector.traffic.log import TrafficLog
from inspector.transport.base import Authorization, AuthorizedRequest

if TYPE_CHECKING:
    from inspector.engine.login.account import Account
    from inspector.engine.servers.server import Server
    from inspector.oauth.authorizer import Authorizer, LoginRequirement
    from inspector.oauth.http import LoginRequest, RejectedResponse
    from inspector.oauth.login.context import Opener
    from inspector.oauth.login.flow import Login
    from inspector.oauth.login.steps import LoginPrompt, LoginView, Overrides, StepId, TokenInfo
    from inspector.oauth.store import StoredLogin
    from inspector.protocol.auth.findings.finding import Finding
    from inspector.protocol.auth.scopes import ScopeChoice

_IN_PROGRESS = "A login for this server is in progress."
_RETRY = "Reconnect, or go through the login in the Auth tab."


@dataclass(frozen=True, slots=True)
class LoginRequested:
    """A server requires a login that has not been started; the window offers it.

    `reason` is a sentence.
    """

    server: str
    occasion: LoginReason
    reason: str
    scopes: tuple[str, ...] = ()


class LoginController:
    """Logins of all servers. Runs on the engine's loop.

    `opens_browser` are the occasions on which a browser login may start automatically: with a window, when
    the user presses Connect. `open_url` opens a URL in a browser where there is no window.

    Signals:
        changed: A login changed; carries its LoginView.
        login_requested: A server requires a login; carries a LoginRequested.
        tokens_changed: A server's tokens were issued, refreshed or deleted; carries its name.
        url_requested: The browser should open a page; carries the server's name and the URL.
    """

    def __init__(
        self,
        secrets: Secrets,
        log: TrafficLog,
        clock: Clock,
        settings: SettingsStore,
        server_of: Callable[[str], Server],
    ) -> None:
        self.changed: Signal[LoginView] = Signal()
        self.login_requested: Signal[LoginRequested] = Signal()
        self.tokens_changed: Signal[str] = Signal()
        self.url_requested: Signal[str, str] = Signal()
        self.opens_browser: frozenset[LoginReason] = frozenset()
        self.open_url: Opener | None = None
        self.options = LoginOptions(settings)
        self._secrets = secrets
        self._log = log
        self._clock = clock
        self._settings = settings
        self._server_of = server_of
        self._entries: dict[str, HttpEntry] = {}
        self._accounts: dict[str, Account] = {}
        self._flow_ids = count(1)

    def authorization_for(self, entry: Entry) -> Authorization | None:
        """Return a server's authorization; None if it has no login or an explicit header."""
        if not isinstance(entry, HttpEntry) or _has_own_header(entry):
            return None
        if isinstance(entry.auth, BearerSettings):
            from inspector.oauth.authorizer import BearerToken
            from inspector.oauth.store import LoginStore

            store = LoginStore(self._secrets, entry.name, entry.url)
            return BearerToken(entry.url, store, entry.auth.token)
        self._entries[entry.name] = entry
        return _LazyAuthorization(self, entry.name)

    def authorizer(self, server: str) -> Authorizer:
        return self._account(server).authorizer

    def has_login(self, server: str) -> bool:
        """True if logging in is possible: not over stdio, nor with configured credentials."""
        return server in self._entries

    def settings(self, server: str) -> OAuthSettings:
        """Return the OAuth settings of a server. Raises ConfigError if it has none."""
        return self._account(server).target.settings

    async def start(self, server: str, overrides: Overrides | None = None) -> LoginView:
        """Start a login, up to its first step. Raises UserError.

        If the server asked for more scopes, the login requests those plus the previous ones.
        """
        need = self._account(server).step_up
        if need is None:
            login = await self._begin(server, overrides)
        else:
            login = await self._begin(server, overrides, refused=need.refused, scopes=need.scopes)
        await login.begin()
        return login.view

    def view(self, server: str) -> LoginView | None:
        """Return the current login, None if none was started."""
        login = self._account(server).login
        return login.view if login is not None else None

    async def next(self, server: str) -> LoginView:
        return await self._run(server, lambda login: login.next())

    async def run(self, server: str) -> LoginView:
        return await self._run(server, lambda login: login.run())

    async def run_to(self, server: str, step: StepId) -> LoginView:
        return await self._run(server, lambda login: login.run_to(step))

    async def retry(self, server: str) -> LoginView:
        return await self._run(server, lambda login: login.retry())

    async def back(self, server: str, step: StepId) -> LoginView:
        return await self._run(server, lambda login: login.back(step))

    def edit(self, server: str, request: LoginRequest | None) -> None:
        self._login(server).edit(request)

    async def allow_hosts(
        self, server: str, is_allowed: bool, requested: LoginPrompt | None = None
    ) -> LoginView:
        return await self._run(server, lambda login: login.answer_consent(is_allowed, requested))

    async def set_client(
        self, server: str, client_id: str, secret: str = "", requested: LoginPrompt | None = None
    ) -> LoginView:
        return await self._run(server, lambda login: login.set_client(client_id, secret, requested))

    def submit_callback_url(self, server: str, text: str) -> None:
        """Accept a callback URL pasted by the user. Raises UserError if it is not the callback."""
        self._login(server).submit_callback_url(text)

    def cancel(self, server: str) -> None:
        self._login(server).cancel()

    async def tokens(self, server: str) -> TokenInfo | None:
        """Return the tokens in use, None if there are none."""
        from inspector.oauth.login.flow import token_info

        return (
            token_info(await self._account(server).authorizer.stored_login())
            if self.has_login(server)
            else None
        )

    def findings(self, server: str) -> tuple[Finding, ...]:
        """Return findings since the login, from refreshes and authorized requests."""
        account = self._accounts.get(server)
        return account.lifecycle.findings if account is not None else ()

    async def refresh(self, server: str) -> TokenInfo | None:
        """Refresh the tokens now. Raises UserError."""
        account = self._account(server)
        held = await account.authorizer.stored_login()
        if held is None:
            raise UserError("There are no tokens to refresh.", "Log in first.")
        await account.authorizer.refresh(held)
        return await self.tokens(server)

    async def log_out(self, server: str) -> str:
        """Revoke and delete the tokens. Return a sentence about the outcome."""
        account = self._account(server)
        text = await account.lifecycle.log_out()
        self._release(server, account)
        return text

    async def delete_tokens(self, server: str) -> None:
        """Delete the tokens locally without revoking them; the client registration stays."""
        account = self._account(server)
        await account.lifecycle.delete_tokens()
        self._release(server, account)

    def _release(self, server: str, account: Account) -> None:
        account.authorizer.adopt(None)
        account.step_up = None
        self.tokens_changed.emit(server)

    async def drop(self, server: str) -> None:
        """End the login of a reconfigured server; stored tokens stay."""
        account = self._accounts.pop(server, None)
        self._entries.pop(server, None)
        if account is not None and account.login is not None:
            await account.login.close()
            self._server_of(server).set_user_logging_in(False)

    async def forget(self, server: str) -> None:
        """Delete everything that logins stored for a removed server."""
        from inspector.oauth.store import LoginStore

        await self.drop(server)
        await LoginStore(
            self._secrets, server, ""
        ).delete_all()  # it may have had a login before it got a header
        await self.options.forget(server)

    async def close(self) -> None:
        for account in self._accounts.values():
            if account.login is not None:
                await account.login.close()

    async def log_in_to_connect(self, server: str, refusal: NeedsLogin) -> bool:
        """Log in so that connecting can continue; False if not possible here. Raises UserError."""
        if LoginReason.CONNECT not in self.opens_browser or not self.has_login(server):
            return False
        account = self._account(server)
        if not account.needs_browser and not account.needs_provider_login:
            return False
        from inspector.oauth.http import RejectedResponse

        known = self._server_of(server)
        with known.logging_in():
            try:
                await self._log_in(server, RejectedResponse(refusal.status, refusal.headers), None)
            except NeedsLogin as exc:
                known.session.explain_login(exc)
                raise
        return True

    def stop(self, server: str) -> None:
        """Cancel the login that was started by connecting."""
        account = self._accounts.get(server)
        login = account.login if account is not None else None
        if login is not None and login.is_unattended and login.is_running:
            login.cancel()

    async def _log_in_for(self, server: str, need: LoginRequirement) -> StoredLogin:
        """Log in for a rejected request. Raises NeedsLogin if the browser may not be opened."""
        account = self._account(server)
        is_connecting = self._server_of(server).session.state.status is Status.CONNECTING
        may_open = need.cause in self.opens_browser and not is_connecting
        if account.needs_browser and not may_open:
            raise self._login_required(server, need, is_connecting=is_connecting)
        try:
            return await self._log_in(server, need.refused, need.scopes, opens_browser=may_open)
        except NeedsLogin:
            if account.needs_provider_login:
                raise self._login_required(server, need, is_connecting=is_connecting) from None
            raise

    def _login_required(self, server: str, need: LoginRequirement, *, is_connecting: bool) -> NeedsLogin:
        """Return the error to raise when the user must log in, and emit `login_requested`."""
        if need.cause is LoginReason.STEP_UP:
            self._account(server).step_up = need
        if not is_connecting:  # otherwise the view shows it, and connecting may continue with a login
            scopes = need.scopes.scopes if need.scopes is not None else ()
            self.login_requested.emit(LoginRequested(server, need.cause, need.reason, scopes))
        next_step = "Log in." if is_connecting else "Log in and retry."
        return NeedsLogin(need.reason, next_step, need.refused.status, need.refused.headers)

    async def _log_in(
        self,
        server: str,
        refused: RejectedResponse,
        scopes: ScopeChoice | None,
        *,
        opens_browser: bool = True,
    ) -> StoredLogin:
        """Run a login without the user stepping through it. Raises NeedsLogin."""
        from inspector.oauth.login.steps import BROWSER_STEPS, StepId

        current = self._account(server).login
        if current is not None and current.is_running and not current.is_unattended:
            next_step = "Finish it in the Auth tab, or cancel it."
            raise NeedsLogin(_IN_PROGRESS, next_step, refused.status, refused.headers)
        login = await self._begin(
            server,
            await self.options.of(server),
            refused=refused,
            scopes=scopes,
            is_unattended=True,
            opens_browser=opens_browser,
        )
        await login.run_to(StepId.TOKEN_CHECK)
        self._account(server).needs_provider_login = login.needs_user
        if login.stored_login is not None:
            return login.stored_login
        view = login.view
        if view.prompt is not None:
            raise NeedsLogin(
                view.prompt.text,
                "Answer it in the Auth tab.",
                refused.status,
                refused.headers,
                was_tried=True,
            )
        # From the browser step on, a step's advice refers to steps that the user did not see.
        has_own_advice = view.current is not None and view.current.id not in BROWSER_STEPS
        next_step = view.next_step if has_own_advice and not view.is_over else ""
        raise NeedsLogin(
            view.failure or "The login returned no token.",
            next_step or _RETRY,
            refused.status,
            refused.headers,
            was_tried=True,
        )

    async def _begin(
        self,
        server: str,
        overrides: Overrides | None,
        *,
        refused: RejectedResponse | None = None,
        scopes: ScopeChoice | None = None,
        is_unattended: bool = False,
        opens_browser: bool = True,
    ) -> Login:
        from inspector.oauth.login.flow import Login

        account = self._account(server)
        while (before := account.login) is not None:  # another may start while this one is closing
            account.login = None
            await before.close()
        login = account.login = Login(
            account.target,
            account.tools,
            overrides,
            flow_id=next(self._flow_ids),
            refused=refused,
            scopes=scopes,
            is_unattended=is_unattended,
            opens_browser=opens_browser,
            revision=self._revision(server),
        )
        login.changed.connect(partial(self._on_changed, server, login))
        if not is_unattended:
            known = self._server_of(server)
            login.changed.connect(lambda view: known.set_user_logging_in(view.is_running))
        return login

    def _on_changed(self, server: str, login: Login, view: LoginView) -> None:
        account = self._accounts.get(server)
        if account is None or account.login is not login:
            return
        if login.stored_login is not None and login.stored_login is not account.adopted:
            account.adopted, account.step_up, account.needs_provider_login = login.stored_login, None, False
            account.authorizer.adopt(login.stored_login)
            self.tokens_changed.emit(server)
        self.changed.emit(view)

    async def _run(self, server: str, act: Callable[[Login], Awaitable[None]]) -> LoginView:
        login = self._login(server)
        await act(login)
        return login.view

    def _account(self, server: str) -> Account:
        if server not in self._accounts:
            self._accounts[server] = self._make_account(server)
        return self._accounts[server]

    def _make_account(self, server: str) -> Account:
        from inspector.engine.login.account import LoginEnvironment, make_account

        entry = self._entries.get(server)
        if entry is None:
            raise ConfigError(
                f"{server!r} has no login: it does not use HTTP, or its settings already include "
                "credentials.",
                "To log in, remove the Authorization header or the bearer token from its settings.",
            )
        return make_account(
            entry,
            LoginEnvironment(
                self._secrets, self._log, self._clock, self._settings, self._server_of(server).resolve
            ),
            partial(self._log_in_for, server),
            partial(self._open, server),
            partial(self._revision, server),
            partial(self.tokens_changed.emit, server),
        )

    def _login(self, server: str) -> Login:
        login = self._account(server).login
        if login is None:
            raise UserError("No login was started.", "Start one.")
        return login

    def _revision(self, server: str) -> Revision:
        """Return the negotiated or configured protocol version, else the newest."""
        known = self._server_of(server)
        negotiated = known.session.state.negotiated
        return negotiated.revision if negotiated is not None else find_revision(known.entry.era) or R5

    async def _open(self, server: str, url: str) -> None:
        self.url_requested.emit(server, url)
        if self.open_url is not None:
            await self.open_url(url)


class _LazyAuthorization:
    """A server's authorization that is imported when the first request is sent."""

    def __init__(self, logins: LoginController, server: str) -> None:
        self._logins = logins
        self._server = server

    def begin(self, operation: str) -> AuthorizedRequest:
        return self._logins.authorizer(self._server).begin(operation)


def _has_own_header(entry: HttpEntry) -> bool:
    return any(name.lower() == "authorization" for name in entry.headers)


class LoginOptions:
    """Login options by server, without secrets: the setting `logins`."""

    def __init__(self, settings: SettingsStore) -> None:
        self._settings = settings

    async def of(self, server: str) -> Overrides:
        """Return the saved options. Never raises: without them, these are the defaults."""
        from inspector.oauth.login.steps import read_overrides

        return read_overrides(self._settings.get("logins").get(server))

    async def save(self, server: str, overrides: Overrides) -> None:
        """Save the options without secrets. Raises ConfigError."""
        from inspector.oauth.login.steps import write_overrides

        await self._put(server, write_overrides(overrides))

    async def move(self, before: str, after: str) -> None:
        """Move options to a renamed server; ignores write errors.

        If there are none, another window may already have moved them.
        """
        from inspector.oauth.login.steps import Overrides

        overrides = await self.of(before)
        with suppress(ConfigError):
            if overrides != Overrides():
                await self.save(after, overrides)
                await self.forget(before)

    async def forget(self, server: str) -> None:
        """Delete the options of a removed server; ignores write errors."""
        with suppress(ConfigError):
            await self._put(server, {})

    async def _put(self, server: str, options: JSONObject) -> None:
        def change(saved: JSONObject) -> JSON:
            others = {name: each for name, each in saved.items() if name != server}
            return {**others, server: options} if options else others

        await self._settings.update("logins", change)
