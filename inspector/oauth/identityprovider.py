"""Steps of a login for a company: its identity provider says who we are, by OpenID Connect.

The person signs in there with the browser (`browsing.py`), once; from then on the ID token, or the refresh
token that came with it, does without them. What is exchanged for it is `obtaining.py`'s. The provider is the
one that the person configured: nothing that a server says leads here.
"""

from __future__ import annotations

from dataclasses import replace

from inspector.config.auth import IdentityProvider
from inspector.oauth.http import LoginRequest, get_document
from inspector.oauth.stage import Stage, Stop
from inspector.oauth.steps import Question, QuestionKind
from inspector.oauth.store import SignedIn
from inspector.oauth.tokenrequest import TokenRequest, request_token
from inspector.protocol.auth.clientauth import AuthMethod, choose_method
from inspector.protocol.auth.documents import Outcome, Reply, read_document
from inspector.protocol.auth.findings import Finding
from inspector.protocol.auth.grants import Form, Grant, code_form, refresh_form
from inspector.protocol.auth.guard import check_url
from inspector.protocol.auth.identity import Client, ClientSource
from inspector.protocol.auth.idtoken import (
    IdTokenExpectation,
    IdTokenVerdict,
    check_id_token,
    has_run_out,
)
from inspector.protocol.auth.servermeta import (
    CONTACTED,
    MetadataSource,
    Pkce,
    ServerMetadata,
    provider_places,
    read_server_metadata,
)
from inspector.protocol.auth.tokens import MARGIN, TokenAsked, TokenReply, read_token_reply
from inspector.protocol.members import some

# Of what can be wrong with a token reply, that which is about the message. What the access token in it holds
# is not our business: it is the provider's own, and nobody uses it.
_ABOUT_MESSAGE = ("TOK-001", "TOK-002", "TOK-003", "TOK-005", "TOK-006", "TOK-014", "TOK-015", "TOK-018")
_SETTINGS = "Enter it in the server's settings, under its login."

# ------------------------------------------------------------------ where it is


def configured(stage: Stage) -> IdentityProvider:
    """What the person set. Raises Stop when there is nothing to begin with."""
    provider = stage.settings.identity_provider
    if provider is None or not (provider.issuer or (provider.token_endpoint and provider.id_token)):
        raise Stop("The company's identity provider is not configured.", f"Its issuer is needed. {_SETTINGS}")
    return provider


def _is_complete(provider: IdentityProvider) -> bool:
    """Nobody signs in, and where the ID token is exchanged was said too: then nothing is looked for."""
    return bool(provider.token_endpoint) and provider.id_token is not None


async def prepare_lookup(stage: Stage) -> LoginRequest | None:
    provider = configured(stage)
    return None if _is_complete(provider) else get_document(provider_places(provider.issuer)[0].url)


async def look_for_provider(stage: Stage) -> None:
    """Its document, which must be its own; then who we are there."""
    provider = configured(stage)
    if _is_complete(provider):
        stage.notes.is_skipped = True
        stage.decide("You entered an ID token, and where it is exchanged.")
        endpoint = stage.http.check(provider.token_endpoint)
        stage.facts.provider = ServerMetadata(
            {}, provider.issuer, None, MetadataSource.DEFAULTS, {"token_endpoint": endpoint}
        )
    else:
        stage.facts.provider = await _found(stage, provider)
    await _settle_client(stage, provider)


async def _found(stage: Stage, provider: IdentityProvider) -> ServerMetadata:
    issuer = provider.issuer
    check_url(issuer, stage.allowance)
    replies: list[Reply] = []
    rows = []
    for candidate in provider_places(issuer):
        replies.append(reply := await stage.look(get_document(candidate.url)))
        rows.append((candidate.url, candidate.why, reply.failure or str(reply.status)))
        document = read_document(reply)
        if document.outcome is Outcome.FOUND and document.content is not None:
            break
    else:
        stage.show("Places", ("Address", "Why", "Answer"), rows)
        raise Stop(
            f"The identity provider {issuer} has no metadata at {some(reply.url for reply in replies)}.",
            "Check its issuer in the server's settings.",
        )
    stage.show("Places", ("Address", "Why", "Answer"), rows)
    stage.decide(f"The document at {replies[-1].url} is used.")
    reading = read_server_metadata(
        document.content,
        issuer,
        stage.revision,
        stage.allowance,
        allowed_hosts=await stage.tools.store.allowed_hosts(issuer),
        needs_code=provider.id_token is None,
    )
    stage.find(reading.findings)
    found = _with_typed_endpoint(stage, reading.metadata, provider)
    stage.use("issuer", found.stated_issuer, "from the document")
    stage.use("expected issuer", issuer, "you set it")
    if found.stated_issuer != issuer:  # in any revision: its ID tokens name it, letter for letter
        raise Stop(
            f"The document is that of {found.stated_issuer}, and not of {issuer}.",
            "Nothing of it is used. Correct the issuer in the server's settings, or the document.",
        )
    _require_endpoints(found, is_signing_in=provider.id_token is None)
    stage.show(
        "Endpoints",
        ("Endpoint", "Address"),
        ((name, found.endpoints[name].raw) for name in CONTACTED if name in found.endpoints),
    )
    if provider.id_token is None and found.pkce is not Pkce.S256:
        stage.decide("It does not say that it knows PKCE (S256): the challenge is sent all the same.")
    if reading.foreign_hosts:
        stage.question = Question(
            QuestionKind.HOSTS,
            f"The identity provider {issuer} has endpoints on other hosts: {some(reading.foreign_hosts)}. "
            "Do they belong to it?",
            issuer,
            reading.foreign_hosts,
        )
    return found


