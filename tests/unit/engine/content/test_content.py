"""Contents of resources and prompts: detected, complete, never dropped."""

from __future__ import annotations

import base64
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON
from inspector.demo.everything.resources import png, wav
from inspector.engine.content.content import (
    Content,
    ContentKind,
    block_content,
    read_contents,
    read_prompt,
    resource_content,
)
from inspector.engine.content.text_formats import MAX_COLUMNS, MAX_ROWS, read_table

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["type", "text", "blob", "data", "uri", "mimeType", "resource", "role", "content"])


def response(result: JSON) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()


def text(text: str, mime_type: str = "", uri: str = "x://y") -> Content:
    return resource_content({"uri": uri, "text": text, "mimeType": mime_type})


def blob(data: bytes, mime_type: str = "") -> Content:
    return resource_content({"uri": "x://y", "blob": base64.b64encode(data).decode(), "mimeType": mime_type})


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (text("hello"), ContentKind.TEXT),
        (text("hello", "text/markdown; charset=utf-8"), ContentKind.MARKDOWN),
        (text("hello", uri="file:///a/README.MD"), ContentKind.MARKDOWN),
        (text("{}", "application/ld+json"), ContentKind.JSON),
        (text(' {"a": 1}'), ContentKind.JSON),
        (text("{not json"), ContentKind.TEXT),
        (text("{}", "text/html"), ContentKind.TEXT),
        (text("a,b\n1,2", "text/csv"), ContentKind.TABLE),
        (text("", "text/csv"), ContentKind.TEXT),
        (text("<svg/>", "image/svg+xml"), ContentKind.TEXT),
        (blob(png()), ContentKind.IMAGE),
        (blob(wav(), "audio/wav"), ContentKind.AUDIO),
        (blob(b"# Title", "text/markdown"), ContentKind.MARKDOWN),
        (blob(b"\x00\x01\x02"), ContentKind.BINARY),
        (blob(b"<svg xmlns='x'></svg>", "image/svg+xml"), ContentKind.TEXT),
    ],
)
def test_kind_is_derived_from_the_bytes_then_the_type_then_the_name(
    content: Content, kind: ContentKind
) -> None:
    assert content.kind is kind
    assert not content.problem


def test_image_kind_is_determined_by_its_bytes() -> None:
    content = blob(png(), "image/jpeg")
    assert (content.kind, content.mime_type) == (ContentKind.IMAGE, "image/png")
    assert content.problem == "declared as image/jpeg, but is image/png"
    content = blob(b"\x00no picture", "image/png")
    assert content.kind is ContentKind.BINARY
    assert "does not start like one" in content.problem


@pytest.mark.parametrize(
    ("data", "mime_type"),
    [(b"fLaC" + bytes(40), "audio/flac"), (b"\0\0\0\x20ftypM4A " + bytes(40), "audio/mp4")],
)
def test_audio_is_recognized_by_its_first_bytes(data: bytes, mime_type: str) -> None:
    content = blob(data, "application/octet-stream")
    assert (content.kind, content.mime_type) == (ContentKind.AUDIO, mime_type)


def test_type_without_a_known_signature_is_not_questioned() -> None:
    assert blob(b"\x00\x01", "audio/amr").problem == ""
    assert "does not start like one" in blob(b"\x00\x01", "audio/flac").problem


@pytest.mark.parametrize(
    ("data", "mime_type", "problem"),
    [
        (b"not audio at all", "audio/wav", "declared as audio/wav, but is text"),
        (b"not audio at all", "audio/amr", "declared as audio/amr, but is text"),
        (b"not audio at all", "", "declared as audio, but is text"),
        (png(), "audio/mpeg", "declared as audio/mpeg, but is image/png"),
        (b"\x00\x01", "audio/flac", "declared as audio/flac, but the data does not start like one"),
        (b"fLaC" + bytes(40), "audio/x-flac", ""),
    ],
)
def test_audio_block_that_is_not_audio_says_so(data: bytes, mime_type: str, problem: str) -> None:
    block: JSON = {"type": "audio", "data": base64.b64encode(data).decode(), "mimeType": mime_type}
    assert block_content(block).problem == problem


def test_image_block_of_text_says_so_unless_the_type_can_be_text() -> None:
    assert blob(b"no image", "image/png").problem == "declared as image/png, but is text"
    assert blob(b"<svg xmlns='x'></svg>", "image/svg+xml").problem == ""


