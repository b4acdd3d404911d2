"""Findings about a server's or authorization server's part in a login.

Each kind has a stable id, so that reports can be compared. A finding says what was seen, which rule it
concerns, and who must fix what; its evidence is the server's own text, escaped and truncated.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from inspector.base.plain_text import one_line, visible
from inspector.protocol.auth.findings.discovery import DISCOVERY_FINDINGS
from inspector.protocol.auth.findings.grants import GRANT_FINDINGS, PROVIDER_FINDINGS
from inspector.protocol.auth.findings.template import FindingTemplate, Severity
from inspector.protocol.revisions import Revision

__all__ = ["FINDING_TEMPLATES", "Finding", "Severity", "finding", "quoted"]

MAX_QUOTE_LENGTH = 300
_MAX_VALUE_LENGTH = 160
_MAX_VALUES = 8

Value: TypeAlias = str | int | Iterable[str]

FINDING_TEMPLATES: dict[str, FindingTemplate] = DISCOVERY_FINDINGS | GRANT_FINDINGS | PROVIDER_FINDINGS


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding about a login. Strict mode stops at every error, observe mode only at `stops`."""

    id: str
    severity: Severity
    seen: str
    rule: str
    fix: str
    evidence: str = ""  # a quote: truncated, invisible characters escaped; plain text only
    stops: bool = False

    @property
    def text(self) -> str:
        """The finding as one paragraph, without the quote."""
        return f"{self.seen} {self.rule} {self.fix}"


def finding(
    id: str, revision: Revision, /, *, evidence: str = "", advice: str = "", **seen: Value
) -> Finding:
    """Create a finding by id. All placeholders of its template must be given.

    `advice` is what else can be done in this case; it is added to the fix.
    """
    template = FINDING_TEMPLATES[id]
    severity = template.severity(revision)
    values = {name: _shown(value) for name, value in seen.items()}
    return Finding(
        id=id,
        severity=severity,
        seen=template.seen.format_map(values),
        rule=template.rule.format_map(values),
        fix=f"{template.fix.format_map(values)} {advice}".strip(),
        evidence=quoted(evidence),
        stops=template.stops and severity is Severity.ERROR,
    )


def quoted(text: str) -> str:
    """Return foreign text for display: invisible characters escaped, truncated."""
    return visible(text) if len(text) <= MAX_QUOTE_LENGTH else visible(text[: MAX_QUOTE_LENGTH - 1]) + "…"


def _shown(value: Value) -> str:
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return one_line(value if len(value) <= _MAX_VALUE_LENGTH else value[: _MAX_VALUE_LENGTH - 1] + "…")
    every = list(value)
    rest = f" and {len(every) - _MAX_VALUES:,} more" if len(every) > _MAX_VALUES else ""
    return ", ".join(map(_shown, every[:_MAX_VALUES])) + rest
