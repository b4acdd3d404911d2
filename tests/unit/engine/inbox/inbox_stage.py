"""An engine with an Inbox and in-memory servers played by the test, in either era."""

from __future__ import annotations

import asyncio
from collections.abc import Container
from typing import Any

import pytest

from inspector.base.json.values import JSON, JSONObject
from inspector.config.servers.entries import Entry, StdioEntry
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.engine import Engine
from inspector.engine.inbox.inbox import Inbox
from inspector.engine.inbox.views import InboxRequest, Reply
from inspector.engine.servers import server as server_module
from inspector.engine.views import CallOutcome
from inspector.protocol.client_capabilities import ClientCapabilities, capabilities_for_methods
from inspector.protocol.discovery import StatelessOnly
from inspector.protocol.handshake import ClientProfile, InitializeHandshake, Negotiation
from inspector.protocol.revisions import R4, R5, Era, Revision
from inspector.protocol.server_requests.request import RequestEnd
from inspector.session.state import Route
from inspector.traffic.records import RecordKind
from tests.helpers.fakes import INITIALIZED, MemoryWire
from tests.helpers.servers import timeouts

FORM: JSONObject = {"type": "object", "properties": {"n": {"type": "string"}}}
ASK: JSONObject = {"message": "Name?", "requestedSchema": FORM}
SAMPLE: JSONObject = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "2+2?"}}],
    "maxTokens": 9,
}
PAGE: JSONObject = {"mode": "url", "message": "Log in", "url": "https://x.test/a", "elicitationId": "e1"}
ACCEPT: JSONObject = {"action": "accept", "content": {"n": "Ann"}}
DECLINE: JSONObject = {"action": "decline"}
CANCEL: JSONObject = {"action": "cancel"}
CONSENT: JSONObject = {"action": "accept"}
SAMPLED: JSONObject = {
    "role": "assistant",
    "content": {"type": "text", "text": "4"},
    "model": "by hand",
}
DONE: JSONObject = {"content": [{"type": "text", "text": "done"}]}


class Peer:
    """One server, played by the test."""

    def __init__(self, name: str, revision: Revision) -> None:
        self.name = name
        self.revision = revision
        self.wire = MemoryWire()

    def make_wire(self) -> MemoryWire:
        self.wire = MemoryWire()
        return self.wire

    async def next(self) -> dict[str, Any]:
        return await asyncio.wait_for(self.wire.next(), 30)

    async def reply(self, **result: JSON) -> dict[str, Any]:
        """Respond to the next request and return it."""
        request = await self.next()
        self.wire.show_message(id=request["id"], result=result)
        return request

    async def refuse(self, code: int, data: JSON = None) -> dict[str, Any]:
        request = await self.next()
        self.wire.show_message(id=request["id"], error={"code": code, "message": "no", "data": data})
        return request

    def ask(self, method: str, params: JSON, id: JSON = "q") -> None:
        """Send a server request, in the session era."""
        self.wire.show_message(id=id, method=method, params=params)

    async def ask_in_result(self, state: JSON = None, **requests: JSON) -> dict[str, Any]:
        """Respond to the next request with input requests, in the stateless era."""
        result: JSONObject = {"resultType": "input_required", "inputRequests": requests}
        if state is not None:
            result["requestState"] = state
        return await self.reply(**result)


class InboxStage:
    """`seen` collects all emitted Inbox requests."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.inbox = Inbox(settings=timeouts(15, 10, 25))
        self.engine = Engine(settings=self.inbox.settings, inbox=self.inbox)
        self.seen: list[InboxRequest] = []
        self.inbox.changed.connect(self.seen.append)
        self._peers: dict[str, Peer] = {}
        self._responded: Container[str] | None = None
        monkeypatch.setattr(server_module, "make_routes", self._make_routes)

    def declare_only(self, *methods: str) -> None:
        """Call before connecting."""
        self._responded = methods

    def _make_routes(self, entry: Entry, declared: ClientCapabilities, *_: object) -> tuple[Route, ...]:
        declared = declared if self._responded is None else capabilities_for_methods(self._responded)
        peer, profile = self._peers[entry.name], ClientProfile("lens", "Lens", "0", declared)

        def negotiate() -> Negotiation:
            if peer.revision.era is Era.STATELESS:
                return StatelessOnly(profile, True, R5)
            return InitializeHandshake(profile, peer.revision)

        return (Route(peer.make_wire, negotiate, profile),)

    async def connect(self, revision: Revision = R4, name: str = "srv", **entry: Any) -> Peer:
        peer = self._peers[name] = Peer(name, revision)
        self.engine.servers.add(StdioEntry(name=name, command="x", **entry))
        connecting = self.start(self.engine.servers.connector.connect(name))
        await settle()
        offered: JSONObject = {"tools": {}, "resources": {}, "prompts": {}}
        if revision.era is Era.STATELESS:
            await peer.reply(supportedVersions=[revision.date], capabilities=offered)
            await connecting
            return peer
        await peer.reply(**{**INITIALIZED, "protocolVersion": revision.date, "capabilities": offered})
        await connecting
        assert (await peer.next())["method"] == "notifications/initialized"
        return peer

    @staticmethod
    def start(work: Any) -> asyncio.Task[Any]:
        return asyncio.get_running_loop().create_task(work)

    def call(self, tool: str = "greet", server: str = "srv") -> asyncio.Task[CallOutcome]:
        return self.start(self.engine.tool_caller.call(server, ToolCall(tool)))

    async def inbox_request(self, index: int = 0) -> InboxRequest:
        """Return the pending request, after everything has settled."""
        await settle()
        return self.inbox.inbox_requests()[index]

    def reply(self, inbox_request: InboxRequest, result: JSONObject, key: str = "") -> None:
        self.inbox.reply(inbox_request.id, key, Reply(result=result))

    async def ended(self) -> InboxRequest:
        """Return the last ended request; none may be pending."""
        await settle()
        assert self.inbox.inbox_requests() == ()
        inbox_request = self.inbox.past()[-1]
        assert self.seen[-1] == inbox_request
        return inbox_request

    async def end(self) -> tuple[RequestEnd | None, str]:
        inbox_request = await self.ended()
        return inbox_request.end, inbox_request.note

    def notes(self, server: str = "srv") -> list[str]:
        return [row.raw.decode() for row in self.engine.log.find(server, RecordKind.LOCAL)]


async def settle() -> None:
    """Run the loop until nothing happens without time or the peer."""
    for _ in range(30):
        await asyncio.sleep(0)
