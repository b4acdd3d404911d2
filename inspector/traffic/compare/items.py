"""Pairing of array items, and numbering of values so that equality is one comparison.

Objects with a name, a URI or an id are identified by it: a tool inserted among 200 is one addition, and
one in another place is a move. Other items are aligned by equality; those left between two aligned ones
are paired if they are of one kind. `Shaper` gives equal values equal numbers, in any document and order
of members: the `strict` number counts everything, the `loose` one leaves out what is ignored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from inspector.base.json.values import JSON, write_number
from inspector.traffic.compare.alignment import Effort, align
from inspector.traffic.compare.diff import IgnoreRules, Key, PatternMatcher

_IDENTITY_MEMBERS = ("name", "uri", "uriTemplate", "id", "type")


class ItemPair(NamedTuple):
    """A pair of item indices; None on the side that lacks the item."""

    left: int | None
    right: int | None
    is_moved: bool = False


def pair_items(left: Shape, right: Shape, effort: Effort) -> list[ItemPair]:
    """Pair the items of both arrays, each once, in document order."""
    ours, theirs = _counted(left), _counted(right)
    member = _identity_member(left, right, len(ours), len(theirs))
    left_names, right_names = _identities(left, member), _identities(right, member)
    pairs = align(
        [left_names.get(index, left.items[index].loose) for index in ours],
        [right_names.get(index, right.items[index].loose) for index in theirs],
        effort,
    )
    fixed = [(ours[i], theirs[j]) for i, j in pairs]
    moved = _moved(left_names, right_names, fixed)
    aligner = _Gaps(left, right, {*left_names}, {*right_names}, moved, effort)
    return list(aligner.filled(fixed))


def _counted(shape: Shape) -> Sequence[int]:
    """Return the indices of items that are not ignored."""
    count = range(len(shape.items))
    return [index for index in count if index not in shape.ignored] if shape.ignored else count


def _identity_member(left: Shape, right: Shape, *counts: int) -> str:
    """Return the member that distinguishes most items of both arrays; "" if there is none."""
    if not (any(item.members for item in left.items) and any(item.members for item in right.items)):
        return ""
    for member in _IDENTITY_MEMBERS:
        known = (len(_identities(side, member)) for side in (left, right))
        if all(2 * named >= count > 0 for named, count in zip(known, counts, strict=True)):
            return member
    return ""


def _identities(array: Shape, member: str) -> dict[int, int]:
    """Return identity numbers of uniquely named items, by index.

    They are negative, so that they never equal a shape's number.
    """
    named: dict[int, int] = {}
    if not member:
        return named
    for index, item in enumerate(array.items):
        name = item.members.get(member)
        is_usable = name is not None and isinstance(name.value, str | int) and member not in item.ignored
        if is_usable and name is not None and index not in array.ignored:
            named[index] = -name.strict
    counts = Counter(named.values())
    return {index: name for index, name in named.items() if counts[name] == 1}


def _moved(left: dict[int, int], right: dict[int, int], fixed: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Return unaligned items that are on both sides: index on the right -> index on the left."""
    aligned = {ours for ours, _ in fixed}
    positions = {name: index for index, name in left.items() if index not in aligned}
    return {index: positions[name] for index, name in right.items() if name in positions}


class _Gaps:
    """Merges the items in between into the list of aligned ones."""

    def __init__(
        self,
        left: Shape,
        right: Shape,
        left_named: set[int],
        right_named: set[int],
        moved: dict[int, int],
        effort: Effort,
    ) -> None:
        self._left, self._right = left, right
        self._left_named, self._right_named = left_named, right_named
        self._moved = moved
        self._gone = {*moved.values()}
        self._effort = effort

    def filled(self, fixed: Sequence[tuple[int, int]]) -> Iterator[ItemPair]:
        left = right = 0
        ends = (len(self._left.items), len(self._right.items))
        for ours, theirs in [*fixed, ends]:
            if left < ours or right < theirs:
                yield from self._gap(range(left, ours), range(right, theirs))
            if (ours, theirs) != ends:
                yield ItemPair(ours, theirs)
            left, right = ours + 1, theirs + 1

    def _gap(self, left: range, right: range) -> Iterator[ItemPair]:
        ours = [index for index in left if index not in self._gone]
        theirs = list(right)
        pairs = self._alike(ours, theirs) if ours and theirs else []
        at = other = 0
        for i, j in [*pairs, (len(ours), len(theirs))]:
            yield from (ItemPair(index, None) for index in ours[at:i])
            yield from (self._arrived(index) for index in theirs[other:j])
            if i < len(ours) and j < len(theirs):
                yield ItemPair(ours[i], theirs[j])
            at, other = i + 1, j + 1

    def _alike(self, ours: list[int], theirs: list[int]) -> list[tuple[int, int]]:
        return align(
            [_kind(self._left, index, self._left_named) for index in ours],
            [_kind(self._right, index, self._right_named) for index in theirs],
            self._effort,
        )

    def _arrived(self, index: int) -> ItemPair:
        origin = self._moved.get(index)
        return ItemPair(origin, index, is_moved=origin is not None)


