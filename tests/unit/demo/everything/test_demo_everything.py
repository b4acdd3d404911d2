"""Features of the `everything` server: tools, resources, prompts, completion."""

from __future__ import annotations

import base64
import io
import json
import wave
import zlib
from typing import Any

import pytest

from tests.unit.demo.demo_client import DemoProcess, Message

ARGUMENTS: dict[str, Message] = {
    "args_none": {},
    "args_simple": {"text": "hi", "whole": 7, "real": 0.5, "flag": True},
    "args_nested": {
        "person": {
            "name": "Ada",
            "address": {"city": "London", "position": {"latitude": 51.5, "longitude": 0}},
        }
    },
    "args_union": {"target": {"kind": "lines", "path": "a.py", "first": 1, "last": 9}, "limit": 3},
    "args_enum": {"color": "red", "size": "l", "level": 5, "toppings": ["cheese", "olives"]},
    "args_array": {"tags": ["a", "b"], "points": [{"x": 1, "y": 2}], "matrix": [[1, 2], [3]]},
    "args_optional": {
        "name": "Ada",
        "note": "",
        "nickname": None,
        "age": None,
        "language": "fr",
        "retries": 0,
        "verbose": True,
        "labels": [],
    },
    "args_formats": {"day": "2026-01-31", "email": "a@example.com", "code": "AB-123"},
    "args_recursive": {"root": {"name": "a", "children": [{"name": "b"}]}},
    "args_anything": {"free": ["form"]},
}


def tool_table(server: DemoProcess) -> dict[str, Message]:
    return {tool["name"]: tool for page in server.pages("tools/list", "tools") for tool in page}


def test_tools_have_titles_descriptions_annotations_and_object_schemas(everything: DemoProcess) -> None:
    tools = tool_table(everything)
    assert len(tools) == 48
    for tool in tools.values():
        assert tool["title"]
        assert tool["description"]
        assert tool["inputSchema"]["type"] == "object"
        assert "readOnlyHint" in tool["annotations"]
    assert tools["crash"]["annotations"]["destructiveHint"] is True
    assert tools["echo"]["annotations"]["readOnlyHint"] is True


def test_schemas_cover_unions_enumerations_arrays_nulls_defaults_and_references(
    everything: DemoProcess,
) -> None:
    schemas = {name: tool["inputSchema"] for name, tool in tool_table(everything).items()}
    assert {"oneOf", "anyOf"} <= {key for p in schemas["args_union"]["properties"].values() for key in p}
    assert schemas["args_enum"]["properties"]["color"]["enum"] == ["red", "green", "blue"]
    assert schemas["args_array"]["properties"]["points"]["items"]["type"] == "object"
    assert schemas["args_optional"]["properties"]["nickname"]["type"] == ["string", "null"]
    assert schemas["args_optional"]["properties"]["retries"]["default"] == 3
    assert schemas["args_nested"]["properties"]["person"]["properties"]["address"]["type"] == "object"
    assert schemas["args_recursive"]["properties"]["root"] == {"$ref": "#/$defs/node"}


@pytest.mark.parametrize("tool", ARGUMENTS)
def test_arguments_of_every_type_arrive_as_sent(everything: DemoProcess, tool: str) -> None:
    words = everything.call_text(tool, **ARGUMENTS[tool])
    assert json.loads(words.removeprefix("Received:\n")) == ARGUMENTS[tool]


def test_defaults_are_filled_in(everything: DemoProcess) -> None:
    words = everything.call_text("args_optional", name="Ada")
    assert json.loads(words.removeprefix("Received:\n")) == {
        "age": None,
        "language": "en",
        "retries": 3,
        "verbose": False,
        "labels": ["new"],
        "name": "Ada",
    }


@pytest.mark.parametrize(
    ("tool", "arguments", "error"),
    [
        ("echo", {}, "'message' is a required property"),
        ("args_simple", {"text": "x", "whole": 101}, "$.whole: 101 is greater"),
        ("args_enum", {"color": "mauve"}, "'mauve' is not one of"),
        ("args_none", {"extra": 1}, "'extra' was unexpected"),
    ],
)
def test_invalid_arguments_are_a_tool_error_that_says_what_is_wrong(
    everything: DemoProcess, tool: str, arguments: Message, error: str
) -> None:
    result = everything.call(tool, **arguments)
    assert result["isError"] is True
    assert error in result["content"][0]["text"]


def test_unknown_tool_is_a_protocol_error(everything: DemoProcess) -> None:
    assert everything.error("tools/call", {"name": "nope"}) == {
        "code": -32602,
        "message": "Unknown tool: nope",
    }


def test_echo_and_add_work(everything: DemoProcess) -> None:
    assert everything.call_text("echo", message="héllo <b>") == "héllo <b>"
    assert everything.call("add_numbers", a=2, b=3.5)["structuredContent"] == {"sum": 5.5}


def content(server: DemoProcess, tool: str, **arguments: Any) -> list[Message]:
    blocks: list[Message] = server.call(tool, **arguments)["content"]
    return blocks


def is_png(data: str) -> bool:
    raw = base64.b64decode(data)
    start = raw.index(b"IDAT") + 4
    pixels = zlib.decompress(raw[start : raw.index(b"IEND") - 8])
    return raw.startswith(b"\x89PNG\r\n\x1a\n") and len(pixels) == 64 * (1 + 64 * 4)


def seconds_of_sound(data: str) -> float:
    with wave.open(io.BytesIO(base64.b64decode(data))) as sound:
        return float(sound.getnframes() / sound.getframerate())


