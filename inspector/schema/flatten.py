"""Schema flattening: `$ref`, `allOf` and single-branch unions merged into one schema.

What cannot be merged is listed beside the result: remaining unions, and conditions (`if`,
`dependentRequired`, `dependentSchemas`), which depend on the value. Steps are counted, so that a
recursive or deeply wrapped schema costs no more than a large ordinary one. How `merge` combines two
schemas:

| keyword | merged |
| --- | --- |
| `type`, `enum`, `const` | what both allow; UnusableSchema if nothing is left |
| `minimum`, `minLength`, `minItems` … | the larger one; `maximum` …: the smaller one |
| `multipleOf` | the least common multiple |
| `properties`, `patternProperties` | union; a name in both: `allOf` of the two, merged when read |
| `additionalProperties` | applies to the names that only the other side has, as the standard says |
| `prefixItems`, `items` | by position, the same way |
| `required`, `dependentRequired` | union |
| `uniqueItems`, `deprecated`, `readOnly`, `writeOnly` | true if either is |
| `title`, `description`, `default`, `examples` and all else | the outer one |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from math import gcd, lcm

from inspector.base.json.text import same, write_line
from inspector.base.json.values import JSON, JSONObject, read_number, shorten
from inspector.schema import keywords
from inspector.schema.keywords import as_decimal, equal, matches
from inspector.schema.references import CURRENT, REFERENCES, Document, SchemaDraft, UnusableSchema, is_null

_MAX_PARTS = 1500
_MAX_MEMBERS = 200_000
_MEMBER_KEYWORDS = ("properties", "patternProperties", "additionalProperties")
_ITEM_KEYWORDS = ("prefixItems", "items")
_MAX_PATTERNS = 100  # per name
_MAX_NUMBER_LENGTH = 60  # digits of a least common multiple; a longer one is of no use
# Keywords that apply other schemas to the same value.
_APPLICATORS = (
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
_SIMPLE_TEST = frozenset(("properties", "required", "type", "enum", "const", "not", "title", "$comment"))
# Excluded from the merged schema: handled here, or not shown in a form.
_NOT_MERGED = frozenset(
    (*_APPLICATORS, "dependentRequired", "additionalItems", "const", "$defs", "definitions", "$schema", "$id",
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
    key: str | None = None


@dataclass(slots=True)
class Flat:
    """The merged schema, and what could not be merged.

    When `reason` is set, the rest is what was read up to that point.
    """

    schema: JSONObject = field(default_factory=dict)
    unions: list[Alternatives] = field(default_factory=list)
    conditionals: list[Conditional] = field(default_factory=list)
    nullable: bool = False
    hidden_keywords: list[str] = field(default_factory=list)
    reason: str = ""


def flatten(schema: JSON, document: Document) -> Flat:
    """Flatten a schema. Never raises: `reason` says why one cannot be flattened."""
    flat = Flat()
    try:
        _Flattener(flat, document).run(schema)
    except UnusableSchema as exc:
        flat.reason = str(exc)
    return flat


class _Flattener:
    def __init__(self, flat: Flat, document: Document) -> None:
        self._flat = flat
        self._document = document
        self._pending: list[tuple[JSON, tuple[str, ...]]] = []
        self._parts = 0
        self._members = 0
        self._tests: list[JSON] = []

    def run(self, schema: JSON) -> None:
        self._pending.append((schema, ()))
        while self._pending or self._unwrap_union():
            self._parts += 1
            if self._parts > _MAX_PARTS:
                raise UnusableSchema(f"The schema is composed of more than {_MAX_PARTS:,} parts.")
            self._add(*self._pending.pop())
        known = keywords.named(self._flat.schema, "properties")
        if not all(_evaluates_only(test, known) for test in self._tests):
            for key in ("unevaluatedProperties", "unevaluatedItems"):
                if self._flat.schema.pop(key, None) is not None:
                    self._flat.hidden_keywords.append(key)

    def _add(self, schema: JSON, trail: tuple[str, ...]) -> None:
        """Merge one part; the schemas it wraps come after it, so that its own annotations win."""
        if schema is True:
            return
        if keywords.is_never(schema):
            raise UnusableSchema("The schema allows no value here (it is false).")
        if not isinstance(schema, dict):
            raise UnusableSchema(f"The schema is {keywords.kind_of(schema)} instead of an object.")
        schema = self._document.meaningful(schema)
        own = own_keywords(schema)
        if self._document.draft < SchemaDraft.DRAFT_2020:
            own[CURRENT] = True
        self._merge(own)
        self._add_applicators(schema)
        inner = [(part, trail) for part in keywords.schemas(schema, "allOf")]
        inner += [self._target_of(schema[key], trail) for key in REFERENCES if key in schema]
        self._pending.extend(reversed(inner))

    def _merge(self, own: JSONObject) -> None:
        mine = self._flat.schema
        self._members += len(keywords.named(mine, "properties")) + len(keywords.named(own, "properties"))
        if mine and self._members > _MAX_MEMBERS:
            raise UnusableSchema(f"Merging the schema's parts takes more than {_MAX_MEMBERS:,} steps.")
        self._flat.schema = merge(mine, own) if mine else own

    def _target_of(self, reference: JSON, trail: tuple[str, ...]) -> tuple[JSON, tuple[str, ...]]:
        target = self._document.target(reference)
        assert isinstance(reference, str)
        if reference in trail:
            raise UnusableSchema(
                f"The schema refers back to itself ({shorten(reference, 80)}) and never ends."
            )
        return target, (*trail, reference)

    def _add_applicators(self, schema: JSONObject) -> None:
        flat = self._flat
        for key in ("oneOf", "anyOf"):
            if branches := keywords.schemas(schema, key):
                flat.unions.append(Alternatives(key, branches))
        if "if" in schema:
            self._tests.append(schema["if"])
        if "if" in schema and ("then" in schema or "else" in schema):
            then, otherwise = schema.get("then", True), schema.get("else", True)
            flat.conditionals.append(Conditional(schema["if"], then, otherwise))
        flat.conditionals.extend(_dependents(schema))
        flat.hidden_keywords.extend(key for key in ("not", "contains") if key in schema)

    def _unwrap_union(self) -> bool:
        """Drop the null branches of unions and unwrap one-branch unions; False if there were none."""
        unions = self._flat.unions
        for position, union in enumerate(unions):
            some = [branch for branch in union.branches if branch is not False]
            others = [branch for branch in some if not is_null(branch)]
            if len(others) < len(some) and self._allows_null():
                self._flat.nullable = True
            if len(others) <= 1:
                del unions[position]
                self._pending.append((others[0] if others else {"type": "null"} if some else False, ()))
                return True
            unions[position] = Alternatives(union.keyword, others)
        return False

    def _allows_null(self) -> bool:
        types = keywords.types({"type": self._flat.schema.get("type")})
        return not types or "null" in types


def _evaluates_only(test: JSON, known: JSONObject) -> bool:
    """True if a condition that holds evaluates nothing but these properties."""
    if not isinstance(test, dict):
        return True
    return test.keys() <= _SIMPLE_TEST and keywords.named(test, "properties").keys() <= known.keys()


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


def own_keywords(schema: JSONObject) -> JSONObject:
    """Return a schema's own keywords in 2020-12 spelling, without those that are handled separately."""
    own = {key: part for key, part in schema.items() if key not in _NOT_MERGED}
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


