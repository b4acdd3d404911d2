"""Login steps of tokens: ID token exchange, token request, checks of the response."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from inspector.base.json.values import some
from inspector.oauth.http import LoginReply, LoginRequest
from inspector.oauth.login.context import LoginContext, LoginStopped
from inspector.oauth.login.identity_provider import provider_request, sign_in_again
from inspector.oauth.login.steps import LoginGrant
from inspector.oauth.signing import SigningKey, read_key
from inspector.oauth.store import StoredLogin
from inspector.oauth.token_endpoint import TokenRequest, request_token
from inspector.protocol.auth.id_token import judge_id_jag
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
from inspector.protocol.auth.tokens import TokenExpectation, TokenReply, TokenSet, read_token_reply

_ID_TOKEN_REFUSED = ("invalid_grant", "invalid_token")
_MAX_FILE_LENGTH = 64 * 1024
_GRANTS = {
    LoginGrant.CODE: Grant.CODE,
    LoginGrant.CLIENT: Grant.CLIENT,
    LoginGrant.ENTERPRISE: Grant.ASSERTION,
    LoginGrant.WORKLOAD: Grant.ASSERTION,
}


async def prepare_exchange(stage: LoginContext) -> LoginRequest | None:
    return _exchange(stage).http(stage.tools.now(), stage.tools.nonces)


async def exchange(stage: LoginContext) -> None:
    """Exchange an ID token for an ID-JAG, the assertion for the server's authorization server."""
    facts, request = stage.facts, _exchange(stage)
    assert facts.provider is not None
    assert facts.server is not None
    for name, value in request.form:
        stage.use(name, value, is_secret=name == "subject_token")
    reply = await request_token(request, stage.send, stage.tools.now, stage.tools.nonces)
    requested = TokenExpectation(
        Grant.EXCHANGE,
        issuer=facts.provider.issuer,
        client_id=request.client.client_id if request.client is not None else "",
        resource=_resource(stage),
        scopes=_scopes(stage),
        method=request.method.value if request.method is not None else AuthMethod.NONE.value,
    )
    read = _read(stage, reply, requested)
    if read.tokens is None:
        if read.error is not None and read.error.code in _ID_TOKEN_REFUSED:
            if await _forget_id_token(stage, facts.provider.issuer):
                raise sign_in_again(stage, read.problem)
            raise LoginStopped(read.problem, "The ID token may have expired. Enter another one, or log in.")
        raise LoginStopped(
            read.problem, "Check the request that was sent and the identity provider's policy."
        )
    facts.assertion = read.tokens.access_token
    stage.use("ID-JAG", facts.assertion, "from the identity provider", is_secret=True)
    stage.show_claims("ID-JAG", facts.assertion)
    client = facts.client.client_id if facts.client is not None else ""
    stage.find(judge_id_jag(facts.assertion, facts.server.issuer, client, stage.revision))


async def _forget_id_token(stage: LoginContext, issuer: str) -> bool:
    """Delete a rejected ID token, unless another MCP Lens replaced it; return whether it was."""
    store = stage.tools.store
    async with store.signing_in(issuer):
        kept = await store.signed_in(issuer)
        if kept is not None and kept.id_token == stage.facts.id_token:
            await store.drop_sign_in(issuer)
            return True
    return False


def _exchange(stage: LoginContext) -> TokenRequest:
    facts = stage.facts
    assert facts.server is not None
    scope = " ".join(_scopes(stage)) or None
    return provider_request(
        stage, exchange_form(facts.id_token, facts.server.issuer, _resource(stage), scope)
    )


async def prepare_token(stage: LoginContext) -> LoginRequest | None:
    return (await _token_request(stage)).http(stage.tools.now(), stage.tools.nonces)


async def request_access_token(stage: LoginContext) -> None:
    facts = stage.facts
    request = await _token_request(stage)
    facts.requested = TokenExpectation(
        _GRANTS[stage.grant],
        issuer=_issuer(stage),
        client_id=facts.client.client_id if facts.client is not None else "",
        resource=_resource(stage),
        scopes=_scopes(stage),
        method=facts.method.value if facts.method is not None else AuthMethod.NONE.value,
        offered_methods=_offered(stage) or (),
        key_thumbprint=facts.key.thumbprint() if facts.key is not None else "",
    )
    for name, value in request.form:
        stage.use(name, value, is_secret=name in ("code", "code_verifier", "assertion"))
    if facts.code:
        stage.spent.add(facts.code)
    try:
        facts.reply = await request_token(request, stage.send, stage.tools.now, stage.tools.nonces)
    finally:
        facts.code = ""  # a code is valid for one request, however that ended


async def _token_request(stage: LoginContext) -> TokenRequest:
    facts = stage.facts
    assert facts.server is not None
    endpoint = facts.server.token_endpoint
    if endpoint is None:
        raise LoginStopped("The metadata has no usable token_endpoint.")
    audience = facts.server.issuer if stage.settings.audience == "issuer" else endpoint.url
    return TokenRequest(
        endpoint.url,
        await _form(stage),
        facts.client,
        facts.method,
        audience,
        await _client_key(stage),
        facts.key,
    )


