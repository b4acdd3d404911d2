"""Login steps of enterprise-managed authorization: the identity provider (OpenID Connect).

The user logs in there once in the browser (`browser.py`); afterwards the ID token, or the refresh token
that came with it, is used instead. `tokens.py` exchanges it for an ID-JAG. The provider is the one that
the user configured: nothing that a server sends can name another.
"""

from __future__ import annotations

from dataclasses import replace

from inspector.base.json.values import JSONObject, some
from inspector.config.servers.entries import IdentityProvider
from inspector.oauth.http import LoginReply, LoginRequest, get_document
from inspector.oauth.login.context import BrowserNeeded, LoginContext, LoginStopped
from inspector.oauth.login.discovery import private_endpoints, show_candidates
from inspector.oauth.login.steps import Question, QuestionKind
from inspector.oauth.store import SignedIn
from inspector.oauth.token_endpoint import TokenRequest, request_token
from inspector.protocol.auth.client_registration import Client, ClientSource
from inspector.protocol.auth.findings.finding import finding
from inspector.protocol.auth.id_token import IdTokenExpectation, IdTokenVerdict, check_id_token, has_run_out
from inspector.protocol.auth.responses import Outcome, Reply, read_document
from inspector.protocol.auth.server_metadata import (
    CONTACTED,
    MetadataSource,
    Pkce,
    ServerMetadata,
    ServerReading,
    provider_metadata_urls,
    read_server_metadata,
)
from inspector.protocol.auth.token_request import (
    AuthMethod,
    Form,
    Grant,
    choose_method,
    code_form,
    refresh_form,
)
from inspector.protocol.auth.tokens import TokenExpectation, TokenReply, read_token_reply
from inspector.protocol.auth.url_guard import BlockReason, GuardedUrl, UrlBlocked

_SETTINGS = "Enter it in the server's login settings."


def configured(stage: LoginContext) -> IdentityProvider:
    """Return the configured identity provider. Raises Stop if there is not enough to start."""
    provider = stage.settings.identity_provider
    if provider is None or not (provider.issuer or (provider.token_endpoint and provider.id_token)):
        raise LoginStopped("The identity provider is not configured.", f"Its issuer is required. {_SETTINGS}")
    return provider


def _is_complete(provider: IdentityProvider) -> bool:
    """True if neither login nor discovery is needed: ID token and token endpoint are given."""
    return bool(provider.token_endpoint) and provider.id_token is not None


async def prepare_lookup(stage: LoginContext) -> LoginRequest | None:
    provider = configured(stage)
    if _is_complete(provider):
        return None
    _require_address(stage, provider.issuer, "issuer")
    return get_document(provider_metadata_urls(provider.issuer)[0].url)


async def find_provider(stage: LoginContext) -> None:
    """Discover the identity provider and our client there. Its document must be its own."""
    provider = configured(stage)
    if _is_complete(provider):
        stage.notes.is_skipped = True
        stage.decide("Using the ID token and token endpoint set by you.")
        endpoint = _require_address(stage, provider.token_endpoint, "token endpoint")
        stage.facts.provider = ServerMetadata(
            {}, provider.issuer, None, MetadataSource.DEFAULTS, {"token_endpoint": endpoint}
        )
    else:
        stage.facts.provider = await _found(stage, provider)
    await _settle_client(stage, provider)


async def _found(stage: LoginContext, provider: IdentityProvider) -> ServerMetadata:
    issuer, is_signing_in = provider.issuer, provider.id_token is None
    reading = read_server_metadata(
        await _document(stage, issuer),
        issuer,
        stage.revision,
        stage.allowance,
        allowed_hosts=await stage.tools.store.allowed_hosts(issuer),
        needs_code=is_signing_in,
    )
    stage.find(reading.findings)
    found = _with_typed_endpoint(stage, reading.metadata, provider)
    stage.use("issuer", found.stated_issuer, "from the metadata")
    stage.use("expected issuer", issuer, "set by you")
    if found.stated_issuer != issuer:  # in any version: ID tokens name the issuer exactly
        raise LoginStopped(
            f"The metadata is for {found.stated_issuer}, not for {issuer}.",
            "The metadata is ignored. Correct the issuer in the server's settings or in the metadata.",
        )
    stage.block(*private_endpoints(found, stage.allowance))
    _require_endpoints(found, is_signing_in=is_signing_in)
    stage.show(
        "Endpoints",
        ("Endpoint", "URL"),
        ((name, found.endpoints[name].raw) for name in CONTACTED if name in found.endpoints),
    )
    if is_signing_in and found.pkce is not Pkce.S256:
        stage.decide("The metadata does not advertise PKCE with S256; the code challenge is sent anyway.")
    _ask_about_hosts(stage, reading)
    return found


