"""Playbooks for era detection: responses of a server, and the next request or negotiated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from inspector.base.errors import ConnectFailed, HttpRefused
from inspector.base.json.values import JSON, JSONObject, to_wire
from inspector.protocol.client_capabilities import exact_capabilities
from inspector.protocol.discovery import PROBE_TIMEOUT, ProbeFirst
from inspector.protocol.handshake import (
    ClientProfile,
    Negotiation,
    NegotiationResponse,
    NegotiationResult,
    NextRequest,
    NoResponse,
)
from inspector.protocol.jsonrpc import read
from inspector.protocol.revisions import R5
from inspector.protocol.types import CacheHints, Implementation
from tests.helpers.playbook import Playbook, Received, frame

PROFILE = ClientProfile("lens", "Lens", "0.1", exact_capabilities({"roots": {}}))
INFO: JSONObject = {"name": "lens", "title": "Lens", "version": "0.1"}
INITIALIZE = NextRequest(
    "initialize", {"protocolVersion": "2025-11-25", "capabilities": {"roots": {}}, "clientInfo": INFO}
)
DISCOVER = NextRequest(
    "server/discover",
    {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": INFO,
            "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
        }
    },
    revision=R5,
)
PROBE = replace(DISCOVER, timeout=PROBE_TIMEOUT)

SERVER: JSONObject = {"name": "srv", "version": "3.2"}
DISCOVERED: JSONObject = {
    "resultType": "complete",
    "supportedVersions": ["2025-11-25", "2026-07-28"],
    "capabilities": {"tools": {}},
    "instructions": "Be kind.",
    "ttlMs": 5000,
    "cacheScope": "public",
    "_meta": {"io.modelcontextprotocol/serverInfo": SERVER},
}
INITIALIZED: JSONObject = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"prompts": {}},
    "serverInfo": SERVER,
}
MODERN = NegotiationResult(
    revision=R5,
    server=Implementation("srv", "", "3.2"),
    capabilities={"tools": {}},
    instructions="Be kind.",
    description="server/discover · 2026-07-28 accepted",
    supported_versions=("2025-11-25", "2026-07-28"),
    cache=CacheHints(5000, "public"),
)


class NegotiationPlaybook(Playbook):
    """A playbook that also takes silence and HTTP rejections."""

    def __init__(self, negotiation: Negotiation) -> None:
        super().__init__(lambda response: self._ask(response), negotiation.first())
        self._negotiation = negotiation

    def _ask(self, reply: NegotiationResponse) -> Sequence[object]:
        try:
            return [self._negotiation.receive(reply)]
        except ConnectFailed as exc:
            return [exc]

    def __rshift__(self, reply: Received | NoResponse | HttpRefused) -> NegotiationPlaybook:
        self._expect_nothing()
        self._events.extend(self._ask(read(reply.raw) if isinstance(reply, Received) else reply))
        return self

    def __enter__(self) -> NegotiationPlaybook:
        return self

    def negotiated(self) -> NegotiationResult:
        event = self.next()
        assert isinstance(event, NegotiationResult), event
        return event


def pipe() -> NegotiationPlaybook:
    return NegotiationPlaybook(ProbeFirst(PROFILE, over_http=False))


def http() -> NegotiationPlaybook:
    return NegotiationPlaybook(ProbeFirst(PROFILE, over_http=True))


def result(value: JSON) -> Received:
    return Received(frame(id=1, result=value))


def error(code: int, message: str = "no", data: JSON = None) -> Received:
    return Received(frame(id=1, error={"code": code, "message": message, "data": data}))


def unsupported(*versions: JSON) -> Received:
    return error(-32022, "no such version", {"supported": list(versions), "requested": "2026-07-28"})


def refused(status: int, body: bytes = b"") -> HttpRefused:
    return HttpRefused(f"The server answered HTTP {status}.", "Look.", status, body)


def refused_with(status: int, code: int, data: JSON = None) -> HttpRefused:
    members: JSON = {"jsonrpc": "2.0", "error": {"code": code, "message": "no", "data": data}}
    return refused(status, to_wire(members))


def falls_back(play: NegotiationPlaybook, reason: str) -> None:
    """Play the rest of a fallback to initialize, and check the reason."""
    play << INITIALIZE
    play >> result(INITIALIZED)
    negotiated = play.negotiated()
    assert negotiated.revision.date == "2025-06-18"
    assert negotiated.completed_by == "notifications/initialized"
    reason = reason[0].lower() + reason[1:]
    how = "initialize · 2025-11-25 requested, server responded with 2025-06-18"
    assert negotiated.description.startswith(f"{how} · fallback: {reason}")
