"""What was read so far: of each URI the latest answer, and the contents before it. Bounded."""

from __future__ import annotations

from dataclasses import dataclass

from inspector.engine.contents import Content
from inspector.engine.views import CallOutcome

MOST_URIS = 100
MOST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Reading:
    """One answer to a resources/read. `before` holds what the time before gave, and `before_at` when."""

    uri: str
    outcome: CallOutcome
    contents: tuple[Content, ...]
    at: int  # wall time, in nanoseconds
    before: tuple[Content, ...] | None = None
    before_at: int = 0

    @property
    def size(self) -> int:
        parts = (*self.contents, *(self.before or ()))
        return len(self.outcome.answer) + sum(len(content.data) for content in parts)

    @property
    def is_changed(self) -> bool:
        return self.before is not None and self.before != self.contents


class Readings:
    """Those longest ago are forgotten first."""

    def __init__(self) -> None:
        self._latest: dict[str, Reading] = {}

    def keep(self, uri: str, outcome: CallOutcome, contents: tuple[Content, ...], at: int) -> Reading:
        """Keep an answer. One without contents, such as an error, does not hide what was read before."""
        old = self._latest.pop(uri, None)
        before, before_at = (old.contents, old.at) if old is not None and old.contents else (None, 0)
        if old is not None and not old.contents:
            before, before_at = old.before, old.before_at
        reading = self._latest[uri] = Reading(uri, outcome, contents, at, before, before_at)
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
