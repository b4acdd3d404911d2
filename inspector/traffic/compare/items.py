"""Which item of one array is which item of the other.

Objects that carry a name, a URI or an id are known by it, so that a tool that was put in among 200 is one
addition, and one that went elsewhere is a move. Other items are aligned by being equal; what is then left
between two aligned ones is paired where it is of one kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from inspector.traffic.compare.align import Effort, align
from inspector.traffic.compare.shapes import Shape

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
    places = {name: index for index, name in left.items() if index not in aligned}
    return {index: places[name] for index, name in right.items() if name in places}


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
