"""JSON Schema primitives: tolerant keyword access, equality, exact numbers, safe patterns.

A keyword of the wrong type counts as missing. Numbers are compared as decimals, not floats. Patterns come
from the server, so they run in the linear-time engine of jsonschema-rs; those that it cannot run
(look-ahead, look-behind) run in its backtracking engine with a step limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import TYPE_CHECKING

from inspector.base.json.text import same
from inspector.base.json.values import JSON, ExactNumber, JSONObject, write_number

if TYPE_CHECKING:
    import jsonschema_rs


_KEYWORDS_BY_TYPE = (
    ("object", ("required", "patternProperties", "additionalProperties", "unevaluatedProperties",
                "propertyNames", "minProperties", "maxProperties")),
    ("array", ("minItems", "maxItems", "uniqueItems", "contains", "unevaluatedItems")),
    ("string", ("pattern", "format", "minLength", "maxLength", "contentEncoding", "contentMediaType")),
    ("number", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
)  # fmt: skip
_MAX_STEPS = 100_000
_MAX_TEXT_LENGTH = 10_000
_MAX_SIZE = 1 << 20  # bytes of a compiled pattern


def equal(one: object, other: JSON) -> bool:
    """True if JSON Schema considers two values equal.

    1 and 1.0 are equal, 1 and true are not; key order does not matter.
    """
    try:
        return _equal(one, other)
    except RecursionError:  # both nested hundreds deep: only identical text counts as equal
        return same(one, other)  # type: ignore[arg-type]  # what is compared to a choice is JSON


def _equal(one: object, other: JSON) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(part, other[name]) for name, part in one.items())
    if isinstance(one, ExactNumber) and isinstance(other, int | float):
        return as_decimal(one) == as_decimal(other)
    if isinstance(other, ExactNumber) and isinstance(one, int | float):
        return as_decimal(one) == as_decimal(other)
    return one == other


def text(schema: JSONObject, key: str, limit: int = 4000) -> str:
    """Return a string, cut at a readable length; "" if it is not a string."""
    value = schema.get(key)
    if not isinstance(value, str):
        return ""
    return value if len(value) <= limit else f"{value[:limit]}…"


def number(schema: JSONObject, key: str) -> int | float | None:
    """Return a number; None for booleans, such as draft-04's `exclusiveMinimum: true`."""
    value = schema.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    is_json = isinstance(value, ExactNumber) or math.isfinite(value)
    return value if is_json and as_decimal(value).is_finite() else None


def is_json(value: JSON) -> bool:
    """True if a value holds no NaN or Infinity, which Python reads but JSON does not have."""
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, dict | list):
            pending.extend(part.values() if isinstance(part, dict) else part)
        elif isinstance(part, float) and not isinstance(part, ExactNumber) and not math.isfinite(part):
            return False
    return True


def count(schema: JSONObject, key: str) -> int | None:
    """Return a non-negative integer, or None."""
    value = number(schema, key)
    return value if isinstance(value, int) and value >= 0 else None


def schemas(schema: JSONObject, key: str) -> list[JSON]:
    """Return a list of schemas, as in `anyOf`."""
    value = schema.get(key)
    return value if isinstance(value, list) else []


def named(schema: JSONObject, key: str) -> JSONObject:
    """Return schemas by name, as in `properties`."""
    value = schema.get(key)
    return value if isinstance(value, dict) else {}


def names(schema: JSONObject, key: str) -> frozenset[str]:
    """Return a list of names, as in `required`."""
    return frozenset(name for name in schemas(schema, key) if isinstance(name, str))


def types(schema: JSONObject) -> tuple[str, ...]:
    """Return the names in `type`, a string or a list; inferred from other keywords if missing."""
    value = schema.get("type")
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list):
        return tuple(name for name in value if isinstance(name, str))
    if "properties" in schema:
        return ("object",)
    return ("array",) if "items" in schema or "prefixItems" in schema else ()


def implied_types(schema: JSONObject) -> tuple[str, ...]:
    """Like `types`, but also inferred from keywords for a single type, such as `minLength`."""
    if found := types(schema):
        return found
    implied = tuple(name for name, keys in _KEYWORDS_BY_TYPE if any(key in schema for key in keys))
    return implied if len(implied) == 1 else ()


def is_never(schema: JSON) -> bool:
    """True if a schema allows no value at all, in any of its spellings."""
    return schema is False or (isinstance(schema, dict) and schema.get("not") in ({}, True))


def present(schema: JSONObject, keys: Iterable[str]) -> list[str]:
    """Return those of the keys that the schema has."""
    return [key for key in keys if key in schema]


def kind_of(value: JSON) -> str:
    """Name a value's type, for "expected …, got …"."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
    return "an object"


def as_decimal(number: int | float) -> Decimal:
    """Return the number as a Decimal: exact, except for exponents beyond Decimal's range."""
    try:
        return Decimal(write_number(number))
    except InvalidOperation:
        return Decimal(float(number))


def is_integer(number: int | float) -> bool:
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


def regex_engines() -> tuple[jsonschema_rs.RegexOptions, jsonschema_rs.FancyRegexOptions]:
    """Return the regex options: linear time, and bounded backtracking for what that cannot run."""
    import jsonschema_rs  # 15 MB, and few forms have patterns for their keys

    linear = jsonschema_rs.RegexOptions(size_limit=_MAX_SIZE, dfa_size_limit=_MAX_SIZE)
    bounded = jsonschema_rs.FancyRegexOptions(
        backtrack_limit=_MAX_STEPS, size_limit=_MAX_SIZE, dfa_size_limit=_MAX_SIZE
    )
    return linear, bounded


def matches(pattern: str, text: str) -> bool:
    """True if the pattern occurs in the text, as in JSON Schema; also if that cannot be decided."""
    return try_match(pattern, text) is not False


def try_match(pattern: str, text: str) -> bool | None:
    """Return whether the pattern occurs in the text; None if that cannot be decided."""
    validator = _validator(pattern)
    if validator is None or len(text) > _MAX_TEXT_LENGTH:
        return None
    try:
        return validator.is_valid(text)
    except ValueError:  # step limit reached, or a lone surrogate
        return None


@lru_cache(maxsize=256)
def _validator(pattern: str) -> jsonschema_rs.Validator | None:
    import jsonschema_rs

    for options in regex_engines():
        try:
            return jsonschema_rs.Draft202012Validator(
                {"pattern": pattern}, pattern_options=options, offline=True
            )
        except ValueError:
            continue
    return None
