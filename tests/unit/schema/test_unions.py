"""Unions: titles of their variants, and lossless selection of the matching one."""

from __future__ import annotations

import pytest

from inspector.base.json.text import write
from inspector.base.json.values import JSON, JSONObject
from inspector.schema.builder import build_form
from inspector.schema.check import check
from inspector.schema.drafts import ABSENT, Draft, Picked, choose
from inspector.schema.fields import ChoiceField, IntegerField, MapField, ObjectField, TextField, UnionField
from inspector.schema.validation import validate
from inspector.schema.values import (
    FieldError,
    combined_errors,
    draft_of,
    initial_draft,
    initial_variant,
    json_of,
)
from tests.helpers.steps import steps_of
from tests.unit.schema.schema_fields import build_field

SHAPES: JSONObject = {
    "oneOf": [
        {"$ref": "#/$defs/Circle"},
        {
            "title": "A square",
            "type": "object",
            "properties": {"kind": {"enum": ["square", "box"]}, "width": {"type": "number"}},
        },
    ],
    "$defs": {
        "Circle": {
            "type": "object",
            "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}},
            "required": ["kind", "radius"],
        }
    },
}


def union_of(schema: JSON) -> UnionField:
    field = build_field(schema)
    assert isinstance(field, UnionField)
    return field


def titles(schema: JSON) -> list[str]:
    return [variant.title for variant in union_of(schema).variants]


def test_objects_are_distinguished_by_a_discriminator_member() -> None:
    union = union_of(SHAPES)
    assert union.discriminator == "kind"
    assert [variant.tags for variant in union.variants] == [("circle",), ("square", "box")]
    assert choose(union, {"kind": "box", "radius": 1}) == 1
    assert choose(union, {"kind": "circle", "width": 1}) == 0


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        (SHAPES, ["circle", "A square"]),
        ({"type": ["string", "integer", "array"]}, ["string", "integer", "array"]),
        ({"anyOf": [{"type": "string"}, {"type": "string", "format": "date"}]}, ["string", "string (date)"]),
        ({"anyOf": [{"type": "string"}, {"type": "string"}]}, ["string", "string (2)"]),
        ({"anyOf": [{"items": {"type": "string"}}, {"properties": {"a": {}, "b": {}}}]},
         ["array of string", "object with a, b"]),
        ({"anyOf": [{"enum": ["a", "b"]}, {"type": "integer"}, {"const": None}, {"enum": [True]}]},
         ["one of several values", "integer", "true"]),
        ({"oneOf": [{"$ref": "#/$defs/X"}, True], "$defs": {"X": {}}}, ["X", "Variant 2"]),
        ({}, ["string", "number", "boolean", "object", "array"]),
    ],
)  # fmt: skip
def test_every_variant_has_a_unique_name(schema: JSON, names: list[str]) -> None:
    assert titles(schema) == names


@pytest.mark.parametrize(
    ("schema", "value", "position"),
    [
        ({"type": ["string", "integer"]}, 5, 1),
        ({"type": ["integer", "boolean"]}, True, 1),
        ({}, [1], 4),
        ({}, {"a": 1}, 3),
        ({"anyOf": [{"type": "integer", "maximum": 5}, {"type": "integer", "minimum": 6}]}, 7, 1),
        ({"anyOf": [{"pattern": "^[0-9]+$"}, {"pattern": "^[a-z]+$"}]}, "abc", 1),
        ({"anyOf": [{"items": {"type": "string"}}, {"items": {"type": "integer"}}]}, [1], 1),
        ({"anyOf": [{"required": ["a"], "properties": {"a": {}}}, {"properties": {"b": {}}}]}, {"b": 1}, 1),
        ({"anyOf": [{"properties": {"a": {}}}, {"properties": {"a": {}, "b": {}}}]}, {"a": 1, "b": 1}, 1),
        (SHAPES, {"width": "wide"}, 1),
        (SHAPES, ABSENT, 0),
        (SHAPES, None, 0),
    ],
)
def test_matching_variant_of_a_value_is_selected(schema: JSON, value: Draft, position: int) -> None:
    assert choose(union_of(schema), value) == position


def test_picked_variant_stays_picked_although_another_matches_better() -> None:
    union = union_of({"type": ["string", "integer"]})
    assert choose(union, Picked(0, 5)) == 0
    assert check(union, Picked(0, 5)) == []
    assert json_of(union, Picked(0, 5)) == 5


