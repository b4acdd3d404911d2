"""Masks, one byte a row, and the spans of numbers that they are made from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from inspector.traffic.query.predicates import Number
from inspector.traffic.query.tree import Operator

Span: TypeAlias = tuple[Number, Number]  # both ends belong to it


def spans(operator: Operator, values: Sequence[Number]) -> list[Span]:
    """The whole numbers that fit."""
    return [span(operator, value, value) for value in values]


def span(operator: Operator, first: Number, last: Number) -> Span:
    """`first` and `last` are the same but for a time that goes on for a while."""
    match operator:
        case Operator.ABOVE:
            return (_floor(first) + 1, math.inf)
        case Operator.AT_LEAST:
            return (-_floor(-first), math.inf)
        case Operator.BELOW:
            return (-math.inf, -_floor(-first) - 1)
        case Operator.AT_MOST:
            return (-math.inf, _floor(first))
    return (first, last)


def _floor(number: Number) -> Number:
    return math.floor(number) if math.isfinite(number) else number


def within(values: Sequence[int], low: Number, high: Number) -> bytes:
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
