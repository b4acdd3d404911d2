"""Login steps of the client: its ID at the authorization server, scopes and resource."""

from __future__ import annotations

from dataclasses import replace

from inspector.base.json.values import JSONObject, compact, quote_value, strings_of
from inspector.oauth.http import LoginRequest, LoginResponse, post_json
from inspector.oauth.login.browser import make_secrets
from inspector.oauth.login.context import LoginContext, LoginStopped
from inspector.oauth.login.steps import LoginGrant, LoginPrompt, LoginPromptKind
from inspector.protocol.auth import dpop, pkce
from inspector.protocol.auth.client_registration import (
    Client,
    ClientSource,
    IdentityDecision,
    IdentityInputs,
    IdentityOutcome,
    Registration,
    Strategy,
    client_document,
    decide_identity,
    fallback_body,
    read_registration,
    registration_body,
)
from inspector.protocol.auth.findings.finding import finding
from inspector.protocol.auth.resource_metadata import choose_resource, resource_problem
from inspector.protocol.auth.responses import read_object
from inspector.protocol.auth.scopes import choose_scopes
from inspector.protocol.auth.server_metadata import MetadataSource, ServerMetadata
from inspector.protocol.auth.token_request import choose_method, registrable_method

CLIENT_NAME = "MCP Lens"


async def prepare_identity(context: LoginContext) -> LoginRequest | None:
    """Return the registration request, if one is needed."""
    if context.grant is LoginGrant.WORKLOAD:
        return None
    decision = await _decide(context)
    return _registration(context) if decision.outcome is IdentityOutcome.REGISTER else None


async def identify(context: LoginContext) -> None:
    context.facts.uses_dpop = _wants_dpop(context)
    if context.grant is LoginGrant.WORKLOAD and not _typed_id(context):
        context.add_decision("The workload authenticates with its own JWT; no client ID is needed.")
        return
    decision = await _decide(context)
    context.add_table(
        "Decision",
        ("Question", "Answer", ""),
        ((one.question, one.answer, "taken" if one.is_taken else "") for one in decision.branches),
    )
    if decision.outcome is IdentityOutcome.REFUSE:
        raise LoginStopped(decision.reason)
    if decision.outcome is IdentityOutcome.ASK:
        _ask(context, decision)
        return
    client = decision.client if decision.outcome is IdentityOutcome.USE else await _register(context)
    assert client is not None
    await _use_client(context, client)


async def _decide(context: LoginContext) -> IdentityDecision:
    server = _server(context)
    redirect = await context.open_listener() if context.needs_browser else ""
    endpoint = server.registration_endpoint if context.needs_browser else None
    return decide_identity(
        IdentityInputs(
            issuer=server.issuer,
            known=await _known_clients(context),
            document_url=_document_url(context) if context.needs_browser else "",
            supports_documents=server.supports_client_id_metadata,
            registration_endpoint=endpoint.url if endpoint is not None else "",
            redirect_uri=redirect,
            strategy=context.overrides.strategy if context.needs_browser else Strategy.PRE_REGISTERED,
            now=context.tools.now(),
        )
    )


async def _known_clients(context: LoginContext) -> list[Client]:
    """Return typed and registered clients. A typed one is bound to the issuer it was used with."""
    stored = () if context.overrides.forgets_client else await context.tools.store.clients()
    known = [client for client in stored if client.source is ClientSource.DYNAMIC]
    pre_registered = [client for client in stored if client.source is ClientSource.PRE_REGISTERED]
    if context.facts.typed_client is not None:
        return [context.facts.typed_client, *known]
    id = _typed_id(context)
    if not id:
        return [*pre_registered, *known]
    is_configured = id == context.settings.client_id  # as configured: its secret is for its issuer only
    set_for, picked = context.settings.issuer if is_configured else "", context.overrides.issuer
    secret = context.overrides.client_secret
    if not secret and is_configured:
        secret = await context.tools.store.secret(context.settings.client_secret, "client secret")
    issuer = set_for or picked or context.settings.issuer
    bound = next((client.issuer for client in pre_registered if client.client_id == id), "")
    return [Client(id, issuer or bound, ClientSource.PRE_REGISTERED, secret=secret), *known]


