"""Three steps of a login: the browser is sent off, its answer is waited for, and checked."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from inspector.oauth.callbackwait import NO_STATE, OTHER_PATH, OTHER_STATE, CallbackHit
from inspector.oauth.http import LoginRequest
from inspector.oauth.stage import Stage, Stop
from inspector.protocol.auth import pkce
from inspector.protocol.auth.authorize import AuthorizeRequest, AuthorizeUrl, authorize_url
from inspector.protocol.auth.callback import Expectation, check_callback, read_callback
from inspector.protocol.auth.findings import Finding, Severity, finding
from inspector.protocol.auth.servermeta import MetadataSource

_SECRET = ("state",)


async def prepare_authorize(stage: Stage) -> LoginRequest | None:
    """What the browser will be sent to. It is not us who asks, so nothing but the address can be edited."""
    return LoginRequest("GET", _url(stage).url)


async def authorize(stage: Stage) -> None:
    facts = stage.facts
    built = _url(stage)
    edited, stage.edited = stage.edited, None
    url = edited.url if edited is not None else built.url
    stage.http.check(url)  # once more: what is opened is not only asked, but shown to a person
    facts.authorize = AuthorizeUrl(url, built.parameters, built.notes)
    for name, value in built.parameters:
        stage.use(name, value, is_secret=name in _SECRET)
    for note in built.notes:
        stage.decide(note)
    if stage.listener is None or stage.listener.wait.is_over:
        await stage.reopen_listener()
    assert stage.listener is not None
    stage.listener.wait.expect(facts.state)
    await stage.tools.open_browser(url)
    stage.decide("The browser was sent to the authorization server.")


def _url(stage: Stage) -> AuthorizeUrl:
    facts = stage.facts
    assert facts.server is not None
    assert facts.client is not None
    assert facts.scopes is not None
    assert facts.resource_value is not None
    endpoint = facts.server.authorization_endpoint
    if endpoint is None:
        raise Stop("There is no authorization endpoint that may be used.")
    request = AuthorizeRequest(
        client_id=facts.client.client_id,
        redirect_uri=facts.redirect_uri,
        state=facts.state,
        code_challenge=pkce.challenge_of(facts.verifier),
        resource=facts.resource_value.value,
        scope=facts.scopes.text,
        wants_consent=facts.scopes.wants_consent,
        extras=stage.overrides.extras,
        key_thumbprint=facts.key.thumbprint() if facts.key is not None else "",
    )
    return authorize_url(endpoint.url, request)


async def wait(stage: Stage) -> None:
    listener = stage.listener
    if listener is None:
        raise Stop("Nobody listens for the answer any more.", "Go back to “Open browser”.")
    notes = stage.notes

    def on_hit(hit: CallbackHit) -> None:
        if stage.notes is notes:  # another login of the same address may wait there later
            stage.find(_about_hit(hit, stage))
            stage.on_change()

    for hit in listener.wait.hits:  # the browser may have been quicker
        stage.find(_about_hit(hit, stage))
    listener.wait.hit_received.connect(on_hit)
    stage.use("listener", listener.wait.redirect_uri, "this machine")
    asyncio.get_running_loop().call_soon(stage.on_change)  # when it ends is known once it is awaited
    stage.facts.answer = await listener.wait.answer(stage.tools.wait_limit)
    stage.decide("The answer came.")


def _about_hit(hit: CallbackHit, stage: Stage) -> list[Finding]:
    """What a refused request may tell about the authorization server. Anybody could have sent it, and the
    wait goes on: so it is a hint, and nothing to stop at."""
    redirect = stage.facts.redirect_uri
    found = {
        NO_STATE: lambda: finding("AZ-001", stage.revision),
        OTHER_STATE: lambda: finding("AZ-002", stage.revision),
        OTHER_PATH: lambda: finding("AZ-009", stage.revision, actual=hit.shown, expected=redirect),
    }.get(hit.refusal)
    is_icon = "/favicon.ico" in hit.shown  # browsers ask for it by themselves
    return [] if found is None or is_icon else [replace(found(), severity=Severity.WARNING, stops=False)]


async def check_answer(stage: Stage) -> None:
    facts = stage.facts
    assert facts.server is not None
    assert facts.client is not None
    callback = read_callback(facts.answer)
    is_assumed = facts.server.source is MetadataSource.DEFAULTS
    verdict = check_callback(
        callback,
        Expectation(
            state=facts.state,
            issuer=None if is_assumed else facts.server.recorded_issuer,
            iss_promised=facts.server.promises_iss,
            redirect_uri=facts.redirect_uri,
            client_id=facts.client.client_id,
            client_source=facts.client.source,
            revision=stage.revision,
        ),
    )
    stage.find(verdict.findings)
    stage.show(
        "Checks, in this order",
        ("What", "Result", ""),
        ((check.name, check.result.value, check.words) for check in verdict.checks),
    )
    await stage.close_listener()
    if verdict.problem or not verdict.code:
        raise Stop(
            verdict.problem or "The answer holds no code.",
            "Begin again with “Prepare”: what belonged to this answer is used up.",
        )
    for name, value in callback.parameters.items():
        if name in ("code", "state", "iss", "scope", "session_state"):
            stage.use(name, value, "from the answer", is_secret=name in ("code", "state", "session_state"))
    facts.code = verdict.code
