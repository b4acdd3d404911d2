"""Token responses: parsing, checks against the request, and when to refresh.

Times are absolute seconds since 1970, so that a stored token is known to be expired later. The claims of
a JWT access token are compared with the request; the token is verified by the MCP server, not here. An
opaque token gives no findings.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from urllib.parse import urlsplit

from inspector.base.json.values import JSON, JSONObject, excerpt, is_number, quote_value, text_of
from inspector.protocol.auth import dpop
from inspector.protocol.auth.findings.finding import Finding, finding
from inspector.protocol.auth.jwt import JwtView, read_jwt
from inspector.protocol.auth.responses import ReportedError, read_error, read_object
from inspector.protocol.auth.scopes import OFFLINE, compare_scopes, split_scope
from inspector.protocol.auth.token_request import ID_JAG, AuthMethod, Grant
from inspector.protocol.http_rules import Headers
from inspector.protocol.revisions import Revision

MAX_CLOCK_SKEW = 60  # allowed clock skew in seconds
REFRESH_MARGIN = 60  # maximum seconds before expiry at which a token is refreshed
_LONG_LIFETIME = 24 * 3600
_MAX_LIFETIME = 10 * 366 * 24 * 3600
# Valid in a header value; anything else could inject or break headers.
_SENDABLE = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class TokenSet:
    """Tokens with all that is needed to use and refresh them, also after a restart."""

    access_token: str = field(repr=False)
    token_type: str  # "Bearer" or "DPoP" as in a header ("N_A" for an ID-JAG, which is never in one)
    issuer: str
    client_id: str
    resource: str | None
    scopes: tuple[str, ...]  # granted; as requested if the response does not say
    requested: tuple[str, ...]
    received_at: float
    expires_at: float | None = None  # None: unknown until a 401
    refresh_token: str = field(default="", repr=False)
    id_token: str = field(default="", repr=False)

    @property
    def authorization(self) -> str:
        """Value of the Authorization header."""
        return f"{self.token_type} {self.access_token}"


@dataclass(frozen=True, slots=True)
class TokenExpectation:
    """What a token response must match, from its request."""

    grant: Grant
    issuer: str
    client_id: str
    resource: str | None
    scopes: tuple[str, ...] = ()
    method: str = AuthMethod.NONE.value
    offered_methods: tuple[str, ...] = ()
    key_thumbprint: str = ""  # of the DPoP key, if a proof was sent
    previous: TokenSet | None = field(default=None, repr=False)  # the tokens being refreshed

    @property
    def is_refresh(self) -> bool:
        return self.grant is Grant.REFRESH


@dataclass(frozen=True, slots=True)
class TokenResponse:
    """Result of a token request: tokens, an error, or a problem as a sentence; and findings."""

    tokens: TokenSet | None = None
    error: ReportedError | None = None
    findings: tuple[Finding, ...] = ()
    problem: str = ""
    wants_nonce: bool = False  # repeat the request with the server's DPoP-Nonce
    ends_login: bool = False  # the tokens are invalid: log in again


class Renewal(Enum):
    """What must happen before tokens can be used."""

    NOT_NEEDED = "not needed"
    REFRESH = "refresh"
    LOG_IN = "log in"


@dataclass(frozen=True, slots=True)
class RenewalDecision:
    """Whether tokens must be refreshed now, and why; `reason` is a sentence."""

    renewal: Renewal
    reason: str


def refresh_margin(lifetime: float) -> float:
    """Return how many seconds before expiry to refresh, given the lifetime.

    A minute, but for short-lived tokens a quarter of the lifetime: otherwise every request would refresh.
    """
    return min(REFRESH_MARGIN, max(0.0, lifetime) / 4)


def decide_renewal(tokens: TokenSet, now: float) -> RenewalDecision:
    """Refresh slightly early: a token must not expire during a request."""
    if tokens.expires_at is None:
        return RenewalDecision(Renewal.NOT_NEEDED, "The server did not say how long the token is valid.")
    left = math.floor(tokens.expires_at - now)
    if left > refresh_margin(tokens.expires_at - tokens.received_at):
        return RenewalDecision(Renewal.NOT_NEEDED, f"The token is valid for another {left:,} seconds.")
    state = f"expires in {left} seconds" if left > 0 else "has expired"
    if tokens.refresh_token:
        return RenewalDecision(Renewal.REFRESH, f"The token {state}, and there is a refresh token.")
    if left > 0:
        reason = f"The token {state}, and there is no refresh token: it is used until it expires."
        return RenewalDecision(Renewal.NOT_NEEDED, reason)
    return RenewalDecision(Renewal.LOG_IN, f"The token {state}, and there is no refresh token.")


def read_token_response(
    status: int, headers: Headers, body: bytes, expected: TokenExpectation, *, now: float, revision: Revision
) -> TokenResponse:
    """Parse a token response. Never raises."""
    if 300 <= status < 400:
        host = _host(_header(headers, "location"))
        found = finding("TOK-015", revision, host=host)
        return TokenResponse(findings=(found,), problem=f"{found.seen} {found.rule}")
    document = read_object(body)
    if status >= 400 or status < 200:
        return _refused(status, document or {}, expected, revision)
    if document is None:
        content_type = _header(headers, "content-type") or "without a content type"
        return _unusable_response(finding("TOK-001", revision, content_type=content_type))
    error = read_error(document)
    if error is not None and not text_of(document, "access_token"):
        found = finding("TOK-014", revision, error=error.code, evidence=error.evidence)
        return replace(_unusable_response(found), error=error, ends_login=_ends_login(error, expected))
    return _issued(headers, document, expected, now, revision)


def _refused(
    status: int, document: JSONObject, expected: TokenExpectation, revision: Revision
) -> TokenResponse:
    error = read_error(document)
    if error is None:
        again = " The current tokens are still saved; try again later." if status >= 500 else ""
        return TokenResponse(problem=f"The token endpoint returned {status} without a reason.{again}")
    return TokenResponse(
        error=error,
        findings=tuple(_about_refusal(error, expected, revision)),
        problem=f"The token endpoint rejected the request: {error.sentence}",
        wants_nonce=dpop.wants_nonce(status, error.code),
        ends_login=_ends_login(error, expected),
    )


def _ends_login(error: ReportedError, expected: TokenExpectation) -> bool:
    """True if final: a rejected refresh token stays rejected; anything else may be temporary."""
    return expected.is_refresh and error.code == "invalid_grant"


def _about_refusal(error: ReportedError, expected: TokenExpectation, revision: Revision) -> Iterator[Finding]:
    if error.code == "invalid_client":
        methods = expected.offered_methods or ("no methods",)
        yield finding("TOK-006", revision, method=expected.method, methods=methods, evidence=error.evidence)
    wants_scope = error.code == "invalid_scope" or (
        error.code == "invalid_request" and error.mentions("scope")
    )
    if expected.is_refresh and wants_scope:
        yield finding("TOK-018", revision, problem="the server requires a scope", evidence=error.evidence)


def _issued(
    headers: Headers, document: JSONObject, expected: TokenExpectation, now: float, revision: Revision
) -> TokenResponse:
    unusable = _unusable(document, expected, revision)
    if unusable is not None:
        return _unusable_response(unusable)
    tokens = _tokens(document, expected, now)
    findings = [*_about_response(headers, document, tokens, expected, revision)]
    findings += _about_lifetime(document, tokens, revision)
    findings += claim_findings(
        tokens.access_token,
        resource=None if expected.grant is Grant.EXCHANGE else expected.resource,
        issuer=None if expected.grant is Grant.EXCHANGE else expected.issuer,
        expires_at=tokens.expires_at,
        key_thumbprint=expected.key_thumbprint if tokens.token_type == "DPoP" else "",  # noqa: S105
        now=now,
        revision=revision,
    )
    return TokenResponse(tokens, findings=tuple(findings))


def _unusable(document: JSONObject, expected: TokenExpectation, revision: Revision) -> Finding | None:
    """Return why the response is unusable, None if it is usable."""
    missing = _missing_field(document)
    if missing and expected.is_refresh:
        return finding("TOK-018", revision, problem=f"the response has no usable {missing}")
    if missing:
        return finding("TOK-002", revision, field=missing)
    if expected.grant is Grant.EXCHANGE and text_of(document, "issued_token_type") != ID_JAG:
        return finding("TOK-003", revision, type=excerpt(document.get("issued_token_type")))
    kind = text_of(document, "token_type")
    if _token_type(kind, expected) is None:
        return finding("TOK-003", revision, type=kind)
    return None


def _missing_field(document: JSONObject) -> str:
    if not _SENDABLE.fullmatch(text_of(document, "access_token")):
        return "access_token"
    return "" if text_of(document, "token_type") else "token_type"


def _token_type(kind: str, expected: TokenExpectation) -> str | None:
    """Return the type as spelled in a header; None if unsupported here."""
    if expected.grant is Grant.EXCHANGE:
        return "N_A"  # RFC 8693, section 2.2.1; an ID-JAG is sent in a form, so other values are accepted
    if kind.lower() == "bearer":
        return "Bearer"
    return "DPoP" if kind.lower() == "dpop" and expected.key_thumbprint else None


def _tokens(document: JSONObject, expected: TokenExpectation, now: float) -> TokenSet:
    before = expected.previous
    requested = expected.scopes or (before.requested if before else ())
    granted = split_scope(text_of(document, "scope")) or (before.scopes if before else requested)
    lifetime = _lifetime(document.get("expires_in"))
    return TokenSet(
        access_token=text_of(document, "access_token"),
        token_type=_token_type(text_of(document, "token_type"), expected) or "Bearer",
        issuer=expected.issuer,
        client_id=expected.client_id,
        resource=expected.resource,
        scopes=granted,
        requested=requested,
        received_at=now,
        expires_at=None if lifetime is None else now + lifetime,
        refresh_token=text_of(document, "refresh_token") or (before.refresh_token if before else ""),
        id_token=text_of(document, "id_token") or (before.id_token if before else ""),
    )


def _lifetime(value: JSON) -> float | None:
    """Return the lifetime in seconds; numeric strings are accepted. None if invalid."""
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdigit() and len(value) < 20 else None
    if not is_number(value) or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return float(max(0, min(value, _MAX_LIFETIME)))


def _about_response(
    headers: Headers, document: JSONObject, tokens: TokenSet, expected: TokenExpectation, revision: Revision
) -> Iterator[Finding]:
    if "no-store" not in _header(headers, "cache-control").lower():
        yield finding("TOK-005", revision)
    missing = [scope for scope in compare_scopes(tokens.requested, tokens.scopes).missing if scope != OFFLINE]
    if missing:
        granted = tokens.scopes or ("nothing",)
        yield finding("TOK-009", revision, requested=tokens.requested, granted=granted, missing=missing)
    if expected.key_thumbprint and tokens.token_type == "Bearer":  # noqa: S105
        yield finding("TOK-016", revision, problem="its type is Bearer")
    before = expected.previous
    # A refresh token of a public client that uses DPoP is bound to its key (RFC 9449, section 5), and
    # OAuth 2.1, section 4.3.1, exempts sender-constrained ones.
    is_bound = bool(expected.key_thumbprint) and tokens.token_type == "DPoP"  # noqa: S105
    is_public_refresh = expected.is_refresh and expected.method == AuthMethod.NONE.value and not is_bound
    if is_public_refresh and before is not None and tokens.refresh_token == before.refresh_token:
        yield finding("TOK-017", revision)


def _about_lifetime(document: JSONObject, tokens: TokenSet, revision: Revision) -> Iterator[Finding]:
    value = document.get("expires_in")
    if not is_number(value) or _lifetime(value) is None or value <= 0:
        text = quote_value(value) if "expires_in" in document else "absent"
        yield finding("TOK-004", revision, value=text)
    if tokens.expires_at is not None and tokens.expires_at - tokens.received_at > _LONG_LIFETIME:
        hours = math.floor((tokens.expires_at - tokens.received_at) / 3600)
        yield finding("TOK-013", revision, lifetime=f"{hours:,} hours")


def _unusable_response(found: Finding) -> TokenResponse:
    return TokenResponse(findings=(found,), problem=f"{found.seen} {found.rule}")


def _header(headers: Headers, name: str) -> str:
    """Return all values of a header, joined (RFC 9110, section 5.2)."""
    return ", ".join(value for other, value in headers if other.lower() == name)


def _host(location: str) -> str:
    try:
        return urlsplit(location).hostname or "another path on the same host"
    except ValueError:
        return "an invalid URL"


def claim_findings(
    access_token: str,
    *,
    resource: str | None,
    issuer: str | None,
    expires_at: float | None,
    key_thumbprint: str,
    now: float,
    revision: Revision,
) -> Iterator[Finding]:
    """Yield findings about a token's claims. None and "" are not compared."""
    token = read_jwt(access_token)
    if token is None:
        return
    if resource and resource not in token.audiences:
        audience = token.audiences or ("no specific audience",)
        yield finding("TOK-010", revision, audience=audience, resource=resource)
    if issuer and token.issuer and token.issuer != issuer:
        yield finding("TOK-011", revision, token_issuer=token.issuer, issuer=issuer)
    if key_thumbprint and token.key_thumbprint != key_thumbprint:
        problem = "cnf.jkt is the thumbprint of another key" if token.key_thumbprint else "it has no cnf.jkt"
        yield finding("TOK-016", revision, problem=problem)
    yield from _about_times(token, expires_at, now, revision)


def _about_times(
    token: JwtView, expires_at: float | None, now: float, revision: Revision
) -> Iterator[Finding]:
    end = token.time_of("exp")
    if end is not None and expires_at is not None and abs(end - expires_at) > MAX_CLOCK_SKEW:
        off = round(abs(end - expires_at))
        yield finding("TOK-012", revision, seconds=off, what="exp differs from expires_in")
    for name in ("iat", "nbf"):
        begin = token.time_of(name)
        if begin is not None and begin - now > MAX_CLOCK_SKEW:
            yield finding("TOK-012", revision, seconds=round(begin - now), what=f"{name} is in the future")
