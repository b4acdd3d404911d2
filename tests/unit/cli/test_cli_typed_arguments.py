"""Argument values parsed according to a schema."""

from __future__ import annotations

import pytest

from inspector.base.json.values import JSON, JSONObject
from inspector.cli.arguments import TypeMismatch, expected_by

ROOT: JSONObject = {"$defs": {"age": {"type": "integer"}, "loop": {"$ref": "#/$defs/loop"}}}


def value(schema: JSON, word: str) -> JSON:
    return expected_by(schema, ROOT).read(word)


@pytest.mark.parametrize(
    ("schema", "word", "expected"),
    [
        ({"type": "integer"}, "41", 41),
        ({"type": "integer"}, str(2**70), 2**70),
        ({"type": "number"}, "-1.5", -1.5),
        ({"type": "boolean"}, "false", False),
        ({"type": "string"}, "41", "41"),
        ({"type": "string"}, "true", "true"),
        ({"type": "string"}, "", ""),
        ({"type": "array", "items": {"type": "string"}}, '["a","b"]', ["a", "b"]),
        ({"type": "object"}, '{"a":{"b":1}}', {"a": {"b": 1}}),
        ({"type": ["integer", "null"]}, "null", None),
        ({"type": ["string", "null"]}, "null", None),
        ({"type": ["string", "null"]}, "nil", "nil"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "7", 7),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "null", None),
        ({"anyOf": [{"type": "integer"}, {"const": "all"}]}, "5", 5),
        ({"anyOf": [{"type": "integer"}, {"const": "all"}]}, "all", "all"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "5", 5),
        ({"enum": ["red", "green"]}, "red", "red"),
        ({"enum": [1, 2, "3"]}, "2", 2),
        ({"enum": [1, 2, "3"]}, "3", "3"),
        ({"oneOf": [{"const": "s", "title": "Small"}, {"const": "l"}]}, "l", "l"),
        ({"$ref": "#/$defs/age"}, "41", 41),
    ],
)
def test_argument_is_parsed_according_to_the_schema(schema: JSON, word: str, expected: JSON) -> None:
    found = value(schema, word)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        {"$ref": "#/$defs/loop"},
        {"$ref": "https://example.com/x"},
        {"type": "any"},
        {"allOf": [{}, {}]},
        5,
    ],
)
def test_argument_is_text_when_the_schema_does_not_say(schema: JSON) -> None:
    assert value(schema, "41") == "41"


@pytest.mark.parametrize(
    ("schema", "word", "reason"),
    [
        ({"type": "integer"}, "abc", "an integer, got 'abc'"),
        ({"type": "integer"}, "1.5", "an integer, got '1.5'"),
        ({"type": "number"}, "", "a number, got ''"),
        ({"type": "boolean"}, "yes", "a boolean, got 'yes'"),
        ({"type": "boolean"}, "1", "a boolean, got '1'"),
        ({"type": "array"}, "a,b", 'a JSON array such as ["a", "b"], got \'a,b\''),
        ({"type": "object"}, "[1]", "a JSON object such as {\"a\": 1}, got '[1]'"),
        ({"type": ["integer", "null"]}, "none", "an integer or null, got 'none'"),
        ({"enum": ["red", 1]}, "blue", "one of \"red\", 1, got 'blue'"),
        (
            {"anyOf": [{"type": "integer"}, {"const": "all"}]},
            "some",
            "an integer or one of \"all\", got 'some'",
        ),
    ],
)
def test_invalid_argument_error_says_what_would_be_valid(schema: JSON, word: str, reason: str) -> None:
    with pytest.raises(TypeMismatch) as caught:
        value(schema, word)
    assert str(caught.value) == reason


def test_only_the_first_of_many_choices_are_named() -> None:
    with pytest.raises(TypeMismatch) as caught:
        value({"enum": list(range(100))}, "x")
    assert "6, 7, …, got" in str(caught.value)


def test_endlessly_growing_union_is_treated_as_text() -> None:
    root: JSONObject = {"$defs": {}}
    definitions: JSONObject = {
        f"n{level}": {"anyOf": [{"$ref": f"#/$defs/n{level + 1}", "title": str(i)} for i in range(4)]}
        for level in range(20)
    }
    root["$defs"] = definitions
    assert expected_by({"$ref": "#/$defs/n0"}, root).read("5") == "5"
