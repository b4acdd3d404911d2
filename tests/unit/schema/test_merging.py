"""Schema flattening: parts are merged, and references inside the document are followed."""

from __future__ import annotations

from typing import TypeVar

import pytest

from inspector.base.json.values import JSON, JSONObject
from inspector.schema.builder import build_form
from inspector.schema.check import check
from inspector.schema.fields import (
    ChoiceField,
    Field,
    IntegerField,
    JsonField,
    ListField,
    MapField,
    NumberField,
    ObjectField,
    TextField,
    TupleField,
)
from inspector.schema.samples import example
from tests.unit.schema.schema_fields import build_field

F = TypeVar("F", bound=Field)


def merged(kind: type[F], *parts: JSON) -> F:
    field = build_field({"allOf": list(parts)})
    assert isinstance(field, kind), field
    return field


def test_bounds_intersect() -> None:
    field = merged(
        IntegerField,
        {"type": "integer", "minimum": 1, "maximum": 10, "multipleOf": 4},
        {"type": "number", "minimum": 3, "maximum": 20, "multipleOf": 6},
    )
    assert (field.minimum, field.maximum, field.multiple_of) == (3, 10, 12)
    decimals = merged(NumberField, {"multipleOf": 0.2}, {"multipleOf": 0.3, "exclusiveMinimum": 0})
    assert decimals.multiple_of == 0.6
    text = merged(TextField, {"minLength": 1, "maxLength": 9}, {"minLength": 3, "maxLength": 5})
    assert (text.min_length, text.max_length) == (3, 5)


def test_choices_intersect_and_types_are_narrowed() -> None:
    assert merged(ChoiceField, {"enum": [1, 2, 3]}, {"enum": [3, 2.0]}).choices == (2, 3)
    assert merged(TextField, {"type": ["string", "integer"]}, {"type": ["string", "null"]}).nullable is False


def test_members_and_required_names_are_combined() -> None:
    field = merged(
        ObjectField,
        {"properties": {"a": {"minimum": 1}, "b": {}}, "required": ["a"]},
        {"properties": {"a": {"type": "integer"}, "c": {}}, "required": ["c"]},
    )
    assert {member.name: member.required for member in field.members} == {"a": True, "c": True, "b": False}
    inner = next(member.field for member in field.members if member.name == "a")
    assert isinstance(inner, IntegerField)
    assert inner.minimum == 1


def test_member_forbidden_by_one_side_is_dropped() -> None:
    field = merged(
        ObjectField,
        {"properties": {"a": {}}, "additionalProperties": False},
        {"properties": {"a": {}, "b": {}}},
    )
    assert [member.name for member in field.members] == ["a"]
    assert not field.is_open


def test_additional_properties_schema_applies_to_members_of_the_other_side() -> None:
    field = merged(
        ObjectField,
        {"additionalProperties": {"type": "integer"}, "patternProperties": {"^x": {"type": "string"}}},
        {"properties": {"n": {"minimum": 1}, "x1": {}}},
    )
    number, text = (member.field for member in field.members)
    assert isinstance(number, IntegerField)
    assert isinstance(text, TextField)


def test_tuple_positions_merge_with_positions_and_items() -> None:
    field = merged(
        TupleField, {"prefixItems": [{"type": "number"}, {}]}, {"items": {"multipleOf": 1, "type": "integer"}}
    )
    assert [type(item) for item in field.items] == [IntegerField, IntegerField]
    assert isinstance(field.rest, IntegerField)


def test_outer_annotations_win() -> None:
    field = build_field(
        {
            "title": "outer",
            "allOf": [{"type": "string", "title": "inner", "description": "d", "deprecated": True}],
        }
    )
    assert (field.title, field.description, field.deprecated) == ("outer", "d", True)


@pytest.mark.parametrize(
    ("reference", "extra"),
    [
        ("#/$defs/n", {}),
        ("#named", {}),
        ("#also", {}),
        ("https://example.com/s.json#/$defs/n", {"$id": "https://example.com/s.json"}),
        ("s.json#named", {"$id": "https://example.com/s.json"}),
        ("other.json", {"$id": "https://example.com/s.json"}),
        ("https://example.com/other.json#/properties/deep", {"$id": "https://example.com/s.json"}),
    ],
)
def test_references_are_followed_inside_the_document(reference: str, extra: JSONObject) -> None:
    form = build_form(
        {
            "properties": {"x": {"$ref": reference}},
            "$defs": {
                "n": {"type": "integer", "$anchor": "named", "$dynamicAnchor": "also"},
                "o": {"$id": "other.json", "type": "integer", "properties": {"deep": {"type": "integer"}}},
            },
            **extra,
        }
    )
    assert isinstance(form.members[0].field, IntegerField)


