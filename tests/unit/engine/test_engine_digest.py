"""Frames made readable: every kind of content, bounded, and never an exception."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.jsonpretty import reindent
from inspector.base.jsonvalue import JSON, compact, parse, pretty
from inspector.engine.digest import HEAD, Annotations, ContentBlock, digest_result, pretty_text
from inspector.engine.tables import Table
from tests.helpers.playbook import frame

json_values: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def block(item: JSON) -> ContentBlock:
    (found,) = digest_result(frame(id=1, result={"content": [item]})).blocks
    return found


# ------------------------------------------------------------------ pretty


@given(json_values)
def test_a_frame_is_laid_out_and_means_the_same(value: JSON) -> None:
    shown = pretty_text(compact(value).encode(errors="surrogatepass"))
    if shown.is_json:  # a lone surrogate is no UTF-8
        assert parse(shown.text) == value or "\ufffd" in shown.text


@given(json_values)
def test_a_layout_is_that_of_the_standard_library(value: JSON) -> None:
    assert reindent(compact(value)) == pretty(value)


@pytest.mark.parametrize("text", ["1.10", "1e400", str(2**70), '{"a":1,"a":2}', "-0", "NaN"])
def test_what_was_sent_is_shown_as_it_was_sent(text: str) -> None:
    assert "".join(reindent(text).split()) == text


@pytest.mark.parametrize("raw", [b"Listening", b"", b"{bad", b"\xff\xfe"])
def test_what_is_no_json_is_shown_as_it_came_with_the_reason(raw: bytes) -> None:
    shown = pretty_text(raw)
    assert (shown.text, shown.is_json) == (raw.decode(errors="replace"), False)
    assert shown.problem


def test_a_byte_order_mark_does_not_make_it_less_readable() -> None:
    assert pretty_text(b"\xef\xbb\xbf[]").is_json


def test_a_frame_nested_too_deeply_to_be_read_is_laid_out_all_the_same() -> None:
    shown = pretty_text(b"[" * 4000 + b"]" * 4000)
    assert shown.is_json
    assert (shown.text.count("["), shown.text.count("]")) == (4000, 4000)


def test_of_a_long_frame_the_head_is_given_and_the_whole_length() -> None:
    shown = pretty_text(b'"%s"' % (b"x" * 2 * HEAD))
    assert len(shown.text) == HEAD
    assert shown.length == 2 * HEAD + 2


# ------------------------------------------------------------------ results


def test_text_is_text() -> None:
    assert block({"type": "text", "text": "hello"}) == ContentBlock("text", "hello", 5)


@pytest.mark.parametrize("kind", ["image", "audio"])
def test_binary_content_is_decoded(kind: str) -> None:
    data = base64.b64encode(b"\x00\x01").decode()
    found = block({"type": kind, "data": data, "mimeType": "x/y"})
    assert found == ContentBlock(kind, length=2, mime_type="x/y", data=b"\x00\x01")


@pytest.mark.parametrize("data", ["not base64!", "AAA", "é", None, 5])
def test_binary_content_that_is_not_base64_says_so(data: JSON) -> None:
    found = block({"type": "image", "data": data})
    assert found.data == b""
    assert found.problem.startswith("its data is ")


def test_resources_and_links_keep_their_address() -> None:
    link = block({"type": "resource_link", "uri": "a:b", "name": "n", "title": "T", "mimeType": "x/y"})
    assert link == ContentBlock("resource link", "T", 1, "x/y", "a:b")
    text = block({"type": "resource", "resource": {"uri": "a:b", "text": "hello"}})
    assert text == ContentBlock("resource", "hello", 5, "", "a:b")
    blob = block({"type": "resource", "resource": {"uri": "a:b", "blob": "AAE="}})
    assert (blob.kind, blob.data, blob.uri) == ("resource", b"\x00\x01", "a:b")


@pytest.mark.parametrize(
    "item", [5, "text", None, {}, {"type": "text"}, {"type": "hologram"}, {"type": "resource"}]
)
def test_what_is_no_known_content_is_shown_as_json_with_the_reason(item: JSON) -> None:
    found = block(item)
    assert (found.kind, found.text) == ("unknown", pretty(item))
    assert found.problem


def test_content_that_is_no_list_is_one_unknown_block() -> None:
    (found,) = digest_result(frame(id=1, result={"content": "words"})).blocks
    assert found.problem == "“content” is not an array"


def test_structured_content_and_the_error_mark_are_found() -> None:
    digest = digest_result(frame(id=1, result={"structuredContent": {"a": 1}, "isError": True}))
    assert digest.structured is not None
    assert digest.structured.text == '{\n  "a": 1\n}'
    assert digest.is_error
    assert digest.blocks == ()


def test_an_answer_that_cannot_be_read_has_its_bytes_and_no_parts() -> None:
    digest = digest_result(b'{"jsonrpc":"2.0","id":1,"result":{"content":[')
    assert (digest.blocks, digest.structured, digest.whole.is_json) == ((), None, False)


@pytest.mark.parametrize("member", [b'"structuredContent":', b'"content":[{"type":"?"},', b'"content":'])
def test_no_depth_of_nesting_is_an_exception(member: bytes) -> None:
    """Some depths can be read and not be written, others be scanned and not be read."""
    tail = b"]" if member.endswith(b",") else b""
    for depth in (200, 300, 400, 700, 900, 930, 960, 990, 10_000):
        raw = b'{"jsonrpc":"2.0","id":1,"result":{%s%s%s%s}}' % (member, b"[" * depth, b"]" * depth, tail)
        assert digest_result(raw).whole.text


@given(st.dictionaries(st.sampled_from(["content", "structuredContent", "isError"]), json_values))
def test_any_result_is_digested(result: dict[str, JSON]) -> None:
    assert digest_result(frame(id=1, result=result)).whole.is_json


# ------------------------------------------------------------------ how a part looks, and whom it is for


@pytest.mark.parametrize(
    ("text", "flavour"), [("{}", "json"), ("# A\n\n**b**", "markdown"), ("plain", "plain")]
)
def test_a_text_says_what_it_looks_like(text: str, flavour: str) -> None:
    assert block({"type": "text", "text": text}).flavour == flavour


def test_separated_values_come_as_a_table() -> None:
    found = block(
        {"type": "resource", "resource": {"uri": "a:b", "text": "a,b\n1,2", "mimeType": "text/csv"}}
    )
    assert (found.flavour, found.table) == ("csv", Table(("a", "b"), (("1", "2"),)))


def test_annotations_of_any_part_are_read_tolerantly() -> None:
    given: JSON = {"audience": ["user", 5], "priority": 0.5, "lastModified": "2025-01-01T00:00:00Z"}
    for item in (
        {"type": "text", "text": "x"},
        {"type": "hologram"},
        {"type": "resource_link", "uri": "a:b"},
    ):
        found = block({**item, "annotations": given}).annotations
        assert found == Annotations(("user",), 0.5, "2025-01-01T00:00:00Z")
    odd = block({"type": "text", "text": "x", "annotations": {"audience": "user", "priority": True}})
    assert odd.annotations == Annotations()
    assert block({"type": "text", "text": "x", "annotations": []}).annotations is None


def test_a_link_tells_what_it_leads_to() -> None:
    found = block({"type": "resource_link", "uri": "a:b", "name": "n", "description": "all of it", "size": 9})
    assert (found.text, found.description, found.size) == ("n", "all of it", 9)
