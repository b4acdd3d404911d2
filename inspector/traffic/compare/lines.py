"""A diff as display lines in two columns, with equal parts folded.

    tools: [200 items]              tools: [201 items]
      … 117 equal                                         (a Fold)
      [117] ping: {3 members}       [117] ping: {3 members}
      …
                                    [120] new: {2 members}      added

The text of every line is plain, on one line and bounded in length. To open a fold, add its `key` to
`opened`. The lines of two texts are paired here too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from inspector.base.json.values import JSON, compact, shorten, write_number
from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.traffic.compare.alignment import Effort, align, folded
from inspector.traffic.compare.diff import Change, ChangeKind, Cut, Diff, Key, line_number

MAX_LINES = 20_000
MAX_LENGTH = 300  # characters of a value
_CONTEXT = 40  # characters shown before the first difference of long texts


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the diff.

    `entry` is the index in `Diff.entries` that it belongs to, for its path.
    """

    depth: int
    entry: int
    left: str
    right: str
    mark: ChangeKind
    note: str = ""
    key: int | None = None  # opens it, if it is an equal container with folded contents


@dataclass(frozen=True, slots=True)
class Fold:
    """A folded run of equal neighbors. Without a key it cannot be opened: they were omitted."""

    depth: int
    count: int
    key: int | None


Row: TypeAlias = "Line | Fold"


def lines(diff: Diff, opened: Collection[int] = ()) -> list[Row]:
    """Return the rows to show, at most MAX_LINES; a last one says if there are more."""
    return list(each_line(diff, opened))


def each_line(diff: Diff, opened: Collection[int] = ()) -> Iterator[Row]:
    """Generator version of `lines`: creating all of them can take a tenth of a second."""
    for number, row in enumerate(_rows(diff, opened)):
        if number == MAX_LINES:
            yield Line(0, 0, "…", "…", ChangeKind.SAME, f"Only the first {MAX_LINES:,} lines are shown.")
            return
        yield row


def _rows(diff: Diff, opened: Collection[int]) -> Iterator[Row]:
    for index, entry in enumerate(diff.entries):
        if entry.count > 1:
            yield from _run_rows(entry, index, opened)
        elif index or not diff.is_text or len(diff.entries) == 1:  # the root of a text shows nothing
            yield from _entry_rows(entry, index, opened)


def _run_rows(entry: Change, index: int, opened: Collection[int]) -> Iterator[Row]:
    if index not in opened or isinstance(entry.left, Cut):
        yield Fold(entry.depth, entry.count, None if isinstance(entry.left, Cut) else index)
        return
    for step, (name, value) in enumerate(children(entry.left)):
        left, right = _stepped(entry.left_key, step, name), _stepped(entry.right_key, step, name)
        text = text_line(value) if entry.is_line else value_text(value)
        before = _labeled(left, value, text, is_line=entry.is_line)
        after = _labeled(right, value, text, is_line=entry.is_line)
        yield Line(entry.depth, index, before, after, ChangeKind.SAME)


def _stepped(first: Key | None, step: int, name: Key) -> Key:
    return first + step if isinstance(first, int) else name


def _entry_rows(entry: Change, index: int, opened: Collection[int]) -> Iterator[Row]:
    left = right = ""
    has_left, has_right = _sides(entry)
    before, after = _shown_pair(entry)
    if has_left:
        left = _labeled(entry.left_key, entry.left, before, is_line=entry.is_line)
    if has_right:
        right = _labeled(entry.right_key, entry.right, after, is_line=entry.is_line)
    is_closed = entry.kind in (ChangeKind.SAME, ChangeKind.IGNORED) and _is_filled(entry.left, entry.right)
    yield Line(entry.depth, index, left, right, entry.kind, entry.note, index if is_closed else None)
    if entry.kind in _EXPANDED or (is_closed and index in opened):
        yield from _inside(entry, index, has_left, has_right)


_EXPANDED = (ChangeKind.ADDED, ChangeKind.REMOVED, ChangeKind.CHANGED)


def _inside(entry: Change, index: int, has_left: bool, has_right: bool) -> Iterator[Row]:
    """Yield the contents of a whole value: in both columns if equal, else each separately."""
    if entry.kind is ChangeKind.SAME:
        for depth, text in _contents(entry.left, entry.depth):
            yield Line(depth, index, text, text, ChangeKind.SAME)
        return
    is_ignored = entry.kind is ChangeKind.IGNORED
    for depth, text in _contents(entry.left, entry.depth) if has_left else ():
        yield Line(depth, index, text, "", ChangeKind.IGNORED if is_ignored else ChangeKind.REMOVED)
    for depth, text in _contents(entry.right, entry.depth) if has_right else ():
        yield Line(depth, index, "", text, ChangeKind.IGNORED if is_ignored else ChangeKind.ADDED)


def _contents(value: JSON | Cut, depth: int) -> Iterator[tuple[int, str]]:
    """Yield every value in a container with its depth; lazily, so that a limit costs nothing."""
    waiting = [(depth + 1, children(value))]
    while waiting:
        level, inside = waiting[-1]
        for key, child in inside:
            yield level, _labeled(key, child, value_text(child))
            if isinstance(child, dict | list) and child:
                waiting.append((level + 1, children(child)))
                break
        else:
            waiting.pop()


