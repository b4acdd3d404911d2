"""Connecting again by itself, and keeping in touch. Time is moved by hand."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

import pytest

from inspector.base.errors import ConnectFailed, NeedsLogin
from inspector.base.json.values import JSONObject
from inspector.config.preferences.settings import Settings
from inspector.config.servers.entries import StdioEntry, Timeouts
from inspector.engine.engine import Engine
from inspector.engine.servers import server as server_module
from inspector.engine.servers.server import MAX_ATTEMPTS, reconnect_delays
from inspector.engine.views import OutcomeKind, ServerStatus, ServerView
from inspector.protocol.client_capabilities import NOTHING
from inspector.protocol.handshake import ClientProfile, InitializeHandshake
from inspector.session.state import Route
from inspector.traffic.records import RecordKind, Status
from tests.helpers.fakes import LoopTime, MemoryWire

PROFILE = ClientProfile("lens", "Lens", "0", NOTHING)


class Yard:
    """An engine with one server on wires in memory, which the test plays; the latest wire is `wire`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wires: list[MemoryWire] = []
        self.refusals: list[ConnectFailed] = []
        self.views: list[ServerView] = []
        self.engine = Engine(settings=Settings(request_timeout=10))
        self.engine.server_changed.connect(self.views.append)
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
        self.engine.add(entry)

    async def connect(self) -> None:
        connecting = asyncio.get_running_loop().create_task(self.engine.connect("srv"))
        await self.time.advance(0)
        await self.wire.answer_initialize()
        await connecting

    async def lose(self) -> None:
        self.wire.end("The server exited with code 9.", "Look at its log.")
        await self.time.advance(0)

    async def come_back(self) -> None:
        """Let the next try happen, and succeed."""
        count = len(self.wires)
        await self.time.advance(31)
        assert len(self.wires) == count + 1
        await self.wire.answer_initialize()
        await self.time.advance(0)
        assert self.view.status is ServerStatus.CONNECTED

    @property
    def view(self) -> ServerView:
        (view,) = self.engine.views()
        return view


@pytest.fixture
async def yard(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Yard]:
    yard = Yard(monkeypatch)
    yield yard
    await yard.engine.close()


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


async def test_lost_connection_is_reconnected_and_the_view_says_so(yard: Yard) -> None:
    yard.add()
    await yard.connect()
    await yard.lose()
    view = yard.view
    assert view.status is ServerStatus.RESTARTING
    assert view.reason.startswith("reconnecting in ")
    assert view.reason.endswith(" s, attempt 1 of 5")
    await yard.time.advance(0.4)
    assert len(yard.wires) == 1  # not at once
    await yard.time.advance(0.7)
    assert yard.view.reason == "reconnecting, attempt 1 of 5"
    await yard.wire.answer_initialize()
    await yard.time.advance(0)
    assert (yard.view.status, yard.view.reason) == (ServerStatus.CONNECTED, "")


async def test_lost_connection_stays_lost_unless_configured(yard: Yard) -> None:
    yard.add(auto_restart=False)
    await yard.connect()
    await yard.lose()
    await yard.time.advance(100)
    assert (yard.view.status, yard.view.reason) == (ServerStatus.FAILED, "The server exited with code 9.")
    assert len(yard.wires) == 1


async def test_connection_that_never_succeeded_is_not_retried(yard: Yard) -> None:
    yard.add()
    yard.refusals = [ConnectFailed("No such command.", "Install it.")]
    with pytest.raises(ConnectFailed):
        await yard.engine.connect("srv")
    await yard.time.advance(100)
    assert len(yard.wires) == 1


async def test_after_five_attempts_the_last_reason_stays(yard: Yard) -> None:
    yard.add()
    await yard.connect()
    yard.refusals = [ConnectFailed(f"Refused {number}.", "") for number in range(1, 6)]
    await yard.lose()
    for _ in range(10):
        await yard.time.advance(31)
    assert len(yard.wires) == 1 + 5
    assert (yard.view.status, yard.view.reason) == (ServerStatus.FAILED, "Refused 5.")


async def test_server_that_needs_a_login_is_not_retried(yard: Yard) -> None:
    yard.add()
    await yard.connect()
    yard.refusals = [NeedsLogin("It wants a login.", "Log in.")]
    await yard.lose()
    for _ in range(5):
        await yard.time.advance(31)
    assert len(yard.wires) == 2
    assert yard.view.status is ServerStatus.NEEDS_LOGIN


async def test_server_that_crashes_right_after_connecting_is_abandoned_after_five_attempts(
    yard: Yard,
) -> None:
    yard.add()
    await yard.connect()
    for _ in range(5):
        await yard.lose()
        await yard.come_back()
    await yard.lose()
    await yard.time.advance(100)
    assert yard.view.status is ServerStatus.FAILED
    assert len(yard.wires) == 6


