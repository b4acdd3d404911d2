"""Credentials of requests to one server: token headers, DPoP proofs, 401 and 403 handling.

Tokens are refreshed before they expire, and once when the server rejects them. A login is requested
through the `LogIn` callback, which may refuse: the request then fails with NeedsLogin and the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from inspector.base.errors import HttpRefused, NeedsLogin
from inspector.base.json.values import quote_names
from inspector.config.servers.entries import SecretRef
from inspector.oauth.http import LoginTarget, RejectedResponse
from inspector.oauth.login_reason import LoginReason
from inspector.oauth.signing import SigningKey, dpop_proof
from inspector.oauth.store import LoginStore, StoredLogin
from inspector.oauth.token_endpoint import RefreshRefused, TokenLifecycle
from inspector.protocol.auth.challenge import choose_challenge, read_challenges, rejection_reason
from inspector.protocol.auth.dpop import SCHEME, USE_NONCE, Nonces
from inspector.protocol.auth.scopes import ScopeChoice
from inspector.protocol.auth.step_up import Attempt, Move, Refusal, RefusalDecision, StepUps, check_refusal
from inspector.protocol.auth.tokens import Renewal, TokenSet, decide_renewal
from inspector.protocol.http_rules import Headers
from inspector.protocol.revisions import Revision


@dataclass(frozen=True, slots=True)
class LoginRequirement:
    """A login required by a rejected request. `reason` is a sentence for the user."""

    cause: LoginReason
    reason: str
    refused: RejectedResponse
    scopes: ScopeChoice | None = None


# Returns tokens, or raises NeedsLogin if the user cannot log in now.
LogIn = Callable[[LoginRequirement], Awaitable[StoredLogin]]


class Authorizer:
    """Credentials of one server (`transport.base.Authorization`)."""

    def __init__(
        self,
        target: LoginTarget,
        store: LoginStore,
        lifecycle: TokenLifecycle,
        nonces: Nonces,
        log_in: LogIn,
        revision: Callable[[], Revision],
        on_change: Callable[[], None],
    ) -> None:
        self._target = target
        self._origin = _origin(target.url)
        self.store = store
        self.lifecycle = lifecycle
        self.nonces = nonces
        self._log_in = log_in
        self.revision = revision
        self._on_change = on_change
        self.step_ups = StepUps()
        self._lock = asyncio.Lock()
        self._is_loaded = False
        self._login: StoredLogin | None = None
        self._adoptions = 0
        self._keys: dict[str, SigningKey] = {}
        self._is_new = False  # tokens from this session, not accepted by any request yet

    def begin(self, operation: str) -> TokenAuthorization:
        """Begin one request of the transport, including its retries."""
        return TokenAuthorization(self, operation)

    def adopt(self, login: StoredLogin | None) -> None:
        """Use these tokens from now on: from a login elsewhere, or None after logging out."""
        self._login, self._is_loaded, self._is_new = login, True, login is not None
        self._adoptions += 1

    async def stored_login(self) -> StoredLogin | None:
        if not self._is_loaded:
            self._login = await self.store.newest_login()
            self._is_loaded = True
        return self._login

    async def usable(self) -> StoredLogin | None:
        """Return tokens valid long enough for a request; None to let the server demand a login."""
        login = await self.stored_login()
        if login is None:
            return None
        renewal = decide_renewal(login.tokens, self.lifecycle.now()).renewal
        if renewal is Renewal.NOT_NEEDED:
            return login
        if renewal is Renewal.LOG_IN:
            return None
        async with self._lock:
            current = await self.stored_login()
            if current is not None and current is not login:
                return current
            with suppress(RefreshRefused):
                await self.refresh(login)
            return self._login if self._login is not login else None

    async def refresh(self, login: StoredLogin, *, is_refused: bool = False) -> None:
        """Refresh these tokens. A concurrent login or logout wins. Raises UserError."""
        adoptions = self._adoptions
        try:
            refreshed = await self.lifecycle.refresh(login, self.revision(), is_refused=is_refused)
        except RefreshRefused:
            stored = await self.store.login_of(login.tokens.issuer)
            if adoptions == self._adoptions and stored is None:
                self._login = None
            self._on_change()
            raise
        if adoptions == self._adoptions:
            self._login = refreshed
        self._on_change()

    async def headers(self, login: StoredLogin, method: str, url: str) -> Headers:
        return token_headers(
            login.tokens, await self._key(login), method, url, self.lifecycle.now(), self.nonces
        )

    def is_own_origin(self, url: str) -> bool:
        """True for the server's own origin, the only one that tokens are sent to."""
        return _origin(url) == self._origin

    async def _key(self, login: StoredLogin) -> SigningKey | None:
        issuer = login.tokens.issuer
        if login.tokens.token_type != SCHEME:
            return None
        if issuer not in self._keys:
            self._keys[issuer] = await self.store.key(issuer)
        return self._keys[issuer]

    def mark_accepted(self, login: StoredLogin) -> None:
        if login is self._login:
            self._is_new = False

    def is_new(self, login: StoredLogin) -> bool:
        return login is self._login and self._is_new

    async def renew(self, used: StoredLogin | None, need: LoginRequirement, *, by_refresh: bool) -> None:
        """Replace rejected tokens. Raises NeedsLogin, UserError."""
        async with self._lock:
            current = await self.stored_login()
            is_other = current is not None and current is not used and not self._is_expired(current)
            if is_other and need.cause is not LoginReason.STEP_UP:
                return  # another request was faster
            if by_refresh and used is not None and await self._try_refresh(used, need.refused):
                return
            self._login = await self._log_in(need)
            self._is_new = True

    def _is_expired(self, login: StoredLogin) -> bool:
        """True if expired and not refreshable: the request was sent without a token and rejected."""
        return decide_renewal(login.tokens, self.lifecycle.now()).renewal is Renewal.LOG_IN

    async def _try_refresh(self, used: StoredLogin, refused: RejectedResponse) -> bool:
        if not await self.lifecycle.still_names_issuer(used.tokens.issuer, refused, self.revision()):
            return False  # it moved to another authorization server
        try:
            await self.refresh(used, is_refused=True)
        except RefreshRefused:
            return False
        self._is_new = self._login is not None
        return True


