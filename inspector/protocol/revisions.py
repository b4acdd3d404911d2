"""The known revisions of the protocol, oldest first, and the era each belongs to.

Order is the order of this list. Revision strings are never compared as text: "zzz" is not newer than
"2026-07-28", it is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Era(Enum):
    """How a connection is set up."""

    HANDSHAKE = "handshake"  # initialize, then a session
    STATELESS = "stateless"  # every request carries what the handshake negotiated


@dataclass(frozen=True, slots=True)
class Revision:
    """A published protocol version, by date."""

    date: str
    era: Era
    has_batches: bool = False

    def __str__(self) -> str:
        return self.date


R1 = Revision("2024-11-05", Era.HANDSHAKE)
R2 = Revision("2025-03-26", Era.HANDSHAKE, has_batches=True)
R3 = Revision("2025-06-18", Era.HANDSHAKE)
R4 = Revision("2025-11-25", Era.HANDSHAKE)
R5 = Revision("2026-07-28", Era.STATELESS)

REVISIONS = (R1, R2, R3, R4, R5)
HANDSHAKE_REVISIONS = tuple(revision for revision in REVISIONS if revision.era is Era.HANDSHAKE)
NEWEST_HANDSHAKE = HANDSHAKE_REVISIONS[-1]

_BY_DATE = {revision.date: revision for revision in REVISIONS}


def find_revision(date: object) -> Revision | None:
    """Return the version with this date; None if unknown."""
    return _BY_DATE.get(date) if isinstance(date, str) else None


def is_between(revision: Revision, first: Revision, last: Revision) -> bool:
    """True if `revision` is from `first` to `last`, inclusive."""
    return REVISIONS.index(first) <= REVISIONS.index(revision) <= REVISIONS.index(last)