async def test_server_that_stayed_up_for_a_while_gets_all_its_attempts_back(yard: Yard) -> None:
    yard.add()
    await yard.connect()
    for _ in range(8):
        await yard.time.advance(61)
        await yard.lose()
        await yard.come_back()


async def test_clicking_connect_replaces_the_delay(yard: Yard) -> None:
    yard.add()
    await yard.connect()
    await yard.lose()
    await yard.connect()
    assert yard.view.status is ServerStatus.CONNECTED
    await yard.time.advance(100)
    assert len(yard.wires) == 2  # and no other connection follows
    await yard.lose()
    assert yard.view.reason.endswith("attempt 1 of 5")


async def test_clicking_disconnect_ends_the_delay(yard: Yard) -> None:
    yard.add()
    await yard.connect()
    await yard.lose()
    await yard.engine.disconnect("srv")
    assert yard.view.status is not ServerStatus.RESTARTING
    await yard.time.advance(100)
    assert len(yard.wires) == 1


async def test_clicking_disconnect_cancels_a_running_attempt(yard: Yard) -> None:
    yard.add()
    await yard.connect()
    await yard.lose()
    await yard.time.advance(1.1)
    assert len(yard.wires) == 2
    await yard.engine.disconnect("srv")
    await yard.time.advance(100)
    assert len(yard.wires) == 2
    assert yard.wire.is_closed
    assert yard.view.status is ServerStatus.IDLE


async def test_click_at_the_moment_of_the_loss_counts(yard: Yard) -> None:
    """The view that tells of the loss is answered before the first wait has begun."""
    yard.add()
    await yard.connect()
    clicks: list[asyncio.Task[None]] = []

    def click(view: ServerView) -> None:
        if view.status is ServerStatus.FAILED and not clicks:
            clicks.append(asyncio.get_running_loop().create_task(yard.engine.disconnect("srv")))

    yard.engine.server_changed.connect(click)
    await yard.lose()
    await yard.time.advance(100)
    assert len(yard.wires) == 1
    yard.engine.server_changed.disconnect(click)
    await yard.connect()
    await yard.lose()
    assert yard.view.status is ServerStatus.RESTARTING  # it is not deaf for ever


async def test_a_removed_server_is_not_connected_again(yard: Yard) -> None:
    yard.add()
    await yard.connect()
    await yard.lose()
    await yard.engine.remove("srv")
    await yard.time.advance(100)
    assert len(yard.wires) == 1


async def test_pending_calls_fail_with_the_reason_and_recorded_traffic_stays(yard: Yard) -> None:
    yard.add()
    await yard.connect()
    call = asyncio.get_running_loop().create_task(yard.engine.call_tool("srv", "x", {}))
    await yard.wire.next()
    rows = len(yard.engine.log)
    await yard.lose()
    outcome = await call
    assert outcome.kind is OutcomeKind.FAILED
    assert (outcome.summary, outcome.next_step) == ("The server exited with code 9.", "Look at its log.")
    await yard.come_back()
    assert yard.wire.sends_nothing()  # nothing is sent again by itself
    log = yard.engine.log
    assert len(log) > rows
    (row,) = (row for row in log.find("srv", RecordKind.REQUEST) if row.method == "tools/call")
    assert row.status is Status.NO_RESPONSE
    assert log.find("srv", RecordKind.ERROR) == []  # an error of ours is not drawn as the server's


async def pinged(yard: Yard) -> JSONObject:
    request = await yard.wire.next()
    assert request["method"] == "ping"
    return request


async def test_keep_alive_pings_the_server_periodically(yard: Yard) -> None:
    yard.add(timeouts=Timeouts(keep_alive=30))
    await yard.connect()
    for _ in range(3):
        await yard.time.advance(29)
        assert yard.wire.sends_nothing()
        await yard.time.advance(1.1)
        yard.wire.show_message(id=(await pinged(yard))["id"], result={})
        await yard.time.advance(0)


async def test_unanswered_ping_is_repeated_and_the_server_stays_connected(yard: Yard) -> None:
    yard.add(timeouts=Timeouts(keep_alive=30))
    await yard.connect()
    await yard.time.advance(30.1)
    await pinged(yard)
    await yard.time.advance(10.1)  # the request's own limit
    assert (await yard.wire.next())["method"] == "notifications/cancelled"
    await yard.time.advance(30.1)
    await pinged(yard)
    assert yard.view.status is ServerStatus.CONNECTED


async def test_keep_alive_is_off_by_default(yard: Yard) -> None:
    yard.add()
    await yard.connect()
    await yard.time.advance(3600)
    assert yard.wire.sends_nothing()


async def test_keep_alive_stops_with_the_connection(yard: Yard) -> None:
    yard.add(timeouts=Timeouts(keep_alive=30))
    await yard.connect()
    await yard.engine.disconnect("srv")
    await yard.time.advance(3600)
    assert yard.wire.sends_nothing()
