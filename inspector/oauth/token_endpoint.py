"""Token endpoint: requests with client authentication and DPoP, refresh, revocation.

A refresh token is valid once at servers that rotate them, so only one process at a time refreshes, after
checking whether another one just did. A request is repeated once if the server demands its nonce in the
DPoP proof.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace

from inspector.base.clock import Clock
from inspector.base.errors import UserError
from inspector.config.servers.entries import OAuthSettings
from inspector.oauth.http import (
    LoginHttp,
    LoginRecorder,
    LoginRequest,
    LoginResponse,
    LoginTarget,
    RejectedResponse,
    get_document,
    post_form,
)
from inspector.oauth.signing import SigningKey, dpop_proof, read_key
from inspector.oauth.store import LoginStore, ProviderLogin, StoredLogin
from inspector.protocol.auth.challenge import choose_challenge, read_challenges
from inspector.protocol.auth.client_registration import Client, ClientSource
from inspector.protocol.auth.dpop import SCHEME, Nonces, wants_nonce
from inspector.protocol.auth.findings.finding import Finding
from inspector.protocol.auth.resource_metadata import read_resource_metadata, resource_metadata_urls
from inspector.protocol.auth.responses import (
    LookupOutcome,
    MetadataResponse,
    read_document,
    read_error,
    read_object,
)
from inspector.protocol.auth.token_request import (
    AuthMethod,
    ClientAuthentication,
    Form,
    Grant,
    assertion_claims,
    authenticate,
    choose_method,
    find_method,
    refresh_form,
    revocation_form,
)
from inspector.protocol.auth.tokens import Renewal, TokenExpectation, decide_renewal, read_token_response
from inspector.protocol.auth.url_guard import Allowance
from inspector.protocol.revisions import Revision

_MAX_FINDINGS = 100


class RefreshRefused(UserError):
    """The refresh token is no longer valid: the user must log in."""


class TokenLifecycle:
    """Refreshes and revokes the tokens of one server.

    `make_http` returns a client for the requests, closed after them.
    """

    def __init__(
        self,
        target: LoginTarget,
        store: LoginStore,
        clock: Clock,
        recorder: LoginRecorder,
        nonces: Nonces,
        allowance: Allowance,
        make_http: Callable[[Allowance], LoginHttp],
    ) -> None:
        self._target = target
        self._settings: OAuthSettings = target.settings
        self._store = store
        self._clock = clock
        self._recorder = recorder
        self._nonces = nonces
        self._allowance = allowance
        self._make_http = make_http
        self.findings: tuple[Finding, ...] = ()

    def now(self) -> float:
        return self._clock.wall_ns() / 1e9

    def record_findings(self, findings: Iterable[Finding]) -> None:
        """Record findings about responses after the login, each once."""
        for found in findings:
            if found not in self.findings:
                self.findings = (*self.findings, found)[-_MAX_FINDINGS:]
                self._recorder.step(f"{found.id}: {found.seen}")

    async def refresh(
        self, login: StoredLogin, revision: Revision, *, is_refused: bool = False
    ) -> StoredLogin:
        """Refresh the tokens.

        Raises RefreshRefused if a new login is needed, UserError if it failed for now. `is_refused`: the
        server rejects these tokens although they have not expired.
        """
        async with self._store.refresh_lock(login.tokens.issuer):
            current = await self._store.login_of(login.tokens.issuer)
            if current is None:
                raise RefreshRefused("A logout deleted the tokens in the meantime.", "Log in again.")
            if self._is_newer(current, login, is_refused):
                self._recorder.step("Refresh: another MCP Lens instance just refreshed the tokens.")
                return current
            return await self._refresh(current, revision)

    def _is_newer(self, current: StoredLogin, login: StoredLogin, is_refused: bool) -> bool:
        is_other = current.tokens.access_token != login.tokens.access_token
        is_fresh = decide_renewal(current.tokens, self.now()).renewal is Renewal.NOT_NEEDED
        return is_other and (is_fresh or is_refused)

    async def _refresh(self, login: StoredLogin, revision: Revision) -> StoredLogin:
        tokens = login.tokens
        if not tokens.refresh_token:
            raise RefreshRefused("There is no refresh token.", "Log in again.")
        request = await self._request(
            login, login.token_endpoint, refresh_form(tokens.refresh_token, tokens.resource)
        )
        async with self._http() as http:
            response = await request_token(request, http.send, self.now, self._nonces)
        expected = TokenExpectation(
            Grant.REFRESH,
            tokens.issuer,
            tokens.client_id,
            tokens.resource,
            method=request.method.value if request.method is not None else AuthMethod.NONE.value,
            offered_methods=login.offered_methods or (),
            key_thumbprint=request.dpop_key.thumbprint() if request.dpop_key is not None else "",
            previous=tokens,
        )
        result = read_token_response(
            response.status, response.headers, response.body, expected, now=self.now(), revision=revision
        )
        self.record_findings(result.findings)
        if result.tokens is None:
            if result.ends_login:
                await self._store.delete_tokens(tokens.issuer)
                raise RefreshRefused(result.problem, "Log in again.")
            raise UserError(result.problem, "Try again. The current tokens are still saved.")
        refreshed = replace(login, tokens=result.tokens)
        await self._store.save_login(refreshed)  # before use: the old refresh token may be invalid now
        is_rotated = result.tokens.refresh_token != tokens.refresh_token
        self._recorder.step(
            f"Refresh succeeded; the refresh token is {'a new one' if is_rotated else 'the same'}."
        )
        return refreshed

    async def still_names_issuer(self, issuer: str, refused: RejectedResponse, revision: Revision) -> bool:
        """True if the server still names this authorization server, or that cannot be determined.

        "On each 401": a server may move to another one, and tokens of the old one stay rejected.
        """
        values = [value for name, value in refused.headers if name.lower() == "www-authenticate"]
        challenge = choose_challenge(read_challenges(values), refused.status)
        locations = resource_metadata_urls(self._target.url, challenge, self._allowance, revision)
        async with self._http() as http:
            for candidate in locations.candidates:
                try:
                    response = await http.send(get_document(candidate.url))
                except UserError:
                    continue
                document = read_document(
                    MetadataResponse(response.url, response.status, response.headers, response.body)
                )
                if document.outcome is LookupOutcome.FOUND and document.content is not None:
                    read = read_resource_metadata(
                        document.content, self._target.url, revision, self._allowance
                    )
                    return not read.metadata.issuers or issuer in read.metadata.issuers
        return True

    async def log_out(self) -> str:
        """Revoke the tokens, and delete them in any case. Return a sentence about the outcome.

        Waits for a refresh in progress and revokes the tokens it returns.
        """
        login = await self._store.newest_login()
        had_provider_login = bool(await self._store.provider_logins())
        await self._log_out_of_providers(revoke=True)
        if login is None:
            return "Logged out locally." if had_provider_login else "You were not logged in."
        text = await self._log_out_of(login)
        for issuer in await self._store.issuers():  # the server may have named another one before
            if (older := await self._store.login_of(issuer)) is not None:
                await self._log_out_of(older)
        return text

    async def _log_out_of(self, login: StoredLogin) -> str:
        issuer = login.tokens.issuer
        async with self._store.refresh_lock(issuer):
            text = await self._revoke(await self._store.login_of(issuer) or login)
            await self._store.delete_tokens(issuer)
        self._recorder.step(f"Log out: {text}")
        return text

    async def delete_tokens(self) -> None:
        """Delete the tokens of every issuer, including those being refreshed, without revoking them."""
        for issuer in await self._store.issuers():
            async with self._store.refresh_lock(issuer):
                await self._store.delete_tokens(issuer)
        await self._log_out_of_providers(revoke=False)

    async def _log_out_of_providers(self, *, revoke: bool) -> None:
        """Delete identity provider logins, with which a login would continue automatically.

        `revoke`: revoke the refresh token, if the provider supports it.
        """
        for saved in await self._store.provider_logins():
            async with self._store.provider_login_lock(saved.issuer):
                login = await self._store.provider_login(saved.issuer) or saved
                await self._store.delete_provider_login(saved.issuer)
            if revoke and login.refresh_token and login.revocation_endpoint:
                with suppress(UserError):
                    await self._revoke_provider_login(login)

    async def _revoke_provider_login(self, login: ProviderLogin) -> None:
        provider = self._settings.identity_provider
        ref = provider.client_secret if provider is not None and provider.issuer == login.issuer else None
        secret = await self._store.secret(ref, "identity provider's client secret")
        client = Client(login.client_id, login.issuer, ClientSource.PRE_REGISTERED, login.method, secret)
        form = revocation_form(login.refresh_token, is_refresh_token=True)
        request = TokenRequest(login.revocation_endpoint, form, client, find_method(login.method))
        async with self._http() as http:
            await http.send(request.http(self.now(), self._nonces))

    async def _revoke(self, login: StoredLogin) -> str:
        if not login.revocation_endpoint:
            return "Logged out locally. The authorization server has no revocation endpoint."
        token = login.tokens.refresh_token or login.tokens.access_token
        form = revocation_form(token, is_refresh_token=bool(login.tokens.refresh_token))
        try:
            request = await self._request(login, login.revocation_endpoint, form)
            async with self._http() as http:
                response = await http.send(request.http(self.now(), self._nonces))
        except UserError as exc:
            return f"Logged out locally. Could not revoke the tokens: {exc.summary}"
        if not response.is_success:
            return (
                f"Logged out locally. The authorization server did not revoke the tokens ({response.status})."
            )
        return "Logged out. Tokens revoked."

    async def _request(self, login: StoredLogin, endpoint: str, form: Form) -> TokenRequest:
        client = await self._client(login)
        choice = choose_method(
            offered=login.offered_methods,
            has_secret=bool(client.secret),
            has_key=self._settings.key is not None,
            registered=client.method,
            typed=self._settings.method,
        )
        if choice.method is None:
            raise UserError(
                choice.problem, "Choose another client authentication method in the server's settings."
            )
        client_key: SigningKey | None = None
        if choice.method is AuthMethod.PRIVATE_KEY:
            pem = await self._store.secret(self._settings.key, "client's private key")
            client_key = read_key(pem, self._settings.algorithm)
        dpop_key = await self._store.key(login.tokens.issuer) if login.tokens.token_type == SCHEME else None
        audience = login.tokens.issuer if self._settings.audience == "issuer" else login.token_endpoint
        return TokenRequest(endpoint, form, client, choice.method, audience, client_key, dpop_key)

    async def _client(self, login: StoredLogin) -> Client:
        """Return the client that the tokens were issued to."""
        id, issuer = login.tokens.client_id, login.tokens.issuer
        known = [one for one in await self._store.clients() if (one.client_id, one.issuer) == (id, issuer)]
        if self._settings.client_id == id and self._settings.issuer in ("", issuer):
            secret = await self._store.secret(self._settings.client_secret, "client secret")
            return Client(id, issuer, ClientSource.PRE_REGISTERED, secret=secret)
        return known[0] if known else Client(id, issuer, ClientSource.DOCUMENT, method="none")

    @asynccontextmanager
    async def _http(self) -> AsyncIterator[LoginHttp]:
        allowance = self._allowance
        if not allowance.private and await self._store.allows_private():
            allowance = replace(allowance, private=True)
        http = self._make_http(allowance)
        try:
            yield http
        finally:
            await http.close()


Send = Callable[[LoginRequest], Awaitable[LoginResponse]]


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A token request. `audience` is the `aud` of the client assertion."""

    endpoint: str
    form: Form = field(repr=False)
    client: Client | None
    method: AuthMethod | None
    audience: str = ""
    client_key: SigningKey | None = None  # for `private_key_jwt`
    dpop_key: SigningKey | None = None  # for DPoP

    def http(self, now: float, nonces: Nonces) -> LoginRequest:
        """Return the request for now: proofs contain the time and are used once."""
        authentication = self._client_authentication(now)
        headers = authentication.headers
        if self.dpop_key is not None:
            nonce = nonces.get(self.endpoint)
            headers = (
                *headers,
                (SCHEME, dpop_proof(self.dpop_key, "POST", self.endpoint, now, nonce=nonce)),
            )
        return post_form(self.endpoint, (*self.form, *authentication.form), headers)

    def _client_authentication(self, now: float) -> ClientAuthentication:
        if self.client is None or self.method is None:
            return ClientAuthentication()
        assertion = ""
        if self.method is AuthMethod.PRIVATE_KEY and self.client_key is not None:
            assertion = self.client_key.sign(assertion_claims(self.client.client_id, self.audience, now))
        return authenticate(
            self.method, self.client.client_id, secret=self.client.secret, assertion=assertion
        )


async def request_token(
    request: TokenRequest, send: Send, now: Callable[[], float], nonces: Nonces
) -> LoginResponse:
    """Send it, and again if the server wants its nonce in the proof. Raises UserError."""
    response = await send(request.http(now(), nonces))
    nonces.update(response.url, response.header("dpop-nonce") or None)
    if request.dpop_key is None or not _wants_nonce(response) or not nonces.get(request.endpoint):
        return response
    response = await send(request.http(now(), nonces))
    nonces.update(response.url, response.header("dpop-nonce") or None)
    return response


def _wants_nonce(response: LoginResponse) -> bool:
    error = read_error(read_object(response.body) or {})
    return error is not None and wants_nonce(response.status, error.code)