def _kind(array: Shape, index: int, named: set[int]) -> Hashable:
    """Return a key that is equal for items that may be a changed pair; named ones never match."""
    item = array.items[index]
    if index in array.ignored:
        return "ignored"
    if index in named:
        return (id(array), index)
    kind = item.members.get("type")
    return (_json_type(item), kind.strict if kind is not None else 0)


def _json_type(shape: Shape) -> str:
    value = shape.value
    if isinstance(value, bool) or value is None:
        return "word"
    return "number" if isinstance(value, int | float) else type(value).__name__


_NONE_IGNORED: frozenset[Key] = frozenset()


class Shape:
    """A value with its numbers, and those of its members or items."""

    __slots__ = ("ignored", "items", "loose", "members", "strict", "value")

    def __init__(self, value: JSON) -> None:
        self.value = value
        self.strict = self.loose = 0
        self.members: dict[str, Shape] = {}
        self.items: list[Shape] = []
        self.ignored = _NONE_IGNORED  # keys of ignored members and items

    def put(self, key: Key, child: Shape) -> None:
        if isinstance(key, str):
            self.members[key] = child
        else:
            self.items.append(child)


class _Frame:
    """A container whose members are being processed."""

    __slots__ = ("ignored", "rest", "shape", "state")

    def __init__(self, shape: Shape, state: PatternMatcher.State) -> None:
        value = shape.value
        self.shape = shape
        self.state = state
        self.ignored: set[Key] = set()
        self.rest: Iterator[tuple[Key, JSON]] = iter(())
        if isinstance(value, dict):
            self.rest = iter(value.items())
        elif isinstance(value, list):
            self.rest = iter(enumerate(value))


class Shaper:
    """Numbers values; use one instance for both sides of a comparison."""

    def __init__(self, rules: IgnoreRules) -> None:
        self._rules = rules
        self._numbers: dict[object, int] = {}
        self._scalars: dict[object, Shape] = {}

    def shape(self, value: JSON) -> Shape:
        """Return the shape of a value. Uses an explicit stack: depth is unlimited."""
        if not isinstance(value, dict | list):
            return self._scalar(value)
        root = Shape(value)
        stack = [_Frame(root, self._rules.start)]
        while stack:
            if (opened := self._fill(stack[-1])) is not None:
                stack.append(opened)
            else:
                self._number(stack.pop())
        return root

    def _fill(self, frame: _Frame) -> _Frame | None:
        """Process members until one is a container, which is processed first."""
        rules, parent = self._rules, frame.shape
        for key, value in frame.rest:
            state = rules.step(frame.state, key) if frame.state is not None else None
            if not rules.is_nothing and rules.ignores(state, key, value):
                frame.ignored.add(key)
            if isinstance(value, dict | list):
                child = Shape(value)
                parent.put(key, child)
                return _Frame(child, state)
            parent.put(key, self._scalar(value))
        return None

    def _number(self, frame: _Frame) -> None:
        shape = frame.shape
        if isinstance(shape.value, dict):
            names, children = shape.members.keys(), shape.members.values()
            shape.strict = self._of(frozenset(zip(names, [child.strict for child in children], strict=True)))
        else:
            shape.strict = self._of(tuple([child.strict for child in shape.items]))
        shape.loose = shape.strict
        if not self._rules.is_nothing:
            shape.ignored = frozenset(frame.ignored) if frame.ignored else _NONE_IGNORED
            shape.loose = self._of(_loose_token(shape))

    def _scalar(self, value: JSON) -> Shape:
        token = _token(value)
        shape = self._scalars.get(token)
        if shape is None:
            shape = self._scalars[token] = Shape(value)
            shape.strict = shape.loose = self._of(token)
            if isinstance(value, str) and self._rules.blanks:
                shape.loose = self._of(self._rules.blanked(value))
        return shape

    def _of(self, token: object) -> int:
        return self._numbers.setdefault(token, len(self._numbers) + 1)


def _loose_token(shape: Shape) -> object:
    left_out = shape.ignored
    if isinstance(shape.value, dict):
        return frozenset((name, child.loose) for name, child in shape.members.items() if name not in left_out)
    return tuple(child.loose for index, child in enumerate(shape.items) if index not in left_out)


def _token(value: JSON) -> object:
    """Return a key that tells 1, 1.0 and true apart and treats NaN as equal to itself."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return ("word", str(value))
    if isinstance(value, int | float):
        return ("number", write_number(value))
    return ("unknown", repr(value))
