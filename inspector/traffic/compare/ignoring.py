"""What a comparison leaves out: ids, times, metadata, chosen places, members of certain names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType

from inspector.base.errors import UserError
from inspector.base.jsonvalue import JSON
from inspector.traffic.compare.paths import Key, Places, read_pattern
from inspector.traffic.query.repeats import may_take_forever

# For a row of check boxes: each preset's name, and what it leaves out.
PRESETS = MappingProxyType(
    {
        "ids": "Members named id, …Id or …_id, and UUIDs wherever they stand.",
        "times": "Dates with a time of day wherever they stand; dates, Unix times and durations in members "
        "that are named like times.",
        "metadata": "_meta and progressToken.",
    }
)

_ID_NAME = re.compile(r"(?:id|uuid|guid)|.*(?:[a-z0-9]I[dD]|[_-]id|Uuid|_uuid)", re.DOTALL)
_METADATA_NAMES = frozenset({"_meta", "progressToken"})
_TIME_NAME = re.compile(
    r"iat|exp|nbf|(?:.*[^a-z])?(?:time|timestamp|date|datetime|duration|elapsed|latency|ttl|ms|ns|at)"
    r"|(?:.*[^a-z])?(?:created|updated|modified|expires|started|finished)(?:[^a-z].*)?"
    r"|(?:time|timestamp|date|duration|elapsed|latency|ttl)[^a-z].*",
    re.DOTALL,
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_DATE = r"\d{4}-[01]\d-[0-3]\d"
_CLOCK = r"[0-2]\d:[0-5]\d(?::[0-6]\d(?:[.,]\d{1,9})?)?(?:\s?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?"
_HTTP_DATE = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT"
_MOMENT = re.compile(rf"(?<!\d){_DATE}[T ]{_CLOCK}|{_HTTP_DATE}", re.ASCII)
_DATE_OR_CLOCK = re.compile(rf"{_DATE}|{_CLOCK}|\d{{9,19}}(?:\.\d+)?|\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|min)")
_UUID = re.compile(r"(?<![0-9a-fA-F])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9a-fA-F])")


@dataclass(frozen=True, slots=True)
class Ignoring:
    """What to leave out of a comparison.

    Plain values: it is stored in settings and sent to the worker.
    """

    ids: bool = False
    times: bool = False
    metadata: bool = False
    paths: tuple[str, ...] = ()  # patterns, such as result.content[*].text
    names: str = ""  # a regular expression that must match a member's whole name

    def check(self) -> None:
        """Raise UserError for an invalid path or regular expression."""
        Rules(self)

    @property
    def is_nothing(self) -> bool:
        return self == NOTHING


NOTHING = Ignoring()


class Rules:
    """Compiled `Ignoring`. Tracks the walk through a document with a state per place."""

    def __init__(self, ignoring: Ignoring) -> None:
        self._ids, self._times, self._metadata = ignoring.ids, ignoring.times, ignoring.metadata
        self._places = Places(tuple(map(read_pattern, ignoring.paths)))
        self._names = _name_pattern(ignoring.names)
        self._by_name: dict[str, bool] = {}
        self.start = self._places.start()
        self.is_nothing = ignoring.is_nothing

    def step(self, state: Places.State, key: Key) -> Places.State:
        return self._places.step(state, key)

    def ignores(self, state: Places.State, key: Key, value: JSON) -> bool:
        """True if the value at this place and key (or index) is left out."""
        if state is not None and self._places.is_met(state):
            return True
        if isinstance(key, int):
            return False
        ignored = self._by_name.get(key)
        if ignored is None:
            ignored = self._by_name[key] = self._ignores_name(key)
        return ignored or (self._times and _is_time(key, value))

    def blanked(self, text: str) -> str:
        """Return a text with the ignored parts blanked."""
        if self._times and ":" in text:
            text = _MOMENT.sub("\0time", text)
        if self._ids and "-" in text:
            text = _UUID.sub("\0id", text)
        return text

    @property
    def blanks(self) -> bool:
        return self._ids or self._times

    def _ignores_name(self, name: str) -> bool:
        return (
            (self._ids and _ID_NAME.fullmatch(name) is not None)
            or (self._metadata and name in _METADATA_NAMES)
            or (self._names is not None and self._names.fullmatch(name) is not None)
        )


def _name_pattern(text: str) -> re.Pattern[str] | None:
    try:
        pattern = re.compile(text) if text else None
    except (re.error, OverflowError, RecursionError) as exc:
        raise UserError(
            f"The expression for names to ignore cannot be read: {exc}.", "Correct it, or leave it empty."
        ) from exc
    if may_take_forever(text):
        raise UserError(
            "The expression for names to ignore can take forever: it repeats what fits in several ways.",
            "Write it with one repeat, or with a set such as [ab]*.",
        )
    return pattern


def _is_time(name: str, value: JSON) -> bool:
    """True if a member holds a time, by name and value. Times inside texts are blanked instead."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    if isinstance(value, str) and not (_DATE_OR_CLOCK.fullmatch(value[:80]) or _MOMENT.fullmatch(value[:80])):
        return False
    return _TIME_NAME.fullmatch(_CAMEL.sub("_", name[:80]).lower()) is not None
