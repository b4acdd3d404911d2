"""Automatic reconnects and keep-alive pings. The test advances the time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

import pytest

from inspector.base.errors import ConnectFailed, NeedsLogin
from inspector.base.json.values import JSONObject
from inspector.config.servers.entries import StdioEntry, Timeouts
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.engine import Engine
from inspector.engine.server_view import ServerView
from inspector.engine.servers import server as server_module
from inspector.engine.servers.server import MAX_ATTEMPTS, reconnect_delays
from inspector.engine.views import OutcomeKind, ServerStatus
from inspector.protocol.client_capabilities import NOTHING
from inspector.protocol.handshake import ClientProfile, InitializeHandshake
from inspector.session.state import Route
from inspector.traffic.records import RecordKind, Status
from tests.helpers.fakes import LoopTime, MemoryWire
from tests.helpers.servers import server_views, timeouts

PROFILE = ClientProfile("lens", "Lens", "0", NOTHING)


class RestartStage:
    """An engine with one in-memory server played by the test; `wire` is the latest connection."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wires: list[MemoryWire] = []
        self.refusals: list[ConnectFailed] = []
        self.views: list[ServerView] = []
        self.engine = Engine(settings=timeouts(request=10))
        self.engine.servers.changed.connect(self.views.append)
        monkeypatch.setattr(server_module, "make_routes", lambda *_: (self._route(),))
        self.time = LoopTime()

    def _route(self) -> Route:
        return Route(self._make_wire, lambda: InitializeHandshake(PROFILE), PROFILE)

    def _make_wire(self) -> MemoryWire:
        refusal = self.refusals.pop(0) if self.refusals else None
        self.wires.append(MemoryWire(refuses=refusal))
        return self.wires[-1]

    @property
    def wire(self) -> MemoryWire:
        return self.wires[-1]

    def add(self, *, auto_restart: bool = True, timeouts: Timeouts | None = None) -> None:
        entry = StdioEntry(
            name="srv", command="x", auto_restart=auto_restart, timeouts=timeouts or Timeouts()
        )
        self.engine.servers.add(entry)

    async def connect(self) -> None:
        connecting = asyncio.get_running_loop().create_task(self.engine.servers.connector.connect("srv"))
        await self.time.advance(0)
        await self.wire.answer_initialize()
        await connecting

    async def lose(self) -> None:
        self.wire.end("The server exited with code 9.", "Look at its log.")
        await self.time.advance(0)

    async def come_back(self) -> None:
        """Let the next attempt happen and succeed."""
        count = len(self.wires)
        await self.time.advance(31)
        assert len(self.wires) == count + 1
        await self.wire.answer_initialize()
        await self.time.advance(0)
        assert self.view.status is ServerStatus.CONNECTED

    @property
    def view(self) -> ServerView:
        (view,) = server_views(self.engine)
        return view


@pytest.fixture
async def stage(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RestartStage]:
    stage = RestartStage(monkeypatch)
    yield stage
    await stage.engine.close()


def test_delays_double_with_jitter_and_end() -> None:
    for seed in range(50):
        waits = list(reconnect_delays(rng=random.Random(seed)))
        assert len(waits) == MAX_ATTEMPTS == 5
        for number, wait in enumerate(waits):
            assert 0.5 * 2**number <= wait <= 2**number


def test_two_clients_never_reconnect_at_the_same_time() -> None:
    assert len({tuple(reconnect_delays()) for _ in range(20)}) == 20


def test_delay_is_never_longer_than_half_a_minute() -> None:
    assert max(reconnect_delays(attempts=20)) <= 30


async def test_lost_connection_is_reconnected_and_the_view_says_so(stage: RestartStage) -> None:
    stage.add()
    await stage.connect()
    await stage.lose()
    view = stage.view
    assert view.status is ServerStatus.RECONNECTING
    assert view.reconnect.startswith("reconnecting in ")
    assert view.reconnect.endswith(" s, attempt 1 of 5")
    await stage.time.advance(0.4)
    assert len(stage.wires) == 1  # not at once
    await stage.time.advance(0.7)
    assert stage.view.reconnect == "reconnecting, attempt 1 of 5"
    await stage.wire.answer_initialize()
    await stage.time.advance(0)
    assert (stage.view.status, stage.view.reason) == (ServerStatus.CONNECTED, "")
    assert stage.view.reconnect == ""


