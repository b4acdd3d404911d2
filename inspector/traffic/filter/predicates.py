"""Value types of the filter language, their operators, and the tests of single values.

Every test takes an operator and the values as typed, and raises ValueError with a sentence if they are
invalid. How the values of a row are found is not handled here (`row_values.py`). Nor is `!=`: it is `not`
of `=` (see `matcher.py`), so that a row without a value differs from every value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from enum import Enum
from typing import TypeAlias

from inspector.base.json.values import JSON, compact, write_number
from inspector.protocol.revisions import REVISIONS, find_revision
from inspector.traffic.filter.literals import (
    Ago,
    TimeOfDay,
    glob,
    read_amount,
    read_duration,
    read_number,
    read_size,
    read_time,
    regular_expression,
    searches,
    time_of_day_ns,
)
from inspector.traffic.filter.tree import ORDER, Operator

Number: TypeAlias = int | float
TextPredicate: TypeAlias = Callable[[str], bool]
NumberPredicate: TypeAlias = Callable[[Number], bool]
Predicate: TypeAlias = Callable[[JSON], bool]
Comparison: TypeAlias = Callable[[Number, Number], bool]


class Type(Enum):
    """Type of the values of a field; the enum value is its name in the manual."""

    TEXT = "text"
    CHOICE = "one of its values"
    NUMBER = "number"
    ID = "ID"
    DURATION = "duration"
    SIZE = "size"
    TIME = "time"
    REVISION = "protocol version"
    JSON = "any value"
    BODY = "literal text"


_ALL = frozenset(Operator)
_TEXT_OPERATORS = _ALL - ORDER
_AMOUNTS = _ALL - {Operator.MATCHES}
OPERATORS: dict[Type, frozenset[Operator]] = {
    Type.TEXT: _TEXT_OPERATORS,
    Type.CHOICE: _TEXT_OPERATORS,
    Type.NUMBER: _ALL,
    Type.ID: _ALL,
    Type.DURATION: _AMOUNTS,
    Type.SIZE: _AMOUNTS,
    Type.TIME: _AMOUNTS,
    Type.REVISION: _ALL,
    Type.JSON: _ALL,
    Type.BODY: _TEXT_OPERATORS,
}

COMPARISONS: dict[Operator, Comparison] = {
    Operator.CONTAINS: operator.eq,
    Operator.IS: operator.eq,
    Operator.IN: operator.eq,
    Operator.ABOVE: operator.gt,
    Operator.BELOW: operator.lt,
    Operator.AT_LEAST: operator.ge,
    Operator.AT_MOST: operator.le,
}

_TEXT_COMPARISONS: dict[Operator, Callable[[str, str], bool]] = {
    Operator.ABOVE: operator.gt,
    Operator.BELOW: operator.lt,
    Operator.AT_LEAST: operator.ge,
    Operator.AT_MOST: operator.le,
}


def value_predicate(
    type: Type, operator: Operator, values: Sequence[str], choices: Sequence[str] = (), now_ns: int = 0
) -> Predicate:
    """Return the test of one value.

    Raises ValueError, with a sentence, if the operands are unsuitable.
    """
    return _TESTS[type](choices, operator, values, now_ns)


def _test_text(choices: Sequence[str], operator: Operator, values: Sequence[str], now_ns: int) -> Predicate:
    return _for_strings(text_predicate(operator, values))


def _test_choice(choices: Sequence[str], operator: Operator, values: Sequence[str], now_ns: int) -> Predicate:
    test = choice_predicate(operator, values)
    for value in values:
        if not any(map(choice_predicate(operator, (value,)), choices)):
            raise ValueError(f"No choice matches {value}: expected one of {', '.join(choices)}.")
    return _for_strings(test)


def _test_number(choices: Sequence[str], operator: Operator, values: Sequence[str], now_ns: int) -> Predicate:
    return _for_numbers(number_predicate(operator, values))


def _test_duration(
    choices: Sequence[str], operator: Operator, values: Sequence[str], now_ns: int
) -> Predicate:
    return _for_numbers(amount_predicate(operator, values, read_duration))


def _test_size(choices: Sequence[str], operator: Operator, values: Sequence[str], now_ns: int) -> Predicate:
    return _for_numbers(amount_predicate(operator, values, read_size))


def _test_time(choices: Sequence[str], operator: Operator, values: Sequence[str], now_ns: int) -> Predicate:
    test = time_predicate(operator, values, now_ns)
    return lambda value: isinstance(value, int) and test(value)


def _test_id(choices: Sequence[str], operator: Operator, values: Sequence[str], now_ns: int) -> Predicate:
    return id_predicate(operator, values)


def _test_revision(
    choices: Sequence[str], operator: Operator, values: Sequence[str], now_ns: int
) -> Predicate:
    return _for_strings(revision_predicate(operator, values))


def _test_json(choices: Sequence[str], operator: Operator, values: Sequence[str], now_ns: int) -> Predicate:
    return json_predicate(operator, values)


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


def _for_strings(test: TextPredicate) -> Predicate:
    return lambda value: isinstance(value, str) and test(value)


def _for_numbers(test: NumberPredicate) -> Predicate:
    return lambda value: isinstance(value, int | float) and not isinstance(value, bool) and test(value)


def text_predicate(kind: Operator, values: Sequence[str]) -> TextPredicate:
    """Test text.

    `:` contains (or globs, with `*`), ignoring case; `=` and `in` match exactly; `~` searches.
    """
    if kind is Operator.MATCHES:
        pattern = regular_expression(values[0])
        return lambda text: searches(pattern, text)
    if kind is Operator.CONTAINS:
        return _contains(values[0])
    return frozenset(values).__contains__


def _contains(value: str) -> TextPredicate:
    if "*" in value:
        fullmatch = glob(value).fullmatch
        return lambda text: fullmatch(text.casefold()) is not None
    folded = value.casefold()
    return lambda text: folded in text.casefold()


def choice_predicate(kind: Operator, values: Sequence[str]) -> TextPredicate:
    """Test a fixed word: like text, but always case-insensitive."""
    if kind in (Operator.IS, Operator.IN):
        return frozenset(value.casefold() for value in values).__contains__
    return text_predicate(kind, values)


def number_predicate(kind: Operator, values: Sequence[str]) -> NumberPredicate:
    """Test a number: `:` is `=`, or globs its digits, with `*`; `~` searches its digits."""
    if kind is Operator.MATCHES or (kind is Operator.CONTAINS and "*" in values[0]):
        test = text_predicate(kind, values)
        return lambda number: test(write_number(number))
    return amount_predicate(kind, values, read_number)


def amount_predicate(kind: Operator, values: Sequence[str], read: Callable[[str], Number]) -> NumberPredicate:
    """Test a number with a unit, which `read` parses."""
    compares, wanted = COMPARISONS[kind], [read(value) for value in values]
    return lambda number: any(compares(number, limit) for limit in wanted)


def id_predicate(kind: Operator, values: Sequence[str]) -> Predicate:
    """Test an id: compared as text, so 7 and "7" are equal; ordered as integers."""
    if kind in ORDER:
        in_order = number_predicate(kind, values)
        return lambda id: isinstance(id, int) and in_order(id)
    test = text_predicate(Operator.IS if kind is Operator.CONTAINS and "*" not in values[0] else kind, values)
    return lambda id: test(_text_of(id))


def revision_predicate(kind: Operator, values: Sequence[str]) -> TextPredicate:
    """Test a version by order of publication; unknown ones are neither before nor after others."""
    if kind not in ORDER:
        return text_predicate(kind, values)
    limit = find_revision(values[0])
    if limit is None:
        raise ValueError(f"Expected a protocol version: {', '.join(map(str, REVISIONS))}.")
    compares, position = COMPARISONS[kind], REVISIONS.index(limit)
    wanted = {revision.date for revision in REVISIONS if compares(REVISIONS.index(revision), position)}
    return wanted.__contains__


def time_predicate(kind: Operator, values: Sequence[str], now_ns: int) -> Callable[[int], bool]:
    """Test a wall time.

    When ordered, a time is its first instant; `:` and `=` match all instants that are written the same.
    """
    tests = [_single_time_predicate(kind, value, now_ns) for value in values]
    return tests[0] if len(tests) == 1 else lambda wall_ns: any(test(wall_ns) for test in tests)


def _single_time_predicate(kind: Operator, value: str, now_ns: int) -> Callable[[int], bool]:
    when = read_time(value)
    if isinstance(when, Ago):
        if kind not in ORDER:
            raise ValueError(f"{value} is a single moment: compare it with > or <.")
        when_start, when_end = now_ns - when.distance, now_ns - when.distance
    else:
        when_start, when_end = when.start, when.end
    if kind in ORDER:
        compares = COMPARISONS[kind]
        if isinstance(when, TimeOfDay):
            return lambda wall_ns: compares(time_of_day_ns(wall_ns), when_start)
        return lambda wall_ns: compares(wall_ns, when_start)
    if isinstance(when, TimeOfDay):
        return lambda wall_ns: when_start <= time_of_day_ns(wall_ns) < when_end
    return lambda wall_ns: when_start <= wall_ns < when_end


def json_predicate(kind: Operator, values: Sequence[str]) -> Predicate:
    """Test JSON: strings as text, numbers as numbers, arrays and objects as their JSON text."""
    if kind in ORDER:
        return _json_in_order(kind, values[0])
    test = text_predicate(kind, values)
    if kind is Operator.MATCHES or (kind is Operator.CONTAINS and "*" in values[0]):
        return lambda value: test(_text_of(value))
    wanted = [number for number in map(read_amount, values) if number is not None]
    exactly = frozenset(values)

    def matches(value: JSON) -> bool:
        if isinstance(value, bool) or value is None:
            return _text_of(value) in exactly
        if isinstance(value, int | float):
            return value in wanted or _text_of(value) in exactly  # NaN and Infinity are no numbers to type
        return test(_text_of(value))

    return matches


def _json_in_order(kind: Operator, text: str) -> Predicate:
    compares, limit = COMPARISONS[kind], read_amount(text)
    if limit is None:
        return lambda value: isinstance(value, str) and _TEXT_COMPARISONS[kind](value, text)
    return lambda value: (
        isinstance(value, int | float) and not isinstance(value, bool) and compares(value, limit)
    )


def _text_of(value: JSON) -> str:
    """Return a string as is, anything else as JSON; "" if it is nested too deeply to write."""
    if isinstance(value, str):
        return value
    try:
        return compact(value)
    except (RecursionError, ValueError):
        return ""
