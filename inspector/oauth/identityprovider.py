"""Steps of a login for a company: its identity provider says who we are, by OpenID Connect.

The person signs in there with the browser (`browsing.py`), once; from then on the ID token, or the refresh
token that came with it, does without them. What is exchanged for it is `obtaining.py`'s. The provider is the
one that the person configured: nothing that a server says leads here.
"""

from __future__ import annotations

from dataclasses import replace

from inspector.base.jsonvalue import JSONObject
from inspector.config.auth import IdentityProvider
from inspector.oauth.discovering import private_endpoints, show_candidates
from inspector.oauth.http import LoginRequest, get_document
from inspector.oauth.stage import Stage, Stop
from inspector.oauth.steps import Question, QuestionKind
from inspector.oauth.tokenrequest import TokenRequest
from inspector.protocol.auth.clientauth import choose_method
from inspector.protocol.auth.documents import Outcome, Reply, read_document
from inspector.protocol.auth.grants import Form
from inspector.protocol.auth.guard import BlockReason, GuardedUrl, UrlBlocked
from inspector.protocol.auth.identity import Client, ClientSource
from inspector.protocol.auth.servermeta import (
    CONTACTED,
    MetadataSource,
    Pkce,
    ServerMetadata,
    ServerReading,
    provider_places,
    read_server_metadata,
)
from inspector.protocol.members import some

_SETTINGS = "Enter it in the server's settings, under its login."

# ------------------------------------------------------------------ where it is


def configured(stage: Stage) -> IdentityProvider:
    """Return the configured identity provider. Raises Stop if there is not enough to start."""
    provider = stage.settings.identity_provider
    if provider is None or not (provider.issuer or (provider.token_endpoint and provider.id_token)):
        raise Stop("The company's identity provider is not configured.", f"Its issuer is needed. {_SETTINGS}")
    return provider


def _is_complete(provider: IdentityProvider) -> bool:
    """True if neither login nor discovery is needed: ID token and token endpoint are given."""
    return bool(provider.token_endpoint) and provider.id_token is not None


async def prepare_lookup(stage: Stage) -> LoginRequest | None:
    provider = configured(stage)
    if _is_complete(provider):
        return None
    _require_address(stage, provider.issuer, "issuer")
    return get_document(provider_places(provider.issuer)[0].url)


async def look_for_provider(stage: Stage) -> None:
    """Discover the identity provider and our client there. Its document must be its own."""
    provider = configured(stage)
    if _is_complete(provider):
        stage.notes.is_skipped = True
        stage.decide("You entered an ID token, and where it is exchanged.")
        endpoint = _require_address(stage, provider.token_endpoint, "token endpoint")
        stage.facts.provider = ServerMetadata(
            {}, provider.issuer, None, MetadataSource.DEFAULTS, {"token_endpoint": endpoint}
        )
    else:
        stage.facts.provider = await _found(stage, provider)
    await _settle_client(stage, provider)


async def _found(stage: Stage, provider: IdentityProvider) -> ServerMetadata:
    issuer, is_signing_in = provider.issuer, provider.id_token is None
    reading = read_server_metadata(
        await _document(stage, issuer),
        issuer,
        stage.revision,
        stage.allowance,
        allowed_hosts=await stage.tools.store.allowed_hosts(issuer),
        needs_code=is_signing_in,
    )
    stage.find(reading.findings)
    found = _with_typed_endpoint(stage, reading.metadata, provider)
    stage.use("issuer", found.stated_issuer, "from the document")
    stage.use("expected issuer", issuer, "you set it")
    if found.stated_issuer != issuer:  # in any version: ID tokens name the issuer exactly
        raise Stop(
            f"The document is that of {found.stated_issuer}, and not of {issuer}.",
            "Nothing of it is used. Correct the issuer in the server's settings, or the document.",
        )
    stage.block(*private_endpoints(found, stage.allowance))
    _require_endpoints(found, is_signing_in=is_signing_in)
    stage.show(
        "Endpoints",
        ("Endpoint", "Address"),
        ((name, found.endpoints[name].raw) for name in CONTACTED if name in found.endpoints),
    )
    if is_signing_in and found.pkce is not Pkce.S256:
        stage.decide("It does not say that it knows PKCE (S256): the challenge is sent all the same.")
    _ask_about_hosts(stage, reading)
    return found


def _require_address(stage: Stage, url: str, what: str) -> GuardedUrl:
    """Return a configured URL if it may be contacted. Raises UserError."""
    try:
        return stage.http.check(url)
    except UrlBlocked as exc:
        if exc.reason is BlockReason.PRIVATE:
            stage.block(url)
        raise Stop(
            f"The {what} of the identity provider cannot be used. {exc.summary}",
            exc.next_step or f"Correct the {what} in the server's settings.",
        ) from exc


async def _document(stage: Stage, issuer: str) -> JSONObject:
    _require_address(stage, issuer, "issuer")
    candidates, replies = provider_places(issuer), list[Reply]()
    for candidate in candidates:
        replies.append(await stage.look(get_document(candidate.url)))
        document = read_document(replies[-1])
        if document.outcome is Outcome.FOUND and document.content is not None:
            show_candidates(stage, candidates, replies)
            stage.decide(f"The document at {replies[-1].url} is used.")
            return document.content
    show_candidates(stage, candidates, replies)
    if all(reply.failure for reply in replies):
        raise Stop(
            f"The identity provider {issuer} cannot be reached. {replies[0].failure}",
            "Check the network, and its issuer in the server's settings; then try again.",
        )
    raise Stop(
        f"The identity provider {issuer} shows no metadata.",
        "Check its issuer in the server's settings, and whether it does OpenID Connect.",
    )


def _ask_about_hosts(stage: Stage, reading: ServerReading) -> None:
    issuer, hosts = reading.metadata.issuer, reading.foreign_hosts
    if hosts:
        text = f"The identity provider {issuer} has endpoints on other hosts: {some(hosts)}."
        stage.question = Question(QuestionKind.HOSTS, f"{text} Do they belong to it?", issuer, hosts)


def _with_typed_endpoint(stage: Stage, found: ServerMetadata, provider: IdentityProvider) -> ServerMetadata:
    if not provider.token_endpoint:
        return found
    typed = _require_address(stage, provider.token_endpoint, "token endpoint")
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
    stage.use("client secret", secret or None, "you set it" if secret else "", is_secret=True)
    stage.use("authentication", choice.method.value, choice.reason)


# ------------------------------------------------------------------ requests to its token endpoint


def provider_request(stage: Stage, form: Form) -> TokenRequest:
    facts = stage.facts
    assert facts.provider is not None
    endpoint = facts.provider.token_endpoint
    assert endpoint is not None
    return TokenRequest(endpoint.url, form, facts.provider_client, facts.provider_method)