def has_no_applicators(schema: JSONObject) -> bool:
    """True if nothing but its own keywords evaluates the contents of a value."""
    return not keywords.present(schema, _APPLICATORS)


def merge(outer: JSONObject, inner: JSONObject) -> JSONObject:
    """Merge two schemas into one that requires both. Raises UnusableSchema if nothing can match both."""
    merged = {**inner, **outer}
    for key in outer.keys() & inner.keys():
        if key in _MERGERS and not same(outer[key], inner[key]):
            merged[key] = _MERGERS[key](outer[key], inner[key])
    if "enum" in outer and "enum" in inner and not same(outer["enum"], inner["enum"]):
        merged.pop("enumNames", None)  # they refer to one side's choices by index
    if all(keywords.present(side, _MEMBER_KEYWORDS) for side in (outer, inner)):
        _merge_members(outer, inner, merged)
    if all(keywords.present(side, _ITEM_KEYWORDS) for side in (outer, inner)):
        _merge_items(outer, inner, merged)
    return merged


def both(*parts: JSON) -> JSON:
    """Return a schema that requires all parts; false if one of them is false."""
    schemas: list[JSON] = [part for part in parts if part is not True]
    if False in schemas:
        return False
    if not schemas:
        return True
    return schemas[0] if len(schemas) == 1 else {"allOf": schemas}


def _merge_members(outer: JSONObject, inner: JSONObject, merged: JSONObject) -> None:
    order = {**keywords.named(outer, "properties"), **keywords.named(inner, "properties")}
    united: JSONObject = {}
    for name in order:
        part = both(member_schema(outer, name), member_schema(inner, name))
        if part is not False:  # one side knows the name, the other forbids it: no value, no member
            united[name] = part
    if order:
        merged["properties"] = united
    patterns = [keywords.named(side, "patternProperties") for side in (outer, inner)]
    if any(patterns):
        merged["patternProperties"] = _merge_by_name(patterns[0], patterns[1])


