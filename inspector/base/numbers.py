"""JSON numbers without damage.

A number is kept as an `int` or a `float` where that says exactly what was written. Where it does not
(0.1234567890123456789, 1e400, 1.10, -0, an integer of 5,000 digits) it becomes an `ExactNumber`: a float
for whoever computes with it, and the text as written for whoever sends or shows it.
"""

from __future__ import annotations

import math
import re

# RFC 8259, section 6: no leading zeros, no plus sign, no bare decimal point.
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?P<rest>(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
_MOST_INT_DIGITS = 4300  # Python's default limit for converting text to an int


class ExactNumber(float):
    """A JSON number together with its original spelling.

    Its float value is the nearest one (infinity for 1e400). Write it with `write_number` or
    `jsonvalue.to_wire`, never with `json.dumps`, which only sees the float.
    """

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> ExactNumber:
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __getnewargs__(self) -> tuple[str]:  # type: ignore[override]  # so that copies keep the text
        return (self.text,)

    def __repr__(self) -> str:
        return f"ExactNumber({self.text!r})"


def read_number(text: str) -> int | float | None:
    """Parse a JSON number; return None if the text is not one."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    if not match["rest"] and len(text) <= _MOST_INT_DIGITS and text != "-0":
        return int(text)
    number = float(text)
    return number if repr(number) == text else ExactNumber(text)


def write_number(number: int | float) -> str:
    """Return the JSON text of a number, with its original spelling if known."""
    if isinstance(number, ExactNumber):
        return number.text
    if isinstance(number, float):
        return repr(number) if math.isfinite(number) else str(number).replace("nan", "NaN")
    try:
        return str(number)
    except ValueError:  # more digits than Python converts; decimal has no such limit
        from decimal import Decimal

        return str(Decimal(number))
