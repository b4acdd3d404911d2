"""What was read so far: of each URI the latest answer, and the contents before it. Bounded."""

from __future__ import annotations

from dataclasses import dataclass, replace

from inspector.engine.contents import Content
from inspector.engine.views import CallOutcome

MOST_URIS = 100
MOST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Reading:
    """One result of a resources/read.

    `seen` are the contents read last: these, or the previous ones if this result has none. `before` are
    those they replaced. Times are wall times, in nanoseconds.
    """

    uri: str
    outcome: CallOutcome
    contents: tuple[Content, ...]
    at: int
    seen: tuple[Content, ...] = ()
    seen_at: int = 0  # when they were last read
    same_since: int = 0  # when they were first read
    before: tuple[Content, ...] | None = None
    before_at: int = 0
    is_changed: bool = False  # the contents differ from the previous ones

    @property
    def size(self) -> int:
        parts = (*self.seen, *(self.before or ()))
        return len(self.outcome.answer) + sum(len(content.data) for content in parts)


class Readings:
    """The latest reading of each URI. The oldest are dropped first."""

    def __init__(self) -> None:
        self._latest: dict[str, Reading] = {}

    def keep(self, uri: str, outcome: CallOutcome, contents: tuple[Content, ...], at: int) -> Reading:
        """Store a result. One without contents, such as an error, does not hide earlier contents.

        Unchanged contents stay the same object, so that they need not be compared again.
        """
        old = self._latest.pop(uri, None)
        reading = self._latest[uri] = _next(old, Reading(uri, outcome, contents, at, contents, at, at))
        self._forget()
        return reading

    def of(self, uri: str) -> Reading | None:
        return self._latest.get(uri)

    def _forget(self) -> None:
        while len(self._latest) > 1 and (
            len(self._latest) > MOST_URIS
            or sum(reading.size for reading in self._latest.values()) > MOST_BYTES
        ):
            del self._latest[next(iter(self._latest))]


def _next(old: Reading | None, new: Reading) -> Reading:
    """Return the new reading, completed with what the previous one knows."""
    if old is None or not old.seen:
        return new
    if not new.contents:
        return replace(
            new,
            seen=old.seen,
            seen_at=old.seen_at,
            same_since=old.same_since,
            before=old.before,
            before_at=old.before_at,
        )
    if old.seen == new.contents:
        return replace(
            new,
            contents=old.seen,
            seen=old.seen,
            same_since=old.same_since,
            before=old.before,
            before_at=old.before_at,
        )
    return replace(new, before=old.seen, before_at=old.seen_at, is_changed=True)
