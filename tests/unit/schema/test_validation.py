"""Complete validation: plain messages, no fetching, bounded time."""

from __future__ import annotations

import pickle
import socket

import pytest

from inspector.base.json.values import JSON, ExactNumber
from inspector.schema.validation import MAX_ERRORS, ValidationResult, pack, validate, validate_packed

SHAPES: JSON = {
    "$defs": {
        "circle": {
            "title": "Circle",
            "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}},
            "required": ["kind", "radius"],
        },
        "square": {"properties": {"kind": {"const": "square"}}, "required": ["kind", "width"]},
    },
    "properties": {"x": {"oneOf": [{"$ref": "#/$defs/circle"}, {"$ref": "#/$defs/square"}]}},
}


def reported(schema: JSON, value: JSON) -> list[str]:
    result = validate(schema, value)
    assert result.unchecked == ""
    return [str(error) for error in result.errors]


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "integer"}, "a", "must be an integer, got 'a'"),
        ({"type": ["string", "null"]}, 5, "must be a string or null, got 5"),
        ({"enum": ["a", "b"]}, "c", "must be one of 'a', 'b', got 'c'"),
        ({"const": 1}, 2, "must be 1, got 2"),
        ({"minimum": 1.5}, 1, "must be at least 1.5, got 1"),
        ({"exclusiveMaximum": 3}, 3, "must be less than 3, got 3"),
        ({"multipleOf": 5}, 7, "must be a multiple of 5, got 7"),
        ({"minLength": 2}, "a", "must have at least 2 characters, has 1"),
        ({"maxItems": 1}, [1, 2], "must have at most 1 item, has 2"),
        ({"minProperties": 1}, {}, "must have at least 1 key, has 0"),
        ({"uniqueItems": True}, [1, 1], "two items are equal, but items must be unique"),
        ({"pattern": "^[a-z]+$"}, "A", "does not match the pattern ^[a-z]+$, got 'A'"),
        ({"pattern": "^(?!x)"}, "x", "does not match the pattern ^(?!x), got 'x'"),
        ({"format": "email"}, "x", "is not a valid email, got 'x'"),
        ({"format": "date"}, "2026-02-30", "is not a valid date, got '2026-02-30'"),
        ({"required": ["a"]}, {}, "a: is required but not set"),
        ({"properties": {"a": True}, "additionalProperties": False}, {"b/c": 1},
         "b/c: is not allowed by the schema"),
        ({"prefixItems": [True], "items": False}, [1, 2],
         "1: is an extra item that the schema does not allow"),
        ({"items": [True], "additionalItems": False}, [1, 2], "must have at most 1 item"),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, "ab: the key must have at most 1 character, has 2"),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, "b: is required but not set"),
        ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"a": 1}, "b: is required but not set"),
        ({"not": {"required": ["a", "b"]}}, {"a": 1, "b": 1}, "must not have a and b together"),
        ({"contains": {"type": "string"}}, [1],
         "does not contain the required items, or not the right number of them"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, [],
         "must be one of: string, integer; got an array"),
        ({"oneOf": [{"type": "string"}, {"minLength": 1}]}, "x",
         "matches more than one variant, but must match exactly one"),
    ],
)  # fmt: skip
def test_violations_are_described_in_plain_words(schema: JSON, value: JSON, expected: str) -> None:
    assert reported(schema, value) == [expected]


def test_nearest_union_variant_is_named_with_what_it_lacks() -> None:
    assert reported(SHAPES, {"x": {"kind": "circle"}}) == ["x.radius: is required but not set"]
    assert reported(SHAPES, {"x": {"kind": "square", "radius": 1}}) == ["x.width: is required but not set"]
    assert reported({"anyOf": [{"maximum": 5}, {"title": "Large", "minimum": 10}]}, 7)[0].startswith(
        "matches none of the 2 variants. The closest is "
    )


def test_unknown_tag_lists_the_tags_of_all_variants() -> None:
    variants: list[JSON] = [
        {"properties": {"kind": {"const": f"k{number}"}, "n": {"type": "integer"}}, "required": ["kind", "n"]}
        for number in range(100)
    ]
    assert reported({"oneOf": variants}, {"kind": "fox"}) == [
        "kind: must be one of 'k0', 'k1', 'k2', 'k3', 'k4', 'k5' or 94 more, got 'fox'"
    ]
    assert reported({"oneOf": variants}, {"kind": "k77"}) == ["n: is required but not set"]


def test_union_of_required_sets_lists_the_sets() -> None:
    schema: JSON = {"anyOf": [{"required": ["a"]}, {"required": ["b", "c"]}]}
    assert reported(schema, {}) == ["requires one of: a; b and c"]