def test_dynamic_reference_resolves_to_the_outermost_anchor() -> None:
    form = build_form(
        {"$dynamicAnchor": "node", "properties": {"child": {"$dynamicRef": "#node"}, "n": {"minimum": 1}},
         "$defs": {"x": {"$dynamicAnchor": "node", "type": "string"}}}
    )  # fmt: skip
    inner = form.members[0].field
    assert isinstance(inner, ObjectField)
    assert [member.name for member in inner.members] == ["child", "n"]


def test_anchors_inside_values_are_ignored() -> None:
    form = build_form({"properties": {"x": {"$ref": "#a", "default": {"$anchor": "a", "type": "string"}}}})
    assert "which does not exist in it" in getattr(form.members[0].field, "reason", "")


def test_an_object_may_have_known_keys_and_others() -> None:
    form = build_form(
        {"properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "integer"},
         "patternProperties": {"^x-": {"type": "boolean"}}, "propertyNames": {"maxLength": 4}}
    )  # fmt: skip
    assert isinstance(form.rest, MapField)
    assert [str(error) for error in check(form, {"a": "b", "n": "x", "x-1": 1, "longer": 1})] == [
        "n: must be an integer, got 'x'",
        "x-1: must be true or false, got 1",
        "longer: the key must have at most 4 characters, has 6",
    ]


def test_list_items_may_be_lists_and_objects() -> None:
    field = build_field({"type": "array", "items": {"type": "array", "items": {"properties": {"a": {}}}}})
    assert isinstance(field, ListField)
    assert isinstance(field.item, ListField)
    assert isinstance(field.item.item, ObjectField)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"allOf": [{"properties": {"a": {}}}], "properties": {"b": {}}}, {"a": 1, "b": 1}),
        ({"$ref": "#/$defs/base", "properties": {"b": {}}}, {"a": 1, "b": 1}),
        ({"if": {"required": ["b"]}, "then": {"properties": {"a": {}, "b": {}}}}, {"a": 1, "b": 1}),
        ({"properties": {"b": {}}, "dependentSchemas": {"b": {"properties": {"a": {}}}}}, {"a": 1, "b": 1}),
        ({"oneOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"b": {"const": 2}}}]}, {"a": 1}),
        ({"patternProperties": {"^a": {}}, "properties": {"b": {}}}, {"a": 1, "b": 1}),
    ],
)  # fmt: skip
def test_properties_named_by_any_part_are_evaluated_and_only_the_rest_is_forbidden(
    schema: JSONObject, value: JSONObject
) -> None:
    definitions: JSONObject = {"base": {"properties": {"a": {}}}}
    form = build_form({**schema, "type": "object", "unevaluatedProperties": False, "$defs": definitions})
    assert check(form, value) == []
    assert [error.pointer for error in check(form, {**value, "z": 1})] == ["/z"]


def test_wrapped_positions_are_evaluated_too() -> None:
    field = merged(TupleField, {"prefixItems": [{"type": "string"}]}, {"unevaluatedItems": False})
    assert check(field, ["x"]) == []
    assert [error.pointer for error in check(field, ["x", 1])] == ["/1"]
    found = merged(ListField, {"type": "array", "contains": {}, "unevaluatedItems": False})
    assert check(found, [1]) == []


def test_pattern_applies_to_named_members_as_well() -> None:
    form = build_form(
        {"properties": {"ab": {"type": "integer"}}, "patternProperties": {"^a": {"minimum": 5}}}
    )
    assert [str(error) for error in check(form, {"ab": 4})] == ["ab: must be at least 5, got 4"]


@pytest.mark.parametrize("never", [False, {"not": {}}, {"not": True}])
def test_member_that_accepts_no_value_says_so_and_is_in_no_example(never: JSON) -> None:
    form = build_form({"properties": {"a": never, "b": {"type": "string"}}})
    field = form.members[0].field
    assert isinstance(field, JsonField)
    assert "allows no value" in field.reason
    assert example(form) == {"b": "text"}
