"""Tolerant parsing of templates, contents, messages, completions, caching, input requests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.types import (
    CacheHints,
    Completion,
    InputRequest,
    Prompt,
    PromptArgument,
    PromptMessage,
    ResourceContents,
    ResourceTemplate,
    Tool,
    read_input_requests,
    read_items,
)

json_values: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
names = ["uriTemplate", "name", "uri", "text", "blob", "role", "content", "arguments", "required", "mimeType"]
entries = json_values | st.dictionaries(st.sampled_from(names), json_values)


@given(st.lists(entries))
def test_every_entry_is_either_used_or_kept_as_malformed(value: JSON) -> None:
    assert isinstance(value, list)
    readings = (
        read_items(value, ResourceTemplate.read),
        read_items(value, ResourceContents.read),
        read_items(value, PromptArgument.read),
        read_items(value, PromptMessage.read),
    )
    assert [len(items) + len(malformed) for items, malformed in readings] == [len(value)] * 4


def test_template_keeps_unknown_members() -> None:
    source: JSONObject = {"uriTemplate": "file:///{path}", "name": "files", "title": "Files", "future": 1}
    template = ResourceTemplate.read(source)
    assert (template.uri_template, template.name, template.title) == ("file:///{path}", "files", "Files")
    assert (template.description, template.mime_type, template.source) == ("", "", source)


def test_text_and_bytes_are_distinguished() -> None:
    text = ResourceContents.read({"uri": "a", "mimeType": "text/plain", "text": "Grüße"})
    blob = ResourceContents.read({"uri": "b", "blob": "AAH/"})
    assert (text.text, text.blob, text.data()) == ("Grüße", None, "Grüße".encode())
    assert (blob.text, blob.blob, blob.data()) == (None, "AAH/", b"\x00\x01\xff")


def test_an_empty_text_is_a_text() -> None:
    assert ResourceContents.read({"uri": "a", "text": ""}).data() == b""


@pytest.mark.parametrize("value", [{}, {"uri": "a"}, {"uri": "a", "text": 5}, {"blob": None, "text": None}])
def test_contents_with_neither_are_malformed(value: JSONObject) -> None:
    _, malformed = read_items([value], ResourceContents.read)
    assert malformed[0].reason == 'it has neither a "text" nor a "blob" that is a string'


@pytest.mark.parametrize("blob", ["not base64!", "AAH", "AA_-", "data:image/png;base64,AAH/", "é"])
def test_invalid_base64_blob_says_so_when_opened(blob: str) -> None:
    contents = ResourceContents.read({"uri": "a", "blob": blob})
    with pytest.raises(ValueError, match="the blob is not valid Base64"):
        contents.data()


def test_lone_surrogate_in_text_can_be_encoded() -> None:
    assert ResourceContents.read({"uri": "a", "text": "a\ud800"}).data() == b"a?"


def test_prompt_has_its_usable_arguments() -> None:
    topic: JSONObject = {"name": "topic", "title": "Topic", "description": "What about", "required": True}
    prompt = Prompt.read({"name": "write", "arguments": [topic, {"title": "nameless"}, 5, {"name": "style"}]})
    assert prompt.arguments == (
        PromptArgument("topic", "Topic", "What about", True, topic),
        PromptArgument("style", "", "", False, {"name": "style"}),
    )


@pytest.mark.parametrize("arguments", [None, {}, "x", []])
def test_a_prompt_without_a_list_of_arguments_has_none(arguments: JSON) -> None:
    assert Prompt.read({"name": "a", "arguments": arguments}).arguments == ()
    assert Prompt.read({"name": "a"}).arguments == ()


def test_a_prompt_message_holds_one_block() -> None:
    source: JSONObject = {"role": "user", "content": {"type": "text", "text": "hi"}}
    assert PromptMessage.read(source) == PromptMessage("user", {"type": "text", "text": "hi"}, source)


@pytest.mark.parametrize("value", [{"role": "user"}, {"role": "user", "content": []}, {"content": {}}])
def test_a_prompt_message_without_role_or_block_is_malformed(value: JSONObject) -> None:
    items, malformed = read_items([value], PromptMessage.read)
    assert (items, len(malformed)) == ([], 1)


def test_completions_are_read() -> None:
    result: JSONObject = {"completion": {"values": ["a", "b"], "total": 7, "hasMore": True}}
    assert Completion.read(result) == Completion(("a", "b"), 7, True)


@pytest.mark.parametrize(
    "completion",
    [None, [], {}, {"values": "a"}, {"values": [5], "total": "7", "hasMore": 1}, {"total": True}],
)
def test_invalid_parts_of_a_completion_are_treated_as_absent(completion: JSON) -> None:
    assert Completion.read({"completion": completion}) == Completion()


@pytest.mark.parametrize(
    ("result", "hints"),
    [
        ({"ttlMs": 0, "cacheScope": "public"}, CacheHints(0, "public")),
        ({"ttlMs": -1, "cacheScope": "PUBLIC"}, CacheHints()),
        ({"ttlMs": 1.5}, CacheHints()),
        ({}, CacheHints()),
    ],
)
def test_caching_hints_are_read_where_they_make_sense(result: JSONObject, hints: CacheHints) -> None:
    assert CacheHints.read(result) == hints


@pytest.mark.parametrize(
    ("execution", "support"),
    [
        ({"taskSupport": "required"}, "required"),
        ({"taskSupport": "optional"}, "optional"),
        ({"taskSupport": "forbidden"}, "forbidden"),
        *(({"taskSupport": "maybe"}, "forbidden"), ({}, "forbidden"), (None, "forbidden"), ([], "forbidden")),
    ],
)
def test_a_tool_may_be_run_as_a_task_only_when_it_says_so(execution: JSON, support: str) -> None:
    assert Tool.read({"name": "a", "execution": execution}).task_support == support


def test_input_requests_are_read_by_key() -> None:
    who: JSONObject = {"method": "elicitation/create", "params": {"message": "?"}}
    dirs: JSONObject = {"method": "roots/list", "params": None}
    assert read_input_requests({"who": who, "dirs": dirs}) == {
        "who": InputRequest("elicitation/create", {"message": "?"}, who),
        "dirs": InputRequest("roots/list", {}, dirs),
    }


@given(st.dictionaries(st.text(max_size=5), st.just({"method": "roots/list"})), json_values)
def test_input_requests_are_read_completely_or_not_at_all(input_requests: JSONObject, other: JSON) -> None:
    assert read_input_requests(input_requests).keys() == input_requests.keys()
    if not isinstance(other, dict) or "method" not in other:
        with pytest.raises(ValueError, match="cannot be used"):
            read_input_requests({**input_requests, "odd one": other})
