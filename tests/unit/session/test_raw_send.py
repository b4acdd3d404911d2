"""Raw bytes over an in-memory transport: recording, ids, responses, and line breaks."""

from __future__ import annotations

import asyncio

import pytest

from inspector.base.errors import ConnectionLost, HttpRefused, RequestCancelled, RequestTimedOut, UserError
from inspector.base.json.values import JSON
from inspector.protocol.jsonrpc import Kind, Message
from inspector.protocol.revisions import R5
from inspector.session.raw_send import RawReply, lines_of
from inspector.traffic.records import RecordKind, Status
from inspector.transport.base import PLAIN, Envelope, RequestFailed
from tests.helpers.fakes import LoopTime, MemoryWire
from tests.helpers.stage import Stage
from tests.unit.session.session_stage import META, settle
from tests.unit.session.session_stage import connected as era

# Unusual on purpose: extra spaces, a duplicate key, a number with trailing zeros, an unknown member.
CALL = b'{ "method":"tools/call","jsonrpc" : "2.0","id":%s, "params":{"name":"x","name":"y","n":1.10},"z":[]}'


class ByteWire(MemoryWire):
    """Records the bytes sent; raises `refusal` if it is set."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes: list[bytes] = []
        self.refusal: UserError | None = None

    async def send(self, message: Message, envelope: Envelope = PLAIN) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.bytes.append(message.raw)
        await super().send(message, envelope)


@pytest.fixture
async def byte_stage(stage: Stage) -> tuple[Stage, ByteWire]:
    """Yield a connected stage and its transport, without the messages of the handshake."""
    stage.next_wire = wire = ByteWire()
    await stage.connect()
    wire.bytes.clear()
    return stage, wire


def only_response(reply: RawReply) -> Message:
    (response,) = reply.responses
    assert reply.failure is None
    return response


async def test_request_is_sent_as_written_and_gets_its_response(
    byte_stage: tuple[Stage, ByteWire],
) -> None:
    stage, wire = byte_stage
    sent = await stage.session.send_raw(CALL % b'"mine"')
    assert wire.bytes == [CALL % b'"mine"']
    assert (sent.request.kind, sent.request.id) == (Kind.REQUEST, "mine")
    wire.show_message(id="mine", result={"content": []})
    assert only_response(await sent.response()).result == {"content": []}
    row = stage.log.record(sent.row)
    assert (row.raw, row.status, row.method) == (CALL % b'"mine"', Status.OK, "tools/call")
    assert stage.rows()[-1].problem == ""


async def test_response_that_arrives_before_the_wait_is_stored(connected: Stage) -> None:
    sent = await connected.session.send_raw(CALL % b"70")
    connected.wire.show_message(id=70, error={"code": 1, "message": "no"})
    await settle()
    assert only_response(await sent.response()).kind is Kind.ERROR


async def test_unawaited_message_is_harmless_when_the_connection_ends(connected: Stage) -> None:
    sent = await connected.session.send_raw(CALL % b"70")
    connected.wire.end()
    await connected.ended()
    assert connected.log.status(sent.row) is Status.NO_RESPONSE  # the stage checks for unretrieved errors


async def test_unanswered_request_times_out_and_the_server_is_notified(connected: Stage) -> None:
    time = LoopTime()
    sent = await connected.session.send_raw(CALL % b"70", timeout=3)
    await connected.wire.next()
    waiting = connected.start(sent.response())
    await time.advance(3.1)
    reply = await waiting
    assert isinstance(reply.failure, RequestTimedOut)
    notice = await connected.wire.next()
    assert notice["params"] == {"requestId": 70, "reason": "timed out"}
    assert connected.log.status(sent.row) is Status.TIMED_OUT


async def test_cancelled_wait_notifies_the_server(connected: Stage) -> None:
    sent = await connected.session.send_raw(CALL % b"70")
    await connected.wire.next()
    waiting = connected.start(sent.response())
    await settle()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (await connected.wire.next())["method"] == "notifications/cancelled"


async def test_progress_under_its_own_token_extends_the_timeout(connected: Stage) -> None:
    time = LoopTime()
    raw = b'{"jsonrpc":"2.0","id":70,"method":"x","params":{"_meta":{"progressToken":"p"}}}'
    sent = await connected.session.send_raw(raw, timeout=5)
    waiting = connected.start(sent.response())
    await time.advance(4)
    connected.wire.show_message(method="notifications/progress", params={"progressToken": "p", "progress": 1})
    await time.advance(4)
    assert not waiting.done()
    connected.wire.show_message(id=70, result={})
    assert only_response(await waiting).result == {}


@pytest.mark.parametrize("id", [b"null", b"1.5", b"true", b"{}", b"[1]"])
async def test_without_a_valid_id_there_is_nothing_to_wait_for(connected: Stage, id: bytes) -> None:
    sent = await connected.session.send_raw(CALL % id)
    assert await sent.response() == RawReply()


async def test_disconnected_session_raises_the_usual_error(stage: Stage) -> None:
    for _ in range(2):
        with pytest.raises(ConnectionLost, match=r"The server is not connected\. Connect first\."):
            await stage.session.send_raw(b"{}")
        with pytest.raises(ConnectionLost, match="not connected"):
            stage.session.next_id()
        await stage.connect()
        await stage.session.close()


async def test_server_that_stopped_reading_is_a_reported_failure_and_not_an_exception(
    connected: Stage,
) -> None:
    time = LoopTime()
    connected.wire.block_sending()
    sending = connected.start(connected.session.send_raw(b"{", timeout=2))
    await settle()
    await time.advance(2.1)
    sent = await sending
    assert str((await sent.response()).failure).startswith("The message could not be sent within 2.")


async def test_our_counter_skips_ids_used_by_the_user(connected: Stage) -> None:
    raw = b'{"jsonrpc":"2.0","id":3.0,"method":"x","params":{"_meta":{"progressToken":4}}}'
    for used in (CALL % b"2", raw, b'[{"jsonrpc":"2.0","id":5,"method":"x"}]', CALL % b'"6"'):
        await connected.session.send_raw(used)
    assert [connected.session.next_id(), connected.session.next_id()] == [6, 7]
    connected.start(connected.session.request("ping"))
    await settle()
    assert connected.sent("ping").id == 8


async def test_reusing_a_pending_id_gives_the_response_to_the_newer_request(
    connected: Stage,
) -> None:
    call = connected.start(connected.session.request("tools/list"))
    id = (await connected.wire.next())["id"]
    sent = await connected.session.send_raw(CALL % str(id).encode())
    assert await connected.wire.next()
    with pytest.raises(RequestCancelled, match="Another request with the id 2 was sent manually"):
        await call
    assert connected.wire.sends_nothing()  # a cancellation would name the newer one
    assert connected.wire.forgotten == []
    connected.wire.show_message(id=id, result={"to": "the newer"})
    assert only_response(await sent.response()).result == {"to": "the newer"}
    listed, called = connected.rows(RecordKind.REQUEST)[-2:]
    assert (listed.status, called.status) == (Status.CANCELLED, Status.OK)
    connected.wire.show_message(id=id, result={})
    assert connected.rows()[-1].problem == "second response to the same request (ID 2)"


async def test_failure_of_the_older_request_does_not_affect_the_newer(connected: Stage) -> None:
    older = await connected.session.send_raw(CALL % b"70")
    newer = await connected.session.send_raw(CALL % b"70")
    connected.wire.happen(RequestFailed(older.request, ConnectionLost("It broke.", ""), 0))
    connected.wire.show_message(id=70, result={})
    assert isinstance((await older.response()).failure, RequestCancelled)
    assert only_response(await newer.response()).result == {}


async def test_id_can_be_reused_once_answered(connected: Stage) -> None:
    for _ in range(2):
        sent = await connected.session.send_raw(CALL % b"70")
        connected.wire.show_message(id=70, result={"content": []})
        assert only_response(await sent.response()).result == {"content": []}
    assert [row.problem for row in connected.rows(RecordKind.RESULT)[-2:]] == ["", ""]


async def test_resent_request_is_linked_to_the_original(connected: Stage) -> None:
    first = await connected.session.send_raw(CALL % b"70")
    again = await connected.session.send_raw(CALL % b"71", resent_of=first.row)
    assert connected.log.resent_of(again.row) == first.row
    assert connected.log.resent_of(first.row) is None


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b'{"jsonrpc":"2.0","method":"notifications/x"}', RecordKind.NOTIFICATION),
        (b'{"jsonrpc":"2.0","id":9,"result":{}}', RecordKind.RESULT),
        (b'{"jsonrpc":"2.0","id":', RecordKind.INVALID),
        (b"\xff\xfe hello", RecordKind.TEXT),
        (b"", RecordKind.TEXT),
    ],
)
async def test_any_bytes_are_sent_and_recorded(
    byte_stage: tuple[Stage, ByteWire], raw: bytes, kind: RecordKind
) -> None:
    stage, wire = byte_stage
    sent = await stage.session.send_raw(raw)
    assert wire.bytes == [raw]
    assert stage.rows()[-1].number == sent.row
    assert (stage.rows()[-1].kind, stage.rows()[-1].raw) == (kind, raw)
    assert await sent.response() == RawReply()


async def test_a_batch_waits_for_every_request_in_it(connected: Stage) -> None:
    request = b'{"jsonrpc":"2.0","id":%d,"method":"x"}'
    raw = b"[%s, %s,\t%s]" % (request % 70, request % 71, b'{"jsonrpc":"2.0","method":"n"}')
    sent = await connected.session.send_raw(raw)
    connected.wire.show_message(id=71, result={"n": 71})
    connected.wire.show_message(id=70, result={"n": 70})
    reply = await sent.response()
    assert [response.result for response in reply.responses] == [{"n": 70}, {"n": 71}]
    assert all(not row.problem for row in connected.rows(RecordKind.RESULT))


async def test_manual_reply_is_the_only_one_the_server_gets(stage: Stage) -> None:
    requested = asyncio.Event()

    async def think(params: dict[str, JSON]) -> dict[str, JSON]:
        await requested.wait()
        return {"roots": []}

    stage.answer_with("roots/list", think)
    await stage.connect()
    stage.wire.show_message(id="s1", method="roots/list")
    await settle()
    await stage.session.send_raw(b'{"jsonrpc":"2.0","id":"s1","result":{"roots":"mine"}}')
    requested.set()
    await settle()
    assert (await stage.wire.next())["result"] == {"roots": "mine"}
    assert stage.wire.sends_nothing()


async def test_transport_rejection_is_returned_as_the_failure(byte_stage: tuple[Stage, ByteWire]) -> None:
    stage, wire = byte_stage
    wire.refusal = refusal = HttpRefused("The server answered it with HTTP 400: no.", "", 400, b"no")
    for raw in (b"{", CALL % b"70"):
        sent = await stage.session.send_raw(raw)
        assert sent.failure is refusal
        assert (await sent.response()).failure is refusal
    assert stage.rows(RecordKind.REQUEST)[-1].status is Status.NO_RESPONSE


async def test_manually_opened_change_stream_is_not_a_server_violation() -> None:
    params = b'{"notifications":{"toolsListChanged":true}}'
    raw = b'{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":%s}' % params
    async with era(R5) as stage:
        time = LoopTime()
        sent = await stage.session.send_raw(raw)
        waiting = stage.start(sent.response())
        reported: JSON = {f"{META}subscriptionId": "L"}
        requested: JSON = {"toolsListChanged": True}
        stage.wire.show_message(
            method="notifications/subscriptions/acknowledged",
            params={"_meta": reported, "notifications": requested},
        )
        stage.wire.show_message(method="notifications/tools/list_changed", params={"_meta": reported})
        await time.advance(3600)
        assert not waiting.done()  # the response comes at the end of the stream, which may take hours
        stage.wire.show_message(id="L", result={"_meta": reported})
        assert only_response(await waiting).kind is Kind.RESULT
        assert stage.notes() == []


async def test_manual_call_mirrors_its_arguments_in_headers_and_user_headers_win() -> None:
    properties: JSON = {
        name: {"type": "string", "x-mcp-header": name.title()} for name in ("region", "color")
    }
    tool: JSON = {"name": "x", "inputSchema": {"type": "object", "properties": properties}}
    raw = b'{"jsonrpc":"2.0","id":70,"method":"tools/call","params":{"name":%s,"arguments":%s}}'
    arguments = b'{"region":"eu","color":"red"}'
    async with era(R5, offered={"tools": {}}, over_http=True) as stage:
        pending = stage.start(stage.client.list_tools())
        await stage.reply(tools=[tool])
        await pending
        for sent in (raw % (b'"x"', arguments), raw % (b"{}", arguments), raw % (b'"x"', b"7"), b"{"):
            await stage.client.send_raw(sent, headers=(("mcp-param-color", "blue"),))
        mine = ("mcp-param-color", "blue")
        headers = [envelope.headers for envelope in stage.wire.envelopes[-4:]]
        assert headers == [(("Mcp-Param-Region", "eu"), mine), (mine,), (mine,), (mine,)]


async def test_a_line_break_is_refused_over_stdio_and_nothing_is_sent(
    byte_stage: tuple[Stage, ByteWire],
) -> None:
    stage, wire = byte_stage
    rows = len(stage.log)
    with pytest.raises(UserError, match=r"line break \(byte 2\).*Send it compacted.*or split"):
        await stage.session.send_raw(b'{\n"jsonrpc":"2.0"}')
    assert (wire.bytes, len(stage.log)) == ([], rows)


async def test_when_split_each_line_is_a_separate_message(byte_stage: tuple[Stage, ByteWire]) -> None:
    stage, wire = byte_stage
    sent = await stage.session.send_raw(b"%s\n{\n%s\n" % (CALL % b"70", CALL % b"71"), split=True)
    assert wire.bytes == [CALL % b"70", b"{", CALL % b"71"]
    assert [row.number for row in stage.rows()[-3:]] == [sent.row, sent.row + 1, sent.row + 2]
    wire.show_message(id=70, result={"n": 70})
    wire.show_message(id=71, result={"n": 71})
    assert [response.result for response in (await sent.response()).responses] == [{"n": 70}, {"n": 71}]


async def test_line_break_is_allowed_on_other_transports() -> None:
    async with era(R5, over_http=True) as stage:
        sent = await stage.session.send_raw(b'{\n"method": "x"\r\n}')
        assert sent.request.kind is Kind.NOTIFICATION


def test_bytes_on_the_pipe_are_exactly_the_written_ones() -> None:
    for raw in (b"", b"a", b"a\n", b"\n", b"a\n\nb", b"a\r\nb\n\n"):
        written = b"".join(line + b"\n" for line in lines_of(raw, split=True))
        assert written.removesuffix(b"\n") == raw.removesuffix(b"\n")