async def _form(stage: LoginContext) -> Form:
    facts, resource, scope = stage.facts, _resource(stage), " ".join(_scopes(stage)) or None
    if stage.grant is LoginGrant.CODE:
        if not facts.code or facts.code in stage.spent:
            raise LoginStopped(
                "The authorization code has been used; it is valid for one request only.",
                "Go back to “Open browser”.",
            )
        return code_form(facts.code, facts.redirect_uri, facts.verifier, resource)
    if stage.grant is LoginGrant.CLIENT:
        return client_form(resource, scope)
    if stage.grant is LoginGrant.ENTERPRISE:
        return assertion_form(facts.assertion, resource, scope)
    return assertion_form(await _workload_jwt(stage), resource, scope)


async def _client_key(stage: LoginContext) -> SigningKey | None:
    if stage.facts.method is not AuthMethod.PRIVATE_KEY:
        return None
    pem = await stage.tools.store.secret(stage.settings.key, "client's private key")
    return read_key(pem, stage.settings.algorithm)


async def _workload_jwt(stage: LoginContext) -> str:
    """Read the workload's JWT, each time anew: platforms rotate them."""
    settings = stage.settings
    if settings.assertion is not None:
        return await stage.tools.store.secret(settings.assertion, "workload JWT")
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
        return file.read(_MAX_FILE_LENGTH).decode("ascii", "replace")


async def accept_token(stage: LoginContext) -> None:
    facts = stage.facts
    assert facts.requested is not None
    assert facts.reply is not None
    read = _read(stage, facts.reply, facts.requested)
    if read.tokens is None:
        raise LoginStopped(read.problem, _next_step(stage))
    assert facts.server is not None
    _show_tokens(stage, read.tokens)
    stage.check(stage.notes.findings)  # before saving: strict mode rejects any error
    revocation = facts.server.revocation_endpoint
    endpoint = facts.server.token_endpoint
    assert endpoint is not None
    facts.held = StoredLogin(
        read.tokens,
        endpoint.url,
        revocation.url if revocation is not None else "",
        facts.server.auth_methods,
        facts.server.scopes or (),
    )
    async with stage.tools.store.renewing(facts.held.tokens.issuer):  # the old ones may be refreshing
        facts.is_saved = await stage.tools.store.hold(facts.held)
    where = "are saved" if facts.is_saved else "are not saved: secrets are stored for this session only"
    stage.decide(f"The tokens {where}.")


def _read(stage: LoginContext, reply: LoginReply, requested: TokenExpectation) -> TokenReply:
    read = read_token_reply(
        reply.status, reply.headers, reply.body, requested, now=stage.tools.now(), revision=stage.revision
    )
    stage.find(read.findings)
    return read


def _show_tokens(stage: LoginContext, tokens: TokenSet) -> None:
    stage.use("access token", tokens.access_token, tokens.token_type, is_secret=True)
    stage.use("refresh token", tokens.refresh_token or None, "", is_secret=True)
    difference = compare_scopes(tokens.requested, tokens.scopes)
    stage.use("scope", " ".join(tokens.scopes) or None, "granted")
    if difference.missing:
        stage.decide(f"Requested but not granted: {some(difference.missing)}.")
    if difference.extra:
        stage.decide(f"Granted but not requested: {some(difference.extra)}.")
    if tokens.expires_at is None:
        stage.decide("No lifetime is stated: the token is used until the server responds with 401.")
    else:
        stage.decide(f"The access token is valid for {tokens.expires_at - tokens.received_at:,.0f} seconds.")
    stage.show_claims("access token", tokens.access_token)


def _next_step(stage: LoginContext) -> str:
    if stage.grant is LoginGrant.CODE:
        return "The authorization code has been used. Go back to “Open browser”."
    return "Check the request that was sent and the server's login settings."


def _issuer(stage: LoginContext) -> str:
    """Return the issuer, under which everything is stored. Raises Stop if it is ambiguous."""
    server = stage.facts.server
    assert server is not None
    is_same = server.stated_issuer == server.issuer or stage.overrides.tolerates_slash
    if server.source is MetadataSource.NAMED and not is_same:
        raise LoginStopped(
            f"The metadata is for {server.stated_issuer}, not for {server.issuer}.",
            "No code or secret was sent. The authorization server's operator must correct the issuer.",
        )
    return server.issuer


def _resource(stage: LoginContext) -> str | None:
    return stage.facts.resource_value.value if stage.facts.resource_value is not None else None


def _scopes(stage: LoginContext) -> tuple[str, ...]:
    return stage.facts.scopes.scopes if stage.facts.scopes is not None else ()


def _offered(stage: LoginContext) -> tuple[str, ...] | None:
    return stage.facts.server.auth_methods if stage.facts.server is not None else None