def _sides(entry: Change) -> tuple[bool, bool]:
    if entry.parent < 0:  # the document has no key
        return entry.kind is not ChangeKind.ADDED, entry.kind is not ChangeKind.REMOVED
    return entry.left_key is not None, entry.right_key is not None


def _is_filled(*values: JSON | Cut) -> bool:
    return any(isinstance(value, dict | list) and len(value) > 0 for value in values)


def _labeled(key: Key | None, value: JSON | Cut, text: str, *, is_line: bool = False) -> str:
    if is_line:
        return f"{line_number(key):>4}  {text}"
    if key is None:
        return text
    label = f"[{key}]{item_name(value)}" if isinstance(key, int) else shorten(one_line(key), 80)
    return f"{label}: {text}"


def _shown_pair(entry: Change) -> tuple[str, str]:
    """Return both texts, long ones starting shortly before their first difference."""
    left, right = entry.left, entry.right
    write = text_line if entry.is_line else value_text
    if isinstance(left, str) and isinstance(right, str) and max(len(left), len(right)) > MAX_LENGTH:
        begin = max(0, first_difference(left, right) - _CONTEXT) if left != right else 0
        if begin:
            return f"…{write(left[begin:])}", f"…{write(right[begin:])}"
    return write(left), write(right)


def text_line(value: JSON | Cut) -> str:
    """Return a line of text, shortened."""
    return shorten(one_line(value[: MAX_LENGTH + 1]), MAX_LENGTH) if isinstance(value, str) else ""


def value_text(value: JSON | Cut) -> str:
    """Format a value on one line: JSON for scalars, a count for containers."""
    if isinstance(value, Cut):
        return value.text
    if isinstance(value, dict):
        return f"{{{plural(len(value), 'member')}}}" if value else "{}"
    if isinstance(value, list):
        return f"[{plural(len(value), 'item')}]" if value else "[]"
    if isinstance(value, str):
        return shorten(one_line(compact(value[: MAX_LENGTH + 1])), MAX_LENGTH)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return shorten(write_number(value) if is_number else compact(value), MAX_LENGTH)  # type: ignore[arg-type]


def item_name(item: JSON | Cut) -> str:
    """Return what identifies an array item."""
    if isinstance(item, Cut):
        return f" {item.name}" if item.name else ""
    if isinstance(item, dict):
        for member in ("name", "uri", "uriTemplate", "id", "type"):
            name = item.get(member)
            if isinstance(name, str):
                return f" {shorten(one_line(name), 80)}"
    return ""


def children(value: JSON | Cut) -> Iterator[tuple[Key, JSON]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


MAX_PAIRED_LINES = 50_000  # on either side


class LinePair(NamedTuple):
    """A pair of line indices; None on the side that lacks the line."""

    kind: ChangeKind
    left: int | None
    right: int | None


def pair_lines(
    left: list[str], right: list[str], effort: Effort, blanked: Callable[[str], str] = str
) -> Iterator[LinePair]:
    """Pair the lines of both texts, each once, in order.

    `blanked` removes what is ignored from a line.
    """
    at = other = 0
    pairs = align([blanked(line) for line in left], [blanked(line) for line in right], effort)
    for i, j in [*pairs, (len(left), len(right))]:
        both = min(i - at, j - other)
        yield from (LinePair(ChangeKind.CHANGED, at + step, other + step) for step in range(both))
        yield from (LinePair(ChangeKind.REMOVED, line, None) for line in range(at + both, i))
        yield from (LinePair(ChangeKind.ADDED, None, line) for line in range(other + both, j))
        if i < len(left) and j < len(right):
            yield LinePair(ChangeKind.SAME if left[i] == right[j] else ChangeKind.IGNORED, i, j)
        at, other = i + 1, j + 1


def line_entries(
    pairs: list[LinePair], left: list[str], right: list[str], parent: int, depth: int
) -> Iterator[Change]:
    """Yield entries for the lines of the text in entry `parent`; equal neighbors are grouped."""
    for group in folded(pairs, (pair.kind is ChangeKind.SAME for pair in pairs)):
        kind, at, other = group[0]
        before: JSON = left[at] if at is not None else None
        after: JSON = right[other] if other is not None else None
        if len(group) > 1 and at is not None:
            before = after = [*left[at : at + len(group)]]
        yield Change(parent, depth, kind, at, other, before, after, is_line=True, count=len(group))


def lines_note(pairs: list[LinePair]) -> str:
    """Summarize as `3 of 120 lines differ, the first at line 7`."""
    different = [pair for pair in pairs if pair.kind.is_difference]
    if not different:
        return ""
    first = different[0].right if different[0].left is None else different[0].left
    verb = "differs" if len(different) == 1 else "differ"
    share = f"{len(different):,} of {plural(len(pairs), 'line')}"
    return f"{share} {verb}, the first at line {(first or 0) + 1:,}"


def has_lines(text: str) -> bool:
    """True if a text has several lines; a trailing line break does not count."""
    return "\n" in text[:-1]


def first_difference(left: str | bytes, right: str | bytes) -> int:
    """Return the length of the common prefix, in characters or bytes."""
    low, high = 0, min(len(left), len(right))
    while low < high:  # comparing slices is much faster than a loop over characters
        middle = (low + high + 1) // 2
        low, high = (middle, high) if left[low:middle] == right[low:middle] else (low, middle - 1)
    return low
