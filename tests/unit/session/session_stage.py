"""A client and its session over an in-memory transport, in either era. The test plays the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from inspector.base.json.values import JSON, JSONObject
from inspector.config.preferences.settings import ConnectionSettings
from inspector.protocol.client_capabilities import exact_capabilities
from inspector.protocol.discovery import StatelessOnly
from inspector.protocol.handshake import ClientProfile, InitializeHandshake, Negotiation
from inspector.protocol.jsonrpc import Message
from inspector.protocol.revisions import R5, Era, Revision
from inspector.session.client import Client
from inspector.session.server_requests import Responder, responder_of
from inspector.session.session import Session
from inspector.session.state import RequestHandler, Route
from inspector.traffic.log import TrafficLog
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import Record, RecordKind
from inspector.transport.base import PLAIN, Envelope, FramesReceived
from tests.helpers.fakes import FakeClock, MemoryWire

SETTINGS = ConnectionSettings(connect_timeout=15, request_timeout=10, total_timeout=25)
META = "io.modelcontextprotocol/"
TASKS = f"{META}tasks"


class EnvelopeWire(MemoryWire):
    """Also records the envelope of each message."""

    def __init__(self) -> None:
        super().__init__()
        self.envelopes: list[Envelope] = []

    async def send(self, message: Message, envelope: Envelope = PLAIN) -> None:
        self.envelopes.append(envelope)
        await super().send(message, envelope)


class EraStage:
    """A session connected with one protocol version; `over_http` gives each request its own exchange."""

    def __init__(
        self,
        revision: Revision = R5,
        *,
        over_http: bool = False,
        capabilities: JSONObject | None = None,
        responder: Responder | None = None,
        is_sequential: bool = False,
    ) -> None:
        self.wire = EnvelopeWire()
        self.log = TrafficLog()
        self.revision = revision
        self._over_http = over_http
        self._profile = ClientProfile("lens", "Lens", "0", exact_capabilities(capabilities or {}))
        route = Route(self._make_wire, self._negotiation, self._profile, closes_to_cancel=over_http)
        route = replace(route, is_sequential=is_sequential)
        recorder = Recorder(self.log, "srv", FakeClock())
        self.session = Session([route], recorder, SETTINGS, responder or responder_of({}))
        self.client = Client(self.session, 10)

    def _make_wire(self) -> EnvelopeWire:
        self.wire = EnvelopeWire()
        return self.wire

    def _negotiation(self) -> Negotiation:
        if self.revision.era is Era.STATELESS:
            return StatelessOnly(self._profile, self._over_http, self.revision)
        return InitializeHandshake(self._profile, self.revision)

    async def connect(self, **offered: JSON) -> None:
        """`offered` are the server's capabilities."""
        connecting = self.start(self.session.connect())
        await settle()
        if self.revision.era is Era.STATELESS:
            await self.reply(supportedVersions=[self.revision.date], capabilities=offered)
        else:
            await self.wire.answer_initialize(protocolVersion=self.revision.date, capabilities=offered)
        await connecting

    async def next(self) -> JSONObject:
        return await asyncio.wait_for(self.wire.next(), 30)

    async def reply(self, **result: JSON) -> JSONObject:
        """Respond to the next request and return it."""
        request = await self.next()
        self.wire.show_message(id=request["id"], result=result)
        return request

    async def refuse(self, code: int, message: str = "no", data: JSON = None) -> JSONObject:
        request = await self.next()
        self.wire.show_message(id=request["id"], error={"code": code, "message": message, "data": data})
        return request

    def send_on_exchange(self, request: JSONObject, frame: bytes, exchange: int | None = None) -> None:
        """Send any bytes on the HTTP exchange of a request."""
        id = request["id"]
        assert isinstance(id, int)
        self.wire.happen(FramesReceived([frame], 0, exchange, id))

    def notify(self, method: str, stream: JSONObject, **params: JSON) -> None:
        """Send a notification on a change stream, identified by the request that opened it."""
        self.wire.show_message(
            method=f"notifications/{method}",
            params={**params, "_meta": {f"{META}subscriptionId": stream["id"]}},
        )

    def acknowledge(self, stream: JSONObject) -> None:
        self.notify("subscriptions/acknowledged", stream, notifications=params_of(stream)["notifications"])

    @staticmethod
    def start(work: Any) -> asyncio.Task[Any]:
        return asyncio.get_running_loop().create_task(work)

    async def sends_nothing_more(self) -> bool:
        await settle()
        return self.wire.sends_nothing()

    def rows(self, *kinds: RecordKind) -> list[Record]:
        return self.log.find("srv", *(kinds or RecordKind))

    def notes(self, kind: RecordKind = RecordKind.LOCAL) -> list[str]:
        return [row.raw.decode() for row in self.rows(kind)]


@asynccontextmanager
async def connected(
    revision: Revision = R5,
    *,
    offered: JSONObject | None = None,
    over_http: bool = False,
    capabilities: JSONObject | None = None,
    handlers: Mapping[str, RequestHandler] | None = None,
    responder: Responder | None = None,
) -> AsyncIterator[EraStage]:
    """Yield a connected stage; `responder` or `handlers` (by method) reply to server requests."""
    responder = responder or responder_of(handlers or {})
    stage = EraStage(revision, over_http=over_http, capabilities=capabilities, responder=responder)
    await stage.connect(**(offered or {}))
    try:
        yield stage
    finally:
        await stage.session.close()


async def settle() -> None:
    """Run everything that needs neither time nor the peer."""
    for _ in range(20):
        await asyncio.sleep(0)


def params_of(request: JSONObject) -> dict[str, Any]:
    """Return the params without `_meta`."""
    params = request.get("params")
    assert isinstance(params, dict)
    return {name: value for name, value in params.items() if name != "_meta"}


def meta_of(request: JSONObject) -> dict[str, Any]:
    """Return the `_meta` of a request, with short keys."""
    params = request.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    assert isinstance(meta, dict)
    return {name.removeprefix(META): value for name, value in meta.items()}


def replying_with(*responses: JSONObject) -> RequestHandler:
    """Return a handler that replies with these in turn, and then repeats the last one."""
    left = list(responses)

    async def response(params: JSONObject) -> JSONObject:
        return left.pop(0) if len(left) > 1 else left[0]

    return response


def raising(error: Exception) -> Callable[[JSONObject], Any]:
    async def response(params: JSONObject) -> JSONObject:
        raise error

    return response
