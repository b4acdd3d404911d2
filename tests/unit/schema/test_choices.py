"""Choices and their titles, in every notation of JSON Schema."""

from __future__ import annotations

import pytest

from inspector.base.json.values import JSON
from inspector.schema.fields import ChoiceField, UnionField
from tests.unit.schema.schema_fields import build_field


def choice_of(schema: JSON) -> ChoiceField:
    field = build_field(schema)
    assert isinstance(field, ChoiceField), field
    return field


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": ["a", "b"], "enumNames": ["A", "B"]},
        {"oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]},
        {"anyOf": [{"enum": ["a"], "title": "A"}, {"enum": ["b"], "enumNames": ["B"]}]},
        {"enum": ["a", "b"], "oneOf": [{"const": "b", "title": "B"}, {"const": "a", "title": "A"}]},
        {"allOf": [{"enum": ["a", "b"], "enumNames": ["A", "B"]}, {"enum": ["a", "b"]}]},
    ],
)
def test_titles_are_found(schema: JSON) -> None:
    field = choice_of(schema)
    assert (field.choices, field.labels) == (("a", "b"), ("A", "B"))


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": ["a", "b"], "enumNames": ["A"]},
        {"enum": ["a", "b"], "enumNames": "AB"},
        {"enum": ["a", "b"], "enumNames": [1, None]},
        {"allOf": [{"enum": ["a", "b"]}, {"enum": ["b", "a", "c"], "enumNames": ["B", "A", "C"]}]},
        {"allOf": [{"enum": ["a", "b", "c"], "enumNames": ["A", "B", "C"]}, {"enum": ["b", "a"]}]},
    ],
)
def test_ambiguous_titles_are_left_out(schema: JSON) -> None:
    field = choice_of(schema)
    assert (field.choices, field.labels) == (("a", "b"), ())


def test_union_of_constants_is_one_choice_without_duplicates() -> None:
    field = choice_of({"anyOf": [{"enum": ["a", 1]}, {"const": "a"}, {"type": "null"}, {"const": True}]})
    assert field.choices == ("a", 1, True)
    assert field.choices[2] is True
    assert field.nullable
    assert isinstance(build_field({"anyOf": [{"enum": ["a"]}, {"type": "integer"}]}), UnionField)


def test_choices_nested_a_thousand_deep_are_harmless() -> None:
    deep: JSON = "end"
    for _ in range(3000):
        deep = [deep]
    build_field({"anyOf": [{"const": deep}, {"const": 1}]})
    build_field(
        {"enum": [deep, 1], "oneOf": [{"const": deep, "title": "Deep"}, {"const": 1, "title": "One"}]}
    )
