"""Conditions on members (`if`/`then`/`else`, `dependent…`), and the variants of a union.

Conditions decide which members of an object apply to a draft. For a union (`oneOf`, `anyOf`, several
types), this builds the variants, their titles, and finds the member that distinguishes them
(discriminator).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from inspector.base.json.text import write_line
from inspector.base.json.values import JSON, JSONObject, shorten
from inspector.schema import keywords
from inspector.schema.drafts import ABSENT, MAX_STEPS, is_of_type, satisfies, unwrapped
from inspector.schema.fields import Condition, Field, Variant
from inspector.schema.flatten import Alternatives, Conditional, Flat, flatten
from inspector.schema.references import CURRENT, REFERENCES, Document

MAX_CONDITIONS = 50
MAX_VARIANTS = 200
ANY_TYPES = ("string", "number", "boolean", "object", "array")
_TYPE_LABELS = {
    "string": "string",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
    "object": "object",
    "array": "array",
}
# Keywords about which members are present: a union of only these is no choice between shapes.
_PRESENCE_KEYWORDS = frozenset(
    ("required", "not", "title", "description", "$comment", "minProperties", "maxProperties")
)

Build = Callable[[JSON], Field]


def conditions_of(conditionals: list[Conditional], document: Document) -> tuple[Condition, ...]:
    """Return the conditions to evaluate for a draft, in schema order."""
    found = []
    for one in conditionals[:MAX_CONDITIONS]:
        if one.key is not None:
            found.append(
                Condition(f"{shorten(one.key, 40) or write_line('')} is set", partial(_has, one.key))
            )
        else:
            found.append(Condition(_condition_text(one.test), partial(_satisfies, one.test, document)))
    return tuple(found)


def schemas_under(conditionals: list[Conditional], outcomes: tuple[bool, ...]) -> list[JSON]:
    """Return the schemas that apply in addition, given the outcomes of the conditions."""
    pairs = zip(conditionals, outcomes, strict=False)
    parts = [one.then if outcome else one.otherwise for one, outcome in pairs]
    return [part for part in parts if part is not True]


def _has(key: str, draft: Mapping[str, object]) -> bool:
    return unwrapped(draft.get(key, ABSENT)) is not ABSENT


def _satisfies(test: JSON, document: Document, draft: Mapping[str, object]) -> bool | None:
    return satisfies(test, draft, document)


def _condition_text(test: JSON) -> str:
    """Describe a common condition in words; any other as its schema."""
    if isinstance(test, dict) and test.keys() <= {"properties", "required", "type"}:
        conditions = [
            _member_condition_text(name, part) for name, part in keywords.named(test, "properties").items()
        ]
        names = keywords.names(test, "required") - keywords.named(test, "properties").keys()
        conditions += [f"{shorten(name, 40)} is set" for name in sorted(names)]
        if conditions and all(conditions):
            return " and ".join(conditions)
    return f"the value matches {shorten(write_line(test), 80)}"


def _member_condition_text(name: str, part: JSON) -> str:
    shown = shorten(name, 40)
    if not isinstance(part, dict):
        return ""
    if "const" in part:
        return f"{shown} is {shorten(write_line(part['const']), 40)}"
    if choices := keywords.schemas(part, "enum"):
        return f"{shown} is one of {shorten(write_line(choices), 80)}"
    return _negated_text(shown, part)


def _negated_text(shown: str, part: JSONObject) -> str:
    unwanted = part.get("not")
    if isinstance(unwanted, dict) and "const" in unwanted:
        return f"{shown} is not {shorten(write_line(unwanted['const']), 40)}"
    return ""


def type_variants(schema: JSONObject, types: Sequence[str], build: Build) -> tuple[Variant, ...]:
    """Return a variant for each type, with the schema's rules; null is a field state instead."""
    known = [name for name in types if name != "null" and not (name == "integer" and "number" in types)]
    variants = []
    for name in known:
        part = {**_without_annotations(schema), "type": name}
        test = partial(is_of_type, name=name)
        variants.append(Variant(_TYPE_LABELS.get(name, name[:40]), partial(build, part), satisfies=test))
    return tuple(variants)


def branch_variants(
    flat: Flat, union: Alternatives, document: Document, build: Build
) -> tuple[tuple[Variant, ...], str]:
    """Return a variant for each branch, merged with the common rules, and the discriminator."""
    common = _common_schemas(flat, union)
    parts = [flatten(branch, document) for branch in union.branches]
    discriminator = _discriminator(parts)
    steps = MAX_STEPS // len(parts)  # in total: a union of many branches must not cost more than one of few
    titles = _titles(union.branches, parts, discriminator)
    variants = []
    for branch, part, title in zip(union.branches, parts, titles, strict=True):
        tags = _tags(part, discriminator)
        whole: JSON = {"allOf": [branch, *common]} if common else branch
        test = partial(_matches_branch, branch, document, steps)
        variants.append(Variant(title, partial(build, whole), tags, test))
    return tuple(variants), discriminator


@dataclass(frozen=True, slots=True)
class Branches:
    """The branches of a union: a title for each, the discriminator, and each branch's values of it."""

    titles: list[str]
    discriminator: str = ""
    tags: Sequence[tuple[JSON, ...]] = ()

    @staticmethod
    def read(schemas: Sequence[JSON], document: Document) -> Branches:
        parts = [flatten(schema, document) for schema in schemas]
        name = _discriminator(parts)
        return Branches(_titles(schemas, parts, name), name, [_tags(part, name) for part in parts])


