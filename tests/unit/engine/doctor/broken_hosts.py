"""Deliberately broken hosts, and a helper that runs Doctor on one."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from inspector.config.servers.entries import HttpEntry
from tests.helpers.httpfaults import JSON_TYPE, Call, Fault, FaultServer, good
from tests.unit.engine.doctor.doctor_stage import Report, checked


class Broken(FaultServer):
    """Responds to everything with one fault."""

    def __init__(self, fault: Fault, **settings: Any) -> None:
        super().__init__(**settings)
        self._fault = fault

    async def _response(self, call: Call) -> None:
        await self._fault(call)


async def visit(url: str, *, limit: float = 5.0, **members: Any) -> Report:
    context = {name: members.pop(name) for name in ("authorization", "may_contact") if name in members}
    return await checked(HttpEntry(name="srv", url=url, **members), limit=limit, **context)


@asynccontextmanager
async def raw_server(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    host: str = "127.0.0.1",
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[int]:
    """Yield the port of a raw TCP server with this behavior."""

    async def serve_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(serve_and_close, host, 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while await reader.read(65536):
        pass


async def with_tools(call: Call) -> None:
    """A working server with one tool."""
    if call.key == "initialize":
        result = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "f", "version": "1"},
        }
        await call.reply(200, call.response(result=result), JSON_TYPE)
    elif call.key == "tools/list":
        await call.reply(200, call.response(result={"tools": [{"name": "t"}]}), JSON_TYPE)
    elif call.key == "server/discover":
        await call.reply(400)
    elif call.method == "GET":
        await call.reply(404 if "well-known" in call.path else 405)
    else:
        await good(call)
