"""Whether a draft fits a schema, told at once: for `if`, and for picking a variant.

Not a validator: it looks a few levels deep, takes a bounded number of steps, and where it cannot tell, the
draft fits. References are looked up in the document; patterns run without risk (see `patterns.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from inspector.base.jsonvalue import JSON, JSONObject
from inspector.schema import keywords
from inspector.schema.drafts import ABSENT, Unreadable, bare
from inspector.schema.equality import equal
from inspector.schema.flatten import evaluated, normal, stands_alone
from inspector.schema.numbers import as_decimal, is_multiple, is_whole
from inspector.schema.patterns import matches
from inspector.schema.references import REFERENCES, Document, Unusable

_DEEPEST = 24
MOST_STEPS = 5000


def fits(schema: JSON, draft: object, document: Document, steps: int = MOST_STEPS) -> bool:
    """True if a draft matches, as far as can be determined in this many steps."""
    return _Fitting(document, steps).fits(schema, bare(draft), 0)


class _Fitting:
    """One evaluation, with its step budget."""

    def __init__(self, document: Document, steps: int) -> None:
        self._document = document
        self._left = steps

    def fits(self, schema: JSON, value: object, depth: int) -> bool:
        self._left -= 1
        if not isinstance(schema, dict):
            return schema is not False
        if self._left < 0 or depth > _DEEPEST or isinstance(value, Unreadable):
            return True
        own = evaluated(normal(schema)) if stands_alone(schema) else normal(schema)
        return (
            all(self.fits(part, value, depth + 1) for part in self._referred(schema))
            and _fits_alone(own, value)
            and self._fits_combined(schema, value, depth)
            and self._fits_inside(own, value, depth)
        )

    def _referred(self, schema: JSONObject) -> Iterator[JSON]:
        for key in REFERENCES:
            if key in schema:
                try:
                    yield self._document.target(schema[key])
                except Unusable:
                    continue

    def _fits_combined(self, schema: JSONObject, value: object, depth: int) -> bool:
        def one(part: JSON) -> bool:
            return self.fits(part, value, depth + 1)

        if not all(map(one, keywords.schemas(schema, "allOf"))):
            return False
        if (some := keywords.schemas(schema, "anyOf")) and not any(map(one, some)):
            return False
        if (some := keywords.schemas(schema, "oneOf")) and sum(map(one, some)) != 1:
            return False
        if "not" in schema and one(schema["not"]):
            return False
        if "if" not in schema:
            return True
        return one(schema.get("then" if one(schema["if"]) else "else", True))

    def _fits_inside(self, schema: JSONObject, value: object, depth: int) -> bool:
        if isinstance(value, Mapping):
            return self._fits_members(schema, value, depth)
        if isinstance(value, list):
            return self._fits_items(schema, value, depth)
        return True

    def _fits_members(self, schema: JSONObject, value: Mapping[str, object], depth: int) -> bool:
        there = {name: part for name, draft in value.items() if (part := bare(draft)) is not ABSENT}
        if not keywords.names(schema, "required") <= there.keys():
            return False
        properties = keywords.named(schema, "properties")
        patterns = keywords.named(schema, "patternProperties")
        for name, part in there.items():
            wanted = [wish for pattern, wish in patterns.items() if matches(pattern, name)]
            if name in properties:
                wanted.append(properties[name])
            for wish in wanted or [schema.get("additionalProperties", True)]:
                if not self.fits(wish, part, depth + 1):
                    return False
        return _in_range(schema, len(there), "minProperties", "maxProperties")

    def _fits_items(self, schema: JSONObject, value: list[object], depth: int) -> bool:
        places = keywords.schemas(schema, "prefixItems")
        items = [part for draft in value if (part := bare(draft)) is not ABSENT]
        for place, part in enumerate(items):
            wish = places[place] if place < len(places) else schema.get("items", True)
            if not self.fits(wish, part, depth + 1):
                return False
        if "contains" in schema and schema.get("minContains", 1) != 0:
            some = (self.fits(schema["contains"], part, depth + 1) for part in items)
            if not any(some):
                return False
        return _in_range(schema, len(items), "minItems", "maxItems")


def _fits_alone(schema: JSONObject, value: object) -> bool:
    """Check what can be checked without looking inside the value."""
    types = keywords.types({"type": schema.get("type")})
    if types and not any(is_of_type(value, name) for name in types):
        return False
    choices = schema.get("enum")
    if isinstance(choices, list) and not any(equal(value, choice) for choice in choices):
        return False
    if isinstance(value, str):
        pattern = schema.get("pattern")
        fits_pattern = not isinstance(pattern, str) or matches(pattern, value)
        return fits_pattern and _in_range(schema, len(value), "minLength", "maxLength")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _fits_bounds(schema, value)
    return True


def is_of_type(value: object, name: str) -> bool:
    """True if the value has this JSON Schema type; also true for an unknown type name."""
    kind = _TYPES.get(name)
    return kind is None or kind(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and is_whole(value)


_TYPES: Mapping[str, Callable[[object], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": _is_integer,
    "number": _is_number,
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, Mapping),
}


def _fits_bounds(schema: JSONObject, value: float) -> bool:
    exact = as_decimal(value)
    bounds = {key: keywords.number(schema, key) for key in _BOUNDS}
    for key, bound in bounds.items():
        if bound is not None and not _BOUNDS[key](exact, as_decimal(bound)):
            return False
    multiple = keywords.number(schema, "multipleOf")
    return multiple is None or multiple <= 0 or is_multiple(value, multiple)


_BOUNDS: Mapping[str, Callable[..., bool]] = {
    "minimum": lambda value, bound: value >= bound,
    "maximum": lambda value, bound: value <= bound,
    "exclusiveMinimum": lambda value, bound: value > bound,
    "exclusiveMaximum": lambda value, bound: value < bound,
}


def _in_range(schema: JSONObject, size: int, least: str, most: str) -> bool:
    low, high = keywords.count(schema, least), keywords.count(schema, most)
    return (low is None or size >= low) and (high is None or size <= high)
