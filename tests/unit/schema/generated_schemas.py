"""Schemas of every construct, each with a value that is valid for it: strategies for Hypothesis."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from hypothesis import strategies as st

from inspector.base.json.values import JSON, JSONObject, read_number

Case: TypeAlias = "tuple[JSON, JSON]"
Cases: TypeAlias = "st.SearchStrategy[Case]"

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["", " ", "null", "1", "a\nb", "\u2028", "\U0001f469\u200d\U0001f467"]
)
names = st.text("abcxyz/~é ", min_size=1, max_size=4)
number_texts = st.from_regex(r"\A-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?\Z")
awkward_numbers = st.sampled_from(
    ["1e400", "-1e-400", "-0", "-0.0", "0.1", "1.10", "1E+2", "9007199254740993", "0.30000000000000004"]
)
numbers = st.integers() | (number_texts | awkward_numbers).map(read_number).filter(
    lambda number: number is not None
)
anything: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)


def of(schema: JSON, values: st.SearchStrategy[JSON]) -> Cases:
    return st.tuples(st.just(schema), values)


def _integers(low: int, size: int, step: int) -> Cases:
    schema: JSON = {
        "type": "integer",
        "minimum": low * step,
        "maximum": (low + size) * step,
        "multipleOf": step,
    }
    return of(schema, st.integers(low, low + size).map(lambda number: number * step))


def _exclusive(low: int, size: int) -> Cases:
    schema: JSON = {"type": "integer", "exclusiveMinimum": low, "exclusiveMaximum": low + size + 2}
    return of(schema, st.integers(low + 1, low + size + 1))


def _texts(minimum: int, more: int) -> Cases:
    schema: JSON = {"type": "string", "minLength": minimum, "maxLength": minimum + more}
    return of(schema, st.text("abé😀", min_size=minimum, max_size=minimum + more))


def _choices(values: list[JSON]) -> Cases:
    return of({"enum": values}, st.sampled_from(values))


def _titled(values: list[str]) -> Cases:
    """Choices with titles, in every notation."""
    old: JSON = {"type": "string", "enum": [*values], "enumNames": [f"The {one}" for one in values]}
    new: JSON = {"type": "string", "oneOf": [{"const": one, "title": f"The {one}"} for one in values]}
    plain: JSON = {"anyOf": [{"enum": [*values]}, {"const": 1}]}
    several: JSON = {"type": "array", "items": {"anyOf": [{"const": one, "title": one} for one in values]}}
    one = st.sampled_from(values)
    return of(old, one) | of(new, one) | of(plain, one | st.just(1)) | of(several, st.lists(one, max_size=4))


small = st.integers(0, 4)
leaves: Cases = st.one_of(
    of({"type": "string"}, texts),
    of({"type": "string", "format": "date"}, st.dates().map(str)),
    of({"type": "string", "pattern": "^[a-c]{2}$"}, st.text("abc", min_size=2, max_size=2)),
    of({"type": "string", "contentEncoding": "base64"}, st.just("aGk=")),
    st.builds(_texts, small, small).flatmap(lambda case: case),
    of({"type": "integer"}, st.integers()),
    st.builds(_integers, st.integers(), small, st.integers(1, 9)).flatmap(lambda case: case),
    st.builds(_exclusive, st.integers(), small).flatmap(lambda case: case),
    of({"type": "number", "default": 1.5}, numbers),
    of({"type": "boolean", "deprecated": True}, st.booleans()),
    of({"type": "null"}, st.none()),
    of({"type": ["string", "integer", "null"]}, texts | st.integers() | st.none()),
    of({"type": ["boolean", "array"]}, st.booleans() | st.lists(anything, max_size=2)),
    of({}, anything),
    of(True, anything),
    anything.flatmap(lambda value: of({"const": value}, st.just(value))),
    st.lists(anything, min_size=1, max_size=4).flatmap(_choices),
    st.lists(texts, min_size=1, max_size=4, unique=True).flatmap(_titled),
)  # fmt: skip


@st.composite
def lists(draw: st.DrawFn, inner: Cases) -> Case:
    """All items of one kind; the schema comes from one case, so items are drawn to fit it."""
    schema, value = draw(inner)
    count = draw(st.integers(0, 3))
    return {"type": "array", "items": schema, "minItems": count, "maxItems": count}, [value] * count


@st.composite
def unique_lists(draw: st.DrawFn) -> Case:
    value: list[JSON] = [*draw(st.lists(st.integers(), unique=True, max_size=4))]
    return {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, value


@st.composite
def tuples(draw: st.DrawFn, inner: Cases) -> Case:
    locations = draw(st.lists(inner, min_size=1, max_size=3))
    rest, more = draw(inner)
    schema: JSONObject = {"type": "array", "prefixItems": [part for part, _ in locations], "items": rest}
    value = [part for _, part in locations][: draw(st.integers(0, 3))]
    return schema, value + [more] * (draw(st.integers(0, 2)) if len(value) == len(locations) else 0)


@st.composite
def closed_tuples(draw: st.DrawFn, inner: Cases) -> Case:
    """Half of the positions behind `allOf`, and no items after them."""
    locations = draw(st.lists(inner, min_size=1, max_size=3))
    prefix: list[JSON] = [part for part, _ in locations]
    schema: JSON = {"type": "array", "allOf": [{"prefixItems": prefix}], "unevaluatedItems": False}
    return schema, [part for _, part in locations][: draw(st.integers(0, 3))]


@st.composite
def objects(draw: st.DrawFn, inner: Cases) -> Case:
    """Some members absent, keys in any order, perhaps additional keys."""
    members = draw(st.dictionaries(names, inner, max_size=4))
    value: JSONObject = {name: part for name, (_, part) in members.items() if draw(st.booleans())}
    schema: JSONObject = {
        "type": "object",
        "properties": {name: part for name, (part, _) in members.items()},
        "required": [name for name in value if draw(st.booleans())],
    }
    rest, more = draw(inner)
    if draw(st.booleans()):
        schema["additionalProperties"] = rest
        value.update((f"+{name}", more) for name in draw(st.sets(names, max_size=2)))
    elif draw(st.booleans()):
        schema["additionalProperties"] = False
    return schema, _shuffled(draw, value)


@st.composite
def maps(draw: st.DrawFn, inner: Cases) -> Case:
    schema, value = draw(inner)
    given, plain = draw(inner)
    keys = draw(st.sets(names, max_size=3))
    whole: JSONObject = {
        "type": "object",
        "additionalProperties": schema,
        "patternProperties": {"^x-": given},
        "propertyNames": {"maxLength": 9},
    }
    members: JSONObject = dict.fromkeys(keys, value)
    if draw(st.booleans()):
        members["x-1"] = plain
    return whole, _shuffled(draw, members)


@st.composite
def unions(draw: st.DrawFn, inner: Cases) -> Case:
    """Any branches; the value matches one of them."""
    branches = draw(st.lists(inner, min_size=1, max_size=3))
    _, value = draw(st.sampled_from(branches))
    schema: JSONObject = {"anyOf": [part for part, _ in branches]}
    if draw(st.booleans()):
        schema["anyOf"] = [{"type": "null"}, *(part for part, _ in branches)]
        value = draw(st.sampled_from([None, value]))
    return schema, value


@st.composite
def tagged_unions(draw: st.DrawFn, inner: Cases) -> Case:
    """Objects distinguished by a member."""
    parts = draw(st.lists(inner, min_size=2, max_size=3))
    branches: list[JSON] = [
        {"properties": {"kind": {"const": f"k{position}"}, "it": part}, "required": ["kind", "it"]}
        for position, (part, _) in enumerate(parts)
    ]
    right = draw(st.integers(0, len(parts) - 1))
    value: JSONObject = {"kind": f"k{right}", "it": parts[right][1], "own": draw(texts)}
    return {"type": "object", "oneOf": branches}, _shuffled(draw, value)


@st.composite
def merged(draw: st.DrawFn, inner: Cases) -> Case:
    """`allOf` of an object's halves, one of them behind a reference."""
    one, other = draw(inner), draw(inner)
    schema: JSON = {
        "allOf": [
            {"type": "object", "properties": {"a": one[0]}, "required": ["a"]},
            {"properties": {"b": other[0], "a": True}},
        ]
    }
    return schema, {"b": other[1], "a": one[1]}


