"""Indenting a message changes only whitespace between tokens."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.protocol.raw_message import compacted, indented

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(), inside, max_size=4),
    max_leaves=20,
)


@given(st.binary(max_size=200) | st.text('{}[],:" \n\\ua1', max_size=60).map(str.encode))
def test_compacting_reverts_formatting_whatever_the_bytes_are(raw: bytes) -> None:
    assert compacted(indented(raw)) == compacted(raw)


@given(_JSON)
def test_json_is_formatted_like_python_does(value: object) -> None:
    assert indented(json.dumps(value).encode()) == json.dumps(value, indent=2).encode()


@pytest.mark.parametrize(
    ("raw", "laid_out"),
    [
        (rb'{"a":"\u00e9","a":1.10}', b'{\n  "a": "\\u00e9",\n  "a": 1.10\n}'),
        (b'{"a":[1,{}],', b'{\n  "a": [\n    1,\n    {}\n  ],'),
        (b"}}{x", b"\n}\n}{\n  x"),
        (b"GET  /mcp", b"GET /mcp"),
        (b'{"never closed', b'{\n  "never closed'),
    ],
)
def test_escapes_duplicate_keys_and_broken_text_are_kept(raw: bytes, laid_out: bytes) -> None:
    assert indented(raw).lstrip() == laid_out.lstrip()
