"""Forms built from schemas; a construct without an editor becomes raw JSON with the reason."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.base.json.values import JSON, JSONObject
from inspector.schema.builder import MAX_DEPTH, MAX_FIELDS, build_form
from inspector.schema.check import check
from inspector.schema.fields import (
    BooleanField,
    ChoiceField,
    ConstField,
    Field,
    IntegerField,
    JsonField,
    ListField,
    MapField,
    Member,
    NumberField,
    ObjectField,
    TextField,
    TupleField,
    UnionField,
    summary,
)
from inspector.schema.values import ABSENT, draft_of, json_of
from tests.helpers.steps import steps_of


def field_of(schema: JSON, **definitions: JSON) -> Field:
    form = build_form({"type": "object", "properties": {"x": schema}, "$defs": definitions})
    assert [member.name for member in form.members] == ["x"]
    return form.members[0].field


def reason_of(schema: JSON) -> str:
    field = field_of(schema)
    assert isinstance(field, JsonField)
    return field.reason


@pytest.mark.parametrize(
    ("schema", "kind", "expected"),
    [
        ({"type": "string"}, TextField, "string"),
        (
            {"type": "string", "format": "date", "maxLength": 10},
            TextField,
            "string, date, at most 10 characters",
        ),
        ({"type": "integer", "minimum": 1, "maximum": 100}, IntegerField, "integer, 1 to 100"),
        ({"type": "number", "exclusiveMinimum": 0}, NumberField, "number, > 0"),
        ({"type": "boolean"}, BooleanField, "boolean"),
        ({"enum": ["a", 1, {"b": None}]}, ChoiceField, "enum"),
        ({"const": 5}, ConstField, "constant"),
        ({"type": "null"}, ConstField, "constant"),
        ({"type": "array", "items": {"type": "string"}}, ListField, "array of string"),
        ({"type": ["string", "null"]}, TextField, "string or null"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, IntegerField, "integer or null"),
        ({"oneOf": [{"type": "null"}, {"enum": ["a"]}]}, ConstField, "constant or null"),
        ({"enum": ["a", "b", None]}, ChoiceField, "enum or null"),
        ({"allOf": [{"type": "boolean"}], "default": True}, BooleanField, "boolean"),
        ({"properties": {"y": {"type": "string"}}}, ObjectField, "object"),
        ({"type": "array", "items": {"properties": {"a": {}}}}, ListField, "array of object"),
        ({"type": "array"}, ListField, "array of any value"),
        ({"type": "array", "prefixItems": [{}, {}]}, TupleField, "array of 2 items"),
        ({"items": [{"type": "string"}], "additionalItems": False}, TupleField, "array of 1 item"),
        ({"type": "object"}, MapField, "object of any value"),
        (
            {"additionalProperties": {"type": "string"}, "maxProperties": 3},
            MapField,
            "object of string, at most 3 keys",
        ),
        ({"patternProperties": {"^x": {}}, "additionalProperties": False}, MapField, "object"),
        ({"type": ["string", "integer", "null"]}, UnionField, "string or integer or null"),
        ({"type": ["number", "integer"]}, NumberField, "number"),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, UnionField, "string or integer"),
        ({}, UnionField, "any value"),
        ({"minLength": 3}, TextField, "string, at least 3 characters"),
        ({"type": "string", "contentEncoding": "base64"}, TextField, "string, base64"),
    ],
)
def test_each_construct_gets_its_own_kind_of_field(schema: JSON, kind: type[Field], expected: str) -> None:
    field = field_of(schema)
    assert type(field) is kind
    assert summary(field) == expected


def test_annotations_are_carried_over_and_the_outer_ones_win() -> None:
    field = field_of(
        {"$ref": "#/$defs/Color", "title": "Outer", "default": None, "examples": ["red"]},
        Color={"enum": ["red", "green"], "title": "Inner", "description": "Which"},
    )
    assert isinstance(field, ChoiceField)
    assert (field.title, field.description, field.default) == ("Outer", "Which", None)
    assert field.examples == ("red",)
    assert field_of({"type": "string"}).default is ABSENT


def test_choices_may_carry_titles() -> None:
    field = field_of({"oneOf": [{"const": "a", "title": "First"}, {"const": "b", "title": "Second"}]})
    assert isinstance(field, ChoiceField)
    assert field.choices == ("a", "b")
    assert field.labels == ("First", "Second")


def test_members_keep_schema_order_and_know_if_they_are_required() -> None:
    form = build_form({"properties": {"b": {}, "a": {}}, "required": ["a", 7]})
    assert [(member.name, member.required) for member in form.members] == [("b", False), ("a", True)]


def test_required_but_undescribed_name_is_a_member_too() -> None:
    schema: JSONObject = {"required": ["ghost"], "additionalProperties": {"type": "integer"}}
    (ghost,) = build_form(schema).members
    assert (ghost.name, ghost.required, type(ghost.field)) == ("ghost", True, IntegerField)
    closed = build_form({"required": ["ghost"], "additionalProperties": False})
    assert closed.notes == ("The schema requires properties it does not allow: ghost.",)


def test_local_references_are_followed_through_escapes_and_chains() -> None:
    definitions: dict[str, JSON] = {"a/b c": {"$ref": "#/$defs/n"}, "n": {"type": "integer"}}
    field = field_of({"$ref": "#/$defs/a~1b%20c"}, **definitions)
    assert isinstance(field, IntegerField)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"$ref": "http://127.0.0.1/x"}, "external and never fetched"),
        ({"$ref": "#/$defs/none"}, "which does not exist in it"),
        ({"$ref": 5}, "$ref is a number instead of a string"),
        ({"$ref": "#/properties/x"}, "refers back to itself (#/properties/x) and never ends"),
        ({"allOf": [{"allOf": [{"$ref": "#/properties/x"}]}]}, "refers back to itself"),
        ({"anyOf": [{"$ref": "#/properties/x"}, {"type": "null"}]}, "more than 1,500 parts"),
        ({"type": "color"}, "'color' is not a JSON Schema type"),
        ({"type": ["color", "string"]}, "'color' is not a JSON Schema type"),
        ({"oneOf": [{"minimum": n} for n in range(201)]}, "201 variants"),
        ({"enum": list(range(1001))}, "1,001 choices"),
        ({"type": "string", "allOf": [{"type": "integer"}]}, "one requires string, the other integer"),
        ({"enum": ["a"], "allOf": [{"enum": ["b"]}]}, 'no value is in both ["a"] and ["b"]'),
        (False, "allows no value"),
        (["string"], "is an array instead of an object"),
    ],
)
def test_construct_without_an_editor_becomes_raw_json_with_the_reason(schema: JSON, expected: str) -> None:
    assert expected in reason_of(schema)


def test_recursive_schema_expands_on_demand_down_to_a_limit() -> None:
    node: JSON = {"properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/Node"}}}
    field, depth = field_of({"$ref": "#/$defs/Node"}, Node=node), 0
    while isinstance(field, ObjectField):
        name, following = (member.field for member in field.members)
        assert isinstance(name, TextField)
        field, depth = following, depth + 1
    assert depth == MAX_DEPTH
    assert isinstance(field, JsonField)
    assert field.reason == f"The schema is nested more than {MAX_DEPTH} levels deep."


def test_rules_not_shown_by_the_form_are_named() -> None:
    form = build_form(
        {"properties": {"a": {}, "b": {}, "c": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b", "c"]}],
         "not": {"required": ["a", "b"]}}
    )  # fmt: skip
    assert form.notes == (
        "Requires at least one of: a; b and c.",
        "The form does not show these constraints: not.",
    )


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"description": "No arguments"}])
def test_schema_without_members_is_an_empty_form(schema: JSON) -> None:
    form = build_form(schema)
    assert (form.members, form.notes) == ((), ())


@pytest.mark.parametrize("schema", [None, True, 5, "object", [], [{}], {"type": "string"}, {"$ref": "#/x"}])
def test_non_object_schema_gives_an_empty_form_that_says_so(schema: JSON) -> None:
    form = build_form(schema)
    assert form.members == ()
    assert form.notes[0].endswith("Enter JSON instead.")


def deep(wrap: str, depth: int) -> JSON:
    schema: JSON = {"type": "string"}
    for _ in range(depth):
        schema = {
            "properties": {"type": "object", "properties": {"p": schema}},
            "items": {"type": "array", "items": schema},
            "allOf": {"allOf": [schema]},
            "anyOf": {"anyOf": [schema, {"type": "null"}]},
        }[wrap]  # type: ignore[assignment]
    return schema


def test_equal_parts_nested_a_thousand_deep_are_compared_safely() -> None:
    field = field_of({"$ref": "#/$defs/a", "enum": [deep("items", 1000)]}, a={"enum": [deep("items", 1000)]})
    assert isinstance(field, ChoiceField)
    assert check(ObjectField(members=(Member("x", field),)), {"x": deep("items", 1000)}) == []


@pytest.mark.parametrize("wrap", ["properties", "items", "allOf", "anyOf"])
def test_a_schema_nested_a_thousand_deep_still_gives_a_form(wrap: str) -> None:
    field, depth = build_form({"properties": {"x": deep(wrap, 1000)}}).members[0].field, 1
    while isinstance(field, ObjectField | ListField):
        field = field.members[0].field if isinstance(field, ObjectField) else field.item
        depth += 1
    if wrap in ("properties", "items"):
        assert isinstance(field, JsonField)
        assert depth == MAX_DEPTH + 1
    else:  # no more than one field, however often it is wrapped
        assert isinstance(field, TextField)


def test_huge_schema_is_truncated_and_says_so() -> None:
    form = build_form({"properties": {f"p{i}": {"type": "string"} for i in range(100_000)}})
    assert len(form.members) == MAX_FIELDS
    assert "more fields not shown" in form.notes[0]


def test_exponential_references_are_bounded() -> None:
    """Ten members that each have ten members of the next kind: 10^9 fields, if all of them were built."""

    def build(levels: int) -> int:
        kinds: dict[str, JSON] = {
            f"k{level}": {"properties": {f"p{i}": {"$ref": f"#/$defs/k{level + 1}"} for i in range(10)}}
            for level in range(levels)
        }
        schema: JSON = {"$ref": "#/$defs/k0", "$defs": {**kinds, f"k{levels}": {"type": "string"}}}

        def work() -> None:
            assert len(build_form(schema).members) == 10

        return steps_of(work)

    assert build(9) < 1.5 * build(2)


keywords = st.sampled_from(
    ["type", "properties", "required", "items", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "$defs",
     "default", "examples", "title", "description", "minimum", "multipleOf", "minLength", "maxItems",
     "format", "additionalProperties", "prefixItems", "uniqueItems", "pattern", "not", "if", "then", "else",
     "dependentSchemas", "dependentRequired", "patternProperties", "propertyNames", "$anchor", "$id", "x"]
)  # fmt: skip
expected = st.sampled_from(
    ["string", "integer", "number", "boolean", "array", "object", "null", "#", "#/$defs/x", "#/properties/x",
     "#/items/0", "#/anyOf/-1", "#/anyOf/99", "#x", "file:///etc/passwd", "http://[", ""]
)  # fmt: skip
hostile = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 10**30) | st.floats() | expected | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keywords, inner, max_size=6),
    max_leaves=40,
)


@settings(max_examples=100, deadline=None)
@given(schema=hostile, value=hostile)
def test_no_schema_or_value_raises(schema: JSON, value: JSON) -> None:
    form = build_form({"properties": {"x": schema}, "$defs": {"x": schema}})
    assert isinstance(build_form(schema), ObjectField)
    summary(form.members[0].field)
    check(form, {"x": value})
    assert isinstance(json_of(form, {"x": value}), dict)
    assert json_of(form, draft_of(form, {"x": value})) is not ABSENT
