"""A connection to a peer: an engine with one server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import psutil

from inspector.base.json.values import JSON, JSONObject, parse
from inspector.config.servers.entries import Entry
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.content.content import read_result
from inspector.engine.engine import Engine
from inspector.engine.inbox.inbox import Inbox
from inspector.engine.server_view import ServerView
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.protocol.handshake import NegotiationResult
from inspector.session.client import Client
from inspector.session.pending_requests import OnProgress
from inspector.session.state import RequestHandler
from inspector.traffic.records import Direction, Record, RecordKind
from tests.helpers.servers import gone, server_views


class Visit:
    """A connected peer. Every wait is bounded by the timeout of the test."""

    def __init__(self, engine: Engine, name: str) -> None:
        self.engine = engine
        self.name = name
        self._connected_at = len(engine.log)

    @property
    def view(self) -> ServerView:
        (view,) = server_views(self.engine)
        return view

    @property
    def negotiated(self) -> NegotiationResult:
        assert self.view.negotiated is not None
        return self.view.negotiated

    @property
    def client(self) -> Client:
        """The session's client, for requests that the engine has no method for."""
        return self.engine.servers.get(self.name).client

    async def call(
        self, tool: str, on_progress: OnProgress | None = None, /, **arguments: JSON
    ) -> CallOutcome:
        return await self.engine.tool_caller.call(
            self.name, ToolCall(tool, arguments), on_progress=on_progress
        )

    async def text(self, tool: str, on_progress: OnProgress | None = None, /, **arguments: JSON) -> str:
        """Return the text of a successful call."""
        outcome = await self.call(tool, on_progress, **arguments)
        assert outcome.kind is OutcomeKind.RESULT, (outcome.kind, outcome.summary, outcome.response[:500])
        contents = [part.content for part in read_result(outcome.response).parts]
        return "\n".join(content.data.decode() for content in contents if content.is_text)

    async def tools(self) -> list[str]:
        listing = await self.engine.list_tools(self.name)
        assert not listing.malformed
        return [tool.name for tool in listing.items]

    async def resources(self) -> list[str]:
        listing = await self.engine.list_resources(self.name)
        assert not listing.malformed
        return [resource.uri for resource in listing.items]

    async def templates(self) -> list[str]:
        listing = await self.client.list_resource_templates()
        assert not listing.malformed
        return [template.uri_template for template in listing.items]

    async def prompts(self) -> list[str]:
        listing = await self.engine.list_prompts(self.name)
        assert not listing.malformed
        return [prompt.name for prompt in listing.items]

    async def read(self, uri: str) -> bytes:
        (contents,) = (await self.client.read_resource(uri)).items
        return contents.data()

    async def prompt(self, name: str, /, **arguments: str) -> list[JSON]:
        return [
            message.content.get("text") for message in (await self.client.get_prompt(name, arguments)).items
        ]

    async def complete(self, ref: JSONObject, argument: str, value: str, **known: str) -> tuple[str, ...]:
        return (await self.client.complete(ref, argument, value, known)).values

    async def cancel_midway(self, tool: str, /, **arguments: JSON) -> None:
        """Call a tool and cancel the call at its first progress notification."""
        began = asyncio.Event()
        task = asyncio.create_task(self.call(tool, lambda progress: began.set(), **arguments))
        await began.wait()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    async def received(self, method: str, mentioning: str = "") -> JSONObject:
        """Return the params of the first notification of this method that mentions the text."""

        def found() -> list[Record]:
            rows = self._notifications(method, Direction.IN)
            return [row for row in rows if mentioning.encode() in row.raw]

        await self.recorded(found)
        message = parse(found()[0].raw.decode())
        assert isinstance(message, dict)
        params = message.get("params", {})
        assert isinstance(params, dict)
        return params

    def reported(self, method: str) -> bool:
        """True if we sent this notification."""
        return bool(self._notifications(method, Direction.OUT))

    async def recorded(self, find: Callable[[], object]) -> None:
        """Wait until the traffic contains it."""
        grew = asyncio.Event()

        def on_grown(length: int) -> None:
            grew.set()

        self.engine.log.grew.connect(on_grown)
        try:
            while not find():
                grew.clear()
                await grew.wait()
        finally:
            self.engine.log.grew.disconnect(on_grown)

    def _notifications(self, method: str, direction: Direction) -> list[Record]:
        rows = self.engine.log.find(self.name, RecordKind.NOTIFICATION)
        return [row for row in rows if row.method == method and row.direction is direction]

    def http_methods(self) -> list[str]:
        """Return the methods of the HTTP exchanges so far."""
        return [row.method for row in self.engine.log.find(self.name, RecordKind.HTTP)]

    def stderr(self) -> list[str]:
        rows = self.engine.log.find(self.name, RecordKind.STDERR)
        return [row.raw.decode(errors="replace") for row in rows]

    def complaints(self) -> list[Record]:
        """Return all findings on the wire since we connected: faulty messages, and our errors.

        Earlier, a probe may have been rejected in any way.
        """
        rows = self.engine.log.find(self.name, *RecordKind)[self._connected_at :]
        return [row for row in rows if row.problem or row.kind in (RecordKind.LOCAL, RecordKind.INVALID)]


@asynccontextmanager
async def visiting(
    entry: Entry, handlers: Mapping[str, RequestHandler] | None = None, inbox: Inbox | None = None
) -> AsyncIterator[Visit]:
    """Connect, and afterwards assert that no started process is left."""
    engine = Engine(handlers=handlers, inbox=inbox)
    try:
        engine.servers.add(entry)
        await engine.servers.connector.connect(entry.name)
        visit = Visit(engine, entry.name)
        started = _tree(visit.view.pid)
        yield visit
    finally:
        await engine.close()
    await gone(*started)


def _tree(pid: int | None) -> list[int]:
    if pid is None:
        return []
    process = psutil.Process(pid)
    return [pid, *(child.pid for child in process.children(recursive=True))]
