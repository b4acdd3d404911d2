"""`$ref` resolution inside one schema (`Document`), and schema unwrapping (`resolve`).

Nothing is fetched. A reference leads to a JSON pointer (`#/$defs/x`), an `$anchor` or `$dynamicAnchor`,
or a part with its own `$id`. `$dynamicRef` is resolved statically, to the first part of that name in the
document, which is the outermost one.

`resolve` removes local `$ref`, a single `allOf`, and `anyOf`/`oneOf` with null, for callers that need the
type of one value (the command line); forms use `flatten`, which goes further. It detects recursion by the
trail of references that led to a schema, and every step is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from urllib.parse import unquote, urldefrag, urljoin

from inspector.base.json.text import same
from inspector.base.json.values import JSON, JSONObject, shorten
from inspector.schema import keywords

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_MAX_PARTS_SEARCHED = 300_000
# These hold values, not schemas: an "$id" in them is not an identifier.
_VALUES = frozenset(("const", "enum", "default", "examples"))
_MAX_STEPS = 32
# Annotations, which do not constrain a value: the outer one wins.
_ANNOTATIONS = frozenset(
    ("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment")
)
_IDENTIFIERS = frozenset(
    ("$defs", "definitions", "$schema", "$id", "$anchor", "$dynamicAnchor", "$vocabulary")
)


class SchemaDraft(IntEnum):
    """The drafts of JSON Schema that differ in the keywords they know."""

    DRAFT_4 = 4
    DRAFT_6 = 6
    DRAFT_7 = 7
    DRAFT_2019 = 2019
    DRAFT_2020 = 2020


# The marker of a schema whose keywords are those of 2020-12, whatever the draft of the document.
CURRENT = "$lens-2020-12"
_DRAFT_URIS = {
    "http://json-schema.org/draft-04/schema": SchemaDraft.DRAFT_4,
    "http://json-schema.org/draft-06/schema": SchemaDraft.DRAFT_6,
    "http://json-schema.org/draft-07/schema": SchemaDraft.DRAFT_7,
    "https://json-schema.org/draft/2019-09/schema": SchemaDraft.DRAFT_2019,
    "https://json-schema.org/draft/2020-12/schema": SchemaDraft.DRAFT_2020,
}
_DRAFT_7_KEYWORDS = ("definitions", "dependencies", "additionalItems")
_LATER_KEYWORDS = ("$defs", "prefixItems", "dependentRequired", "dependentSchemas")
# The draft that introduced a keyword; before, it meant nothing.
_FIRST_DRAFTS: dict[str, SchemaDraft] = {
    **dict.fromkeys(("const", "contains", "propertyNames"), SchemaDraft.DRAFT_6),
    **dict.fromkeys(("if", "then", "else", "contentEncoding", "contentMediaType"), SchemaDraft.DRAFT_7),
    **dict.fromkeys(
        ("dependentRequired", "dependentSchemas", "unevaluatedItems", "unevaluatedProperties", "minContains",
         "maxContains", "$recursiveRef"), SchemaDraft.DRAFT_2019
    ),
    **dict.fromkeys(("prefixItems", "$dynamicRef"), SchemaDraft.DRAFT_2020),
}  # fmt: skip
_LAST_DRAFTS = {"$recursiveRef": SchemaDraft.DRAFT_2019}


def named_draft(schema: JSON) -> SchemaDraft | None:
    """Return the draft that `$schema` names, None if it names no known one."""
    name = schema.get("$schema") if isinstance(schema, dict) else None
    return _DRAFT_URIS.get(name.removesuffix("#")) if isinstance(name, str) else None


def draft_of(schema: JSON) -> SchemaDraft:
    """Return the draft of a schema: the one it names, else 2020-12 unless it looks like draft 7."""
    if (named := named_draft(schema)) is not None:
        return named
    if not isinstance(schema, dict):
        return SchemaDraft.DRAFT_2020
    is_old = keywords.present(schema, _DRAFT_7_KEYWORDS) and not keywords.present(schema, _LATER_KEYWORDS)
    return SchemaDraft.DRAFT_7 if is_old else SchemaDraft.DRAFT_2020


class UnusableSchema(Exception):
    """A part of a schema cannot be used; the message is a sentence that says why."""


class Document:
    """A whole schema, in which references are resolved."""

    def __init__(self, root: JSON) -> None:
        self.root = root
        self.draft = draft_of(root)
        self._meaningless = frozenset(
            key
            for key, first in _FIRST_DRAFTS.items()
            if not first <= self.draft <= _LAST_DRAFTS.get(key, SchemaDraft.DRAFT_2020)
        )

    def meaningful(self, schema: JSONObject) -> JSONObject:
        """Return a part of the document without the keywords that mean nothing in its draft."""
        if CURRENT in schema:
            return schema
        if "$ref" in schema and self.draft <= SchemaDraft.DRAFT_7:  # all others beside it are ignored
            return {key: part for key, part in schema.items() if key == "$ref" or key in _ANNOTATIONS}
        if self._meaningless.isdisjoint(schema):
            return schema
        return {key: part for key, part in schema.items() if key not in self._meaningless}

    def target(self, reference: JSON) -> JSON:
        """Resolve a reference. Raises UnusableSchema."""
        if not isinstance(reference, str):
            raise UnusableSchema(f"The schema's $ref is {keywords.kind_of(reference)} instead of a string.")
        shown = shorten(reference, 80)
        try:
            location, fragment = urldefrag(urljoin(self._base, reference))
            resource = self._resource(location)
        except (LookupError, ValueError):
            raise UnusableSchema(
                f"The schema refers to {shown}, which is external and never fetched."
            ) from None
        try:
            return self._named(location, unquote(fragment), resource)
        except (LookupError, ValueError):
            raise UnusableSchema(f"The schema refers to {shown}, which does not exist in it.") from None

    @property
    def _base(self) -> str:
        name = self.root.get("$id") if isinstance(self.root, dict) else None
        return urldefrag(name)[0] if isinstance(name, str) else ""

    def _resource(self, location: str) -> JSON:
        return self.root if location in ("", self._base) else self._names[location]

    def _named(self, location: str, fragment: str, resource: JSON) -> JSON:
        if not fragment or fragment.startswith("/"):
            return resolve_pointer(fragment, resource)
        return self._names[f"{'' if location == self._base else location}#{fragment}"]

    @cached_property
    def _names(self) -> dict[str, JSON]:
        """Parts by `$id` and `$id#anchor`; the outermost wins for repeated names."""
        found: dict[str, JSON] = {}
        pending: list[tuple[JSON, str]] = [(self.root, "")]
        for _ in range(_MAX_PARTS_SEARCHED):
            if not pending:
                break
            part, location = pending.pop()
            if isinstance(part, dict):
                location = self._add_names(part, location, found)
                pending.extend((inner, location) for key, inner in _reversed(part) if key not in _VALUES)
            elif isinstance(part, list):
                pending.extend((inner, location) for inner in reversed(part))
        return found

    def _add_names(self, part: JSONObject, location: str, found: dict[str, JSON]) -> str:
        name = part.get("$id")
        if isinstance(name, str) and part is not self.root:
            if name.startswith("#"):  # how drafts 6 and 7 write an anchor
                found.setdefault(f"{location}{name}", part)
            else:
                location = urldefrag(urljoin(location or self._base, name))[0]
                found.setdefault(location, part)
        for key in ("$anchor", "$dynamicAnchor"):
            if isinstance(anchor := part.get(key), str):
                found.setdefault(f"{location}#{anchor}", part)
                found.setdefault(f"#{anchor}", part)
        return location


def _reversed(part: JSONObject) -> list[tuple[str, JSON]]:
    return list(part.items())[::-1]


def resolve_pointer(pointer: str, root: JSON) -> JSON:
    """Resolve a JSON pointer (RFC 6901). Raises LookupError."""
    location = root
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(location, dict):
            location = location[name]
        elif isinstance(location, list) and name.isdecimal():
            location = location[int(name)]
        else:
            raise LookupError(pointer)
    return location


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
        for _ in range(_MAX_STEPS):
            wrapped = _wrapped(schema, root, trail)
            if wrapped is None:
                return Resolved(schema, trail, nullable)
            nullable, trail = nullable or wrapped.nullable, wrapped.trail
            schema = _merged(wrapped.inner, wrapped.outer)
    except UnusableSchema as exc:
        return Resolved(schema, trail, nullable, str(exc))
    return Resolved(schema, trail, nullable, f"The schema is nested in more than {_MAX_STEPS} wrappers.")


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
        raise UnusableSchema(f"The schema refers back to itself ({shorten(str(reference), 80)}).")
    return target


def _merged(inner: JSON, outer: JSONObject) -> JSONObject:
    """Merge two schemas that do not constrain the same keyword differently."""
    if inner is True:
        return outer
    if not isinstance(inner, dict):
        raise UnusableSchema(f"A part of the schema is {keywords.kind_of(inner)} instead of an object.")
    for key in outer.keys() & inner.keys():
        if key not in _ANNOTATIONS and not same(outer[key], inner[key]):
            raise UnusableSchema(f"Two parts of the schema both define {shorten(key, 40)!r}.")
    return {**inner, **outer}


def _without(schema: JSONObject, key: str) -> JSONObject:
    return {name: part for name, part in schema.items() if name != key and name not in _IDENTIFIERS}
