"""Parsing of server requests: rejected only if unanswerable, with notes on violations."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.revisions import R1, R2, R3, R4, R5, REVISIONS, Revision
from inspector.protocol.server_requests.replies import reply_problems
from inspector.protocol.server_requests.request import (
    ELICITATION,
    ROOTS,
    SAMPLING,
    SERVER_REQUEST_METHODS,
    FormElicitation,
    RootsRequest,
    SamplingRequest,
    UrlElicitation,
    notes,
    read_server_request,
)
from tests.unit.protocol.server_requests.request_samples import (
    form,
    message,
    outcome,
    page,
    params_of_anything,
    results_of_anything,
    sampling,
    text,
    use,
)

SEVERAL: JSON = {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}
TITLED: JSON = {"type": "string", "oneOf": [{"const": "a", "title": "A"}]}
NAMED: JSON = {"type": "string", "enum": ["a"], "enumNames": ["A"]}


@given(st.sampled_from(SERVER_REQUEST_METHODS) | st.text(max_size=5), params_of_anything, results_of_anything)
def test_any_json_is_a_request_with_findings_or_a_value_error(
    method: str, params: JSON, result: JSON
) -> None:
    for revision in REVISIONS:
        try:
            requested = read_server_request(method, params)
        except ValueError:
            continue
        assert requested.source == (params or {})
        assert all(sentence.endswith(".") for sentence in notes(requested, revision))
        assert isinstance(result, dict)
        assert all(sentence.endswith(".") for sentence in reply_problems(requested, result, revision))


def test_sampling_request_is_read_completely() -> None:
    params = sampling(
        message("user", [text(), {"type": "image", "data": "aGk=", "mimeType": "image/png"}]),
        message("assistant", use()),
        message("user", [outcome()]),
        systemPrompt="Be brief.",
        includeContext="none",
        temperature=0.5,
        stopSequences=["END", "STOP"],
        metadata={"vendor": 1},
        modelPreferences={
            "hints": [{"name": "small"}, {"name": "tiny"}],
            "costPriority": 0,
            "speedPriority": 0.25,
            "intelligencePriority": 1,
        },
        tools=[{"name": "add", "inputSchema": {"type": "object"}}],
        toolChoice={"mode": "required"},
    )
    requested = read_server_request(SAMPLING, params)
    assert isinstance(requested, SamplingRequest)
    assert [(one.role, len(one.blocks), one.is_list) for one in requested.messages] == [
        ("user", 2, True),
        ("assistant", 1, False),
        ("user", 1, True),
    ]
    assert (requested.max_tokens, requested.system_prompt, requested.include_context) == (
        100,
        "Be brief.",
        "none",
    )
    assert (requested.temperature, requested.stop_sequences, requested.metadata) == (
        0.5,
        ("END", "STOP"),
        {"vendor": 1},
    )
    liked = requested.preferences
    assert (liked.hints, liked.cost, liked.speed, liked.intelligence) == (("small", "tiny"), 0, 0.25, 1)
    assert ([tool.name for tool in requested.tools], requested.tool_choice, requested.has_tools) == (
        ["add"],
        "required",
        True,
    )
    assert notes(requested, R4) == notes(requested, R5) == ()


def test_absent_members_are_distinguished_from_given_ones() -> None:
    requested = read_server_request(SAMPLING, {"messages": [message("user", text())], "maxTokens": 64.0})
    assert isinstance(requested, SamplingRequest)
    assert (requested.max_tokens, requested.temperature, requested.metadata, requested.has_tools) == (
        64,
        None,
        None,
        False,
    )
    assert requested.preferences.cost is None
    assert notes(requested, R1) == ()


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ([], '"params" must be an object, not “[]”'),
        ({}, '"messages" must be an array'),
        ({"messages": [7]}, "message 1 is not an object: “7”"),
        (
            {"messages": [message("user", text()), {"content": {}}]},
            'message 2 has no "role" that is a string',
        ),
        ({"messages": [message("user", "hi")]}, "message 1 cannot be shown: "),
        ({"messages": [message("user", [text(), "hi"])]}, "message 1 cannot be shown: "),
    ],
)
def test_sampling_without_usable_messages_cannot_be_answered(params: JSON, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        read_server_request(SAMPLING, params)


def remarks_on_sampling(params: JSONObject, revision: Revision = R4) -> tuple[str, ...]:
    return notes(read_server_request(SAMPLING, params), revision)


@pytest.mark.parametrize(
    ("more", "reported"),
    [
        ({"maxTokens": None}, "“maxTokens” is missing or is not an integer"),
        ({"maxTokens": 1.5}, "“maxTokens” is missing or is not an integer"),
        ({"maxTokens": True}, "“maxTokens” is missing or is not an integer"),
        ({"maxTokens": 0}, "“maxTokens” is “0”, which leaves no room"),
        ({"systemPrompt": ["a"]}, "“systemPrompt” is not a string, so it is ignored."),
        ({"temperature": True}, "“temperature” is not a number, so it is ignored."),
        ({"stopSequences": ["a", 1]}, "“stopSequences” contains non-strings"),
        ({"includeContext": "everything"}, "“includeContext” is “everything”; it must be none"),
        ({"includeContext": "allServers"}, "“includeContext”: allServers is deprecated since 2025-11-25."),
        (
            {"modelPreferences": {"speedPriority": 1.1}},
            "“speedPriority” is “1.1”; it must be a number from 0 to 1",
        ),
        ({"modelPreferences": {"costPriority": float("nan")}}, "“costPriority” is “NaN”"),
        ({"modelPreferences": {"hints": ["gpt"]}}, "“hints” contains entries without a model name"),
        ({"tools": [{}]}, '1 of the tools cannot be used: "name" must be'),
        ({"tools": [{"name": "a"}, {"name": "a"}]}, "More than one tool has the name “a”."),
        ({"toolChoice": "auto"}, "“toolChoice” is not an object, so it is ignored."),
        ({"tools": [], "toolChoice": {"mode": "any"}}, "The mode of “toolChoice” is “any”"),
        (
            {"toolChoice": {"mode": "required"}},
            "A tool use is required (“toolChoice”: required), but there are no tools.",
        ),
    ],
)
def test_sampling_that_breaks_a_rule_can_be_answered_and_has_findings(
    more: JSONObject, reported: str
) -> None:
    (note,) = remarks_on_sampling(sampling(**more))
    assert note.startswith(reported)


@pytest.mark.parametrize(
    ("messages", "reported"),
    [
        ([], ["There are no messages."]),
        ([message("system", text())], ["A role is “system”; it must be user or assistant."]),
        ([message("user", [])], ["A message has no content."]),
        ([message("user", {"text": "x"})], ["A content block has no type."]),
        (
            [message("user", {"type": "video"})],
            ["A content block has the type “video”, which sampling messages do not support"],
        ),
        (
            [message("user", {"type": "text"})] * 2,
            ["A content block (text) has no “text” string (2 times)."],
        ),
        (
            [message("user", {"type": "image", "data": "?", "mimeType": "image/png"})],
            ["A content block (image) has data that is not valid Base64."],
        ),
        ([message("assistant", use())], ["Message 1: the next message has no result for the tool use “u1”."]),
        ([message("user", outcome())], ["Message 1: the previous message has no tool use “u1”."]),
        (
            [message("assistant", use()), message("user", [outcome(), text()])],
            ["Message 2 mixes tool results with other content; they must be the only content."],
        ),
        (
            [message("user", use()), message("assistant", outcome())],
            [
                "Message 1: a tool use must be in an assistant message.",
                "Message 2: a tool result must be in a user message.",
            ],
        ),
    ],
)
def test_messages_that_break_a_rule_are_named(messages: list[JSON], reported: list[str]) -> None:
    found = remarks_on_sampling({"messages": messages, "maxTokens": 5})
    assert len(found) == len(reported)
    assert all(note.startswith(start) for note, start in zip(found, reported, strict=True))


def test_features_of_a_later_version_are_read_and_reported() -> None:
    audio: JSONObject = {"type": "audio", "data": "", "mimeType": "audio/wav"}
    assert remarks_on_sampling(sampling(message("user", audio)), R1)[0].endswith(
        "“audio”, which was added in 2025-03-26; this is 2024-11-05."
    )
    assert remarks_on_sampling(sampling(message("user", audio)), R2) == ()
    assert remarks_on_sampling(sampling(message("user", [text()]), tools=[]), R3) == (
        "Sampling with tools was added in 2025-11-25; this is 2025-06-18.",
        "Messages with arrays of content were added in 2025-11-25; this is 2025-06-18.",
    )
    assert remarks_on_sampling(sampling(includeContext="allServers"), R3) == ()


def test_million_violations_give_a_few_findings() -> None:
    assert len(remarks_on_sampling({"messages": [message("user", use(str(n))) for n in range(3_000)]})) == 20
    fields: dict[str, JSON] = {f"f{number}": {"type": "object"} for number in range(5_000)}
    found = notes(read_server_request(ELICITATION, form(**fields)), R4)
    assert found == ("Fields “f0”, “f1”, “f2” and 4,997 more: nested; a form only allows primitive fields.",)


def test_form_is_read_with_its_original_schema() -> None:
    params = form("name", name={"type": "string"}, tags=SEVERAL, deep={"type": "object"})
    requested = read_server_request(ELICITATION, params)
    assert isinstance(requested, FormElicitation)
    assert (requested.message, requested.required, requested.schema) == (
        "Who are you?",
        ("name",),
        params["requestedSchema"],
    )
    assert [field.name for field in requested.fields()] == ["name", "tags"]
    assert read_server_request(ELICITATION, params | {"mode": "form"}).source["mode"] == "form"


def test_url_elicitation_is_read_with_its_id() -> None:
    requested = read_server_request(ELICITATION, page(elicitationId="e1"))
    assert isinstance(requested, UrlElicitation)
    assert (requested.message, requested.url, requested.elicitation_id) == (
        *("Please log in", "https://example.com/consent", "e1"),
    )
    assert notes(requested, R4) == ()


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"message": "x"}, '"requestedSchema" is missing, or is not an object'),
        ({"requestedSchema": []}, '"requestedSchema" is missing, or is not an object'),
        ({"requestedSchema": {"type": "string"}}, 'the "type" of "requestedSchema" must be object'),
        ({"requestedSchema": {"properties": []}}, 'the "properties" of "requestedSchema" must be'),
        ({"mode": "voice"}, '"mode" is “voice”; it must be form or url'),
        ({"mode": None}, '"mode" is “null”; it must be form or url'),
        ({"mode": "url", "message": "x"}, '"url" must be a non-empty string'),
        ({"mode": "url", "url": ["https://x"]}, '"url" must be a non-empty string'),
    ],
)
def test_elicitation_without_a_form_or_url_cannot_be_answered(params: JSON, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        read_server_request(ELICITATION, params)


@pytest.mark.parametrize(
    ("field", "revision", "reported"),
    [
        ({"type": "object"}, R4, "nested; a form only allows primitive fields"),
        ({"$ref": "#/x", "type": "string"}, R4, "“$ref” is not allowed in a form"),
        ({"title": "x"}, R4, "the type is missing"),
        ({"type": ["string", "null"]}, R4, 'the type “["string","null"]” is not allowed in a form'),
        (True, R4, "the schema is not an object"),
        ({"type": "array", "items": {"type": "string"}}, R4, "an array without choices; a form only allows"),
        ({"type": "array"}, R4, "an array of anything; a form only allows arrays of listed choices"),
        ({"type": "string", "enum": [1]}, R4, "the choices (“enum”) are not an array of strings"),
        ({"type": "string", "oneOf": [{"const": 1}]}, R4, "the choices (“oneOf”) are not an array of titled"),
        ({"type": "string", "anyOf": [{"const": "a"}]}, R4, "“anyOf” is used where a form needs “oneOf”"),
        ({"type": "string", "format": "ipv4"}, R4, "the format “ipv4” is not allowed in a form"),
        (
            {"type": "string", "pattern": "^a"},
            R4,
            "“pattern” is not part of the form schemas in the specification",
        ),
        (NAMED, R4, "“enumNames” is deprecated since 2025-11-25; use “oneOf” with titles"),
        (
            {"type": "string", "enum": ["a", "b"], "enumNames": ["A"]},
            R3,
            "“enumNames” does not name every choice",
        ),
        ({"type": "integer", "default": 1.5}, R4, "the default is invalid: it must be an integer"),
        (SEVERAL, R3, "multi-select was added in 2025-11-25; this is 2025-06-18"),
        (TITLED, R3, "titled choices (“oneOf”) were added in 2025-11-25; this is 2025-06-18"),
        (
            {"type": "string", "default": "x"},
            R3,
            "a default for this type was added in 2025-11-25; this is 2025-06-18",
        ),
    ],
)
def test_a_field_that_breaks_a_rule_is_named_with_the_rule(
    field: JSON, revision: Revision, reported: str
) -> None:
    (note,) = notes(read_server_request(ELICITATION, form(odd=field)), revision)
    assert note.startswith(f"Field “odd”: {reported}")


@pytest.mark.parametrize("revision", [R4, R5])
def test_every_field_type_of_the_spec_is_fine(revision: Revision) -> None:
    params = form(
        "text",
        text={"type": "string", "format": "email", "minLength": 3, "default": "a@b"},
        day={"type": "string", "format": "date", "default": "2026-07-28"},
        number={"type": "number", "minimum": 0, "default": 0.5},
        whole={"type": "integer", "maximum": 3, "default": 3},
        yes={"type": "boolean", "default": True},
        plain={"type": "string", "enum": ["a", "b"], "default": "b"},
        titled=TITLED,
        several={**SEVERAL, "minItems": 1, "default": ["a"]} if isinstance(SEVERAL, dict) else None,
        titles={"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
    )
    assert notes(read_server_request(ELICITATION, params), revision) == ()


def test_first_form_version_allows_enum_names_and_boolean_defaults() -> None:
    params = form(plan=NAMED, yes={"type": "boolean", "default": False})
    assert notes(read_server_request(ELICITATION, params), R3) == ()


def test_incomplete_form_has_findings() -> None:
    params: JSONObject = {"requestedSchema": {"required": ["z"]}}
    assert notes(read_server_request(ELICITATION, params), R2) == (
        "“message” is missing; it must say what this is for.",
        "Elicitation was added in 2025-06-18; this is 2025-03-26.",
        "The form schema has no “type”; it must be object.",
        "The form schema has no “properties”.",
        "Required, but not a field of the form: “z”.",
    )


@pytest.mark.parametrize(
    ("params", "revision", "reported"),
    [
        (page(), R4, "“elicitationId” is missing; 2025-11-25 requires it."),
        (page(elicitationId="e"), R5, "“elicitationId” is no longer used in 2026-07-28."),
        (page(), R3, "URL elicitation was added in 2025-11-25; this is 2025-06-18."),
        (page("file:///etc/passwd"), R5, "The URL cannot be opened: It begins with “file:”"),
        (page("https://h/\n"), R5, "The URL cannot be opened: It contains a space"),
    ],
)
def test_url_elicitation_that_breaks_a_rule_has_findings(
    params: JSONObject, revision: Revision, reported: str
) -> None:
    (note,) = notes(read_server_request(ELICITATION, params), revision)
    assert note.startswith(reported)


@pytest.mark.parametrize("params", [None, {}, {"_meta": {}}])
def test_roots_request_may_have_params_or_none(params: JSON) -> None:
    requested = read_server_request(ROOTS, params)
    assert isinstance(requested, RootsRequest)
    assert notes(requested, R5) == ()


def test_other_methods_are_not_user_facing_requests() -> None:
    with pytest.raises(ValueError, match="“tools/call” is not a supported server request"):
        read_server_request("tools/call", {})


def test_server_text_is_short_and_plain_in_a_finding() -> None:
    (note,) = remarks_on_sampling(sampling(message("sys\ntem\u202e" + "x" * 1000, text())))
    assert "\n" not in note
    assert "\u202e" not in note
    assert len(note) < 150
