"""Era detection on a live connection: probe, fall back, restart the process, fail."""

from __future__ import annotations

import asyncio

import pytest

from inspector.base.errors import (
    ConnectFailed,
    ConnectionLost,
    HttpRefused,
    NeedsLogin,
    NotReached,
    UserError,
)
from inspector.base.json.values import JSONObject
from inspector.config.preferences.settings import ConnectionSettings
from inspector.protocol.client_capabilities import NOTHING
from inspector.protocol.discovery import AUTO, LEGACY_FIRST, EraChoice, negotiation_for
from inspector.protocol.handshake import ClientProfile
from inspector.protocol.jsonrpc import read
from inspector.protocol.revisions import R1, R3, R4, R5
from inspector.session.server_requests import responder_of
from inspector.session.session import Session
from inspector.session.state import Route, Status
from inspector.traffic.log import TrafficLog
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import RecordKind
from inspector.traffic.records import Status as TrafficStatus
from inspector.transport.base import RequestFailed
from tests.helpers.fakes import INITIALIZED, FakeClock, LoopTime, MemoryWire
from tests.unit.session.session_stage import params_of, settle

PROFILE = ClientProfile("lens", "Lens", "0", NOTHING)
DISCOVERED: JSONObject = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
PROCESS, HTTP = "process", "http"


class EraDetection:
    """A session that detects the era; `options` are the routes, `wires` the transports made so far."""

    def __init__(self, choice: EraChoice = AUTO, *options: str) -> None:
        self.wires: list[MemoryWire] = []
        self.log = TrafficLog()
        routes = [self._route(choice, mode) for mode in options or (PROCESS,)]
        settings = ConnectionSettings(connect_timeout=15, request_timeout=10)
        self.session = Session(routes, Recorder(self.log, "srv", FakeClock()), settings, responder_of({}))
        self.connecting = asyncio.get_running_loop().create_task(self.session.connect())

    def _route(self, choice: EraChoice, mode: str) -> Route:
        return Route(
            self._make_wire,
            lambda: negotiation_for(choice, PROFILE, mode == HTTP),
            PROFILE,
            closes_to_cancel=mode == HTTP,
            is_process=mode == PROCESS,
        )

    def _make_wire(self) -> MemoryWire:
        self.wires.append(MemoryWire())
        return self.wires[-1]

    async def next(self, method: str) -> JSONObject:
        await settle()
        request = await self.wires[-1].next()
        assert request["method"] == method
        return request

    async def reply(self, method: str, result: JSONObject) -> JSONObject:
        request = await self.next(method)
        self.wires[-1].show_message(id=request["id"], result=result)
        return request

    async def refuse(self, method: str, code: int, message: str = "no") -> None:
        request = await self.next(method)
        self.wires[-1].show_message(id=request["id"], error={"code": code, "message": message})

    async def refuse_http(self, method: str, status: int, body: bytes = b"") -> None:
        """Fail the next request as the transport does for an HTTP error status."""
        await self.next(method)
        error = HttpRefused(f"HTTP {status}.", "Look at its log.", status, body)
        self.fail_request(method, NeedsLogin("It requires login.", "Log in.") if status == 401 else error)

    def fail_request(self, method: str, error: UserError) -> None:
        row = [row for row in self.log.find("srv", RecordKind.REQUEST) if row.method == method][-1]
        self.wires[-1].happen(RequestFailed(read(row.raw), error, 0))

    async def agree(self) -> str:
        """Return the negotiated version and how it was found, and close the session."""
        await self.connecting
        negotiated = self.session.state.negotiated
        assert negotiated is not None
        assert self.wires[-1].revision is negotiated.revision
        await self.session.close()
        return f"{negotiated.revision}: {negotiated.description}"

    async def fail(self) -> ConnectFailed:
        with pytest.raises(ConnectFailed) as caught:
            await self.connecting
        assert self.session.state.reason == caught.value.summary
        assert all(wire.is_closed for wire in self.wires)
        return caught.value

    async def nothing_more(self) -> None:
        await settle()
        assert all(wire.sends_nothing() for wire in self.wires)


async def test_server_that_answers_the_probe_is_stateless() -> None:
    detection = EraDetection()
    request = await detection.reply("server/discover", DISCOVERED)
    assert "_meta" in request["params"]  # type: ignore[operator]
    assert (await detection.agree()).startswith("2026-07-28: server/discover · 2026-07-28 accepted")
    await detection.nothing_more()  # no initialized: there is nothing to seal


