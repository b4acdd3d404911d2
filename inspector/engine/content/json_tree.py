"""JSON parsed into a tree for display, reduced in size if it is large.

Numbers keep their spelling, repeated keys stay separate, nothing is converted. `json_tree` is a pure
function of bytes, so that large input is parsed in the worker process; its result is bounded.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, cast

from inspector.base.json.scanner import reindent
from inspector.base.json.values import compact, read_number
from inspector.engine.workers import INLINE_LIMIT

# Limits for a large text, breadth first: the outline matters more than one corner.
MAX_VALUES = 10_000
MAX_WIDTH = 1_000
MAX_TEXT_LENGTH = 64 * 1024
_ALL_TEXT = 1024 * 1024
# Above this a tree would need gigabytes. Commas in strings count too: excluding them needs parsing.
_MAX_COMMAS = 3_000_000


class Number(str):
    """A number, NaN or infinity, with its spelling."""

    __slots__ = ()

    @property
    def value(self) -> int | float:
        number = read_number(self)
        return float(self.replace("Infinity", "inf")) if number is None else number


class TruncatedText(str):
    """The start of a long string."""

    whole_length = 0


class Members(list[tuple[str, "TreeValue"]]):
    """An object: its members in order, including duplicates."""

    left_out = 0


class Items(list["TreeValue"]):
    """An array with some items left out."""

    left_out = 0


TreeValue: TypeAlias = "bool | str | list[TreeValue] | Members | None"


@dataclass(frozen=True, slots=True)
class JsonTree:
    """A parsed value, or why there is none."""

    value: TreeValue = None
    problem: str = ""
    is_cut: bool = False


def json_tree(raw: bytes) -> JsonTree:
    """Parse JSON into a tree. A large tree is reduced to the limits above."""
    if raw.count(b",") > _MAX_COMMAS:
        return JsonTree(problem="it has more values than a tree can show")
    text = raw.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    try:
        value: TreeValue = _decode(text)
    except json.JSONDecodeError as exc:
        return JsonTree(problem=f"{exc.msg} at line {exc.lineno}, column {exc.colno}")
    except RecursionError:
        return JsonTree(problem="it is nested too deeply")
    if len(raw) <= INLINE_LIMIT:
        return JsonTree(value)
    cutter = _Cutter()
    return JsonTree(cutter.cut(value), is_cut=cutter.has_cut)


def left_out(value: TreeValue) -> int:
    """Return how many items or members of a container were left out."""
    return value.left_out if isinstance(value, Members | Items) else 0


def whole_length(text: str) -> int:
    return text.whole_length if isinstance(text, TruncatedText) else len(text)


def tree_text(value: TreeValue) -> str:
    """Return a string as is; anything else as JSON, with number spelling, cut like the tree."""
    return value if isinstance(value, str) else reindent(_written(value))


def _written(value: TreeValue) -> str:
    match value:
        case Number():
            return str(value)
        case Members():
            return f"{{{','.join(f'{compact(name)}:{_written(child)}' for name, child in value)}}}"
        case list():
            return f"[{','.join(_written(child) for child in cast('list[TreeValue]', value))}]"
        case _:
            return compact(value)


_decode = json.JSONDecoder(
    object_pairs_hook=Members, parse_int=Number, parse_float=Number, parse_constant=Number
).decode


class _Cutter:
    """Copies a tree breadth first until the limit is reached."""

    def __init__(self) -> None:
        self.has_cut = False
        self._values_left = MAX_VALUES
        self._text_left = _ALL_TEXT
        self._open: deque[Callable[[], None]] = deque()

    def cut(self, value: TreeValue) -> TreeValue:
        result = self._copy(value)
        while self._open:
            self._open.popleft()()
        return result

    def _copy(self, value: TreeValue) -> TreeValue:
        """Copy a value with its text truncated; containers are queued to be filled later."""
        if isinstance(value, Members):
            members = Members()
            self._open.append(lambda: self._fill_members(members, value))
            return members
        if isinstance(value, list):
            items, source = Items(), cast("list[TreeValue]", value)
            self._open.append(lambda: self._fill_items(items, source))
            return items
        return self._copy_text(value) if isinstance(value, str) else value

    def _fill_members(self, members: Members, source: Members) -> None:
        count = self._take(len(source))
        members.extend((self._copy_text(name), self._copy(child)) for name, child in source[:count])
        members.left_out = len(source) - count

    def _fill_items(self, items: Items, source: list[TreeValue]) -> None:
        count = self._take(len(source))
        items.extend(map(self._copy, source[:count]))
        items.left_out = len(source) - count

    def _take(self, count: int) -> int:
        """Return how many values of a container still fit."""
        fitting = min(count, MAX_WIDTH, self._values_left)
        self._values_left -= fitting
        self.has_cut |= fitting < count
        return fitting

    def _copy_text(self, text: str) -> str:
        length = min(len(text), MAX_TEXT_LENGTH, max(self._text_left, 100))
        self._text_left -= length
        if length == len(text):
            return text
        self.has_cut = True
        cut = TruncatedText(text[:length])  # numbers too: at that length the value does not matter
        cut.whole_length = len(text)
        return cut
