"""`x-mcp-header`: which arguments are mirrored, and which annotations make a tool unusable over HTTP."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.http_rules import ParamHeaders, read_param_headers

STRING: JSONObject = {"type": "string", "x-mcp-header": "Region"}


def schema(**properties: JSON) -> JSONObject:
    return {"type": "object", "properties": properties}


def read(value: JSON) -> ParamHeaders:
    headers = read_param_headers(value)
    assert isinstance(headers, ParamHeaders), headers
    return headers


@pytest.mark.parametrize(
    "value",
    [
        {},
        schema(),
        schema(a={"type": "string"}),
        None,
        True,
        [],
        "words",
        {"properties": []},
        {"properties": {"a": True, "b": None}},
        {"properties": {"x-mcp-header": {"type": "string"}}},  # a property of that name is no annotation
        schema(
            a={"type": "object", "default": STRING, "examples": [STRING], "const": STRING, "enum": [STRING]}
        ),
        {"x-vendor": STRING},
    ],
)
def test_a_schema_without_annotations_mirrors_nothing(value: JSON) -> None:
    assert read(value) == ParamHeaders()
    assert read(value).headers_for({"a": "b", "x-mcp-header": "c"}) == ()


@pytest.mark.parametrize("type_", ["string", "integer", "boolean"])
def test_each_scalar_type_may_be_annotated(type_: str) -> None:
    headers = read(schema(a={"type": type_, "x-mcp-header": "Region"}))
    assert headers.paths == (("Mcp-Param-Region", ("a",)),)


@pytest.mark.parametrize("name", ["Method", "a", "0", "!#$%&'*+-.^_`|~", "X" * 200])
def test_every_http_token_is_a_valid_name(name: str) -> None:
    headers = read(schema(a={"type": "string", "x-mcp-header": name}))
    assert headers.headers_for({"a": "v"}) == ((f"Mcp-Param-{name}", "v"),)


def test_nested_properties_are_read_at_their_exact_path() -> None:
    inner = schema(region=STRING, b={"type": "integer", "x-mcp-header": "B"})
    headers = read(schema(outer=inner, c={"type": "boolean", "x-mcp-header": "C"}))
    arguments: JSONObject = {"outer": {"region": "eu", "b": 7}, "c": True, "region": "wrong"}
    assert headers.headers_for(arguments) == (
        *(("Mcp-Param-Region", "eu"), ("Mcp-Param-B", "7"), ("Mcp-Param-C", "true")),
    )


def test_a_property_name_with_a_dot_is_one_step() -> None:
    headers = read(schema(**{"a.b": STRING}))
    assert headers.headers_for({"a.b": "yes", "a": {"b": "no"}}) == (("Mcp-Param-Region", "yes"),)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (schema(a={"type": "string", "x-mcp-header": ""}), "property “a”: x-mcp-header is empty"),
        (schema(a={"type": "object", "x-mcp-header": "A"}), "not on type object"),
        (schema(a={"type": "array", "x-mcp-header": "A"}), "not on type array"),
        (schema(a={"type": "null", "x-mcp-header": "A"}), "not on type null"),
        (
            schema(a=STRING, b=STRING),
            "property “b”: x-mcp-header “Region” is used twice; header names are case-insensitive",
        ),
        (schema(a=STRING, b=STRING | {"x-mcp-header": "REGION"}), "“REGION” is used twice"),
        (schema(a=STRING | {"x-mcp-header": "My Region"}), "“My Region” contains characters"),
        (
            schema(a=STRING | {"x-mcp-header": "Region:Primary"}),
            "contains characters that are not allowed in a header name",
        ),
        (schema(a=STRING | {"x-mcp-header": "Région"}), "“Région” contains characters"),
        (schema(a=STRING | {"x-mcp-header": "Region\t1"}), "contains characters"),
    ],
)
def test_a_tool_of_the_conformance_suite_is_dropped(value: JSON, reason: str) -> None:
    assert reason in str(read_param_headers(value))


@pytest.mark.parametrize(
    "name", ["a\r\nHost: x", "a\n", "\x00", "a/b", "a(b)", 'a"', "a,b", "a;b", "\x7f", "@"]
)
def test_name_that_is_not_a_token_drops_the_tool(name: str) -> None:
    assert "contains characters" in str(read_param_headers(schema(a=STRING | {"x-mcp-header": name})))


@pytest.mark.parametrize("name", [None, 7, True, ["Region"], {"name": "Region"}])
def test_non_string_name_drops_the_tool(name: JSON) -> None:
    reason = read_param_headers(schema(a=STRING | {"x-mcp-header": name}))
    assert reason == "property “a”: x-mcp-header must be a string"


@pytest.mark.parametrize("type_", ["number", ["string", "null"], ["string"], "text", 5, None])
def test_unsupported_type_drops_the_tool(type_: JSON) -> None:
    assert "is only allowed on a string" in str(read_param_headers(schema(a=STRING | {"type": type_})))


def test_a_missing_type_drops_the_tool() -> None:
    assert "not on type null" in str(read_param_headers(schema(a={"x-mcp-header": "A"})))


@pytest.mark.parametrize(
    "value",
    [
        STRING,  # the root itself
        {"$defs": {"r": STRING}, "properties": {"a": {"$ref": "#/$defs/r"}}},
        {"definitions": {"r": STRING}},
        schema(a={"type": "array", "items": STRING}),
        schema(a={"type": "array", "items": [STRING]}),
        schema(a={"type": "array", "items": schema(b=STRING)}),
        schema(a={"type": "array", "prefixItems": [STRING]}),
        schema(a={"type": "array", "contains": STRING}),
        schema(a={"oneOf": [{"type": "null"}, STRING]}),
        schema(a={"anyOf": [STRING]}),
        schema(a={"allOf": [STRING]}),
        schema(a={"not": STRING}),
        {"oneOf": [schema(a=STRING)]},
        {"if": schema(a=STRING)},
        {"then": schema(a=STRING)},
        {"else": schema(a=STRING)},
        {"patternProperties": {"^a": STRING}},
        {"additionalProperties": STRING},
        {"unevaluatedProperties": STRING},
        {"propertyNames": STRING},
        {"dependentSchemas": {"a": schema(b=STRING)}},
        {"dependencies": {"a": schema(b=STRING), "c": ["d"]}},
        schema(a=schema(b={"items": schema(c=STRING)})),
    ],
)
def test_annotation_outside_the_properties_chain_drops_the_tool(value: JSON) -> None:
    assert read_param_headers(value) == (
        "x-mcp-header is only allowed on properties that are reachable from the schema root "
        "through “properties” alone"
    )


def test_one_bad_annotation_among_good_ones_drops_the_tool() -> None:
    value = schema(
        a=STRING, b={"type": "integer", "x-mcp-header": "B"}, c={"type": "number", "x-mcp-header": "C"}
    )
    assert str(read_param_headers(value)).startswith("property “c”")


def test_server_text_cannot_inject_terminal_escapes() -> None:
    reason = str(read_param_headers(schema(**{"\x1b[2J": STRING | {"x-mcp-header": "\x1b[31m"}})))
    assert "\x1b" not in reason


def test_a_schema_nested_beyond_pythons_stack_is_read() -> None:
    value: JSONObject = STRING
    for _ in range(2_000):
        value = {"properties": {"a": value}}
    assert len(read(value).paths[0][1]) == 2_000


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"a": "us-west1"}, (("Mcp-Param-Region", "us-west1"),)),
        ({"a": "Hello, 世界"}, (("Mcp-Param-Region", "=?base64?SGVsbG8sIOS4lueVjA==?="),)),
        ({"a": ""}, (("Mcp-Param-Region", ""),)),
        ({"a": "a\r\nX-Evil: 1"}, (("Mcp-Param-Region", "=?base64?YQ0KWC1FdmlsOiAx?="),)),
        ({"a": 42}, (("Mcp-Param-Region", "42"),)),
        ({"a": False}, (("Mcp-Param-Region", "false"),)),
        ({"a": None}, ()),
        ({}, ()),
        ({"a": {"deep": 1}}, ()),
        ({"a": ["x"]}, ()),
    ],
)
def test_a_value_is_mirrored_or_omitted(arguments: JSONObject, headers: object) -> None:
    assert read(schema(a=STRING)).headers_for(arguments) == headers


@pytest.mark.parametrize("arguments", [{}, {"o": None}, {"o": "text"}, {"o": []}, {"o": {}}])
def test_path_without_a_value_omits_the_header(arguments: JSONObject) -> None:
    assert read(schema(o=schema(a=STRING))).headers_for(arguments) == ()


keywords = st.sampled_from(
    ["type", "properties", "items", "oneOf", "$defs", "x-mcp-header", "not", "default", "a", "string"]
)
schemas: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.booleans() | st.integers() | keywords,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keywords, inner, max_size=4),
    max_leaves=12,
)


@given(schemas, schemas)
def test_any_schema_is_read_or_refused_with_a_reason(value: JSON, arguments: JSON) -> None:
    headers = read_param_headers(value)
    if isinstance(headers, str):
        assert headers
    elif isinstance(arguments, dict):
        headers.headers_for(arguments)
