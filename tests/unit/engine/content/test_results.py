"""Tool results part by part, including malformed ones."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.engine.content.content import CallResult, ContentKind, read_result

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16


def result_of(**members: Any) -> CallResult:
    return read_result(json.dumps({"jsonrpc": "2.0", "id": 1, "result": members}).encode())


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def test_text_formats_are_detected() -> None:
    texts = ["just words", '{"a": [1]}', "# Head\n\n- one\n- two\n", "name,size,kind\na,1,x\nb,2,y\n"]
    parts = result_of(content=[text(each) for each in texts]).parts
    kinds = [part.content.kind for part in parts]
    assert kinds == [ContentKind.TEXT, ContentKind.JSON, ContentKind.MARKDOWN, ContentKind.TABLE]
    assert [part.content.data.decode() for part in parts] == texts, "every byte is kept"
    table = parts[3].content.table
    assert table is not None
    assert table.header == ("name", "size", "kind")


def test_images_links_resources_and_unknown_types_are_all_parts() -> None:
    image = {"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png"}
    link = {"type": "resource_link", "uri": "demo://x", "name": "x", "description": "Leads on."}
    resource = {
        "type": "resource",
        "resource": {"uri": "demo://y", "text": "# y", "mimeType": "text/markdown"},
    }
    found = result_of(content=[image, link, resource, {"type": "hologram", "depth": 3}, 7]).parts
    kinds = [part.content.kind for part in found]
    assert kinds == [
        ContentKind.IMAGE,
        ContentKind.LINK,
        ContentKind.MARKDOWN,
        ContentKind.UNKNOWN,
        ContentKind.UNKNOWN,
    ]
    assert found[0].content.data == PNG
    assert found[1].notes == ("Leads on.",)
    assert json.loads(found[3].content.data) == {"type": "hologram", "depth": 3}


def test_annotations_are_described_in_words() -> None:
    (part,) = result_of(
        content=[text("x", annotations={"audience": ["user", "assistant"], "priority": 0.5})]
    ).parts
    assert part.notes == ("for user and assistant", "priority 0.5")


def test_structured_content_is_present_even_when_null() -> None:
    assert result_of(content=[]).structured is None
    nothing = result_of(content=[], structuredContent=None).structured
    assert nothing is not None
    assert nothing.data == b"null"


@pytest.mark.parametrize(
    "written", [b"1e400", b"0.10", b"12345678901234567890.123", b"-0", b'{"b": 1, "a": 2}', b'"\\ud800"']
)
def test_structured_content_keeps_its_spelling(written: bytes) -> None:
    raw = b'{"jsonrpc":"2.0","id":1,"result":{"structuredContent":5, "structuredContent" : %s }}' % written
    structured = read_result(raw).structured
    assert structured is not None
    assert (structured.kind, structured.data) == (ContentKind.JSON, written)


@pytest.mark.parametrize("member", [b'"structuredContent":', b'"content":[{"type":"?"},', b'"content":'])
def test_deep_nesting_never_raises(member: bytes) -> None:
    """Some depths can be parsed but not written, others scanned but not parsed."""
    tail = b"]" if member.endswith(b",") else b""
    for depth in (200, 300, 400, 700, 900, 930, 960, 990, 10_000):
        raw = b'{"jsonrpc":"2.0","id":1,"result":{%s%s%s%s}}' % (member, b"[" * depth, b"]" * depth, tail)
        assert isinstance(read_result(raw), CallResult)


def test_non_list_content_is_one_unknown_part() -> None:
    (part,) = result_of(content="words").parts
    assert (part.content.kind, part.content.data) == (ContentKind.UNKNOWN, b'"words"')
    assert part.content.problem == "“content” is not an array"


def test_annotations_are_read_tolerantly() -> None:
    odd = {"audience": "user", "priority": True, "lastModified": 5}
    assert [part.notes for part in result_of(content=[text("x", annotations=odd)]).parts] == [()]
    assert result_of(content=[text("x", annotations=[])]).parts[0].notes == ()


def test_non_result_has_no_parts() -> None:
    assert read_result(b"{not json").parts == ()
    assert read_result(b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}') == CallResult()


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b'{"jsonrpc":"2.0","id":1,"result":[1,2,3]}', '"result" must be an object'),
        (b'{"jsonrpc":"2.0","id":1,"result":"hello"}', '"result" must be an object'),
        (b'{"jsonrpc":"2.0","id":1,"result":{"content":NaN}}', "it contains NaN, which is not JSON"),
        (b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"\xff"}]}}',
         "not valid UTF-8 at byte 68"),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', ""),
    ],
)  # fmt: skip
def test_protocol_violation_of_a_response_is_reported(raw: bytes, problem: str) -> None:
    assert read_result(raw).problem == problem


PNG = b"\x89PNG\r\n\x1a\n" + bytes(24)
WAV = b"RIFF\x24\x00\x00\x00WAVEfmt " + bytes(28)


@pytest.mark.parametrize(
    ("kind", "mime_type", "data", "problem"),
    [
        ("audio", "", PNG, "declared as audio, but is image/png"),
        ("audio", "image/png", PNG, "declared as audio, but is image/png"),
        ("image", "", b"\0\1\2\3", "declared as image, but the data does not start like one"),
        ("image", "text/plain", b"words", "declared as text/plain, but is text"),
        ("image", "image/png", PNG, ""),
        ("image", "image/x-own", b"\0\1\2\3", ""),
        ("image", "image/svg+xml", b"<svg/>", ""),
    ],
)
def test_media_that_is_something_else_is_reported(
    kind: str, mime_type: str, data: bytes, problem: str
) -> None:
    block = {"type": kind, "data": base64.b64encode(data).decode(), "mimeType": mime_type}
    assert result_of(content=[block]).parts[0].content.problem == problem


def test_resource_link_without_a_uri_is_reported() -> None:
    (part,) = result_of(content=[{"type": "resource_link", "name": "x"}]).parts
    assert (part.content.kind, part.content.uri) == (ContentKind.LINK, "")
    assert part.content.problem == "the link has no “uri”"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=8,
)
KINDS = st.sampled_from(["text", "image", "audio", "resource", "resource_link", "", None, 3])


@given(st.lists(st.fixed_dictionaries({"type": KINDS, "text": JSON, "data": JSON, "resource": JSON}) | JSON))
def test_any_content_is_accepted_and_none_is_dropped(content: list[Any]) -> None:
    assert len(result_of(content=content, structuredContent=content).parts) == len(content)
