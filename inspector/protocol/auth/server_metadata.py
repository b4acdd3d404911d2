"""Authorization server metadata (RFC 8414, OpenID Connect Discovery).

Candidate URLs, issuer validation and parsing. The issuer is compared as text, character by character:
URL normalization would let one server impersonate another. Every endpoint passes `url_guard` before it
can be used. `server_support.py` checks what the server supports.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from urllib.parse import urlsplit

from inspector.base.json.values import JSONObject
from inspector.base.web_link import read_link
from inspector.protocol.auth.findings.finding import Finding, Severity, finding
from inspector.protocol.auth.responses import (
    Candidate,
    DocumentMembers,
    MetadataResponse,
    differing_members,
    first_difference,
    tried_text,
)
from inspector.protocol.auth.token_request import DEFAULT_METHODS
from inspector.protocol.auth.url_guard import (
    AddressKind,
    Allowance,
    BlockReason,
    GuardedUrl,
    UrlBlocked,
    check_url,
)
from inspector.protocol.http_rules import Headers
from inspector.protocol.revisions import Revision

OAUTH = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"

# Endpoints that MCP Lens or the browser contacts, and others whose URLs are only checked.
CONTACTED_ENDPOINTS = (
    "authorization_endpoint",
    "token_endpoint",
    "registration_endpoint",
    "revocation_endpoint",
)
_OTHERS = ("introspection_endpoint", "jwks_uri")

# RFC 8414 §2: defaults for absent lists.
DEFAULT_GRANTS = ("authorization_code", "implicit")
DEFAULT_RESPONSE_MODES = ("query", "fragment")


def server_metadata_urls(issuer: str) -> tuple[Candidate, ...]:
    """Return all candidate URLs of an issuer's document, in order.

    For an issuer with a path, the document is never at the root.
    """
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    if not path:
        return (
            Candidate(origin + OAUTH, "OAuth well-known URL (RFC 8414)."),
            Candidate(origin + OPENID, "OpenID Connect well-known URL."),
        )
    return (
        Candidate(
            origin + OAUTH + path, "OAuth well-known URL, inserted before the issuer's path (RFC 8414)."
        ),
        Candidate(
            origin + OPENID + path, "OpenID Connect well-known URL, inserted before the issuer's path."
        ),
        Candidate(origin + path + OPENID, "OpenID Connect Discovery URL, appended to the issuer's path."),
    )


def provider_metadata_urls(issuer: str) -> tuple[Candidate, ...]:
    """Return the candidates for an identity provider: the OpenID Connect location first."""
    url = issuer.removesuffix("/") + OPENID
    own = Candidate(url, "OpenID Connect Discovery URL, appended to the issuer.")
    return (own, *(location for location in server_metadata_urls(issuer) if location.url != url))


def no_server_metadata(issuer: str, responses: Sequence[MetadataResponse], revision: Revision) -> Finding:
    """Return the finding for missing metadata; it lists every URL tried with its HTTP status."""
    found = finding("ASM-001", revision, issuer=issuer, tried=tried_text(responses))
    advice = next((response.advice for response in responses if response.advice), "")
    return replace(found, fix=advice) if advice else found


def check_cors(response: MetadataResponse, sent: Headers, revision: Revision) -> tuple[Finding, ...]:
    """Check whether browser-based clients could read the document (CORS).

    Many servers send CORS headers only if the request has an Origin; without one nothing is reported.
    """
    has_origin = any(name.lower() == "origin" for name, _ in sent)
    if not has_origin or response.header("access-control-allow-origin"):
        return ()
    return (finding("ASM-024", revision, url=response.url),)


def check_server_copies(oauth: JSONObject, openid: JSONObject, revision: Revision) -> tuple[Finding, ...]:
    """Return findings if both documents are served but differ. Fetching both is optional."""
    fields = differing_members(oauth, openid)
    return (finding("ASM-021", revision, fields=fields),) if fields else ()


def legacy_issuer(server_url: str) -> str:
    """Return the MCP server's origin, which in 2025-03-26 is its own authorization server."""
    parts = urlsplit(server_url)
    return f"{parts.scheme}://{parts.netloc}"


def legacy_metadata_url(server_url: str) -> Candidate:
    why = "2025-03-26 has no protected resource metadata: the server's own host is used."
    return Candidate(legacy_issuer(server_url) + OAUTH, why)


def default_content(server_url: str) -> JSONObject:
    """Return the default endpoints of 2025-03-26 for a server without metadata."""
    origin = legacy_issuer(server_url)
    return {
        "issuer": origin,
        "authorization_endpoint": f"{origin}/authorize",
        "token_endpoint": f"{origin}/token",
        "registration_endpoint": f"{origin}/register",
    }


class MetadataSource(Enum):
    """How a document was found."""

    NAMED = "named in the protected resource metadata"
    LEGACY = "found on the MCP server's own host"
    DEFAULTS = "assumed: no metadata found"


