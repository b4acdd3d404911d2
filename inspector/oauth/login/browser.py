"""Login steps of the browser: open the authorization URL, wait for the callback, check it.

The browser is sent to the server's authorization server. In an enterprise login it is sent to the
identity provider, unless an earlier login there is still valid.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from inspector.base.web_link import read_link
from inspector.oauth.callback import NO_STATE, OTHER_PATH, OTHER_STATE, ReceivedCallback
from inspector.oauth.http import LoginRequest
from inspector.oauth.login.context import BrowserNeeded, LoginContext, LoginStopped
from inspector.protocol.auth import pkce
from inspector.protocol.auth.authorization_request import (
    AuthorizationRequest,
    AuthorizationUrl,
    CallbackExpectation,
    authorization_url,
    check_callback,
    read_callback,
)
from inspector.protocol.auth.client_registration import Client
from inspector.protocol.auth.findings.finding import Finding, Severity, finding
from inspector.protocol.auth.id_token import provider_scope
from inspector.protocol.auth.server_metadata import MetadataSource, ServerMetadata

_SECRET_PARAMETERS = ("state", "nonce")


async def prepare_authorize(context: LoginContext) -> LoginRequest | None:
    """Return the authorization URL. The browser sends it, so only the URL can be edited."""
    if _has_id_token(context):
        return None
    await _prepare_listener(context)
    return LoginRequest("GET", _url(context).url)


async def authorize(context: LoginContext) -> None:
    facts = context.facts
    if _has_id_token(context):
        context.notes.is_skipped = True
        context.add_decision("You are already logged in at the identity provider.")
        return
    if not context.opens_browser:
        where = "with the browser" if context.needs_browser else "with your company's identity provider"
        raise BrowserNeeded(f"You must log in {where}.", "Log in.")
    await _prepare_listener(context)
    built = _url(context)
    edited, context.edited = context.edited, None
    url = edited.url if edited is not None else built.url
    context.http.check(url)  # again: this URL is opened in the user's browser
    facts.authorize = AuthorizationUrl(url, built.parameters, built.notes)
    context.add_input("code verifier", facts.verifier, "new for each browser login", is_secret=True)
    for name, value in built.parameters:
        context.add_input(name, value, is_secret=name in _SECRET_PARAMETERS)
    for note in built.notes:
        context.add_decision(note)
    if context.listener is None or context.listener.wait.is_over:
        await context.reopen_listener()
    assert context.listener is not None
    context.listener.wait.expect(facts.state)
    context.used_secrets.add(facts.state)
    await context.tools.open_browser(url)
    target = "authorization server" if context.needs_browser else "identity provider"
    context.add_decision(f"Opened the {target} in the browser: {read_link(url).ascii_host}.")


def _has_id_token(context: LoginContext) -> bool:
    return bool(context.facts.id_token)


async def _prepare_listener(context: LoginContext) -> None:
    """Prepare a listener and new secrets: those already used in a browser may be known."""
    facts = context.facts
    if not context.needs_browser:
        await context.open_listener()
    if not facts.state or facts.state in context.used_secrets:
        make_secrets(context)


def make_secrets(context: LoginContext) -> None:
    """Create the verifier, state and nonce of one authorization request."""
    facts, tools = context.facts, context.tools
    facts.verifier, facts.state = tools.new_verifier(), tools.new_state()
    facts.nonce = "" if context.needs_browser else tools.new_state()


def _authorization_server(context: LoginContext) -> tuple[ServerMetadata, Client]:
    """Return the metadata of the server that the browser is sent to, and the client there."""
    facts = context.facts
    server, client = facts.server, facts.client
    if not context.needs_browser:
        server, client = facts.provider, facts.provider_client
    assert server is not None
    assert client is not None
    return server, client


def _url(context: LoginContext) -> AuthorizationUrl:
    facts = context.facts
    server, client = _authorization_server(context)
    endpoint = server.authorization_endpoint
    if endpoint is None:
        raise LoginStopped("The metadata has no usable authorization_endpoint.")
    request = AuthorizationRequest(
        client_id=client.client_id,
        redirect_uri=facts.redirect_uri,
        state=facts.state,
        code_challenge=pkce.challenge_of(facts.verifier),
        extras=context.overrides.extras,
    )
    return authorization_url(endpoint.url, _with_scope(context, server, request))


def _with_scope(
    context: LoginContext, server: ServerMetadata, request: AuthorizationRequest
) -> AuthorizationRequest:
    """Set the scope: access to the resource, or only the user's identity."""
    facts, provider = context.facts, context.settings.identity_provider
    if not context.needs_browser:
        typed = provider.scope if provider is not None else None
        return replace(request, scope=provider_scope(server.scopes, typed), nonce=facts.nonce)
    assert facts.scopes is not None
    assert facts.resource_value is not None
    return replace(
        request,
        resource=facts.resource_value.value,
        scope=facts.scopes.text,
        wants_consent=facts.scopes.wants_consent,
        key_thumbprint=facts.key.thumbprint() if facts.key is not None else "",
    )


