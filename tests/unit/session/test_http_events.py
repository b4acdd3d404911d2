"""HTTP events in the traffic log: exchanges, and the messages that they carried."""

from __future__ import annotations

import pytest

from inspector.protocol.revisions import R5
from inspector.session.client import ToolCall
from inspector.traffic.records import Direction, RecordKind
from inspector.transport.base import (
    FramesReceived,
    HttpEnded,
    HttpRequested,
    HttpResponded,
    HttpTimings,
    SseReceived,
)
from tests.unit.session.session_stage import EraStage, connected

SENT = (("Content-Type", "application/json"),)
GOT = (("Content-Type", "text/event-stream"),)


def begin(stage: EraStage, exchange: int, tag: int = -1, method: str = "POST") -> None:
    stage.wire.happen(HttpRequested(exchange, method, "https://x/mcp", SENT, 120, 0, tag))


async def test_exchange_is_one_row_that_is_updated_as_it_proceeds() -> None:
    async with connected(R5, offered={"tools": {}}, over_http=True) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("x")))
        request = await stage.next()
        tag = stage.wire.envelopes[-1].tag
        begin(stage, 7, tag)
        (row,) = stage.rows(RecordKind.HTTP)
        exchange = stage.log.http(row.number)
        assert exchange is not None
        assert (exchange.method, exchange.url, exchange.request_size) == ("POST", "https://x/mcp", 120)
        assert (exchange.status, exchange.is_over) == (None, False)
        stage.wire.happen(HttpResponded(7, 200, "HTTP/2", GOT, 0))
        stage.send_on_exchange(request, b'{"jsonrpc":"2.0","id":2,"result":{}}', exchange=7)
        stage.wire.happen(HttpEnded(7, 36, HttpTimings(1, 2, 3, 4, 5), "", 0))
        await call
    exchange = stage.log.http(row.number)
    assert exchange is not None
    assert (exchange.status, exchange.http_version, exchange.response_headers) == (200, "HTTP/2", GOT)
    assert (exchange.request_headers, exchange.response_size, exchange.is_over) == (SENT, 36, True)
    times = (exchange.dns_ns, exchange.connect_ns, exchange.tls_ns, exchange.first_byte_ns, exchange.total_ns)
    assert times == (1, 2, 3, 4, 5)
    assert len(stage.rows(RecordKind.HTTP)) == 1


async def test_both_messages_point_to_the_exchange_that_carried_them() -> None:
    async with connected(R5, offered={"tools": {}}, over_http=True) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("x")))
        request = await stage.next()
        begin(stage, 7, stage.wire.envelopes[-1].tag)
        stage.send_on_exchange(request, b'{"jsonrpc":"2.0","id":2,"result":{}}', exchange=7)
        done = (await call).exchange
    (row,) = stage.rows(RecordKind.HTTP)
    response = stage.log.partner(done.row)
    assert response is not None
    assert stage.log.exchange(done.row) == row.number
    assert stage.log.exchange(response) == row.number
    assert stage.log.http(done.row) is stage.log.http(response) is stage.log.http(row.number)
    assert stage.log.exchange(row.number) is None


async def test_redirected_request_points_to_the_exchange_that_answered_it() -> None:
    async with connected(R5, offered={"tools": {}}, over_http=True) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("x")))
        request = await stage.next()
        for exchange in (7, 8):
            begin(stage, exchange, stage.wire.envelopes[-1].tag)
        stage.send_on_exchange(request, b'{"jsonrpc":"2.0","id":2,"result":{}}', exchange=8)
        done = (await call).exchange
    first, second = stage.rows(RecordKind.HTTP)
    assert stage.log.exchange(done.row) == second.number != first.number


async def test_failed_exchange_keeps_its_error_and_its_non_message_body() -> None:
    async with connected(R5, over_http=True) as stage:
        begin(stage, 3)
        stage.wire.happen(HttpResponded(3, 502, "HTTP/1.1", (), 0))
        stage.wire.happen(HttpEnded(3, 17, HttpTimings(), "it broke off", 0, b"<h1>Bad Gateway</h1>"))
    (row,) = stage.rows(RecordKind.HTTP)
    exchange = stage.log.http(row.number)
    assert exchange is not None
    assert (exchange.error, exchange.body) == ("it broke off", b"<h1>Bad Gateway</h1>")


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (SseReceived(1, "message", None, None, "", 12, 0), "event: message  (12 bytes of data)"),
        (
            SseReceived(1, "message", "e-1", 500, "", 1200, 0),
            "event: message  id: e-1  retry: 500  (1,200 bytes of data)",
        ),
        (SseReceived(1, "message", "", None, "", 0, 0), "event: message  id:   (0 bytes of data)"),
        (
            SseReceived(1, "endpoint", None, None, "", 9, 0, b"/messages"),
            "event: endpoint  data: /messages  (9 bytes of data)",
        ),
        (SseReceived(1, "", None, None, "ping", 4, 0), ": ping"),
        (SseReceived(1, "", None, None, "", 0, 0), ":"),
    ],
)
async def test_each_stream_event_and_comment_is_a_row(event: SseReceived, text: str) -> None:
    async with connected(R5, over_http=True) as stage:
        begin(stage, 1)
        stage.wire.happen(event)
    (row,) = stage.rows(RecordKind.SSE)
    (carrier,) = stage.rows(RecordKind.HTTP)
    assert row.raw.decode() == text
    assert (row.direction, row.exchange) == (Direction.IN, carrier.number)


async def test_update_of_an_unknown_exchange_is_not_an_error() -> None:
    async with connected(R5, over_http=True) as stage:
        stage.wire.happen(HttpResponded(99, 200, "HTTP/1.1", (), 0))
        stage.wire.happen(SseReceived(99, "message", None, None, "", 0, 0))
        stage.wire.happen(FramesReceived([b'{"jsonrpc":"2.0","method":"x"}'], 0, 99))
    assert stage.rows(RecordKind.HTTP) == []
    assert [row.exchange for row in stage.rows(RecordKind.SSE, RecordKind.NOTIFICATION)] == [None, None]


async def test_exchanges_of_the_next_connection_are_separate() -> None:
    async with connected(R5, over_http=True) as stage:
        begin(stage, 1)
        await stage.session.close()
        await stage.connect()
        stage.wire.happen(HttpResponded(1, 500, "HTTP/1.1", (), 0))
        begin(stage, 1)
        stage.wire.happen(HttpResponded(1, 200, "HTTP/1.1", (), 0))
    exchanges = [stage.log.http(row.number) for row in stage.rows(RecordKind.HTTP)]
    assert [exchange.status for exchange in exchanges if exchange is not None] == [None, 200]