def _typed_id(context: LoginContext) -> str:
    return context.overrides.client_id or context.settings.client_id


def _document_url(context: LoginContext) -> str:
    return context.overrides.client_document or context.settings.client_document


def _ask(context: LoginContext, decision: IdentityDecision) -> None:
    server = _server(context)
    context.add_decision(decision.reason)
    text = f"Which client ID is registered for MCP Lens at {server.issuer}?"
    context.prompt = LoginPrompt(LoginPromptKind.CLIENT, text, server.issuer)


async def _use_client(context: LoginContext, client: Client) -> None:
    server = _server(context)
    has_key = context.settings.key is not None
    choice = choose_method(
        offered=server.auth_methods,
        has_secret=bool(client.secret),
        has_key=has_key,
        registered=client.method,
        typed=context.overrides.method or context.settings.method,
    )
    if choice.method is None:
        raise LoginStopped(choice.problem, "Choose another client authentication method or another client.")
    context.facts.client, context.facts.method = client, choice.method
    context.add_input("client ID", client.client_id, f"from: {client.source.value}")
    context.add_input("client secret", client.secret or None, f"from: {client.source.value}", is_secret=True)
    context.add_input("authentication", choice.method.value, choice.reason)
    if client.source is ClientSource.DOCUMENT:
        document = client_document(client.client_id, CLIENT_NAME, [context.facts.redirect_uri])
        context.add_input("client ID metadata document", compact(document), "must be served at its URL")
    await _save_client(context, client)


async def _save_client(context: LoginContext, client: Client) -> None:
    """Save a client.

    A client ID metadata document needs no saving: it is valid at any issuer. For a configured client only
    the binding to its issuer is saved; a secret that the user entered in this login is saved too.
    """
    if client.source is ClientSource.DOCUMENT:
        return
    is_entered_now = context.facts.typed_client is not None
    saves_secret = client.source is ClientSource.DYNAMIC or is_entered_now
    await context.tools.store.save_client(client if saves_secret else replace(client, secret=""))


def _registration(context: LoginContext) -> LoginRequest:
    endpoint = _server(context).registration_endpoint
    assert endpoint is not None
    return post_json(endpoint.url, _registration_body(context))


def _registration_body(context: LoginContext) -> JSONObject:
    return registration_body(
        client_name=CLIENT_NAME,
        redirect_uris=[context.facts.redirect_uri],
        method=registrable_method(_offered_methods(_server(context))),
        is_bound=context.facts.uses_dpop,
    )


def _offered_methods(server: ServerMetadata) -> tuple[str, ...] | None:
    """Return the offered methods; without metadata, assume a public client."""
    return ("none",) if server.source is MetadataSource.DEFAULTS else server.auth_methods


async def _register(context: LoginContext) -> Client:
    edited = context.edited
    requested = (read_object(edited.body) if edited is not None else None) or _registration_body(context)
    registration = _read(context, await context.send(_registration(context)), requested)
    fallback = (
        fallback_body(requested, registration) if registration.client is None and edited is None else None
    )
    if fallback is not None:
        context.add_findings(replace(found, stops=False) for found in registration.findings)
        registration = await _register_with_fallback(context, requested, fallback)
    context.add_findings(registration.findings)
    context.add_table(
        "Requested and registered values",
        ("Field", "Requested", "Registered"),
        (
            (
                one.name,
                quote_value(one.requested),
                "omitted" if one.registered is None else quote_value(one.registered),
            )
            for one in registration.differences
        ),
    )
    if registration.client is None:
        raise LoginStopped(registration.problem or "Registration returned no client.")
    context.add_decision("Client registered.")
    return registration.client


