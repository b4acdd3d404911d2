"""Answers to servers: written as the specification has them, and looked over before they go."""

from __future__ import annotations

import pytest

from inspector.base.json.values import JSON, ExactNumber, JSONObject
from inspector.protocol.revisions import R3, R4, R5, REVISIONS, Revision
from inspector.protocol.server_requests import replies
from inspector.protocol.server_requests.replies import (
    accepted,
    cancelled,
    consented,
    declined,
    listed,
    problems_of,
    sampled,
)
from inspector.protocol.server_requests.request import ELICITATION, ROOTS, SAMPLING, read_server_request
from tests.unit.protocol.server_requests.request_samples import form, outcome, page, sampling, text, use

TOOLS: JSON = [{"name": "add"}]


def test_replies_are_written_as_specified() -> None:
    assert accepted({"n": 1}) == {"action": "accept", "content": {"n": 1}}
    assert consented() == {"action": "accept"}
    assert declined() == {"action": "decline"}
    assert cancelled() == {"action": "cancel"}
    assert listed([{"uri": "file:///a"}]) == {"roots": [{"uri": "file:///a"}]}
    assert sampled("assistant", text(), "m") == {"role": "assistant", "content": text(), "model": "m"}
    assert sampled("assistant", [text()], "m")["content"] == text()
    assert sampled("user", [text(), use()], "m", "toolUse", {"a": 1}) == {
        "role": "user",
        "content": [text(), use()],
        "model": "m",
        "stopReason": "toolUse",
        "_meta": {"a": 1},
    }


@pytest.mark.parametrize("revision", REVISIONS)
def test_plain_sampling_reply_is_valid_in_every_version(revision: Revision) -> None:
    requested = read_server_request(SAMPLING, sampling(), revision)
    assert (
        problems_of(requested, sampled("assistant", replies.text_block("Hi"), "m", "endTurn"), revision) == ()
    )


def test_reply_with_a_tool_use_is_valid_where_there_are_tools() -> None:
    requested = read_server_request(SAMPLING, sampling(tools=TOOLS, toolChoice={"mode": "required"}), R4)
    assert problems_of(requested, sampled("assistant", [text(), use()], "m", "toolUse"), R4) == ()


@pytest.mark.parametrize(
    ("result", "reported"),
    [
        (sampled("user", text(), "m"), "The role is user; a model responds as assistant."),
        (sampled("system", text(), "m"), "The role is “system”; it can be user or assistant."),
        (sampled("assistant", text(), ""), "“model” is missing: the name of the model that responded."),
        ({"role": "assistant", "model": "m"}, "“content” is missing."),
        ({"role": "assistant", "model": "m", "content": "Hi"}, "The answer cannot be read: "),
        (sampled("assistant", [], "m"), "“content” is empty."),
        (sampled("assistant", text(), "m") | {"stopReason": 5}, "“stopReason” is not a string."),
        (
            sampled("assistant", {"type": "text"}, "m"),
            "Content block 1 (text) has no “text” that is a string.",
        ),
        (
            sampled("assistant", text(), "m") | {"resultType": "complete"},
            "A response to a server request must not have “resultType”.",
        ),
        (
            sampled("assistant", text(), "m", "toolUse"),
            "The stop reason is toolUse, and the answer uses no tool.",
        ),
        (
            sampled("assistant", use(), "m", "endTurn"),
            "The answer uses a tool; its stop reason should be toolUse.",
        ),
        (sampled("assistant", use(name="x"), "m", "toolUse"), "The server offers no tool “x”."),
        (
            sampled("assistant", [use(), use()], "m", "toolUse"),
            "More than one use of a tool has the id “u1”.",
        ),
        (sampled("assistant", outcome(), "m"), "A tool result comes from a user, not from a model."),
    ],
)
def test_errors_in_a_sampling_reply_are_reported(result: JSONObject, reported: str) -> None:
    (problem,) = problems_of(read_server_request(SAMPLING, sampling(tools=TOOLS), R4), result, R4)
    assert problem.startswith(reported)


