"""Scopes of a login: which to request, where they come from, and set operations on them.

2025-11-25 and later: the challenge's `scope`, else all of the resource metadata's `scopes_supported`,
else none. `offline_access` concerns the authorization server: it is requested only if that server's
metadata lists it, wherever else it is named. Order is kept, duplicates are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from inspector.base.json.values import quote_names

OFFLINE = "offline_access"

# RFC 6749, section 3.3: printable ASCII without the quotation mark and the backslash.
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
_MAX_SCOPES = 500  # a hostile list must not make a URL too long for browsers


class ScopeSource(Enum):
    """Where the requested scopes come from."""

    USER = "your settings"
    CHALLENGE = "WWW-Authenticate"
    RESOURCE = "protected resource metadata"
    STEP_UP = "step-up"
    NONE = "nowhere"


@dataclass(frozen=True, slots=True)
class ScopeChoice:
    """The scopes to request. `reason` says why these; `left_out` are those not sent."""

    scopes: tuple[str, ...]
    source: ScopeSource
    reason: str
    left_out: tuple[str, ...] = ()

    @property
    def text(self) -> str | None:
        """The `scope` parameter; None to send none."""
        return " ".join(self.scopes) or None

    @property
    def wants_consent(self) -> bool:
        """True with `offline_access`, which requires `prompt=consent` (OpenID Connect, section 11)."""
        return OFFLINE in self.scopes


@dataclass(frozen=True, slots=True)
class ScopeDifference:
    """Requested versus granted scopes."""

    missing: tuple[str, ...]
    extra: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra)


def split_scope(text: str | None) -> tuple[str, ...]:
    """Split a `scope` value at whitespace, without duplicates. Blank text has none."""
    return union((text or "").split())


def union(*groups: Iterable[str]) -> tuple[str, ...]:
    """Return all scopes of all groups, in order, without duplicates."""
    return tuple(dict.fromkeys(scope for group in groups for scope in group))


def compare_scopes(requested: Iterable[str], granted: Iterable[str]) -> ScopeDifference:
    requested, granted = tuple(requested), tuple(granted)
    missing = tuple(scope for scope in union(requested) if scope not in granted)
    return ScopeDifference(missing, tuple(scope for scope in union(granted) if scope not in requested))


def choose_scopes(
    *,
    challenge: str | None = None,
    resource: Iterable[str] | None = None,
    server: Iterable[str] | None = None,
    typed: str | None = None,
    wants_refresh: bool = True,
) -> ScopeChoice:
    """Choose the scopes to request.

    `challenge` is the challenge's parameter, `resource` and `server` are the `scopes_supported` of the two
    metadata documents, `typed` is the user's setting (None: unset; "": request none).
    """
    if typed is not None:
        return ScopeChoice(split_scope(typed), ScopeSource.USER, "Set by you.")
    found, source, reason = _named_scopes(split_scope(challenge), _listed(resource))
    return _make_choice(found, source, reason, OFFLINE in _listed(server), wants_refresh)


def step_up_scopes(
    requested: Iterable[str],
    granted: Iterable[str],
    challenge: str | None,
    server: Iterable[str] | None = None,
) -> ScopeChoice:
    """Return the scopes of a step-up: all requested and granted before, plus the missing ones.

    2026-07-28 requires the union, and no earlier version forbids it: a login for the missing scope alone
    would lose the others.
    """
    before, now = union(requested, granted), split_scope(challenge)
    new = compare_scopes(now, before).missing
    added = f"and {quote_names(new)}, which the server now requires" if new else "and nothing new"
    reason = f"All scopes requested and granted before, {added}."
    # Scopes granted before stay, including `offline_access`; a new one must be listed by the server.
    may_stay = OFFLINE in before or OFFLINE in _listed(server)
    return _make_choice(union(before, now), ScopeSource.STEP_UP, reason, may_stay, wants_refresh=False)


def _named_scopes(
    challenge: tuple[str, ...], resource: tuple[str, ...]
) -> tuple[tuple[str, ...], ScopeSource, str]:
    if challenge:
        return challenge, ScopeSource.CHALLENGE, "The challenge names the scopes that this request needs."
    if resource:
        reason = (
            "The challenge names no scope, so all scopes of the protected resource metadata are requested."
        )
        return resource, ScopeSource.RESOURCE, reason
    reason = "Neither the challenge nor the protected resource metadata names a scope, so none is sent."
    return (), ScopeSource.NONE, reason


def _make_choice(
    found: tuple[str, ...], source: ScopeSource, reason: str, offline_listed: bool, wants_refresh: bool
) -> ScopeChoice:
    usable = tuple(scope for scope in found if _SCOPE.fullmatch(scope))[:_MAX_SCOPES]
    if not offline_listed:
        usable = tuple(scope for scope in usable if scope != OFFLINE)
    left_out = compare_scopes(found, usable).missing
    if offline_listed and wants_refresh:
        usable = union(usable, (OFFLINE,))
    notes = [*_notes(found, usable, left_out)]
    return ScopeChoice(usable, source, " ".join([reason, *notes]), left_out)


def _notes(found: tuple[str, ...], usable: tuple[str, ...], left_out: tuple[str, ...]) -> Iterable[str]:
    if OFFLINE in usable and OFFLINE not in found:
        yield (
            "offline_access is added: the authorization server lists it, and it is needed for a refresh "
            "token."
        )
    if OFFLINE in left_out:
        yield "offline_access is omitted: the authorization server does not list it."
    others = [scope for scope in left_out if scope != OFFLINE]
    if others:
        yield f"Omitted, because they are not valid scopes: {quote_names(others)}."


def _listed(scopes: Iterable[str] | None) -> tuple[str, ...]:
    return union(*(scope.split() for scope in scopes)) if scopes is not None else ()
