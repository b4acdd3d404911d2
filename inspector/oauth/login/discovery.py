"""Login steps of discovery: challenge, resource metadata, authorization server metadata.

Also chooses the authorization server, and asks before credentials are sent to one that the server named.
Each step function (`flow.py` runs them in order) reads the facts of earlier steps, adds its own, and
records what to show. The rules are in `protocol.auth`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from inspector.base.json.values import JSONObject, some
from inspector.oauth.http import LoginReply, LoginRequest, get_document, initialize_request
from inspector.oauth.login.context import LoginContext, LoginStopped, Refused
from inspector.oauth.login.steps import LoginGrant, Question, QuestionKind
from inspector.protocol.auth.challenge import (
    Answer,
    answer_of,
    choose_challenge,
    judge_response,
    read_challenges,
)
from inspector.protocol.auth.resource_metadata import (
    IssuerChoice,
    choose_issuer,
    judge_copies,
    judge_migration,
    judge_reply,
    judge_scopes,
    judge_search,
    nothing_found,
    read_resource_metadata,
    resource_metadata_urls,
)
from inspector.protocol.auth.responses import Candidate, Outcome, Reply, read_document
from inspector.protocol.auth.server_metadata import (
    CONTACTED,
    MetadataSource,
    ServerMetadata,
    default_content,
    judge_cors,
    judge_server_copies,
    legacy_issuer,
    legacy_metadata_url,
    no_server_metadata,
    read_server_metadata,
    server_metadata_urls,
)
from inspector.protocol.auth.server_support import judge_support, support_traits
from inspector.protocol.auth.token_request import trusted_issuer
from inspector.protocol.auth.url_guard import Allowance, UrlBlocked, check_url
from inspector.protocol.http_rules import VERSION_HEADER, Headers, error_in
from inspector.protocol.revisions import NEWEST_HANDSHAKE, R2, Era


async def choose_server(stage: LoginContext) -> None:
    wanted = stage.overrides.issuer or stage.settings.issuer
    _require_owner(stage)
    if stage.facts.is_legacy:
        issuer = legacy_issuer(stage.target.url)
        _require_trusted(stage, wanted, (issuer,))
        stage.facts.issuer = IssuerChoice(
            issuer, "2025-03-26: the MCP server's own host is the authorization server."
        )
        stage.decide(stage.facts.issuer.reason)
        await _ask_for_trust(stage, wanted, issuer)
        return
    reading = stage.facts.resource
    assert reading is not None
    listed = reading.metadata.issuers
    stored = await stage.tools.store.issuers()
    _require_trusted(stage, wanted, listed)
    choice = choose_issuer(listed, stored=stored, picked=wanted or None)
    if choice is None:
        raise LoginStopped(
            "The server lists no authorization server.",
            "The server operator must add one to authorization_servers in the protected resource metadata.",
        )
    held = await stage.tools.store.held()
    before = held.tokens.issuer if held is not None else None
    stage.find(judge_migration(before, listed, choice, stage.revision))
    if before and before not in listed:
        stage.decide(
            f"The previous authorization server was {before}. Its clients and tokens are not used here."
        )
    stage.facts.issuer = choice
    stage.show(
        "Authorization servers",
        ("Issuer", "Known", "Chosen"),
        (
            (issuer, "yes" if issuer in stored else "no", "yes" if issuer == choice.issuer else "")
            for issuer in listed
        ),
    )
    stage.use("issuer", choice.issuer, "from the protected resource metadata")
    stage.decide(choice.reason)
    await _ask_for_trust(stage, wanted, choice.issuer)


def _require_owner(stage: LoginContext) -> None:
    """Raise Stop if an issuer was picked for this login that the credentials are not for.

    With a browser, the client identity step reports this. A client typed for this login is meant for the
    picked issuer.
    """
    picked, owner = stage.overrides.issuer, stage.settings.issuer
    is_typed = stage.grant is LoginGrant.CLIENT and bool(stage.overrides.client_id)
    if picked and owner and picked != owner and not stage.needs_browser and not is_typed:
        raise LoginStopped(
            f"Your credentials are for {owner}, but {picked} was chosen for this login.",
            "Nothing was sent. Remove the issuer from the login options, or change it in the server's "
            "settings.",
        )


def _require_trusted(stage: LoginContext, wanted: str, listed: tuple[str, ...]) -> None:
    """Raise Stop if credentials would go, without a browser, to an issuer the server chose."""
    if wanted and not stage.needs_browser and not trusted_issuer(wanted, listed):
        raise LoginStopped(
            f"Your credentials are for {wanted}, but the server does not list this authorization server.",
            "Nothing was sent. Check the issuer in the server's settings, and whether the server's "
            "metadata has changed.",
        )


# What is sent to it without the user seeing where.
_AT_STAKE = {
    LoginGrant.CLIENT: "your client credentials",
    LoginGrant.ENTERPRISE: "your identity assertion (ID-JAG)",
    LoginGrant.WORKLOAD: "the workload JWT",
}


async def _ask_for_trust(stage: LoginContext, wanted: str, issuer: str) -> None:
    """Ask before sending credentials without a browser to an issuer that the server chose."""
    if stage.needs_browser or wanted or await stage.tools.store.trusts_issuer(issuer):
        return
    text = (
        f"Only the MCP server says that {issuer} is its authorization server. Send it "
        f"{_AT_STAKE[stage.grant]}? To skip this question, set it as the issuer in the server's "
        "settings."
    )
    stage.question = Question(QuestionKind.ISSUER, text, issuer)


async def prepare_probe(stage: LoginContext) -> LoginRequest | None:
    return None if stage.facts.refused is not None else initialize_request(stage.target.url, stage.revision)


async def probe(stage: LoginContext) -> None:
    """Send a request without a token to get the challenge, unless it is already known."""
    if stage.facts.refused is not None:
        stage.notes.is_skipped = True
        stage.decide(f"The server just rejected a request with {stage.facts.refused.status}.")
        return
    reply = await stage.send(initialize_request(stage.target.url, stage.revision))
    if _may_be_older(reply) and stage.revision.era is Era.STATELESS and stage.overrides.revision is None:
        stage.decide(
            f"The server did not accept the first request of {stage.revision} ({reply.status}): "
            f"retried with {NEWEST_HANDSHAKE}."
        )
        reply = await stage.send(initialize_request(stage.target.url, NEWEST_HANDSHAKE))
    _conclude_probe(stage, reply)


def _may_be_older(reply: LoginReply) -> bool:
    return reply.status in (400, 404, 405, 406, 415) and not reply.header("www-authenticate")


def _conclude_probe(stage: LoginContext, reply: LoginReply) -> None:
    challenge = choose_challenge(read_challenges(reply.values("www-authenticate")), reply.status)
    response = answer_of(reply.status, challenge, with_token=False)
    if response is Answer.OPEN:
        stage.decide(
            "The server accepts this request without login. Other requests may require it, so the "
            "well-known URLs are checked."
        )
    elif response is Answer.ELSEWHERE:
        where = reply.header("location") or "nowhere"
        raise LoginStopped(
            f"The server redirects to {where} ({reply.status}). MCP Lens does not follow it.",
            "If you trust it, use it as the server URL.",
        )
    elif response is Answer.WRONG_ADDRESS:
        raise LoginStopped(
            f"The server responded with {reply.status}, which is not about authorization.",
            "Check the path of the server URL; many servers use /mcp.",
        )
    else:
        stage.decide(f"{response.value[0].upper()}{response.value[1:]} ({reply.status}).")
    stage.facts.refused = Refused(reply.status, reply.headers, reply.body)


async def read_challenge(stage: LoginContext) -> None:
    refused = stage.facts.refused
    assert refused is not None
    values = [value for name, value in refused.headers if name.lower() == "www-authenticate"]
    challenges = read_challenges(values)
    challenge = choose_challenge(challenges, refused.status)
    stage.facts.challenge = challenge
    error = error_in(refused.body)
    stage.find(
        judge_response(refused.status, challenges, stage.revision, with_token=refused.with_token, error=error)
    )
    stage.show("WWW-Authenticate (raw)", ("Value",), ((value,) for value in values))
    rows = [
        (one.scheme, name, value, "chosen" if one is challenge else "")
        for one in challenges.all
        for name, value in (one.parameters.items() or [("", one.token)])
    ]
    stage.show("Challenges", ("Scheme", "Parameter", "Value", ""), rows)
    if challenge is None:
        stage.decide("No usable challenge. Checking the well-known URLs.")
        return
    stage.decide(f"Using the {challenge.scheme} challenge.")
    for name in ("resource_metadata", "scope", "error", "error_description"):
        if challenge.get(name):
            stage.use(name, challenge.get(name), "from WWW-Authenticate")


async def prepare_resource_lookup(stage: LoginContext) -> LoginRequest | None:
    locations = resource_metadata_urls(
        stage.target.url, stage.facts.challenge, stage.allowance, stage.revision
    )
    return _document_request(stage, locations.candidates[0]) if locations.candidates else None


async def find_resource_metadata(stage: LoginContext) -> None:
    locations = resource_metadata_urls(
        stage.target.url, stage.facts.challenge, stage.allowance, stage.revision
    )
    stage.find(locations.findings)
    stage.facts.locations = locations
    replies: list[Reply] = []
    for candidate in locations.candidates:
        replies.append(reply := await stage.inspect(_document_request(stage, candidate)))
        document = read_document(reply)
        stage.find(judge_reply(reply, document, stage.revision))
        if document.outcome is Outcome.FOUND:
            stage.facts.resource_content = document.content
            break
    show_candidates(stage, locations.candidates, replies)
    if stage.facts.resource_content is None:
        _without_resource(stage, replies)
    else:
        stage.find(judge_search(locations, replies, stage.revision))
        stage.decide(f"Using the metadata at {replies[-1].url}.")
        for copy in await _copies(stage, locations.candidates[len(replies) :]):
            stage.find(judge_copies(stage.facts.resource_content, copy, stage.revision))


async def _copies(stage: LoginContext, others: tuple[Candidate, ...]) -> list[JSONObject]:
    """Return the documents at the other well-known URLs, if the user wants to compare them."""
    if not stage.overrides.compares_copies:
        return []
    documents = [read_document(await stage.inspect(_document_request(stage, one))) for one in others]
    return [document.content for document in documents if document.content is not None]


def _without_resource(stage: LoginContext, replies: list[Reply]) -> None:
    may_fall_back = nothing_found(replies, stage.revision).may_fall_back and stage.may_be_oldest
    if may_fall_back:
        stage.facts.revision = R2
        stage.facts.is_legacy = True
        stage.decide(
            "No metadata found. Only 2025-03-26 works without it: using the server's own host, as that "
            "protocol version specifies."
        )
    stage.find(nothing_found(replies, stage.revision).findings)


async def check_resource(stage: LoginContext) -> None:
    content = stage.facts.resource_content
    if content is None:
        stage.notes.is_skipped = True
        stage.find(judge_scopes(stage.facts.challenge, None, stage.revision))
        return
    reading = read_resource_metadata(content, stage.target.url, stage.revision, stage.allowance)
    stage.facts.resource = reading
    metadata = reading.metadata
    if not metadata.issuers:
        private = replace(stage.allowance, private=True)
        stage.block(
            *read_resource_metadata(content, stage.target.url, stage.revision, private).metadata.issuers
        )
    stage.find(reading.findings)
    stage.find(judge_scopes(stage.facts.challenge, metadata, stage.revision))
    stage.use("resource", metadata.resource, "from the metadata")
    stage.use("server", stage.target.url, "set by you")
    stage.use("authorization servers", " ".join(metadata.issuers), "from the metadata")
    stage.use("scopes", None if metadata.scopes is None else " ".join(metadata.scopes), "from the metadata")
    if metadata.relation is not None:
        stage.decide(f"resource compared with the server URL: {metadata.relation.value}.")
        if not metadata.relation.covers:
            raise LoginStopped(
                f"The metadata is for {metadata.resource}, not for this server.",
                "The metadata is ignored. The server operator must correct “resource”.",
            )


async def prepare_server_lookup(stage: LoginContext) -> LoginRequest | None:
    return _document_request(stage, _server_candidates(stage)[0])


async def find_server_metadata(stage: LoginContext) -> None:
    assert stage.facts.issuer is not None
    replies: list[Reply] = []
    candidates = _server_candidates(stage)
    for candidate in candidates:
        replies.append(reply := await stage.inspect(_document_request(stage, candidate)))
        document = read_document(reply)
        if document.outcome is Outcome.FOUND:
            stage.facts.server_content = document.content
            is_legacy = stage.facts.is_legacy
            stage.facts.server_source = MetadataSource.LEGACY if is_legacy else MetadataSource.NAMED
            stage.find(judge_cors(reply, stage.notes.exchanges[-1].request.headers, stage.revision))
            break
    show_candidates(stage, candidates, replies)
    if stage.facts.server_content is not None:
        stage.decide(f"Using the metadata at {replies[-1].url}.")
        for copy in await _copies(stage, candidates[len(replies) :]):
            stage.find(judge_server_copies(stage.facts.server_content, copy, stage.revision))
        return
    is_absent = all(read_document(reply).outcome is Outcome.NOTHING for reply in replies)
    if stage.facts.is_legacy and is_absent:
        stage.facts.server_content = default_content(stage.target.url)
        stage.facts.server_source = MetadataSource.DEFAULTS
        stage.decide(
            "No metadata found. Using the 2025-03-26 defaults /authorize, /token and /register on the "
            "server's host."
        )
        return
    stage.find([no_server_metadata(stage.facts.issuer.issuer, replies, stage.revision)])


def _server_candidates(stage: LoginContext) -> tuple[Candidate, ...]:
    assert stage.facts.issuer is not None
    if stage.facts.is_legacy:
        return (legacy_metadata_url(stage.target.url),)
    return server_metadata_urls(stage.facts.issuer.issuer)


async def check_server(stage: LoginContext) -> None:
    facts = stage.facts
    assert facts.issuer is not None
    assert facts.server_content is not None
    issuer = facts.issuer.issuer
    allowed = await stage.tools.store.allowed_hosts(issuer)
    reading = read_server_metadata(
        facts.server_content,
        issuer,
        stage.revision,
        stage.allowance,
        source=facts.server_source,
        allowed_hosts=allowed,
        tolerates_slash=stage.overrides.tolerates_slash,
        needs_code=stage.needs_browser,
    )
    has_secret = bool(stage.settings.client_secret or stage.overrides.client_secret)
    facts.server = reading.metadata
    stage.block(*private_endpoints(reading.metadata, stage.allowance))
    stage.find(reading.findings)
    stage.find(
        judge_support(reading.metadata, stage.revision, needs_code=stage.needs_browser, has_secret=has_secret)
    )
    stage.use("issuer", reading.metadata.stated_issuer, "from the metadata")
    stage.use("expected issuer", issuer, facts.issuer.reason)
    stage.show(
        "Endpoints",
        ("Endpoint", "URL", "Host"),
        ((one.field, one.url, _host_in_words(one.is_issuers, one.is_allowed)) for one in reading.hosts),
    )
    stage.show(
        "Supported features",
        ("", "", "Details"),
        ((trait.name, trait.value, trait.meaning) for trait in support_traits(reading.metadata)),
    )
    if reading.foreign_hosts:
        stage.question = Question(
            QuestionKind.HOSTS,
            f"The issuer {issuer} has endpoints on other hosts: {some(reading.foreign_hosts)}. "
            "Do they belong to the same operator?",
            issuer,
            reading.foreign_hosts,
        )


def private_endpoints(metadata: ServerMetadata, allowance: Allowance) -> list[str]:
    """Return the endpoints that are blocked only for lack of the user's consent."""
    private, urls = replace(allowance, private=True), []
    for name in CONTACTED:
        url = metadata.content.get(name)
        if name in metadata.endpoints or not isinstance(url, str):
            continue
        with suppress(UrlBlocked):
            urls.append(check_url(url, private).url)
    return urls


def _host_in_words(is_issuers: bool, is_allowed: bool) -> str:
    return "issuer's host" if is_issuers else "allowed by you" if is_allowed else "other host"


def _document_request(stage: LoginContext, candidate: Candidate) -> LoginRequest:
    reported: Headers = ((VERSION_HEADER, stage.revision.date),) if stage.revision == R2 else ()
    return get_document(candidate.url, reported)


def show_candidates(stage: LoginContext, candidates: tuple[Candidate, ...], replies: list[Reply]) -> None:
    rows = []
    for number, candidate in enumerate(candidates):
        came = (
            "not requested"
            if number >= len(replies)
            else replies[number].failure or str(replies[number].status)
        )
        rows.append((candidate.url, candidate.why, came))
    stage.show("Metadata URLs", ("URL", "Why", "Result"), rows)