async def _register_with_fallback(
    context: LoginContext, requested: JSONObject, fallback: JSONObject
) -> Registration:
    """Register again in the way that some servers require."""
    if strings_of(fallback, "redirect_uris") != strings_of(requested, "redirect_uris"):
        context.overrides = replace(context.overrides, redirect_host="localhost")
        await context.close_listener()
        fallback = fallback | {"redirect_uris": [await context.open_listener()]}
        context.add_decision("Registration rejected a redirect URI on 127.0.0.1; retried with localhost.")
    else:
        context.add_decision("Registration rejected a native application; retried as a web application.")
    endpoint = _server(context).registration_endpoint
    assert endpoint is not None
    registration = _read(context, await context.send(post_json(endpoint.url, fallback)), fallback)
    refused, accepted = strings_of(requested, "redirect_uris"), strings_of(fallback, "redirect_uris")
    if registration.client is not None and refused != accepted:
        context.add_findings([finding("REG-002", context.revision, accepted=accepted, refused=refused)])
    return registration


def _read(context: LoginContext, response: LoginResponse, requested: JSONObject) -> Registration:
    return read_registration(
        response.status,
        response.body,
        requested=requested,
        issuer=_server(context).issuer,
        now=context.tools.now(),
        revision=context.revision,
    )


async def prepare_request(context: LoginContext) -> None:
    """Prepare what all later requests share, and the secrets of this login."""
    facts, server = context.facts, _server(context)
    _choose_scopes(context)
    _choose_resource(context)
    facts.key = await context.tools.store.key(server.issuer) if facts.uses_dpop else None
    if facts.key is not None:
        context.add_input("DPoP key", facts.key.thumbprint(), "thumbprint; the key stays in the secret store")
    if not context.needs_browser:
        return
    make_secrets(context)
    context.add_input(
        "code verifier", facts.verifier, f"{len(facts.verifier)} random characters", is_secret=True
    )
    context.add_input("code challenge", pkce.challenge_of(facts.verifier), "SHA-256 of the verifier")
    context.add_input("state", facts.state, "random", is_secret=True)
    context.add_input("issuer", server.expected_iss, "expected iss in the authorization response")
    context.add_input("redirect URI", facts.redirect_uri, "callback listener of MCP Lens")


def _choose_scopes(context: LoginContext) -> None:
    facts, overrides = context.facts, context.overrides
    typed = overrides.scope if overrides.scope is not None else context.settings.scope
    if context.step_up is not None and overrides.scope is None:
        facts.scopes = context.step_up
    else:
        reading = facts.resource
        facts.scopes = choose_scopes(
            challenge=facts.challenge.get("scope") if facts.challenge is not None else None,
            resource=reading.metadata.scopes if reading is not None else None,
            server=_server(context).scopes,
            typed=typed,
            wants_refresh=context.needs_browser,
        )
    context.add_input("scope", facts.scopes.text, f"from: {facts.scopes.source.value}")
    context.add_decision(facts.scopes.reason)


def _choose_resource(context: LoginContext) -> None:
    facts, overrides = context.facts, context.overrides
    typed = overrides.resource if overrides.resource is not None else context.settings.resource
    if typed and (problem := resource_problem(typed)):
        raise LoginStopped(problem, "Correct it, or leave it empty to use the default.")
    metadata = facts.resource.metadata if facts.resource is not None else None
    facts.resource_value = choose_resource(
        context.target.url,
        revision=context.revision,
        advertised=metadata.resource if metadata is not None else None,
        typed=typed,
    )
    context.add_input("resource", facts.resource_value.value, facts.resource_value.reason)


def _wants_dpop(context: LoginContext) -> bool:
    """True if tokens should be bound to a key (DPoP)."""
    preference = (
        context.overrides.uses_dpop if context.overrides.uses_dpop is not None else context.settings.dpop
    )
    if preference is not None:
        context.add_decision(
            "Using DPoP-bound tokens: set by you." if preference else "DPoP not used: set by you."
        )
        return preference
    facts, offered = context.facts, _server(context).dpop_algorithms
    is_requested = facts.challenge is not None and facts.challenge.is_dpop
    is_required = facts.resource is not None and facts.resource.metadata.requires_dpop
    if not (is_requested or is_required):
        return False
    if offered is not None and dpop.ALGORITHM not in offered:
        context.add_decision(
            "The server requests DPoP, but the authorization server does not list ES256: DPoP not used."
        )
        return False
    context.add_decision("Using DPoP-bound tokens: requested by the server.")
    return True


def _server(context: LoginContext) -> ServerMetadata:
    assert context.facts.server is not None
    return context.facts.server
