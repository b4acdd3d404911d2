"""Login steps of the browser: open the authorization URL, wait for the callback, check it.

The browser is sent to the server's authorization server. In an enterprise login it is sent to the
identity provider, unless an earlier login there is still valid.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from inspector.oauth.callback import NO_STATE, OTHER_PATH, OTHER_STATE, ReceivedCallback
from inspector.oauth.http import LoginRequest
from inspector.oauth.login.context import BrowserNeeded, LoginContext, LoginStopped
from inspector.protocol.auth import pkce
from inspector.protocol.auth.authorization_request import (
    AuthorizeRequest,
    AuthorizeUrl,
    Expectation,
    authorize_url,
    check_callback,
    read_callback,
)
from inspector.protocol.auth.client_registration import Client
from inspector.protocol.auth.findings.finding import Finding, Severity, finding
from inspector.protocol.auth.id_token import sign_in_scope
from inspector.protocol.auth.server_metadata import MetadataSource, ServerMetadata

_SECRET = ("state", "nonce")


async def prepare_authorize(stage: LoginContext) -> LoginRequest | None:
    """Return the authorization URL. The browser sends it, so only the URL can be edited."""
    if _is_signed_in(stage):
        return None
    await _make_ready(stage)
    return LoginRequest("GET", _url(stage).url)


async def authorize(stage: LoginContext) -> None:
    facts = stage.facts
    if _is_signed_in(stage):
        stage.notes.is_skipped = True
        stage.decide("You are already logged in at the identity provider.")
        return
    if not stage.opens_browser:
        where = "with the browser" if stage.needs_browser else "with your company's identity provider"
        raise BrowserNeeded(f"You must log in {where}.", "Log in.")
    await _make_ready(stage)
    built = _url(stage)
    edited, stage.edited = stage.edited, None
    url = edited.url if edited is not None else built.url
    stage.http.check(url)  # again: this URL is opened in the user's browser
    facts.authorize = AuthorizeUrl(url, built.parameters, built.notes)
    stage.use("code verifier", facts.verifier, "new for each browser login", is_secret=True)
    for name, value in built.parameters:
        stage.use(name, value, is_secret=name in _SECRET)
    for note in built.notes:
        stage.decide(note)
    if stage.listener is None or stage.listener.wait.is_over:
        await stage.reopen_listener()
    assert stage.listener is not None
    stage.listener.wait.expect(facts.state)
    stage.spent.add(facts.state)
    await stage.tools.open_browser(url)
    whom = "authorization server" if stage.needs_browser else "identity provider"
    stage.decide(f"Opened the {whom} in the browser.")


def _is_signed_in(stage: LoginContext) -> bool:
    return bool(stage.facts.id_token)


async def _make_ready(stage: LoginContext) -> None:
    """Prepare a listener and fresh secrets: those already sent with a browser may be known."""
    facts = stage.facts
    if not stage.needs_browser:
        await stage.open_listener()
    if not facts.state or facts.state in stage.spent:
        make_secrets(stage)


def make_secrets(stage: LoginContext) -> None:
    """Create the verifier, state and nonce of one authorization request."""
    facts, tools = stage.facts, stage.tools
    facts.verifier, facts.state = tools.new_verifier(), tools.new_state()
    facts.nonce = "" if stage.needs_browser else tools.new_state()


def _requested(stage: LoginContext) -> tuple[ServerMetadata, Client]:
    """Return the server that the browser goes to, and our client there."""
    facts = stage.facts
    server, client = facts.server, facts.client
    if not stage.needs_browser:
        server, client = facts.provider, facts.provider_client
    assert server is not None
    assert client is not None
    return server, client


def _url(stage: LoginContext) -> AuthorizeUrl:
    facts = stage.facts
    server, client = _requested(stage)
    endpoint = server.authorization_endpoint
    if endpoint is None:
        raise LoginStopped("The metadata has no usable authorization_endpoint.")
    request = AuthorizeRequest(
        client_id=client.client_id,
        redirect_uri=facts.redirect_uri,
        state=facts.state,
        code_challenge=pkce.challenge_of(facts.verifier),
        extras=stage.overrides.extras,
    )
    return authorize_url(endpoint.url, _with_wishes(stage, server, request))


def _with_wishes(stage: LoginContext, server: ServerMetadata, request: AuthorizeRequest) -> AuthorizeRequest:
    """Set what is requested: access to the resource, or only the user's identity."""
    facts, provider = stage.facts, stage.settings.identity_provider
    if not stage.needs_browser:
        typed = provider.scope if provider is not None else None
        return replace(request, scope=sign_in_scope(server.scopes, typed), nonce=facts.nonce)
    assert facts.scopes is not None
    assert facts.resource_value is not None
    return replace(
        request,
        resource=facts.resource_value.value,
        scope=facts.scopes.text,
        wants_consent=facts.scopes.wants_consent,
        key_thumbprint=facts.key.thumbprint() if facts.key is not None else "",
    )


