"""An open HTTP transport for one test, with a log of its events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from inspector.base.clock import SystemClock
from inspector.protocol import jsonrpc
from inspector.protocol.jsonrpc import Message
from inspector.protocol.revisions import R4, Revision
from inspector.transport.base import PLAIN, Envelope, Transport
from inspector.transport.network import Network
from inspector.transport.streamable_http import StreamableHttpTransport
from tests.helpers.httpfaults import FaultServer
from tests.helpers.wirelog import WireLog


@dataclass
class Stage:
    """One open transport. The test numbers its requests."""

    transport: Transport
    log: WireLog
    count: int = 0

    async def request(self, method: str = "tools/call", envelope: Envelope = PLAIN, **params: Any) -> Message:
        """Send a request; the test waits for its outcome."""
        self.count += 1
        message = jsonrpc.request(self.count, method, params)
        await self.transport.send(message, envelope)
        return message

    async def call(self, method: str = "tools/call", **params: Any) -> Message:
        """Send a request and wait for its response."""
        return await self.log.response(await self.request(method, **params))

    async def fail(self, method: str = "tools/call", **params: Any) -> str:
        """Send a request that fails; return the text of the error."""
        return str(await self.log.failure(await self.request(method, **params)))

    async def notify(self, method: str) -> None:
        await self.transport.send(jsonrpc.notification(method))

    async def handshake(self, revision: Revision = R4) -> None:
        await self.call("initialize")
        self.transport.set_revision(revision)
        await self.notify("notifications/initialized")


@asynccontextmanager
async def on_stage(transport: Transport) -> AsyncIterator[Stage]:
    log = WireLog()
    try:
        await transport.open(log)
        yield Stage(transport, log)
    finally:
        await transport.close()


@asynccontextmanager
async def streamable(server: FaultServer, **network: Any) -> AsyncIterator[Stage]:
    """Yield a Streamable HTTP stage before a protocol version is negotiated."""
    transport = StreamableHttpTransport(server.url(), Network(**network), SystemClock())
    async with on_stage(transport) as stage:
        yield stage