def test_objects_among_the_choices_are_shown() -> None:
    assert reported({"enum": [{"a": 1}, {"a": 2}]}, {"a": 3}) == [
        'must be one of {"a": 1}, {"a": 2}, got {"a": 3}'
    ]


def test_schema_that_allows_no_key_says_so() -> None:
    assert reported({"propertyNames": False}, {}) == []
    assert reported({"propertyNames": False}, {"a": 1}) == ["has keys, but the schema allows none"]


def test_numbers_of_the_schema_are_exact() -> None:
    exact = ExactNumber("0.1234567890123456789")
    rounded = ExactNumber("0.12345678901234568")
    schemas: list[JSON] = [{"const": exact}, {"enum": [exact]}]
    for schema in schemas:
        assert reported(schema, exact) == []
        assert reported(schema, rounded) == ["must be 0.1234567890123456789, got 0.12345678901234568"]


def test_pattern_that_takes_too_long_is_a_note() -> None:
    result = validate({"properties": {"a": {"pattern": "^(a|a?)+(?=b)$"}}}, {"a": "a" * 60})
    assert result.errors == ()
    assert "a was not checked against its pattern" in result.unchecked


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer", "maximum": 10**40}, 10**39),
        ({"type": "integer"}, ExactNumber("1e3")),
        ({"type": "number", "minimum": 1}, ExactNumber("1.00000000000000000001")),
        ({"type": "string"}, "\ud800"),
        (True, {"any": [None]}),
    ],
)
def test_a_valid_value_has_no_errors(schema: JSON, value: JSON) -> None:
    assert validate(schema, value) == ValidationResult()


def test_a_number_is_compared_digit_by_digit() -> None:
    assert reported({"maximum": 1}, ExactNumber("1.00000000000000000001")) == [
        "must be at most 1, got 1.00000000000000000001"
    ]


@pytest.mark.parametrize(
    "schema",
    [
        {"definitions": {"t": {"items": [{"type": "string"}]}}, "$ref": "#/definitions/t"},
        {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]},
        {"items": [{"type": "string"}]},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "prefixItems": [{"type": "string"}]},
        {"$schema": "https://example.com/own", "prefixItems": [{"type": "string"}]},
    ],
)
def test_json_schema_draft_is_detected_by_name_or_keywords(schema: JSON) -> None:
    assert reported(schema, [1]) == ["0: must be a string, got 1"]
    assert reported(schema, ["a"]) == []


def test_invalid_schema_is_reported_and_nothing_is_checked() -> None:
    result = validate({"properties": {"a": {"type": "color"}}}, {"a": 1})
    assert result.errors == ()
    assert result.unchecked.startswith(
        "Not checked: the server's schema is not a valid JSON Schema, at properties"
    )
    assert validate([], 1).unchecked == "Not checked: the server's schema is not an object."


def test_a_reference_to_the_network_is_never_followed_and_the_rest_is_checked() -> None:
    """T27: a `$ref` in a schema makes the validator contact a URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/schema.json"
        schemas: list[JSON] = [
            {"properties": {"a": {"$ref": address}, "b": {"type": "string"}}},
            {"properties": {"a": {"$ref": f"{address}#/x"}, "b": {"type": "string"}}, "$id": address[:-4]},
            {"$schema": address, "properties": {"b": {"type": "string"}}},
        ]
        for schema in schemas:
            assert [str(error) for error in validate(schema, {"a": 1, "b": 1}).errors] == [
                "b: must be a string, got 1"
            ]
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert validate(schemas[0], {}).unchecked == (
        f"Parts of the value are not checked: the schema refers to {address}, "
        "which is external and never fetched."
    )


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "^(?=(a+)+b)a", "(x+x+)+y"])
def test_hostile_pattern_terminates(pattern: str) -> None:
    """A backtracking engine would take practically forever."""
    result = validate({"pattern": pattern}, "a" * 50_000 + "!")
    assert result.errors or result.unchecked or pattern == "^(?=(a+)+b)a"


def test_too_deep_nesting_is_reported() -> None:
    schema: JSON = {}
    value: JSON = {}
    for _ in range(500):
        schema, value = {"properties": {"p": schema}}, {"p": value}
    assert validate(schema, value).unchecked == "Not checked: the value or the schema is nested too deeply."


def test_errors_are_counted_up_to_a_limit() -> None:
    result = validate({"items": {"type": "string"}}, list(range(1000)))
    assert len(result.errors) == MAX_ERRORS


def test_validation_runs_on_packed_bytes_and_its_result_is_picklable() -> None:
    result = validate_packed(pack({"type": "number", "minimum": 1}, ExactNumber("0.10")))
    assert pickle.loads(pickle.dumps(result)) == result
    assert [error.problem for error in result.errors] == ["must be at least 1, got 0.1"]
