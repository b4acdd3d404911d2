"""Conversion of sampling requests to chat completions and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from inspector.base.json.values import JSON, JSONObject
from inspector.engine.inbox.chat_completions import chat_request, read_chat_response
from inspector.protocol.revisions import R4
from inspector.protocol.server_requests.replies import reply_problems
from inspector.protocol.server_requests.request import SAMPLING, SamplingRequest, read_server_request
from tests.unit.protocol.server_requests.request_samples import (
    any_json,
    message,
    outcome,
    params_of_anything,
    sampling,
    text,
    use,
)

TOOL: JSONObject = {"name": "add", "description": "Adds", "inputSchema": {"type": "object"}}


def requested(params: JSONObject) -> SamplingRequest:
    found = read_server_request(SAMPLING, params)
    assert isinstance(found, SamplingRequest)
    return found


def request(*messages: JSON, model: str = "m", extra: JSONObject | None = None, **more: JSON) -> Any:
    return chat_request(requested(sampling(*messages, **more)), model, extra)


def test_prompt_limits_and_text_are_converted() -> None:
    body = request(
        message("user", text("Hi")),
        message("assistant", text("Yes?")),
        message("user", [text("One"), text("Two")]),
        systemPrompt="Be brief",
        temperature=0.5,
        stopSequences=["END"],
    )
    assert body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief"},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Yes?"},
            {"role": "user", "content": [text("One"), text("Two")]},
        ],
        "max_tokens": 100,
        "temperature": 0.5,
        "stop": ["END"],
    }


def test_images_and_audio_are_converted_to_parts() -> None:
    body = request(
        message(
            "user",
            [
                text("What is it?"),
                {"type": "image", "data": "AAAA", "mimeType": "image/png"},
                {"type": "audio", "data": "BBBB", "mimeType": "audio/mpeg"},
                {"type": "audio", "data": "CCCC", "mimeType": "audio/x-wav; rate=8000"},
            ],
        )
    )
    assert body["messages"][0]["content"][1:] == [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "input_audio", "input_audio": {"data": "BBBB", "format": "mp3"}},
        {"type": "input_audio", "input_audio": {"data": "CCCC", "format": "wav"}},
    ]


def test_tools_tool_uses_and_results_are_converted() -> None:
    failed: JSONObject = {**outcome("u2"), "isError": True}
    body = request(
        message("user", text("Add")),
        message("assistant", [text("I will"), use("u1"), use("u2")]),
        message("user", [outcome("u1"), failed]),
        tools=[TOOL],
        toolChoice={"mode": "required"},
    )
    assert body["tools"] == [
        {
            "type": "function",
            "function": {"name": "add", "parameters": {"type": "object"}, "description": "Adds"},
        }
    ]
    assert body["tool_choice"] == "required"
    _, reported, first, second = body["messages"]
    assert reported["content"] == "I will"
    assert reported["tool_calls"][1] == {
        "id": "u2",
        "type": "function",
        "function": {"name": "add", "arguments": '{"a":1}'},
    }
    assert first == {"role": "tool", "tool_call_id": "u1", "content": "Hello"}
    assert second == {"role": "tool", "tool_call_id": "u2", "content": "Error: Hello"}


def test_content_a_tool_message_cannot_carry_follows_it() -> None:
    image: JSONObject = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    link: JSONObject = {"type": "resource_link", "uri": "file:///a"}
    result: JSONObject = {"type": "tool_result", "toolUseId": "u1", "content": [image, link]}
    structured: JSONObject = {
        "type": "tool_result",
        "toolUseId": "u2",
        "content": [],
        "structuredContent": {"n": 1},
    }
    body = request(message("user", [result, structured]))
    first, second, after = body["messages"]
    assert json.loads(first["content"]) == link
    assert second["content"] == '{"n":1}'
    assert after["role"] == "user"
    assert after["content"][0]["type"] == "image_url"


def test_extra_members_win_null_omits_and_streaming_is_off() -> None:
    body = request(
        temperature=0.5,
        extra={"temperature": 0, "max_tokens": None, "max_completion_tokens": 9, "stream": True},
    )
    assert (body["temperature"], body["max_completion_tokens"]) == (0, 9)
    assert "max_tokens" not in body
    assert "stream" not in body


def test_without_a_model_the_first_hint_is_used_and_having_neither_is_reported() -> None:
    hints: JSONObject = {"hints": [{"name": "sonnet"}, {"name": "gpt"}]}
    assert request(model="", modelPreferences=hints)["model"] == "sonnet"
    with pytest.raises(ValueError, match="there is no model"):
        request(model="")


def test_content_unsupported_by_a_chat_names_the_message() -> None:
    with pytest.raises(ValueError, match="message 2 has content of the type “video”"):
        request(message("user", text()), message("user", {"type": "video"}))


def response(finish: str = "stop", model: str = "gpt-9", **members: Any) -> Any:
    return read_chat_response(
        {"model": model, "choices": [{"message": members, "finish_reason": finish}]}, "asked-for"
    )


def test_text_becomes_an_assistant_reply() -> None:
    assert response(content="Hello") == {
        "role": "assistant",
        "content": {"type": "text", "text": "Hello"},
        "model": "gpt-9",
        "stopReason": "endTurn",
    }


@pytest.mark.parametrize(
    ("finish", "reason"),
    [("stop", "endTurn"), ("length", "maxTokens"), ("content_filter", "content_filter"), ("", None)],
)
def test_finish_reason_is_mapped_to_the_sampling_stop_reason(finish: str, reason: str | None) -> None:
    assert response(finish, content="Hello").get("stopReason") == reason


def test_tool_uses_are_read_even_when_the_service_says_stop() -> None:
    calls = [
        {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}},
        {"function": {"name": "add", "arguments": {"a": 2}}},
        {"id": "c3", "function": {"name": "add", "arguments": ""}},
    ]
    result = response("stop", content="", tool_calls=calls)
    assert result["stopReason"] == "toolUse"
    assert [block["input"] for block in result["content"]] == [{"a": 1}, {"a": 2}, {}]
    assert [block["id"] for block in result["content"]] == ["c1", "call_2", "c3"]
    input_request = requested(sampling(tools=[TOOL]))
    assert reply_problems(input_request, result, R4) == ()


def test_empty_text_parts_and_refusals_are_replies_too() -> None:
    assert response(content="")["content"] == text("")
    assert response(content=[{"type": "text", "text": "A"}, {"type": "text", "text": "B"}])["content"] == [
        text("A"),
        text("B"),
    ]
    assert response(content=None, refusal="I would rather not")["content"] == text("I would rather not")


def test_requested_model_is_used_when_the_service_names_none() -> None:
    assert response(model="", content="Hello")["model"] == "asked-for"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ([], "is not an object"),
        ({}, "no message in “choices”"),
        ({"choices": []}, "no message in “choices”"),
        ({"choices": [{"message": {}}]}, "neither text nor a tool call"),
        ({"choices": [{"message": {"tool_calls": [{"id": "1"}]}}]}, "does not name a tool"),
        (
            {"choices": [{"message": {"tool_calls": [{"function": {"name": "a", "arguments": "{"}}]}}]},
            "its arguments for the tool “a” are not JSON",
        ),
        (
            {"choices": [{"message": {"tool_calls": [{"function": {"name": "a", "arguments": "[]"}}]}}]},
            "are not an object",
        ),
    ],
)
def test_response_that_is_not_a_chat_completion_says_why(body: JSON, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_chat_response(body)


@given(body=any_json)
def test_any_service_response_is_usable_or_reported_as_unusable(body: JSON) -> None:
    values: list[Any] = [
        body,
        {"choices": [{"message": body}]},
        {"choices": [{"message": {"tool_calls": [body]}}]},
    ]
    for value in values:
        try:
            result = read_chat_response(value)
        except ValueError:
            continue
        assert result["role"] == "assistant"


@given(params=params_of_anything)
def test_every_displayable_request_becomes_a_chat_or_says_why_not(params: JSON) -> None:
    try:
        input_request = read_server_request(SAMPLING, params)
    except ValueError:
        return
    assert isinstance(input_request, SamplingRequest)
    try:
        body = chat_request(input_request, "m")
    except ValueError:
        return
    assert isinstance(body["messages"], list)
