"""Drafts: the entries of a form, the members that apply to them, and variant selection.

A draft is JSON with additional values that JSON cannot express:

- `ABSENT`: nothing is sent;
- `Unreadable`: JSON text that does not parse;
- `Picked`, in a `UnionField`: the variant shown, and the draft in it;
- `Pairs`, in a `MapField`, or in an `ObjectField` for all its keys together: rows of keys and values, in
  which a key may be repeated during editing;
- `InactiveDraft`, for a member of an object: the value entered while the member applied. It is not sent.

`choose` selects a union's variant: the picked one, else the one named by the discriminator, else, among
those whose schema the draft fits (or among all), the one that knows most of it. A wrong choice loses
nothing: unknown members are preserved, and the user can pick another. `satisfies` is not a validator:
it takes a bounded number of steps, and returns None where it cannot decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from inspector.base.json.values import JSON, JSONObject
from inspector.schema import keywords
from inspector.schema.fields import ABSENT as ABSENT
from inspector.schema.fields import Absent as Absent
from inspector.schema.fields import ChoiceField, Field, MapField, Member, ObjectField, UnionField
from inspector.schema.flatten import evaluated, has_no_applicators, own_keywords
from inspector.schema.keywords import as_decimal, equal, is_integer, is_multiple, try_match
from inspector.schema.references import REFERENCES, Document, UnusableSchema

MAX_STEPS = 5000
_MAX_ROUNDS = 8  # of conditions that are introduced by members of another condition
_WRONG_TYPE = -1000
_MAX_DEPTH = 3
_MAX_STEPS = 500
_MAX_MATCH_DEPTH = 24
# Not evaluated here, so that a value that violates nothing else may still be invalid.
_UNDECIDED_KEYWORDS = frozenset(
    ("format", "uniqueItems", "propertyNames", "dependentRequired", "dependentSchemas", "dependencies",
     "unevaluatedProperties", "unevaluatedItems", "minContains", "maxContains", "contentEncoding",
     "contentMediaType")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Unreadable:
    """JSON text that does not parse, and why."""

    text: str
    problem: str


@dataclass(frozen=True, slots=True)
class Picked:
    """The draft of one variant of a union, by its index in `UnionField.variants`."""

    variant: int
    draft: Draft


@dataclass(frozen=True, slots=True)
class Pairs:
    """The rows of a map or an object, in order."""

    rows: tuple[tuple[str, Draft], ...] = ()


@dataclass(frozen=True, slots=True)
class InactiveDraft:
    """A draft that is preserved, but not sent, until its member applies again."""

    draft: Draft


Draft: TypeAlias = (
    "bool | int | float | str | Absent | Unreadable | Picked | Pairs | InactiveDraft"
    " | Sequence[Draft] | Mapping[str, Draft] | None"
)


def effective(field: ObjectField, draft: Mapping[str, Draft], *, only_certain: bool = False) -> ObjectField:
    """Return the object for this draft: the members, rules and notes of conditions that hold.

    A condition that cannot be decided holds; if `only_certain`, the members that depend on it are left out.
    """
    for _ in range(_MAX_ROUNDS):
        if field.under is None:
            break
        outcomes = [condition.holds(draft) for condition in field.conditions]
        if only_certain and None in outcomes:
            break
        inner = field.under(tuple(outcome is not False for outcome in outcomes))
        if isinstance(inner, UnionField) and not only_certain:
            inner = inner.variants[choose(inner, draft)].field
        if not isinstance(inner, ObjectField):
            break  # the schemas under these conditions contradict each other: keep the unconditional members
        field = inner
    return field


def active_members(field: ObjectField, draft: Mapping[str, Draft]) -> tuple[Member, ...]:
    """Return the members to show for this draft, in schema order."""
    return effective(field, draft).members


def settle_draft(
    field: ObjectField, before: Mapping[str, Draft], after: Mapping[str, Draft]
) -> dict[str, Draft]:
    """Return the draft after an edit: inactive members wrapped in `InactiveDraft`, active ones restored.

    Only members that were active before are wrapped. A key that was entered as JSON and is unknown to the
    form is left alone, and is still sent.
    """
    if field.under is None:
        return dict(after)
    now = {member.name for member in active_members(field, after)}
    inactive = {member.name for member in active_members(field, before)} - now
    settled: dict[str, Draft] = {}
    for name, part in after.items():
        if name in now and isinstance(part, InactiveDraft):
            settled[name] = part.draft
        elif name in inactive and not isinstance(part, InactiveDraft) and part is not ABSENT:
            settled[name] = InactiveDraft(part)
        else:
            settled[name] = part
    return settled


def with_variant(field: UnionField, draft: Draft) -> Picked:
    """Return a union's draft together with its variant."""
    return draft if isinstance(draft, Picked) else Picked(choose(field, draft), draft)