class Pkce(Enum):
    """PKCE support according to the metadata."""

    S256 = "S256 is supported"
    NOT_DECLARED = "not advertised"
    NOT_OFFERED = "advertised without S256"
    UNKNOWN = "unknown: no metadata found"


@dataclass(frozen=True, slots=True)
class ServerMetadata:
    """Parsed metadata.

    A list is None if absent; endpoints that may not be contacted are left out.
    """

    content: JSONObject
    issuer: str  # as requested: the key of all stored data
    stated_issuer: str | None  # as in the document
    source: MetadataSource = MetadataSource.NAMED
    endpoints: dict[str, GuardedUrl] = field(default_factory=dict)
    response_types: tuple[str, ...] | None = None
    grant_types: tuple[str, ...] | None = None
    challenge_methods: tuple[str, ...] | None = None
    auth_methods: tuple[str, ...] | None = None
    auth_algorithms: tuple[str, ...] | None = None
    scopes: tuple[str, ...] | None = None
    dpop_algorithms: tuple[str, ...] | None = None
    grant_profiles: tuple[str, ...] | None = None
    response_modes: tuple[str, ...] | None = None
    advertises_iss: bool = False
    supports_client_id_metadata: bool = False

    @property
    def expected_iss(self) -> str:
        """The issuer to compare the callback's `iss` with."""
        return self.stated_issuer or self.issuer

    @property
    def authorization_endpoint(self) -> GuardedUrl | None:
        return self.endpoints.get("authorization_endpoint")

    @property
    def token_endpoint(self) -> GuardedUrl | None:
        return self.endpoints.get("token_endpoint")

    @property
    def registration_endpoint(self) -> GuardedUrl | None:
        return self.endpoints.get("registration_endpoint")

    @property
    def revocation_endpoint(self) -> GuardedUrl | None:
        return self.endpoints.get("revocation_endpoint")

    @property
    def effective_grants(self) -> tuple[str, ...]:
        return DEFAULT_GRANTS if self.grant_types is None else self.grant_types

    @property
    def effective_auth_methods(self) -> tuple[str, ...]:
        return DEFAULT_METHODS if self.auth_methods is None else self.auth_methods

    @property
    def effective_response_modes(self) -> tuple[str, ...]:
        return DEFAULT_RESPONSE_MODES if self.response_modes is None else self.response_modes

    @property
    def pkce(self) -> Pkce:
        if self.source is MetadataSource.DEFAULTS:
            return Pkce.UNKNOWN
        if self.challenge_methods is None:
            return Pkce.NOT_DECLARED
        return Pkce.S256 if "S256" in self.challenge_methods else Pkce.NOT_OFFERED


@dataclass(frozen=True, slots=True)
class EndpointHost:
    """The host of one endpoint, for a table."""

    field: str
    url: str
    host: str
    is_issuer_host: bool
    is_allowed: bool  # the issuer's host, or one the user allowed for it


