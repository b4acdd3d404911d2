"""Login steps of discovery: challenge, resource metadata, authorization server metadata.

Also chooses the authorization server, and asks before credentials are sent to one that the server named.
Each step function (`flow.py` runs them in order) reads the facts of earlier steps, adds its own, and
records what to show. The rules are in `protocol.auth`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from inspector.base.json.values import JSONObject, quote_names
from inspector.oauth.http import LoginRequest, LoginResponse, RejectedResponse, get_document
from inspector.oauth.login.context import LoginContext, LoginStopped
from inspector.oauth.login.steps import LoginGrant, LoginPrompt, LoginPromptKind
from inspector.oauth.login.verification import initialize_request
from inspector.protocol.auth.challenge import (
    AccessStatus,
    access_status,
    check_response,
    choose_challenge,
    read_challenges,
)
from inspector.protocol.auth.resource_metadata import (
    IssuerChoice,
    check_copies,
    check_metadata_response,
    check_migration,
    check_missing_metadata,
    check_scopes,
    check_search,
    choose_issuer,
    read_resource_metadata,
    resource_metadata_urls,
)
from inspector.protocol.auth.responses import Candidate, LookupOutcome, MetadataResponse, read_document
from inspector.protocol.auth.server_metadata import (
    CONTACTED_ENDPOINTS,
    MetadataSource,
    ServerMetadata,
    check_cors,
    check_server_copies,
    default_content,
    legacy_issuer,
    legacy_metadata_url,
    no_server_metadata,
    read_server_metadata,
    server_metadata_urls,
)
from inspector.protocol.auth.server_support import check_support, support_traits
from inspector.protocol.auth.url_guard import Allowance, UrlBlocked, check_url
from inspector.protocol.http_rules import VERSION_HEADER, Headers, error_in
from inspector.protocol.revisions import NEWEST_HANDSHAKE, R2, Era


async def prepare_probe(context: LoginContext) -> LoginRequest | None:
    return (
        None
        if context.facts.refused is not None
        else initialize_request(context.target.url, context.revision)
    )


async def probe(context: LoginContext) -> None:
    """Send a request without a token to get the challenge, unless it is already known."""
    if context.facts.refused is not None:
        context.notes.is_skipped = True
        context.add_decision(f"The server just rejected a request with {context.facts.refused.status}.")
        return
    response = await context.send(initialize_request(context.target.url, context.revision))
    if (
        _may_be_older(response)
        and context.revision.era is Era.STATELESS
        and context.overrides.revision is None
    ):
        context.add_decision(
            f"The server did not accept the first request of {context.revision} ({response.status}): "
            f"retried with {NEWEST_HANDSHAKE}."
        )
        response = await context.send(initialize_request(context.target.url, NEWEST_HANDSHAKE))
    _conclude_probe(context, response)


def _may_be_older(response: LoginResponse) -> bool:
    return response.status in (400, 404, 405, 406, 415) and not response.header("www-authenticate")


def _conclude_probe(context: LoginContext, response: LoginResponse) -> None:
    challenge = choose_challenge(read_challenges(response.values("www-authenticate")), response.status)
    status = access_status(response.status, challenge, with_token=False)
    if status is AccessStatus.OPEN:
        context.add_decision(
            "The server accepts this request without login. Other requests may require it, so the "
            "well-known URLs are checked."
        )
    elif status is AccessStatus.REDIRECT:
        where = response.header("location") or "nowhere"
        raise LoginStopped(
            f"The server redirects to {where} ({response.status}). MCP Lens does not follow it.",
            "If you trust it, use it as the server URL.",
        )
    elif status is AccessStatus.WRONG_URL:
        raise LoginStopped(
            f"The server responded with {response.status}, which is not about authorization.",
            "Check the path of the server URL; many servers use /mcp.",
        )
    else:
        context.add_decision(f"{status.value[0].upper()}{status.value[1:]} ({response.status}).")
    context.facts.refused = RejectedResponse(response.status, response.headers, response.body)


async def read_challenge(context: LoginContext) -> None:
    refused = context.facts.refused
    assert refused is not None
    values = [value for name, value in refused.headers if name.lower() == "www-authenticate"]
    challenges = read_challenges(values)
    challenge = choose_challenge(challenges, refused.status)
    context.facts.challenge = challenge
    error = error_in(refused.body)
    context.add_findings(
        check_response(
            refused.status, challenges, context.revision, with_token=refused.with_token, error=error
        )
    )
    context.add_table("WWW-Authenticate (raw)", ("Value",), ((value,) for value in values))
    rows = [
        (one.scheme, name, value, "chosen" if one is challenge else "")
        for one in challenges.all
        for name, value in (one.parameters.items() or [("", one.token)])
    ]
    context.add_table("Challenges", ("Scheme", "Parameter", "Value", ""), rows)
    if challenge is None:
        context.add_decision("No usable challenge. Checking the well-known URLs.")
        return
    context.add_decision(f"Using the {challenge.scheme} challenge.")
    for name in ("resource_metadata", "scope", "error", "error_description"):
        if challenge.get(name):
            context.add_input(name, challenge.get(name), "from WWW-Authenticate")


async def prepare_resource_lookup(context: LoginContext) -> LoginRequest | None:
    locations = resource_metadata_urls(
        context.target.url, context.facts.challenge, context.allowance, context.revision
    )
    return _document_request(context, locations.candidates[0]) if locations.candidates else None


async def find_resource_metadata(context: LoginContext) -> None:
    locations = resource_metadata_urls(
        context.target.url, context.facts.challenge, context.allowance, context.revision
    )
    context.add_findings(locations.findings)
    context.facts.locations = locations
    responses: list[MetadataResponse] = []
    for candidate in locations.candidates:
        responses.append(response := await context.fetch_metadata(_document_request(context, candidate)))
        document = read_document(response)
        context.add_findings(check_metadata_response(response, document, context.revision))
        if document.outcome is LookupOutcome.FOUND:
            context.facts.resource_content = document.content
            break
    show_candidates(context, locations.candidates, responses)
    if context.facts.resource_content is None:
        _handle_missing_resource(context, responses)
    else:
        context.add_findings(check_search(locations, responses, context.revision))
        context.add_decision(f"Using the metadata at {responses[-1].url}.")
        for copy in await _copies(context, locations.candidates[len(responses) :]):
            context.add_findings(check_copies(context.facts.resource_content, copy, context.revision))


async def _copies(context: LoginContext, others: tuple[Candidate, ...]) -> list[JSONObject]:
    """Return the documents at the other well-known URLs, if the user wants to compare them."""
    if not context.overrides.compares_copies:
        return []
    documents = [
        read_document(await context.fetch_metadata(_document_request(context, one))) for one in others
    ]
    return [document.content for document in documents if document.content is not None]


def _handle_missing_resource(context: LoginContext, responses: list[MetadataResponse]) -> None:
    may_fall_back = (
        check_missing_metadata(responses, context.revision).may_fall_back and context.allows_legacy_flow
    )
    if may_fall_back:
        context.facts.revision = R2
        context.facts.is_legacy = True
        context.add_decision(
            "No metadata found. Only 2025-03-26 works without it: using the server's own host, as that "
            "protocol version specifies."
        )
    context.add_findings(check_missing_metadata(responses, context.revision).findings)


async def check_resource(context: LoginContext) -> None:
    content = context.facts.resource_content
    if content is None:
        context.notes.is_skipped = True
        context.add_findings(check_scopes(context.facts.challenge, None, context.revision))
        return
    result = read_resource_metadata(content, context.target.url, context.revision, context.allowance)
    context.facts.resource = result
    metadata = result.metadata
    if not metadata.issuers:
        private = replace(context.allowance, private=True)
        context.record_blocked(
            *read_resource_metadata(content, context.target.url, context.revision, private).metadata.issuers
        )
    context.add_findings(result.findings)
    context.add_findings(check_scopes(context.facts.challenge, metadata, context.revision))
    context.add_input("resource", metadata.resource, "from the metadata")
    context.add_input("server", context.target.url, "set by you")
    context.add_input("authorization servers", " ".join(metadata.issuers), "from the metadata")
    context.add_input(
        "scopes", None if metadata.scopes is None else " ".join(metadata.scopes), "from the metadata"
    )
    if metadata.relation is not None:
        context.add_decision(f"resource compared with the server URL: {metadata.relation.value}.")
        if not metadata.relation.covers:
            raise LoginStopped(
                f"The metadata is for {metadata.resource}, not for this server.",
                "The metadata is ignored. The server operator must correct “resource”.",
            )


async def choose_server(context: LoginContext) -> None:
    wanted = context.overrides.issuer or context.settings.issuer
    _require_matching_credentials(context)
    if context.facts.is_legacy:
        issuer = legacy_issuer(context.target.url)
        _require_trusted(context, wanted, (issuer,))
        context.facts.issuer = IssuerChoice(
            issuer, "2025-03-26: the MCP server's own host is the authorization server."
        )
        context.add_decision(context.facts.issuer.reason)
        await _ask_for_trust(context, wanted, issuer)
        return
    result = context.facts.resource
    assert result is not None
    listed = result.metadata.issuers
    stored = await context.tools.store.issuers()
    _require_trusted(context, wanted, listed)
    choice = choose_issuer(listed, stored=stored, picked=wanted or None)
    if choice is None:
        raise LoginStopped(
            "The server lists no authorization server.",
            "The server operator must add one to authorization_servers in the protected resource metadata.",
        )
    login = await context.tools.store.newest_login()
    before = login.tokens.issuer if login is not None else None
    context.add_findings(check_migration(before, listed, choice, context.revision))
    if before and before not in listed:
        context.add_decision(
            f"The previous authorization server was {before}. Its clients and tokens are not used here."
        )
    context.facts.issuer = choice
    context.add_table(
        "Authorization servers",
        ("Issuer", "Known", "Chosen"),
        (
            (issuer, "yes" if issuer in stored else "no", "yes" if issuer == choice.issuer else "")
            for issuer in listed
        ),
    )
    context.add_input("issuer", choice.issuer, "from the protected resource metadata")
    context.add_decision(choice.reason)
    await _ask_for_trust(context, wanted, choice.issuer)


def _require_matching_credentials(context: LoginContext) -> None:
    """Raise LoginStopped if an issuer was picked for this login that the credentials are not for.

    With a browser, the client identity step reports this. A client typed for this login is meant for the
    picked issuer.
    """
    picked, owner = context.overrides.issuer, context.settings.issuer
    is_typed = context.grant is LoginGrant.CLIENT and bool(context.overrides.client_id)
    if picked and owner and picked != owner and not context.needs_browser and not is_typed:
        raise LoginStopped(
            f"Your credentials are for {owner}, but {picked} was chosen for this login.",
            "Nothing was sent. Remove the issuer from the login options, or change it in the server's "
            "settings.",
        )


def _require_trusted(context: LoginContext, wanted: str, listed: tuple[str, ...]) -> None:
    """Raise LoginStopped if credentials would be sent to an issuer that the server chose.

    Without a browser, no user can notice that a server names another party's authorization server.
    """
    if wanted and not context.needs_browser and wanted not in listed:
        raise LoginStopped(
            f"Your credentials are for {wanted}, but the server does not list this authorization server.",
            "Nothing was sent. Check the issuer in the server's settings, and whether the server's "
            "metadata has changed.",
        )


# What is sent to it without the user seeing where.
_CREDENTIALS = {
    LoginGrant.CLIENT: "your client credentials",
    LoginGrant.ENTERPRISE: "your identity assertion (ID-JAG)",
    LoginGrant.WORKLOAD: "the workload JWT",
}


async def _ask_for_trust(context: LoginContext, wanted: str, issuer: str) -> None:
    """Ask before sending credentials without a browser to an issuer that the server chose."""
    if context.needs_browser or wanted or await context.tools.store.trusts_issuer(issuer):
        return
    text = (
        f"Only the MCP server says that {issuer} is its authorization server. Send it "
        f"{_CREDENTIALS[context.grant]}? To skip this question, set it as the issuer in the server's "
        "settings."
    )
    context.prompt = LoginPrompt(LoginPromptKind.ISSUER, text, issuer)


async def prepare_server_lookup(context: LoginContext) -> LoginRequest | None:
    return _document_request(context, _server_candidates(context)[0])


async def find_server_metadata(context: LoginContext) -> None:
    assert context.facts.issuer is not None
    responses: list[MetadataResponse] = []
    candidates = _server_candidates(context)
    for candidate in candidates:
        responses.append(response := await context.fetch_metadata(_document_request(context, candidate)))
        document = read_document(response)
        if document.outcome is LookupOutcome.FOUND:
            context.facts.server_content = document.content
            is_legacy = context.facts.is_legacy
            context.facts.server_source = MetadataSource.LEGACY if is_legacy else MetadataSource.NAMED
            context.add_findings(
                check_cors(response, context.notes.exchanges[-1].request.headers, context.revision)
            )
            break
    show_candidates(context, candidates, responses)
    if context.facts.server_content is not None:
        context.add_decision(f"Using the metadata at {responses[-1].url}.")
        for copy in await _copies(context, candidates[len(responses) :]):
            context.add_findings(check_server_copies(context.facts.server_content, copy, context.revision))
        return
    is_absent = all(read_document(response).outcome is LookupOutcome.NOTHING for response in responses)
    if context.facts.is_legacy and is_absent:
        context.facts.server_content = default_content(context.target.url)
        context.facts.server_source = MetadataSource.DEFAULTS
        context.add_decision(
            "No metadata found. Using the 2025-03-26 defaults /authorize, /token and /register on the "
            "server's host."
        )
        return
    context.add_findings([no_server_metadata(context.facts.issuer.issuer, responses, context.revision)])


def _server_candidates(context: LoginContext) -> tuple[Candidate, ...]:
    assert context.facts.issuer is not None
    if context.facts.is_legacy:
        return (legacy_metadata_url(context.target.url),)
    return server_metadata_urls(context.facts.issuer.issuer)


async def check_server(context: LoginContext) -> None:
    facts = context.facts
    assert facts.issuer is not None
    assert facts.server_content is not None
    issuer = facts.issuer.issuer
    allowed = await context.tools.store.allowed_hosts(issuer)
    result = read_server_metadata(
        facts.server_content,
        issuer,
        context.revision,
        context.allowance,
        source=facts.server_source,
        allowed_hosts=allowed,
        tolerates_slash=context.overrides.tolerates_slash,
        needs_code=context.needs_browser,
    )
    has_secret = bool(context.settings.client_secret or context.overrides.client_secret)
    facts.server = result.metadata
    context.record_blocked(*private_endpoints(result.metadata, context.allowance))
    context.add_findings(result.findings)
    context.add_findings(
        check_support(
            result.metadata, context.revision, needs_code=context.needs_browser, has_secret=has_secret
        )
    )
    context.add_input("issuer", result.metadata.stated_issuer, "from the metadata")
    context.add_input("expected issuer", issuer, facts.issuer.reason)
    context.add_table(
        "Endpoints",
        ("Endpoint", "URL", "Host"),
        ((one.field, one.url, _host_text(one.is_issuer_host, one.is_allowed)) for one in result.hosts),
    )
    context.add_table(
        "Supported features",
        ("", "", "Details"),
        ((trait.name, trait.value, trait.meaning) for trait in support_traits(result.metadata)),
    )
    if result.foreign_hosts:
        context.prompt = LoginPrompt(
            LoginPromptKind.HOSTS,
            f"The issuer {issuer} has endpoints on other hosts: {quote_names(result.foreign_hosts)}. "
            "Do they belong to the same operator?",
            issuer,
            result.foreign_hosts,
        )


def private_endpoints(metadata: ServerMetadata, allowance: Allowance) -> list[str]:
    """Return the endpoints that are blocked only for lack of the user's consent."""
    private, urls = replace(allowance, private=True), []
    for name in CONTACTED_ENDPOINTS:
        url = metadata.content.get(name)
        if name in metadata.endpoints or not isinstance(url, str):
            continue
        with suppress(UrlBlocked):
            urls.append(check_url(url, private).url)
    return urls


def _host_text(is_issuer_host: bool, is_allowed: bool) -> str:
    return "issuer's host" if is_issuer_host else "allowed by you" if is_allowed else "other host"


def _document_request(context: LoginContext, candidate: Candidate) -> LoginRequest:
    headers: Headers = ((VERSION_HEADER, context.revision.date),) if context.revision == R2 else ()
    return get_document(candidate.url, headers)


def show_candidates(
    context: LoginContext, candidates: tuple[Candidate, ...], responses: list[MetadataResponse]
) -> None:
    rows = []
    for number, candidate in enumerate(candidates):
        result = (
            "not requested"
            if number >= len(responses)
            else responses[number].failure or str(responses[number].status)
        )
        rows.append((candidate.url, candidate.why, result))
    context.add_table("Metadata URLs", ("URL", "Why", "Result"), rows)
