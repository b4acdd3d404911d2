"""JSON values: types, parsing, serializing, exact numbers, tolerant access to members.

`parse` accepts what Python's decoder accepts, which is slightly more than JSON (NaN, Infinity); every
failure is a `JSONError`. It reads numbers as Python does, and integers that Python does not convert (5,000
digits) as `ExactNumber`, a float that remembers its spelling; `read_number` is always exact: an `int` or
`float` where that is exactly what was written, otherwise (0.1234567890123456789, 1e400, 1.10, -0) an
`ExactNumber`. In `text_of`, `object_of` and the
like, a member of the wrong type counts as absent. `quote_value` and `quote_names` format a server's
values for a message.
"""

from __future__ import annotations

import json
import math
import re
import sys
from array import array
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import Any, TypeAlias, TypeGuard, TypeVar

from inspector.base.plain_text import one_line

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
JSONObject: TypeAlias = "dict[str, JSON]"

_T = TypeVar("_T")
_MAX_NAMES = 3  # shown in a sentence
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_DEPTH = 900
_DECODER_LIMITS_DEPTH: bool = sys.version_info < (3, 12)
_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_STRING = re.compile(rb'"[^"]*"')
_NEVER_EXACT = frozenset((str, int, bool, type(None)))
_LEVELS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NOT_STRUCTURE = bytes(set(range(256)) - set(b'[]{}"'))
_decode = json.JSONDecoder().decode
_COMPACT = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))


def _make_encoder() -> Callable[[JSON], str]:
    """Return `_COMPACT.encode`, which makes a new C encoder for each value; CPython's can be kept.

    That halves the time for the size of most messages.
    """
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return _COMPACT.encode
    quote, separators = json.encoder.encode_basestring, (_COMPACT.key_separator, _COMPACT.item_separator)
    parts = make(None, _COMPACT.default, quote, None, *separators, False, False, True)
    return lambda value: "".join(parts(value, 0))


_encode = _make_encoder()


class JSONError(ValueError):
    """The text is not JSON, or is nested too deeply; the message says where."""

    is_too_deep = False


def parse(text: str, *, exact: bool = False) -> JSON:
    """Parse one JSON value; if `exact`, numbers keep their spelling. Raises JSONError for anything else."""
    try:
        check_depth(text)
        try:
            value: JSON = _decode_exactly(text) if exact else _decode(text)
        except json.JSONDecodeError:
            raise
        except ValueError:  # an integer with more digits than Python converts
            value = _decode_long_integers(text)
    except json.JSONDecodeError as exc:
        raise JSONError(f"{exc.msg} at line {exc.lineno}, column {exc.colno}") from exc
    except RecursionError as exc:
        error = JSONError("nested too deeply to parse")
        error.is_too_deep = True
        raise error from exc
    return value


def check_depth(text: str) -> None:
    """Raise RecursionError if a JSON text is nested more than 900 levels deep.

    Python 3.11's decoder does that by itself, at about 1,000 levels. Newer ones parse deeper values, which
    other code could not handle. Nearly every text has too few brackets to be that deep.
    """
    if _DECODER_LIMITS_DEPTH or len(text) < 2 * _MAX_DEPTH:
        return
    if text.count("[") + text.count("{") <= _MAX_DEPTH:
        return
    raw = text.encode("utf-8", "surrogatepass")
    structure = (_ESCAPE.sub(b"", raw) if b"\\" in raw else raw).translate(None, _NOT_STRUCTURE)
    levels = array("b", _STRING.sub(b"", structure).translate(_LEVELS, b'"'))
    if max(accumulate(levels), default=0) > _MAX_DEPTH:
        raise RecursionError


def compact(value: JSON) -> str:
    """Serialize a value to one line, as it is sent."""
    return _encode(value)


