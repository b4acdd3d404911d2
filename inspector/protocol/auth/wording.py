"""What a finding is made from: how grave it is in each revision, and three sentences with places to fill."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from inspector.protocol.revisions import R2, R3, R4, R5, REVISIONS, Revision


class Severity(Enum):
    """How grave a finding is."""

    ERROR = "error"  # a MUST is broken, or the login cannot go on
    WARNING = "warning"  # a SHOULD is broken, or other clients will stumble
    INFO = "info"  # good to know


@dataclass(frozen=True, slots=True)
class Wording:
    """One kind of finding. The texts have `{names}` in them, which `findings.finding` fills in."""

    levels: tuple[tuple[Revision, Severity], ...]  # from that revision on; oldest first
    seen: str  # what we saw
    rule: str  # which rule that breaks, or why it matters
    fix: str  # who must change what
    stops: bool = False  # as an error, it ends the login even for somebody who only observes

    def severity(self, revision: Revision) -> Severity:
        """How grave it is for this revision. What only a later one asks for is good to know before."""
        place = REVISIONS.index(revision)
        levels = [severity for since, severity in self.levels if REVISIONS.index(since) <= place]
        return levels[-1] if levels else Severity.INFO


def error(seen: str, rule: str, fix: str) -> Wording:
    return Wording(((REVISIONS[0], Severity.ERROR),), seen, rule, fix)


def fatal(seen: str, rule: str, fix: str) -> Wording:
    """An error that nobody may pass, or that leaves nothing to go on with."""
    return Wording(((REVISIONS[0], Severity.ERROR),), seen, rule, fix, stops=True)


def warning(seen: str, rule: str, fix: str) -> Wording:
    return Wording(((REVISIONS[0], Severity.WARNING),), seen, rule, fix)


def info(seen: str, rule: str, fix: str) -> Wording:
    return Wording(((REVISIONS[0], Severity.INFO),), seen, rule, fix)


# Some rules came with a revision, or were relaxed by one.
ERROR_ONLY_R3 = ((R3, Severity.ERROR), (R4, Severity.WARNING))
ERROR_SINCE_R3 = ((R3, Severity.ERROR),)
ERROR_SINCE_R4 = ((R4, Severity.ERROR),)
WARNING_THEN_ERROR_R4 = ((R2, Severity.WARNING), (R4, Severity.ERROR))
WARNING_SINCE_R4 = ((R4, Severity.WARNING),)
WARNING_THEN_ERROR_R5 = ((R2, Severity.WARNING), (R5, Severity.ERROR))
WARNING_SINCE_R5 = ((R5, Severity.WARNING),)
