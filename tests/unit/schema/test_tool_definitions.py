"""Tool definitions for model APIs: valid for each API, and exact."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.text import write
from inspector.base.json.values import JSON, JSONObject, parse
from inspector.protocol.types import Tool
from inspector.schema.tool_definitions import FORMATS, ToolDefinition, tool_definitions, tools_text
from tests.unit.schema.generated_schemas import documents

# Fields of the Schema message of the Gemini API.
GEMINI = {
    "type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties",
    "required", "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "example", "anyOf",
    "propertyOrdering", "default", "items", "minimum", "maximum",
}  # fmt: skip


TYPES = ("string", "number", "integer", "boolean", "array", "object")


def read(text: str) -> Tool:
    source = parse(text, exact=True)
    assert isinstance(source, dict)
    return Tool.read(source)


def define(format: str, schema: str, **members: str) -> ToolDefinition:
    text = f'{{"name": "t", "inputSchema": {schema}}}'
    tool = read(text)
    tool = Tool.read({**tool.source, **members})
    (definition,) = tool_definitions([("s", tool)], format)
    return definition


def parameters(schema: str) -> JSONObject:
    found = define("gemini", schema).value["parameters"]
    assert isinstance(found, dict)
    return found


def prop(schema: str) -> JSON:
    """Return a property's schema as Gemini gets it."""
    properties = parameters(f'{{"type": "object", "properties": {{"x": {schema}}}}}')["properties"]
    assert isinstance(properties, dict)
    return properties["x"]


def test_each_format_has_the_members_of_its_api() -> None:
    schema: JSONObject = {"type": "object", "properties": {"a": {"type": "string"}}}
    text = json.dumps(schema)
    shared: JSONObject = {"name": "mcp__s__t", "description": "Does it."}
    assert define("anthropic", text, description="Does it.").value == {**shared, "input_schema": schema}
    function: JSONObject = {**shared, "parameters": schema}
    openai: JSONObject = {"type": "function", "function": function}
    assert define("openai", text, description="Does it.").value == openai
    assert define("gemini", text, description="Does it.").value == {**shared, "parameters": schema}
    mcp = define("mcp", text, description="Does it.", title="T").value
    assert mcp == {**shared, "inputSchema": schema, "title": "T"}


@pytest.mark.parametrize("format", FORMATS)
def test_description_falls_back_to_the_title_and_then_to_the_names(format: str) -> None:
    assert '"A title"' in write(define(format, "{}", title="A title").value)
    assert "Tool t of the MCP server s." in write(define(format, "{}", description="  ").value)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("number", ["0.10", "1e400", "12345678901234567890123", "0.1234567890123456789"])
def test_numbers_in_schemas_stay_exact(format: str, number: str) -> None:
    schema = f'{{"type": "object", "properties": {{"x": {{"type": "number", "minimum": {number}}}}}}}'
    assert f'"minimum": {number}\n' in write(define(format, schema).value)


@pytest.mark.parametrize(("format", "member"), [("anthropic", "input_schema"), ("mcp", "inputSchema")])
def test_a_missing_schema_becomes_an_empty_object(format: str, member: str) -> None:
    (definition,) = tool_definitions([("s", read('{"name": "t"}'))], format)
    schema = definition.value[member]
    assert isinstance(schema, dict)
    assert schema["type"] == "object"
    assert '"inputSchema" is missing' in definition.notes[0]


@pytest.mark.parametrize("format", ["anthropic", "openai", "gemini"])
def test_a_union_at_the_top_level_is_merged_into_the_properties(format: str) -> None:
    schema = """{"properties": {"a": {"type": "string"}}, "$defs": {"B": {"properties": {
        "b": {"type": "integer"}, "c": {"type": "string"}}, "required": ["a", "b"]}},
        "anyOf": [{"$ref": "#/$defs/B"}, {"properties": {"c": {"type": "number"}}, "required": ["a"]}]}"""
    definition = define(format, schema)
    value = definition.value.get("function", definition.value)
    assert isinstance(value, dict)
    made = value.get("input_schema") or value.get("parameters")
    assert isinstance(made, dict)
    assert "anyOf" not in made
    assert made["type"] == "object"
    assert made["properties"] == {
        "a": {"type": "string"},
        "b": {"type": "integer"},
        "c": {"anyOf": [{"type": "string"}, {"type": "number"}]},
    }
    assert made["required"] == ["a"]
    assert "does not allow it at the top level: anyOf" in definition.notes[0]