def _require_address(stage: LoginContext, url: str, what: str) -> GuardedUrl:
    """Return a configured URL if it may be contacted. Raises UserError."""
    try:
        return stage.http.check(url)
    except UrlBlocked as exc:
        if exc.reason is BlockReason.PRIVATE:
            stage.block(url)
        raise LoginStopped(
            f"The identity provider's {what} cannot be used. {exc.summary}",
            exc.next_step or f"Correct the {what} in the server's settings.",
        ) from exc


async def _document(stage: LoginContext, issuer: str) -> JSONObject:
    _require_address(stage, issuer, "issuer")
    candidates, replies = provider_metadata_urls(issuer), list[Reply]()
    for candidate in candidates:
        replies.append(await stage.inspect(get_document(candidate.url)))
        document = read_document(replies[-1])
        if document.outcome is Outcome.FOUND and document.content is not None:
            show_candidates(stage, candidates, replies)
            stage.decide(f"Using the metadata at {replies[-1].url}.")
            return document.content
    show_candidates(stage, candidates, replies)
    if all(reply.failure for reply in replies):
        raise LoginStopped(
            f"Could not reach the identity provider {issuer}. {replies[0].failure}",
            "Check the network and the issuer in the server's settings, then try again.",
        )
    raise LoginStopped(
        f"No metadata found for the identity provider {issuer}.",
        "Check its issuer in the server's settings, and whether it supports OpenID Connect.",
    )


def _ask_about_hosts(stage: LoginContext, reading: ServerReading) -> None:
    issuer, hosts = reading.metadata.issuer, reading.foreign_hosts
    if hosts:
        text = f"The identity provider {issuer} has endpoints on other hosts: {some(hosts)}."
        stage.question = Question(
            QuestionKind.HOSTS, f"{text} Do they belong to the same operator?", issuer, hosts
        )


def _with_typed_endpoint(
    stage: LoginContext, found: ServerMetadata, provider: IdentityProvider
) -> ServerMetadata:
    if not provider.token_endpoint:
        return found
    typed = _require_address(stage, provider.token_endpoint, "token endpoint")
    stage.decide("Using the token endpoint set by you.")
    return replace(found, endpoints={**found.endpoints, "token_endpoint": typed})


def _require_endpoints(found: ServerMetadata, *, is_signing_in: bool) -> None:
    needed = ("authorization_endpoint", "token_endpoint") if is_signing_in else ("token_endpoint",)
    for name in needed:
        if name not in found.endpoints:
            raise LoginStopped(
                f"The identity provider's metadata has no usable {name}.",
                "Its operator must correct the metadata.",
            )


async def _settle_client(stage: LoginContext, provider: IdentityProvider) -> None:
    found = stage.facts.provider
    assert found is not None
    if not provider.client_id and provider.id_token is None:
        raise LoginStopped("There is no client ID for the identity provider.", _SETTINGS)
    secret = await stage.tools.store.secret(provider.client_secret, "identity provider's client secret")
    choice = choose_method(offered=found.auth_methods, has_secret=bool(secret), typed=provider.method)
    if choice.method is None:
        raise LoginStopped(
            choice.problem, "Choose another client authentication method in the server's settings."
        )
    if not provider.client_id:
        return
    facts = stage.facts
    facts.provider_client = Client(
        provider.client_id, provider.issuer, ClientSource.BY_HAND, choice.method.value, secret
    )
    facts.provider_method = choice.method
    stage.use("client ID", provider.client_id, "set by you")
    stage.use("client secret", secret or None, "set by you" if secret else "", is_secret=True)
    stage.use("authentication", choice.method.value, choice.reason)