def test_tool_choice_of_the_server_is_respected() -> None:
    none = read_server_request(SAMPLING, sampling(tools=TOOLS, toolChoice={"mode": "none"}), R4)
    assert problems_of(none, sampled("assistant", use(), "m", "toolUse"), R4) == (
        "The server does not allow tool use (“toolChoice”: none).",
    )
    required = read_server_request(SAMPLING, sampling(tools=TOOLS, toolChoice={"mode": "required"}), R4)
    assert problems_of(required, sampled("assistant", text(), "m"), R4) == (
        "The server requires tool use (“toolChoice”: required).",
    )


def test_lists_and_tools_in_a_reply_need_a_later_version() -> None:
    requested = read_server_request(SAMPLING, sampling(tools=TOOLS), R3)
    assert problems_of(requested, sampled("assistant", [text(), use()], "m", "toolUse"), R3) == (
        "A list of content came with 2025-11-25; this is 2025-06-18.",
        "Content block 2 has the type “tool_use”, which came with 2025-11-25; this is 2025-06-18.",
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
    assert problems_of(read_server_request(ELICITATION, form(**FIELDS), R4), accepted(content), R4) == ()


@pytest.mark.parametrize(
    ("name", "value", "reported"),
    [
        ("text", "a", "must have at least 2 characters"),
        ("text", "abcde", "must have at most 4 characters"),
        ("text", 5, "must be a string"),
        ("mail", "nobody", "must be an e-mail address"),
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
        ("deep", {"a": 1}, "is an object, which no answer to a form may hold in 2025-11-25"),
        ("deep", None, "is null, which no answer to a form may hold in 2025-11-25"),
        ("some", [1], "is a list, which no answer to a form may hold in 2025-11-25"),
    ],
)
def test_invalid_field_value_is_named(name: str, value: JSON, reported: str) -> None:
    requested = read_server_request(ELICITATION, form(**FIELDS), R4)
    assert problems_of(requested, accepted({name: value}), R4) == (f"“{name}” {reported}.",)


@pytest.mark.parametrize(
    ("result", "reported"),
    [
        (declined(), ()),
        (cancelled(), ()),
        ({}, ("“action” is missing: accept, decline or cancel.",)),
        ({"action": "maybe"}, ("“action” is “maybe”; it can be accept, decline or cancel.",)),
        (consented(), ("“content” is missing or is not an object: accept must send the form's fields.",)),
        (declined() | {"content": {}}, ("“content” is only allowed with accept.",)),
        (accepted({"x": 1}), ("Required, and not filled in: “text”.", "Not asked for: “x”.")),
    ],
)
def test_errors_in_a_form_reply_are_reported(result: JSONObject, reported: tuple[str, ...]) -> None:
    assert problems_of(read_server_request(ELICITATION, form("text", **FIELDS), R5), result, R5) == reported


def test_lists_in_a_form_need_a_later_version() -> None:
    requested = read_server_request(ELICITATION, form(**FIELDS), R3)
    assert problems_of(requested, accepted({"some": ["a"]}), R3) == (
        "“some” is a list, which no answer to a form may hold in 2025-06-18.",
    )


def test_url_elicitation_reply_has_an_action_and_nothing_else() -> None:
    requested = read_server_request(ELICITATION, page(), R5)
    for result in (consented(), declined(), cancelled()):
        assert problems_of(requested, result, R5) == ()
    assert problems_of(requested, accepted({}), R5) == (
        "A response to a URL elicitation must not have “content”.",
    )


def test_roots_are_file_uris() -> None:
    requested = read_server_request(ROOTS, None, R4)
    assert problems_of(requested, listed([{"uri": "file:///a", "name": "A"}, {"uri": "FILE:///b"}]), R4) == ()
    assert problems_of(requested, {}, R4) == ("“roots” is missing or is not an array.",)
    assert problems_of(requested, {"roots": [{"uri": "https://x"}, {}, 5]}, R4) == (
        "Root 1 is “https://x”; it must begin with file://.",
        "Root 2 has no “uri”.",
        "Root 3 has no “uri”.",
    )