def _with_typed_endpoint(stage: Stage, found: ServerMetadata, provider: IdentityProvider) -> ServerMetadata:
    if not provider.token_endpoint:
        return found
    typed = stage.http.check(provider.token_endpoint)
    stage.decide("Its token endpoint is the one that you set.")
    return replace(found, endpoints={**found.endpoints, "token_endpoint": typed})


def _require_endpoints(found: ServerMetadata, *, is_signing_in: bool) -> None:
    needed = ("authorization_endpoint", "token_endpoint") if is_signing_in else ("token_endpoint",)
    for name in needed:
        if name not in found.endpoints:
            raise Stop(
                f"The identity provider names no {name} that may be used.",
                "Its operator must correct its metadata.",
            )


async def _settle_client(stage: Stage, provider: IdentityProvider) -> None:
    found = stage.facts.provider
    assert found is not None
    if not provider.client_id and provider.id_token is None:
        raise Stop("The identity provider does not know us: there is no client ID.", _SETTINGS)
    secret = await stage.tools.store.secret(provider.client_secret, "identity provider's client secret")
    choice = choose_method(offered=found.auth_methods, has_secret=bool(secret), typed=provider.method)
    if choice.method is None:
        raise Stop(choice.problem, "Choose another method in the server's settings.")
    if not provider.client_id:
        return
    facts = stage.facts
    facts.provider_client = Client(
        provider.client_id, provider.issuer, ClientSource.BY_HAND, choice.method.value, secret
    )
    facts.provider_method = choice.method
    stage.use("client ID", provider.client_id, "you set it")
    stage.use("client secret", secret or None, "you set it", is_secret=True)
    stage.use("authentication", choice.method.value, choice.reason)


# ------------------------------------------------------------------ who signed in before


async def prepare_sign_in(stage: Stage) -> LoginRequest | None:
    """The refresh, when that is how it will go."""
    provider = configured(stage)
    kept = await _kept(stage) if provider.id_token is None else None
    if kept is None or not kept.refresh_token or _is_good(stage, kept):
        return None
    request = provider_request(stage, refresh_form(kept.refresh_token, None))
    return request.http(stage.tools.now(), stage.tools.nonces)


async def look_for_sign_in(stage: Stage) -> None:
    """An ID token that is still good, without asking the person; where there is none, they sign in."""
    provider = configured(stage)
    if provider.id_token is not None:
        token = await stage.tools.store.secret(provider.id_token, "ID token")
        if has_run_out(token, stage.tools.now()):
            raise Stop(
                "The ID token that you entered has run out.",
                "Enter another one, or take it out of the server's settings and sign in.",
            )
        _use(stage, token, "you entered it")
        return
    if await _kept(stage) is not None:
        async with stage.tools.store.signing_in(provider.issuer):
            kept = await _kept(stage)  # another MCP Lens may just have renewed it
            if kept is not None:
                await _use_kept(stage, kept)
    if not stage.facts.id_token:
        stage.decide("You sign in with the browser.")


async def _use_kept(stage: Stage, kept: SignedIn) -> None:
    if _is_good(stage, kept):
        stage.decide("You signed in before, and the ID token still holds.")
        _use(stage, kept.id_token, "of your earlier sign-in")
    elif kept.refresh_token:
        await _renew(stage, kept)
    else:
        stage.decide("The ID token of the earlier sign-in has run out, and there is no refresh token.")


