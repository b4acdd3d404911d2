"""Comparisons evaluated on log columns, for a window of rows at once.

Each test returns a mask: one byte per row, 1 if the row matches. The work per row is one step of a loop
in C or in a comprehension; what depends on a string of the log is evaluated once per string.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from inspector.traffic.columns import ID_INTEGER, ID_OTHER, Column
from inspector.traffic.filter.fields import CodeColumn, NumberColumn, TextColumn
from inspector.traffic.filter.literals import DAY, Ago, TimeOfDay, read_time, time_of_day_ns, zone_offset_ns
from inspector.traffic.filter.predicates import Number, Predicate
from inspector.traffic.filter.row_values import Read
from inspector.traffic.filter.tree import Operator
from inspector.traffic.log import TrafficLog

Span: TypeAlias = tuple[int, int]  # both ends inclusive; empty if they are crossed
LOWEST, HIGHEST = -(2**63), 2**63 - 1  # range of a column's values

_IS_INTEGER = bytes(code == ID_INTEGER for code in range(256))


class ColumnTest(ABC):
    """A comparison that is evaluated from columns."""

    @abstractmethod
    def mask(self, window: range) -> bytes: ...


class CodeTest(ColumnTest):
    """A byte column, translated to 0 and 1."""

    def __init__(self, where: CodeColumn, log: TrafficLog, test: Predicate) -> None:
        self._where, self._log, self._test = where, log, test
        self._column: Column = getattr(log.columns, where.column)
        self._revisions = 0
        self._table = b""

    def mask(self, window: range) -> bytes:
        if self._revisions != len(self._log.revisions):  # a code may have got a meaning
            self._revisions = len(self._log.revisions)
            self._table = bytes(
                any(map(self._test, self._where.labels(self._log, code))) for code in range(256)
            )
        return self._column[window.start : window.stop].tobytes().translate(self._table)


class StringMatches:
    """The indices of the matching strings of the log, updated as strings are added."""

    def __init__(self, log: TrafficLog, test: Callable[[str], bool]) -> None:
        self._strings, self._test = log.strings, test
        self._seen = 1  # index 0 is the empty string: no value
        self._wanted: set[int] = set()

    def mask(self, numbers: Iterable[int]) -> bytes:
        known = len(self._strings)
        if known > self._seen:
            self._wanted |= self._strings.numbers_of(self._test, self._seen)
            self._seen = known
        return bytes(map(self._wanted.__contains__, numbers))


class TextTest(ColumnTest):
    def __init__(self, where: TextColumn, log: TrafficLog, strings: StringMatches) -> None:
        self._column: Column = getattr(log.columns, where.column)
        self._matching = strings
        self._methods = None if where.methods is None else StringMatches(log, where.methods.__contains__)
        self._method = log.columns.method

    def mask(self, window: range) -> bytes:
        found = self._matching.mask(self._column[window.start : window.stop])
        if self._methods is None:
            return found
        return both(found, self._methods.mask(self._method[window.start : window.stop]))


class ServerTest(ColumnTest):
    """Servers by name."""

    def __init__(self, log: TrafficLog, test: Predicate) -> None:
        self._log, self._test = log, test

    def mask(self, window: range) -> bytes:
        names = self._log.servers()
        wanted = {number for number, name in enumerate(names) if name and self._test(name)}
        return bytes(map(wanted.__contains__, self._log.columns.server[window.start : window.stop]))


class NumberTest(ColumnTest):
    """A numeric column, or the row numbers themselves."""

    def __init__(self, where: NumberColumn | None, log: TrafficLog, numbers: NumberMatches) -> None:
        self._column: Column | None = getattr(log.columns, where.column) if where is not None else None
        self._minimum = where.minimum if where is not None else 0
        self._shift = where.shift if where is not None else 1
        self._numbers = numbers

    def mask(self, window: range) -> bytes:
        values = window if self._column is None else self._column[window.start : window.stop]
        return self._numbers.mask(values, self._minimum, self._shift)


class NumberMatches:
    """A numeric comparison: by spans where the operator has them, else value by value."""

    def __init__(self, spans: Sequence[Span] | None, test: Predicate) -> None:
        self._spans, self._test = spans, test

    def mask(self, values: Sequence[int], minimum: int = 0, shift: int = 0) -> bytes:
        if self._spans is None:
            matches = {value for value in set(values) if value >= minimum and self._test(value + shift)}
            return bytes(map(matches.__contains__, values))
        masks = [within(values, max(low - shift, minimum), high - shift) for low, high in self._spans]
        return any_of(masks) if masks else bytes(len(values))


class HttpStatusTest(ColumnTest):
    """HTTP status of a row, or of the exchange that carried it."""

    def __init__(self, log: TrafficLog, numbers: NumberMatches) -> None:
        self._columns, self._numbers = log.columns, numbers

    def mask(self, window: range) -> bytes:
        of_all = self._columns.http_status
        own = of_all[window.start : window.stop]
        carriers = self._columns.exchange[window.start : window.stop]
        codes = [
            code or (of_all[carrier] if carrier >= 0 else 0)
            for code, carrier in zip(own, carriers, strict=True)
        ]
        return self._numbers.mask(codes, minimum=1)


class IdTest(ColumnTest):
    """Integer ids from their column; the few others one by one."""

    def __init__(self, log: TrafficLog, numbers: NumberMatches, test: Predicate) -> None:
        self._log, self._numbers, self._test = log, numbers, test

    def mask(self, window: range) -> bytes:
        columns = self._log.columns
        kinds = columns.id_kind[window.start : window.stop].tobytes()
        values = columns.id_value[window.start : window.stop]
        is_integer = kinds.translate(_IS_INTEGER)
        found = bytearray(both(self._numbers.mask(values, minimum=-(2**63)), is_integer))
        at = kinds.find(ID_OTHER)
        while at >= 0:
            found[at] = self._test(self._log.id(window.start + at))
            at = kinds.find(ID_OTHER, at + 1)
        return bytes(found)


class TimeTest(ColumnTest):
    """Wall-clock times, or times of day."""

    def __init__(self, log: TrafficLog, operator: Operator, values: Sequence[str], now_ns: int) -> None:
        self._wall = log.columns.wall
        self._moments: list[Span] = []
        self._of_day: list[Span] = []
        for when in map(read_time, values):
            if isinstance(when, TimeOfDay):
                self._of_day.append(span(operator, when.start, when.end - 1))
            elif isinstance(when, Ago):
                self._moments.append(span(operator, now_ns - when.distance, now_ns - when.distance))
            else:
                self._moments.append(span(operator, when.start, when.end - 1))

    def mask(self, window: range) -> bytes:
        walls = self._wall[window.start : window.stop]
        masks = [within(walls, low, high) for low, high in self._moments]
        if self._of_day and walls:
            masks += _within_day(walls, self._of_day)
        return any_of(masks) if masks else bytes(len(walls))


def _within_day(walls: array[int], spans: Sequence[Span]) -> list[bytes]:
    """Match times of day.

    Rows are mostly from one day and one zone: then midnight is looked up once for all.
    """
    first, last = min(walls), max(walls)
    midnight = first - time_of_day_ns(first)
    if last < midnight + DAY and zone_offset_ns(first) == zone_offset_ns(last):
        return [within(walls, midnight + low, min(midnight + high, midnight + DAY)) for low, high in spans]
    times = list(map(time_of_day_ns, walls))
    return [within(times, low, high) for low, high in spans]


class NoteTest(ColumnTest):
    """Notes: few rows have one, so all others share one result."""

    def __init__(self, log: TrafficLog, read: Read, test: Predicate) -> None:
        self._log, self._read, self._test = log, read, test

    def mask(self, window: range) -> bytes:
        noted_rows = {row for row in self._log.noted_rows() if row in window}
        plain = next((row for row in window if row not in noted_rows), None)
        found = bytearray(b"\1" if plain is not None and self._matches(plain) else b"\0") * len(window)
        for row in noted_rows:
            found[row - window.start] = self._matches(row)
        return bytes(found)

    def _matches(self, row: int) -> bool:
        return any(map(self._test, self._read(self._log, row, ())))


def spans(operator: Operator, values: Sequence[Number]) -> list[Span]:
    """Return the ranges of integers that match."""
    return [span(operator, value, value) for value in values]


def span(operator: Operator, first: Number, last: Number) -> Span:
    """Return the range for one operand; `first` and `last` differ only for a time span."""
    match operator:
        case Operator.ABOVE:
            return (_floor(first) + 1, HIGHEST)
        case Operator.AT_LEAST:
            return (_ceiling(first), HIGHEST)
        case Operator.BELOW:
            return (LOWEST, _ceiling(first) - 1)
        case Operator.AT_MOST:
            return (LOWEST, _floor(first))
    return (_ceiling(first), _floor(last))


def _floor(number: Number) -> int:
    return math.floor(_bounded(number))


def _ceiling(number: Number) -> int:
    return math.ceil(_bounded(number))


def _bounded(number: Number) -> Number:
    """Clamp a number, possibly infinite, to just beyond what a column can hold."""
    return max(LOWEST - 1, min(number, HIGHEST + 1))


def within(values: Sequence[int], low: int, high: int) -> bytes:
    if low > high:
        return bytes(len(values))
    return bytes([low <= value <= high for value in values])


def any_of(masks: Sequence[bytes]) -> bytes:
    found = masks[0]
    for mask in masks[1:]:
        found = (int.from_bytes(found, "little") | int.from_bytes(mask, "little")).to_bytes(
            len(found), "little"
        )
    return found


def both(one: bytes, other: bytes) -> bytes:
    return (int.from_bytes(one, "little") & int.from_bytes(other, "little")).to_bytes(len(one), "little")