async def wait(stage: LoginContext) -> None:
    if _is_signed_in(stage):
        stage.notes.is_skipped = True
        return
    listener = stage.listener
    if listener is None:
        raise LoginStopped("The callback listener is closed.", "Go back to “Open browser”.")
    notes = stage.notes

    def on_hit(hit: ReceivedCallback) -> None:
        if stage.notes is notes:  # a later login may wait on the same URI
            stage.find(_about_hit(hit, stage))
            stage.on_change()

    for hit in listener.wait.hits:  # the browser may have been faster
        stage.find(_about_hit(hit, stage))
    listener.wait.hit_received.connect(on_hit)
    stage.use("listener", listener.wait.redirect_uri, "this machine")
    asyncio.get_running_loop().call_soon(stage.on_change)  # the deadline is known once it is awaited
    stage.facts.response = await listener.wait.response(stage.tools.wait_limit)
    stage.decide("Authorization response received.")


def _about_hit(hit: ReceivedCallback, stage: LoginContext) -> list[Finding]:
    """Return hints from a rejected callback. Not fatal: anyone could have sent it."""
    redirect = stage.facts.redirect_uri
    found = {
        NO_STATE: lambda: finding("AZ-001", stage.revision),
        OTHER_STATE: lambda: finding("AZ-002", stage.revision),
        OTHER_PATH: lambda: finding("AZ-009", stage.revision, actual=hit.shown, expected=redirect),
    }.get(hit.refusal)
    is_icon = "/favicon.ico" in hit.shown  # browsers request it by themselves
    return [] if found is None or is_icon else [replace(found(), severity=Severity.WARNING, stops=False)]


async def check_answer(stage: LoginContext) -> None:
    facts = stage.facts
    if _is_signed_in(stage):
        stage.notes.is_skipped = True
        return
    server, client = _requested(stage)
    callback = read_callback(facts.response)
    is_assumed = server.source is MetadataSource.DEFAULTS
    verdict = check_callback(
        callback,
        Expectation(
            state=facts.state,
            issuer=None if is_assumed else server.recorded_issuer,
            iss_promised=server.promises_iss,
            redirect_uri=facts.redirect_uri,
            client_id=client.client_id,
            client_source=client.source,
            revision=stage.revision,
        ),
    )
    stage.find(verdict.findings)
    stage.show(
        "Checks in order",
        ("Check", "Result", ""),
        ((check.name, check.result.value, check.text) for check in verdict.checks),
    )
    await stage.close_listener()
    if verdict.problem or not verdict.code:
        raise LoginStopped(
            verdict.problem or "The authorization response contains no code.",
            "Go back to “Open browser”: this authorization response cannot be used again.",
        )
    for name, value in callback.parameters.items():
        if name in ("code", "state", "iss", "scope", "session_state"):
            stage.use(
                name,
                value,
                "from the authorization response",
                is_secret=name in ("code", "state", "session_state"),
            )
    facts.code = verdict.code
