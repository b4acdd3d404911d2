"""How an era is found out on a live wire: probe, fall back, start the process again, give up."""

from __future__ import annotations

import asyncio

import pytest

from inspector.base.errors import ConnectFailed, ConnectionLost, HttpRefused, NeedsLogin, UserError
from inspector.base.json.values import JSONObject
from inspector.config.preferences.settings import Settings
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
from inspector.transport.base import RequestFailed
from tests.helpers.fakes import INITIALIZED, FakeClock, LoopTime, MemoryWire
from tests.unit.session.session_stage import params_of, settle

PROFILE = ClientProfile("lens", "Lens", "0", NOTHING)
DISCOVERED: JSONObject = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
PROCESS, HTTP = "process", "http"


class Finding:
    """A session that finds an era out. `options` are the routes, each with its own wires, in `wires`."""

    def __init__(self, choice: EraChoice = AUTO, *options: str) -> None:
        self.wires: list[MemoryWire] = []
        self.log = TrafficLog()
        routes = [self._route(choice, mode) for mode in options or (PROCESS,)]
        settings = Settings(connect_timeout=15, request_timeout=10)
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
        """As the transport tells of an HTTP status that is no answer."""
        await self.next(method)
        error = HttpRefused(f"HTTP {status}.", "Look at its log.", status, body)
        self.fail_request(method, NeedsLogin("It wants a login.", "Log in.") if status == 401 else error)

    def fail_request(self, method: str, error: UserError) -> None:
        row = [row for row in self.log.find("srv", RecordKind.REQUEST) if row.method == method][-1]
        self.wires[-1].happen(RequestFailed(read(row.raw), error, 0))

    async def agree(self) -> str:
        """Connected: the revision, and how it was found out."""
        await self.connecting
        agreement = self.session.state.agreement
        assert agreement is not None
        assert self.wires[-1].revision is agreement.revision
        await self.session.close()
        return f"{agreement.revision}: {agreement.how}"

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
    finding = Finding()
    request = await finding.reply("server/discover", DISCOVERED)
    assert "_meta" in request["params"]  # type: ignore[operator]
    assert (await finding.agree()).startswith("2026-07-28: The server answered server/discover")
    await finding.nothing_more()  # no initialized: there is nothing to seal


async def test_a_server_that_does_not_know_the_probe_is_initialized() -> None:
    finding = Finding()
    await finding.refuse("server/discover", -32601, "Method not found")
    await finding.reply("initialize", INITIALIZED)
    assert "“Method not found” (-32601)" in await finding.agree()
    assert (await finding.wires[-1].next())["method"] == "notifications/initialized"
    assert len(finding.wires) == 1


async def test_process_that_exits_on_the_probe_is_restarted_and_initialized_immediately() -> None:
    finding = Finding()
    await finding.next("server/discover")
    finding.wires[0].end("The server exited with code 1.", "Its last lines on stderr:\nbad request")
    await finding.reply("initialize", INITIALIZED)
    assert "Its process ended when it was asked server/discover" in await finding.agree()
    assert len(finding.wires) == 2
    assert finding.wires[0].is_closed
    assert (await finding.wires[-1].next())["method"] == "notifications/initialized"


async def test_process_that_exits_again_fails_with_its_last_output() -> None:
    finding = Finding()
    for method in ("server/discover", "initialize"):
        await finding.next(method)
        finding.wires[-1].end("The server exited with code 1.", "Its last lines on stderr:\nno token")
    error = await finding.fail()
    assert str(error) == "The server exited with code 1. Its last lines on stderr:\nno token"
    assert len(finding.wires) == 2  # and not a third time


async def test_silent_process_is_initialized_and_its_late_response_changes_nothing() -> None:
    finding = Finding()
    time = LoopTime()
    probe = await finding.next("server/discover")
    await time.advance(4.9)
    await finding.nothing_more()
    await time.advance(0.2)
    request = await finding.next("initialize")
    finding.wires[0].show_message(id=probe["id"], result=DISCOVERED)
    await settle()
    assert not finding.connecting.done()
    finding.wires[0].show_message(id=request["id"], result=INITIALIZED)
    assert (await finding.agree()).startswith("2025-11-25")
    (late,) = (row for row in finding.log.find("srv", RecordKind.RESULT) if row.id == probe["id"])
    assert late.problem  # it is there to be seen, and marked
    sent = [row.method for row in finding.log.find("srv", RecordKind.NOTIFICATION)]
    assert "notifications/cancelled" not in sent


async def test_newer_server_that_rejects_initialize_with_its_version_is_probed_again() -> None:
    finding = Finding()
    time = LoopTime()
    await finding.next("server/discover")
    await time.advance(5.1)
    request = await finding.next("initialize")
    error: JSONObject = {"code": -32022, "message": "old", "data": {"supported": ["2026-07-28"]}}
    finding.wires[0].show_message(id=request["id"], error=error)
    await finding.reply("server/discover", DISCOVERED)
    assert "The server refused initialize and named 2026-07-28" in await finding.agree()


