"""A schema without wrapping: what `$ref`, `allOf` and unions of one say, all in one place.

What cannot be put into one place is listed beside it: the unions that are left, and the conditions
(`if`, `dependentRequired`, `dependentSchemas`), which depend on the value. Every step is counted, so a
schema that refers to itself, or wraps itself a thousand times, costs no more than a large honest one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from inspector.base.jsonvalue import JSON, JSONObject, shorten
from inspector.schema import keywords
from inspector.schema.merging import merge
from inspector.schema.references import REFERENCES, Document, Unusable
from inspector.schema.resolve import is_null

_MOST_PARTS = 1500
_MOST_MEMBERS = 200_000
# Keywords that apply other schemas to the same value.
_PARTS = (
    *REFERENCES,
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "then",
    "else",
    "not",
    "dependentSchemas",
    "dependencies",
)
# Excluded from the merged schema: handled here, or not shown in a form.
_TAKEN_APART = frozenset(
    (*_PARTS, "dependentRequired", "additionalItems", "const", "$defs", "definitions", "$schema", "$id",
     "$anchor", "$dynamicAnchor", "$vocabulary", "$comment")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Alternatives:
    """A remaining union: `oneOf` or `anyOf`, without its null branches."""

    keyword: str
    branches: list[JSON]


@dataclass(frozen=True, slots=True)
class Conditional:
    """What applies if a value matches `test`, or has the key `key`, and what applies if not."""

    test: JSON
    then: JSON
    otherwise: JSON = True
    key: str = ""


@dataclass(slots=True)
class Flat:
    """The merged schema, and what could not be merged.

    When `reason` is set, the rest is what was read up to that point.
    """

    schema: JSONObject = field(default_factory=dict)
    unions: list[Alternatives] = field(default_factory=list)
    conditionals: list[Conditional] = field(default_factory=list)
    nullable: bool = False
    not_shown: list[str] = field(default_factory=list)
    reason: str = ""


def flatten(schema: JSON, document: Document) -> Flat:
    """Flatten a schema. Never raises: `reason` says why one cannot be flattened."""
    flat = Flat()
    try:
        _Flattening(flat, document).run(schema)
    except Unusable as exc:
        flat.reason = str(exc)
    return flat


class _Flattening:
    def __init__(self, flat: Flat, document: Document) -> None:
        self._flat = flat
        self._document = document
        self._left: list[tuple[JSON, tuple[str, ...]]] = []
        self._parts = 0
        self._members = 0

    def run(self, schema: JSON) -> None:
        self._left.append((schema, ()))
        while self._left or self._unwrap_union():
            self._parts += 1
            if self._parts > _MOST_PARTS:
                raise Unusable(f"The schema is put together of more than {_MOST_PARTS:,} parts.")
            self._take(*self._left.pop())

    def _take(self, schema: JSON, trail: tuple[str, ...]) -> None:
        """Merge one part; the schemas it wraps come after it, so that its own annotations win."""
        if schema is True:
            return
        if keywords.is_never(schema):
            raise Unusable("The schema allows no value here (it is false).")
        if not isinstance(schema, dict):
            raise Unusable(f"The schema is {keywords.kind_of(schema)} instead of an object.")
        self._merge(normal(schema))
        self._take_beside(schema)
        inner = [(part, trail) for part in keywords.schemas(schema, "allOf")]
        inner += [self._followed(schema[key], trail) for key in REFERENCES if key in schema]
        self._left.extend(reversed(inner))

    def _merge(self, own: JSONObject) -> None:
        mine = self._flat.schema
        self._members += len(keywords.named(mine, "properties")) + len(keywords.named(own, "properties"))
        if mine and self._members > _MOST_MEMBERS:
            raise Unusable(f"Merging the schema's parts takes more than {_MOST_MEMBERS:,} steps.")
        self._flat.schema = merge(mine, own) if mine else own

    def _followed(self, reference: JSON, trail: tuple[str, ...]) -> tuple[JSON, tuple[str, ...]]:
        target = self._document.target(reference)
        assert isinstance(reference, str)
        if reference in trail:
            raise Unusable(f"The schema refers back to itself ({shorten(reference, 80)}) and never ends.")
        return target, (*trail, reference)

    def _take_beside(self, schema: JSONObject) -> None:
        flat = self._flat
        for key in ("oneOf", "anyOf"):
            if branches := keywords.schemas(schema, key):
                flat.unions.append(Alternatives(key, branches))
        if "if" in schema and ("then" in schema or "else" in schema):
            then, otherwise = schema.get("then", True), schema.get("else", True)
            flat.conditionals.append(Conditional(schema["if"], then, otherwise))
        flat.conditionals.extend(_dependents(schema))
        flat.not_shown.extend(key for key in ("not", "contains") if key in schema)

    def _unwrap_union(self) -> bool:
        """Drop the null branches of unions and unwrap one-branch unions; False if there were none."""
        unions = self._flat.unions
        for place, union in enumerate(unions):
            some = [branch for branch in union.branches if branch is not False]
            others = [branch for branch in some if not is_null(branch)]
            if len(others) < len(some) and self._takes_null():
                self._flat.nullable = True
            if len(others) <= 1:
                del unions[place]
                self._left.append((others[0] if others else {"type": "null"} if some else False, ()))
                return True
            unions[place] = Alternatives(union.keyword, others)
        return False

    def _takes_null(self) -> bool:
        types = keywords.types({"type": self._flat.schema.get("type")})
        return not types or "null" in types


def _dependents(schema: JSONObject) -> list[Conditional]:
    """Return the conditionals of `dependentRequired`, `dependentSchemas` and `dependencies`.

    `dependencies` is draft 7's keyword for either.
    """
    found: list[Conditional] = []
    for keyword in ("dependentRequired", "dependentSchemas", "dependencies"):
        for key, part in keywords.named(schema, keyword).items():
            then: JSON = {"required": part} if isinstance(part, list) else part
            found.append(Conditional(True, then, key=key))
    return found


def normal(schema: JSONObject) -> JSONObject:
    """Return a schema's own keywords in 2020-12 spelling, without those that are taken apart."""
    own = {key: part for key, part in schema.items() if key not in _TAKEN_APART}
    if "const" in schema:
        own["enum"] = [schema["const"]]
    if isinstance(own.get("items"), list) and "prefixItems" not in own:  # a tuple, up to 2019-09
        own["prefixItems"] = own.pop("items")
        if "additionalItems" in schema:
            own["items"] = schema["additionalItems"]
    return own


def evaluated(schema: JSONObject) -> JSONObject:
    """Apply the unevaluated-keywords of a merged schema to what it does not name."""
    own = dict(schema)
    if "unevaluatedProperties" in own:
        own.setdefault("additionalProperties", own["unevaluatedProperties"])
    if "unevaluatedItems" in own and "contains" not in own:  # `contains` evaluates the items that it matches
        own.setdefault("items", own["unevaluatedItems"])
    return own


def stands_alone(schema: JSONObject) -> bool:
    """True if nothing but its own keywords evaluates the contents of a value."""
    return not keywords.present(schema, _PARTS)
