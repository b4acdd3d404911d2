"""Replies to server requests: how they are written, and warnings about wrong ones."""

from __future__ import annotations

import pytest

from inspector.base.json.values import JSON, ExactNumber, JSONObject
from inspector.protocol.revisions import R3, R4, R5, REVISIONS, Revision
from inspector.protocol.server_requests import replies
from inspector.protocol.server_requests.replies import (
    cancel_reply,
    decline_reply,
    form_reply,
    reply_problems,
    roots_reply,
    sampling_reply,
    url_reply,
)
from inspector.protocol.server_requests.request import ELICITATION, ROOTS, SAMPLING, read_server_request
from tests.unit.protocol.server_requests.request_samples import form, outcome, page, sampling, text, use

TOOLS: JSON = [{"name": "add"}]


def test_replies_are_written_as_specified() -> None:
    assert form_reply({"n": 1}) == {"action": "accept", "content": {"n": 1}}
    assert url_reply() == {"action": "accept"}
    assert decline_reply() == {"action": "decline"}
    assert cancel_reply() == {"action": "cancel"}
    assert roots_reply([{"uri": "file:///a"}]) == {"roots": [{"uri": "file:///a"}]}
    assert sampling_reply("assistant", text(), "m") == {"role": "assistant", "content": text(), "model": "m"}
    assert sampling_reply("assistant", [text()], "m")["content"] == text()
    assert sampling_reply("user", [text(), use()], "m", "toolUse", {"a": 1}) == {
        "role": "user",
        "content": [text(), use()],
        "model": "m",
        "stopReason": "toolUse",
        "_meta": {"a": 1},
    }


@pytest.mark.parametrize("revision", REVISIONS)
def test_plain_sampling_reply_is_valid_in_every_version(revision: Revision) -> None:
    requested = read_server_request(SAMPLING, sampling())
    assert (
        reply_problems(
            requested, sampling_reply("assistant", replies.text_block("Hi"), "m", "endTurn"), revision
        )
        == ()
    )


def test_reply_with_a_tool_use_is_valid_where_there_are_tools() -> None:
    requested = read_server_request(SAMPLING, sampling(tools=TOOLS, toolChoice={"mode": "required"}))
    assert reply_problems(requested, sampling_reply("assistant", [text(), use()], "m", "toolUse"), R4) == ()


@pytest.mark.parametrize(
    ("result", "reported"),
    [
        (sampling_reply("user", text(), "m"), "The role is user; a model responds as assistant."),
        (sampling_reply("system", text(), "m"), "The role is “system”; it must be user or assistant."),
        (
            sampling_reply("assistant", text(), ""),
            "“model” is missing: the name of the model that responded.",
        ),
        ({"role": "assistant", "model": "m"}, "“content” is missing."),
        ({"role": "assistant", "model": "m", "content": "Hi"}, "The reply cannot be read: "),
        (sampling_reply("assistant", [], "m"), "“content” is empty."),
        (sampling_reply("assistant", text(), "m") | {"stopReason": 5}, "“stopReason” is not a string."),
        (
            sampling_reply("assistant", {"type": "text"}, "m"),
            "Content block 1 (text) has no “text” string.",
        ),
        (
            sampling_reply("assistant", text(), "m") | {"resultType": "complete"},
            "A reply to a server request must not have “resultType”.",
        ),
        (
            sampling_reply("assistant", text(), "m", "toolUse"),
            "The stop reason is toolUse, but the reply contains no tool use.",
        ),
        (
            sampling_reply("assistant", use(), "m", "endTurn"),
            "The reply contains a tool use; its stop reason should be toolUse.",
        ),
        (sampling_reply("assistant", use(name="x"), "m", "toolUse"), "The server offers no tool “x”."),
        (
            sampling_reply("assistant", [use(), use()], "m", "toolUse"),
            "More than one tool use has the id “u1”.",
        ),
        (sampling_reply("assistant", outcome(), "m"), "A tool result comes from a user, not from a model."),
    ],
)
def test_errors_in_a_sampling_reply_are_reported(result: JSONObject, reported: str) -> None:
    (problem,) = reply_problems(read_server_request(SAMPLING, sampling(tools=TOOLS)), result, R4)
    assert problem.startswith(reported)


def test_tool_choice_of_the_server_is_respected() -> None:
    none = read_server_request(SAMPLING, sampling(tools=TOOLS, toolChoice={"mode": "none"}))
    assert reply_problems(none, sampling_reply("assistant", use(), "m", "toolUse"), R4) == (
        "The server does not allow tool use (“toolChoice”: none).",
    )
    required = read_server_request(SAMPLING, sampling(tools=TOOLS, toolChoice={"mode": "required"}))
    assert reply_problems(required, sampling_reply("assistant", text(), "m"), R4) == (
        "The server requires tool use (“toolChoice”: required).",
    )


def test_lists_and_tools_in_a_reply_need_a_later_version() -> None:
    requested = read_server_request(SAMPLING, sampling(tools=TOOLS))
    assert reply_problems(requested, sampling_reply("assistant", [text(), use()], "m", "toolUse"), R3) == (
        "Arrays of content were added in 2025-11-25; this is 2025-06-18.",
        "Content block 2 has the type “tool_use”, which was added in 2025-11-25; this is 2025-06-18.",
    )


