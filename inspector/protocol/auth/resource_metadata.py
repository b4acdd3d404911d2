"""Protected resource metadata (RFC 9728), and the `resource` parameter (RFC 8707).

In order: where to look, how to interpret a response, whether the document is about this server, which of its
authorization servers to use. The `resource` value is the same in every request of a login.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from urllib.parse import urlsplit, urlunsplit

from inspector.base.json.values import JSONObject, quote_names, shorten
from inspector.base.redaction import is_secret_parameter
from inspector.base.web_link import Link, read_link
from inspector.protocol.auth.challenge import Challenge
from inspector.protocol.auth.findings.finding import Finding, finding
from inspector.protocol.auth.responses import (
    Candidate,
    Document,
    DocumentMembers,
    LookupOutcome,
    MetadataResponse,
    differing_members,
    first_difference,
    read_document,
    tried_text,
)
from inspector.protocol.auth.scopes import OFFLINE
from inspector.protocol.auth.url_guard import Allowance, BlockReason, UrlBlocked, check_url
from inspector.protocol.http_rules import redirect_target
from inspector.protocol.revisions import R2, Revision, is_between

WELL_KNOWN = "/.well-known/oauth-protected-resource"
_BROAD_SCOPES = frozenset({"*", "all", "admin", "full", "full-access", "full_access", "root"})


@dataclass(frozen=True, slots=True)
class ResourceMetadataUrls:
    """Where to look, in order, up to the first document."""

    candidates: tuple[Candidate, ...]
    from_challenge: bool = False  # the first one is from the challenge
    findings: tuple[Finding, ...] = ()


def resource_metadata_urls(
    server_url: str, challenge: Challenge | None, allowance: Allowance, revision: Revision
) -> ResourceMetadataUrls:
    """Return all candidates for a server's document.

    `server_url` is the user's, and was checked when entered.
    """
    known = _well_known(server_url)
    named = challenge.resource_metadata if challenge is not None else ""
    if not named:
        return ResourceMetadataUrls(known)
    try:
        url = check_url(named, allowance)
    except UrlBlocked as blocked:
        found = finding("AUTH-006", revision, value=named, reason=blocked.clause, evidence=named)
        return ResourceMetadataUrls(known, findings=(found,))
    first = Candidate(url.url, "Named in the challenge.")
    others = tuple(candidate for candidate in known if candidate.url != url.url)
    findings = _check_origin(named, server_url, revision)
    return ResourceMetadataUrls((first, *others), from_challenge=True, findings=tuple(findings))


def _well_known(server_url: str) -> tuple[Candidate, ...]:
    parts = urlsplit(server_url)
    origin = f"{parts.scheme}://{parts.netloc}"
    root = Candidate(origin + WELL_KNOWN, "Well-known URL for the whole host.")
    if parts.path in ("", "/"):
        return (root,)
    query = f"?{parts.query}" if parts.query else ""
    return (
        Candidate(f"{origin}{WELL_KNOWN}{parts.path}{query}", "Well-known URL for the server's path."),
        root,
    )


def _check_origin(named: str, server_url: str, revision: Revision) -> Iterator[Finding]:
    one, other = read_link(named), read_link(server_url)
    if _origin(one) != _origin(other):
        yield finding("AUTH-007", revision, host=_host_text(one), server=_host_text(other))


@dataclass(frozen=True, slots=True)
class NoResourceMetadata:
    """No document was found. The login may still be possible as in 2025-03-26, which had none."""

    may_fall_back: bool  # all candidates said there is none; otherwise unknown
    findings: tuple[Finding, ...]


def check_metadata_response(
    response: MetadataResponse, document: Document, revision: Revision
) -> tuple[Finding, ...]:
    """Return what is wrong with a response, regardless of the document's content."""
    if response.status in (401, 403):
        return (finding("PRM-011", revision, url=response.url, status=response.status),)
    if 300 <= response.status < 400:
        location = response.header("location")
        if redirect_target(response.url, location, "GET", response.status, allows_upgrade=True) is None:
            host = _host_text(read_link(location)) or "nowhere"
            return (finding("PRM-013", revision, url=response.url, host=host, evidence=location),)
    if response.status == 200 and (document.problem or not response.is_json):
        problem = document.problem or "it is readable anyway"
        kind = response.content_type or "no content type"
        return (finding("PRM-008", revision, url=response.url, content_type=kind, problem=problem),)
    return ()


