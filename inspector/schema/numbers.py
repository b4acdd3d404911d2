"""What JSON Schema asks of numbers, answered exactly: with decimals, not with floats."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from inspector.base.numbers import write_number


def as_decimal(number: int | float) -> Decimal:
    """The number for comparing: exact, except for exponents beyond what decimals hold."""
    try:
        return Decimal(write_number(number))
    except InvalidOperation:
        return Decimal(float(number))


def is_whole(number: int | float) -> bool:
    """Whether the fraction is zero, as JSON Schema defines an integer: 1.0 and 1e3 are."""
    if isinstance(number, int):
        return True
    exact = as_decimal(number)
    return not exact.is_finite() or exact == exact.to_integral_value()


def is_multiple(number: int | float, of: int | float) -> bool:
    """Whether `number` is `of` times something whole; true where decimals cannot tell."""
    try:
        return as_decimal(number) % as_decimal(of) == 0
    except (InvalidOperation, ZeroDivisionError):
        return True