def accepts_null(flat: Flat, union: Alternatives, document: Document) -> bool:
    """True if null certainly matches a schema with one union, through one of its branches."""
    types = keywords.types({"type": flat.schema.get("type")})
    if (types and "null" not in types) or len(flat.unions) > 1 or flat.conditionals or flat.hidden_keywords:
        return False
    outcomes = [satisfies(branch, None, document) for branch in union.branches]
    return (
        outcomes.count(True) == 1 and None not in outcomes if union.keyword == "oneOf" else True in outcomes
    )


def is_about_presence(union: Alternatives) -> bool:
    """True if the branches only say which members are required: `anyOf: [{required: …}, …]`."""
    return all(isinstance(part, dict) and part.keys() <= _PRESENCE_KEYWORDS for part in union.branches)


def presence_note(union: Alternatives) -> str:
    """Describe a union that is only about presence in a sentence."""
    sets = [
        " and ".join(sorted(keywords.names(part, "required"))[:6]) if isinstance(part, dict) else ""
        for part in union.branches[:6]
    ]
    if not all(sets):
        return f"The form does not show these constraints: {union.keyword}."
    how = "exactly one of" if union.keyword == "oneOf" else "at least one of"
    return f"Requires {how}: {shorten('; '.join(sets), 200)}."


def _common_schemas(flat: Flat, union: Alternatives) -> list[JSON]:
    """Return what applies besides one union, as schemas."""
    own = _without_annotations(flat.schema)
    if union.keyword == "anyOf":  # a value may match several branches, which evaluate it together
        own = {key: part for key, part in own.items() if not key.startswith("unevaluated")}
    parts: list[JSON] = [own] if own.keys() - {CURRENT} else []
    parts += [{other.keyword: other.branches} for other in flat.unions if other is not union]
    for one in flat.conditionals:
        parts.append(
            {CURRENT: True, "dependentSchemas": {one.key: one.then}}
            if one.key is not None
            else {"if": one.test, "then": one.then, "else": one.otherwise}
        )
    return parts


def _without_annotations(schema: JSONObject) -> JSONObject:
    """Return the schema without the annotations that are shown on the union itself."""
    annotations = ("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly")
    return {key: part for key, part in schema.items() if key not in annotations}


def _matches_branch(schema: JSON, document: Document, steps: int, draft: object) -> bool:
    return satisfies(schema, draft, document, steps) is not False


def _discriminator(parts: Sequence[Flat]) -> str:
    """Return the first member with distinct constant values in every variant."""
    if not parts or not all(keywords.named(part.schema, "properties") for part in parts):
        return ""
    for name in keywords.named(parts[0].schema, "properties"):
        tags = [write_line(tag) for part in parts for tag in _tags(part, name)]
        if all(_tags(part, name) for part in parts) and len(set(tags)) == len(tags):
            return name
    return ""


def _tags(part: Flat, name: str) -> tuple[JSON, ...]:
    """Return the values that a variant itself lists for a member."""
    member = keywords.named(part.schema, "properties").get(name)
    if not name or not isinstance(member, dict):
        return ()
    if "const" in member:
        return (member["const"],)
    return tuple(keywords.schemas(member, "enum"))


def _titles(branches: Sequence[JSON], parts: Sequence[Flat], discriminator: str) -> list[str]:
    """Return a distinct title for each variant."""
    titles: list[str] = []
    for position, (branch, part) in enumerate(zip(branches, parts, strict=True), start=1):
        title = _title(branch, part, _tags(part, discriminator), position)
        titles.append(f"{title} ({position})" if title in titles else title)
    return titles


def _title(branch: JSON, part: Flat, tags: tuple[JSON, ...], position: int) -> str:
    for title in (
        keywords.text(branch, "title", limit=80) if isinstance(branch, dict) else "",
        keywords.text(part.schema, "title", limit=80),
        _tags_text(tags),
        _reference_name(branch),
        _type_text(part),
    ):
        if title:
            return title
    return f"Variant {position}"


def _tags_text(tags: tuple[JSON, ...]) -> str:
    parts = [tag if isinstance(tag, str) else write_line(tag) for tag in tags[:3]]
    return shorten(", ".join(parts), 80)


def _reference_name(branch: JSON) -> str:
    for key in REFERENCES:
        reference = branch.get(key) if isinstance(branch, dict) else None
        if isinstance(reference, str):
            return shorten(reference.rpartition("/")[2].removeprefix("#"), 80)
    return ""


def _type_text(part: Flat) -> str:
    """Describe a branch without a name: its type and what distinguishes it."""
    choices = keywords.schemas(part.schema, "enum")
    if len(choices) == 1:
        return shorten(write_line(choices[0]), 80)
    if choices:
        return "one of several values"
    types = keywords.implied_types(part.schema)
    if len(types) != 1:
        return ""
    parts = _TYPE_LABELS.get(types[0], types[0][:40])
    if types[0] == "object" and (names := keywords.named(part.schema, "properties")):
        return shorten(f"object with {', '.join(list(names)[:3])}", 80)
    if types[0] == "array" and isinstance(items := part.schema.get("items"), dict):
        inner = keywords.implied_types(items)
        return f"array of {_TYPE_LABELS.get(inner[0], inner[0][:40])}" if len(inner) == 1 else parts
    format_name = keywords.text(part.schema, "format", limit=40)
    return f"{parts} ({format_name})" if format_name else parts
