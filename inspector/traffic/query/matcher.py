"""A filter made ready for one log: which rows match, a window at a time."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from itertools import compress

from inspector.traffic.log import TrafficLog
from inspector.traffic.query.bodies import body_test
from inspector.traffic.query.comparing import Type
from inspector.traffic.query.fields import FIELDS, Coded, Counted, Field, Named, Row, Special, Worded
from inspector.traffic.query.jsonpaths import ROOTS, hint, message_reader
from inspector.traffic.query.leaves import (
    CodedLeaf,
    CountedLeaf,
    HttpStatusLeaf,
    IdLeaf,
    Leaf,
    NamedLeaf,
    Numbers,
    RemarkLeaf,
    TimeLeaf,
    Vocabulary,
    WordedLeaf,
)
from inspector.traffic.query.masks import spans
from inspector.traffic.query.naive import row_test
from inspector.traffic.query.needle import Needle, as_bytes
from inspector.traffic.query.plans import (
    AllOf,
    AnyOf,
    Cost,
    Everything,
    Lookup,
    NoneOf,
    Plan,
    Reading,
    Searching,
    path_reading,
)
from inspector.traffic.query.predicates import Number, OfJSON
from inspector.traffic.query.reading import Finding, Source, no_findings
from inspector.traffic.query.tree import ORDER, And, Compare, Node, Not, Operator, Or, Text
from inspector.traffic.query.values import read_duration, read_number, read_size


class Matcher:
    """A filter compiled for one log.

    Words and rows that are added later are seen by the next call.
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
        everybody = int.from_bytes(b"\1" * len(numbers), "little")
        found = self._plan.among(numbers, everybody)
        return array("q", compress(numbers, found.to_bytes(len(numbers), "little")) if found else ())


def compile(node: Node | None, log: TrafficLog, *, now_ns: int, finding: Finding = no_findings) -> Matcher:
    """Compile a filter; None matches every row.

    `now_ns` is the wall time that relative times count from. `finding` returns the names and texts of the
    findings about a row.
    """
    source = Source(log, finding)
    if node is None:
        return Matcher(Everything(), lambda row: True)
    return Matcher(_plan(node, source, now_ns), row_test(node, source, now_ns))


def _plan(node: Node, source: Source, now_ns: int) -> Plan:
    match node:
        case And(nodes):
            return AllOf([_plan(inner, source, now_ns) for inner in nodes])
        case Or(nodes):
            return AnyOf([_plan(inner, source, now_ns) for inner in nodes])
        case Not(inner):
            return NoneOf(_plan(inner, source, now_ns))
        case Text(text):
            return _free_text(text, source.log)
        case Compare(path, Operator.IS_NOT, values):
            return NoneOf(_plan(Compare(path, Operator.IS, values), source, now_ns))
        case Compare():
            return _comparison(node, source, now_ns)


def _free_text(text: str, log: TrafficLog) -> Plan:
    needle = Needle(text)
    vocabulary = Vocabulary(log, lambda word: needle.is_in(as_bytes(word)))
    columns = [WordedLeaf(Worded(name), log, vocabulary) for name in ("method", "subject", "problem")]
    return AnyOf([*map(Lookup, columns), Searching(log, needle)])


def _comparison(node: Compare, source: Source, now_ns: int) -> Plan:
    field = FIELDS[node.path.word]
    if field.type is Type.BODY:
        return _body_comparison(node, source.log)
    test = field.test(node.operator, node.values, now_ns)
    if isinstance(field.where, Row):
        return _reading(node, field, field.where, source, test)
    return Lookup(_leaf(node, field, source, test, now_ns))


def _body_comparison(node: Compare, log: TrafficLog) -> Plan:
    if node.operator is Operator.FITS:
        return Searching(log, Needle(node.value))
    fits = body_test(node.operator, node.values)
    return Reading(lambda row: fits(log, row), Cost.BODIES)


def _reading(node: Compare, field: Field, where: Row, source: Source, test: OfJSON) -> Plan:
    steps, read = node.path.steps, field.read
    if where.kinds is None:
        return Reading(lambda row: any(map(test, read(source, row, steps))), Cost.ROWS)
    kinds = where.kinds
    of_kind = CodedLeaf(
        Coded("kind", lambda log, code: ("",) if code in kinds else ()), source.log, lambda _: True
    )
    if field.word in ROOTS:
        values = message_reader(ROOTS[field.word] + steps, hint(node.operator, node.value))
        return path_reading(source.log, values, test, of_kind)
    return Reading(lambda row: any(map(test, read(source, row, steps))), Cost.BODIES, of_kind)


def _leaf(node: Compare, field: Field, source: Source, test: OfJSON, now_ns: int) -> Leaf:
    log = source.log
    match field.where:
        case Coded() as where:
            return CodedLeaf(where, log, test)
        case Worded() as where:
            return WordedLeaf(where, log, Vocabulary(log, test))
        case Named():
            return NamedLeaf(log, test)
        case Counted() as where:
            return CountedLeaf(where, log, _numbers(node, field, test))
        case Special.NUMBER:
            return CountedLeaf(None, log, _numbers(node, field, test))
        case Special.HTTP_STATUS:
            return HttpStatusLeaf(log, _numbers(node, field, test))
        case Special.ID:
            return IdLeaf(log, _numbers(node, field, test), test)
        case Special.TIME:
            return TimeLeaf(log, node.operator, node.values, now_ns)
        case Special.REMARK:
            return RemarkLeaf(source, field.read, test)
    raise AssertionError(field.where)


_READERS: dict[Type, Callable[[str], Number]] = {
    Type.DURATION: read_duration,
    Type.SIZE: read_size,
    Type.NUMBER: read_number,
    Type.ID: read_number,
}


def _numbers(node: Compare, field: Field, test: OfJSON) -> Numbers:
    """Return a numeric comparison.

    Only patterns have no spans; they are evaluated for each distinct number.
    """
    is_pattern = node.operator is Operator.LIKE or (node.operator is Operator.FITS and "*" in node.value)
    if is_pattern:
        return Numbers(None, test)
    read, values = _READERS[field.type], node.values
    if field.type is Type.ID and node.operator not in ORDER:
        values = tuple(value for value in values if _is_written_like_an_integer(value))
    return Numbers(spans(node.operator, list(map(read, values))), test)


def _is_written_like_an_integer(text: str) -> bool:
    """True for canonical integers. Ids are compared as text: 007 is not the integer 7."""
    return re.fullmatch("0|-?[1-9][0-9]{0,18}", text) is not None
