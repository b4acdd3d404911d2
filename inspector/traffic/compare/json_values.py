"""Structural comparison of two JSON values.

The order of members does not matter, numbers are compared as written, and array items are aligned
(`items.py`). There is no recursion and the effort is bounded: a comparison of large documents ends, if
necessary with less detail, and `Diff.note` says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from inspector.base.json.values import JSON
from inspector.base.units import plural
from inspector.traffic.compare.alignment import Effort, folded
from inspector.traffic.compare.diff import (
    IGNORE_NOTHING,
    Change,
    ChangeKind,
    Diff,
    IgnoreOptions,
    IgnoreRules,
    Key,
)
from inspector.traffic.compare.items import Shape, Shaper, pair_items
from inspector.traffic.compare.lines import (
    MAX_PAIRED_LINES,
    first_difference,
    has_lines,
    line_entries,
    lines_note,
    pair_lines,
)

MAX_ENTRIES = 20_000  # more would be neither readable nor quick to send to another process
_COARSE = "There is so much to compare that some items or lines may not be paired optimally."
_CUT = "There are so many differences that some objects and arrays were not compared."


class _Task(NamedTuple):
    """Two values to compare; None on the side that lacks the value."""

    parent: int
    depth: int
    left_key: Key | None
    right_key: Key | None
    left: Shape | None
    right: Shape | None
    is_ignored: bool = False
    is_moved: bool = False

    @property
    def is_equal(self) -> bool:
        if self.left is None or self.right is None or self.is_moved:
            return False
        return self.left.strict == self.right.strict


def compare(left: JSON, right: JSON, ignoring: IgnoreOptions = IGNORE_NOTHING) -> Diff:
    """Compare `left` with `right`. Raises UserError for an invalid `ignoring`."""
    rules = IgnoreRules(ignoring)
    shaper = Shaper(rules)
    return _Comparison(rules).run(shaper.shape(left), shaper.shape(right))


class _Comparison:
    """Works through a stack of pending comparisons."""

    def __init__(self, rules: IgnoreRules) -> None:
        self._rules = rules
        self._entries: list[Change] = []
        self._tasks: list[Sequence[_Task]] = []
        self._effort = Effort()
        self._is_cut = False

    def run(self, left: Shape, right: Shape) -> Diff:
        self._tasks = [[_Task(-1, 0, None, None, left, right)]]
        while self._tasks:
            group = self._tasks.pop()
            if len(group) > 1:
                self._add(group, ChangeKind.SAME)
            else:
                self._compare(group[0])
        notes = [_CUT] * self._is_cut + [_COARSE] * self._effort.was_short
        return Diff(tuple(self._entries), " ".join(notes))

    def _compare(self, task: _Task) -> None:
        left, right = task.left, task.right
        if left is None or right is None:
            self._one_sided(task)
        elif left.strict == right.strict:
            self._add([task], ChangeKind.MOVED if task.is_moved else ChangeKind.SAME)
        elif task.is_ignored:
            self._add([task], ChangeKind.IGNORED)
        elif _are_containers(left, right):
            self._containers(task, left, right)
        elif left.loose == right.loose:
            self._add([task], ChangeKind.IGNORED)
        else:
            self._scalars(task, left.value, right.value)

    def _one_sided(self, task: _Task) -> None:
        if task.is_ignored:
            self._add([task], ChangeKind.IGNORED)
        else:
            self._add([task], ChangeKind.ADDED if task.left is None else ChangeKind.REMOVED)

    def _containers(self, task: _Task, left: Shape, right: Shape) -> None:
        groups = list(self._groups(task, left, right))
        if len(self._entries) + len(self._tasks) + len(groups) > MAX_ENTRIES:
            self._is_cut = True
            is_ignored = left.loose == right.loose
            self._add([task], ChangeKind.IGNORED if is_ignored else ChangeKind.CHANGED, "Not compared")
            return
        self._add([task], ChangeKind.MOVED if task.is_moved else ChangeKind.INSIDE)
        self._tasks += reversed(groups)

    def _groups(self, task: _Task, left: Shape, right: Shape) -> Iterator[Sequence[_Task]]:
        """Yield what to compare inside two containers, equal neighbors grouped."""
        parent, depth = len(self._entries), task.depth + 1
        if isinstance(left.value, dict):
            inside = list(_members(left, right, parent, depth))
        else:
            inside = list(self._items(left, right, parent, depth))
        return folded(inside, (one.is_equal for one in inside))

    def _items(self, left: Shape, right: Shape, parent: int, depth: int) -> Iterator[_Task]:
        for pair in pair_items(left, right, self._effort):
            sides = [(side, at) for side, at in ((left, pair.left), (right, pair.right)) if at is not None]
            yield _Task(
                parent,
                depth,
                pair.left,
                pair.right,
                None if pair.left is None else left.items[pair.left],
                None if pair.right is None else right.items[pair.right],
                is_ignored=all(at in side.ignored for side, at in sides),
                is_moved=pair.is_moved,
            )

    def _scalars(self, task: _Task, left: JSON, right: JSON) -> None:
        if isinstance(left, str) and isinstance(right, str):
            self._texts(task, left, right)
        else:
            self._add([task], ChangeKind.CHANGED, _note(left, right))

    def _texts(self, task: _Task, left: str, right: str) -> None:
        if not (has_lines(left) or has_lines(right)):
            self._add([task], ChangeKind.CHANGED, _text_note(left, right))
            return
        ours, theirs = left.split("\n"), right.split("\n")
        if max(len(ours), len(theirs), len(self._entries)) > MAX_PAIRED_LINES:
            self._add([task], ChangeKind.CHANGED, _text_note(left, right))
            return
        pairs = list(pair_lines(ours, theirs, self._effort, self._rules.blanked))
        self._add([task], ChangeKind.CHANGED, lines_note(pairs))
        self._entries += line_entries(pairs, ours, theirs, len(self._entries) - 1, task.depth + 1)

    def _add(self, group: Sequence[_Task], kind: ChangeKind, note: str = "") -> None:
        task = group[0]
        if kind is ChangeKind.MOVED:
            note = f"Moved from [{task.left_key}] to [{task.right_key}]"
        left = task.left.value if task.left is not None else None
        right = task.right.value if task.right is not None else None
        if len(group) > 1:
            left = right = _together(group)
        self._entries.append(
            Change(
                task.parent,
                task.depth,
                kind,
                task.left_key,
                task.right_key,
                left,
                right,
                note,
                count=len(group),
            )
        )


def _together(group: Sequence[_Task]) -> JSON:
    """Combine equal neighbors into one value: a part of their object or array."""
    values = [(task.left_key, task.left.value) for task in group if task.left is not None]
    if isinstance(group[0].left_key, str):
        return {str(name): value for name, value in values}
    return [value for _, value in values]


def _are_containers(left: Shape, right: Shape) -> bool:
    """True for two objects or two arrays."""
    return isinstance(left.value, dict | list) and type(left.value) is type(right.value)


def _members(left: Shape, right: Shape, parent: int, depth: int) -> Iterator[_Task]:
    """Yield members in the left side's order; one only on the right follows its predecessor."""
    for name in _member_order(left, right):
        ours, theirs = left.members.get(name), right.members.get(name)
        sides = [side for side, child in ((left, ours), (right, theirs)) if child is not None]
        yield _Task(
            parent,
            depth,
            name if ours is not None else None,
            name if theirs is not None else None,
            ours,
            theirs,
            is_ignored=all(name in side.ignored for side in sides),
        )


def _member_order(left: Shape, right: Shape) -> Iterator[str]:
    followers: dict[str | None, list[str]] = {}
    before: str | None = None
    for name in right.members:
        if name in left.members:
            before = name
        else:
            followers.setdefault(before, []).append(name)
    yield from followers.get(None, ())
    for name in left.members:
        yield name
        yield from followers.get(name, ())


def _note(left: JSON, right: JSON) -> str:
    """Return what the two values do not show by themselves."""
    if _is_number(left) and _is_number(right):
        return "The same number, written differently" if left == right else ""
    return "" if type(left) is type(right) else f"{_type_name(left)} became {_type_name(right)}"


def _text_note(left: str, right: str) -> str:
    if max(len(left), len(right)) <= 60:
        return ""
    position = first_difference(left, right) + 1
    if len(left) == len(right):
        return f"Differs from character {position:,} of {len(left):,}"
    return f"Differs from character {position:,}; {plural(len(left), 'character')} became {len(right):,}"


def _is_number(value: JSON) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _type_name(value: JSON) -> str:
    if value is None:
        return "null"
    if _is_number(value):
        return "A number"
    names = {bool: "a boolean", str: "a string", list: "an array", dict: "an object"}
    return names.get(type(value), "a value")