async def _renew(stage: Stage, kept: SignedIn) -> None:
    request = provider_request(stage, refresh_form(kept.refresh_token, None))
    reply = await request_token(request, stage.send, stage.tools.now, stage.tools.nonces)
    asked = replace(_asked(stage), grant=Grant.REFRESH)
    read = read_token_reply(
        reply.status, reply.headers, reply.body, asked, now=stage.tools.now(), revision=stage.revision
    )
    _note(stage, read)
    if read.tokens is None:
        if not read.ends_login:
            raise Stop(read.problem, "Try again; your sign-in is kept.")
        await stage.tools.store.drop_sign_in(kept.issuer)
        stage.decide(f"The earlier sign-in is over. {read.problem}")
        return
    tokens = read.tokens
    kept = replace(kept, refresh_token=tokens.refresh_token or kept.refresh_token)
    if tokens.id_token:
        verdict = _check(stage, tokens.id_token, subject=kept.subject)
        kept = replace(kept, id_token=tokens.id_token, expires_at=verdict.expires_at)
    await stage.tools.store.keep_sign_in(kept)  # the old refresh token may be worth nothing now
    if tokens.id_token:
        stage.decide("The ID token was renewed with the refresh token.")
        _use(stage, tokens.id_token, "renewed")
    else:
        stage.decide("The identity provider renews no ID tokens.")


async def _kept(stage: Stage) -> SignedIn | None:
    """What was kept for the client that we are now: another one's is none of ours."""
    client = stage.facts.provider_client
    if client is None:
        return None
    kept = await stage.tools.store.signed_in(client.issuer)
    return kept if kept is not None and kept.client_id == client.client_id else None


def _is_good(stage: Stage, kept: SignedIn) -> bool:
    return not has_run_out(kept.id_token, stage.tools.now(), MARGIN)


def _use(stage: Stage, id_token: str, origin: str) -> None:
    stage.facts.id_token = id_token
    stage.use("ID token", id_token, origin, is_secret=True)
    stage.show_claims("ID token", id_token)


# ------------------------------------------------------------------ the ID token


async def prepare_id_token(stage: Stage) -> LoginRequest | None:
    if stage.facts.id_token:
        return None
    return provider_request(stage, _code_form(stage)).http(stage.tools.now(), stage.tools.nonces)


async def ask_for_id_token(stage: Stage) -> None:
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
        facts.code = ""  # a code is good for one request, however that ended


async def take_id_token(stage: Stage) -> None:
    """Check it and keep it, with the refresh token that spares the next sign-in."""
    facts = stage.facts
    if facts.id_token:
        stage.notes.is_skipped = True
        return
    reply, found, client = facts.id_reply, facts.provider, facts.provider_client
    assert reply is not None
    assert found is not None
    assert client is not None
    read = read_token_reply(
        reply.status, reply.headers, reply.body, _asked(stage), now=stage.tools.now(), revision=stage.revision
    )
    _note(stage, read)
    if read.tokens is None:
        raise Stop(read.problem, "The code is used up. Go back to “Open browser”.")
    if not read.tokens.id_token:
        raise Stop(
            "The identity provider gave no ID token.",
            "It must do OpenID Connect, and let this client ask for the scope openid.",
        )
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
        is_kept = await stage.tools.store.keep_sign_in(signed_in)
    stage.use("refresh token", read.tokens.refresh_token or None, "for another ID token", is_secret=True)
    where = "is kept" if is_kept else "is for this run only: the secret store keeps nothing"
    stage.decide(f"Your sign-in {where}.")
    _use(stage, read.tokens.id_token, "of this sign-in")


def _code_form(stage: Stage) -> Form:
    facts = stage.facts
    if not facts.code or facts.code in stage.spent:
        raise Stop("The code is used up: it is good for one request.", "Go back to “Open browser”.")
    return code_form(facts.code, facts.redirect_uri, facts.verifier, None)


def _check(stage: Stage, id_token: str, *, nonce: str = "", subject: str = "") -> IdTokenVerdict:
    client = stage.facts.provider_client
    assert client is not None
    expected = IdTokenExpectation(client.issuer, client.client_id, nonce, subject)
    verdict = check_id_token(id_token, expected, stage.tools.now())
    stage.show(
        "Checks of the ID token",
        ("What", "Result", ""),
        ((check.name, check.result.value, check.words) for check in verdict.checks),
    )
    if verdict.problem:
        raise Stop(verdict.problem, "It is not used. The provider, or our client ID there, is wrong.")
    return verdict


# ------------------------------------------------------------------ requests to its token endpoint


def provider_request(stage: Stage, form: Form) -> TokenRequest:
    facts = stage.facts
    assert facts.provider is not None
    endpoint = facts.provider.token_endpoint
    assert endpoint is not None
    return TokenRequest(endpoint.url, form, facts.provider_client, facts.provider_method)


def _asked(stage: Stage) -> TokenAsked:
    client, method = stage.facts.provider_client, stage.facts.provider_method
    assert client is not None
    offered = stage.facts.provider.auth_methods if stage.facts.provider is not None else None
    return TokenAsked(
        Grant.CODE,
        client.issuer,
        client.client_id,
        None,
        method=(method or AuthMethod.NONE).value,
        offered_methods=offered or (),
    )


def _note(stage: Stage, read: TokenReply) -> None:
    found: list[Finding] = [one for one in read.findings if one.id in _ABOUT_MESSAGE]
    stage.find(found)
