"""Login steps of the client: its ID at the authorization server, scopes and resource."""

from __future__ import annotations

from dataclasses import replace

from inspector.base.json.values import JSONObject, compact, shown, strings_of
from inspector.oauth.http import LoginReply, LoginRequest, post_json
from inspector.oauth.login.browser import make_secrets
from inspector.oauth.login.context import LoginContext, LoginStopped
from inspector.oauth.login.steps import LoginGrant, Question, QuestionKind
from inspector.protocol.auth import dpop, pkce
from inspector.protocol.auth.client_registration import (
    Client,
    ClientSource,
    IdentityDecision,
    IdentityInputs,
    Outcome,
    Registration,
    Strategy,
    client_document,
    decide_identity,
    other_body,
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


async def prepare_identity(stage: LoginContext) -> LoginRequest | None:
    """Return the registration request, if one is needed."""
    if stage.grant is LoginGrant.WORKLOAD:
        return None
    decision = await _decide(stage)
    return _registration(stage) if decision.outcome is Outcome.REGISTER else None


async def identify(stage: LoginContext) -> None:
    stage.facts.uses_dpop = _binds(stage)
    if stage.grant is LoginGrant.WORKLOAD and not _typed_id(stage):
        stage.decide("The workload authenticates with its own JWT; no client ID is needed.")
        return
    decision = await _decide(stage)
    stage.show(
        "Decision",
        ("Question", "Answer", ""),
        ((one.question, one.answer, "taken" if one.is_taken else "") for one in decision.branches),
    )
    if decision.outcome is Outcome.REFUSE:
        raise LoginStopped(decision.reason)
    if decision.outcome is Outcome.ASK:
        _ask(stage, decision)
        return
    client = decision.client if decision.outcome is Outcome.USE else await _register(stage)
    assert client is not None
    await _settle(stage, client)


async def _decide(stage: LoginContext) -> IdentityDecision:
    server = _server(stage)
    redirect = await stage.open_listener() if stage.needs_browser else ""
    endpoint = server.registration_endpoint if stage.needs_browser else None
    return decide_identity(
        IdentityInputs(
            issuer=server.issuer,
            known=await _known_clients(stage),
            document_url=_document_url(stage) if stage.needs_browser else "",
            takes_documents=server.reads_client_documents,
            registration_endpoint=endpoint.url if endpoint is not None else "",
            redirect_uri=redirect,
            strategy=stage.overrides.strategy if stage.needs_browser else Strategy.BY_HAND,
            now=stage.tools.now(),
        )
    )


async def _known_clients(stage: LoginContext) -> list[Client]:
    """Return typed and registered clients. A typed one is bound to the issuer it was used with."""
    stored = () if stage.overrides.forgets_client else await stage.tools.store.clients()
    known = [client for client in stored if client.source is ClientSource.DYNAMIC]
    by_hand = [client for client in stored if client.source is ClientSource.BY_HAND]
    if stage.facts.typed_client is not None:
        return [stage.facts.typed_client, *known]
    id = _typed_id(stage)
    if not id:
        return [*by_hand, *known]
    is_ours = id == stage.settings.client_id  # as configured: its secret is for its issuer only
    set_for, picked = stage.settings.issuer if is_ours else "", stage.overrides.issuer
    secret = stage.overrides.client_secret
    if not secret and is_ours:
        secret = await stage.tools.store.secret(stage.settings.client_secret, "client secret")
    issuer = set_for or picked or stage.settings.issuer
    bound = next((client.issuer for client in by_hand if client.client_id == id), "")
    return [Client(id, issuer or bound, ClientSource.BY_HAND, secret=secret), *known]


def _typed_id(stage: LoginContext) -> str:
    return stage.overrides.client_id or stage.settings.client_id


def _document_url(stage: LoginContext) -> str:
    return stage.overrides.client_document or stage.settings.client_document


def _ask(stage: LoginContext, decision: IdentityDecision) -> None:
    server = _server(stage)
    stage.decide(decision.reason)
    text = f"Which client ID is registered for MCP Lens at {server.issuer}?"
    stage.question = Question(QuestionKind.CLIENT, text, server.issuer)


async def _settle(stage: LoginContext, client: Client) -> None:
    server = _server(stage)
    has_key = stage.settings.key is not None
    choice = choose_method(
        offered=server.auth_methods,
        has_secret=bool(client.secret),
        has_key=has_key,
        registered=client.method,
        typed=stage.overrides.method or stage.settings.method,
    )
    if choice.method is None:
        raise LoginStopped(choice.problem, "Choose another client authentication method or another client.")
    stage.facts.client, stage.facts.method = client, choice.method
    stage.use("client ID", client.client_id, f"from: {client.source.value}")
    stage.use("client secret", client.secret or None, f"from: {client.source.value}", is_secret=True)
    stage.use("authentication", choice.method.value, choice.reason)
    if client.source is ClientSource.DOCUMENT:
        document = client_document(client.client_id, CLIENT_NAME, [stage.facts.redirect_uri])
        stage.use("client ID metadata document", compact(document), "must be served at its URL")
    await _keep(stage, client)


async def _keep(stage: LoginContext, client: Client) -> None:
    """Save a client.

    A client ID metadata document needs no saving: it is valid at any issuer. For a typed client only the
    binding to its issuer is saved: its secret is where the user put it, unless it was asked for just now.
    """
    if client.source is ClientSource.DOCUMENT:
        return
    is_reported = stage.facts.typed_client is not None
    keeps_secret = client.source is ClientSource.DYNAMIC or is_reported
    await stage.tools.store.keep_client(client if keeps_secret else replace(client, secret=""))


def _registration(stage: LoginContext) -> LoginRequest:
    endpoint = _server(stage).registration_endpoint
    assert endpoint is not None
    return post_json(endpoint.url, _registration_body(stage))


def _registration_body(stage: LoginContext) -> JSONObject:
    return registration_body(
        client_name=CLIENT_NAME,
        redirect_uris=[stage.facts.redirect_uri],
        method=registrable_method(_offered_methods(_server(stage))),
        is_bound=stage.facts.uses_dpop,
    )


def _offered_methods(server: ServerMetadata) -> tuple[str, ...] | None:
    """Return the offered methods; without metadata, assume a public client."""
    return ("none",) if server.source is MetadataSource.DEFAULTS else server.auth_methods


async def _register(stage: LoginContext) -> Client:
    edited = stage.edited
    requested = (read_object(edited.body) if edited is not None else None) or _registration_body(stage)
    registration = _read(stage, await stage.send(_registration(stage)), requested)
    other = other_body(requested, registration) if registration.client is None and edited is None else None
    if other is not None:
        stage.find(replace(found, stops=False) for found in registration.findings)
        registration = await _register_otherwise(stage, requested, other)
    stage.find(registration.findings)
    stage.show(
        "Requested and registered values",
        ("Field", "Requested", "Registered"),
        (
            (one.name, shown(one.requested), "omitted" if one.got is None else shown(one.got))
            for one in registration.differences
        ),
    )
    if registration.client is None:
        raise LoginStopped(registration.problem or "Registration returned no client.")
    stage.decide("Client registered.")
    return registration.client


async def _register_otherwise(stage: LoginContext, requested: JSONObject, other: JSONObject) -> Registration:
    """Register again in the other way that some servers require."""
    if strings_of(other, "redirect_uris") != strings_of(requested, "redirect_uris"):
        stage.overrides = replace(stage.overrides, redirect_host="localhost")
        await stage.close_listener()
        other = other | {"redirect_uris": [await stage.open_listener()]}
        stage.decide("Registration rejected a redirect URI on 127.0.0.1; retried with localhost.")
    else:
        stage.decide("Registration rejected a native application; retried as a web application.")
    endpoint = _server(stage).registration_endpoint
    assert endpoint is not None
    registration = _read(stage, await stage.send(post_json(endpoint.url, other)), other)
    wanted, taken = strings_of(requested, "redirect_uris"), strings_of(other, "redirect_uris")
    if registration.client is not None and wanted != taken:
        stage.find([finding("REG-002", stage.revision, accepted=taken, refused=wanted)])
    return registration


def _read(stage: LoginContext, reply: LoginReply, requested: JSONObject) -> Registration:
    return read_registration(
        reply.status,
        reply.body,
        requested=requested,
        issuer=_server(stage).issuer,
        now=stage.tools.now(),
        revision=stage.revision,
    )


async def prepare_request(stage: LoginContext) -> None:
    """Prepare what all later requests share, and the secrets of this login."""
    facts, server = stage.facts, _server(stage)
    _choose_scopes(stage)
    _choose_resource(stage)
    facts.key = await stage.tools.store.key(server.issuer) if facts.uses_dpop else None
    if facts.key is not None:
        stage.use("DPoP key", facts.key.thumbprint(), "thumbprint; the key stays in the secret store")
    if not stage.needs_browser:
        return
    make_secrets(stage)
    stage.use("code verifier", facts.verifier, f"{len(facts.verifier)} random characters", is_secret=True)
    stage.use("code challenge", pkce.challenge_of(facts.verifier), "SHA-256 of the verifier")
    stage.use("state", facts.state, "random", is_secret=True)
    stage.use("issuer", server.recorded_issuer, "expected iss in the authorization response")
    stage.use("redirect URI", facts.redirect_uri, "callback listener of MCP Lens")


def _choose_scopes(stage: LoginContext) -> None:
    facts, overrides = stage.facts, stage.overrides
    typed = overrides.scope if overrides.scope is not None else stage.settings.scope
    if stage.step_up is not None and overrides.scope is None:
        facts.scopes = stage.step_up
    else:
        reading = facts.resource
        facts.scopes = choose_scopes(
            challenge=facts.challenge.get("scope") if facts.challenge is not None else None,
            resource=reading.metadata.scopes if reading is not None else None,
            server=_server(stage).scopes,
            typed=typed,
            wants_refresh=stage.needs_browser,
        )
    stage.use("scope", facts.scopes.text, f"from: {facts.scopes.source.value}")
    stage.decide(facts.scopes.reason)


def _choose_resource(stage: LoginContext) -> None:
    facts, overrides = stage.facts, stage.overrides
    typed = overrides.resource if overrides.resource is not None else stage.settings.resource
    if typed and (problem := resource_problem(typed)):
        raise LoginStopped(problem, "Correct it, or leave it empty to use the default.")
    metadata = facts.resource.metadata if facts.resource is not None else None
    facts.resource_value = choose_resource(
        stage.target.url,
        revision=stage.revision,
        advertised=metadata.resource if metadata is not None else None,
        typed=typed,
    )
    stage.use("resource", facts.resource_value.value, facts.resource_value.reason)


def _binds(stage: LoginContext) -> bool:
    """True if tokens should be bound to a key (DPoP)."""
    preference = stage.overrides.uses_dpop if stage.overrides.uses_dpop is not None else stage.settings.dpop
    if preference is not None:
        stage.decide("Using DPoP-bound tokens: set by you." if preference else "DPoP not used: set by you.")
        return preference
    facts, offered = stage.facts, _server(stage).dpop_algorithms
    is_requested = facts.challenge is not None and facts.challenge.is_dpop
    is_required = facts.resource is not None and facts.resource.metadata.requires_dpop
    if not (is_requested or is_required):
        return False
    if offered is not None and dpop.ALGORITHM not in offered:
        stage.decide(
            "The server requests DPoP, but the authorization server does not list ES256: DPoP not used."
        )
        return False
    stage.decide("Using DPoP-bound tokens: requested by the server.")
    return True


def _server(stage: LoginContext) -> ServerMetadata:
    assert stage.facts.server is not None
    return stage.facts.server