class TokenAuthorization:
    """One request (`transport.base.AuthorizedRequest`): its headers, and when to retry."""

    def __init__(self, owner: Authorizer, operation: str) -> None:
        self._owner = owner
        self._operation = operation
        self._used: StoredLogin | None = None
        self._renewals = 0
        self._step_ups = 0
        self._has_nonce = False

    async def headers(self, method: str, url: str) -> Headers:
        if not self._owner.is_own_origin(url):
            return ()
        self._used = await self._owner.usable()
        return () if self._used is None else await self._owner.headers(self._used, method, url)

    def responded(self, status: int, url: str, headers: Headers) -> None:
        """Handle a response; any status may carry a nonce."""
        self._owner.nonces.update(url, header_of(headers, "dpop-nonce") or None)
        if self._used is not None and status not in (401, 403):
            self._owner.mark_accepted(self._used)

    async def refused(self, status: int, headers: Headers, body: bytes) -> bool:
        """Return whether to retry. Raises NeedsLogin if the user must act first."""
        if is_nonce_challenge(status, headers) and not self._has_nonce and self._used is not None:
            self._has_nonce = True
            return True
        refused = RejectedResponse(status, headers, body, with_token=self._used is not None)
        if self._used is None:
            return await self._start_login(refused)
        decision = self._decide(self._used, refused)
        if decision.move is Move.STOP:
            return self._raise_rejected(decision, refused)
        cause = LoginReason.STEP_UP if decision.move is Move.STEP_UP else LoginReason.TOKEN_REJECTED
        need = LoginRequirement(cause, decision.reason, refused, decision.scopes)
        self._renewals += 1
        await self._owner.renew(self._used, need, by_refresh=decision.move is Move.REFRESH)
        if decision.move is Move.STEP_UP:  # only now: an attempt without a login does not count
            self._owner.step_ups.record(self._operation, read_refusal(status, headers).scopes)
            self._step_ups += 1
        return True

    async def _start_login(self, refused: RejectedResponse) -> bool:
        wants_login = refused.status == 401 or bool(read_refusal(refused.status, refused.headers).scopes)
        if not wants_login or self._renewals:
            return False
        self._renewals += 1
        reason = f"The server requires login (HTTP {refused.status})."
        await self._owner.renew(None, LoginRequirement(LoginReason.CALL, reason, refused), by_refresh=False)
        return True

    def _decide(self, used: StoredLogin, refused: RejectedResponse) -> RefusalDecision:
        attempt = Attempt(
            self._operation,
            used.tokens,
            is_first_use=self._owner.is_new(used),
            renewals=self._renewals,
            step_ups=self._step_ups,
        )
        decision = check_refusal(
            read_refusal(refused.status, refused.headers),
            attempt,
            self._owner.step_ups,
            self._owner.revision(),
            used.server_scopes,
        )
        self._owner.lifecycle.record_findings(decision.findings)
        return decision

    def _raise_rejected(self, decision: RefusalDecision, refused: RejectedResponse) -> bool:
        refusal = read_refusal(refused.status, refused.headers)
        wanted = f" It requires {quote_names(refusal.scopes)}." if refusal.scopes else ""
        summary = f"The server rejected {self._operation} (HTTP {refused.status}).{wanted} {decision.reason}"
        if refused.status == 401:
            raise NeedsLogin(summary, "Log in again.", refused.status, refused.headers)
        raise HttpRefused(summary, "Ask the server operator for access.", refused.status, refused.body)