async def test_a_server_that_does_not_know_the_probe_is_initialized() -> None:
    detection = EraDetection()
    await detection.refuse("server/discover", -32601, "Method not found")
    await detection.reply("initialize", INITIALIZED)
    assert "-32601 (method not found): Method not found" in await detection.agree()
    assert (await detection.wires[-1].next())["method"] == "notifications/initialized"
    assert len(detection.wires) == 1


async def test_process_that_exits_on_the_probe_is_restarted_and_initialized_immediately() -> None:
    detection = EraDetection()
    await detection.next("server/discover")
    detection.wires[0].end("The server exited with code 1.", "Its last lines on stderr:\nbad request")
    await detection.reply("initialize", INITIALIZED)
    assert " · fallback: its process exited on server/discover" in await detection.agree()
    assert len(detection.wires) == 2
    assert detection.wires[0].is_closed
    assert (await detection.wires[-1].next())["method"] == "notifications/initialized"


async def test_process_that_exits_again_fails_with_its_last_output() -> None:
    detection = EraDetection()
    for method in ("server/discover", "initialize"):
        await detection.next(method)
        detection.wires[-1].end("The server exited with code 1.", "Its last lines on stderr:\nno token")
    error = await detection.fail()
    assert str(error) == "The server exited with code 1. Its last lines on stderr:\nno token"
    assert len(detection.wires) == 2  # and not a third time


async def test_silent_process_is_initialized_and_its_late_response_changes_nothing() -> None:
    detection = EraDetection()
    time = LoopTime()
    probe = await detection.next("server/discover")
    await time.advance(4.9)
    await detection.nothing_more()
    await time.advance(0.2)
    request = await detection.next("initialize")
    detection.wires[0].show_message(id=probe["id"], result=DISCOVERED)
    await settle()
    assert not detection.connecting.done()
    detection.wires[0].show_message(id=request["id"], result=INITIALIZED)
    assert (await detection.agree()).startswith("2025-11-25")
    (late,) = (row for row in detection.log.find("srv", RecordKind.RESULT) if row.id == probe["id"])
    assert late.status is TrafficStatus.LATE
    sent = [row.method for row in detection.log.find("srv", RecordKind.NOTIFICATION)]
    assert "notifications/cancelled" not in sent


async def test_newer_server_that_rejects_initialize_with_its_version_is_probed_again() -> None:
    detection = EraDetection()
    time = LoopTime()
    await detection.next("server/discover")
    await time.advance(5.1)
    request = await detection.next("initialize")
    error: JSONObject = {"code": -32022, "message": "old", "data": {"supported": ["2026-07-28"]}}
    detection.wires[0].show_message(id=request["id"], error=error)
    await detection.reply("server/discover", DISCOVERED)
    assert " · initialize was rejected, naming 2026-07-28" in await detection.agree()


async def test_connection_shows_what_it_waits_for() -> None:
    detection = EraDetection()
    request = await detection.next("server/discover")
    assert detection.session.state.waits_for == "the response to server/discover"
    detection.wires[0].show_message(id=request["id"], error={"code": -32601, "message": "no"})
    await settle()
    assert detection.session.state.waits_for == "the response to initialize"
    detection.connecting.cancel()
    await settle()


async def test_legacy_first_never_probes_a_server_that_can_be_initialized() -> None:
    detection = EraDetection(LEGACY_FIRST)
    await detection.reply("initialize", INITIALIZED)
    assert (await detection.agree()).startswith("2025-11-25: initialize · 2025-11-25 accepted")
    assert [row.method for row in detection.log.find("srv", RecordKind.REQUEST)] == ["initialize"]


async def test_legacy_first_probes_when_initialize_is_rejected() -> None:
    detection = EraDetection(LEGACY_FIRST)
    await detection.refuse("initialize", -32601)
    await detection.reply("server/discover", DISCOVERED)
    how = "server/discover · 2026-07-28 accepted · initialize was rejected"
    assert await detection.agree() == f"2026-07-28: {how}"


@pytest.mark.parametrize("revision", [R1, R3, R4], ids=str)
async def test_pinned_session_version_is_sent_in_initialize(revision: EraChoice) -> None:
    detection = EraDetection(revision)
    request = await detection.reply("initialize", INITIALIZED | {"protocolVersion": str(revision)})
    assert params_of(request)["protocolVersion"] == str(revision)
    assert (await detection.agree()).startswith(str(revision))


