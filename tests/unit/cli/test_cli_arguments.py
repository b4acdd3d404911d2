"""Call arguments from the command line."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSONObject
from inspector.cli.arguments import arguments_for, read_assignments, read_object
from inspector.protocol.types import Tool
from tests.helpers.platforms import IS_WINDOWS

CLOSED: JSONObject = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "count": {"type": "integer"}},
    "additionalProperties": False,
}


def tool(schema: JSONObject) -> Tool:
    return Tool.read({"name": "add_issue", "inputSchema": schema})


def arguments(*words: str, schema: JSONObject = CLOSED, members: JSONObject | None = None) -> JSONObject:
    return arguments_for(tool(schema), read_assignments(words), members or {})


def refusal(*words: str, schema: JSONObject = CLOSED) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        arguments(*words, schema=schema)
    return caught.value


def test_values_follow_the_schema_and_keep_their_order() -> None:
    assert list(arguments("count=2", "title=2").items()) == [("count", 2), ("title", "2")]


def test_value_may_contain_equals_signs_or_be_empty() -> None:
    assert arguments("title=a=b=") == {"title": "a=b="}
    assert arguments("title=") == {"title": ""}


def test_forced_json_is_sent_whatever_the_schema_says() -> None:
    assert arguments('count:="two"', "other:=[1, null]") == {"count": "two", "other": [1, None]}


def test_keys_override_members() -> None:
    assert arguments("count=2", members={"count": 1, "more": True}) == {"count": 2, "more": True}


def test_key_unknown_to_an_open_schema_is_text() -> None:
    assert arguments("extra=5", schema={"type": "object", "properties": {}}) == {"extra": "5"}


def test_without_a_tool_every_value_is_text() -> None:
    assert arguments_for(None, read_assignments(["count=2"]), {}) == {"count": "2"}


def test_schema_reference_is_followed() -> None:
    schema: JSONObject = {"$ref": "#/$defs/input", "$defs": {"input": CLOSED}}
    assert arguments("count=2", schema=schema) == {"count": 2}


def test_invalid_value_error_names_key_expectation_alternative_and_known_keys() -> None:
    error = refusal("count=many")
    assert error.summary == "The argument 'count' must be an integer, got 'many'."
    quoted = r'''"count:=\"many\""''' if IS_WINDOWS else """'count:="many"'"""
    assert f"use {quoted}." in error.next_step
    assert error.next_step.endswith("Its arguments: title, count.")


def test_unknown_key_of_a_closed_schema_suggests_the_likely_one() -> None:
    error = refusal("cuont=2")
    assert error.summary == "The tool 'add_issue' has no argument 'cuont'. Did you mean 'count'?"
    assert error.next_step == "Its arguments: title, count."


def test_closed_schema_without_arguments_says_so() -> None:
    assert refusal("x=1", schema={"additionalProperties": False}).next_step == "Its arguments: none."


@pytest.mark.parametrize("word", ["python", "=5", ":=5", ""])
def test_word_without_an_assignment_says_where_a_command_goes(word: str) -> None:
    error = refusal(word)
    assert error.summary == f"{word!r} is not an argument. Use key=value or key:=json."
    assert "after --" in error.next_step


def test_duplicate_key_is_rejected() -> None:
    assert refusal("title=a", "title=b").summary == "The argument 'title' was given twice."


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[1]", "--json must be a JSON object, got an array."),
        ("{", "Could not parse the JSON for --json: Line 1, column 2:"),
        ('{"a":1,"a":2}', 'duplicate key "a"'),
        ("", "the text is empty"),
        ("@/no/such/file", "No such file or directory"),
    ],
)
def test_unusable_json_says_why(text: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_object(text)
    assert reason.lower() in str(caught.value).lower()


def test_invalid_forced_json_names_its_key() -> None:
    assert refusal("count:=five").summary.startswith("Could not parse the JSON for count: ")


def test_json_is_read_from_a_file_and_from_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "arguments.json"
    file.write_text('\ufeff{"a": "é"}', encoding="utf-8")
    assert read_object(f"@{file}") == {"a": "é"}
    monkeypatch.setattr("sys.stdin", io.StringIO('{"a": 1}'))
    assert read_object("-") == {"a": 1}


def test_value_starting_with_an_at_sign_is_text() -> None:
    assert arguments("title=@alice") == {"title": "@alice"}


def test_number_that_json_cannot_represent_is_rejected() -> None:
    assert refusal("count:=1e400").summary == "A number in the arguments is too large to send."
