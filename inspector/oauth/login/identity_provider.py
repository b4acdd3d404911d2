"""Login steps of enterprise-managed authorization: the identity provider (OpenID Connect).

The user logs in there once in the browser (`browser.py`); afterwards the ID token, or the refresh token
that came with it, is used instead. `tokens.py` exchanges it for an ID-JAG. The provider is the one that
the user configured: nothing that a server sends can name another.
"""

from __future__ import annotations

from dataclasses import replace

from inspector.base.json.values import JSONObject, quote_names
from inspector.config.servers.entries import IdentityProvider
from inspector.oauth.http import LoginRequest, LoginResponse, get_document
from inspector.oauth.login.context import BrowserNeeded, LoginContext, LoginStopped
from inspector.oauth.login.discovery import private_endpoints, show_candidates
from inspector.oauth.login.steps import LoginPrompt, LoginPromptKind
from inspector.oauth.store import ProviderLogin
from inspector.oauth.token_endpoint import TokenRequest, request_token
from inspector.protocol.auth.client_registration import Client, ClientSource
from inspector.protocol.auth.findings.finding import finding
from inspector.protocol.auth.id_token import IdTokenExpectation, IdTokenResult, check_id_token, is_expired
from inspector.protocol.auth.responses import LookupOutcome, MetadataResponse, read_document
from inspector.protocol.auth.server_metadata import (
    CONTACTED_ENDPOINTS,
    MetadataSource,
    Pkce,
    ServerMetadata,
    ServerMetadataResult,
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
from inspector.protocol.auth.tokens import TokenExpectation, TokenResponse, read_token_response
from inspector.protocol.auth.url_guard import BlockReason, GuardedUrl, UrlBlocked

_SETTINGS = "Enter it in the server's login settings."


def configured_provider(context: LoginContext) -> IdentityProvider:
    """Return the configured identity provider. Raises LoginStopped if it is incomplete."""
    provider = context.settings.identity_provider
    if provider is None or not (provider.issuer or (provider.token_endpoint and provider.id_token)):
        raise LoginStopped("The identity provider is not configured.", f"Its issuer is required. {_SETTINGS}")
    return provider


def _is_complete(provider: IdentityProvider) -> bool:
    """True if neither login nor discovery is needed: ID token and token endpoint are configured."""
    return bool(provider.token_endpoint) and provider.id_token is not None


async def prepare_lookup(context: LoginContext) -> LoginRequest | None:
    provider = configured_provider(context)
    if _is_complete(provider):
        return None
    _require_url(context, provider.issuer, "issuer")
    return get_document(provider_metadata_urls(provider.issuer)[0].url)


async def find_provider(context: LoginContext) -> None:
    """Discover the identity provider. Its metadata must name its own issuer."""
    provider = configured_provider(context)
    if _is_complete(provider):
        context.notes.is_skipped = True
        context.add_decision("Using the ID token and token endpoint set by you.")
        endpoint = _require_url(context, provider.token_endpoint, "token endpoint")
        context.facts.provider = ServerMetadata(
            {}, provider.issuer, None, MetadataSource.DEFAULTS, {"token_endpoint": endpoint}
        )
    else:
        context.facts.provider = await _discover(context, provider)
    await _use_configured_client(context, provider)


async def _discover(context: LoginContext, provider: IdentityProvider) -> ServerMetadata:
    issuer, needs_login = provider.issuer, provider.id_token is None
    result = read_server_metadata(
        await _document(context, issuer),
        issuer,
        context.revision,
        context.allowance,
        allowed_hosts=await context.tools.store.allowed_hosts(issuer),
        needs_code=needs_login,
    )
    context.add_findings(result.findings)
    found = _with_typed_endpoint(context, result.metadata, provider)
    context.add_input("issuer", found.stated_issuer, "from the metadata")
    context.add_input("expected issuer", issuer, "set by you")
    if found.stated_issuer != issuer:  # in any version: ID tokens name the issuer exactly
        raise LoginStopped(
            f"The metadata is for {found.stated_issuer}, not for {issuer}.",
            "The metadata is ignored. Correct the issuer in the server's settings or in the metadata.",
        )
    context.record_blocked(*private_endpoints(found, context.allowance))
    _require_endpoints(found, needs_login=needs_login)
    context.add_table(
        "Endpoints",
        ("Endpoint", "URL"),
        ((name, found.endpoints[name].raw) for name in CONTACTED_ENDPOINTS if name in found.endpoints),
    )
    if needs_login and found.pkce is not Pkce.S256:
        context.add_decision(
            "The metadata does not advertise PKCE with S256; the code challenge is sent anyway."
        )
    _ask_about_hosts(context, result)
    return found


def _require_url(context: LoginContext, url: str, what: str) -> GuardedUrl:
    """Return a configured URL if it may be contacted. Raises UserError."""
    try:
        return context.http.check(url)
    except UrlBlocked as exc:
        if exc.reason is BlockReason.PRIVATE:
            context.record_blocked(url)
        raise LoginStopped(
            f"The identity provider's {what} cannot be used. {exc.summary}",
            exc.next_step or f"Correct the {what} in the server's settings.",
        ) from exc


async def _document(context: LoginContext, issuer: str) -> JSONObject:
    _require_url(context, issuer, "issuer")
    candidates, responses = provider_metadata_urls(issuer), list[MetadataResponse]()
    for candidate in candidates:
        responses.append(await context.fetch_metadata(get_document(candidate.url)))
        document = read_document(responses[-1])
        if document.outcome is LookupOutcome.FOUND and document.content is not None:
            show_candidates(context, candidates, responses)
            context.add_decision(f"Using the metadata at {responses[-1].url}.")
            return document.content
    show_candidates(context, candidates, responses)
    if all(response.failure for response in responses):
        raise LoginStopped(
            f"Could not reach the identity provider {issuer}. {responses[0].failure}",
            "Check the network and the issuer in the server's settings, then try again.",
        )
    raise LoginStopped(
        f"No metadata found for the identity provider {issuer}.",
        "Check its issuer in the server's settings, and whether it supports OpenID Connect.",
    )


def _ask_about_hosts(context: LoginContext, result: ServerMetadataResult) -> None:
    issuer, hosts = result.metadata.issuer, result.foreign_hosts
    if hosts:
        text = f"The identity provider {issuer} has endpoints on other hosts: {quote_names(hosts)}."
        context.prompt = LoginPrompt(
            LoginPromptKind.HOSTS, f"{text} Do they belong to the same operator?", issuer, hosts
        )


def _with_typed_endpoint(
    context: LoginContext, found: ServerMetadata, provider: IdentityProvider
) -> ServerMetadata:
    if not provider.token_endpoint:
        return found
    typed = _require_url(context, provider.token_endpoint, "token endpoint")
    context.add_decision("Using the token endpoint set by you.")
    return replace(found, endpoints={**found.endpoints, "token_endpoint": typed})


def _require_endpoints(found: ServerMetadata, *, needs_login: bool) -> None:
    needed = ("authorization_endpoint", "token_endpoint") if needs_login else ("token_endpoint",)
    for name in needed:
        if name not in found.endpoints:
            raise LoginStopped(
                f"The identity provider's metadata has no usable {name}.",
                "Its operator must correct the metadata.",
            )


async def _use_configured_client(context: LoginContext, provider: IdentityProvider) -> None:
    found = context.facts.provider
    assert found is not None
    if not provider.client_id and provider.id_token is None:
        raise LoginStopped("There is no client ID for the identity provider.", _SETTINGS)
    secret = await context.tools.store.secret(provider.client_secret, "identity provider's client secret")
    choice = choose_method(offered=found.auth_methods, has_secret=bool(secret), typed=provider.method)
    if choice.method is None:
        raise LoginStopped(
            choice.problem, "Choose another client authentication method in the server's settings."
        )
    if not provider.client_id:
        return
    facts = context.facts
    facts.provider_client = Client(
        provider.client_id, provider.issuer, ClientSource.PRE_REGISTERED, choice.method.value, secret
    )
    facts.provider_method = choice.method
    context.add_input("client ID", provider.client_id, "set by you")
    context.add_input("client secret", secret or None, "set by you" if secret else "", is_secret=True)
    context.add_input("authentication", choice.method.value, choice.reason)


def provider_request(context: LoginContext, form: Form) -> TokenRequest:
    facts = context.facts
    assert facts.provider is not None
    endpoint = facts.provider.token_endpoint
    assert endpoint is not None
    return TokenRequest(endpoint.url, form, facts.provider_client, facts.provider_method)


# Token response findings that are about the message itself. The access token in it is for the provider's
# own use, so its content is not checked.
_MESSAGE_FINDINGS = ("TOK-001", "TOK-002", "TOK-003", "TOK-005", "TOK-006", "TOK-014", "TOK-015", "TOK-018")


async def prepare_refresh(context: LoginContext) -> LoginRequest | None:
    """Return the refresh request, if one is needed."""
    provider = configured_provider(context)
    saved = await _saved_login(context) if provider.id_token is None else None
    if saved is None or not saved.refresh_token or _is_valid(context, saved):
        return None
    request = provider_request(context, refresh_form(saved.refresh_token, None))
    return request.http(context.tools.now(), context.tools.nonces)


async def find_id_token(context: LoginContext) -> None:
    """Find a valid ID token without asking; without one, the user logs in."""
    provider = configured_provider(context)
    if provider.id_token is not None:
        token = await context.tools.store.secret(provider.id_token, "ID token")
        if is_expired(token, context.tools.now()):
            raise LoginStopped(
                "The ID token that you entered has expired.",
                "Enter another one, or remove it from the server's settings and log in.",
            )
        _use(context, token, "set by you")
        return
    if await _saved_login(context) is not None:
        async with context.tools.store.provider_login_lock(provider.issuer):
            saved = await _saved_login(context)  # another MCP Lens may just have refreshed it
            if saved is not None:
                await _use_saved_login(context, saved)
    if not context.facts.id_token:
        context.add_decision("Log in at the identity provider in the browser.")


async def _use_saved_login(context: LoginContext, saved: ProviderLogin) -> None:
    if _is_valid(context, saved):
        context.add_decision("Using the saved ID token, which is still valid.")
        _use(context, saved.id_token, "from an earlier login")
    elif saved.refresh_token:
        await _refresh(context, saved)
    else:
        context.add_decision("The saved ID token has expired, and there is no refresh token.")


async def _refresh(context: LoginContext, saved: ProviderLogin) -> None:
    request = provider_request(context, refresh_form(saved.refresh_token, None))
    response = await request_token(request, context.send, context.tools.now, context.tools.nonces)
    result = _read(context, response, Grant.REFRESH)
    if result.tokens is None:
        if not result.ends_login:
            raise LoginStopped(result.problem, "Try again. Your identity provider login is still saved.")
        await context.tools.store.delete_provider_login(saved.issuer)
        context.add_decision(
            f"The earlier login at the identity provider is no longer valid. {result.problem}"
        )
        return
    tokens = result.tokens
    saved = replace(saved, refresh_token=tokens.refresh_token or saved.refresh_token)
    if tokens.id_token:
        try:
            checked = _check(context, tokens.id_token, subject=saved.subject)
        except LoginStopped as exc:  # otherwise it would be retried each time
            await context.tools.store.delete_provider_login(saved.issuer)
            raise expired_login_error(context, exc.summary) from exc
        saved = replace(saved, id_token=tokens.id_token, expires_at=checked.expires_at)
    await context.tools.store.save_provider_login(saved)  # the old refresh token may be invalid now
    if tokens.id_token:
        context.add_decision("Refreshed the ID token with the refresh token.")
        _use(context, tokens.id_token, "refreshed")
    else:
        context.add_decision("The identity provider did not return a new ID token on refresh.")


def expired_login_error(context: LoginContext, problem: str) -> LoginStopped:
    """Return the error for an earlier login that turned out invalid and was deleted."""
    kind = LoginStopped if context.opens_browser else BrowserNeeded
    return kind(problem, "The earlier login is no longer valid. Log in at the identity provider again.")


async def _saved_login(context: LoginContext) -> ProviderLogin | None:
    """Return the saved login of the current client; those of other clients are ignored."""
    client = context.facts.provider_client
    if client is None:
        return None
    saved = await context.tools.store.provider_login(client.issuer)
    return saved if saved is not None and saved.client_id == client.client_id else None


def _is_valid(context: LoginContext, saved: ProviderLogin) -> bool:
    return not is_expired(saved.id_token, context.tools.now(), soon=True)


def _use(context: LoginContext, id_token: str, origin: str) -> None:
    context.facts.id_token = id_token
    context.add_input("ID token", id_token, origin, is_secret=True)
    context.add_claims("ID token", id_token)


async def prepare_id_token(context: LoginContext) -> LoginRequest | None:
    if context.facts.id_token:
        return None
    return provider_request(context, _code_form(context)).http(context.tools.now(), context.tools.nonces)


async def request_id_token(context: LoginContext) -> None:
    facts = context.facts
    if facts.id_token:
        context.notes.is_skipped = True
        return
    request = provider_request(context, _code_form(context))
    for name, value in request.form:
        context.add_input(name, value, is_secret=name in ("code", "code_verifier"))
    context.used_secrets.add(facts.code)
    try:
        facts.id_token_response = await request_token(
            request, context.send, context.tools.now, context.tools.nonces
        )
    finally:
        facts.code = ""  # a code is valid for one request, however that ended


async def accept_id_token(context: LoginContext) -> None:
    """Check and save the ID token, with the refresh token that saves the next login."""
    facts = context.facts
    if facts.id_token:
        context.notes.is_skipped = True
        return
    response, found, client = facts.id_token_response, facts.provider, facts.provider_client
    assert response is not None
    assert found is not None
    assert client is not None
    result = _read(context, response, Grant.CODE)
    if result.tokens is None:
        raise LoginStopped(result.problem, "The authorization code has been used. Go back to “Open browser”.")
    if not result.tokens.id_token:
        context.add_findings([missing := finding("IDT-001", context.revision)])
        raise LoginStopped(f"{missing.seen} {missing.rule}", missing.fix)
    checked = _check(context, result.tokens.id_token, nonce=facts.nonce)
    revocation = found.revocation_endpoint
    login = ProviderLogin(
        client.issuer,
        client.client_id,
        result.tokens.id_token,
        result.tokens.refresh_token,
        checked.subject,
        checked.expires_at,
        revocation.url if revocation is not None else "",
        client.method,
    )
    async with context.tools.store.provider_login_lock(client.issuer):
        is_saved = await context.tools.store.save_provider_login(login)
    context.add_input(
        "refresh token", result.tokens.refresh_token or None, "to get a new ID token", is_secret=True
    )
    where = "is saved" if is_saved else "is not saved: secrets are stored for this session only"
    context.add_decision(f"Your identity provider login {where}.")
    _use(context, result.tokens.id_token, "from this login")


def _code_form(context: LoginContext) -> Form:
    facts = context.facts
    if not facts.code or facts.code in context.used_secrets:
        raise LoginStopped(
            "The authorization code has been used; it is valid for one request only.",
            "Go back to “Open browser”.",
        )
    return code_form(facts.code, facts.redirect_uri, facts.verifier, None)


def _check(context: LoginContext, id_token: str, *, nonce: str = "", subject: str = "") -> IdTokenResult:
    client = context.facts.provider_client
    assert client is not None
    expected = IdTokenExpectation(client.issuer, client.client_id, nonce, subject)
    checked = check_id_token(id_token, expected, context.tools.now(), context.revision)
    context.add_findings(checked.findings)
    context.add_table(
        "ID token checks",
        ("Check", "Result", ""),
        ((check.name, check.result.value, check.text) for check in checked.checks),
    )
    if checked.problem:
        raise LoginStopped(
            checked.problem, "The ID token is not used. To log in again, go back to “Open browser”."
        )
    return checked


def _read(context: LoginContext, response: LoginResponse, grant: Grant) -> TokenResponse:
    client, method, found = (
        context.facts.provider_client,
        context.facts.provider_method,
        context.facts.provider,
    )
    assert client is not None
    expected = TokenExpectation(
        grant,
        client.issuer,
        client.client_id,
        None,
        method=(method or AuthMethod.NONE).value,
        offered_methods=(found.auth_methods if found is not None else None) or (),
    )
    result = read_token_response(
        response.status,
        response.headers,
        response.body,
        expected,
        now=context.tools.now(),
        revision=context.revision,
    )
    context.add_findings(finding for finding in result.findings if finding.id in _MESSAGE_FINDINGS)
    return result