class BearerToken:
    """A fixed token, sent as is; rejections are left to the user."""

    def __init__(self, target_url: str, store: LoginStore, token: SecretRef) -> None:
        self._origin = _origin(target_url)
        self._store = store
        self._ref = token

    def begin(self, operation: str) -> BearerToken:
        return self

    async def headers(self, method: str, url: str) -> Headers:
        if _origin(url) != self._origin:
            return ()
        return (("Authorization", f"Bearer {await self._store.secret(self._ref, 'bearer token')}"),)

    def responded(self, status: int, url: str, headers: Headers) -> None:
        pass

    async def refused(self, status: int, headers: Headers, body: bytes) -> bool:
        if status == 401:
            token = await self._store.secret(self._ref, "bearer token")
            reason = rejection_reason(challenges_in(headers), body, f"Bearer {token}")
            raise NeedsLogin(
                f"The server rejected the bearer token{f': {reason}' if reason else ' (HTTP 401)'}.",
                "Enter another one in Server ▸ Secrets….",
                status,
                headers,
            )
        return False


def token_headers(
    tokens: TokenSet, key: SigningKey | None, method: str, url: str, now: float, nonces: Nonces
) -> Headers:
    """Return the headers of one request; create new ones for each repeat (DPoP proof)."""
    headers: Headers = (("Authorization", tokens.authorization),)
    if tokens.token_type != SCHEME or key is None:
        return headers
    nonce = nonces.get(url)
    proof = dpop_proof(key, method, url, now, access_token=tokens.access_token, nonce=nonce)
    return (*headers, (SCHEME, proof))


def header_of(headers: Headers, name: str) -> str:
    """Return the first header of this name; "" if absent."""
    return next((value for key, value in headers if key.lower() == name.lower()), "")


def challenges_in(headers: Headers) -> list[str]:
    """Return the values of WWW-Authenticate."""
    return [value for name, value in headers if name.lower() == "www-authenticate"]


def read_refusal(status: int, headers: Headers) -> Refusal:
    """Parse a 401 or 403 response of the MCP server."""
    return Refusal(status, choose_challenge(read_challenges(challenges_in(headers)), status))


def is_nonce_challenge(status: int, headers: Headers) -> bool:
    """True if the MCP server demands its nonce in the proof; this does not reject the token."""
    challenges = read_challenges(challenges_in(headers)).supported
    wants = any(one.is_dpop and one.get("error") == USE_NONCE for one in challenges)
    return status == 401 and wants and bool(header_of(headers, "dpop-nonce"))


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)
