"""How a request is sent and cancelled in each era."""

from __future__ import annotations

import pytest

from inspector.base.errors import LocalProtocolError
from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.client_capabilities import exact_capabilities
from inspector.protocol.connection import Connection, RequestReceived, ResponseReceived, UnexpectedRequest
from inspector.protocol.handshake import (
    ClientProfile,
    Dialect,
    HandshakeDialect,
    StatelessDialect,
    dialect_for,
)
from inspector.protocol.revisions import R1, R4, R5
from tests.helpers.playbook import Playbook, Received, frame, message

PROFILE = ClientProfile("lens", "Lens", "0.1", exact_capabilities({"roots": {}}))
META: JSONObject = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "lens", "title": "Lens", "version": "0.1"},
    "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
}


def stateless(**options: bool) -> StatelessDialect:
    return StatelessDialect(PROFILE, R5, **options)


@pytest.mark.parametrize("params", [None, {}, {"name": "a"}, {"_meta": {"x": 1}}])
def test_session_mode_sends_params_unchanged(params: JSONObject | None) -> None:
    dialect = HandshakeDialect(R1)
    assert dialect.prepare("tools/call", params, capabilities={}, log_level="debug") is params


@pytest.mark.parametrize("params", [None, {}])
def test_stateless_request_always_has_params(params: JSONObject | None) -> None:
    assert stateless().prepare("tools/list", params) == {"_meta": META}


def test_a_stateless_request_keeps_the_callers_params_and_meta() -> None:
    params: JSONObject = {"name": "a", "_meta": {"progressToken": 3, "traceparent": "00-…"}}
    prepared = stateless().prepare("tools/call", params)
    assert prepared == {"name": "a", "_meta": META | {"progressToken": 3, "traceparent": "00-…"}}
    assert params == {"name": "a", "_meta": {"progressToken": 3, "traceparent": "00-…"}}, "it was changed"


def test_meta_set_by_the_caller_wins() -> None:
    own: JSONObject = {"io.modelcontextprotocol/protocolVersion": "2027-01-01"}
    assert stateless().prepare("tools/list", {"_meta": own}) == {"_meta": META | own}


@pytest.mark.parametrize("meta", [None, "words", [1]])
def test_non_object_meta_is_replaced(meta: JSON) -> None:
    assert stateless().prepare("tools/list", {"_meta": meta}) == {"_meta": META}


@pytest.mark.parametrize("capabilities", [{}, {"sampling": {"tools": {}}}])
def test_capabilities_can_differ_for_one_request(capabilities: JSONObject) -> None:
    meta = META | {"io.modelcontextprotocol/clientCapabilities": capabilities}
    assert stateless().prepare("tools/list", None, capabilities=capabilities) == {"_meta": meta}


def test_log_messages_are_enabled_per_request() -> None:
    meta = META | {"io.modelcontextprotocol/logLevel": "debug"}
    assert stateless().prepare("tools/list", None, log_level="debug") == {"_meta": meta}


def test_negotiated_version_decides_the_dialect() -> None:
    dialects: list[Dialect] = [
        dialect_for(R4, PROFILE, over_http=True),
        dialect_for(R5, PROFILE, over_http=True),
        dialect_for(R5, PROFILE, over_http=False),
    ]
    assert [type(dialect) for dialect in dialects] == [HandshakeDialect, StatelessDialect, StatelessDialect]
    assert [dialect.revision for dialect in dialects] == [R4, R5, R5]
    assert [dialect.sends_cancelled_notification("tools/call") for dialect in dialects] == [True, False, True]


def test_connection_adds_meta_once_the_version_is_negotiated() -> None:
    connection = Connection()
    assert connection.request("tools/list").body() == {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    connection.dialect = stateless()
    request = connection.request("tools/list", progress=True, log_level="info", capabilities={})
    assert request.params == {
        "_meta": META
        | {
            "progressToken": 2,
            "io.modelcontextprotocol/logLevel": "info",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    }


def test_stateless_request_over_stdio_is_cancelled_with_a_notification() -> None:
    connection = Connection(stateless())
    request = connection.request("tools/call")
    notice = connection.cancel(1, "enough")
    assert request.id == 1
    assert notice is not None
    assert notice.params == {"requestId": 1, "reason": "enough"}


def test_stateless_request_over_http_is_cancelled_without_a_notification() -> None:
    connection = Connection(stateless(cancels_by_closing=True))
    connection.request("tools/call")
    assert connection.cancel(1, "enough") is None
    assert connection.drain() == [], "it still waits for the answer"


@pytest.mark.parametrize("method", ["initialize", "server/discover"])
def test_opening_request_is_never_cancelled_by_notification(method: str) -> None:
    connection = Connection()
    connection.request(method)
    assert connection.cancel(1, "timed out") is None


def test_stateless_server_request_is_a_violation_and_is_not_answered() -> None:
    connection = Connection(stateless())
    with Playbook(connection.receive) as play:
        play >> Received(frame(id=1, method="roots/list"))
        play << UnexpectedRequest(message(id=1, method="roots/list"))
    with pytest.raises(LocalProtocolError):
        connection.response(1, {})


def test_session_server_request_is_pending() -> None:
    with Playbook(Connection(HandshakeDialect(R4)).receive) as play:
        play >> Received(frame(id=1, method="roots/list"))
        play << RequestReceived(message(id=1, method="roots/list"))


def test_responses_match_requests_with_added_meta() -> None:
    connection = Connection(stateless())
    request = connection.request("tools/list")
    with Playbook(connection.receive) as play:
        play >> Received(frame(id=1, result={}))
        play << ResponseReceived(request, message(id=1, result={}))
