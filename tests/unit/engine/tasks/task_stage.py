"""An engine with one in-memory server that has tasks; the test plays the server and advances the time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from inspector.base.json.values import JSON, JSONObject
from inspector.config.servers.entries import StdioEntry
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.engine import Engine
from inspector.engine.servers import server as server_module
from inspector.engine.tasks.views import TaskView
from inspector.engine.views import CallOutcome
from inspector.protocol.client_capabilities import exact_capabilities
from inspector.protocol.connection import ProgressReceived
from inspector.protocol.discovery import StatelessOnly
from inspector.protocol.handshake import ClientProfile, InitializeHandshake, Negotiation
from inspector.protocol.revisions import R4, R5, Revision
from inspector.protocol.tasks import Task
from inspector.session.state import RequestHandler, Route
from inspector.traffic.records import RecordKind
from tests.helpers.fakes import INITIALIZED, FakeClock, LoopTime, MemoryWire
from tests.helpers.servers import timeouts

TASKS = "io.modelcontextprotocol/tasks"
CORE: JSONObject = {
    "tools": {},
    "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
}
EXTENSION: JSONObject = {"tools": {}, "extensions": {TASKS: {}}}
OUTCOME: JSONObject = {"content": [{"type": "text", "text": "42"}]}
STREAM = "io.modelcontextprotocol/subscriptionId"


def state(status: str, **more: JSON) -> JSONObject:
    return {"taskId": "t", "status": status, **more}


class TaskDesk:
    """`listens` are the requested subscription streams; `next` returns all other requests."""

    def __init__(
        self, revision: Revision, handlers: Mapping[str, RequestHandler], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.revision = revision
        self._declared: JSONObject = {"elicitation": {"form": {}}} if handlers else {}
        self.wire = MemoryWire()
        self.clock = FakeClock()
        self.engine = Engine(settings=timeouts(15, 10, 25), handlers=handlers, clock=self.clock)
        self.store = self.engine.tasks
        self.views: list[TaskView] = []
        self.removed: list[str] = []
        self.change_strip: list[Task] = []
        self.progress: list[ProgressReceived] = []
        self.listens: list[JSONObject] = []
        self.store.changed.connect(self.views.append)
        self.store.removed.connect(lambda server, id: self.removed.append(id))
        self.time = LoopTime()
        monkeypatch.setattr(server_module, "make_routes", lambda *_: (self._route(),))
        self.engine.servers.add(StdioEntry(name="srv", command="x"))

    def _route(self) -> Route:
        profile = ClientProfile("lens", "Lens", "0", exact_capabilities(self._declared))

        def negotiate() -> Negotiation:
            return StatelessOnly(profile, True, R5) if self.revision is R5 else InitializeHandshake(profile)

        return Route(self._make_wire, negotiate, profile)

    def _make_wire(self) -> MemoryWire:
        self.wire = MemoryWire()
        return self.wire

    async def connect(self, offered: JSONObject | None = None) -> None:
        connecting = asyncio.get_running_loop().create_task(self.engine.servers.connector.connect("srv"))
        await self.settle()
        request = await self.wire.next()
        offers = offered or (CORE if self.revision is R4 else EXTENSION)
        result: JSONObject = {**INITIALIZED, "capabilities": offers}
        if self.revision is R5:
            result = {"supportedVersions": [R5.date], "capabilities": offers}
        self.wire.show_message(id=request["id"], result=result)
        await connecting
        if self.revision is R4:
            assert (await self.wire.next())["method"] == "notifications/initialized"

    async def next(self) -> JSONObject:
        while True:
            message = await asyncio.wait_for(self.wire.next(), 30)
            if not self._is_about_listening(message):
                return message

    async def reply(self, **result: JSON) -> JSONObject:
        """Respond to the next request and return it."""
        request = await self.next()
        self.wire.show_message(id=request["id"], result=result)
        await self.settle()
        return request

    async def refuse(self, code: int, message: str = "no") -> JSONObject:
        request = await self.next()
        self.wire.show_message(id=request["id"], error={"code": code, "message": message})
        await self.settle()
        return request

    async def sends_nothing(self) -> bool:
        await self.settle()
        while not self.wire.sends_nothing():
            message = await self.wire.next()
            if not self._is_about_listening(message):
                return False
        return True

    def _is_about_listening(self, message: JSONObject) -> bool:
        if message.get("method") == "subscriptions/listen":
            self.listens.append(message)
            return True
        params = message.get("params")
        ended = params.get("requestId") if isinstance(params, dict) else None
        return ended is not None and any(listen["id"] == ended for listen in self.listens)

    async def settle(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    async def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)
        await self.settle()
        await self.time.advance(seconds)
        await self.settle()

    def call(self) -> asyncio.Task[CallOutcome]:
        work = self.engine.tool_caller.call(
            "srv",
            ToolCall("x", as_task=True),
            on_progress=self.progress.append,
            on_task=self.change_strip.append,
        )
        return asyncio.get_running_loop().create_task(work)

    async def run(self, **task: JSON) -> asyncio.Task[CallOutcome]:
        """Return a call that became a task."""
        calling = self.call()
        created = state("working", **task)
        if self.revision is R4:
            await self.reply(task=created)
        else:
            await self.reply(resultType="task", **created)
        return calling

    async def poll(self, status: str, seconds: float = 1.1, **more: JSON) -> JSONObject:
        """Respond to the poll that is due after this time with this state."""
        await self.advance(seconds)
        request = await self.reply(**state(status, **more))
        assert request["method"] == "tasks/get", request
        return request

    @property
    def view(self) -> TaskView:
        (view,) = self.store.views("srv")
        return view

    def notes(self) -> list[str]:
        return [row.raw.decode() for row in self.engine.log.find("srv", RecordKind.LOCAL)]


@asynccontextmanager
async def task_harness(
    revision: Revision,
    monkeypatch: pytest.MonkeyPatch,
    handlers: Mapping[str, RequestHandler] | None = None,
    offered: JSONObject | None = None,
) -> AsyncIterator[TaskDesk]:
    """A connected stage."""
    harness = TaskDesk(revision, handlers or {}, monkeypatch)
    await harness.connect(offered)
    try:
        yield harness
    finally:
        await harness.engine.close()
