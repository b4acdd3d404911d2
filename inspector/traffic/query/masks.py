"""Masks, one byte a row, and the spans of numbers that they are made from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from inspector.traffic.query.predicates import Number
from inspector.traffic.query.tree import Operator

Span: TypeAlias = tuple[int, int]  # both ends inclusive; empty if they are crossed
LOWEST, HIGHEST = -(2**63), 2**63 - 1  # range of a column's values


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
