"""Login steps of tokens: ID token exchange, token request, checks of the response."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from inspector.base.json.values import quote_names
from inspector.oauth.http import LoginRequest, LoginResponse
from inspector.oauth.login.context import LoginContext, LoginStopped
from inspector.oauth.login.identity_provider import expired_login_error, provider_request
from inspector.oauth.login.steps import LoginGrant
from inspector.oauth.signing import SigningKey, read_key
from inspector.oauth.store import StoredLogin
from inspector.oauth.token_endpoint import TokenRequest, request_token
from inspector.protocol.auth.id_token import check_id_jag
from inspector.protocol.auth.scopes import compare_scopes
from inspector.protocol.auth.server_metadata import MetadataSource
from inspector.protocol.auth.token_request import (
    AuthMethod,
    Form,
    Grant,
    assertion_form,
    client_form,
    code_form,
    exchange_form,
)
from inspector.protocol.auth.tokens import TokenExpectation, TokenResponse, TokenSet, read_token_response

_ID_TOKEN_ERRORS = ("invalid_grant", "invalid_token")
_MAX_FILE_SIZE = 64 * 1024
_GRANTS = {
    LoginGrant.CODE: Grant.CODE,
    LoginGrant.CLIENT: Grant.CLIENT,
    LoginGrant.ENTERPRISE: Grant.ASSERTION,
    LoginGrant.WORKLOAD: Grant.ASSERTION,
}


async def prepare_exchange(context: LoginContext) -> LoginRequest | None:
    return _exchange(context).http(context.tools.now(), context.tools.nonces)


async def exchange(context: LoginContext) -> None:
    """Exchange an ID token for an ID-JAG, the assertion for the server's authorization server."""
    facts, request = context.facts, _exchange(context)
    assert facts.provider is not None
    assert facts.server is not None
    for name, value in request.form:
        context.add_input(name, value, is_secret=name == "subject_token")
    response = await request_token(request, context.send, context.tools.now, context.tools.nonces)
    expected = TokenExpectation(
        Grant.EXCHANGE,
        issuer=facts.provider.issuer,
        client_id=request.client.client_id if request.client is not None else "",
        resource=_resource(context),
        scopes=_scopes(context),
        method=request.method.value if request.method is not None else AuthMethod.NONE.value,
    )
    result = _read(context, response, expected)
    if result.tokens is None:
        if result.error is not None and result.error.code in _ID_TOKEN_ERRORS:
            if await _delete_id_token(context, facts.provider.issuer):
                raise expired_login_error(context, result.problem)
            raise LoginStopped(result.problem, "The ID token may have expired. Enter another one, or log in.")
        raise LoginStopped(
            result.problem, "Check the request that was sent and the identity provider's policy."
        )
    facts.assertion = result.tokens.access_token
    context.add_input("ID-JAG", facts.assertion, "from the identity provider", is_secret=True)
    context.add_claims("ID-JAG", facts.assertion)
    client = facts.client.client_id if facts.client is not None else ""
    context.add_findings(check_id_jag(facts.assertion, facts.server.issuer, client, context.revision))


async def _delete_id_token(context: LoginContext, issuer: str) -> bool:
    """Delete a rejected ID token, unless another MCP Lens replaced it; return whether it was."""
    store = context.tools.store
    async with store.provider_login_lock(issuer):
        saved = await store.provider_login(issuer)
        if saved is not None and saved.id_token == context.facts.id_token:
            await store.delete_provider_login(issuer)
            return True
    return False


def _exchange(context: LoginContext) -> TokenRequest:
    facts = context.facts
    assert facts.server is not None
    scope = " ".join(_scopes(context)) or None
    return provider_request(
        context, exchange_form(facts.id_token, facts.server.issuer, _resource(context), scope)
    )


async def prepare_token(context: LoginContext) -> LoginRequest | None:
    return (await _token_request(context)).http(context.tools.now(), context.tools.nonces)


async def request_access_token(context: LoginContext) -> None:
    facts = context.facts
    request = await _token_request(context)
    facts.expected = TokenExpectation(
        _GRANTS[context.grant],
        issuer=_issuer(context),
        client_id=facts.client.client_id if facts.client is not None else "",
        resource=_resource(context),
        scopes=_scopes(context),
        method=facts.method.value if facts.method is not None else AuthMethod.NONE.value,
        offered_methods=_offered_methods(context) or (),
        key_thumbprint=facts.key.thumbprint() if facts.key is not None else "",
    )
    for name, value in request.form:
        context.add_input(name, value, is_secret=name in ("code", "code_verifier", "assertion"))
    if facts.code:
        context.used_secrets.add(facts.code)
    try:
        facts.token_response = await request_token(
            request, context.send, context.tools.now, context.tools.nonces
        )
    finally:
        facts.code = ""  # a code is valid for one request, however that ended


async def _token_request(context: LoginContext) -> TokenRequest:
    facts = context.facts
    assert facts.server is not None
    endpoint = facts.server.token_endpoint
    if endpoint is None:
        raise LoginStopped("The metadata has no usable token_endpoint.")
    audience = facts.server.issuer if context.settings.audience == "issuer" else endpoint.url
    return TokenRequest(
        endpoint.url,
        await _form(context),
        facts.client,
        facts.method,
        audience,
        await _client_key(context),
        facts.key,
    )