def member_schema(side: JSONObject, name: str) -> JSON:
    """Return what one side requires of the member of this name."""
    properties = keywords.named(side, "properties")
    patterns = islice(keywords.named(side, "patternProperties").items(), _MAX_PATTERNS)
    schemas = [properties[name]] if name in properties else []
    schemas += [part for pattern, part in patterns if matches(pattern, name)]
    return both(*schemas) if schemas else side.get("additionalProperties", True)


def _merge_items(outer: JSONObject, inner: JSONObject, merged: JSONObject) -> None:
    sides = (outer, inner)
    max_length = max(len(keywords.schemas(side, "prefixItems")) for side in sides)
    if max_length:
        merged["prefixItems"] = [
            both(*(_at(side, position) for side in sides)) for position in range(max_length)
        ]
    if any("items" in side for side in sides):
        merged["items"] = both(*(side.get("items", True) for side in sides))


def _at(side: JSONObject, position: int) -> JSON:
    locations = keywords.schemas(side, "prefixItems")
    return locations[position] if position < len(locations) else side.get("items", True)


def _merge_by_name(outer: JSON, inner: JSON) -> JSON:
    """Merge schemas by name; a name on both sides requires both."""
    if not isinstance(outer, dict) or not isinstance(inner, dict):
        return outer if isinstance(outer, dict) else inner
    shared = {name: both(outer[name], inner[name]) for name in outer.keys() & inner.keys()}
    return {**inner, **outer, **shared}


def _types(outer: JSON, inner: JSON) -> JSON:
    one, other = keywords.types({"type": outer}), keywords.types({"type": inner})
    left: list[JSON] = [name for name in one if name in other or (name == "integer" and "number" in other)]
    left += [name for name in other if name == "integer" and "number" in one and name not in left]
    if not left:
        raise UnusableSchema(
            f"Two parts of the schema contradict each other: one requires {' or '.join(one)[:60]}, the "
            f"other {' or '.join(other)[:60]}."
        )
    return left


def _choices(outer: JSON, inner: JSON) -> JSON:
    if not isinstance(outer, list) or not isinstance(inner, list):
        return outer
    left = [choice for choice in outer if any(equal(choice, other) for other in inner)]
    if not left:
        shown = " and ".join(shorten(write_line(side), 60) for side in (outer, inner))
        raise UnusableSchema(f"Two parts of the schema contradict each other: no value is in both {shown}.")
    return left


def _number(outer: JSON, inner: JSON) -> bool:
    return all(isinstance(side, int | float) and not isinstance(side, bool) for side in (outer, inner))


def _larger(outer: JSON, inner: JSON) -> JSON:
    if not _number(outer, inner):
        return outer
    return max(outer, inner, key=as_decimal)  # type: ignore[arg-type]


def _smaller(outer: JSON, inner: JSON) -> JSON:
    if not _number(outer, inner):
        return outer
    return min(outer, inner, key=as_decimal)  # type: ignore[arg-type]


def _multiple(outer: JSON, inner: JSON) -> JSON:
    if not _number(outer, inner):
        return outer
    sides = [as_decimal(side) for side in (outer, inner)]  # type: ignore[arg-type]
    if not all(side.is_finite() and side > 0 and abs(side.adjusted()) < _MAX_NUMBER_LENGTH for side in sides):
        return outer
    one, other = (Fraction(side) for side in sides)
    common = Fraction(lcm(one.numerator, other.numerator), gcd(one.denominator, other.denominator))
    if common.denominator == 1:
        return common.numerator
    return read_number(repr(float(common))) or outer


def _names(outer: JSON, inner: JSON) -> JSON:
    if not isinstance(outer, list) or not isinstance(inner, list):
        return outer
    return [*outer, *(name for name in inner if name not in outer)]


def _names_by_name(outer: JSON, inner: JSON) -> JSON:
    if not isinstance(outer, dict) or not isinstance(inner, dict):
        return outer
    shared = {name: _names(outer[name], inner[name]) for name in outer.keys() & inner.keys()}
    return {**inner, **outer, **shared}


def _either(outer: JSON, inner: JSON) -> JSON:
    return outer is True or inner is True


_Merger = Callable[[JSON, JSON], JSON]
_MERGERS: Mapping[str, _Merger] = {
    "type": _types,
    "enum": _choices,
    "multipleOf": _multiple,
    "required": _names,
    "dependentRequired": _names_by_name,
    "dependentSchemas": _merge_by_name,
    "additionalProperties": both,
    "items": both,
    "propertyNames": both,
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), _larger),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), _smaller),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly"), _either),
}