async def wait(context: LoginContext) -> None:
    if _has_id_token(context):
        context.notes.is_skipped = True
        return
    listener = context.listener
    if listener is None:
        raise LoginStopped("The callback listener is closed.", "Go back to “Open browser”.")
    notes = context.notes

    def on_hit(hit: ReceivedCallback) -> None:
        if context.notes is notes:  # a later login may wait on the same URI
            context.add_findings(_about_hit(hit, context))
            context.on_change()

    for hit in listener.wait.hits:  # the browser may have been faster
        context.add_findings(_about_hit(hit, context))
    listener.wait.hit_received.connect(on_hit)
    context.add_input("listener", listener.wait.redirect_uri, "this machine")
    asyncio.get_running_loop().call_soon(context.on_change)  # the deadline is known once it is awaited
    context.facts.response = await listener.wait.response(context.tools.browser_timeout)
    context.add_decision("Authorization response received.")


def _about_hit(hit: ReceivedCallback, context: LoginContext) -> list[Finding]:
    """Return hints from a rejected callback. Not fatal: anyone could have sent it."""
    redirect = context.facts.redirect_uri
    found = {
        NO_STATE: lambda: finding("AZ-001", context.revision),
        OTHER_STATE: lambda: finding("AZ-002", context.revision),
        OTHER_PATH: lambda: finding("AZ-009", context.revision, actual=hit.shown, expected=redirect),
    }.get(hit.refusal)
    is_icon = "/favicon.ico" in hit.shown  # browsers request it by themselves
    return [] if found is None or is_icon else [replace(found(), severity=Severity.WARNING, stops=False)]


async def check_response(context: LoginContext) -> None:
    facts = context.facts
    if _has_id_token(context):
        context.notes.is_skipped = True
        return
    server, client = _authorization_server(context)
    callback = read_callback(facts.response)
    is_assumed = server.source is MetadataSource.DEFAULTS
    checked = check_callback(
        callback,
        CallbackExpectation(
            state=facts.state,
            issuer=None if is_assumed else server.expected_iss,
            iss_advertised=server.advertises_iss,
            redirect_uri=facts.redirect_uri,
            client_id=client.client_id,
            client_source=client.source,
            revision=context.revision,
        ),
    )
    context.add_findings(checked.findings)
    context.add_table(
        "Checks in order",
        ("Check", "Result", ""),
        ((check.name, check.result.value, check.text) for check in checked.checks),
    )
    await context.close_listener()
    if checked.problem or not checked.code:
        raise LoginStopped(
            checked.problem or "The authorization response contains no code.",
            "Go back to “Open browser”: this authorization response cannot be used again.",
        )
    for name, value in callback.parameters.items():
        if name in ("code", "state", "iss", "scope", "session_state"):
            context.add_input(
                name,
                value,
                "from the authorization response",
                is_secret=name in ("code", "state", "session_state"),
            )
    facts.code = checked.code
