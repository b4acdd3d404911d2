"""What a server that wants to know who asks lacks: its refusal and its documents in, a diagnosis out."""

from __future__ import annotations

from inspector.engine.doctor.answerrules import evidence_of
from inspector.engine.doctor.checks import Action, ActionKind, Diagnosis
from inspector.engine.doctor.talk import HttpSeen
from inspector.engine.doctor.wellknown import WellKnownSeen


def diagnose_login(seen: HttpSeen, known: WellKnownSeen, *, has_header: bool, has_token: bool) -> Diagnosis:
    """Diagnose HTTP 401. `has_header`: credentials are configured; `has_token`: from a login."""
    evidence = (*evidence_of(seen), *(f"{url}: {came}" for url, came in known.places))
    if known.challenge:
        evidence = (f"WWW-Authenticate: {known.challenge}", *evidence)
    if has_header:
        return Diagnosis(
            "header-refused",
            "auth",
            "The server refuses the Authorization that is configured for it (HTTP 401).",
            "Check it: is it whole, not expired, and of the right kind (“Bearer …”)?",
            evidence,
            Action(ActionKind.OPEN_SECRETS, "Secrets of this server…"),
        )
    log_in = Action(ActionKind.LOG_IN, "Open the login")
    if has_token:
        return Diagnosis(
            "token-refused",
            "auth",
            "The server refuses the token of the last login (HTTP 401).",
            "Log in again. If that does not help, compare the token's audience with the server's address.",
            evidence,
            log_in,
        )
    if known.issuer_document:
        return Diagnosis(
            "login-needed",
            "auth",
            f"The server wants a login, with {known.issuer}.",
            "Log in: the Auth tab walks through it.",
            evidence,
            log_in,
        )
    if known.issuer:
        return Diagnosis(
            "issuer-unreachable",
            "auth",
            f"The server wants a login with {known.issuer}, but that has no metadata at its well-known "
            "places.",
            "Its operator must serve /.well-known/oauth-authorization-server there; a wrong path in the "
            "issuer is "
            "the usual mistake.",
            evidence,
            log_in,
        )
    if known.resource or known.problem:
        where = f" ({known.problem_at})" if known.problem_at else ""
        return Diagnosis(
            "resource-metadata-broken",
            "wellknown",
            f"The server wants a login, but its document about that cannot be used{where}: "
            f"{known.problem.rstrip('.')}.",
            "Its operator must correct that: it belongs at /.well-known/oauth-protected-resource.",
            evidence,
            log_in,
        )
    if known.schemes and "bearer" not in known.schemes:
        return _other_login(known.schemes, evidence)
    return Diagnosis(
        "login-undescribed",
        "auth",
        "The server wants to know who asks (HTTP 401), and does not say how to log in.",
        "Most such servers want an API key: give the server an Authorization header.",
        evidence,
    )


def _other_login(schemes: tuple[str, ...], evidence: tuple[str, ...]) -> Diagnosis:
    if "basic" in schemes:
        return Diagnosis(
            "password-wanted",
            "auth",
            "The server, or a proxy before it, wants a user name and a password (HTTP 401, “Basic”).",
            "Give the server an Authorization header: the word Basic, and then user:password in Base64.",
            evidence,
        )
    return Diagnosis(
        "other-login",
        "auth",
        f"The server, or a proxy before it, wants a login of a kind that MCP does not have: "
        f"{', '.join(scheme.capitalize() for scheme in schemes)}.",
        "Ask its operator for an address without that, or for a key that can be sent as a header.",
        evidence,
    )