async def test_cause_is_shown_while_waiting_for_a_reconnect_and_during_the_attempt(
    stage: RestartStage,
) -> None:
    stage.add()
    await stage.connect()
    stage.refusals = [ConnectFailed("The port is taken.", "Stop the other program.")]
    await stage.lose()
    lost = ("The server exited with code 9.", "Look at its log.")
    assert (stage.view.reason, stage.view.next_step) == lost
    await stage.time.advance(1.1)
    reasons = [(view.reconnect, view.reason) for view in stage.views]
    assert ("reconnecting, attempt 1 of 5", lost[0]) in reasons
    assert stage.view.reconnect.endswith("attempt 2 of 5")
    assert (stage.view.reason, stage.view.next_step) == ("The port is taken.", "Stop the other program.")


async def test_lost_connection_stays_lost_unless_configured(stage: RestartStage) -> None:
    stage.add(auto_restart=False)
    await stage.connect()
    await stage.lose()
    await stage.time.advance(100)
    assert (stage.view.status, stage.view.reason) == (ServerStatus.FAILED, "The server exited with code 9.")
    assert len(stage.wires) == 1


async def test_connection_that_never_succeeded_is_not_retried(stage: RestartStage) -> None:
    stage.add()
    stage.refusals = [ConnectFailed("No such command.", "Install it.")]
    with pytest.raises(ConnectFailed):
        await stage.engine.servers.connector.connect("srv")
    await stage.time.advance(100)
    assert len(stage.wires) == 1


async def test_after_five_attempts_the_last_reason_stays(stage: RestartStage) -> None:
    stage.add()
    await stage.connect()
    stage.refusals = [ConnectFailed(f"Refused {number}.", "") for number in range(1, 6)]
    await stage.lose()
    for _ in range(10):
        await stage.time.advance(31)
    assert len(stage.wires) == 1 + 5
    assert (stage.view.status, stage.view.reason) == (ServerStatus.FAILED, "Refused 5.")


async def test_server_that_needs_a_login_is_not_retried(stage: RestartStage) -> None:
    stage.add()
    await stage.connect()
    stage.refusals = [NeedsLogin("It wants a login.", "Log in.")]
    await stage.lose()
    for _ in range(5):
        await stage.time.advance(31)
    assert len(stage.wires) == 2
    assert stage.view.status is ServerStatus.NEEDS_LOGIN


async def test_server_that_crashes_right_after_connecting_is_abandoned_after_five_attempts(
    stage: RestartStage,
) -> None:
    stage.add()
    await stage.connect()
    for _ in range(5):
        await stage.lose()
        await stage.come_back()
    await stage.lose()
    await stage.time.advance(100)
    assert stage.view.status is ServerStatus.FAILED
    assert len(stage.wires) == 6


async def test_server_that_stayed_up_for_a_while_gets_all_its_attempts_back(stage: RestartStage) -> None:
    stage.add()
    await stage.connect()
    for _ in range(8):
        await stage.time.advance(61)
        await stage.lose()
        await stage.come_back()


async def test_clicking_connect_replaces_the_delay(stage: RestartStage) -> None:
    stage.add()
    await stage.connect()
    await stage.lose()
    await stage.connect()
    assert stage.view.status is ServerStatus.CONNECTED
    await stage.time.advance(100)
    assert len(stage.wires) == 2  # no further connection follows
    await stage.lose()
    assert stage.view.reconnect.endswith("attempt 1 of 5")


async def test_clicking_disconnect_ends_the_delay(stage: RestartStage) -> None:
    stage.add()
    await stage.connect()
    await stage.lose()
    await stage.engine.servers.connector.disconnect("srv")
    assert stage.view.status is not ServerStatus.RECONNECTING
    await stage.time.advance(100)
    assert len(stage.wires) == 1


