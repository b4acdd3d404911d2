"""Validation of results against output schemas, including hostile ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON, JSONObject, compact
from inspector.engine.calls.output_check import (
    MAX_DIFFERENCES,
    OutputCheck,
    OutputState,
    check_output,
    check_packed,
    pack,
)
from tests.helpers.playbook import frame
from tests.unit.engine.content.test_pretty_text import json_values

SCHEMA: JSONObject = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "a/b": {"type": "array", "items": {"type": "string"}}},
    "required": ["n"],
}


def mirrored(value: JSON) -> JSONObject:
    return {"content": [{"type": "text", "text": compact(value)}], "structuredContent": value}


def check(result: JSONObject, schema: JSON = SCHEMA) -> OutputCheck:
    return check_packed(pack(frame(id=1, result=result), schema))


def test_declared_output_matches() -> None:
    assert check(mirrored({"n": 2**70})) == OutputCheck(OutputState.FITS)


def test_each_mismatch_is_reported_with_its_path() -> None:
    found = check(mirrored({"n": 1.5, "a/b": ["x", 5]}))
    assert found.state is OutputState.DIFFERS
    assert [one.pointer for one in found.differences] == ["/n", "/a~1b/1"]
    assert found.differences[0].message == "must be an integer, got 1.5"
    assert [one.pointer for one in check(mirrored({})).differences] == ["/n"]


def test_many_mismatches_and_long_messages_are_truncated() -> None:
    found = check(mirrored({"n": 1, "a/b": [*range(500)]}))
    assert (len(found.differences), found.has_more) == (MAX_DIFFERENCES, True)
    found = check(mirrored({"n": "x" * 100_000}))
    assert len(found.differences[0].message) <= 300


def test_declared_structured_content_is_required_unless_the_call_failed() -> None:
    assert check({"content": []}).state is OutputState.MISSING
    assert check({"content": [], "isError": True}).state is OutputState.NOT_EXPECTED
    refused = frame(id=1, error={"code": -32000, "message": "no"})
    assert check_output(refused, SCHEMA).state is OutputState.NOT_EXPECTED


def test_without_a_schema_only_the_text_copy_is_checked() -> None:
    assert check(mirrored({"n": 1}), None) == OutputCheck(OutputState.NOT_DECLARED)
    (note,) = check({"structuredContent": {"n": 1}}, None).notes
    assert "older clients do not see it" in note


def test_text_that_differs_from_the_structured_content_is_reported() -> None:
    result: JSONObject = {"content": [{"type": "text", "text": '{"n": 2}'}, 5], "structuredContent": {"n": 1}}
    found = check(result)
    assert found.state is OutputState.FITS
    assert "older clients see something else" in found.notes[0]


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"$ref": "http://127.0.0.1:9/x"}, "http://127.0.0.1:9/x"),
        ({"$ref": "#/$defs/none"}, "#/$defs/none"),
        ({"type": "nonsense"}, "nonsense"),
        ({"pattern": "("}, "regex"),
        ([], "schema"),
    ],
)
def test_a_schema_that_cannot_be_used_says_why_and_nothing_is_fetched(schema: JSON, reason: str) -> None:
    found = check(mirrored({"n": 1}), schema)
    assert found.state is OutputState.UNCHECKED
    assert reason in found.reason


def test_catastrophic_pattern_terminates() -> None:
    """T27: a regular expression in a schema blocks the app (ReDoS)."""
    found = check(mirrored("a" * 5_000 + "b"), {"pattern": "^(a+)+$"})
    assert found.state in (OutputState.DIFFERS, OutputState.UNCHECKED)


def test_unreadable_result_is_not_checked() -> None:
    assert check_output(b'{"jsonrpc":"2.0","id":1,"result":{', SCHEMA).state is OutputState.UNCHECKED


@given(json_values, st.sampled_from([SCHEMA, None, True, {}, {"enum": [1]}]))
def test_any_structured_content_is_checked(value: JSON, schema: JSON) -> None:
    assert check(mirrored(value), schema).state is not OutputState.UNCHECKED


def test_number_beyond_float_range_is_compared_and_shown_as_written() -> None:
    schema: JSON = {"properties": {"n": {"maximum": 5}}}
    response = b'{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"n":1e400}}}'
    (difference,) = check_output(response, schema).differences
    assert difference.message == "must be at most 5, got 1e400"


def test_value_that_is_not_json_is_not_checked() -> None:
    response = b'{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"n":NaN}}}'
    checked = check_output(response, {"properties": {"n": {"type": "number"}}})
    assert checked.state is OutputState.UNCHECKED
    assert "NaN" in checked.reason
