"""Does one row match? Asked of the row itself, through the log's plain reads.

This is what a filter means. `matcher.py` finds the same rows much faster, column by column; the tests hold
it against this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from inspector.traffic.query.bodies import body_test, is_in_body
from inspector.traffic.query.comparing import Type
from inspector.traffic.query.fields import FIELDS
from inspector.traffic.query.needle import Needle, as_bytes
from inspector.traffic.query.reading import Source
from inspector.traffic.query.tree import And, Compare, Node, Not, Operator, Or, Text

RowTest: TypeAlias = Callable[[int], bool]


def row_test(node: Node, source: Source, now_ns: int) -> RowTest:
    """Return a test of rows.

    Raises ValueError if a value does not suit its field, which `parse` has already checked.
    """
    match node:
        case And(nodes):
            tests = [row_test(inner, source, now_ns) for inner in nodes]
            return lambda row: all(test(row) for test in tests)
        case Or(nodes):
            tests = [row_test(inner, source, now_ns) for inner in nodes]
            return lambda row: any(test(row) for test in tests)
        case Not(inner):
            test = row_test(inner, source, now_ns)
            return lambda row: not test(row)
        case Text(text):
            return _text_test(text, source)
        case Compare(path, Operator.IS_NOT, values):
            return row_test(Not(Compare(path, Operator.IS, values)), source, now_ns)
        case Compare():
            return _comparison(node, source, now_ns)


def _comparison(node: Compare, source: Source, now_ns: int) -> RowTest:
    field, steps = FIELDS[node.path.word], node.path.steps
    if field.type is Type.BODY:
        fits = body_test(node.operator, node.values)
        return lambda row: fits(source.log, row)
    test = field.test(node.operator, node.values, now_ns)
    return lambda row: any(test(value) for value in field.read(source, row, steps))


def _text_test(text: str, source: Source) -> RowTest:
    needle, log = Needle(text), source.log

    def is_found(row: int) -> bool:
        texts = (log.method(row), log.subject(row), log.problem(row))
        return any(needle.is_in(as_bytes(text)) for text in texts if text) or is_in_body(log, row, needle)

    return is_found
