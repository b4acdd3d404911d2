"""A traffic log that a test fills message by message, and a bridge without an engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, cast

from inspector.base.json.values import JSON, to_wire
from inspector.protocol.jsonrpc import RequestId, read
from inspector.qt.bridge import Bridge
from inspector.qt.models.traffic.traffic_model import TrafficSource
from inspector.traffic.log import TrafficLog
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import HttpExchange
from tests.helpers.fakes import FakeClock

T = TypeVar("T")


class StageEngine:
    """Runs work at once: nothing is big here."""

    async def work(self, function: Callable[[bytes], T], data: bytes) -> T:
        return function(data)


class StageBridge:
    """Runs a panel's work at once, or on `release` while `holds` is set."""

    def __init__(self) -> None:
        self.holds = False
        self._is_running = False
        self.held: list[Coroutine[Any, Any, object]] = []

    def start(self, name: str, work: Coroutine[Any, Any, object], owner: object = None) -> Any:
        self.held.append(work)
        if not self.holds and not self._is_running:
            self.release()
        return _HeldTask(self, work)

    async def ask(self, work: Callable[[StageEngine], Coroutine[Any, Any, T]]) -> T:
        return await work(StageEngine())

    def release(self) -> None:
        """Run the held work, and the work that it starts."""
        self._is_running = True
        while self.held:
            asyncio.run(_run(self.held.pop(0)))
        self._is_running = False

    def as_bridge(self) -> Bridge:
        return cast(Bridge, self)


class _HeldTask:
    """The task of held work; cancelling it discards the work."""

    def __init__(self, bridge: StageBridge, work: Coroutine[Any, Any, object]) -> None:
        self._bridge, self._work = bridge, work

    def cancel(self) -> None:
        if self._work in self._bridge.held:
            self._bridge.held.remove(self._work)
        self._work.close()


async def _run(work: Coroutine[Any, Any, object]) -> object:
    return await work


class Stage:
    """Traffic with one server, on a clock that only advances with `after`."""

    def __init__(self, server: str = "stage", *, is_live: bool = False) -> None:
        self.clock = FakeClock()
        self.log = TrafficLog()
        self.recorder = Recorder(self.log, server, self.clock)
        self.source = TrafficSource(self.log, "Stage", is_live=is_live)
        self.bridge = StageBridge()
        self._exchanges = 0

    def request(self, method: str, params: JSON = None, id: RequestId = 1) -> int:
        """Record a sent request and return its row."""
        return self.sent({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}})

    def sent(self, message: JSON) -> int:
        return self.recorder.sent(read(to_wire(message)))

    def received(self, message: JSON | bytes, exchange: int | None = None, size: int = -1) -> int:
        """Record a received message and return its row."""
        raw = message if isinstance(message, bytes) else to_wire(message)
        self.recorder.received([read(raw)], self.clock.monotonic_ns(), [size], exchange)
        return len(self.log) - 1

    def result(self, result: JSON, id: RequestId = 1, exchange: int | None = None) -> int:
        return self.received({"jsonrpc": "2.0", "id": id, "result": result}, exchange)

    def progress(self, token: RequestId, value: int) -> int:
        params: JSON = {"progressToken": token, "progress": value}
        return self.received({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})

    def after(self, seconds: float) -> Stage:
        self.clock.advance(seconds)
        return self

    def http(self, exchange: HttpExchange, carried: int = -1) -> int:
        """Start an HTTP exchange and return its number for `received` and `http_update`."""
        self._exchanges += 1
        now, wall = self.clock.monotonic_ns(), self.clock.wall_ns()
        self.recorder.http.requested(self._exchanges, exchange, now, wall, carried)
        return self._exchanges

    def http_update(self, number: int, **changes: object) -> None:
        self.recorder.http.update(number, **changes)