@dataclass(frozen=True, slots=True)
class ServerMetadataResult:
    """Parsed metadata and its findings, without those about supported features (`server_support.py`)."""

    metadata: ServerMetadata
    hosts: tuple[EndpointHost, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def foreign_hosts(self) -> tuple[str, ...]:
        """Hosts that the user must approve before anything is sent there."""
        return tuple(dict.fromkeys(one.host for one in self.hosts if not one.is_allowed))


def read_server_metadata(
    content: JSONObject,
    issuer: str,
    revision: Revision,
    allowance: Allowance,
    *,
    source: MetadataSource = MetadataSource.NAMED,
    allowed_hosts: Collection[str] = (),
    tolerates_slash: bool = False,
    needs_code: bool = True,
) -> ServerMetadataResult:
    """Parse a document. Never raises for its content.

    `allowed_hosts` are those that the user allowed for this issuer; `tolerates_slash` is the user's consent
    to a trailing slash after an issuer without a path. `needs_code` is False for grant types without an
    authorization code.
    """
    members = DocumentMembers(content, "ASM-020", revision)
    stated = members.text("issuer")
    issuer_findings = _check_issuer(stated, issuer, revision, source, tolerates_slash)
    endpoints, endpoint_findings = _read_endpoints(members, revision, allowance, needs_code)
    hosts = tuple(_hosts(endpoints, issuer, allowed_hosts))
    metadata = ServerMetadata(
        content=content,
        issuer=issuer,
        stated_issuer=stated,
        source=source,
        endpoints=endpoints,
        response_types=members.texts("response_types_supported"),
        grant_types=members.texts("grant_types_supported"),
        challenge_methods=members.texts("code_challenge_methods_supported"),
        auth_methods=members.texts("token_endpoint_auth_methods_supported"),
        auth_algorithms=members.texts("token_endpoint_auth_signing_alg_values_supported"),
        scopes=members.texts("scopes_supported"),
        dpop_algorithms=members.texts("dpop_signing_alg_values_supported"),
        grant_profiles=members.texts("authorization_grant_profiles_supported"),
        response_modes=members.texts("response_modes_supported"),
        advertises_iss=members.flag("authorization_response_iss_parameter_supported") is True,
        supports_client_id_metadata=members.flag("client_id_metadata_document_supported") is True,
    )
    host_findings = _check_hosts(hosts, issuer, revision)
    return ServerMetadataResult(
        metadata, hosts, (*issuer_findings, *endpoint_findings, *host_findings, *members.findings)
    )


def _check_issuer(
    stated: str | None, issuer: str, revision: Revision, source: MetadataSource, tolerates_slash: bool
) -> tuple[Finding, ...]:
    if not stated:
        return (finding("ASM-004", revision),)
    if stated == issuer:
        return ()
    if source is not MetadataSource.NAMED:
        is_same = _without_slash(stated) == _without_slash(issuer)
        return () if is_same else (finding("ASM-025", revision, issuer=stated, expected=issuer),)
    small = _small_difference(stated, issuer)
    note = (finding("ASM-003", revision, difference=small),) if small else ()
    if tolerates_slash and _without_slash(stated) == _without_slash(issuer):
        return note
    column = first_difference(stated, issuer)
    return (finding("ASM-002", revision, issuer=stated, expected=issuer, column=column), *note)


def _without_slash(issuer: str) -> str:
    """Remove the slash of an issuer without a path, where both forms are in use."""
    return issuer.removesuffix("/") if urlsplit(issuer).path == "/" else issuer


def _small_difference(one: str, other: str) -> str:
    """Describe a difference that URL normalization would hide; "" if there is none."""
    if one.rstrip("/") == other.rstrip("/"):
        return "a trailing slash"
    if one.lower() == other.lower():
        return "letter case"
    return "an explicit default port" if _normalized(one) == _normalized(other) else ""


def _normalized(issuer: str) -> tuple[object, ...]:
    link = read_link(issuer)
    port = link.port or {"http": 80}.get(link.scheme, 443)
    return link.problem, link.scheme, link.user, link.ascii_host, port, link.path.rstrip("/")


def _read_endpoints(
    members: DocumentMembers, revision: Revision, allowance: Allowance, needs_code: bool
) -> tuple[dict[str, GuardedUrl], list[Finding]]:
    endpoints: dict[str, GuardedUrl] = {}
    findings: list[Finding] = []
    needed = ("authorization_endpoint", "token_endpoint") if needs_code else ("token_endpoint",)
    for name in (*CONTACTED_ENDPOINTS, *_OTHERS):
        url = members.text(name)
        if not url:
            findings += [finding("ASM-009", revision, field=name)] if name in needed else []
            continue
        try:
            endpoints[name] = check_url(url, allowance)
        except UrlBlocked as blocked:
            findings.append(_blocked(name, url, blocked, revision, is_needed=name in needed))
        else:
            findings += _check_consented(name, endpoints[name], revision)
    return endpoints, findings


def _blocked(name: str, url: str, blocked: UrlBlocked, revision: Revision, *, is_needed: bool) -> Finding:
    if blocked.reason is BlockReason.PLAIN_HTTP:
        found = finding("ASM-011", revision, field=name, url=url)
    else:
        found = finding(
            "ASM-012", revision, field=name, url=url, reason=blocked.clause, advice=blocked.next_step
        )
    return found if is_needed else replace(found, stops=False)  # an optional endpoint is simply not used


def _check_consented(name: str, url: GuardedUrl, revision: Revision) -> Iterator[Finding]:
    """Yield warnings about URLs that the user allowed but that are not compliant."""
    if url.scheme == "http" and url.kind is not AddressKind.LOOPBACK:
        found = finding("ASM-011", revision, field=name, url=url.raw)
        yield replace(found, severity=Severity.WARNING, stops=False)


def _hosts(
    endpoints: dict[str, GuardedUrl], issuer: str, allowed_hosts: Collection[str]
) -> Iterator[EndpointHost]:
    own = read_link(issuer).ascii_host.rstrip(".")
    for name in CONTACTED_ENDPOINTS:
        if name in endpoints:
            url = endpoints[name]
            is_issuer_host = url.host == own
            is_allowed = is_issuer_host or url.host in allowed_hosts
            yield EndpointHost(name, url.raw, url.host, is_issuer_host, is_allowed)


def _check_hosts(hosts: Sequence[EndpointHost], issuer: str, revision: Revision) -> Iterator[Finding]:
    for host in dict.fromkeys(one.host for one in hosts if not one.is_allowed):
        names = [one.field for one in hosts if one.host == host]
        fields = f"{', '.join(names)} {'is' if len(names) == 1 else 'are'}"
        own = read_link(issuer).ascii_host
        yield finding("ASM-013", revision, fields=fields, host=host, issuer=own)