async def test_clicking_disconnect_cancels_a_running_attempt(stage: RestartStage) -> None:
    stage.add()
    await stage.connect()
    await stage.lose()
    await stage.time.advance(1.1)
    assert len(stage.wires) == 2
    await stage.engine.servers.connector.disconnect("srv")
    await stage.time.advance(100)
    assert len(stage.wires) == 2
    assert stage.wire.is_closed
    assert stage.view.status is ServerStatus.IDLE


async def test_click_at_the_moment_of_the_loss_counts(stage: RestartStage) -> None:
    """The user reacts to the lost connection before the first delay has begun."""
    stage.add()
    await stage.connect()
    clicks: list[asyncio.Task[None]] = []

    def click(view: ServerView) -> None:
        if view.status is ServerStatus.FAILED and not clicks:
            clicks.append(
                asyncio.get_running_loop().create_task(stage.engine.servers.connector.disconnect("srv"))
            )

    stage.engine.servers.changed.connect(click)
    await stage.lose()
    await stage.time.advance(100)
    assert len(stage.wires) == 1
    stage.engine.servers.changed.disconnect(click)
    await stage.connect()
    await stage.lose()
    assert stage.view.status is ServerStatus.RECONNECTING  # later losses are handled again


async def test_a_removed_server_is_not_connected_again(stage: RestartStage) -> None:
    stage.add()
    await stage.connect()
    await stage.lose()
    await stage.engine.servers.remove("srv")
    await stage.time.advance(100)
    assert len(stage.wires) == 1


async def test_pending_calls_fail_with_the_reason_and_recorded_traffic_stays(stage: RestartStage) -> None:
    stage.add()
    await stage.connect()
    call = asyncio.get_running_loop().create_task(stage.engine.tool_caller.call("srv", ToolCall("x")))
    await stage.wire.next()
    rows = len(stage.engine.log)
    await stage.lose()
    outcome = await call
    assert outcome.kind is OutcomeKind.FAILED
    assert (outcome.summary, outcome.next_step) == ("The server exited with code 9.", "Look at its log.")
    await stage.come_back()
    assert stage.wire.sends_nothing()  # nothing is sent again by itself
    log = stage.engine.log
    assert len(log) > rows
    (row,) = (row for row in log.find("srv", RecordKind.REQUEST) if row.method == "tools/call")
    assert row.status is Status.NO_RESPONSE
    assert log.find("srv", RecordKind.ERROR) == []  # our own error is not recorded as the server's


async def pinged(stage: RestartStage) -> JSONObject:
    request = await stage.wire.next()
    assert request["method"] == "ping"
    return request


async def test_keep_alive_pings_the_server_periodically(stage: RestartStage) -> None:
    stage.add(timeouts=Timeouts(keep_alive=30))
    await stage.connect()
    for _ in range(3):
        await stage.time.advance(29)
        assert stage.wire.sends_nothing()
        await stage.time.advance(1.1)
        stage.wire.show_message(id=(await pinged(stage))["id"], result={})
        await stage.time.advance(0)


async def test_unanswered_ping_is_repeated_and_the_server_stays_connected(stage: RestartStage) -> None:
    stage.add(timeouts=Timeouts(keep_alive=30))
    await stage.connect()
    await stage.time.advance(30.1)
    await pinged(stage)
    await stage.time.advance(10.1)  # the request timeout
    assert (await stage.wire.next())["method"] == "notifications/cancelled"
    await stage.time.advance(30.1)
    await pinged(stage)
    assert stage.view.status is ServerStatus.CONNECTED


async def test_keep_alive_is_off_by_default(stage: RestartStage) -> None:
    stage.add()
    await stage.connect()
    await stage.time.advance(3600)
    assert stage.wire.sends_nothing()


async def test_keep_alive_stops_with_the_connection(stage: RestartStage) -> None:
    stage.add(timeouts=Timeouts(keep_alive=30))
    await stage.connect()
    await stage.engine.servers.connector.disconnect("srv")
    await stage.time.advance(3600)
    assert stage.wire.sends_nothing()
