"""Diagnoses of servers that require a login."""

from __future__ import annotations

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.redaction import masked_url
from inspector.engine.doctor.network_probe import WellKnownDocuments
from inspector.engine.doctor.probe_session import ObservedHttp
from inspector.engine.doctor.results import Action, ActionKind, Diagnosis
from inspector.engine.doctor.rules.http import evidence_of
from inspector.protocol.auth.challenge import rejection_reason
from inspector.protocol.auth.url_guard import BlockReason, UrlBlocked


def diagnose_login(
    rejected: ObservedHttp, documents: WellKnownDocuments, *, has_header: bool, has_token: bool
) -> Diagnosis:
    """Diagnose HTTP 401. `has_header`: credentials are configured; `has_token`: from a login."""
    evidence = (*evidence_of(rejected), *(f"{url}: {result}" for url, result in documents.locations))
    if documents.challenge:
        evidence = (f"WWW-Authenticate: {documents.challenge}", *evidence)
    if has_header:
        reason = rejection_reason([rejected.header("www-authenticate")], rejected.body)
        reported = f": {reason}" if reason else ""
        return Diagnosis(
            "header-refused",
            "auth",
            f"The server rejects the configured Authorization header{reported} (HTTP 401).",
            "Check that it is complete, not expired, and of the right type (“Bearer …”).",
            evidence,
            Action(ActionKind.OPEN_SECRETS, "Server secrets…"),
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
    if documents.blocked is not None:
        return _blocked_issuer(documents.issuer, documents.blocked, evidence)
    if documents.issuer_document:
        return Diagnosis(
            "login-needed",
            "auth",
            f"The server requires a login at {documents.issuer}.",
            "Log in; the Auth tab guides you through it.",
            evidence,
            log_in,
        )
    if documents.issuer:
        return Diagnosis(
            "issuer-unreachable",
            "auth",
            f"The server requires a login at {documents.issuer}, but that authorization server has no "
            "metadata at the well-known URLs.",
            "The operator must serve /.well-known/oauth-authorization-server there. Usually the issuer "
            "has a wrong path.",
            evidence,
            log_in,
        )
    if documents.resource or documents.problem:
        where = f" ({documents.problem_at})" if documents.problem_at else ""
        return Diagnosis(
            "resource-metadata-broken",
            "wellknown",
            f"The server requires a login, but its protected resource metadata cannot be used{where}: "
            f"{documents.problem.rstrip('.')}.",
            "The operator must fix it; it belongs at /.well-known/oauth-protected-resource.",
            evidence,
            log_in,
        )
    if documents.schemes and "bearer" not in documents.schemes:
        return _other_login(documents.schemes, evidence)
    return Diagnosis(
        "login-undescribed",
        "auth",
        "The server requires authentication (HTTP 401), but does not say how to log in.",
        "Most such servers expect an API key: add an Authorization header to the server.",
        evidence,
    )


def _blocked_issuer(issuer: str, blocked: UrlBlocked, evidence: tuple[str, ...]) -> Diagnosis:
    can_allow = blocked.reason is BlockReason.PRIVATE  # the login asks for consent
    return Diagnosis(
        "issuer-blocked",
        "auth",
        f"The server requires a login at {shorten(one_line(masked_url(issuer)), 200)}, which MCP Lens does "
        f"not contact: {blocked.clause}.",
        blocked.next_step or "The operator must correct authorization_servers in the metadata.",
        evidence,
        Action(ActionKind.LOG_IN, "Log in…") if can_allow else None,
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