async def _form(context: LoginContext) -> Form:
    facts, resource, scope = context.facts, _resource(context), " ".join(_scopes(context)) or None
    if context.grant is LoginGrant.CODE:
        if not facts.code or facts.code in context.used_secrets:
            raise LoginStopped(
                "The authorization code has been used; it is valid for one request only.",
                "Go back to “Open browser”.",
            )
        return code_form(facts.code, facts.redirect_uri, facts.verifier, resource)
    if context.grant is LoginGrant.CLIENT:
        return client_form(resource, scope)
    if context.grant is LoginGrant.ENTERPRISE:
        return assertion_form(facts.assertion, resource, scope)
    return assertion_form(await _workload_jwt(context), resource, scope)


async def _client_key(context: LoginContext) -> SigningKey | None:
    if context.facts.method is not AuthMethod.PRIVATE_KEY:
        return None
    pem = await context.tools.store.secret(context.settings.key, "client's private key")
    return read_key(pem, context.settings.algorithm)


async def _workload_jwt(context: LoginContext) -> str:
    """Read the workload's JWT, on every use: platforms rotate it."""
    settings = context.settings
    if settings.assertion is not None:
        return await context.tools.store.secret(settings.assertion, "workload JWT")
    if settings.assertion_variable:
        text = os.environ.get(settings.assertion_variable, "")
    elif settings.assertion_file:
        try:
            text = await asyncio.to_thread(_read_file, settings.assertion_file)
        except OSError as exc:
            raise LoginStopped(
                f"Could not read the workload JWT: {exc.strerror}.", "Check the file's path and permissions."
            ) from exc
    else:
        text = ""
    if not text.strip():
        raise LoginStopped(
            "The workload JWT is missing or empty.",
            "Set a secret, a file or an environment variable that contains it.",
        )
    return text.strip()


def _read_file(path: str) -> str:
    with Path(path).expanduser().open("rb") as file:
        return file.read(_MAX_FILE_SIZE).decode("ascii", "replace")


async def accept_token(context: LoginContext) -> None:
    facts = context.facts
    assert facts.expected is not None
    assert facts.token_response is not None
    result = _read(context, facts.token_response, facts.expected)
    if result.tokens is None:
        raise LoginStopped(result.problem, _next_step(context))
    assert facts.server is not None
    _show_tokens(context, result.tokens)
    context.check(context.notes.findings)  # before saving: strict mode rejects any error
    revocation = facts.server.revocation_endpoint
    endpoint = facts.server.token_endpoint
    assert endpoint is not None
    facts.stored_login = StoredLogin(
        result.tokens,
        endpoint.url,
        revocation.url if revocation is not None else "",
        facts.server.auth_methods,
        facts.server.scopes or (),
    )
    async with context.tools.store.refresh_lock(
        facts.stored_login.tokens.issuer
    ):  # the old ones may be refreshing
        facts.is_saved = await context.tools.store.save_login(facts.stored_login)
    where = "are saved" if facts.is_saved else "are not saved: secrets are stored for this session only"
    context.add_decision(f"The tokens {where}.")


def _read(context: LoginContext, response: LoginResponse, expected: TokenExpectation) -> TokenResponse:
    result = read_token_response(
        response.status,
        response.headers,
        response.body,
        expected,
        now=context.tools.now(),
        revision=context.revision,
    )
    context.add_findings(result.findings)
    return result


def _show_tokens(context: LoginContext, tokens: TokenSet) -> None:
    context.add_input("access token", tokens.access_token, tokens.token_type, is_secret=True)
    context.add_input("refresh token", tokens.refresh_token or None, "", is_secret=True)
    difference = compare_scopes(tokens.requested, tokens.scopes)
    context.add_input("scope", " ".join(tokens.scopes) or None, "granted")
    if difference.missing:
        context.add_decision(f"Requested but not granted: {quote_names(difference.missing)}.")
    if difference.extra:
        context.add_decision(f"Granted but not requested: {quote_names(difference.extra)}.")
    if tokens.expires_at is None:
        context.add_decision("No lifetime is stated: the token is used until the server responds with 401.")
    else:
        context.add_decision(
            f"The access token is valid for {tokens.expires_at - tokens.received_at:,.0f} seconds."
        )
    context.add_claims("access token", tokens.access_token)


def _next_step(context: LoginContext) -> str:
    if context.grant is LoginGrant.CODE:
        return "The authorization code has been used. Go back to “Open browser”."
    return "Check the request that was sent and the server's login settings."


def _issuer(context: LoginContext) -> str:
    """Return the issuer, under which everything is stored. Raises LoginStopped if it is ambiguous."""
    server = context.facts.server
    assert server is not None
    is_same = server.stated_issuer == server.issuer or context.overrides.tolerates_slash
    if server.source is MetadataSource.NAMED and not is_same:
        raise LoginStopped(
            f"The metadata is for {server.stated_issuer}, not for {server.issuer}.",
            "No code or secret was sent. The authorization server's operator must correct the issuer.",
        )
    return server.issuer


def _resource(context: LoginContext) -> str | None:
    return context.facts.resource_value.value if context.facts.resource_value is not None else None


def _scopes(context: LoginContext) -> tuple[str, ...]:
    return context.facts.scopes.scopes if context.facts.scopes is not None else ()


def _offered_methods(context: LoginContext) -> tuple[str, ...] | None:
    return context.facts.server.auth_methods if context.facts.server is not None else None
