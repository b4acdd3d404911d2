"""Drafts of maps and tuples, initial drafts, examples, and the coverage of a form."""

from __future__ import annotations

import math

import pytest

from inspector.base.json.values import JSON, ExactNumber, JSONObject
from inspector.schema.builder import build_form
from inspector.schema.check import check
from inspector.schema.drafts import ABSENT, Draft, Pairs, Unreadable
from inspector.schema.fields import JsonField
from inspector.schema.keywords import is_json
from inspector.schema.samples import example
from inspector.schema.validation import ValidationResult, validate
from inspector.schema.values import FormError, draft_of, initial_draft, json_of
from tests.helpers.schema_coverage import MOST_FIELDS, Coverage, coverage
from tests.helpers.steps import steps_of
from tests.unit.schema.schema_fields import build_field

HEADERS: JSONObject = {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1}
POINT: JSONObject = {"prefixItems": [{"type": "number"}, {"type": "number"}], "items": False, "minItems": 2}


def problems(schema: JSON, draft: Draft) -> list[str]:
    return [str(error) for error in check(build_field(schema), draft)]


def test_map_rows_become_an_object_in_order() -> None:
    rows = Pairs((("b", "1"), ("", ""), ("a", "2"), ("unset", ABSENT)))
    value = json_of(build_field(HEADERS), rows)
    assert value == {"b": "1", "": "", "a": "2"}
    assert isinstance(value, dict)
    assert list(value) == ["b", "", "a"]


def test_duplicate_key_is_reported_and_not_sent() -> None:
    rows = Pairs((("a", "1"), ("a", "2")))
    assert problems(HEADERS, rows) == ["a: is a duplicate key"]
    with pytest.raises(FormError, match="is a duplicate key"):
        json_of(build_field(HEADERS), rows)


def test_object_with_known_and_other_keys_may_use_rows_too() -> None:
    schema: JSON = {"properties": {"n": {"type": "integer"}}, "additionalProperties": {"type": "string"}}
    field = build_field(schema)
    assert json_of(field, Pairs((("z", "1"), ("n", 1)))) == {"z": "1", "n": 1}
    assert problems(schema, Pairs((("n", "x"), ("z", 1), ("z", "2")))) == [
        "z: is a duplicate key",
        "n: must be an integer, got 'x'",
    ]


def test_a_map_is_checked_by_row_and_as_a_whole() -> None:
    assert problems(HEADERS, Pairs()) == ["must have at least 1 key, has 0"]
    assert problems(HEADERS, Pairs((("a", 1),))) == ["a: must be a string, got 1"]
    assert problems({"patternProperties": {"^x": {}}, "additionalProperties": False}, {"y": 1}) == [
        "y: is not allowed by the schema"
    ]
    assert problems({"propertyNames": {"enum": ["a", "b"]}}, {"c": 1}) == [
        "c: the key must be one of 'a', 'b', got 'c'"
    ]


def test_tuple_positions_do_not_shift() -> None:
    field = build_field({"prefixItems": [{"type": "string"}, {"type": "integer"}]})
    assert json_of(field, ["a", ABSENT]) == ["a"]
    with pytest.raises(FormError, match="is empty, but a later item is not"):
        json_of(field, [ABSENT, 1])


def test_tuple_is_checked_by_position() -> None:
    assert problems(POINT, [1, "b"]) == ["1: must be a number, got 'b'"]
    assert problems(POINT, [ABSENT, 1]) == [
        "0: is empty, but a later item is not: enter a value or null",
        "must have at least 2 items, has 1",
    ]
    assert problems(POINT, [1, 2, 3]) == ["2: is an extra item that the schema does not allow"]


def test_unreadable_parts_are_found_in_rows_and_positions() -> None:
    field = build_field({"prefixItems": [HEADERS]})
    with pytest.raises(FormError) as caught:
        json_of(field, [Pairs((("a", Unreadable("{", "no")),))])
    assert [error.pointer for error in caught.value.errors] == ["/0/a"]


@pytest.mark.parametrize(
    ("schema", "draft"),
    [
        ({"type": "string"}, ""),
        ({"type": "integer"}, ABSENT),
        ({"type": "integer", "default": 5}, 5),
        ({"type": "boolean"}, False),
        ({"enum": ["b", "a"]}, "b"),
        ({"type": "array", "items": {}}, []),
        (POINT, [ABSENT, ABSENT]),
        (HEADERS, Pairs()),
        ({**HEADERS, "default": {"a": "b"}}, Pairs((("a", "b"),))),
        ({"properties": {"k": {"const": 1}, "n": {}}, "required": ["k", "n"]}, {"k": 1}),
        (False, ABSENT),
    ],
)
def test_field_starts_with_the_simplest_value(schema: JSON, draft: Draft) -> None:
    assert initial_draft(build_field(schema)) == draft