def provider_request(stage: LoginContext, form: Form) -> TokenRequest:
    facts = stage.facts
    assert facts.provider is not None
    endpoint = facts.provider.token_endpoint
    assert endpoint is not None
    return TokenRequest(endpoint.url, form, facts.provider_client, facts.provider_method)


# Token response findings that are about the message itself. The access token in it is for the provider's
# own use, so its content is not checked.
_ABOUT_MESSAGE = ("TOK-001", "TOK-002", "TOK-003", "TOK-005", "TOK-006", "TOK-014", "TOK-015", "TOK-018")


async def prepare_sign_in(stage: LoginContext) -> LoginRequest | None:
    """Return the refresh request, if one is needed."""
    provider = configured(stage)
    kept = await _kept(stage) if provider.id_token is None else None
    if kept is None or not kept.refresh_token or _is_good(stage, kept):
        return None
    request = provider_request(stage, refresh_form(kept.refresh_token, None))
    return request.http(stage.tools.now(), stage.tools.nonces)


async def find_sign_in(stage: LoginContext) -> None:
    """Find a valid ID token without asking; without one, the user logs in."""
    provider = configured(stage)
    if provider.id_token is not None:
        token = await stage.tools.store.secret(provider.id_token, "ID token")
        if has_run_out(token, stage.tools.now()):
            raise LoginStopped(
                "The ID token that you entered has expired.",
                "Enter another one, or remove it from the server's settings and log in.",
            )
        _use(stage, token, "set by you")
        return
    if await _kept(stage) is not None:
        async with stage.tools.store.signing_in(provider.issuer):
            kept = await _kept(stage)  # another MCP Lens may just have refreshed it
            if kept is not None:
                await _use_kept(stage, kept)
    if not stage.facts.id_token:
        stage.decide("Log in at the identity provider in the browser.")


async def _use_kept(stage: LoginContext, kept: SignedIn) -> None:
    if _is_good(stage, kept):
        stage.decide("Using the saved ID token, which is still valid.")
        _use(stage, kept.id_token, "from an earlier login")
    elif kept.refresh_token:
        await _renew(stage, kept)
    else:
        stage.decide("The saved ID token has expired, and there is no refresh token.")


async def _renew(stage: LoginContext, kept: SignedIn) -> None:
    request = provider_request(stage, refresh_form(kept.refresh_token, None))
    reply = await request_token(request, stage.send, stage.tools.now, stage.tools.nonces)
    read = _read(stage, reply, Grant.REFRESH)
    if read.tokens is None:
        if not read.ends_login:
            raise LoginStopped(read.problem, "Try again. Your identity provider login is still saved.")
        await stage.tools.store.drop_sign_in(kept.issuer)
        stage.decide(f"The earlier login at the identity provider is no longer valid. {read.problem}")
        return
    tokens = read.tokens
    kept = replace(kept, refresh_token=tokens.refresh_token or kept.refresh_token)
    if tokens.id_token:
        try:
            verdict = _check(stage, tokens.id_token, subject=kept.subject)
        except LoginStopped as exc:  # otherwise it would be retried each time
            await stage.tools.store.drop_sign_in(kept.issuer)
            raise sign_in_again(stage, exc.summary) from exc
        kept = replace(kept, id_token=tokens.id_token, expires_at=verdict.expires_at)
    await stage.tools.store.keep_sign_in(kept)  # the old refresh token may be invalid now
    if tokens.id_token:
        stage.decide("Refreshed the ID token with the refresh token.")
        _use(stage, tokens.id_token, "refreshed")
    else:
        stage.decide("The identity provider did not return a new ID token on refresh.")


def sign_in_again(stage: LoginContext, problem: str) -> LoginStopped:
    """Return the error for an earlier login that turned out invalid and was deleted."""
    kind = LoginStopped if stage.opens_browser else BrowserNeeded
    return kind(problem, "The earlier login is no longer valid. Log in at the identity provider again.")


async def _kept(stage: LoginContext) -> SignedIn | None:
    """Return the saved login of the current client; those of other clients are ignored."""
    client = stage.facts.provider_client
    if client is None:
        return None
    kept = await stage.tools.store.signed_in(client.issuer)
    return kept if kept is not None and kept.client_id == client.client_id else None


def _is_good(stage: LoginContext, kept: SignedIn) -> bool:
    return not has_run_out(kept.id_token, stage.tools.now(), soon=True)


