"""Reaction to a 401 or 403 of the MCP server for a request with a token.

A 401 is answered once, by a refresh or a new login. A 403 with `insufficient_scope` is answered by a
login with more scopes ("step-up"), a limited number of times: a server that is never satisfied must not
send the user to the browser forever. A demand for a DPoP nonce is neither and must be handled before
(`dpop.wants_nonce`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from inspector.base.json.values import quote_names
from inspector.protocol.auth.challenge import INSUFFICIENT_SCOPE, Challenge
from inspector.protocol.auth.findings.finding import Finding, finding
from inspector.protocol.auth.responses import ReportedError
from inspector.protocol.auth.scopes import ScopeChoice, compare_scopes, step_up_scopes
from inspector.protocol.auth.tokens import TokenSet
from inspector.protocol.revisions import Revision

MAX_STEP_UPS = 2  # per operation and set of scopes, in one session
INVALID_TOKEN = "invalid_token"  # noqa: S105


@dataclass(frozen=True, slots=True)
class Refusal:
    """A 401 or 403 of the MCP server, with its Bearer or DPoP challenge."""

    status: int
    challenge: Challenge | None = None

    def parameter(self, name: str) -> str:
        """Return a parameter of the challenge; "" if absent or blank."""
        return self.challenge.get(name) if self.challenge is not None else ""

    @property
    def error(self) -> str:
        return self.parameter("error")

    @property
    def scopes(self) -> tuple[str, ...]:
        return self.challenge.scopes if self.challenge is not None else ()


class Move(Enum):
    """What to do next."""

    REFRESH = "refresh the token"
    LOG_IN = "log in again"
    STEP_UP = "log in with more scopes"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class RefusalDecision:
    """The next move and why, as a sentence; `scopes` are for a step-up."""

    move: Move
    reason: str
    findings: tuple[Finding, ...] = ()
    scopes: ScopeChoice | None = None


@dataclass(slots=True)
class StepUps:
    """Step-ups of one session: scopes required per operation, and how often that was tried."""

    _counts: dict[tuple[str, frozenset[str]], int] = field(default_factory=lambda: defaultdict(int))
    _required: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def remaining(self, operation: str, wanted: tuple[str, ...]) -> int:
        return max(0, MAX_STEP_UPS - self._counts.get((operation, frozenset(wanted)), 0))

    def record(self, operation: str, wanted: tuple[str, ...]) -> None:
        """Record a step-up."""
        self._counts[operation, frozenset(wanted)] += 1
        self._required[operation] = wanted

    def last_required(self, operation: str) -> tuple[str, ...]:
        """Return the scopes of the operation's last step-up; () if none."""
        return self._required.get(operation, ())


@dataclass(frozen=True, slots=True)
class Attempt:
    """The rejected request: its operation, and what was already tried."""

    operation: str  # the method; for a call with the tool's name
    tokens: TokenSet
    is_first_use: bool  # issued in this session and not accepted by any request yet
    renewals: int = 0  # refreshes and logins already made for this request
    step_ups: int = 0  # how many of those were step-ups


def check_refusal(
    refusal: Refusal,
    attempt: Attempt,
    history: StepUps,
    revision: Revision,
    server_scopes: tuple[str, ...] | None = None,
) -> RefusalDecision:
    """Decide what to do about a rejection.

    Only reads the history: record a step-up once it is made.
    """
    if refusal.status == 401:
        return _unauthorized(refusal, attempt, revision)
    if refusal.status == 403 and refusal.error == INSUFFICIENT_SCOPE:
        return _insufficient_scope(refusal, attempt, history, revision, server_scopes)
    if refusal.status == 403:
        return _forbidden(refusal, revision)
    return RefusalDecision(Move.STOP, f"Status {refusal.status} is not about authorization.")


def _unauthorized(refusal: Refusal, attempt: Attempt, revision: Revision) -> RefusalDecision:
    found: tuple[Finding, ...] = ()
    if refusal.error == INSUFFICIENT_SCOPE:
        found = (finding("RS-008", revision, status=401, cause="insufficient scope"),)
    elif attempt.is_first_use:
        reason = "The server rejects a new token; another one would not help."
        return RefusalDecision(Move.STOP, reason, _rejected_new_token(refusal, revision))
    if attempt.renewals:
        return RefusalDecision(Move.STOP, "The token was already refreshed for this request.", found)
    if found:
        return RefusalDecision(
            Move.LOG_IN, "The token is not sufficient: log in with the scopes in the challenge.", found
        )
    if attempt.tokens.refresh_token:
        return RefusalDecision(Move.REFRESH, "The server no longer accepts the token: refresh it.")
    return RefusalDecision(Move.LOG_IN, "The server no longer accepts the token: log in again.")


def _rejected_new_token(refusal: Refusal, revision: Revision) -> tuple[Finding, ...]:
    error = ReportedError(refusal.error or "no reason given", refusal.parameter("error_description"))
    return (finding("RS-001", revision, error=error.code, evidence=error.evidence),)


def _insufficient_scope(
    refusal: Refusal,
    attempt: Attempt,
    history: StepUps,
    revision: Revision,
    server_scopes: tuple[str, ...] | None,
) -> RefusalDecision:
    wanted = refusal.scopes
    found = (*_about_challenge(refusal, revision), *_about_repeats(wanted, attempt, history, revision))
    if not wanted:
        return RefusalDecision(Move.STOP, "The server does not say which scope is missing.", found)
    if any(one.id == "RS-007" for one in found):
        return RefusalDecision(Move.STOP, "The required scopes are already granted.", found)
    if attempt.step_ups or not history.remaining(attempt.operation, wanted):
        reason = "More scopes were already requested, but the server still rejects the request."
        return RefusalDecision(Move.STOP, reason, found)
    scopes = step_up_scopes(
        attempt.tokens.requested, attempt.tokens.scopes, refusal.parameter("scope"), server_scopes
    )
    missing = compare_scopes(wanted, attempt.tokens.scopes).missing
    reason = f"The server requires {quote_names(missing or wanted)}, which the token does not have."
    return RefusalDecision(Move.STEP_UP, reason, found, scopes)


def _about_challenge(refusal: Refusal, revision: Revision) -> Iterator[Finding]:
    missing = [] if refusal.scopes else ["scope"]
    missing += [] if refusal.parameter("resource_metadata") else ["resource_metadata"]
    if missing:
        yield finding("RS-005", revision, missing=" and ".join(missing))


def _about_repeats(
    wanted: tuple[str, ...], attempt: Attempt, history: StepUps, revision: Revision
) -> Iterator[Finding]:
    """Report repeated rejections after a step-up: for the same scopes, or for yet another one."""
    before = history.last_required(attempt.operation)
    if not before or not wanted:
        return
    granted = attempt.tokens.scopes
    if not compare_scopes(wanted, granted).missing:
        yield finding("RS-007", revision, granted=granted, wanted=wanted)
    elif compare_scopes(wanted, before).missing:
        yield finding("RS-006", revision, operation=attempt.operation, first=before, second=wanted)


def _forbidden(refusal: Refusal, revision: Revision) -> RefusalDecision:
    if refusal.error == INVALID_TOKEN:
        found = finding("RS-008", revision, status=403, cause="an invalid token")
        return RefusalDecision(Move.STOP, found.seen, (found,))
    found = finding("RS-004", revision)
    return RefusalDecision(
        Move.STOP, "The server denies access and names no scope that would allow it.", (found,)
    )
