"""The scan of a large message finds the same envelope as the parser."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON, JSONError, JSONObject
from inspector.protocol.jsonrpc import EAGER_PARSE_LIMIT, Kind, Message, read, read_overlong

_FILLER = "x" * EAGER_PARSE_LIMIT
_MARK = "<filler>"  # shortens a failing example when it is printed

tricky = st.sampled_from(
    [
        *('"', "\\", '\\"', "}", "{", "]", '"}', '","id":9}', '},"id":9}', '"id":9', "\\\\", '\\"},"id":99}'),
        *('","method":"x"}', "é", "\u2028", "", "null", '{"jsonrpc":"2.0","id":5,"result":{}}'),
    ]
)
texts = st.lists(tricky | st.text(max_size=4), max_size=6).map("".join)
payloads: st.SearchStrategy[JSON] = st.recursive(
    texts | st.integers() | st.none() | st.booleans() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
ids = st.integers(min_value=-(10**12), max_value=10**12) | texts


@st.composite
def messages(draw: st.DrawFn) -> JSONObject:
    """A valid message with its members in any order, one of them big, perhaps with unknown ones."""
    payload = draw(st.dictionaries(texts, payloads, max_size=3)) | {"filler": _MARK}
    after = draw(st.dictionaries(texts, payloads, max_size=2))
    big: JSONObject = {**payload, **after}
    body: JSONObject = {"jsonrpc": "2.0"}
    match draw(st.sampled_from(["request", "notification", "result", "error"])):
        case "request":
            body |= {"id": draw(ids), "method": draw(texts), "params": big}
        case "notification":
            body |= {"method": draw(texts), "params": big}
        case "result":
            body |= {"id": draw(ids), "result": big}
        case _:
            body |= {"id": draw(ids), "error": {"code": draw(st.integers()), "message": "no", "data": big}}
    # The one shape that fools the scan, as its docstring says: an id between params and another object.
    values = payloads if "method" not in body else st.none() | st.integers() | texts
    extra = draw(st.dictionaries(st.sampled_from(["x", "_meta", "y z", "é"]), values, max_size=2))
    items = draw(st.permutations(list((body | extra).items())))
    return dict(items)


def envelope(message: Message) -> tuple[Kind, int | str | None, str]:
    return message.kind, message.id, message.method


@given(messages(), st.booleans(), st.sampled_from([(",", ":"), (", ", ": "), (" , ", "  :  ")]))
def test_a_scanned_envelope_agrees_with_the_parsed_one(
    body: JSONObject, ascii_only: bool, separators: tuple[str, str]
) -> None:
    raw = json.dumps(body, ensure_ascii=ascii_only, separators=separators).encode()
    found = read(raw.replace(_MARK.encode(), _FILLER.encode()))
    assert envelope(found) == envelope(read(raw))
    assert found.problem == ""
    assert found.body().keys() == body.keys()


@pytest.mark.parametrize(
    ("raw", "kind", "id", "method"),
    [
        ('{"jsonrpc":"2.0","id":1,"result":{"content":["%s"]}}', Kind.RESULT, 1, ""),
        ('{"result":{"content":["%s"]},"jsonrpc":"2.0","id":1}', Kind.RESULT, 1, ""),
        ('{"result":{"content":[],"text":"%s"},"id":"a","jsonrpc":"2.0"}', Kind.RESULT, "a", ""),
        ('{"method":"m","params":{"data":"%s"},"jsonrpc":"2.0"}', Kind.NOTIFICATION, None, "m"),
        ('{"method":"m","params":{"data":"%s"},"jsonrpc":"2.0","id":4}', Kind.REQUEST, 4, "m"),
        ('{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"%s"}}', Kind.ERROR, 2, ""),
    ],
)
def test_common_sdk_message_shapes_are_not_parsed_on_arrival(
    raw: str, kind: Kind, id: int | str | None, method: str
) -> None:
    found = read((raw % _FILLER).encode())
    assert envelope(found) == (kind, id, method)
    assert found.parsed is None


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ('{"jsonrpc":"2.0","result":{"t":"%s"},"id":5,"_meta":{}}', (Kind.RESULT, 5, "")),
        ('{"jsonrpc":"2.0","id":1,"result":{"t":"%s"},"id":2}', (Kind.RESULT, 2, "")),
        ('{"id":"%s","result":{"t":1},"jsonrpc":"2.0"}', (Kind.RESULT, _FILLER, "")),
        ('{"\\u0069d":3,"result":{"t":"%s"},"jsonrpc":"2.0"}', (Kind.RESULT, 3, "")),
        ('{"jsonrpc":"2.0","id":true,"result":{"t":"%s"}}', (Kind.RESULT, None, "")),
        ('  {"jsonrpc":"2.0","id":3,"result":{"t":"%s"}}  ', (Kind.RESULT, 3, "")),
        ('{"t":{"jsonrpc":"2.0","id":3,"result":"%s"}}', (Kind.INVALID, None, "")),
        ('"%s"', (Kind.TEXT, None, "")),
    ],
)
def test_unusual_shapes_are_parsed_rather_than_guessed(
    raw: str, expected: tuple[Kind, int | str | None, str]
) -> None:
    assert envelope(read((raw % _FILLER).encode())) == expected


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ('{"jsonrpc":"2.0","id":1,"result":["%s"]}', '"result" must be an object'),
        ('{"jsonrpc":"2.0","id":1,"result":"%s"}', '"result" must be an object'),
        ('{"jsonrpc":"2.0","method":"m","params":["%s"]}', '"params" must be an object'),
        ('{"jsonrpc":"1.0","id":1,"result":{"t":"%s"}}', '"jsonrpc" must be "2.0"'),
        ('{"jsonrpc":"2.0","id":1,"error":["%s"]}', '"error" must be an object'),
    ],
)
def test_violations_in_the_envelope_of_a_big_message_are_reported(raw: str, problem: str) -> None:
    assert problem in read((raw % _FILLER).encode()).problem


def test_overlong_response_still_says_which_request_it_answers() -> None:
    found = read_overlong(b'{"jsonrpc":"2.0","id":7,"result":{"content":[{"text":"xxxx', 300_000_000)
    assert (found.kind, found.id) == (Kind.RESULT, 7)
    assert found.problem.startswith("a line of 300,000,000 bytes exceeds the limit; only its first 58 bytes")
    with pytest.raises(JSONError):
        _ = found.result


@pytest.mark.parametrize(
    "head", [b"", b"xxxx", b'{"result":{"a":', b'{"jsonrpc":"2.0","method":"m","params":{']
)
def test_overlong_line_of_unknown_kind_claims_nothing(head: bytes) -> None:
    found = read_overlong(head, 300_000_000)
    assert (found.kind, found.id) == (Kind.INVALID, None)
