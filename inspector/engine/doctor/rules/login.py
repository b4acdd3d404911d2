"""Diagnoses of servers that require a login, and the fetch of their well-known documents.

The documents are fetched as a login would fetch them; the authorization server is contacted only after
the server rejected a request.
"""

from __future__ import annotations

from dataclasses import dataclass

from inspector.base.clock import Clock
from inspector.base.errors import UserError
from inspector.base.plain_text import one_line
from inspector.base.redaction import masked_url
from inspector.engine.doctor.probe_session import ObservedHttp
from inspector.engine.doctor.results import Action, ActionKind, Diagnosis
from inspector.engine.doctor.rules.http import evidence_of
from inspector.oauth.http import LoginHttp, LoginRecorder, get_document
from inspector.protocol.auth.challenge import choose_challenge, read_challenges
from inspector.protocol.auth.resource_metadata import resource_metadata_urls
from inspector.protocol.auth.responses import Candidate, Outcome, Reply, read_document
from inspector.protocol.auth.server_metadata import server_metadata_urls
from inspector.protocol.auth.url_guard import allowance_for
from inspector.protocol.revisions import NEWEST_HANDSHAKE
from inspector.traffic.log import TrafficLog
from inspector.transport.network import Network


def diagnose_login(
    probe: ObservedHttp, known: WellKnownDocuments, *, has_header: bool, has_token: bool
) -> Diagnosis:
    """Diagnose HTTP 401. `has_header`: credentials are configured; `has_token`: from a login."""
    evidence = (*evidence_of(probe), *(f"{url}: {came}" for url, came in known.locations))
    if known.challenge:
        evidence = (f"WWW-Authenticate: {known.challenge}", *evidence)
    if has_header:
        return Diagnosis(
            "header-refused",
            "auth",
            "The server rejects the configured Authorization header (HTTP 401).",
            "Check that it is complete, not expired, and of the right type (“Bearer …”).",
            evidence,
            Action(ActionKind.OPEN_SECRETS, "Secrets of this server…"),
        )
    log_in = Action(ActionKind.LOG_IN, "Log in…")
    if has_token:
        return Diagnosis(
            "token-refused",
            "auth",
            "The server rejects the token from the last login (HTTP 401).",
            "Log in again. If that does not help, compare the token's audience with the server's URL.",
            evidence,
            log_in,
        )
    if known.issuer_document:
        return Diagnosis(
            "login-needed",
            "auth",
            f"The server requires a login at {known.issuer}.",
            "Log in; the Auth tab guides you through it.",
            evidence,
            log_in,
        )
    if known.issuer:
        return Diagnosis(
            "issuer-unreachable",
            "auth",
            f"The server requires a login at {known.issuer}, but that authorization server has no "
            "metadata at the well-known URLs.",
            "The operator must serve /.well-known/oauth-authorization-server there. Usually the issuer "
            "has a wrong path.",
            evidence,
            log_in,
        )
    if known.resource or known.problem:
        where = f" ({known.problem_at})" if known.problem_at else ""
        return Diagnosis(
            "resource-metadata-broken",
            "wellknown",
            f"The server requires a login, but its protected resource metadata cannot be used{where}: "
            f"{known.problem.rstrip('.')}.",
            "The operator must fix it; it belongs at /.well-known/oauth-protected-resource.",
            evidence,
            log_in,
        )
    if known.schemes and "bearer" not in known.schemes:
        return _other_login(known.schemes, evidence)
    return Diagnosis(
        "login-undescribed",
        "auth",
        "The server requires authentication (HTTP 401), but does not say how to log in.",
        "Most such servers expect an API key: add an Authorization header to the server.",
        evidence,
    )


def _other_login(schemes: tuple[str, ...], evidence: tuple[str, ...]) -> Diagnosis:
    if "basic" in schemes:
        return Diagnosis(
            "password-wanted",
            "auth",
            "The server, or a proxy in front of it, requires a user name and password (HTTP 401, “Basic”).",
            "Add an Authorization header to the server: Basic, followed by user:password in Base64.",
            evidence,
        )
    return Diagnosis(
        "other-login",
        "auth",
        "The server, or a proxy in front of it, requires an authentication scheme that MCP does not "
        f"support: {', '.join(scheme.capitalize() for scheme in schemes)}.",
        "Ask the operator for a URL without it, or for a key that can be sent as a header.",
        evidence,
    )


_LIMIT = 10.0


@dataclass(frozen=True, slots=True)
class WellKnownDocuments:
    """Well-known documents that were found.

    `resource` and `issuer_document` are their URLs; `problem` is what is wrong with one. `locations` are the
    URLs requested, with the outcome of each.
    """

    challenge: str = ""  # WWW-Authenticate of the 401, verbatim
    resource: str = ""
    issuer: str = ""
    issuer_document: str = ""
    problem: str = ""
    locations: tuple[tuple[str, str], ...] = ()
    problem_at: str = ""  # URL of the problem, if not the usual one
    schemes: tuple[str, ...] = ()  # challenge schemes, lower case


async def fetch_well_known(
    url: str, refused: ObservedHttp | None, network: Network, log: TrafficLog, server: str, clock: Clock
) -> WellKnownDocuments:
    """Fetch the well-known documents.

    The issuer is contacted only if the server requires a login: before that, there is no reason to.
    """
    allowance = allowance_for(url)
    http = LoginHttp(network, allowance, clock, LoginRecorder(log, server, clock), _LIMIT)
    values = _challenges(refused)
    challenges = read_challenges(values)
    challenge = choose_challenge(challenges, refused.status if refused is not None else 401)
    schemes = tuple(dict.fromkeys(one_line(each.scheme.lower())[:20] for each in challenges.all))
    locations: list[tuple[str, str]] = []
    try:
        resources = resource_metadata_urls(url, challenge, allowance, NEWEST_HANDSHAKE).candidates
        resource, content, problem = await _first(http, resources, locations)
        listed = content.get("authorization_servers")
        issuer = (
            next((each for each in listed if isinstance(each, str)), "") if isinstance(listed, list) else ""
        )
        found = ""
        if resource and not issuer:
            problem = "it lists no authorization server"
        elif issuer and refused is not None:
            found, _, problem = await _first(http, server_metadata_urls(issuer), locations)
        named = challenge.resource_metadata if challenge is not None and not resource else ""
        came = next((came for url, came in locations if url == named), "")
        if named and not problem:
            problem = came or "fetching it from there is not allowed"
        shown, kept = ", ".join(values), tuple(locations)
        return WellKnownDocuments(
            shown, resource, issuer, found, problem, kept, masked_url(named or ""), schemes
        )
    finally:
        await http.close()


def _challenges(refused: ObservedHttp | None) -> list[str]:
    headers = refused.headers if refused is not None else ()
    return [value for name, value in headers if name.lower() == "www-authenticate"]


async def _first(
    http: LoginHttp, candidates: tuple[Candidate, ...], locations: list[tuple[str, str]]
) -> tuple[str, dict[str, object], str]:
    """Return the first document found, its content, and problems of those before it."""
    problem = ""
    for candidate in candidates:
        try:
            response = await http.send(get_document(candidate.url))
        except UserError as exc:
            locations.append((candidate.url, exc.summary))
            continue
        reply = Reply(candidate.url, response.status, response.headers, response.body)
        document = read_document(reply)
        if document.outcome is Outcome.FOUND and document.content is not None:
            locations.append((candidate.url, "found"))
            return candidate.url, dict(document.content), ""
        problem = document.problem or problem
        locations.append((candidate.url, document.problem or f"HTTP {response.status}"))
    return "", {}, problem