def test_openai_requires_items_and_short_descriptions() -> None:
    schema = """{"type": "object", "properties": {"a": {"type": "array"}, "b": true,
        "t": {"type": "array", "items": [{"type": "number"}, {"type": "string"}]}},
        "not": {}, "enum": [{}]}"""
    definition = define("openai", schema, description="d" * 2000)
    function = definition.value["function"]
    assert isinstance(function, dict)
    assert len(str(function["description"])) == 1024
    assert function["parameters"] == {
        "type": "object",
        "properties": {
            "a": {"type": "array", "items": {}},
            "b": {},
            "t": {"type": "array", "items": {"anyOf": [{"type": "number"}, {"type": "string"}]}},
        },
    }
    assert "the description was cut at 1,024 characters" in definition.notes[0]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ('{"const": "a"}', {"type": "string", "enum": ["a"]}),
        ('{"type": ["string", "null"]}', {"type": "string", "nullable": True}),
        ('{"anyOf": [{"type": "integer"}, {"type": "null"}]}', {"type": "integer", "nullable": True}),
        ('{"oneOf": [{"type": "integer"}, {"type": "string"}]}',
         {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        ('{"type": "string", "format": "uri"}', {"type": "string"}),
        ('{"type": "string", "format": "date-time"}', {"type": "string", "format": "date-time"}),
        ('{"type": "integer", "enum": [1, 2], "exclusiveMinimum": 0}', {"type": "integer"}),
        ('{"type": "array", "uniqueItems": true}', {"type": "array", "items": {"type": "string"}}),
        ("true", {"type": "string"}),
        ('{"type": 5, "enum": 5}', {"type": "string"}),
        ('{"type": "null"}', {"nullable": True, "type": "string"}),
        ('{"type": ["string", "integer"]}', {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ('{"type": "object", "properties": {}, "additionalProperties": false}', {"type": "object"}),
        ('{"allOf": [{"type": "string"}, {"maxLength": 3}]}', {"type": "string", "maxLength": 3}),
        ('{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "b"]}',
         {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
    ],
)  # fmt: skip
def test_gemini_gets_the_keywords_that_it_supports(schema: str, expected: JSON) -> None:
    assert prop(schema) == expected


def test_gemini_gets_references_inlined_and_recursion_cut() -> None:
    schema = """{"type": "object", "properties": {"n": {"$ref": "#/$defs/N"}}, "$defs": {"N": {
        "type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}]}}}}}"""
    inner: JSONObject = {"type": "object", "properties": {"next": {"type": "object"}}}
    assert parameters(schema) == {"type": "object", "properties": {"n": inner}}


def test_gemini_functions_without_parameters_have_none() -> None:
    assert "parameters" not in define("gemini", '{"type": "object", "properties": {}}').value


def test_what_an_api_does_not_support_is_in_the_notes() -> None:
    schema = '{"type": "object", "properties": {"a b": {"type": "number", "multipleOf": 2}}}'
    (note,) = define("gemini", schema).notes
    assert note == (
        "mcp__s__t: Gemini rejects the property names “a b”; "
        "left out, as Gemini does not support it: multipleOf."
    )
    assert "Anthropic rejects the property names “a b”" in define("anthropic", schema).notes[0]


def test_names_are_valid_for_each_api() -> None:
    tools = [("s", read(json.dumps({"name": "x" * 56})))]
    for format, length in (("anthropic", 64), ("gemini", 63)):
        (definition,) = tool_definitions(tools, format)
        assert len(str(definition.value["name"])) == length
        assert ("it is the tool “xxx" in definition.notes[0]) is (format == "gemini")


def _schemas_in(part: JSON) -> Iterator[JSONObject]:
    assert isinstance(part, dict)
    yield part
    properties, variants = part.get("properties", {}), part.get("anyOf", [])
    assert isinstance(properties, dict)
    assert isinstance(variants, list)
    for inner in (*properties.values(), *variants, *([part["items"]] if "items" in part else [])):
        yield from _schemas_in(inner)


def _check(schema: JSONObject) -> None:
    tool = Tool.read({"name": "t", "inputSchema": schema})
    for format in FORMATS:
        (definition,) = tool_definitions([("s", tool)], format)
        json.loads(write(definition.value))
        if "parameters" in definition.value:
            for part in _schemas_in(definition.value["parameters"]):
                assert set(part) <= GEMINI
                assert part.get("type", "string") in TYPES
                assert "type" in part or "anyOf" in part


@given(documents())
def test_any_schema_becomes_one_that_gemini_supports(document: tuple[JSONObject, JSONObject]) -> None:
    _check(document[0])


_KEYWORDS = st.sampled_from(
    ("type", "properties", "required", "items", "prefixItems", "anyOf", "oneOf", "allOf", "enum", "const",
     "$ref", "format", "nullable", "additionalProperties", "$defs", "not", "x")
)  # fmt: skip
_NONSENSE: st.SearchStrategy[JSON] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["object", "array", "null", "#", "#/properties/x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYWORDS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(_KEYWORDS, _NONSENSE, max_size=5))
def test_any_invalid_schema_becomes_one_that_gemini_supports(schema: JSONObject) -> None:
    _check(schema)


def test_a_schema_that_multiplies_by_references_is_bounded() -> None:
    names = [f"d{number}" for number in range(30)]
    defs = {
        name: {
            "type": "object",
            "properties": {"a": {"$ref": f"#/$defs/{after}"}, "b": {"$ref": f"#/$defs/{after}"}},
        }
        for name, after in pairwise(names)
    }
    schema = {"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": defs}
    definition = define("gemini", json.dumps(schema))
    assert "too deep or too large" in definition.notes[0]
    assert len(write(definition.value)) < 2_000_000


def test_several_definitions_are_written_as_the_tools_of_a_request() -> None:
    assert json.loads(tools_text(['{"a": 1}', '{\n  "b": 2\n}'], "anthropic")) == [{"a": 1}, {"b": 2}]
    assert json.loads(tools_text(['{"a": 1}'], "gemini")) == [{"functionDeclarations": [{"a": 1}]}]
    for format in FORMATS:
        json.loads(tools_text([], format))