FORMATS = (
    "date", "date-time", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uri-reference",
    "uuid", "json-pointer", "relative-json-pointer", "regex", "uri-template", "iri", "idn-email",
)  # fmt: skip
PATTERNS = (
    r"^[A-Z]{2}-\d{4}$", "^(red|green)$", r"^#[0-9a-fA-F]{6}$", r"^\w+@\w+\.[a-z]{2,}$", "abc", "^[^a]+$",
    r"^\S+$", "^a?b*c+$", r"^[\w.-]+$",
)  # fmt: skip
RULES: list[JSON] = [
    {"type": "string", "minLength": 30, "maxLength": 31},
    {"type": "string", "maxLength": 2},
    {"type": "string", "pattern": "^[a-z]+$", "minLength": 8},
    {"type": "integer", "minimum": 10**40 + 1},
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.001},
    {"type": "number", "maximum": -5.5},
    {"type": "integer", "exclusiveMaximum": -5, "multipleOf": 7},
    {"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": True},
    {"type": "array", "items": {"type": "string"}, "minItems": 3, "uniqueItems": True},
    {"type": "array", "items": {"type": "string", "format": "email"}, "minItems": 2, "uniqueItems": True},
    HEADERS,
    {**POINT, "uniqueItems": True},
    {"propertyNames": {"pattern": "^k[0-9]$"}, "minProperties": 1, "additionalProperties": {"type": "null"}},
    {"$ref": "#/$defs/n", "$defs": {"n": {"properties": {"n": {"$ref": "#/$defs/n"}}}}},
    {"oneOf": [{"properties": {"k": {"const": "a"}}, "required": ["k"]}, {"type": "string"}]},
    {"properties": {"a": {"const": 1}}, "required": ["a"], "dependentRequired": {"a": ["b"]},
     "minProperties": 3, "additionalProperties": {"type": "boolean"}},
    {"type": "string", "examples": ["one", "two"], "default": "three"},
    {"type": "string", "default": 5},
]  # fmt: skip
TEXTS: list[JSON] = [{"type": "string", "format": name} for name in FORMATS]
TEXTS += [{"type": "string", "pattern": pattern} for pattern in PATTERNS]


@pytest.mark.parametrize("schema", [*RULES, *TEXTS])
def test_example_matches_its_schema(schema: JSON) -> None:
    assert validate(schema, example(build_field(schema))) == ValidationResult()


def test_examples_of_the_server_come_first_then_its_default() -> None:
    assert example(build_field({"type": "string", "examples": ["one"], "default": "two"})) == "one"
    assert example(build_field({"type": "string", "default": "two"})) == "two"


def test_endlessly_recursive_schema_still_has_an_example() -> None:
    endless: JSON = {"properties": {"next": {"$ref": "#"}}, "required": ["next"]}
    assert isinstance(example(build_form(endless)), dict)


def test_coverage_names_every_part_edited_as_json() -> None:
    schema: JSONObject = {
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "array", "items": {"$ref": "http://example.com/x"}},
            "c": {"anyOf": [{"type": "string"}, {"title": "unknown", "type": "color"}]},
            "d": {"additionalProperties": False, "patternProperties": {"^x": False}},
        }
    }
    assert coverage(schema) == Coverage(
        8,
        (
            ("/b/*", "The schema refers to http://example.com/x, which is external and never fetched."),
            ("/c|unknown", "'color' is not a JSON Schema type."),
            ("/d/^x", "The schema allows no value here (it is false)."),
        ),
    )
    assert coverage({"type": "string"}).fallbacks == (
        ("", "The schema does not describe an object. Enter JSON instead."),
    )


def test_coverage_of_a_recursive_schema_is_counted_up_to_a_limit() -> None:
    many: JSON = {"properties": {f"p{n}": {"$ref": "#"} for n in range(30)}}
    assert coverage(many).fields == MOST_FIELDS


def test_content_of_two_thousand_objects_is_built_lazily() -> None:
    def use(members: int) -> int:
        inner: JSON = {"properties": {f"q{n}": {"type": "string"} for n in range(members)}}
        schema: JSON = {"properties": {f"p{n}": inner for n in range(2000)}}

        def work() -> None:
            form = build_form(schema)
            assert check(form, {}) == []
            assert json_of(form, draft_of(form, {"p7": {"q1": "x"}})) == {"p7": {"q1": "x"}}

        return steps_of(work)

    assert use(100) < 1.1 * use(10)


def test_ten_megabyte_schema_costs_no_more_than_the_part_shown() -> None:
    def build(members: int) -> int:
        one: JSON = {"description": "x" * 80, "minLength": 1}
        schema: JSON = {"properties": {f"p{n}": one for n in range(members)}}

        def work() -> None:
            assert len(build_form(schema).members) == 4000

        return steps_of(work)

    assert build(100_000) < 1.01 * build(4000)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "number", "multipleOf": math.inf},
        {"type": "number", "minimum": math.nan},
        {"type": "number", "minimum": ExactNumber("1e99999999999999999999")},
        {"type": "number", "default": math.nan},
        {"type": "string", "examples": [math.inf]},
        {"enum": [math.nan]},
    ],
)
def test_schema_with_numbers_that_json_does_not_have_has_an_example(schema: JSON) -> None:
    assert is_json(example(build_form({"properties": {"x": schema}, "required": ["x"]})))


def test_empty_key_is_a_condition_like_any_other() -> None:
    schema: JSON = {"type": "object", "properties": {"": {}, "b": {}}, "dependentRequired": {"": ["b"]}}
    assert problems(schema, {"": 1}) == ["b: is required but not set"]
    assert problems(schema, {}) == []


def test_array_of_ten_thousand_positions_is_edited_as_json() -> None:
    field = build_field({"type": "array", "prefixItems": [{"type": "integer"}] * 10_000})
    assert isinstance(field, JsonField)
    assert field.reason == "There are 10,000 positions; a form shows at most 500."