def test_properties_unknown_to_a_variant_are_preserved() -> None:
    union = union_of(SHAPES)
    value: JSON = {"z": [None], "kind": "circle", "radius": 1, "width": 2}
    assert write(json_of(union, draft_of(union, value))) == write(value)  # type: ignore[arg-type]


def test_null_is_a_state_of_the_union_and_not_a_variant() -> None:
    union = union_of({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]})
    assert union.nullable
    assert len(union.variants) == 2
    assert draft_of(union, None) is None
    assert check(union, None) == []


def test_constraints_beside_a_union_apply_to_each_variant() -> None:
    union = union_of(
        {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"],
         "oneOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}
    )  # fmt: skip
    for variant, name in zip(union.variants, ("a", "b"), strict=True):
        assert isinstance(variant.field, ObjectField)
        assert {member.name: member.required for member in variant.field.members} == {"id": True, name: False}


def test_two_simultaneous_unions_are_nested() -> None:
    union = union_of(
        {"anyOf": [{"type": "string"}, {"type": "integer"}],
         "allOf": [{"anyOf": [{"title": "short"}, {"title": "long"}, {"minimum": 3}]}]}
    )  # fmt: skip
    inner = union.variants[0].field
    assert isinstance(inner, UnionField)
    assert isinstance(inner.variants[0].field, TextField)


def test_a_union_of_constants_is_a_choice() -> None:
    field = build_field({"anyOf": [{"const": 1, "title": "one"}, {"enum": [2]}, {"type": "null"}]})
    assert isinstance(field, ChoiceField)
    assert (field.choices, field.labels, field.nullable) == ((1, 2), ("one", ""), True)


def test_arguments_with_several_shapes_are_a_union_of_the_whole() -> None:
    form = build_form(SHAPES)
    assert form.union is not None
    assert form.members == ()
    value: JSONObject = {"kind": "circle", "radius": 2, "more": 1}
    assert json_of(form, draft_of(form, value)) == value
    assert [str(error) for error in check(form, {"kind": "circle"})] == ["radius: is required but not set"]


def test_unconstrained_value_has_an_editor_for_each_type() -> None:
    union = union_of(True)
    assert union.is_any
    assert union.nullable
    inner = union.variants[3].field
    assert isinstance(inner, MapField)
    assert isinstance(inner.value, UnionField)


def test_variant_starts_with_its_discriminator() -> None:
    union = union_of(SHAPES)
    assert initial_variant(union, 0) == Picked(0, {"kind": "circle"})
    assert initial_draft(union_of({"type": ["integer", "string"]})) == Picked(0, ABSENT)


def test_recursive_union_of_unions_is_resolved_in_bounded_steps() -> None:
    expression: JSON = {
        "anyOf": [
            {"properties": {f"op{n}": {"$ref": "#"}, "left": {"$ref": "#"}, "right": {"$ref": "#"}}}
            for n in range(10)
        ]
    }

    def steps(depth: int) -> int:
        value: JSON = {"left": {}, "right": {}}
        for _ in range(depth):
            value = {"left": value, "right": value}
        return steps_of(lambda: choose(union_of(expression), value))

    assert steps(14) < 1.01 * steps(10)


def test_variants_are_fields_like_any_other() -> None:
    union = union_of({"type": ["string", "integer"], "minimum": 3, "maxLength": 2})
    text, number = (variant.field for variant in union.variants)
    assert isinstance(text, TextField)
    assert isinstance(number, IntegerField)
    assert (text.max_length, number.minimum) == (2, 3)


def test_union_errors_are_those_of_the_picked_variant_and_counted_once() -> None:
    schema: JSON = {"anyOf": [{"type": "integer", "minimum": 5}, {"type": "integer", "maximum": 1}]}
    union = union_of(schema)
    instant = check(union, Picked(1, 3), "/x")
    assert [error.problem for error in instant] == ["must be at most 1, got 3"]
    found = validate({"properties": {"x": schema}}, {"x": 3}).errors
    assert combined_errors(instant, found, is_final=True) == instant


def test_value_of_the_wrong_type_names_every_type() -> None:
    union = union_of({"type": ["string", "integer"]})
    assert [error.problem for error in check(union, Picked(0, []))] == [
        "must be one of: string, integer; got an array"
    ]


def test_full_validation_overrules_an_immediate_check() -> None:
    entry = FieldError("/a", "is a duplicate key", is_entry=True)
    wrong = FieldError("/b", "must be an integer")
    assert combined_errors([entry, wrong], [], is_final=True) == [entry]
    assert combined_errors([entry, wrong], [], is_final=False) == [entry, wrong]
