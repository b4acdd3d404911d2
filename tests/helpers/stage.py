"""Pytest plugin: a session on an in-memory wire, whose other end the test plays."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from inspector.base.json.values import JSON, JSONObject
from inspector.config.preferences.settings import ConnectionSettings
from inspector.protocol.client_capabilities import NOTHING, capabilities_for_methods
from inspector.protocol.handshake import ClientProfile, InitializeHandshake, Negotiation
from inspector.protocol.jsonrpc import Message, read
from inspector.session.server_requests import responder_of
from inspector.session.session import Session
from inspector.session.state import RequestHandler, Route, SessionState
from inspector.traffic.log import TrafficLog
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import Record, RecordKind
from tests.helpers.fakes import FakeClock, MemoryWire

PROFILE = ClientProfile("lens", "Lens", "0", NOTHING)
SETTINGS = ConnectionSettings(connect_timeout=15, request_timeout=10, total_timeout=25)


class Stage:
    """A session with its dependencies. Each connection gets a new wire; the latest is `wire`."""

    def __init__(self) -> None:
        self.wire = MemoryWire()
        self.next_wire: MemoryWire | None = None
        self.log = TrafficLog()
        self.states: list[SessionState] = []
        self.handlers: dict[str, RequestHandler] = {}
        self.negotiation: Callable[[], Negotiation] = lambda: InitializeHandshake(self.profile)
        self._route_options: dict[str, Any] = {}
        self.session = self._make_session()

    def set_route(self, **options: Any) -> None:
        """Set fields of the route. Call before connecting."""
        self._route_options = options
        self.session = self._make_session()

    def _make_session(self) -> Session:
        self.profile = replace(PROFILE, declared=capabilities_for_methods(self.handlers))
        route = Route(self._make_wire, lambda: self.negotiation(), self.profile, is_process=True)
        route = replace(route, **self._route_options)
        responder = responder_of(self.handlers)
        session = Session([route], Recorder(self.log, "srv", FakeClock()), SETTINGS, responder)
        session.state_changed.connect(self.states.append)
        return session

    def answer_with(self, method: str, handler: Callable[[JSONObject], Awaitable[JSONObject]]) -> None:
        """Register a handler for a method. Call before connecting."""
        self.handlers[method] = handler
        self.session = self._make_session()

    def _make_wire(self) -> MemoryWire:
        self.wire = self.next_wire or MemoryWire()
        self.next_wire = None
        return self.wire

    async def connect(self, **result: JSON) -> None:
        connecting = self.start(self.session.connect())
        await asyncio.sleep(0)  # the session makes its wire
        await self.wire.answer_initialize(**result)
        await connecting

    async def wire_next(self) -> JSONObject:
        """Return the first message on a wire that is being created."""
        await asyncio.sleep(0)
        return await self.wire.next()

    async def ended(self) -> None:
        """Wait until a lost connection is cleaned up."""
        await self.wire.closed.wait()
        await asyncio.sleep(0)

    def sent(self, method: str) -> Message:
        """Return the latest sent message of this method, as recorded."""
        return read(next(row.raw for row in reversed(self.rows(RecordKind.REQUEST)) if row.method == method))

    @staticmethod
    def start(work: Any) -> asyncio.Task[Any]:
        return asyncio.get_running_loop().create_task(work)

    def rows(self, *kinds: RecordKind) -> list[Record]:
        rows = [self.log.record(row) for row in range(len(self.log))]
        return [row for row in rows if not kinds or row.kind in kinds]

    def notes(self, kind: RecordKind) -> list[str]:
        return [row.raw.decode() for row in self.rows(kind)]


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    """Not connected yet. An unhandled error of a future or a callback fails the test."""
    unheard: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: unheard.append(context))
    stage = Stage()
    yield stage
    await stage.session.close()
    gc.collect()
    assert unheard == []


@pytest.fixture
async def connected(stage: Stage) -> Stage:
    await stage.connect()
    return stage
