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
from inspector.oauth.http import LoginHttp, LoginRecorder, LoginReply, LoginRequest, get_document, post_form
from inspector.oauth.login.context import Refused, Target
from inspector.oauth.signing import SigningKey, dpop_proof, read_key
from inspector.oauth.store import LoginStore, SignedIn, StoredLogin
from inspector.protocol.auth.challenge import choose_challenge, read_challenges
from inspector.protocol.auth.client_registration import Client, ClientSource
from inspector.protocol.auth.dpop import Nonces, wants_nonce
from inspector.protocol.auth.findings.finding import Finding
from inspector.protocol.auth.resource_metadata import read_resource_metadata, resource_metadata_urls
from inspector.protocol.auth.responses import Outcome, Reply, read_document, read_error, read_object
from inspector.protocol.auth.token_request import (
    AuthMethod,
    Form,
    Grant,
    Proof,
    assertion_claims,
    authenticate,
    choose_method,
    find_method,
    refresh_form,
    revocation_form,
)
from inspector.protocol.auth.tokens import Renewal, TokenExpectation, decide_renewal, read_token_reply
from inspector.protocol.auth.url_guard import Allowance
from inspector.protocol.revisions import Revision

DPOP = "DPoP"
_MAX_FINDINGS = 100


class RefreshRefused(UserError):
    """The refresh token is no longer valid: the user must log in."""