def choose(union: UnionField, draft: object) -> int:
    """Return the index of the best variant; 0 for an empty draft."""
    if isinstance(draft, Picked):
        return draft.variant if 0 <= draft.variant < len(union.variants) else 0
    value = unwrapped(draft)
    if value is ABSENT:
        return 0
    if (tagged := _tagged(union, value)) is not None:
        return tagged
    positions = range(len(union.variants))
    matching = [position for position in positions if union.variants[position].satisfies(value)]
    if len(matching) == 1:
        return matching[0]
    similarity = _Similarity()
    return max(
        matching or positions,
        key=lambda position: similarity.of(union.variants[position].field, value),
        default=0,
    )


def accepts_type(field: Field, draft: object) -> bool:
    """True if the draft has a type that the field accepts, even if it is otherwise invalid."""
    return _Similarity().of(field, unwrapped(draft)) > _WRONG_TYPE


def _tagged(union: UnionField, value: object) -> int | None:
    if not union.discriminator or not isinstance(value, Mapping):
        return None
    tag = unwrapped(value.get(union.discriminator, ABSENT))
    for position, variant in enumerate(union.variants):
        if any(equal(tag, known) for known in variant.tags):
            return position
    return None


class _Similarity:
    """Scores how much of a value a field can hold; looks a few levels deep, in bounded steps."""

    def __init__(self) -> None:
        self._steps_left = _MAX_STEPS

    def of(self, field: Field, value: object, depth: int = 0) -> int:
        self._steps_left -= 1
        if value is None:
            return 0 if field.nullable else _WRONG_TYPE
        match field:
            case UnionField():
                return self._of_variants(field, value, depth)
            case ChoiceField():
                return 2 if any(equal(value, choice) for choice in field.choices) else _WRONG_TYPE
            case ObjectField() if isinstance(value, Mapping):
                return self._of_members(field, value, depth)
            case MapField() if isinstance(value, Mapping):
                return 0
        return 1 if is_of_type(value, field.json_type) else _WRONG_TYPE

    def _of_variants(self, field: UnionField, value: object, depth: int) -> int:
        if depth >= _MAX_DEPTH or self._steps_left < 0:
            return 0
        return max((self.of(one.field, value, depth + 1) for one in field.variants), default=0)

    def _of_members(self, field: ObjectField, value: Mapping[str, object], depth: int) -> int:
        names = {name for name, part in value.items() if unwrapped(part) is not ABSENT}
        known = {member.name for member in field.members}
        missing = sum(member.required and member.name not in names for member in field.members)
        unknown = len(names - known) * (1 if field.is_open else 4)
        points = 2 * len(names & known) - 3 * missing - unknown
        for member in field.members:
            if depth >= _MAX_DEPTH or self._steps_left < 0:
                break
            part = unwrapped(value.get(member.name, ABSENT))
            if part is not ABSENT and self.of(member.field, part, depth + 1) <= _WRONG_TYPE // 2:
                points -= 5
        return points


def duplicate_keys(pairs: Pairs) -> list[str]:
    """Return the keys that would be sent twice, once each."""
    keys = [key for key, part in pairs.rows if part is not ABSENT and not isinstance(part, InactiveDraft)]
    return [key for key, count in Counter(keys).items() if count > 1]


def unwrapped(draft: object) -> object:
    """Return a draft without its `Picked` and `Pairs` wrappers; does not look inside."""
    while isinstance(draft, Picked):
        draft = draft.draft
    if isinstance(draft, Pairs):
        return dict(draft.rows)
    return ABSENT if isinstance(draft, InactiveDraft) else draft


def satisfies(schema: JSON, draft: object, document: Document, steps: int = MAX_STEPS) -> bool | None:
    """Return whether a draft matches; None if that cannot be determined in this many steps."""
    return _Matcher(document, steps).satisfies(schema, unwrapped(draft), 0)


def _all(outcomes: Iterable[bool | None]) -> bool | None:
    """Return the conjunction: False if one is false, else None if one is undecided."""
    is_decided = True
    for outcome in outcomes:
        if outcome is False:
            return False
        is_decided = is_decided and outcome is not None
    return True if is_decided else None


def _any(outcomes: Iterable[bool | None]) -> bool | None:
    return _negated(_all(map(_negated, outcomes)))


def _negated(outcome: bool | None) -> bool | None:
    return None if outcome is None else not outcome


def _exactly_one(outcomes: Iterable[bool | None]) -> bool | None:
    found = list(outcomes)
    if found.count(True) > 1 or not (found.count(True) or found.count(None)):
        return False
    return None if None in found else True


