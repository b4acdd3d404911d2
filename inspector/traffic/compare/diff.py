"""The result of a comparison: `Diff`, the paths of its entries, and what a comparison ignores.

Changes are a flat list in document order, each with the index of its parent: documents nested to any
depth are handled without recursion. A value that is equal on both sides is one entry, whatever it
contains, and so is a long run of equal neighbors. Paths are written as in JavaScript:
`result.content[0].text`, with `["…"]` around names that are not plain identifiers.

A comparison can ignore IDs, times, metadata, chosen paths, and members of certain names. A path pattern is a
path (`path_text`) that may also have `*` (any member), `[*]` (any item) and `**`
(anything, at any depth).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import TypeAlias

from inspector.base.errors import UserError
from inspector.base.json.values import JSON, JSONError, compact, parse
from inspector.base.units import plural
from inspector.traffic.filter.literals import may_take_forever

Key: TypeAlias = "str | int"
Path: TypeAlias = "tuple[Key, ...]"

_PLAIN_NAME = re.compile(r"[^\W\d][\w$-]*")


class ChangeKind(IntEnum):
    SAME = 0
    INSIDE = 1  # a container on both sides; the entries that follow describe its contents
    IGNORED = 2  # different, but only in what is ignored
    ADDED = 3  # only on the right
    REMOVED = 4  # only on the left
    CHANGED = 5
    MOVED = 6  # an item at another place in its array; it may also differ inside

    @property
    def is_difference(self) -> bool:
        return self >= ChangeKind.ADDED


@dataclass(frozen=True, slots=True)
class Cut:
    """Placeholder for an omitted value, as text."""

    text: str
    name: str = ""  # what identifies an item


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one value.

    A side without a key has no such value (its `left` or `right` is None).
    """

    parent: int  # index in `Diff.entries` of the container's entry; -1 for the whole document
    depth: int
    kind: ChangeKind
    left_key: Key | None
    right_key: Key | None
    left: JSON | Cut
    right: JSON | Cut
    note: str = ""  # what the values do not show: why, how much
    is_line: bool = False  # a line of its parent's text; keys are line indices
    count: int = 1  # equal neighbors; if several, keys are the first ones', and the values hold all


@dataclass(frozen=True, slots=True)
class Diff:
    """Result of a comparison.

    `note` is a sentence about how the comparison was done, if not as usual.
    """

    entries: tuple[Change, ...]
    note: str = ""
    is_text: bool = False  # compared as lines of text

    @property
    def is_same(self) -> bool:
        """True if nothing differs, or only what is ignored."""
        return not any(entry.kind.is_difference for entry in self.entries)

    def differences(self) -> Iterator[tuple[int, Change]]:
        """Yield index and entry of each changed value (not of the lines of a changed text)."""
        for index, entry in enumerate(self.entries):
            if entry.kind.is_difference and (self.is_text or not entry.is_line):
                yield index, entry

    def path(self, index: int) -> Path:
        """Return the path of an entry's value: on the left, or on the right if it was added."""
        on_left = self.entries[index].left_key is not None
        keys: list[Key] = []
        while index > 0:
            entry = self.entries[index]
            key = entry.left_key if on_left else entry.right_key
            if key is not None and not entry.is_line:
                keys.append(key)
            index = entry.parent
        return tuple(reversed(keys))

    def path_text(self, index: int) -> str:
        entry = self.entries[index]
        if entry.is_line:
            line = entry.right_key if entry.left_key is None else entry.left_key
            position = path_text(self.path(entry.parent))
            return f"{position}, line {line_number(line)}" if position else f"line {line_number(line)}"
        return path_text(self.path(index))

    def summary(self) -> str:
        """Summarize as `3 changes, 1 addition, 2 ignored`, or that there is no difference."""
        counts = Counter(entry.kind for _, entry in self.differences())
        parts = [plural(counts[kind], noun) for kind, noun in _KIND_NOUNS.items() if counts[kind]]
        ignored = sum(entry.kind is ChangeKind.IGNORED for entry in self.entries)
        if not parts:
            return f"No differences, apart from {plural(ignored, 'ignored value')}" if ignored else "Equal"
        return ", ".join([*parts, f"{ignored:,} ignored"] if ignored else parts)


_KIND_NOUNS = {
    ChangeKind.CHANGED: "change",
    ChangeKind.ADDED: "addition",
    ChangeKind.REMOVED: "removal",
    ChangeKind.MOVED: "move",
}


def line_number(key: Key | None) -> int:
    """Return the 1-based line number."""
    return key + 1 if isinstance(key, int) else 0


def path_text(path: Path) -> str:
    """Format a path: `result.content[0].text`; the whole document is ""."""
    text = "".join(map(_step_text, path))
    return text.removeprefix(".")


def _step_text(key: Key) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if _PLAIN_NAME.fullmatch(key) else f"[{compact(key)}]"


