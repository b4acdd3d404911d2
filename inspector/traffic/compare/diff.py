"""The result of a comparison: `Diff`, and the paths of its entries.

Changes are a flat list in document order, each with the index of its parent: documents nested to any
depth are handled without recursion. A value that is equal on both sides is one entry, whatever it
contains, and so is a long run of equal neighbors. Paths are written as in JavaScript:
`result.content[0].text`, with `["…"]` around names that are not plain identifiers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from inspector.base.json.values import JSON, compact
from inspector.base.units import plural

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
        """Summarize as `3 changed, 1 added, 2 ignored`, or that there is no difference."""
        counts = Counter(entry.kind for _, entry in self.differences())
        parts = [f"{counts[kind]:,} {word}" for kind, word in _KIND_LABELS.items() if counts[kind]]
        ignored = sum(entry.kind is ChangeKind.IGNORED for entry in self.entries)
        if not parts:
            return f"No differences, apart from {plural(ignored, 'ignored value')}" if ignored else "Equal"
        return ", ".join([*parts, f"{ignored:,} ignored"] if ignored else parts)


_KIND_LABELS = {
    ChangeKind.CHANGED: "changed",
    ChangeKind.ADDED: "added",
    ChangeKind.REMOVED: "removed",
    ChangeKind.MOVED: "moved",
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