def check_search(
    locations: ResourceMetadataUrls, responses: Sequence[MetadataResponse], revision: Revision
) -> tuple[Finding, ...]:
    """Return findings about where it was found; `responses` are all up to the first document."""
    documents = list(map(read_document, responses))
    if not locations.from_challenge or len(responses) < 2 or documents[-1].outcome is not LookupOutcome.FOUND:
        return ()
    difference = f"{responses[0].attempt_text}; {responses[-1].url} has metadata"
    return (finding("PRM-009", revision, difference=difference),)


def check_missing_metadata(responses: Sequence[MetadataResponse], revision: Revision) -> NoResourceMetadata:
    """Interpret a search in which no candidate had a document."""
    unsure = [response for response in responses if read_document(response).outcome is LookupOutcome.UNSURE]
    if not unsure:
        found = finding("AUTH-005", revision, tried=tried_text(responses))
        return NoResourceMetadata(may_fall_back=True, findings=(found,))
    status = unsure[0].failure or unsure[0].status
    found = finding("PRM-015", revision, url=unsure[0].url, status=status)
    found = replace(found, fix=unsure[0].advice) if unsure[0].advice else found
    return NoResourceMetadata(may_fall_back=False, findings=(found,))


def check_copies(one: JSONObject, other: JSONObject, revision: Revision) -> tuple[Finding, ...]:
    """Return findings if the documents for the path and for the root differ.

    Fetching both is optional.
    """
    fields = differing_members(one, other)
    return (finding("PRM-010", revision, fields=fields),) if fields else ()


class Relation(Enum):
    """How a document's `resource` relates to the server URL."""

    EXACT = "identical"
    SLASH = "differs only in a trailing slash"
    PARENT = "a parent of the server URL"
    OTHER_PATH = "another path on the same host"
    OTHER_ORIGIN = "another host"
    UNREADABLE = "not an absolute URL"

    @property
    def covers(self) -> bool:
        """True if the document is about this server."""
        return self in (Relation.EXACT, Relation.SLASH, Relation.PARENT)


def relation_of(resource: str, server_url: str) -> Relation:
    """Compare: RFC 9728 requires equality; a parent path on the same host is accepted too.

    Other clients do the same.
    """
    if resource == server_url:
        return Relation.EXACT
    one, other = read_link(resource), read_link(server_url)
    if one.problem or one.user or "#" in one.path:
        return Relation.UNREADABLE
    if _origin(one) != _origin(other):
        return Relation.OTHER_ORIGIN
    if one.path == other.path:
        return Relation.EXACT
    if one.path.rstrip("/") == other.path.rstrip("/"):
        return Relation.SLASH
    parent, query = one.path.rstrip("/"), other.path.partition("?")[0]
    is_parent = query == parent or query.startswith(parent + "/")
    return Relation.PARENT if is_parent else Relation.OTHER_PATH


def _check_resource(
    resource: str | None, server_url: str, revision: Revision
) -> tuple[Relation | None, tuple[Finding, ...]]:
    if resource is None:
        return None, (finding("PRM-001", revision),)
    relation = relation_of(resource, server_url)
    if relation is Relation.EXACT:
        return relation, ()
    values = {"resource": resource, "server": server_url}
    if relation.covers:
        return relation, (finding("PRM-004", revision, relation=relation.value, **values),)
    column = first_difference(resource, server_url)
    difference = relation.value if relation is Relation.UNREADABLE else f"character {column} differs"
    id = "PRM-003" if relation is Relation.OTHER_PATH else "PRM-002"
    return relation, (finding(id, revision, difference=difference, **values),)


