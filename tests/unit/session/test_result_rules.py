"""Rules for results that parsing tolerates and SDK-based clients reject."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.jsonrpc import Kind, Message, read
from inspector.protocol.revisions import R1, R2, R3, R4, R5, Revision
from inspector.session.result_rules import MAX_FINDINGS, message_findings, result_findings, text_findings
from inspector.session.server_requests import with_parsed_body

SCHEMA: JSONObject = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "type": {"type": ["string", "null"]},
        "any": True,
        "properties": {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/x"}]}},
        "required": {"enum": [1, "type"], "default": {"type": "no schema"}},
    },
    "required": ["type"],
    "additionalProperties": False,
    "$defs": {"x": {"type": "number"}},
}
TOOL: JSONObject = {"name": "a", "inputSchema": SCHEMA}
CACHE: JSONObject = {"ttlMs": 0, "cacheScope": "private"}
COMPLETE: JSONObject = {"resultType": "complete"}
BLOCKS: list[JSON] = [
    {"type": "text", "text": ""},
    {"type": "image", "data": "", "mimeType": "image/png"},
    {"type": "audio", "data": "", "mimeType": "audio/wav"},
    {"type": "resource_link", "uri": "x://y", "name": "y"},
    {"type": "resource", "resource": {"uri": "x://y", "text": "t"}},
    {"type": "resource", "resource": {"uri": "x://y", "blob": ""}},
]
VALID: list[tuple[str, JSONObject]] = [
    ("tools/list", {"tools": [TOOL, {**TOOL, "name": "b", "outputSchema": {"type": "object"}}]}),
    ("tools/list", {"tools": []}),
    ("prompts/list", {"prompts": [{"name": "a"}, {"name": "b"}]}),
    ("resources/list", {"resources": [{"uri": "x://y", "name": "y"}]}),
    ("tools/call", {"content": BLOCKS, "isError": False}),
    ("tools/call", {"content": [], "structuredContent": {"a": 1}, "isError": True}),
    ("prompts/get", {"messages": [{"role": "user", "content": block} for block in BLOCKS]}),
    ("resources/read", {"contents": [{"uri": "x://y", "text": ""}, {"uri": "x://z", "blob": ""}]}),
    ("ping", {}),
]


@pytest.mark.parametrize("revision", [R1, R2, R3, R4], ids=str)
@pytest.mark.parametrize(("method", "result"), VALID)
def test_valid_result_of_a_session_has_no_finding(
    method: str, result: JSONObject, revision: Revision
) -> None:
    assert result_findings(method, result, revision) == []


@pytest.mark.parametrize(("method", "result"), VALID)
def test_valid_stateless_result_has_no_finding(method: str, result: JSONObject) -> None:
    assert result_findings(method, {**result, **COMPLETE, **CACHE}, R5) == []


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("tools/call", {"resultType": "input_required", "inputRequests": {}}),
        ("resources/read", {"resultType": "input_required", "requestState": "x"}),
        ("tools/call", {"resultType": "task", "taskId": "t"}),
        ("tools/call", {**COMPLETE, "content": [], "structuredContent": [1]}),
        ("tools/list", {**COMPLETE, **CACHE, "tools": [{**TOOL, "outputSchema": {"type": "array"}}]}),
    ],
)
def test_what_only_the_stateless_shape_allows_has_no_finding_there(method: str, result: JSONObject) -> None:
    assert result_findings(method, result, R5) == []


def test_task_of_2025_needs_no_content() -> None:
    assert result_findings("tools/call", {"task": {"taskId": "t"}}, R4) == []


@pytest.mark.parametrize(
    ("result", "finding"),
    [
        ({}, 'the result has no "resultType", which 2026-07-28 requires'),
        ({"resultType": 7}, '"resultType" must be a string'),
        ({"resultType": "partial"}, 'the "resultType" “partial” is unknown'),
    ],
)
@pytest.mark.parametrize("method", ["tools/call", "completion/complete", "server/discover", "tasks/get"])
def test_missing_or_unknown_result_type_is_reported(method: str, result: JSONObject, finding: str) -> None:
    assert finding in result_findings(method, {"content": [], **CACHE, **result}, R5)


@pytest.mark.parametrize(
    ("hints", "finding"),
    [
        ({"cacheScope": "public"}, '"ttlMs" is missing'),
        ({"ttlMs": 1}, '"cacheScope" is missing'),
        ({"ttlMs": -1, "cacheScope": "public"}, '"ttlMs" must be an integer, 0 or more, not “-1”'),
        ({"ttlMs": "60", "cacheScope": "public"}, '"ttlMs" must be an integer, 0 or more, not “60”'),
        ({"ttlMs": 1.5, "cacheScope": "public"}, '"ttlMs" must be an integer, 0 or more, not “1.5”'),
        ({"ttlMs": True, "cacheScope": "public"}, '"ttlMs" must be an integer, 0 or more, not “true”'),
        ({"ttlMs": 1, "cacheScope": "shared"}, '"cacheScope" must be "public" or "private", not “shared”'),
    ],
)
@pytest.mark.parametrize("method", ["tools/list", "resources/read", "server/discover"])
def test_odd_cache_fields_are_reported(method: str, hints: JSONObject, finding: str) -> None:
    result: JSONObject = {**COMPLETE, "tools": [], "contents": [], **hints}
    assert result_findings(method, result, R5) == [finding]


@pytest.mark.parametrize(
    ("tool", "finding"),
    [
        ({}, '"inputSchema" is missing'),
        ({"inputSchema": '{"type":"object"}'}, '"inputSchema" must be an object, not “{"type":"object"}”'),
        ({"inputSchema": None}, '"inputSchema" must be an object, not “null”'),
        ({"inputSchema": {}}, '"inputSchema" must have the type "object", not “null”'),
        ({"inputSchema": {"type": "array"}}, '"inputSchema" must have the type "object", not “array”'),
        (
            {"inputSchema": {"type": ["object"]}},
            '"inputSchema" must have the type "object", not “["object"]”',
        ),
        (
            {"inputSchema": {"type": "object", "properties": []}},
            '"properties" in "inputSchema" must be an object',
        ),
        (
            {"inputSchema": {"type": "object", "properties": {"a": "string"}}},
            '"properties" in "inputSchema" must have schemas as values',
        ),
        (
            {"inputSchema": {"type": "object", "required": "a"}},
            '"required" in "inputSchema" must be an array of strings',
        ),
        (
            {"inputSchema": {"type": "object", "properties": {"a": {"items": {"type": "str"}}}}},
            'the type “str” in "inputSchema" does not exist in JSON Schema',
        ),
        (
            {"inputSchema": {"type": "object", "anyOf": [{"type": ["string", 1]}]}},
            'the type “["string",1]” in "inputSchema" does not exist in JSON Schema',
        ),
        (
            {"inputSchema": {"type": "object", "$defs": {"a": {"type": "float"}}}},
            'the type “float” in "inputSchema" does not exist in JSON Schema',
        ),
        (
            {"inputSchema": {"type": "object", "patternProperties": {"^a": {"type": "any"}}}},
            'the type “any” in "inputSchema" does not exist in JSON Schema',
        ),
        ({"inputSchema": SCHEMA, "outputSchema": "x"}, '"outputSchema" must be an object, not “x”'),
        (
            {"inputSchema": SCHEMA, "outputSchema": {"type": "string"}},
            '"outputSchema" must have the type "object", not “string”',
        ),
    ],
)
def test_odd_schema_is_reported_with_its_tool(tool: JSONObject, finding: str) -> None:
    result: JSONObject = {"tools": [TOOL, {"name": "odd", **tool}]}
    assert result_findings("tools/list", result, R4) == [f"tool “odd”: {finding}"]


@pytest.mark.parametrize(("method", "member"), [("tools/list", "tools"), ("prompts/list", "prompts")])
def test_name_that_is_listed_twice_is_reported(method: str, member: str) -> None:
    result: JSONObject = {member: [TOOL, {**TOOL, "name": "b"}, TOOL]}
    what = member.removesuffix("s")
    assert result_findings(method, result, R4) == [f"the {what} “a” is listed more than once"]


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ("hello", "a content block must be an object, not “hello”"),
        (None, "a content block must be an object, not “null”"),
        ({"type": "hologram"}, "unknown content type “hologram”"),
        ({"text": "hi"}, "unknown content type “null”"),
        ({"type": ["text"], "text": "hi"}, 'unknown content type “["text"]”'),
        ({"type": "text"}, '"text" must be a string'),
        ({"type": "text", "text": 7}, '"text" must be a string'),
        ({"type": "image", "data": ""}, '"mimeType" must be a string'),
        ({"type": "resource_link", "uri": "x://y"}, '"name" must be a string'),
        ({"type": "resource"}, "resource contents must be an object"),
        ({"type": "resource", "resource": {"text": ""}}, '"uri" must be a string'),
        (
            {"type": "resource", "resource": {"uri": "x://y"}},
            'it has neither a "text" nor a "blob" that is a string',
        ),
    ],
)
def test_odd_content_is_reported_with_its_position(block: JSON, problem: str) -> None:
    result: JSONObject = {"content": [BLOCKS[0], block]}
    assert result_findings("tools/call", result, R4) == [f"content[1]: {problem}"]
    result = {"messages": [{"role": "user", "content": block}]}
    assert result_findings("prompts/get", result, R4) == [f"messages[0].content: {problem}"]


@pytest.mark.parametrize(
    ("method", "result", "finding"),
    [
        ("tools/call", {}, '"content" is missing'),
        ("tools/call", {"content": "hello"}, '"content" must be an array, not “hello”'),
        ("tools/call", {"content": [], "isError": "no"}, '"isError" must be true or false'),
        (
            "tools/call",
            {"content": [], "structuredContent": [1]},
            '"structuredContent" must be an object in 2025-11-25',
        ),
        ("prompts/get", {}, '"messages" is missing'),
        ("prompts/get", {"messages": ["hi"]}, "messages[0] must be an object"),
        (
            "prompts/get",
            {"messages": [{"role": "system", "content": BLOCKS[0]}]},
            'messages[0]: "role" must be "user" or "assistant"',
        ),
        ("resources/read", {"contents": {}}, '"contents" must be an array, not “{}”'),
        ("tools/list", {"items": []}, '"tools" is missing'),
        ("prompts/list", {"prompts": {}}, '"prompts" must be an array, not “{}”'),
        ("resources/list", {"resources": None}, '"resources" must be an array, not “null”'),
        ("resources/templates/list", {}, '"resourceTemplates" is missing'),
        (
            "resources/read",
            {"contents": [{"uri": "x://y"}]},
            'contents[0]: it has neither a "text" nor a "blob" that is a string',
        ),
    ],
)
def test_odd_result_is_reported(method: str, result: JSONObject, finding: str) -> None:
    assert result_findings(method, result, R4) == [finding]


def test_only_a_few_findings_are_reported_for_one_message() -> None:
    assert len(result_findings("tools/call", {"content": ["x"] * 100}, R4)) == MAX_FINDINGS


def findings_of(raw: bytes, method: str = "tools/call") -> list[str]:
    message = read(raw)
    assert message.kind is Kind.RESULT
    body = with_parsed_body(message).parsed
    return [] if body is None else message_findings(method, raw, body, R4)


@pytest.mark.parametrize(
    ("result", "finding"),
    [
        (rb'{"content":[],"a":1,"a":2}', "the key “a” occurs more than once in an object"),
        (
            rb'{"content":[],"x":[{"b":1,"c":{"b":2,"b":3}}]}',
            "the key “b” occurs more than once in an object",
        ),
        (rb'{"content":[],"content":[]}', "the key “content” occurs more than once in an object"),
        (rb'{"content":[],"x":NaN}', "it contains NaN, which is not JSON"),
        (rb'{"content":[],"x":[-Infinity]}', "it contains -Infinity, which is not JSON"),
        (rb'{"content":[],"x":"\ud800"}', "a string has half of a surrogate pair, which is not a character"),
        (rb'{"content":[],"\uDC00":1}', "a string has half of a surrogate pair, which is not a character"),
    ],
)
@pytest.mark.parametrize("padding", [0, 100_000])
def test_odd_text_is_reported(result: bytes, finding: str, padding: int) -> None:
    raw = b'{"jsonrpc":"2.0","id":1,"result":%s%s}' % (result, b" " * padding)
    assert findings_of(raw) == [finding]


@pytest.mark.parametrize(
    "result",
    [
        rb'{"content":[],"a":"\":\":\":","b":"\\","c\\":1,"d\"":2}',
        rb'{"content":[],"a" : 1, "b" :2}',
        rb'{"content":[],"a":"NaN Infinity","Infinity":1}',
        rb'{"content":[],"a":"\ud83d\ude00","b":"\\ud800"}',
        '{"content":[],"a":"\\uD83D\\uDE00 😀"}'.encode(),
    ],
)
def test_valid_text_has_no_finding(result: bytes) -> None:
    assert findings_of(b'{"jsonrpc":"2.0","id":1,"result":%s}' % result) == []


def test_repeated_key_is_found_in_linear_time() -> None:
    """Threat: comparing all keys with each other froze the engine for 8 s with 20,000 keys."""
    keys = b",".join(b'"%d":0' % number for number in range(100_000))
    raw = b'{"jsonrpc":"2.0","id":1,"result":{"content":[],%s,"99999":1}}' % keys
    assert findings_of(raw) == ["the key “99999” occurs more than once in an object"]


VALUES: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, st.sampled_from([None, 0, 3]), st.booleans())
def test_no_value_without_violations_has_a_finding(value: JSON, indent: int | None, ascii: bool) -> None:
    raw = json.dumps(value, indent=indent, ensure_ascii=ascii).encode()
    assert text_findings(raw, json.loads(raw)) == []


@given(
    st.binary(max_size=200), st.sampled_from(["tools/list", "tools/call", "prompts/get", "resources/read"])
)
def test_no_bytes_make_it_fail(raw: bytes, method: str) -> None:
    body = with_parsed_body(Message(Kind.RESULT, raw)).parsed
    if body is not None:
        message_findings(method, raw, body, R5)


@given(VALUES, st.sampled_from(["tools/list", "tools/call", "prompts/get", "resources/read", "prompts/list"]))
def test_no_result_makes_it_fail(value: JSON, method: str) -> None:
    for member in ("tools", "content", "messages", "contents", "prompts"):
        for revision in (R4, R5):
            result_findings(method, {member: value}, revision)
            result_findings(method, {member: [value]}, revision)
            result_findings(method, {member: [{"inputSchema": value, "content": value}]}, revision)
