"""Checks of ID tokens (OpenID Connect Core 1.0) and ID-JAGs (enterprise authorization).

Unlike with access tokens, the claims of an ID token decide something. It must be signed, but the
signature is not verified: the token came directly from the provider's token endpoint, which section
3.1.3.7 accepts instead. A token from elsewhere, such as one that the user entered, is only shown; its
provider will check it.

An ID-JAG is meant for the MCP server's authorization server, which verifies it. Only whether it is for
that server is checked here, as it cannot be revoked once sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from inspector.base.json.values import quote_names, quote_value, text_of
from inspector.protocol.auth.authorization_request import Check, CheckResult
from inspector.protocol.auth.findings.finding import Finding, finding
from inspector.protocol.auth.jwt import JwtView, read_jwt
from inspector.protocol.auth.pkce import is_same
from inspector.protocol.auth.scopes import OFFLINE
from inspector.protocol.auth.tokens import MAX_CLOCK_SKEW, REFRESH_MARGIN, refresh_margin
from inspector.protocol.revisions import Revision

OPENID = "openid"


@dataclass(frozen=True, slots=True)
class IdTokenExpectation:
    """What an ID token must contain.

    For a refreshed one `subject` is known, and it may lack the nonce.
    """

    issuer: str
    client_id: str
    nonce: str = field(default="", repr=False)
    subject: str = ""


@dataclass(frozen=True, slots=True)
class IdTokenResult:
    """The checks in order; `problem` is one sentence, `findings` have the details."""

    checks: tuple[Check, ...]
    problem: str = ""
    findings: tuple[Finding, ...] = ()
    subject: str = ""
    expires_at: float | None = None


def provider_scope(offered: Sequence[str] | None, typed: str | None = None) -> str:
    """Return the scope of a login: always `openid`, as there is no ID token without it.

    `offline_access` gives a refresh token, so that the user need not log in every hour; it is requested if
    the provider lists it, or lists nothing.
    """
    wanted = typed.split() if typed is not None else [OPENID, OFFLINE]
    if typed is None and offered is not None and OFFLINE not in offered:
        wanted.remove(OFFLINE)
    return " ".join(dict.fromkeys([OPENID, *wanted]))


def is_expired(id_token: str, now: float, *, soon: bool = False) -> bool:
    """True if expired, or with `soon` so close that it should be refreshed.

    Unreadable tokens are left to the provider to check.
    """
    view = read_jwt(id_token)
    end = view.time_of("exp") if view is not None else None
    if view is None or end is None:
        return False
    begin = view.time_of("iat")
    margin = REFRESH_MARGIN if begin is None else refresh_margin(end - begin)
    return end - (margin if soon else 0) <= now


def check_id_token(
    id_token: str, expected: IdTokenExpectation, now: float, revision: Revision
) -> IdTokenResult:
    """Check an ID token (OpenID Connect Core, sections 3.1.3.7 and 12.2). Never raises.

    Stops at the first failed check.
    """
    view = read_jwt(id_token)
    if view is None:
        found = finding("IDT-002", revision)
        return IdTokenResult((Check("form", CheckResult.FAILED, found.seen),), found.seen, (found,))
    checks: list[Check] = []
    for check, about in _checks(view, expected, now):
        checks.append(check)
        if check.result is CheckResult.FAILED:
            id, seen = about
            problem = f"The ID token is invalid. {check.name}: {check.text}"
            return IdTokenResult(tuple(checks), problem, (finding(id, revision, **seen),))
    subject, end = text_of(view.claims, "sub"), view.time_of("exp")
    return IdTokenResult(tuple(checks), subject=subject, expires_at=end)


# A check, plus the id and values of its finding in case it failed.
_CheckedClaim = tuple[Check, tuple[str, dict[str, str]]]


def _checks(view: JwtView, expected: IdTokenExpectation, now: float) -> Iterator[_CheckedClaim]:
    is_none = text_of(view.header, "alg").lower() == "none"
    problem = "its algorithm is none" if is_none else "it has no signature"
    yield (
        _check("alg", view.is_signed, "It is signed.", _sentence(problem)),
        ("IDT-010", {"problem": problem}),
    )
    yield (
        _check(
            "iss",
            view.issuer == expected.issuer,
            "It is the identity provider.",
            f"It is {quote_value(view.issuer)}, not {expected.issuer}.",
        ),
        ("IDT-003", {"actual": view.issuer or "an unnamed issuer", "expected": expected.issuer}),
    )
    audience = quote_names(view.audiences) or "no specific audience"
    yield (
        _check(
            "aud",
            expected.client_id in view.audiences,
            "It is for this client.",
            f"It is for {audience}, not for {expected.client_id}.",
        ),
        ("IDT-004", {"actual": audience, "expected": expected.client_id}),
    )
    party = text_of(view.claims, "azp")
    if party or len(view.audiences) > 1:
        text = (
            f"It was issued to {quote_value(party)}, not to this client."
            if party
            else "There are several audiences, but no azp."
        )
        about = {"actual": party or "no specific client", "expected": expected.client_id}
        yield (
            _check("azp", party == expected.client_id, "It was issued to this client.", text),
            ("IDT-005", about),
        )
    yield from _about_times(view, now)
    yield _about_nonce(text_of(view.claims, "nonce"), expected)
    subject = text_of(view.claims, "sub")
    is_same_user = bool(subject) and subject == (expected.subject or subject)
    other = "is for a different user than before" if subject else "has no sub"
    about = {"problem": other}
    yield _check("sub", is_same_user, "It identifies the user.", f"It {other}."), ("IDT-009", about)


def _about_times(view: JwtView, now: float) -> Iterator[_CheckedClaim]:
    end, begin = view.time_of("exp"), view.time_of("iat")
    late = "it has no exp" if end is None else f"it expired {now - end:,.0f} seconds ago"
    is_valid = end is not None and end + MAX_CLOCK_SKEW > now
    yield _check("exp", is_valid, "It has not expired.", _sentence(late)), ("IDT-006", {"problem": late})
    early = "it has no iat" if begin is None else "it was issued in the future"
    is_valid = begin is not None and begin - MAX_CLOCK_SKEW <= now
    yield (
        _check("iat", is_valid, "It was issued in the past.", _sentence(early)),
        ("IDT-007", {"problem": early}),
    )


def _about_nonce(received: str, expected: IdTokenExpectation) -> _CheckedClaim:
    """Check the nonce. A refreshed token may omit it; any other must have it."""
    is_refresh = bool(expected.subject)
    problem = "does not match this login" if received else "is missing"
    about = ("IDT-008", {"problem": problem})
    if is_refresh and (not received or not expected.nonce):
        return Check("nonce", CheckResult.SKIPPED, "A refreshed ID token needs none."), about
    is_valid = bool(expected.nonce) and is_same(received, expected.nonce)
    return _check("nonce", is_valid, "It matches this login.", f"It {problem}."), about


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _check(name: str, is_valid: bool, good: str, bad: str) -> Check:
    return Check(name, CheckResult.PASSED if is_valid else CheckResult.FAILED, good if is_valid else bad)


ID_JAG_TYPE = "oauth-id-jag+jwt"


def check_id_jag(text: str, issuer: str, client_id: str, revision: Revision) -> Iterator[Finding]:
    """Yield what is wrong with an ID-JAG for the authorization server `issuer` and `client_id`."""
    view = read_jwt(text)
    if view is None:
        yield finding("IDT-012", revision, problem="is not a readable JWT")
        return
    if issuer.rstrip("/") not in [audience.rstrip("/") for audience in view.audiences]:
        yield finding(
            "IDT-011", revision, actual=view.audiences or ("no specific audience",), expected=issuer
        )
    kind = text_of(view.header, "typ")
    if kind.lower().removeprefix("application/") != ID_JAG_TYPE:
        yield finding(
            "IDT-012", revision, problem=f"has the type {quote_value(kind)}" if kind else "has no type"
        )
    client = text_of(view.claims, "client_id")
    if client and client_id and client != client_id:
        yield finding("IDT-013", revision, actual=client, expected=client_id)
