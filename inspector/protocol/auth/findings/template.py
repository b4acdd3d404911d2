"""Templates of findings: severity by protocol version, and three texts with placeholders."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from inspector.protocol.revisions import R2, R3, R4, R5, REVISIONS, Revision


class Severity(Enum):
    """Severity of a finding."""

    ERROR = "error"  # a MUST is violated, or the login cannot continue
    WARNING = "warning"  # a SHOULD is violated, or other clients will fail
    INFO = "info"  # good to know


@dataclass(frozen=True, slots=True)
class FindingTemplate:
    """One kind of finding. The texts contain `{names}` that `findings.finding` fills in."""

    levels: tuple[tuple[Revision, Severity], ...]  # since that version; oldest first
    seen: str  # what was seen
    rule: str  # the rule violated, or why it matters
    fix: str  # who must change what
    stops: bool = False  # as an error, ends the login even in observe mode

    def severity(self, revision: Revision) -> Severity:
        """Return the severity for a protocol version; INFO before the rule existed."""
        position = REVISIONS.index(revision)
        levels = [severity for since, severity in self.levels if REVISIONS.index(since) <= position]
        return levels[-1] if levels else Severity.INFO


def error(seen: str, rule: str, fix: str) -> FindingTemplate:
    return FindingTemplate(((REVISIONS[0], Severity.ERROR),), seen, rule, fix)


def fatal(seen: str, rule: str, fix: str) -> FindingTemplate:
    """Create an error that must not be ignored, or leaves nothing to continue with."""
    return FindingTemplate(((REVISIONS[0], Severity.ERROR),), seen, rule, fix, stops=True)


def warning(seen: str, rule: str, fix: str) -> FindingTemplate:
    return FindingTemplate(((REVISIONS[0], Severity.WARNING),), seen, rule, fix)


def info(seen: str, rule: str, fix: str) -> FindingTemplate:
    return FindingTemplate(((REVISIONS[0], Severity.INFO),), seen, rule, fix)


# Some rules were introduced or relaxed by a protocol version.
ERROR_ONLY_R3 = ((R3, Severity.ERROR), (R4, Severity.WARNING))
ERROR_SINCE_R3 = ((R3, Severity.ERROR),)
ERROR_SINCE_R4 = ((R4, Severity.ERROR),)
WARNING_THEN_ERROR_R4 = ((R2, Severity.WARNING), (R4, Severity.ERROR))
WARNING_SINCE_R4 = ((R4, Severity.WARNING),)
WARNING_THEN_ERROR_R5 = ((R2, Severity.WARNING), (R5, Severity.ERROR))
WARNING_SINCE_R5 = ((R5, Severity.WARNING),)
