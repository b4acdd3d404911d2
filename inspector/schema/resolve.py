"""Take the wrapping off a schema: local `$ref`, `allOf` of one, and `anyOf`/`oneOf` with null.

For who needs the type of one value (the command line); forms are built of `flatten`, which goes further.
References are followed inside the given schema only; nothing is ever fetched. Each step is bounded, and a
schema that refers back to itself is noticed by its trail: the references that led to it from the root.
"""

from __future__ import annotations

from dataclasses import dataclass

from inspector.base.jsonvalue import JSON, JSONObject, shorten
from inspector.schema import keywords
from inspector.schema.jsontext import same
from inspector.schema.references import Document, Unusable

_MOST_STEPS = 32
# Annotations, which do not constrain a value: the outer one wins.
_ANNOTATIONS = frozenset(
    ("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment")
)
_BOOKKEEPING = frozenset(
    ("$defs", "definitions", "$schema", "$id", "$anchor", "$dynamicAnchor", "$vocabulary")
)


@dataclass(frozen=True, slots=True)
class Resolved:
    """An unwrapped schema; `reason` says why unwrapping failed, if it did."""

    schema: JSONObject
    trail: tuple[str, ...] = ()
    nullable: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Wrapped:
    """One level of wrapping: the inner schema, the keywords around it, and how it was entered."""

    inner: JSON
    outer: JSONObject
    trail: tuple[str, ...]
    nullable: bool = False


def resolve(schema: JSON, root: JSON, trail: tuple[str, ...]) -> Resolved:
    """Unwrap `schema`, a part of `root` that was reached through the references in `trail`."""
    if not isinstance(schema, dict):
        return _boolean_schema(schema)
    nullable = False
    try:
        for _ in range(_MOST_STEPS):
            wrapped = _wrapped(schema, root, trail)
            if wrapped is None:
                return Resolved(schema, trail, nullable)
            nullable, trail = nullable or wrapped.nullable, wrapped.trail
            schema = _merged(wrapped.inner, wrapped.outer)
    except Unusable as exc:
        return Resolved(schema, trail, nullable, str(exc))
    return Resolved(schema, trail, nullable, f"The schema is wrapped more than {_MOST_STEPS} times.")


def is_null(schema: JSON) -> bool:
    """True if a schema allows nothing but null."""
    if not isinstance(schema, dict):
        return False
    return schema.get("type") == "null" or schema.get("enum") == [None] or schema.get("const", 0) is None


def _boolean_schema(schema: JSON) -> Resolved:
    if schema is True:
        return Resolved({})
    if schema is False:
        return Resolved({}, reason="The schema allows no value here (it is false).")
    return Resolved({}, reason=f"The schema is {keywords.kind_of(schema)} instead of an object.")


def _wrapped(schema: JSONObject, root: JSON, trail: tuple[str, ...]) -> _Wrapped | None:
    if "$ref" in schema:
        reference = schema["$ref"]
        target = _target(reference, root, trail)
        return _Wrapped(target, _without(schema, "$ref"), (*trail, str(reference)))
    if len(parts := keywords.schemas(schema, "allOf")) == 1:
        return _Wrapped(parts[0], _without(schema, "allOf"), trail)
    for key in ("anyOf", "oneOf"):
        branches = keywords.schemas(schema, key)
        others = [branch for branch in branches if not is_null(branch)]
        if len(others) == 1:
            return _Wrapped(others[0], _without(schema, key), trail, nullable=len(branches) > 1)
    return None


def _target(reference: JSON, root: JSON, trail: tuple[str, ...]) -> JSON:
    target = Document(root).target(reference)
    if reference in trail:
        raise Unusable(f"The schema refers back to itself ({shorten(str(reference), 80)}).")
    return target


def _merged(inner: JSON, outer: JSONObject) -> JSONObject:
    """Merge two schemas that do not constrain the same keyword differently."""
    if inner is True:
        return outer
    if not isinstance(inner, dict):
        raise Unusable(f"A part of the schema is {keywords.kind_of(inner)} instead of an object.")
    for key in outer.keys() & inner.keys():
        if key not in _ANNOTATIONS and not same(outer[key], inner[key]):
            raise Unusable(f"Two parts of the schema both say something about {shorten(key, 40)!r}.")
    return {**inner, **outer}


def _without(schema: JSONObject, key: str) -> JSONObject:
    return {name: part for name, part in schema.items() if name != key and name not in _BOOKKEEPING}