@dataclass(frozen=True, slots=True)
class ResourceMetadata:
    """A parsed document. None is absent. `issuers` are the usable ones, verbatim."""

    content: JSONObject
    resource: str | None
    relation: Relation | None
    issuers: tuple[str, ...]
    scopes: tuple[str, ...] | None = None
    bearer_methods: tuple[str, ...] | None = None
    dpop_algorithms: tuple[str, ...] | None = None
    requires_dpop: bool = False
    name: str = ""
    documentation: str = ""


@dataclass(frozen=True, slots=True)
class ResourceMetadataResult:
    """A document and all its findings."""

    metadata: ResourceMetadata
    findings: tuple[Finding, ...] = ()


def read_resource_metadata(
    content: JSONObject, server_url: str, revision: Revision, allowance: Allowance
) -> ResourceMetadataResult:
    """Parse a document. Never raises for its content."""
    members = DocumentMembers(content, "PRM-016", revision)
    resource = members.text("resource")
    relation, about_resource = _check_resource(resource, server_url, revision)
    issuers, about_issuers = _read_issuers(members.texts("authorization_servers"), revision, allowance)
    metadata = ResourceMetadata(
        content=content,
        resource=resource,
        relation=relation,
        issuers=issuers,
        scopes=members.texts("scopes_supported"),
        bearer_methods=members.texts("bearer_methods_supported"),
        dpop_algorithms=members.texts("dpop_signing_alg_values_supported"),
        requires_dpop=members.flag("dpop_bound_access_tokens_required") is True,
        name=members.text("resource_name") or "",
        documentation=members.text("resource_documentation") or "",
    )
    lists = _check_lists(metadata, revision)
    return ResourceMetadataResult(metadata, (*about_resource, *about_issuers, *lists, *members.findings))


def _read_issuers(
    listed: tuple[str, ...] | None, revision: Revision, allowance: Allowance
) -> tuple[tuple[str, ...], tuple[Finding, ...]]:
    findings: list[Finding] = []
    issuers: list[str] = []
    reasons: list[str] = []
    advice = ""
    for entry in dict.fromkeys(listed or ()):
        problem = issuer_problem(entry, allowance)
        if problem is not None:
            reason, advice = problem.clause, problem.next_step or advice
            reasons.append(f"“{shorten(entry, 80)}”: {reason}")
            findings.append(
                finding(
                    "PRM-006",
                    revision,
                    entry=entry,
                    reason=reason,
                    advice=problem.next_step,
                    evidence=entry,
                )
            )
            continue
        if "/.well-known/" in entry:
            findings.append(finding("PRM-007", revision, entry=entry))
        issuers.append(entry)
    if not issuers:
        reasons = reasons or ["authorization_servers is missing or empty"]
        findings.append(finding("PRM-005", revision, reasons=reasons, advice=advice))
    return tuple(issuers), tuple(findings)


def issuer_problem(entry: str, allowance: Allowance) -> UrlBlocked | None:
    """Return why a text cannot be used as an issuer; None if it can."""
    try:
        check_url(entry, allowance)
    except UrlBlocked as blocked:
        return blocked
    return UrlBlocked(BlockReason.UNREADABLE, "It has a query.") if "?" in entry else None


def _check_lists(metadata: ResourceMetadata, revision: Revision) -> Iterator[Finding]:
    methods = metadata.bearer_methods
    if methods is not None and "header" not in methods:
        yield finding("PRM-012", revision, methods=methods or "empty")
    broad = [scope for scope in metadata.scopes or () if scope.lower() in _BROAD_SCOPES]
    if broad:
        yield finding("PRM-014", revision, scopes=broad)


def check_scopes(
    challenge: Challenge | None, metadata: ResourceMetadata | None, revision: Revision
) -> tuple[Finding, ...]:
    """Return findings about the scopes in the challenge and the metadata together."""
    requested = challenge.scopes if challenge is not None else ()
    listed = (metadata.scopes or ()) if metadata is not None else ()
    findings = [] if requested or listed else [finding("AUTH-010", revision)]
    for location, scopes in (("the challenge", requested), ("the protected resource metadata", listed)):
        if OFFLINE in scopes:
            findings.append(finding("AUTH-011", revision, location=location))
    return tuple(findings)


