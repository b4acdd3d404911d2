"""Results of `mcp-lens call`: parsed without loss, and as text."""

from __future__ import annotations

import pytest

from inspector.base.errors import RemoteProtocolError
from inspector.base.json.text import write
from inspector.base.json.values import JSON, JSONObject
from inspector.cli.commands.call import read_result, result_text
from inspector.protocol.jsonrpc import RpcError


def text(*content: JSON, **members: JSON) -> str:
    return result_text({"content": list(content), **members})


def test_result_keeps_number_spelling_and_key_order() -> None:
    raw = b'{"jsonrpc":"2.0","id":1,"result":{"z":123456789012345678901234567890,"a":1.10,"m":1e400}}'
    assert write(read_result(raw), indent=0).replace("\n", "") == (
        '{"z": 123456789012345678901234567890,"a": 1.10,"m": 1e400}'
    )


def test_error_response_is_raised_with_its_data() -> None:
    with pytest.raises(RpcError) as caught:
        read_result(b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"No","data":[1]}}')
    assert (caught.value.code, caught.value.message, caught.value.data) == (-32603, "No", [1])


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b'{"id":1,"result":"words"}', "the result is a string instead of an object"),
        (b'{"id":1,"result":{', "could not parse the response: "),
        (b'{"id":1,"result":' + b'{"a":' * 100_000, "could not parse the response: it is nested too deeply"),
        (b"[]", "the result is null instead of an object"),
    ],
)
def test_response_without_a_usable_result_says_why(raw: bytes, reason: str) -> None:
    with pytest.raises(RemoteProtocolError, match=reason):
        read_result(raw)


def test_text_is_printed_verbatim_with_one_newline() -> None:
    assert (
        text({"type": "text", "text": "a\tb\x1b[0m"}, {"type": "text", "text": "c\n"}) == "a\tb\x1b[0m\nc\n"
    )


def test_a_long_text_is_not_shortened() -> None:
    assert len(text({"type": "text", "text": "x" * 3_000_000})) == 3_000_001


@pytest.mark.parametrize(
    ("block", "label"),
    [
        ({"type": "image", "mimeType": "image/png", "data": "AAAA" * 410}, "[image image/png, 1.2 KiB]"),
        ({"type": "audio", "mimeType": "audio/wav", "data": "AAAA"}, "[audio audio/wav, 3 B]"),
        (
            {"type": "image", "mimeType": "image/png", "data": "?"},
            "[image image/png, invalid base64 data]",
        ),
        ({"type": "image", "mimeType": "image/png"}, "[image image/png, no data]"),
        (
            {"type": "resource_link", "uri": "demo://a", "name": "a", "mimeType": "text/plain"},
            "[resource link demo://a, a, text/plain]",
        ),
        (
            {"type": "resource", "resource": {"uri": "demo://a", "blob": "AAAA", "mimeType": "image/png"}},
            "[resource demo://a, image/png, 3 B]",
        ),
        (
            {"type": "resource", "resource": {"uri": "demo://a", "text": "words"}},
            "[resource demo://a]\nwords",
        ),
        ({"type": "hologram"}, '{\n  "type": "hologram"\n}'),
        ("loose words", '"loose words"'),
        ({"type": "text", "text": 5}, '{\n  "type": "text",\n  "text": 5\n}'),
    ],
)
def test_every_block_type_has_a_text_form(block: JSONObject, label: str) -> None:
    assert text(block) == f"{label}\n"


def test_structured_content_is_not_printed_again_as_text() -> None:
    twin: JSON = {"type": "text", "text": '{"sum":5}'}
    other: JSON = {"type": "text", "text": "Added."}
    assert text(other, twin, structuredContent={"sum": 5}) == 'Added.\n{\n  "sum": 5\n}\n'


def test_text_that_differs_from_the_structured_content_is_kept() -> None:
    assert text({"type": "text", "text": '{"sum":6}'}, structuredContent={"sum": 5}).startswith('{"sum":6}\n')


def test_non_list_content_is_shown_and_reported() -> None:
    assert result_text({"content": "words"}) == '[content that is a string instead of an array]\n"words"\n'


def test_empty_result_gives_no_text() -> None:
    assert result_text({}) == text() == ""