async def test_pinned_stateless_version_never_falls_back() -> None:
    detection = EraDetection(R5)
    await detection.refuse("server/discover", -32601, "Method not found")
    error = await detection.fail()
    assert error.summary.startswith("The server does not support 2026-07-28")
    await detection.nothing_more()


@pytest.mark.parametrize("status", [500, 502, 503, 403])
async def test_outage_is_reported_when_initialize_fails_as_well(status: int) -> None:
    detection = EraDetection(AUTO, HTTP, HTTP)
    await detection.refuse_http("server/discover", status)
    await detection.refuse_http("initialize", status)
    assert str(await detection.fail()).startswith(f"HTTP {status}. Look at its log.")
    assert len(detection.wires) == 1


async def test_login_is_required_when_initialize_requires_it_as_well() -> None:
    detection = EraDetection(AUTO, HTTP, HTTP)
    await detection.refuse_http("server/discover", 401)
    await detection.refuse_http("initialize", 401)
    assert isinstance(await detection.fail(), NeedsLogin)
    assert detection.session.state.status is Status.NEEDS_LOGIN
    assert len(detection.wires) == 1


async def test_login_of_a_pinned_stateless_server_keeps_the_headers_of_the_rejection() -> None:
    detection = EraDetection(R5, HTTP)
    await detection.next("server/discover")
    challenge = (("WWW-Authenticate", "Bearer"),)
    detection.fail_request("server/discover", NeedsLogin("It requires login.", "Log in.", 401, challenge))
    error = await detection.fail()
    assert isinstance(error, NeedsLogin)
    assert error.headers == challenge


@pytest.mark.parametrize("status", [400, 404, 405])
async def test_server_that_rejects_posts_is_reached_over_the_older_transport(status: int) -> None:
    detection = EraDetection(AUTO, HTTP, "sse")
    await detection.refuse_http("server/discover", status)
    await detection.refuse_http("initialize", status)
    await detection.refuse("server/discover", -32601)
    await detection.reply("initialize", INITIALIZED)
    await detection.agree()
    first, second = detection.wires
    assert first.is_closed
    assert first is not second
    notes = [row.raw.decode() for row in detection.log.find("srv", RecordKind.LOCAL)]
    assert f"HTTP {status}. Look at its log. Trying the older transport." in notes


async def test_with_an_explicit_transport_a_rejection_is_final() -> None:
    detection = EraDetection(AUTO, HTTP)
    await detection.refuse_http("server/discover", 405)
    await detection.refuse_http("initialize", 405)
    assert (await detection.fail()).summary == "HTTP 405."
    assert len(detection.wires) == 1


async def test_rejection_specific_to_stateless_servers_does_not_lead_to_the_older_transport() -> None:
    detection = EraDetection(LEGACY_FIRST, HTTP, "sse")
    body = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}'
    await detection.refuse_http("initialize", 404, body)
    await detection.reply("server/discover", DISCOVERED)
    assert (await detection.agree()).startswith("2026-07-28")
    assert len(detection.wires) == 1


async def test_server_that_cannot_be_reached_is_not_asked_again() -> None:
    detection = EraDetection(AUTO, HTTP, "sse")
    await detection.next("server/discover")
    detection.fail_request("server/discover", NotReached("Connection refused.", "Is it running?"))
    assert str(await detection.fail()) == "Connection refused. Is it running?"
    assert len(detection.wires) == 1


async def test_connection_that_breaks_on_both_requests_is_reported_as_such() -> None:
    detection = EraDetection(AUTO, HTTP, "sse")
    for method in ("server/discover", "initialize"):
        await detection.next(method)
        detection.fail_request(method, ConnectionLost("The connection broke.", "Is it there?"))
    assert str(await detection.fail()) == "The connection broke. Is it there?"
    assert len(detection.wires) == 1


async def test_silence_over_http_leaves_most_of_the_connection_timeout_to_initialize() -> None:
    detection = EraDetection(AUTO, HTTP)
    time = LoopTime()
    await detection.next("server/discover")
    await time.advance(5.1)
    request = await detection.next("initialize")
    await time.advance(9.0)
    detection.wires[0].show_message(id=request["id"], result=INITIALIZED)
    assert " · fallback: it did not respond to server/discover" in await detection.agree()