@st.composite
def closed(draw: st.DrawFn, inner: Cases) -> Case:
    """Objects whose unevaluated properties are forbidden."""
    one, other, more = draw(inner), draw(inner), draw(inner)
    schema: JSON = {
        "type": "object",
        "allOf": [{"properties": {"a": one[0]}}],
        "dependentSchemas": {"a": {"properties": {"b": other[0]}, "required": ["b"]}},
        "patternProperties": {"^x-": more[0]},
        "properties": {"c": {"type": "integer"}, "x-c": True},
        "unevaluatedProperties": False,
    }
    value: JSONObject = {"c": draw(st.integers())}
    if draw(st.booleans()):
        value.update(a=one[1], b=other[1])
    if draw(st.booleans()):
        value["x-c"] = more[1]
    return schema, _shuffled(draw, value)


@st.composite
def conditional(draw: st.DrawFn, inner: Cases) -> Case:
    """A member that depends on a boolean, and one that requires another."""
    part, value = draw(inner)
    schema: JSON = {
        "type": "object",
        "properties": {"on": {"type": "boolean"}, "extra": {"type": "string"}},
        "if": {"properties": {"on": {"const": True}}, "required": ["on"]},
        "then": {"properties": {"it": part}, "required": ["it"]},
        "else": {"properties": {"off": {"type": "integer"}}},
        "dependentRequired": {"extra": ["on"]},
    }
    is_on = draw(st.booleans())
    chosen: JSONObject = {"on": True, "it": value} if is_on else {"on": False, "off": draw(st.integers())}
    if draw(st.booleans()):
        chosen["extra"] = draw(texts)
    return schema, _shuffled(draw, chosen)