FIELDS: dict[str, JSON] = {
    "text": {"type": "string", "minLength": 2, "maxLength": 4},
    "mail": {"type": "string", "format": "email"},
    "link": {"type": "string", "format": "uri"},
    "day": {"type": "string", "format": "date"},
    "time": {"type": "string", "format": "date-time"},
    "number": {"type": "number", "minimum": 0, "maximum": 1},
    "whole": {"type": "integer"},
    "yes": {"type": "boolean"},
    "one": {"type": "string", "enum": ["a", "b"]},
    "named": {"type": "string", "oneOf": [{"const": "a", "title": "A"}]},
    "some": {
        "type": "array",
        "items": {"type": "string", "enum": ["a", "b", "c"]},
        "minItems": 1,
        "maxItems": 2,
    },
    "deep": {"type": "object"},
}


@pytest.mark.parametrize(
    "content",
    [
        {},
        {
            "text": "abcd",
            "mail": "a@b",
            "link": "https://x",
            "day": "2024-02-29",
            "number": 0.5,
            "yes": False,
        },
        {"time": "2026-07-28T12:00:00Z", "whole": 2.0, "one": "b", "named": "a", "some": ["a", "c"]},
        {"time": "2016-12-31t23:59:60.5+01:00", "number": 1},
    ],
)
def test_valid_form_reply_has_no_errors(content: JSONObject) -> None:
    assert reply_problems(read_server_request(ELICITATION, form(**FIELDS)), form_reply(content), R4) == ()


@pytest.mark.parametrize(
    ("name", "value", "reported"),
    [
        ("text", "a", "must have at least 2 characters"),
        ("text", "abcde", "must have at most 4 characters"),
        ("text", 5, "must be a string"),
        ("mail", "no-at-sign", "must be an email address"),
        ("link", "no link", "must be a URI, such as https://example.com"),
        ("day", "2026-02-29", "must be a date, such as 2026-07-28"),
        ("day", "20260228", "must be a date, such as 2026-07-28"),
        ("time", "2026-07-28 12:00", "must be a date and time, such as 2026-07-28T12:00:00Z"),
        ("time", "2026-07-28T25:00:00Z", "must be a date and time, such as 2026-07-28T12:00:00Z"),
        ("number", -0.5, "must be at least 0"),
        ("number", ExactNumber("1e400"), "must be at most 1"),
        ("number", "1", "must be a number"),
        ("number", True, "must be a number"),
        ("whole", 1.5, "must be an integer"),
        ("yes", 1, "must be true or false"),
        ("one", "c", "must be one of the choices"),
        ("named", "A", "must be one of the choices"),
        ("some", [], "must have at least 1 choices"),
        ("some", ["a", "b", "c"], "must have at most 2 choices"),
        ("some", ["z"], "must contain only the listed choices"),
        ("some", "a", "must be an array"),
        ("deep", {"a": 1}, "is an object, which is not allowed in a form reply in 2025-11-25"),
        ("deep", None, "is null, which is not allowed in a form reply in 2025-11-25"),
        ("some", [1], "is an array, which is not allowed in a form reply in 2025-11-25"),
    ],
)
def test_invalid_field_value_is_named(name: str, value: JSON, reported: str) -> None:
    requested = read_server_request(ELICITATION, form(**FIELDS))
    assert reply_problems(requested, form_reply({name: value}), R4) == (f"“{name}” {reported}.",)


@pytest.mark.parametrize(
    ("result", "reported"),
    [
        (decline_reply(), ()),
        (cancel_reply(), ()),
        ({}, ("“action” is missing: accept, decline or cancel.",)),
        ({"action": "maybe"}, ("“action” is “maybe”; it must be accept, decline or cancel.",)),
        (url_reply(), ("“content” is missing or is not an object: accept must send the form's fields.",)),
        (decline_reply() | {"content": {}}, ("“content” is only allowed with accept.",)),
        (form_reply({"x": 1}), ("Required, but missing: “text”.", "Not a field of the form: “x”.")),
    ],
)
def test_errors_in_a_form_reply_are_reported(result: JSONObject, reported: tuple[str, ...]) -> None:
    assert reply_problems(read_server_request(ELICITATION, form("text", **FIELDS)), result, R5) == reported


def test_lists_in_a_form_need_a_later_version() -> None:
    requested = read_server_request(ELICITATION, form(**FIELDS))
    assert reply_problems(requested, form_reply({"some": ["a"]}), R3) == (
        "“some” is an array, which is not allowed in a form reply in 2025-06-18.",
    )


def test_url_elicitation_reply_has_an_action_and_nothing_else() -> None:
    requested = read_server_request(ELICITATION, page())
    for result in (url_reply(), decline_reply(), cancel_reply()):
        assert reply_problems(requested, result, R5) == ()
    assert reply_problems(requested, form_reply({}), R5) == (
        "A reply to a URL elicitation must not have “content”.",
    )


def test_roots_are_file_uris() -> None:
    requested = read_server_request(ROOTS, None)
    assert (
        reply_problems(requested, roots_reply([{"uri": "file:///a", "name": "A"}, {"uri": "FILE:///b"}]), R4)
        == ()
    )
    assert reply_problems(requested, {}, R4) == ("“roots” is missing or is not an array.",)
    assert reply_problems(requested, {"roots": [{"uri": "https://x"}, {}, 5]}, R4) == (
        "Root 1 is “https://x”; it must start with file://.",
        "Root 2 has no “uri”.",
        "Root 3 has no “uri”.",
    )