class _Matcher:
    """One evaluation, with its step budget."""

    def __init__(self, document: Document, steps: int) -> None:
        self._document = document
        self._steps_left = steps

    def satisfies(self, schema: JSON, value: object, depth: int) -> bool | None:
        self._steps_left -= 1
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict) or self._steps_left < 0 or depth > _MAX_MATCH_DEPTH:
            return None
        if isinstance(value, Unreadable):
            return None
        return _all(self._outcomes(self._document.meaningful(schema), value, depth))

    def _outcomes(self, schema: JSONObject, value: object, depth: int) -> Iterator[bool | None]:
        own = evaluated(own_keywords(schema)) if has_no_applicators(schema) else own_keywords(schema)
        yield _matches_own_keywords(own, value)
        if any(key in schema for key in _UNDECIDED_KEYWORDS):
            yield None
        for part in self._targets(schema):
            yield self.satisfies(part, value, depth + 1)
        yield from self._applicator_outcomes(schema, value, depth)
        yield from self._content_outcomes(own, value, depth)

    def _targets(self, schema: JSONObject) -> Iterator[JSON]:
        for key in REFERENCES:
            if key in schema:
                try:
                    yield self._document.target(schema[key])
                except UnusableSchema:
                    yield None

    def _applicator_outcomes(self, schema: JSONObject, value: object, depth: int) -> Iterator[bool | None]:
        def one(part: JSON) -> bool | None:
            return self.satisfies(part, value, depth + 1)

        yield from map(one, keywords.schemas(schema, "allOf"))
        if some := keywords.schemas(schema, "anyOf"):
            yield _any(map(one, some))
        if some := keywords.schemas(schema, "oneOf"):
            yield _exactly_one(map(one, some))
        if "not" in schema:
            yield _negated(one(schema["not"]))
        if "if" in schema:
            test = one(schema["if"])
            then = one(schema.get("then", True)) if test is not False else None
            otherwise = one(schema.get("else", True)) if test is not True else None
            yield (then if then is otherwise else None) if test is None else then if test else otherwise

    def _content_outcomes(self, schema: JSONObject, value: object, depth: int) -> Iterator[bool | None]:
        if isinstance(value, Mapping):
            yield from self._member_outcomes(schema, value, depth)
        elif isinstance(value, list):
            yield from self._item_outcomes(schema, value, depth)

    def _member_outcomes(
        self, schema: JSONObject, value: Mapping[str, object], depth: int
    ) -> Iterator[bool | None]:
        present = {name: part for name, draft in value.items() if (part := unwrapped(draft)) is not ABSENT}
        yield keywords.names(schema, "required") <= present.keys()
        yield _in_range(schema, len(present), "minProperties", "maxProperties")
        properties = keywords.named(schema, "properties")
        patterns = keywords.named(schema, "patternProperties")
        for name, part in present.items():
            found = {pattern: try_match(pattern, name) for pattern in patterns}
            if None in found.values():
                yield None
            schemas = [subschema for pattern, subschema in patterns.items() if found[pattern]]
            if name in properties:
                schemas.append(properties[name])
            for subschema in schemas or [schema.get("additionalProperties", True)]:
                yield self.satisfies(subschema, part, depth + 1)

    def _item_outcomes(self, schema: JSONObject, value: list[object], depth: int) -> Iterator[bool | None]:
        positions = keywords.schemas(schema, "prefixItems")
        items = [part for draft in value if (part := unwrapped(draft)) is not ABSENT]
        yield _in_range(schema, len(items), "minItems", "maxItems")
        for position, part in enumerate(items):
            subschema = positions[position] if position < len(positions) else schema.get("items", True)
            yield self.satisfies(subschema, part, depth + 1)
        if "contains" in schema and schema.get("minContains", 1) != 0:
            yield _any(self.satisfies(schema["contains"], part, depth + 1) for part in items)


def _matches_own_keywords(schema: JSONObject, value: object) -> bool | None:
    """Check what can be checked without looking inside the value."""
    types = keywords.types({"type": schema.get("type")})
    if types and not any(is_of_type(value, name) for name in types):
        return False
    choices = schema.get("enum")
    if isinstance(choices, list) and not any(equal(value, choice) for choice in choices):
        return False
    if isinstance(value, str):
        pattern = schema.get("pattern")
        has_match = try_match(pattern, value) if isinstance(pattern, str) else True
        return _all((_in_range(schema, len(value), "minLength", "maxLength"), has_match))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _matches_bounds(schema, value)
    return True


def is_of_type(value: object, name: str) -> bool:
    """True if the value has this JSON Schema type; also true for an unknown type name."""
    kind = _TYPES.get(name)
    return kind is None or kind(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and is_integer(value)


_TYPES: Mapping[str, Callable[[object], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": _is_integer,
    "number": _is_number,
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, Mapping),
}


def _matches_bounds(schema: JSONObject, value: float) -> bool | None:
    if any(isinstance(schema.get(key), bool) for key in _BOUNDS):  # draft 4's flags
        return None
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


def _in_range(schema: JSONObject, size: int, minimum: str, maximum: str) -> bool:
    low, high = keywords.count(schema, minimum), keywords.count(schema, maximum)
    return (low is None or size >= low) and (high is None or size <= high)