@st.composite
def trees(draw: st.DrawFn) -> Case:
    """A schema that refers to itself; `documents` creates the document with its definition."""

    def grow(depth: int) -> JSON:
        children = draw(st.lists(st.just(0), max_size=2 if depth < 3 else 0))
        return {"name": draw(texts), "children": [grow(depth + 1) for _ in children]}

    return {"$ref": draw(st.sampled_from(["#/$defs/tree", "#tree"]))}, grow(0)


TREE: JSONObject = {
    "$anchor": "tree",
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
    },
    "required": ["name"],
}
_containers: tuple[Callable[[Cases], Cases], ...] = (
    lists, tuples, closed_tuples, objects, maps, unions, tagged_unions, merged, closed, conditional,
)  # fmt: skip


def _deeper(inner: Cases) -> Cases:
    return st.one_of(*(make(inner) for make in _containers))


parts: Cases = st.recursive(leaves | trees() | unique_lists(), _deeper, max_leaves=6)


@st.composite
def documents(draw: st.DrawFn) -> tuple[JSONObject, JSONObject]:
    """Arguments: a whole schema with its definitions, and a value that is valid for it."""
    members = draw(st.dictionaries(names, parts, min_size=1, max_size=3))
    schema: JSONObject = {
        "type": "object",
        "properties": {name: part for name, (part, _) in members.items()},
        "$defs": {"tree": TREE},
    }
    return schema, _shuffled(draw, {name: value for name, (_, value) in members.items()})


def _shuffled(draw: st.DrawFn, value: JSONObject) -> JSONObject:
    return {name: value[name] for name in draw(st.permutations(list(value)))}