def test_long_text_is_kept_in_full() -> None:
    long = "line ä\n" * 1_000_000
    (content,) = read_contents(response({"contents": [{"uri": "x://y", "text": long}]}))
    assert content.data.decode() == long
    assert resource_content({"uri": "", "text": "\ud800"}).data == b"\xed\xa0\x80"


def test_unusable_entries_are_shown_with_the_reason() -> None:
    contents = read_contents(response({"contents": [7, {"uri": "x://y"}, {"uri": "x://z", "blob": "?"}]}))
    assert [content.kind for content in contents] == [ContentKind.UNKNOWN] * 3
    assert contents[0].problem == "not an object: 7"
    assert "neither a “text” nor a “blob”" in contents[1].problem
    assert (contents[2].uri, json.loads(contents[2].data)["blob"]) == ("x://z", "?")
    assert "not valid Base64" in contents[2].problem
    (content,) = read_contents(response({"contents": "none"}))
    assert "not an array" in content.problem


@pytest.mark.parametrize("data", ["not base64!", "AAA", "é", "AA==A", "A\nAA=", None, 5])
def test_invalid_base64_is_shown_verbatim_with_the_reason(data: JSON) -> None:
    content = block_content({"type": "image", "data": data})
    assert content.kind is ContentKind.UNKNOWN
    assert json.loads(content.data) == {"type": "image", "data": data}
    assert content.problem.startswith("its data is ")


def test_messages_have_a_role_and_any_content_type() -> None:
    link: JSON = {"type": "resource_link", "uri": "x://y", "name": "why", "mimeType": "text/plain"}
    contents: list[JSON] = [
        {"type": "text", "text": "{}"},
        {"type": "image", "data": base64.b64encode(png()).decode(), "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "x://y", "text": "# A", "mimeType": "text/markdown"}},
        link,
        {"type": "hologram"},
        [{"type": "text", "text": "in an array"}],
    ]
    messages: list[JSON] = [{"role": "user", "content": content} for content in contents]
    digest = read_prompt(response({"description": "Why", "messages": [*messages, "not a message"]}))
    assert digest.description == "Why"
    assert [message.role for message in digest.messages] == ["user"] * 6 + [""]
    kinds = [message.content.kind for message in digest.messages]
    unknown = [ContentKind.UNKNOWN] * 3
    assert kinds == [
        *(ContentKind.TEXT, ContentKind.IMAGE, ContentKind.MARKDOWN, ContentKind.LINK),
        *unknown,
    ]
    assert (digest.messages[3].content.title, digest.messages[3].content.uri) == ("why", "x://y")
    assert "is an array" in digest.messages[5].content.problem


@given(JSON_VALUES | st.dictionaries(NAMES, JSON_VALUES))
def test_any_value_can_be_shown(value: JSON) -> None:
    contents = (*read_contents(response({"contents": [value]})), block_content(value))
    contents += tuple(message.content for message in read_prompt(response({"messages": [value]})).messages)
    for content in contents:
        assert content.kind is not ContentKind.UNKNOWN or content.problem
        assert pickle.loads(pickle.dumps(content)) == content


def test_non_json_response_gives_a_reason_instead_of_an_error() -> None:
    assert read_contents(b"{nonsense")[0].problem
    assert read_prompt(b"{nonsense").messages[0].content.problem


def test_table_has_a_header_quotes_and_line_breaks_in_cells() -> None:
    table = read_table('name;"note"\nAda;"one\ntwo"\n"a;b";"say ""hi"""\n')
    assert table is not None
    assert table.header == ("name", "note")
    assert table.rows == (("Ada", "one\ntwo"), ("a;b", 'say "hi"'))
    assert table.note == ""


def test_long_and_wide_table_is_truncated_and_says_so() -> None:
    table = read_table("a,b\n" + "1,2\n" * (MAX_ROWS + 10))
    assert table is not None
    assert len(table.rows) == MAX_ROWS
    assert "5,000 rows" in table.note
    wide = read_table(",".join("x" * (MAX_COLUMNS + 1)))
    assert wide is not None
    assert len(wide.header) == MAX_COLUMNS
    assert "200 of 201 columns" in wide.note


def test_too_large_cell_does_not_hide_the_rows_before_it() -> None:
    table = read_table("a,b\n1,2\n" + "x" * 200_000 + ",3\n")
    assert table is not None
    assert table.rows == (("1", "2"),)
    assert "Could not read beyond row 2" in table.note


@given(st.text())
def test_any_text_is_parsed_as_a_table_or_as_none(text: str) -> None:
    table = read_table(text)
    assert table is not None or not text or "\r" in text