def _use(stage: LoginContext, id_token: str, origin: str) -> None:
    stage.facts.id_token = id_token
    stage.use("ID token", id_token, origin, is_secret=True)
    stage.show_claims("ID token", id_token)


async def prepare_id_token(stage: LoginContext) -> LoginRequest | None:
    if stage.facts.id_token:
        return None
    return provider_request(stage, _code_form(stage)).http(stage.tools.now(), stage.tools.nonces)


async def request_id_token(stage: LoginContext) -> None:
    facts = stage.facts
    if facts.id_token:
        stage.notes.is_skipped = True
        return
    request = provider_request(stage, _code_form(stage))
    for name, value in request.form:
        stage.use(name, value, is_secret=name in ("code", "code_verifier"))
    stage.spent.add(facts.code)
    try:
        facts.id_reply = await request_token(request, stage.send, stage.tools.now, stage.tools.nonces)
    finally:
        facts.code = ""  # a code is valid for one request, however that ended


async def accept_id_token(stage: LoginContext) -> None:
    """Check and save the ID token, with the refresh token that saves the next login."""
    facts = stage.facts
    if facts.id_token:
        stage.notes.is_skipped = True
        return
    reply, found, client = facts.id_reply, facts.provider, facts.provider_client
    assert reply is not None
    assert found is not None
    assert client is not None
    read = _read(stage, reply, Grant.CODE)
    if read.tokens is None:
        raise LoginStopped(read.problem, "The authorization code has been used. Go back to “Open browser”.")
    if not read.tokens.id_token:
        stage.find([missing := finding("IDT-001", stage.revision)])
        raise LoginStopped(f"{missing.seen} {missing.rule}", missing.fix)
    verdict = _check(stage, read.tokens.id_token, nonce=facts.nonce)
    revocation = found.revocation_endpoint
    signed_in = SignedIn(
        client.issuer,
        client.client_id,
        read.tokens.id_token,
        read.tokens.refresh_token,
        verdict.subject,
        verdict.expires_at,
        revocation.url if revocation is not None else "",
        client.method,
    )
    async with stage.tools.store.signing_in(client.issuer):
        is_saved = await stage.tools.store.keep_sign_in(signed_in)
    stage.use("refresh token", read.tokens.refresh_token or None, "to get a new ID token", is_secret=True)
    where = "is saved" if is_saved else "is not saved: secrets are stored for this session only"
    stage.decide(f"Your identity provider login {where}.")
    _use(stage, read.tokens.id_token, "from this login")


def _code_form(stage: LoginContext) -> Form:
    facts = stage.facts
    if not facts.code or facts.code in stage.spent:
        raise LoginStopped(
            "The authorization code has been used; it is valid for one request only.",
            "Go back to “Open browser”.",
        )
    return code_form(facts.code, facts.redirect_uri, facts.verifier, None)


def _check(stage: LoginContext, id_token: str, *, nonce: str = "", subject: str = "") -> IdTokenVerdict:
    client = stage.facts.provider_client
    assert client is not None
    expected = IdTokenExpectation(client.issuer, client.client_id, nonce, subject)
    verdict = check_id_token(id_token, expected, stage.tools.now(), stage.revision)
    stage.find(verdict.findings)
    stage.show(
        "ID token checks",
        ("Check", "Result", ""),
        ((check.name, check.result.value, check.text) for check in verdict.checks),
    )
    if verdict.problem:
        raise LoginStopped(
            verdict.problem, "The ID token is not used. To log in again, go back to “Open browser”."
        )
    return verdict


def _read(stage: LoginContext, reply: LoginReply, grant: Grant) -> TokenReply:
    client, method, found = stage.facts.provider_client, stage.facts.provider_method, stage.facts.provider
    assert client is not None
    requested = TokenExpectation(
        grant,
        client.issuer,
        client.client_id,
        None,
        method=(method or AuthMethod.NONE).value,
        offered_methods=(found.auth_methods if found is not None else None) or (),
    )
    read = read_token_reply(
        reply.status, reply.headers, reply.body, requested, now=stage.tools.now(), revision=stage.revision
    )
    stage.find(finding for finding in read.findings if finding.id in _ABOUT_MESSAGE)
    return read
