"""The types of values that words are compared with: which operators each takes, and what a comparison
asks of a value of a row."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from inspector.traffic.query import predicates
from inspector.traffic.query.predicates import OfJSON
from inspector.traffic.query.tree import ORDER, Operator
from inspector.traffic.query.values import read_duration, read_size


class Type(Enum):
    """Type of the values of a field; the enum value is its name in the manual."""

    TEXT = "text"
    CHOICE = "one of its values"
    NUMBER = "number"
    ID = "id"
    DURATION = "duration"
    SIZE = "size"
    TIME = "time"
    REVISION = "revision"
    JSON = "any value"
    BODY = "text, found as it is"


_ALL = frozenset(Operator)
_WORDS = _ALL - ORDER
_AMOUNTS = _ALL - {Operator.LIKE}
OPERATORS: dict[Type, frozenset[Operator]] = {
    Type.TEXT: _WORDS,
    Type.CHOICE: _WORDS,
    Type.NUMBER: _ALL,
    Type.ID: _ALL,
    Type.DURATION: _AMOUNTS,
    Type.SIZE: _AMOUNTS,
    Type.TIME: _AMOUNTS,
    Type.REVISION: _ALL,
    Type.JSON: _ALL,
    Type.BODY: _WORDS,
}


def value_test(
    type: Type, operator: Operator, values: Sequence[str], choices: Sequence[str] = (), now_ns: int = 0
) -> OfJSON:
    """Return the test of one value.

    Raises ValueError, with a sentence, if the operands are unsuitable.
    """
    return _TESTS[type](choices, operator, values, now_ns)


def _test_text(choices: Sequence[str], operator: Operator, values: Sequence[str], now_ns: int) -> OfJSON:
    return _of_strings(predicates.of_text(operator, values))


def _test_choice(choices: Sequence[str], operator: Operator, values: Sequence[str], now_ns: int) -> OfJSON:
    test = predicates.of_choice(operator, values)
    for value in values:
        if not any(map(predicates.of_choice(operator, (value,)), choices)):
            raise ValueError(f"Nothing fits {value}: expected one of {', '.join(choices)}.")
    return _of_strings(test)


def _test_number(choices: Sequence[str], operator: Operator, values: Sequence[str], now_ns: int) -> OfJSON:
    return _of_numbers(predicates.of_number(operator, values))


def _test_duration(choices: Sequence[str], operator: Operator, values: Sequence[str], now_ns: int) -> OfJSON:
    return _of_numbers(predicates.of_amount(operator, values, read_duration))


def _test_size(choices: Sequence[str], operator: Operator, values: Sequence[str], now_ns: int) -> OfJSON:
    return _of_numbers(predicates.of_amount(operator, values, read_size))


def _test_time(choices: Sequence[str], operator: Operator, values: Sequence[str], now_ns: int) -> OfJSON:
    test = predicates.of_time(operator, values, now_ns)
    return lambda value: isinstance(value, int) and test(value)


def _test_id(choices: Sequence[str], operator: Operator, values: Sequence[str], now_ns: int) -> OfJSON:
    return predicates.of_id(operator, values)


def _test_revision(choices: Sequence[str], operator: Operator, values: Sequence[str], now_ns: int) -> OfJSON:
    return _of_strings(predicates.of_revision(operator, values))


def _test_json(choices: Sequence[str], operator: Operator, values: Sequence[str], now_ns: int) -> OfJSON:
    return predicates.of_json(operator, values)


_TESTS = {
    Type.TEXT: _test_text,
    Type.CHOICE: _test_choice,
    Type.NUMBER: _test_number,
    Type.ID: _test_id,
    Type.DURATION: _test_duration,
    Type.SIZE: _test_size,
    Type.TIME: _test_time,
    Type.REVISION: _test_revision,
    Type.JSON: _test_json,
    Type.BODY: _test_text,
}


def _of_strings(test: predicates.OfText) -> OfJSON:
    return lambda value: isinstance(value, str) and test(value)


def _of_numbers(test: predicates.OfNumber) -> OfJSON:
    return lambda value: isinstance(value, int | float) and not isinstance(value, bool) and test(value)
