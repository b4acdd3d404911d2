"""Filter evaluation: a compiled filter returns the matching rows of a log, window by window.

A filter becomes a tree of plans: cheap ones (columns) run first, and expensive ones (bodies) only on rows
that are still undecided. A mask is one big integer with a byte per row, so that `&`, `|` and `^` of
16,000 rows are one operation each. `row_test` is the reference implementation: it evaluates one row at a
time through plain reads of the log, and tests compare `Matcher` with it.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from itertools import compress
from typing import TypeAlias

from inspector.base.json.values import JSON
from inspector.traffic.filter.body_search import Needle, as_bytes, body_test, is_in_body, rows_with
from inspector.traffic.filter.column_tests import (
    CodeTest,
    ColumnTest,
    HttpStatusTest,
    IdTest,
    NoteTest,
    NumberMatches,
    NumberTest,
    ServerTest,
    StringMatches,
    TextTest,
    TimeTest,
    spans,
)
from inspector.traffic.filter.fields import (
    FIELDS,
    CodeColumn,
    Field,
    NumberColumn,
    RowValue,
    ServerColumn,
    Special,
    TextColumn,
)
from inspector.traffic.filter.literals import read_duration, read_number, read_size
from inspector.traffic.filter.predicates import Number, Predicate, Type
from inspector.traffic.filter.row_values import (
    MAX_SIZE,
    ROOTS,
    hint,
    message_reader,
)
from inspector.traffic.filter.tree import ORDER, And, Compare, Node, Not, Operator, Or, Text
from inspector.traffic.log import TrafficLog

RowTest: TypeAlias = Callable[[int], bool]

_READERS: dict[Type, Callable[[str], Number]] = {
    Type.DURATION: read_duration,
    Type.SIZE: read_size,
    Type.NUMBER: read_number,
    Type.ID: read_number,
}


class Matcher:
    """A filter compiled for one log.

    Strings and rows that are added later are seen by the next call.
    """

    def __init__(self, plan: Plan, matches: Callable[[int], bool]) -> None:
        self._plan = plan
        self.matches = matches  # for a single row, such as one that changed

    @property
    def is_cheap(self) -> bool:
        """True if every row is matched from the columns alone, without reading its body."""
        return self._plan.cost is Cost.COLUMNS

    def rows(self, numbers: range) -> array[int]:
        """Return the matching rows of a window, in order. Windows of some 16,000 rows are best."""
        all_rows = int.from_bytes(b"\1" * len(numbers), "little")
        found = self._plan.among(numbers, all_rows)
        return array("q", compress(numbers, found.to_bytes(len(numbers), "little")) if found else ())


def compile(node: Node | None, log: TrafficLog, *, now_ns: int) -> Matcher:
    """Compile a filter; None matches every row.

    `now_ns` is the wall time that relative times count from.
    """
    if node is None:
        return Matcher(Everything(), lambda row: True)
    return Matcher(_plan(node, log, now_ns), row_test(node, log, now_ns))


def _plan(node: Node, log: TrafficLog, now_ns: int) -> Plan:
    match node:
        case And(nodes):
            return AllOf([_plan(inner, log, now_ns) for inner in nodes])
        case Or(nodes):
            return AnyOf([_plan(inner, log, now_ns) for inner in nodes])
        case Not(inner):
            return NoneOf(_plan(inner, log, now_ns))
        case Text(text):
            return _free_text_plan(text, log)
        case Compare(path, Operator.IS_NOT, values):
            return NoneOf(_plan(Compare(path, Operator.IS, values), log, now_ns))
        case Compare():
            return _comparison_plan(node, log, now_ns)


def _free_text_plan(text: str, log: TrafficLog) -> Plan:
    needle = Needle(text)
    strings = StringMatches(log, lambda text: needle.is_in(as_bytes(text)))
    columns = [TextTest(TextColumn(name), log, strings) for name in ("method", "subject", "problem")]
    return AnyOf([*map(ColumnPlan, columns), BodySearchPlan(log, needle)])


def _comparison_plan(node: Compare, log: TrafficLog, now_ns: int) -> Plan:
    field = FIELDS[node.path.field]
    if field.type is Type.BODY:
        return _body_plan(node, log)
    test = field.test(node.operator, node.values, now_ns)
    if isinstance(field.where, RowValue):
        return _row_plan(node, field, field.where, log, test)
    return ColumnPlan(_column_test(node, field, log, test, now_ns))


def _body_plan(node: Compare, log: TrafficLog) -> Plan:
    if node.operator is Operator.CONTAINS:
        return BodySearchPlan(log, Needle(node.value))
    matches = body_test(node.operator, node.values)
    return RowPlan(lambda row: matches(log, row), Cost.BODIES)


def _row_plan(node: Compare, field: Field, where: RowValue, log: TrafficLog, test: Predicate) -> Plan:
    steps, read = node.path.steps, field.read
    if where.kinds is None:
        return RowPlan(lambda row: any(map(test, read(log, row, steps))), Cost.ROWS)
    kinds = where.kinds
    of_kind = CodeTest(
        CodeColumn("kind", lambda log, code: ("",) if code in kinds else ()), log, lambda _: True
    )
    if field.name in ROOTS:
        values = message_reader(ROOTS[field.name] + steps, hint(node.operator, node.value))
        return _path_plan(log, values, test, of_kind)
    return RowPlan(lambda row: any(map(test, read(log, row, steps))), Cost.BODIES, of_kind)


def _column_test(node: Compare, field: Field, log: TrafficLog, test: Predicate, now_ns: int) -> ColumnTest:
    match field.where:
        case CodeColumn() as where:
            return CodeTest(where, log, test)
        case TextColumn() as where:
            return TextTest(where, log, StringMatches(log, test))
        case ServerColumn():
            return ServerTest(log, test)
        case NumberColumn() as where:
            return NumberTest(where, log, _numbers(node, field, test))
        case Special.NUMBER:
            return NumberTest(None, log, _numbers(node, field, test))
        case Special.HTTP_STATUS:
            return HttpStatusTest(log, _numbers(node, field, test))
        case Special.ID:
            return IdTest(log, _numbers(node, field, test), test)
        case Special.TIME:
            return TimeTest(log, node.operator, node.values, now_ns)
        case Special.NOTE:
            return NoteTest(log, field.read, test)
    raise AssertionError(field.where)


def _numbers(node: Compare, field: Field, test: Predicate) -> NumberMatches:
    """Return a numeric comparison.

    Only patterns have no spans; they are evaluated for each distinct number.
    """
    is_pattern = node.operator is Operator.MATCHES or (
        node.operator is Operator.CONTAINS and "*" in node.value
    )
    if is_pattern:
        return NumberMatches(None, test)
    read, values = _READERS[field.type], node.values
    if field.type is Type.ID and node.operator not in ORDER:
        values = tuple(value for value in values if _is_written_like_an_integer(value))
    return NumberMatches(spans(node.operator, list(map(read, values))), test)


def _is_written_like_an_integer(text: str) -> bool:
    """True for canonical integers. Ids are compared as text: 007 is not the integer 7."""
    return re.fullmatch("0|-?[1-9][0-9]{0,18}", text) is not None


def row_test(node: Node, log: TrafficLog, now_ns: int) -> RowTest:
    """Return a test of rows.

    Raises ValueError if a value does not suit its field, which `parse` has already checked.
    """
    match node:
        case And(nodes):
            tests = [row_test(inner, log, now_ns) for inner in nodes]
            return lambda row: all(test(row) for test in tests)
        case Or(nodes):
            tests = [row_test(inner, log, now_ns) for inner in nodes]
            return lambda row: any(test(row) for test in tests)
        case Not(inner):
            test = row_test(inner, log, now_ns)
            return lambda row: not test(row)
        case Text(text):
            return _text_test(text, log)
        case Compare(path, Operator.IS_NOT, values):
            return row_test(Not(Compare(path, Operator.IS, values)), log, now_ns)
        case Compare():
            return _comparison_test(node, log, now_ns)


def _comparison_test(node: Compare, log: TrafficLog, now_ns: int) -> RowTest:
    field, steps = FIELDS[node.path.field], node.path.steps
    if field.type is Type.BODY:
        matches = body_test(node.operator, node.values)
        return lambda row: matches(log, row)
    test = field.test(node.operator, node.values, now_ns)
    return lambda row: any(test(value) for value in field.read(log, row, steps))


def _text_test(text: str, log: TrafficLog) -> RowTest:
    needle = Needle(text)

    def is_found(row: int) -> bool:
        texts = (log.method(row), log.subject(row), log.problem(row))
        return any(needle.is_in(as_bytes(text)) for text in texts if text) or is_in_body(log, row, needle)

    return is_found


class Cost(IntEnum):
    COLUMNS = 0
    ROWS = 1
    BODIES = 2


class Plan(ABC):
    cost: Cost

    @abstractmethod
    def among(self, window: range, alive: int) -> int:
        """Return the rows that match, among those that are alive."""


class ColumnPlan(Plan):
    """Evaluated from columns."""

    cost = Cost.COLUMNS

    def __init__(self, test: ColumnTest) -> None:
        self._test = test

    def among(self, window: range, alive: int) -> int:
        return int.from_bytes(self._test.mask(window), "little") & alive


class RowPlan(Plan):
    """Evaluated row by row, for rows of certain kinds."""

    def __init__(self, matches: Callable[[int], bool], cost: Cost, of_kind: ColumnTest | None = None) -> None:
        self._matches, self.cost, self._of_kind = matches, cost, of_kind

    def among(self, window: range, alive: int) -> int:
        if self._of_kind is not None:
            alive &= int.from_bytes(self._of_kind.mask(window), "little")
        matches, found = self._matches, bytearray(len(window))
        for row in compress(window, alive.to_bytes(len(window), "little")):
            if matches(row):
                found[row - window.start] = 1
        return int.from_bytes(found, "little")


def _path_plan(
    log: TrafficLog, values: Callable[[bytes], Iterable[JSON]], test: Predicate, of_kind: ColumnTest
) -> RowPlan:
    """Return a plan that tests values in messages; oversized bodies are not parsed."""
    read, kept = log.readable_raw, log.columns.kept

    def matches(row: int) -> bool:
        raw = read(row) if kept[row] <= MAX_SIZE else None
        return raw is not None and any(map(test, values(raw)))

    return RowPlan(matches, Cost.BODIES, of_kind)


class BodySearchPlan(Plan):
    """Evaluated by searching the bytes of bodies."""

    cost = Cost.BODIES

    def __init__(self, log: TrafficLog, needle: Needle) -> None:
        self._log, self._needle = log, needle

    def among(self, window: range, alive: int) -> int:
        return int.from_bytes(
            rows_with(self._log, self._needle, window, alive.to_bytes(len(window), "little")), "little"
        )


class AllOf(Plan):
    def __init__(self, plans: Sequence[Plan]) -> None:
        self._plans = sorted(plans, key=lambda plan: plan.cost)
        self.cost = self._plans[-1].cost

    def among(self, window: range, alive: int) -> int:
        for plan in self._plans:
            if not alive:
                break
            alive = plan.among(window, alive)
        return alive


class AnyOf(Plan):
    def __init__(self, plans: Sequence[Plan]) -> None:
        self._plans = sorted(plans, key=lambda plan: plan.cost)
        self.cost = self._plans[-1].cost

    def among(self, window: range, alive: int) -> int:
        undecided = alive
        for plan in self._plans:
            if not undecided:
                break
            undecided ^= plan.among(window, undecided)
        return alive ^ undecided


class NoneOf(Plan):
    def __init__(self, plan: Plan) -> None:
        self._plan, self.cost = plan, plan.cost

    def among(self, window: range, alive: int) -> int:
        return alive ^ self._plan.among(window, alive)


class Everything(Plan):
    cost = Cost.COLUMNS

    def among(self, window: range, alive: int) -> int:
        return alive
