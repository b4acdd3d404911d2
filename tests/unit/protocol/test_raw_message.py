"""Edits of raw messages change nothing else; descriptions of raw bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.protocol.raw_message import compacted, describe, has_id, is_one_line, with_new_id

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text() | st.just("id"), children),
    max_leaves=10,
)
ids = st.integers() | st.text()
gaps = st.text(" \t\r\n", max_size=3)


@st.composite
def members(draw: st.DrawFn, names: st.SearchStrategy[str]) -> str:
    """Members of an object with any spacing, each with its comma; names may repeat."""
    found = draw(st.lists(st.tuples(names, values, gaps, gaps), max_size=4))
    ascii_only = draw(st.booleans())

    def write(value: object) -> str:
        return json.dumps(value, ensure_ascii=ascii_only, indent=draw(st.sampled_from([None, 1])))

    texts = (f"{before}{write(name)}{after}:{write(value)}" for name, value, before, after in found)
    return "".join(f"{text}," for text in texts)


@settings(max_examples=50)
@given(
    head=members(st.text() | st.just("id")),
    tail=members(st.text().filter(lambda name: name != "id")),
    old=values,
    new=ids,
    key=st.sampled_from(['"id"', r'"\u0069d"', r'"i\u0064"']),
    gap=gaps,
)
def test_replacing_the_id_changes_nothing_else(
    head: str, tail: str, old: Any, new: int | str, key: str, gap: str
) -> None:
    before = f"{gap}{{{head}{gap}{key}{gap}:{gap}".encode(errors="surrogatepass")
    rest = f",{tail[:-1]}" if tail else ""
    after = f"{gap}{rest}}}{gap}".encode(errors="surrogatepass")
    edited = with_new_id(before + json.dumps(old).encode() + after, new)
    assert edited.startswith(before)
    assert edited.endswith(after)
    assert json.loads(edited[len(before) : len(edited) - len(after)]) == new


@pytest.mark.parametrize(
    ("raw", "edited"),
    [
        (b'{"id":1,"id": 2 ,"x":{"id":3}}', b'{"id":1,"id": 99 ,"x":{"id":3}}'),
        (b'{"x":"\\"id\\":1","id":null}', b'{"x":"\\"id\\":1","id":99}'),
        (b'{"id":{"a":[1]},"method":1.0e0}', b'{"id":99,"method":1.0e0}'),
        (b'\xef\xbb\xbf{"id":1}', b'\xef\xbb\xbf{"id":99}'),
        (b'{"id":1,"params":{"a":', b'{"id":99,"params":{"a":'),  # truncated
        (b'{"id":1 "method":\xff', b'{"id":99 "method":\xff'),
        (b'{"a":["id",1],"id":"\xc3\xa4"}', b'{"a":["id",1],"id":99}'),
    ],
)
def test_only_the_effective_id_is_replaced(raw: bytes, edited: bytes) -> None:
    assert has_id(raw)
    assert with_new_id(raw, 99) == edited


@pytest.mark.parametrize(
    "raw",
    [b"", b"hello", b'{"method":"x","params":{"id":1}}', b'[{"id":1}]', b'{"id":}', b'"id":1', b'{"id"'],
)
def test_message_without_an_id_gets_none(raw: bytes) -> None:
    assert not has_id(raw)
    assert with_new_id(raw, 99) == raw


@given(values, st.sampled_from([None, 0, 1, "\t"]), st.booleans())
def test_compacted_json_is_the_same_value_on_one_line(
    value: Any, indent: int | str | None, ascii_only: bool
) -> None:
    raw = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode(errors="surrogatepass")
    short = compacted(raw)
    assert is_one_line(short)
    assert json.loads(short) == value
    assert compacted(short) == short


@given(st.binary())
def test_compacting_removes_nothing_but_whitespace(raw: bytes) -> None:
    short = compacted(raw)
    assert short.translate(None, b" \t\r\n") == raw.translate(None, b" \t\r\n")


def test_compacting_keeps_spelling_and_does_not_repair_errors() -> None:
    assert compacted(b' {"a" : 1.10 ,\r\n "a":1e400}\n') == b'{"a":1.10,"a":1e400}'
    assert compacted(b"[1 \n 2]") == b"[1 2]"
    assert compacted(b'{"a": "x\ny"}') == b'{"a":"x\ny"}'


def test_a_carriage_return_ends_a_line_too() -> None:
    assert is_one_line(b'{"a": 1}')
    assert not is_one_line(b'{"a":\r1}')
    assert not is_one_line(b"{}\n")


@pytest.mark.parametrize(
    ("raw", "description"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call"}', "Request: tools/call with id 7."),
        (b'{"jsonrpc":"2.0","id":"7","method":"ping"}', 'Request: ping with id "7".'),
        (
            b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
            'Request: ping ("id" must be a string or an integer).',
        ),
        (b'{"id":1,"method":"ping"}', 'Request: ping with id 1 ("jsonrpc" must be "2.0").'),
        (b'{"jsonrpc":"2.0","method":"a\\u001b"}', "Notification: a␛."),
        (b'{"jsonrpc":"2.0","method":""}', "Notification: no method name."),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', "Response: result for id 1."),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}', "Response: error for id 1."),
        (b'[{"jsonrpc":"2.0","method":"a"}]', "Batch of 1 message."),
        (b"[]", "Batch of 0 messages (an empty batch)."),
        (b'{"a":1,\n "b"}', "Not JSON: Expecting ':' delimiter at line 2, column 5."),
        (b"hello", "Not JSON: Expecting value at line 1, column 1."),
        (b"\xff", "Not JSON: not valid UTF-8 at byte 0."),
        (b"7", "JSON, but not a JSON-RPC message: it must be an object."),
        (b"{}", 'JSON, but not a JSON-RPC message: "jsonrpc" must be "2.0".'),
        (b"[" * 100_000, "JSON, but nested too deeply to parse."),
        (b" ", "Empty line."),
    ],
)
def test_bytes_are_described_in_one_line(raw: bytes, description: str) -> None:
    assert describe(raw) == description


@given(st.binary())
def test_any_bytes_can_be_described(raw: bytes) -> None:
    assert "\n" not in describe(raw)