async def test_connection_shows_what_it_waits_for() -> None:
    finding = Finding()
    request = await finding.next("server/discover")
    assert finding.session.state.waits_for == "the answer to server/discover"
    finding.wires[0].show_message(id=request["id"], error={"code": -32601, "message": "no"})
    await settle()
    assert finding.session.state.waits_for == "the answer to initialize"
    finding.connecting.cancel()
    await settle()


async def test_legacy_first_never_probes_a_server_that_can_be_initialized() -> None:
    finding = Finding(LEGACY_FIRST)
    await finding.reply("initialize", INITIALIZED)
    assert (await finding.agree()).startswith("2025-11-25: initialize at 2025-11-25")
    assert [row.method for row in finding.log.find("srv", RecordKind.REQUEST)] == ["initialize"]


async def test_legacy_first_probes_when_initialize_is_rejected() -> None:
    finding = Finding(LEGACY_FIRST)
    await finding.refuse("initialize", -32601)
    await finding.reply("server/discover", DISCOVERED)
    assert (await finding.agree()).startswith("2026-07-28: The server refused initialize.")


@pytest.mark.parametrize("revision", [R1, R3, R4], ids=str)
async def test_pinned_session_version_is_sent_in_initialize(revision: EraChoice) -> None:
    finding = Finding(revision)
    request = await finding.reply("initialize", INITIALIZED | {"protocolVersion": str(revision)})
    assert params_of(request)["protocolVersion"] == str(revision)
    assert (await finding.agree()).startswith(str(revision))


async def test_pinned_stateless_version_never_falls_back() -> None:
    finding = Finding(R5)
    await finding.refuse("server/discover", -32601, "Method not found")
    error = await finding.fail()
    assert error.summary.startswith("The server does not speak 2026-07-28")
    await finding.nothing_more()


@pytest.mark.parametrize("status", [500, 502, 503, 403])
async def test_outage_gives_no_verdict_and_never_falls_back(status: int) -> None:
    finding = Finding(AUTO, HTTP, HTTP)
    await finding.refuse_http("server/discover", status)
    assert str(await finding.fail()) == f"HTTP {status}. Look at its log."
    assert len(finding.wires) == 1


async def test_login_takes_precedence() -> None:
    finding = Finding(AUTO, HTTP, HTTP)
    await finding.refuse_http("server/discover", 401)
    assert isinstance(await finding.fail(), NeedsLogin)
    assert finding.session.state.status is Status.NEEDS_LOGIN
    assert len(finding.wires) == 1


@pytest.mark.parametrize("status", [400, 404, 405])
async def test_server_that_rejects_posts_is_reached_over_the_older_transport(status: int) -> None:
    finding = Finding(AUTO, HTTP, "sse")
    await finding.refuse_http("server/discover", status)
    await finding.refuse_http("initialize", status)
    await finding.refuse("server/discover", -32601)
    await finding.reply("initialize", INITIALIZED)
    await finding.agree()
    first, second = finding.wires
    assert first.is_closed
    assert first is not second
    notes = [row.raw.decode() for row in finding.log.find("srv", RecordKind.LOCAL)]
    assert f"HTTP {status}. Look at its log. Trying the older transport." in notes


async def test_with_an_explicit_transport_a_rejection_is_final() -> None:
    finding = Finding(AUTO, HTTP)
    await finding.refuse_http("server/discover", 405)
    await finding.refuse_http("initialize", 405)
    assert (await finding.fail()).summary == "HTTP 405."
    assert len(finding.wires) == 1


async def test_rejection_specific_to_stateless_servers_does_not_lead_to_the_older_transport() -> None:
    finding = Finding(LEGACY_FIRST, HTTP, "sse")
    body = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}'
    await finding.refuse_http("initialize", 404, body)
    await finding.reply("server/discover", DISCOVERED)
    assert (await finding.agree()).startswith("2026-07-28")
    assert len(finding.wires) == 1


async def test_network_failure_during_the_probe_is_reported_as_such() -> None:
    finding = Finding(AUTO, HTTP, "sse")
    await finding.next("server/discover")
    finding.fail_request("server/discover", ConnectionLost("The connection broke.", "Is it there?"))
    assert str(await finding.fail()) == "The connection broke. Is it there?"
    assert len(finding.wires) == 1


async def test_silence_over_http_does_not_determine_the_protocol_mode() -> None:
    finding = Finding(AUTO, HTTP)
    time = LoopTime()
    await finding.next("server/discover")
    await time.advance(10.1)
    assert (await finding.fail()).summary == "The server did not answer server/discover in time."
    await finding.nothing_more()
