"""ID tokens (OpenID Connect Core 1.0): who signed in with the company's identity provider, and for whom.

Here something is decided by what a token says, unlike with access tokens. The signature is not checked: the
token came straight from the provider's token endpoint, which section 3.1.3.7 takes in its place. One that a
person entered, or that came any other way, is only shown: the provider itself will judge it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from inspector.protocol.auth.callback import Check, Result
from inspector.protocol.auth.jwtview import JwtView, read_jwt
from inspector.protocol.auth.pkce import is_same
from inspector.protocol.auth.scopes import OFFLINE
from inspector.protocol.auth.tokenclaims import SKEW
from inspector.protocol.auth.tokens import MARGIN, margin_of
from inspector.protocol.members import shown, some, text_of

OPENID = "openid"


@dataclass(frozen=True, slots=True)
class IdTokenExpectation:
    """What an ID token must say. Of a renewed one `subject` is known, and it may leave the nonce out."""

    issuer: str
    client_id: str
    nonce: str = field(default="", repr=False)
    subject: str = ""


@dataclass(frozen=True, slots=True)
class IdTokenVerdict:
    """What was checked, in order; `problem` says what is wrong, as a sentence."""

    checks: tuple[Check, ...]
    problem: str = ""
    subject: str = ""
    expires_at: float | None = None


def sign_in_scope(offered: Sequence[str] | None, typed: str | None = None) -> str:
    """What is asked for at a sign-in: `openid` always, for without it there is no ID token.

    `offline_access` gives a refresh token, so that nobody has to sign in each hour; it is asked for where the
    provider lists it, or lists nothing.
    """
    wanted = typed.split() if typed is not None else [OPENID, OFFLINE]
    if typed is None and offered is not None and OFFLINE not in offered:
        wanted.remove(OFFLINE)
    return " ".join(dict.fromkeys([OPENID, *wanted]))


def has_run_out(id_token: str, now: float, *, soon: bool = False) -> bool:
    """Is it over, or so close to it that it is to be renewed (`soon`)? What cannot be read is left for its
    provider to judge."""
    view = read_jwt(id_token)
    end = view.time_of("exp") if view is not None else None
    if view is None or end is None:
        return False
    begin = view.time_of("iat")
    margin = MARGIN if begin is None else margin_of(end - begin)
    return end - (margin if soon else 0) <= now


def check_id_token(id_token: str, expected: IdTokenExpectation, now: float) -> IdTokenVerdict:
    """Check what a provider gave (OpenID Connect Core, sections 3.1.3.7 and 12.2). Never raises."""
    view = read_jwt(id_token)
    if view is None:
        words = "The ID token is no JWT that can be read."
        return IdTokenVerdict((Check("form", Result.FAILED, words),), words)
    checks: list[Check] = []
    for check in _checks(view, expected, now):
        checks.append(check)
        if check.result is Result.FAILED:
            return IdTokenVerdict(tuple(checks), f"The ID token does not hold. {check.name}: {check.words}")
    return IdTokenVerdict(tuple(checks), "", text_of(view.claims, "sub"), view.time_of("exp"))


def _checks(view: JwtView, expected: IdTokenExpectation, now: float) -> Iterator[Check]:
    yield _check(
        "iss",
        view.issuer == expected.issuer,
        "It is the identity provider's.",
        f"It is {shown(view.issuer)}, and not {expected.issuer}.",
    )
    yield _check(
        "aud",
        expected.client_id in view.audiences,
        "It is made out to us.",
        f"It is made out to {some(view.audiences) or 'nobody'}, and not to {expected.client_id}.",
    )
    party = text_of(view.claims, "azp")
    if party or len(view.audiences) > 1:
        words = f"It was given to {shown(party)}, and not to us." if party else "Of several, none is named."
        yield _check("azp", party == expected.client_id, "It was given to us.", words)
    end, begin = view.time_of("exp"), view.time_of("iat")
    late = "It has no end." if end is None else f"It ran out {now - end:,.0f} seconds ago."
    yield _check("exp", end is not None and end + SKEW > now, "It has not run out.", late)
    early = "It does not say when it was made." if begin is None else "It was made in the future."
    yield _check("iat", begin is not None and begin - SKEW <= now, "It was made before now.", early)
    yield _about_nonce(text_of(view.claims, "nonce"), expected)
    subject = text_of(view.claims, "sub")
    is_same_person = bool(subject) and subject == (expected.subject or subject)
    other = "It is about somebody else than before." if subject else "It does not say who signed in."
    yield _check("sub", is_same_person, "It says who signed in.", other)


def _about_nonce(came: str, expected: IdTokenExpectation) -> Check:
    if not expected.nonce or (not came and expected.subject):
        return Check("nonce", Result.SKIPPED, "A renewed token needs none.")
    words = "It is not that of this sign-in." if came else "It is missing."
    return _check("nonce", is_same(came, expected.nonce), "It is that of this sign-in.", words)


def _check(name: str, is_good: bool, good: str, bad: str) -> Check:
    return Check(name, Result.PASSED if is_good else Result.FAILED, good if is_good else bad)