def pretty(value: JSON) -> str:
    """Serialize a value for display: indented, keys in their original order."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def to_wire(value: JSON) -> bytes:
    """Serialize a value as UTF-8 bytes, with numbers spelled as they were written.

    A lone surrogate, which UTF-8 cannot encode, is written as an escape. Raises JSONError if nested too
    deeply.
    """
    try:
        text = _write_exactly(value) if _holds_exact_number(value) else _encode(value)
    except RecursionError as exc:
        raise JSONError("nested too deeply to serialize") from exc
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode()


def _holds_exact_number(value: JSON) -> bool:
    if not isinstance(value, dict | list):
        return isinstance(value, ExactNumber)
    # An inline loop, without a call per string: this visits every value of every message sent.
    for child in value.values() if type(value) is dict else value:
        if type(child) not in _NEVER_EXACT and _holds_exact_number(child):
            return True
    return False


def _write_exactly(value: JSON) -> str:
    if isinstance(value, dict):
        members = (f"{_encode(name)}:{_write_exactly(child)}" for name, child in value.items())
        return f"{{{','.join(members)}}}"
    if isinstance(value, list):
        return f"[{','.join(_write_exactly(child) for child in value)}]"
    return write_number(value) if isinstance(value, ExactNumber) else _encode(value)


def shorten(text: str, limit: int = 120) -> str:
    """Shorten a text to one line of display."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def excerpt(value: JSON, limit: int = 60) -> str:
    """Return a value as one line of display: a string unchanged, anything else as JSON."""
    try:
        return shorten(value if isinstance(value, str) else compact(value), limit)
    except RecursionError:  # parsing it needed less stack than writing it does
        return "…"


# RFC 8259, section 6: no leading zeros, no plus sign, no bare decimal point.
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?P<rest>(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
_MAX_INT_DIGITS = 4300  # Python's default limit for converting text to an int


class ExactNumber(float):
    """A JSON number together with its original spelling.

    Its float value is the nearest one (infinity for 1e400). Write it with `write_number` or
    `to_wire`, never with `json.dumps`, which only sees the float.
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
    if not match["rest"] and len(text) <= _MAX_INT_DIGITS and text != "-0":
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


def exact_decoder(**hooks: Any) -> json.JSONDecoder:
    """Return a decoder that keeps the spelling of numbers; `hooks` are those of `json.JSONDecoder`."""
    return json.JSONDecoder(parse_int=read_number, parse_float=read_number, **hooks)


_decode_long_integers = json.JSONDecoder(parse_int=read_number).decode
_decode_exactly = exact_decoder().decode
_FRACTION = re.compile(rb"[0-9][.eE][0-9+-]")


def has_fraction(raw: bytes) -> bool:
    """True if a JSON text may hold a number with a fraction or an exponent."""
    return _FRACTION.search(raw) is not None


def text_of(source: JSONObject, name: str) -> str:
    value = source.get(name)
    return value if isinstance(value, str) else ""


def object_of(source: JSONObject, name: str) -> JSONObject | None:
    value = source.get(name)
    return value if isinstance(value, dict) else None


def number_of(source: JSONObject, name: str) -> int | float | None:
    value = source.get(name)
    return value if is_number(value) else None


def strings_of(source: JSONObject, name: str) -> tuple[str, ...]:
    """Return the strings in a list; other items are ignored."""
    value = source.get(name)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def member_of(value: JSONObject, path: str, default: _T) -> JSON | _T:
    """Return the member at a path like `network.proxy`, or the default."""
    outer, dot, inner = path.partition(".")
    if not dot:
        return value.get(path, default)
    holder = value.get(outer)
    return member_of(holder, inner, default) if isinstance(holder, dict) else default


def with_member(value: JSONObject, path: str, content: JSON) -> JSONObject:
    """Return the object with the member at a path set."""
    outer, dot, inner = path.partition(".")
    if dot:
        holder = value.get(outer)
        content = with_member(holder if isinstance(holder, dict) else {}, inner, content)
    return {**value, outer: content}


def without_member(value: JSONObject, path: str) -> JSONObject:
    """Return the object without the member at a path; an object left empty by that is removed too."""
    outer, dot, inner = path.partition(".")
    holder = value.get(outer)
    if dot and isinstance(holder, dict) and (rest := without_member(holder, inner)):
        return {**value, outer: rest}
    return {name: content for name, content in value.items() if name != outer}


def is_number(value: JSON) -> TypeGuard[int | float]:
    """True for numbers, but not for bool, which is an int in Python."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def quote_value(value: JSON) -> str:
    """Return a server's value for a sentence: on one line, short, in quotes."""
    return f"“{one_line(excerpt(value, 40))}”"


def quote_names(names: Iterable[str]) -> str:
    """Return names for a sentence: the first few, and how many more there are."""
    listed = list(names)
    first = ", ".join(map(quote_value, listed[:_MAX_NAMES]))
    rest = len(listed) - _MAX_NAMES
    return f"{first} and {rest:,} more" if rest > 0 else first
