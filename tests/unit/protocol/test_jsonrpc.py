"""Reading of messages: never raises, keeps the bytes, reports every violation."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON, JSONError, JSONObject, to_wire
from inspector.protocol import jsonrpc
from inspector.protocol.jsonrpc import Kind, Message, error_of, read
from tests.helpers.playbook import message


@given(st.binary() | st.text().map(str.encode))
def test_any_bytes_are_some_kind_of_message_and_are_kept(raw: bytes) -> None:
    assert read(raw).raw == raw


json_values: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
members = ["jsonrpc", "id", "method", "params", "result", "error", "x"]


@given(st.dictionaries(st.sampled_from(members), st.sampled_from(["2.0", "ping"]) | json_values))
def test_any_object_can_be_inspected_without_an_exception(body: JSONObject) -> None:
    message = read(to_wire(body))
    assert message.parsed is not None
    assert isinstance(message.params, dict)
    assert isinstance(message.result, dict)
    assert error_of(message).message


@pytest.mark.parametrize(
    ("body", "kind", "id", "method"),
    [
        ({"id": 1, "method": "ping"}, Kind.REQUEST, 1, "ping"),
        ({"id": "a", "method": "ping", "params": {}}, Kind.REQUEST, "a", "ping"),
        ({"id": 0, "method": "ping"}, Kind.REQUEST, 0, "ping"),
        ({"id": "", "result": {}}, Kind.RESULT, "", ""),
        ({"method": "notifications/x"}, Kind.NOTIFICATION, None, "notifications/x"),
        ({"id": 2, "result": {"unknown": [1]}}, Kind.RESULT, 2, ""),
        ({"id": 3, "error": {"code": -1, "message": "no"}}, Kind.ERROR, 3, ""),
        ({"id": 3, "error": {"code": -1, "message": "no"}, "extra": True}, Kind.ERROR, 3, ""),
    ],
)
def test_valid_message_has_its_kind_its_typed_id_and_no_problem(
    body: JSONObject, kind: Kind, id: int | str | None, method: str
) -> None:
    found = message(**body)
    assert (found.kind, found.id, found.method, found.problem) == (kind, id, method, "")
    assert type(found.id) is type(id)


@pytest.mark.parametrize(
    ("body", "kind", "problem"),
    [
        ({"id": True, "method": "ping"}, Kind.REQUEST, '"id" must be a string or an integer'),
        ({"id": None, "method": "ping"}, Kind.REQUEST, '"id" must be a string or an integer'),
        ({"id": 1.0, "result": {}}, Kind.RESULT, '"id" must be a string or an integer'),
        ({"result": {}}, Kind.RESULT, '"id" must be a string or an integer'),
        ({"id": 1, "result": []}, Kind.RESULT, '"result" must be an object'),
        ({"id": 1, "result": {}, "error": {}}, Kind.ERROR, 'either "result" or "error", not both'),
        ({"id": 1, "result": {}, "error": None}, Kind.RESULT, '"error" must be absent from a result'),
        ({"id": 1, "result": None, "error": {}}, Kind.ERROR, '"result" must be absent from an error'),
        ({"id": 1, "error": "no"}, Kind.ERROR, '"error" must be an object with code and message'),
        (
            {"id": 1, "error": {"code": True, "message": ""}},
            Kind.ERROR,
            '"error" must be an object with code',
        ),
        ({"method": "x", "params": [1]}, Kind.NOTIFICATION, '"params" must be an object'),
        ({"id": 1, "method": 5}, Kind.INVALID, '"method" must be a string'),
        ({"id": 1}, Kind.INVALID, 'neither "method" nor "result" nor "error"'),
        ({}, Kind.INVALID, 'neither "method" nor "result" nor "error"'),
    ],
)
def test_violation_is_named_and_the_message_is_still_classified(
    body: JSONObject, kind: Kind, problem: str
) -> None:
    found = message(**body)
    assert found.kind is kind
    assert problem in found.problem


@pytest.mark.parametrize(
    ("raw", "kind", "problem"),
    [
        (b"", Kind.TEXT, "a blank line"),
        (b"  \t ", Kind.TEXT, "a blank line"),
        (b"Listening on stdin", Kind.TEXT, "not a JSON-RPC message"),
        (b"42", Kind.TEXT, "must be an object"),
        (b'"words"', Kind.TEXT, "must be an object"),
        (b"{'almost': 1}", Kind.INVALID, "not valid JSON: Expecting property name"),
        (b'{"jsonrpc":"2.0","id":1,"resu', Kind.INVALID, "not valid JSON"),
        (b'{"id":1,"result":{}}', Kind.RESULT, '"jsonrpc" must be "2.0"'),
        (b"[]", Kind.BATCH, "an empty batch"),
        (b"[1]", Kind.BATCH, ""),
    ],
)
def test_non_message_is_reported(raw: bytes, kind: Kind, problem: str) -> None:
    found = read(raw)
    assert found.kind is kind
    assert problem in found.problem
    assert bool(problem) == bool(found.problem)


def test_damaged_text_does_not_hide_the_message_kind() -> None:
    raw = b'{"jsonrpc":"2.0","id":7,"result":{"text":"\xff"}}'
    found = read(raw)
    assert (found.kind, found.id) == (Kind.RESULT, 7)
    assert found.problem == f"not valid UTF-8 at byte {raw.index(0xFF)}"
    assert found.result == {"text": "\ufffd"}


def test_byte_order_mark_before_a_message_is_reported_and_skipped() -> None:
    found = read(b'\xef\xbb\xbf{"jsonrpc":"2.0","id":7,"result":{}}')
    assert (found.kind, found.id, found.result) == (Kind.RESULT, 7, {})
    assert found.problem == "starts with a byte order mark"


def test_message_nested_too_deeply_still_says_which_request_it_answers() -> None:
    """T23: a server sends a message that no recursive parser can read."""
    deep = b'{"jsonrpc":"2.0","id":7,"result":' + b'{"a":' * 10_000 + b"1" + b"}" * 10_001
    found = read(deep)
    assert (found.kind, found.id) == (Kind.RESULT, 7)
    assert "nested too deeply" in found.problem
    with pytest.raises(JSONError, match="nested too deeply"):
        _ = found.result


def test_broken_message_with_a_long_integer_is_reported() -> None:
    """T23: an integer that Python refuses to convert, before an error."""
    found = read(b'{"jsonrpc":"2.0","id":7,"result":{"n":' + b"9" * 5000 + b"},}")
    # Python 3.13 and newer name the trailing comma itself.
    assert re.match("not valid JSON: (Expecting property name|Illegal trailing comma)", found.problem)


def test_a_batch_gives_its_messages_and_keeps_its_own_bytes() -> None:
    raw = b'[{"jsonrpc":"2.0","id":1,"result":{}}, 5, [], {"jsonrpc":"2.0","method":"notifications/x"}]'
    found = read(raw)
    assert found.raw == raw
    assert [item.kind for item in found.items()] == [Kind.RESULT, Kind.TEXT, Kind.INVALID, Kind.NOTIFICATION]


def test_batch_of_any_depth_is_read_or_rejected_consistently() -> None:
    """Parsing and serializing fail at different depths."""
    batches = [read(b"[" * depth + b"]" * depth) for depth in range(200, 1001)]
    shallow = [depth_is_fine(batch) for batch in batches]
    assert shallow[0]
    assert not shallow[-1]


def depth_is_fine(batch: Message) -> bool:
    try:
        return len(batch.items()) == 1
    except JSONError:
        return False


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        (jsonrpc.request(1, "tools/list"), Kind.REQUEST),
        (jsonrpc.request("a", "tools/call", {"name": "x"}), Kind.REQUEST),
        (jsonrpc.notification("notifications/initialized"), Kind.NOTIFICATION),
        (jsonrpc.notification("notifications/x", {"a": "\ud83d"}), Kind.NOTIFICATION),
        (jsonrpc.result(1, {"a": 1}), Kind.RESULT),
        (jsonrpc.failure("a", -32601, "no such method", {"hint": 1}), Kind.ERROR),
    ],
)
def test_serialized_message_reads_back_as_intended(written: Message, kind: Kind) -> None:
    assert read(written.raw) == written
    assert written.kind is kind
    assert written.problem == ""


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        ({"code": -32601, "message": "no"}, -32601, "no"),
        ({"code": "x", "message": ""}, None, "The server gave no error message"),
        ({"code": True, "message": "no"}, None, "no"),
        ("words", None, "words"),
        ([], None, "The server gave no error message"),
    ],
)
def test_an_error_object_is_read_whatever_is_wrong_with_it(error: JSON, code: int | None, text: str) -> None:
    found = error_of(message(id=1, error=error))
    assert (found.code, found.message) == (code, text)


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
def test_number_that_is_not_json_is_reported_and_the_message_is_used(name: str) -> None:
    message = read(b'{"jsonrpc":"2.0","method":"m","params":{"n":%s}}' % name.encode())
    assert message.kind is Kind.NOTIFICATION
    assert message.problem == f"it contains {name}, which is not JSON"
    assert "n" in message.params


def test_name_of_such_a_number_in_a_string_is_no_violation() -> None:
    assert read(b'{"jsonrpc":"2.0","method":"m","params":{"NaN":"Infinity"}}').problem == ""


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (-32700, "-32700 (parse error)"),
        (-32600, "-32600 (invalid request)"),
        (-32601, "-32601 (method not found)"),
        (-32602, "-32602 (invalid params)"),
        (-32603, "-32603 (internal error)"),
        (-32002, "-32002 (resource not found)"),
        (-32042, "-32042 (URL elicitation required)"),
        (-32020, "-32020 (header mismatch)"),
        (-32021, "-32021 (missing required client capability)"),
        (-32022, "-32022 (unsupported protocol version)"),
        *((-32000, "-32000 (server error)"), (-32099, "-32099 (server error)")),
        *((-32100, "-32100 (reserved by JSON-RPC)"), (-32768, "-32768 (reserved by JSON-RPC)")),
        *((-32769, "-32769"), (-31999, "-31999"), (-1, "-1"), (0, "0"), (404, "404")),
        (None, "no error code"),
    ],
)
def test_error_code_is_shown_with_its_name(code: int | None, text: str) -> None:
    assert jsonrpc.error_code_text(code) == text
    message = "Boom (no error code)" if code is None else f"{text}: Boom"
    assert str(jsonrpc.RpcError(code, "Boom")) == jsonrpc.ErrorObject(code, "Boom").text == message


def test_every_named_error_has_a_specific_next_step() -> None:
    general = jsonrpc.RpcError(7, "Boom").next_step
    assert [code for code in jsonrpc.ERROR_NAMES if jsonrpc.RpcError(code, "").next_step == general] == []


def test_minus_one_is_a_rejection_by_the_user_only_from_a_client() -> None:
    assert jsonrpc.error_code_text(-1, from_client=True) == "-1 (user rejected)"
