"""Conversion of drafts to JSON, and their error messages."""

from __future__ import annotations

import pytest

from inspector.base.errors import UserError
from inspector.base.json.values import JSON, ExactNumber
from inspector.schema.builder import build_form
from inspector.schema.check import check
from inspector.schema.values import (
    ABSENT,
    Draft,
    FieldError,
    FormError,
    Unreadable,
    child,
    json_from_text,
    json_of,
    number_from_text,
    readable,
    text_from_number,
)


def problems(property_schema: JSON, value: Draft, *, required: bool = False) -> list[str]:
    form = build_form({"properties": {"x": property_schema}, "required": ["x"] if required else []})
    return [str(error) for error in check(form, {"x": value})]


@pytest.mark.parametrize("value", [5, -(10**40), 1.5, ExactNumber("1.10"), "abc", "1,5"])
def test_number_field_entry_round_trips(value: int | float | str) -> None:
    back = number_from_text(text_from_number(value))
    assert type(back) is type(value)
    assert back == value


def test_empty_number_field_is_absent() -> None:
    assert number_from_text("  ") is ABSENT


def test_raw_json_text_is_absent_parsed_or_kept_as_text_with_the_reason() -> None:
    assert json_from_text(" ") is ABSENT
    assert json_from_text("[1]") == [1]
    assert json_from_text("[1") == Unreadable(
        "[1", "Line 1, column 3: a comma or a closing bracket is missing"
    )


def test_absent_values_are_omitted_and_unknown_keys_are_preserved() -> None:
    form = build_form(
        {"properties": {"a": {"type": "string"}, "l": {"type": "array", "items": {"type": "integer"}}}}
    )
    draft: Draft = {"z": {"k": None}, "l": [1, ABSENT, 2], "a": ABSENT}
    assert json_of(form, draft) == {"z": {"k": None}, "l": [1, 2]}


def test_unreadable_part_is_named_by_its_path() -> None:
    form = build_form({"properties": {"o": {"properties": {"any": False}}}})
    with pytest.raises(FormError) as caught:
        json_of(form, {"o": {"any": Unreadable("{", "Line 1, column 2: a key is missing")}})
    assert [error.pointer for error in caught.value.errors] == ["/o/any"]
    assert isinstance(caught.value, UserError)
    assert str(caught.value) == "o.any: Line 1, column 2: a key is missing"


def test_pointers_are_escaped_and_readable() -> None:
    assert child(child("", "a/b"), "c~d") == "/a~1b/c~0d"
    assert readable(child(child(child("", "filter"), "a/b"), 2)) == "filter.a/b[2]"


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        ({"type": "integer"}, "abc", "must be an integer, got 'abc'"),
        ({"type": "integer"}, 1.5, "must be an integer, got 1.5"),
        ({"type": "integer"}, True, "must be an integer, got true"),
        ({"type": "number"}, [1], "must be a number, got an array"),
        ({"type": "number", "minimum": 1}, ExactNumber("0.99999999999999999999"),
         "must be at least 1, got 0.99999999999999999999"),
        ({"type": "number", "maximum": 1}, 2, "must be at most 1, got 2"),
        ({"type": "number", "exclusiveMinimum": 0}, 0, "must be greater than 0, got 0"),
        ({"type": "number", "exclusiveMaximum": 0}, 0, "must be less than 0, got 0"),
        ({"type": "number", "multipleOf": 0.1}, 0.35, "must be a multiple of 0.1, got 0.35"),
        ({"type": "string"}, 5, "must be a string, got 5"),
        ({"type": "string"}, None, "must be a string, got null"),
        ({"type": "string", "minLength": 2}, "😀", "must have at least 2 characters, has 1"),
        ({"type": "string", "maxLength": 1}, "ab", "must have at most 1 character, has 2"),
        ({"type": "boolean"}, 1, "must be true or false, got 1"),
        ({"enum": ["a", 1]}, True, "must be one of 'a', 1, got true"),
        ({"const": "a"}, "b", "must be 'a', got 'b'"),
        ({"type": "array", "items": {"type": "string"}}, "a", "must be an array, got 'a'"),
        ({"type": "object", "properties": {"y": {}}}, 1, "must be an object, got 1"),
        ({"type": "object"}, 1, "must be an object, got 1"),
        ({"type": "array", "prefixItems": [{}]}, 1, "must be an array, got 1"),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, [1],
         "must be one of: string, integer; got an array"),
        ({"anyOf": [{"type": "string", "maxLength": 1}, {"type": "integer"}]}, "ab",
         "must have at most 1 character, has 2"),
    ],
)  # fmt: skip
def test_invalid_value_is_reported_in_plain_words(schema: JSON, value: Draft, problem: str) -> None:
    assert problems(schema, value) == [f"x: {problem}"]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, 10**100),
        ({"type": "integer"}, 1.0),
        ({"type": "integer"}, ExactNumber("1e3")),
        ({"type": ["string", "null"]}, None),
        ({"enum": [1, "a"]}, 1.0),
        ({"type": "number", "multipleOf": 0.1}, 0.3),
        ({"type": "string"}, ABSENT),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, 5),
        ({}, [None]),
    ],
)
def test_valid_value_is_not_reported(schema: JSON, value: Draft) -> None:
    assert problems(schema, value) == []


def test_required_value_is_missing_only_when_absent() -> None:
    assert problems({"type": "string"}, ABSENT, required=True) == ["x: is required but not set"]
    assert problems({"type": "string"}, "", required=True) == []


def test_lists_are_checked_by_row_and_as_a_whole() -> None:
    schema: JSON = {
        "type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2, "uniqueItems": True
    }  # fmt: skip
    assert problems(schema, []) == ["x: must have at least 1 item, has 0"]
    assert problems(schema, [1, "b"]) == ["x[1]: must be an integer, got 'b'"]
    assert problems(schema, [1, ABSENT]) == ["x[1]: is empty: enter a value or remove the row"]
    assert problems(schema, [4, 5, 4]) == [
        "x: must have at most 2 items, has 3",
        "x: items 1 and 3 are equal, but items must be unique",
    ]


def test_key_forbidden_by_a_closed_schema_is_reported() -> None:
    form = build_form({"properties": {"a": {}}, "additionalProperties": False})
    assert check(form, {"b": 1}) == [FieldError("/b", "is not allowed by the schema")]
