"""Steps of a login for a company: who signed in before, and the ID token of who signs in now.

The person signs in with the browser once (`browsing.py`); from then on the ID token, or the refresh token
that came with it, does without them. What it is exchanged for is in `obtaining.py`.
"""

from __future__ import annotations

from dataclasses import replace

from inspector.oauth.http import LoginReply, LoginRequest
from inspector.oauth.identityprovider import configured, provider_request
from inspector.oauth.stage import PersonNeeded, Stage, Stop
from inspector.oauth.store import SignedIn
from inspector.oauth.tokenrequest import request_token
from inspector.protocol.auth.clientauth import AuthMethod
from inspector.protocol.auth.findings import finding
from inspector.protocol.auth.grants import Form, Grant, code_form, refresh_form
from inspector.protocol.auth.idtoken import (
    IdTokenExpectation,
    IdTokenVerdict,
    check_id_token,
    has_run_out,
)
from inspector.protocol.auth.tokens import TokenAsked, TokenReply, read_token_reply

# Token response findings that are about the message itself. The access token in it is for the provider's
# own use, so its content is not checked.
_ABOUT_MESSAGE = ("TOK-001", "TOK-002", "TOK-003", "TOK-005", "TOK-006", "TOK-014", "TOK-015", "TOK-018")

# ------------------------------------------------------------------ who signed in before


async def prepare_sign_in(stage: Stage) -> LoginRequest | None:
    """Return the refresh request, if one is needed."""
    provider = configured(stage)
    kept = await _kept(stage) if provider.id_token is None else None
    if kept is None or not kept.refresh_token or _is_good(stage, kept):
        return None
    request = provider_request(stage, refresh_form(kept.refresh_token, None))
    return request.http(stage.tools.now(), stage.tools.nonces)


async def look_for_sign_in(stage: Stage) -> None:
    """Find a valid ID token without asking; without one, the user logs in."""
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
            kept = await _kept(stage)  # another MCP Lens may just have refreshed it
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
    read = _read(stage, reply, Grant.REFRESH)
    if read.tokens is None:
        if not read.ends_login:
            raise Stop(read.problem, "Try again; your sign-in is kept.")
        await stage.tools.store.drop_sign_in(kept.issuer)
        stage.decide(f"The earlier sign-in is over. {read.problem}")
        return
    tokens = read.tokens
    kept = replace(kept, refresh_token=tokens.refresh_token or kept.refresh_token)
    if tokens.id_token:
        try:
            verdict = _check(stage, tokens.id_token, subject=kept.subject)
        except Stop as exc:  # otherwise it would be retried each time
            await stage.tools.store.drop_sign_in(kept.issuer)
            raise sign_in_again(stage, exc.summary) from exc
        kept = replace(kept, id_token=tokens.id_token, expires_at=verdict.expires_at)
    await stage.tools.store.keep_sign_in(kept)  # the old refresh token may be invalid now
    if tokens.id_token:
        stage.decide("The ID token was renewed with the refresh token.")
        _use(stage, tokens.id_token, "renewed")
    else:
        stage.decide("The identity provider renews no ID tokens.")


def sign_in_again(stage: Stage, problem: str) -> Stop:
    """Return the error for an earlier login that turned out invalid and was deleted."""
    kind = Stop if stage.opens_browser else PersonNeeded
    return kind(problem, "The earlier sign-in is over: log in again, and sign in.")


async def _kept(stage: Stage) -> SignedIn | None:
    """Return the saved login of the current client; those of other clients are ignored."""
    client = stage.facts.provider_client
    if client is None:
        return None
    kept = await stage.tools.store.signed_in(client.issuer)
    return kept if kept is not None and kept.client_id == client.client_id else None


def _is_good(stage: Stage, kept: SignedIn) -> bool:
    return not has_run_out(kept.id_token, stage.tools.now(), soon=True)


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
        facts.code = ""  # a code is valid for one request, however that ended


async def take_id_token(stage: Stage) -> None:
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
        raise Stop(read.problem, "The code is used up. Go back to “Open browser”.")
    if not read.tokens.id_token:
        stage.find([missing := finding("IDT-001", stage.revision)])
        raise Stop(f"{missing.seen} {missing.rule}", missing.fix)
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
    verdict = check_id_token(id_token, expected, stage.tools.now(), stage.revision)
    stage.find(verdict.findings)
    stage.show(
        "Checks of the ID token",
        ("What", "Result", ""),
        ((check.name, check.result.value, check.words) for check in verdict.checks),
    )
    if verdict.problem:
        raise Stop(verdict.problem, "It is not used. To sign in once more, go back to “Open browser”.")
    return verdict


def _read(stage: Stage, reply: LoginReply, grant: Grant) -> TokenReply:
    client, method, found = stage.facts.provider_client, stage.facts.provider_method, stage.facts.provider
    assert client is not None
    asked = TokenAsked(
        grant,
        client.issuer,
        client.client_id,
        None,
        method=(method or AuthMethod.NONE).value,
        offered_methods=(found.auth_methods if found is not None else None) or (),
    )
    read = read_token_reply(
        reply.status, reply.headers, reply.body, asked, now=stage.tools.now(), revision=stage.revision
    )
    stage.find(finding for finding in read.findings if finding.id in _ABOUT_MESSAGE)
    return read