class TokenLifecycle:
    """Refreshes and revokes the tokens of one server.

    `make_http` returns a client for the requests, closed after them.
    """

    def __init__(
        self,
        target: Target,
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

    def note(self, findings: Iterable[Finding]) -> None:
        """Record findings about responses after the login, each once."""
        for found in findings:
            if found not in self.findings:
                self.findings = (*self.findings, found)[-_MAX_FINDINGS:]
                self._recorder.step(f"{found.id}: {found.seen}")

    async def refresh(
        self, held: StoredLogin, revision: Revision, *, is_refused: bool = False
    ) -> StoredLogin:
        """Refresh the tokens.

        Raises RefreshRefused if a new login is needed, UserError if it failed for now. `is_refused`: the
        server rejects these tokens although they have not expired.
        """
        async with self._store.renewing(held.tokens.issuer):
            current = await self._store.held_of(held.tokens.issuer)
            if current is None:
                raise RefreshRefused("A logout deleted the tokens in the meantime.", "Log in again.")
            if self._is_newer(current, held, is_refused):
                self._recorder.step("Refresh: another MCP Lens instance just refreshed the tokens.")
                return current
            return await self._refresh(current, revision)

    def _is_newer(self, current: StoredLogin, held: StoredLogin, is_refused: bool) -> bool:
        is_other = current.tokens.access_token != held.tokens.access_token
        is_fresh = decide_renewal(current.tokens, self.now()).renewal is Renewal.NOT_NEEDED
        return is_other and (is_fresh or is_refused)

    async def _refresh(self, held: StoredLogin, revision: Revision) -> StoredLogin:
        tokens = held.tokens
        if not tokens.refresh_token:
            raise RefreshRefused("There is no refresh token.", "Log in again.")
        request = await self._request(
            held, held.token_endpoint, refresh_form(tokens.refresh_token, tokens.resource)
        )
        async with self._http() as http:
            reply = await request_token(request, http.send, self.now, self._nonces)
        requested = TokenExpectation(
            Grant.REFRESH,
            tokens.issuer,
            tokens.client_id,
            tokens.resource,
            method=request.method.value if request.method is not None else AuthMethod.NONE.value,
            offered_methods=held.offered_methods or (),
            key_thumbprint=request.bound_key.thumbprint() if request.bound_key is not None else "",
            previous=tokens,
        )
        read = read_token_reply(
            reply.status, reply.headers, reply.body, requested, now=self.now(), revision=revision
        )
        self.note(read.findings)
        if read.tokens is None:
            if read.ends_login:
                await self._store.drop_tokens(tokens.issuer)
                raise RefreshRefused(read.problem, "Log in again.")
            raise UserError(read.problem, "Try again. The current tokens are still saved.")
        renewed = replace(held, tokens=read.tokens)
        await self._store.hold(renewed)  # before use: the old refresh token may be invalid now
        is_rotated = read.tokens.refresh_token != tokens.refresh_token
        self._recorder.step(
            f"Refresh succeeded; the refresh token is {'a new one' if is_rotated else 'the same'}."
        )
        return renewed

    async def names_issuer(self, issuer: str, refused: Refused, revision: Revision) -> bool:
        """True if the server still names this authorization server, or that cannot be determined.

        "On each 401": a server may move to another one, and tokens of the old one stay rejected.
        """
        values = [value for name, value in refused.headers if name.lower() == "www-authenticate"]
        challenge = choose_challenge(read_challenges(values), refused.status)
        locations = resource_metadata_urls(self._target.url, challenge, self._allowance, revision)
        async with self._http() as http:
            for candidate in locations.candidates:
                try:
                    reply = await http.send(get_document(candidate.url))
                except UserError:
                    continue
                document = read_document(Reply(reply.url, reply.status, reply.headers, reply.body))
                if document.outcome is Outcome.FOUND and document.content is not None:
                    read = read_resource_metadata(
                        document.content, self._target.url, revision, self._allowance
                    )
                    return not read.metadata.issuers or issuer in read.metadata.issuers
        return True

    async def sign_out(self) -> str:
        """Revoke the tokens, and delete them in any case. Return a sentence about the outcome.

        Waits for a refresh in progress and revokes the tokens it returns.
        """
        held = await self._store.held()
        has_signed_in = bool(await self._store.sign_ins())
        await self._leave_providers(tells=True)
        if held is None:
            return "Logged out locally." if has_signed_in else "You were not logged in."
        text = await self._sign_out_of(held)
        for issuer in await self._store.issuers():  # the server may have named another one before
            if (older := await self._store.held_of(issuer)) is not None:
                await self._sign_out_of(older)
        return text

    async def _sign_out_of(self, held: StoredLogin) -> str:
        issuer = held.tokens.issuer
        async with self._store.renewing(issuer):
            text = await self._revoke(await self._store.held_of(issuer) or held)
            await self._store.drop_tokens(issuer)
        self._recorder.step(f"Log out: {text}")
        return text

    async def forget(self) -> None:
        """Delete the tokens of every issuer, including those being refreshed, without revoking them."""
        for issuer in await self._store.issuers():
            async with self._store.renewing(issuer):
                await self._store.drop_tokens(issuer)
        await self._leave_providers(tells=False)

    async def _leave_providers(self, *, tells: bool) -> None:
        """Delete identity provider logins, with which a login would continue automatically.

        `tells`: revoke the refresh token, if the provider supports it.
        """
        for known in await self._store.sign_ins():
            async with self._store.signing_in(known.issuer):
                kept = await self._store.signed_in(known.issuer) or known
                await self._store.drop_sign_in(known.issuer)
            if tells and kept.refresh_token and kept.revocation_endpoint:
                with suppress(UserError):
                    await self._give_back(kept)

    async def _give_back(self, kept: SignedIn) -> None:
        provider = self._settings.identity_provider
        ref = provider.client_secret if provider is not None and provider.issuer == kept.issuer else None
        secret = await self._store.secret(ref, "identity provider's client secret")
        client = Client(kept.client_id, kept.issuer, ClientSource.BY_HAND, kept.method, secret)
        form = revocation_form(kept.refresh_token, is_refresh_token=True)
        request = TokenRequest(kept.revocation_endpoint, form, client, find_method(kept.method))
        async with self._http() as http:
            await http.send(request.http(self.now(), self._nonces))

    async def _revoke(self, held: StoredLogin) -> str:
        if not held.revocation_endpoint:
            return "Logged out locally. The authorization server has no revocation endpoint."
        token = held.tokens.refresh_token or held.tokens.access_token
        form = revocation_form(token, is_refresh_token=bool(held.tokens.refresh_token))
        try:
            request = await self._request(held, held.revocation_endpoint, form)
            async with self._http() as http:
                reply = await http.send(request.http(self.now(), self._nonces))
        except UserError as exc:
            return f"Logged out locally. Could not revoke the tokens: {exc.summary}"
        if not reply.is_success:
            return f"Logged out locally. The authorization server did not revoke the tokens ({reply.status})."
        return "Logged out. Tokens revoked."

    async def _request(self, held: StoredLogin, endpoint: str, form: Form) -> TokenRequest:
        client = await self._client(held)
        choice = choose_method(
            offered=held.offered_methods,
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
        bound = await self._store.key(held.tokens.issuer) if held.tokens.token_type == DPOP else None
        audience = held.tokens.issuer if self._settings.audience == "issuer" else held.token_endpoint
        return TokenRequest(endpoint, form, client, choice.method, audience, client_key, bound)

    async def _client(self, held: StoredLogin) -> Client:
        """Return the client that the tokens were issued to."""
        id, issuer = held.tokens.client_id, held.tokens.issuer
        known = [one for one in await self._store.clients() if (one.client_id, one.issuer) == (id, issuer)]
        if self._settings.client_id == id and self._settings.issuer in ("", issuer):
            secret = await self._store.secret(self._settings.client_secret, "client secret")
            return Client(id, issuer, ClientSource.BY_HAND, secret=secret)
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


Send = Callable[[LoginRequest], Awaitable[LoginReply]]


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A token request. `audience` is the `aud` of our client assertion."""

    endpoint: str
    form: Form = field(repr=False)
    client: Client | None
    method: AuthMethod | None
    audience: str = ""
    client_key: SigningKey | None = None  # for `private_key_jwt`
    bound_key: SigningKey | None = None  # for DPoP

    def http(self, now: float, nonces: Nonces) -> LoginRequest:
        """Return the request for now: proofs contain the time and are used once."""
        proof = self._proof(now)
        headers = proof.headers
        if self.bound_key is not None:
            nonce = nonces.of(self.endpoint)
            headers = (
                *headers,
                ("DPoP", dpop_proof(self.bound_key, "POST", self.endpoint, now, nonce=nonce)),
            )
        return post_form(self.endpoint, (*self.form, *proof.form), headers)

    def _proof(self, now: float) -> Proof:
        if self.client is None or self.method is None:
            return Proof()
        assertion = ""
        if self.method is AuthMethod.PRIVATE_KEY and self.client_key is not None:
            assertion = self.client_key.sign(assertion_claims(self.client.client_id, self.audience, now))
        return authenticate(
            self.method, self.client.client_id, secret=self.client.secret, assertion=assertion
        )


async def request_token(
    request: TokenRequest, send: Send, now: Callable[[], float], nonces: Nonces
) -> LoginReply:
    """Send it, and again if the server wants its nonce in the proof. Raises UserError."""
    reply = await send(request.http(now(), nonces))
    nonces.note(reply.url, reply.header("dpop-nonce") or None)
    if request.bound_key is None or not _wants_nonce(reply) or not nonces.of(request.endpoint):
        return reply
    reply = await send(request.http(now(), nonces))
    nonces.note(reply.url, reply.header("dpop-nonce") or None)
    return reply


def _wants_nonce(reply: LoginReply) -> bool:
    error = read_error(read_object(reply.body) or {})
    return error is not None and wants_nonce(reply.status, error.code)
