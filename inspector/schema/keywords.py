"""Schema keywords read with tolerance: what has the wrong type is as if it were not there."""

from __future__ import annotations

from collections.abc import Iterable

from inspector.base.jsonvalue import JSON, JSONObject

_SPOKEN_OF = (
    ("object", ("required", "patternProperties", "additionalProperties", "unevaluatedProperties",
                "propertyNames", "minProperties", "maxProperties")),
    ("array", ("minItems", "maxItems", "uniqueItems", "contains", "unevaluatedItems")),
    ("string", ("pattern", "format", "minLength", "maxLength", "contentEncoding", "contentMediaType")),
    ("number", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
)  # fmt: skip


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
    return value if value == value else None  # not NaN


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
    spoken_of = tuple(name for name, keys in _SPOKEN_OF if any(key in schema for key in keys))
    return spoken_of if len(spoken_of) == 1 else ()


def is_never(schema: JSON) -> bool:
    """True if a schema allows no value at all, in any of its spellings."""
    return schema is False or (isinstance(schema, dict) and schema.get("not") in ({}, True))


def present(schema: JSONObject, keys: Iterable[str]) -> list[str]:
    """Return those of the keys that the schema has."""
    return [key for key in keys if key in schema]


def kind_of(value: JSON) -> str:
    """Name a value's type in plain words, for "expected …, got …"."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
    return "an object"