# For a row of check boxes: each preset's name, and what it leaves out.
PRESETS = MappingProxyType(
    {
        "ids": "Properties named id, …Id or …_id, and UUIDs anywhere.",
        "times": "Dates with a time anywhere; dates, Unix times and durations in properties named so.",
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
_STEP = re.compile(
    r"""\.?(?:(?P<deep>\*\*)|(?P<any>\*)|(?P<name>[^\s.\[\]"*]+))"""
    r"""|\.?\[\s*(?:(?P<item>\*)|(?P<index>[0-9]{1,9})|(?P<quoted>"(?:[^"\\]++|\\.)*+"))\s*\]"""
)


@dataclass(frozen=True, slots=True)
class IgnoreOptions:
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
        IgnoreRules(self)

    @property
    def is_nothing(self) -> bool:
        return self == IGNORE_NOTHING


IGNORE_NOTHING = IgnoreOptions()


class IgnoreRules:
    """Compiled `IgnoreOptions`, with a state per value while a document is walked through."""

    def __init__(self, ignoring: IgnoreOptions) -> None:
        self._ids, self._times, self._metadata = ignoring.ids, ignoring.times, ignoring.metadata
        self._paths = PatternMatcher(tuple(map(read_pattern, ignoring.paths)))
        self._names = _name_pattern(ignoring.names)
        self._by_name: dict[str, bool] = {}
        self.start = self._paths.start()
        self.is_nothing = ignoring.is_nothing

    def step(self, state: PatternMatcher.State, key: Key) -> PatternMatcher.State:
        return self._paths.step(state, key)

    def ignores(self, state: PatternMatcher.State, key: Key, value: JSON) -> bool:
        """True if the value with this state and key (or index) is left out."""
        if state is not None and self._paths.is_match(state):
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
            f"The regular expression for names to ignore is invalid: {exc}.", "Fix it, or leave it empty."
        ) from exc
    if may_take_forever(text):
        raise UserError(
            "The regular expression for names to ignore can take forever: it has ambiguous repeats.",
            "Use a single repeat, or a set such as [ab]*.",
        )
    return pattern


def _is_time(name: str, value: JSON) -> bool:
    """True if a member holds a time, by name and value. Times inside texts are blanked instead."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    if isinstance(value, str) and not (_DATE_OR_CLOCK.fullmatch(value[:80]) or _MOMENT.fullmatch(value[:80])):
        return False
    return _TIME_NAME.fullmatch(_CAMEL.sub("_", name[:80]).lower()) is not None


class PatternMatcher:
    """Matches patterns while a document is walked through, with a state per value.

    A state says how far each pattern has matched; None means that none can match any more.
    """

    State: TypeAlias = "frozenset[tuple[int, int]] | None"

    def __init__(self, patterns: tuple[Pattern, ...]) -> None:
        self._patterns = patterns

    def start(self) -> State:
        return self._with_deep({(number, 0) for number in range(len(self._patterns))})

    def step(self, state: State, key: Key) -> State:
        if state is None:
            return None
        matched: set[tuple[int, int]] = set()
        for number, at in state:
            steps = self._patterns[number].steps
            if at == len(steps):
                continue
            if steps[at] is Wild.DEEP:
                matched.add((number, at))
            elif _matches_step(steps[at], key):
                matched.add((number, at + 1))
        return self._with_deep(matched)

    def is_match(self, state: State) -> bool:
        return state is not None and any(at == len(self._patterns[number].steps) for number, at in state)

    def _with_deep(self, states: set[tuple[int, int]]) -> State:
        """Add the states in which `**` matches no step at all."""
        waiting = list(states)
        while waiting:
            number, at = waiting.pop()
            steps = self._patterns[number].steps
            if at < len(steps) and steps[at] is Wild.DEEP and (number, at + 1) not in states:
                states.add((number, at + 1))
                waiting.append((number, at + 1))
        return frozenset(states) or None


def _matches_step(step: Key | Wild, key: Key) -> bool:
    if step is Wild.MEMBER:
        return isinstance(key, str)
    if step is Wild.ITEM:
        return isinstance(key, int)
    return step == key


class Wild(Enum):
    MEMBER = "*"
    ITEM = "[*]"
    DEEP = "**"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A path pattern, as steps."""

    steps: tuple[Key | Wild, ...]


def read_pattern(text: str) -> Pattern:
    """Parse a pattern. Raises UserError with the column of the error."""
    steps: list[Key | Wild] = []
    at, end = 0, len(text)
    while at < end:
        match = _STEP.match(text, at)
        if match is None or (at == 0 and text[0] == ".") or not _is_apart(text, at):
            raise _unreadable(text, at)
        steps.append(_step(match, text))
        at = match.end()
    if not steps:
        raise UserError("A path to ignore is empty.", "Use one such as result.content[*].text.")
    return Pattern(tuple(steps))


def _is_apart(text: str, at: int) -> bool:
    """True if a step is separated from the previous one: a name needs a dot."""
    return at == 0 or text[at] in ".["


def _step(match: re.Match[str], text: str) -> Key | Wild:
    if match["deep"]:
        return Wild.DEEP
    if match["any"]:
        return Wild.MEMBER
    if match["item"]:
        return Wild.ITEM
    if match["index"]:
        return int(match["index"])
    if match["quoted"]:
        return _unquoted(match, text)
    return match["name"]


def _unquoted(match: re.Match[str], text: str) -> str:
    try:
        return str(parse(match["quoted"]))
    except JSONError as exc:
        raise _unreadable(text, match.start("quoted")) from exc


def _unreadable(text: str, at: int) -> UserError:
    return UserError(
        f"Could not parse the path {text!r} at column {at + 1}.",
        'Write it like result.content[*].text, with ["…"] around unusual names.',
    )
