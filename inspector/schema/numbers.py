"""What JSON Schema asks of numbers, answered exactly: with decimals, not with floats."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from inspector.base.numbers import write_number


def as_decimal(number: int | float) -> Decimal:
    """Return the number as a Decimal: exact, except for exponents beyond Decimal's range."""
    try:
        return Decimal(write_number(number))
    except InvalidOperation:
        return Decimal(float(number))


def is_whole(number: int | float) -> bool:
    """True if the fraction is zero, JSON Schema's definition of an integer: 1.0 and 1e3 are."""
    if isinstance(number, int):
        return True
    exact = as_decimal(number)
    return not exact.is_finite() or exact == exact.to_integral_value()


def is_multiple(number: int | float, of: int | float) -> bool:
    """True if `number` is a multiple of `of`; also where decimals cannot tell."""
    try:
        return as_decimal(number) % as_decimal(of) == 0
    except (InvalidOperation, ZeroDivisionError):
        return True