@dataclass(frozen=True, slots=True)
class IssuerChoice:
    """The authorization server to use, and why, as a sentence."""

    issuer: str
    reason: str


def choose_issuer(
    issuers: Sequence[str], *, stored: Collection[str] = (), picked: str | None = None
) -> IssuerChoice | None:
    """Choose a listed issuer; None if there is none. `stored`: those with saved credentials."""
    if picked is not None and picked in issuers:
        return IssuerChoice(picked, "You chose it.")
    known = [issuer for issuer in issuers if issuer in stored]
    if known:
        return IssuerChoice(known[0], "There are saved credentials for it.")
    if not issuers:
        return None
    rest = quote_names(issuers[1:])
    reason = f"It is the first one listed; the others are {rest}." if rest else "It is the only one listed."
    return IssuerChoice(issuers[0], reason)


def check_migration(
    before: str | None, issuers: Sequence[str], choice: IssuerChoice, revision: Revision
) -> tuple[Finding, ...]:
    """Report a changed authorization server; `before` is the one of the last login."""
    if not before or before in issuers:
        return ()
    return (finding("RS-012", revision, old=before, new=choice.issuer),)


def _origin(link: Link) -> tuple[str, str, int]:
    return link.scheme, link.ascii_host.rstrip("."), link.port or {"http": 80}.get(link.scheme, 443)


def _host_text(link: Link) -> str:
    """Return the host, with the port if it is explicit."""
    return link.host if link.port is None else f"{link.host}:{link.port}"


_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class ResourceChoice:
    """The value of `resource`, None to send none. `reason` is a sentence."""

    value: str | None
    reason: str


def canonical_resource(server_url: str) -> str:
    """Return the server's URL as a resource identifier. Raises ValueError if it is invalid.

    Scheme and host in lower case; no fragment, user name or default port. A trailing slash is removed only
    if it is the whole path: `/mcp/` may be a different resource than `/mcp`. Secrets are removed from the
    query: they are for the server, not for its authorization server or the browser history.
    """
    parts = urlsplit(server_url.strip())
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        raise ValueError("It is not an absolute http or https URL.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = parts.port
    netloc = host if port in (None, _DEFAULT_PORTS[parts.scheme]) else f"{host}:{port}"
    query = "&".join(
        pair for pair in parts.query.split("&") if not is_secret_parameter(pair.partition("=")[0])
    )
    path = "" if parts.path == "/" and not query else parts.path
    return urlunsplit((parts.scheme, netloc, path, query, ""))


def choose_resource(
    server_url: str,
    *,
    revision: Revision,
    advertised: str | None = None,
    typed: str | None = None,
) -> ResourceChoice:
    """Choose the resource identifier to send.

    `advertised` is the metadata's `resource`, only if it covers the server's URL. `typed` is the user's
    setting: None if unset, "" to send none.
    """
    if typed is not None:
        return _typed_resource(typed.strip())
    if advertised:
        return ResourceChoice(advertised, "From the protected resource metadata, unchanged.")
    if is_between(revision, R2, R2):
        return ResourceChoice(
            None, "2025-03-26 without protected resource metadata has no resource parameter."
        )
    reason = "The server URL: there is no protected resource metadata that names another."
    return ResourceChoice(canonical_resource(server_url), reason)


def _typed_resource(typed: str) -> ResourceChoice:
    if not typed:
        return ResourceChoice(None, "You chose to send no resource.")
    return ResourceChoice(typed, "Set by you.")


def resource_problem(text: str) -> str:
    """Return why a typed resource is invalid, as a sentence; "" if it is valid."""
    try:
        parts = urlsplit(text)
        is_absolute = bool(parts.scheme and (parts.netloc or parts.path))
    except ValueError:
        return "The resource is not a valid URI."
    if any(character.isspace() or not character.isprintable() for character in text):
        return "The resource contains whitespace or a control character."
    if not is_absolute:
        return "The resource must be an absolute URI, such as https://example.com/mcp."
    return "The resource must not contain a fragment (#…)." if "#" in text else ""