def test_image_is_a_real_png(everything: DemoProcess) -> None:
    (block,) = content(everything, "return_image")
    assert (block["type"], block["mimeType"]) == ("image", "image/png")
    assert is_png(block["data"])


def test_audio_is_a_real_wav(everything: DemoProcess) -> None:
    (block,) = content(everything, "return_audio")
    assert (block["type"], block["mimeType"]) == ("audio", "audio/wav")
    assert seconds_of_sound(block["data"]) == 0.5


def test_resource_link_points_to_a_readable_resource(everything: DemoProcess) -> None:
    (block,) = content(everything, "return_resource_link")
    assert block["type"] == "resource_link"
    assert everything.request("resources/read", {"uri": block["uri"]})["contents"][0]["text"]


def test_embedded_resources_are_text_and_binary(everything: DemoProcess) -> None:
    words, image = content(everything, "return_embedded")
    assert words["type"] == image["type"] == "resource"
    assert words["resource"]["text"].startswith("# Embedded")
    assert is_png(image["resource"]["blob"])


def test_mixed_content_has_every_type(everything: DemoProcess) -> None:
    kinds = [block["type"] for block in content(everything, "return_mixed")]
    assert kinds == ["text", "image", "audio", "resource_link", "resource"]


def test_several_text_blocks_are_returned(everything: DemoProcess) -> None:
    assert [block["text"] for block in content(everything, "return_text", blocks=2)] == [
        "Block 1 of text.",
        "Block 2 of text.",
    ]


def test_structured_content_has_the_declared_shape_and_matches_the_text(everything: DemoProcess) -> None:
    result = everything.call("forecast", city="Lisbon")
    declared = tool_table(everything)["forecast"]["outputSchema"]
    assert set(result["structuredContent"]) == set(declared["required"])
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


def test_resources_of_every_kind_can_be_read(everything: DemoProcess) -> None:
    (listed,) = everything.pages("resources/list", "resources")
    read = {r["uri"]: everything.request("resources/read", {"uri": r["uri"]})["contents"][0] for r in listed}
    assert {uri: contents["mimeType"] for uri, contents in read.items()} == {
        r["uri"]: r["mimeType"] for r in listed
    }
    assert "# Everything" in read["demo://readme"]["text"]
    assert json.loads(read["demo://config.json"]["text"])["retries"] == 3
    assert is_png(read["demo://logo.png"]["blob"])
    assert seconds_of_sound(read["demo://chime.wav"]["blob"]) == 0.5


def test_templates_expand_to_resources(everything: DemoProcess) -> None:
    (templates,) = everything.pages("resources/templates/list", "resourceTemplates")
    assert [t["uriTemplate"] for t in templates] == ["demo://cities/{city}", "demo://books/{author}/{title}"]
    city = everything.request("resources/read", {"uri": "demo://cities/Bogot%C3%A1"})["contents"][0]
    assert json.loads(city["text"])["country"] == "Colombia"
    book = everything.request("resources/read", {"uri": "demo://books/Lem/Solaris"})["contents"][0]
    assert book["text"] == "“Solaris” by Lem."


def test_unknown_resource_gives_the_error_of_this_protocol_version(everything: DemoProcess) -> None:
    error = everything.error("resources/read", {"uri": "demo://cities/Atlantis"})
    assert (error["code"], error["data"]) == (-32002, {"uri": "demo://cities/Atlantis"})


def complete(server: DemoProcess, ref: Message, name: str, value: str, **known: str) -> list[str]:
    params = {"ref": ref, "argument": {"name": name, "value": value}, "context": {"arguments": known}}
    values: list[str] = server.request("completion/complete", params)["completion"]["values"]
    return values


def test_completion_of_templates_may_depend_on_another_argument(everything: DemoProcess) -> None:
    city = {"type": "ref/resource", "uri": "demo://cities/{city}"}
    book = {"type": "ref/resource", "uri": "demo://books/{author}/{title}"}
    assert complete(everything, city, "city", "l") == ["Lagos", "Lima", "Lisbon", "London"]
    assert complete(everything, book, "author", "") == ["Austen", "Borges", "Lem"]
    assert complete(everything, book, "title", "", author="Borges") == ["Ficciones", "The Aleph"]
    assert complete(everything, book, "title", "") == []


def test_prompt_arguments_are_completed(everything: DemoProcess) -> None:
    greet = {"type": "ref/prompt", "name": "greet"}
    assert complete(everything, greet, "style", "p") == ["pirate"]
    assert complete(everything, {"type": "ref/prompt", "name": "code_review"}, "language", "ru") == [
        "Ruby",
        "Rust",
    ]


def test_prompts_take_their_arguments(everything: DemoProcess) -> None:
    (prompts,) = everything.pages("prompts/list", "prompts")
    assert [p["name"] for p in prompts] == ["greet", "code_review", "illustrated"]
    greeting = everything.request(
        "prompts/get", {"name": "greet", "arguments": {"name": "Ada", "style": "terse"}}
    )
    assert greeting["messages"][0]["content"]["text"] == "Greet Ada in a terse way."
    review = everything.request(
        "prompts/get", {"name": "code_review", "arguments": {"language": "Go", "code": "x := 1"}}
    )
    assert [m["role"] for m in review["messages"]] == ["user", "assistant", "user"]
    illustrated = everything.request("prompts/get", {"name": "illustrated"})
    assert [m["content"]["type"] for m in illustrated["messages"]] == ["text", "image", "resource"]


def test_prompt_without_a_required_argument_is_refused(everything: DemoProcess) -> None:
    assert everything.error("prompts/get", {"name": "greet"})["message"] == "Missing arguments: name"
