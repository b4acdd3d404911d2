"""A loopback HTTP server with faults.

By default it is a valid MCP server of the session shape. `order("tools/call", fault, …)` makes it respond
to the next such requests with these faults, in turn; the key is the method of the posted message, or the
HTTP method if there is none ("GET", "DELETE"). Every request is stored in `calls`.

It writes its bytes by hand, so that it can stop in the middle of any of them.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeAlias

JSON_TYPE = "application/json"
SSE_TYPE = "text/event-stream"
HTML = b"<html><body>Welcome to nginx!</body></html>"


class Hangup(Exception):
    """Raised by a fault to end the connection."""


@dataclass
class Call:
    """A received request, and the connection for its response."""

    server: FaultServer
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float
    writer: asyncio.StreamWriter

    @property
    def message(self) -> dict[str, Any]:
        """Return the posted message; empty if the body is none."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    @property
    def key(self) -> str:
        return str(self.message.get("method") or ("answer" if self.message else self.method))

    async def write(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def start(self, status: int, content_type: str = "", **headers: str) -> None:
        """Send status and headers; the body follows in chunks."""
        given = {"Content-Type": content_type} if content_type else {}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        await self.write(_head(status, given | {"Transfer-Encoding": "chunked"}))

    async def chunk(self, data: bytes) -> None:
        await self.write(b"%x\r\n%s\r\n" % (len(data), data))

    async def end(self) -> None:
        await self.write(b"0\r\n\r\n")

    async def reply(self, status: int, body: bytes = b"", content_type: str = "", **headers: str) -> None:
        given = {"Content-Type": content_type} if content_type else {}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        await self.write(_head(status, given | {"Content-Length": str(len(body))}) + body)

    def response(self, text: str = "done", **members: Any) -> bytes:
        """Return the correct response to the posted request, as JSON."""
        result = {"content": [{"type": "text", "text": text}]}
        return _json({"jsonrpc": "2.0", "id": self.message.get("id"), "result": result} | members)


Fault: TypeAlias = Callable[[Call], Awaitable[None]]


class FaultServer:
    """An async context manager. `session` is the id that initialize returns; none if empty."""

    def __init__(self, *, session: str = "", tls: ssl.SSLContext | None = None) -> None:
        self.session = session
        self.calls: list[Call] = []
        self._tls = tls
        self._orders: defaultdict[str, deque[Fault]] = defaultdict(deque)
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._changes = asyncio.Event()
        self.hung_up = asyncio.Event()  # a client closed its connection

    def order(self, key: str, *faults: Fault) -> None:
        self._orders[key].extend(faults)

    @property
    def port(self) -> int:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def url(self, host: str = "127.0.0.1", path: str = "/mcp") -> str:
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{path}"

    def called(self, key: str) -> list[Call]:
        return [call for call in self.calls if call.key == key]

    async def wait_for(self, key: str, count: int = 1) -> Call:
        """Wait for the call with this key and number."""
        async with asyncio.timeout(20):
            while len(self.called(key)) < count:
                self._changes.clear()
                await self._changes.wait()
        return self.called(key)[count - 1]

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", ssl=self._tls)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Stop listening and drop all connections, as in a crash."""
        if self._server is not None:
            self._server.close()
        tasks = list(self._connections)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while (call := await self._read(reader, writer)) is not None:
                self.calls.append(call)
                self._changes.set()
                await self._response(call)
        except (Hangup, ConnectionError, ssl.SSLError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            self.hung_up.set()
            writer.transport.abort() if self._tls else writer.close()

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Call | None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except asyncio.IncompleteReadError:
            return None
        first, *lines = head.rstrip().split("\r\n")
        method, path, _ = first.split(" ")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        at = asyncio.get_running_loop().time()
        return Call(self, method, path, headers, body, at, writer)

    async def _response(self, call: Call) -> None:
        orders = self._orders[call.key]
        fault = orders.popleft() if orders else good
        await fault(call)


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Something", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def event(data: bytes, *, id: str = "", retry: int | None = None, name: str = "") -> bytes:
    """Return one server-sent event."""
    lines = [b"event: " + name.encode()] if name else []
    lines += [b"id: " + id.encode()] if id else []
    lines += [b"retry: %d" % retry] if retry is not None else []
    return b"\n".join([*lines, b"data: " + data, b"", b""])


def notice(method: str = "notifications/message", **params: Any) -> bytes:
    return _json({"jsonrpc": "2.0", "method": method, "params": params})


def failure(call: Call, **error: Any) -> bytes:
    """Respond with a JSON-RPC error."""
    return _json({"jsonrpc": "2.0", "id": call.message.get("id"), "error": error})


async def good(call: Call) -> None:
    """Respond as the specification says."""
    if call.method != "POST":
        await call.reply(405 if call.method == "GET" else 200)
    elif call.key == "initialize":
        result = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "serverInfo": {"name": "f", "version": "1"},
        }
        session = {"Mcp_Session_Id": call.server.session} if call.server.session else {}
        await call.reply(200, call.response(result=result), JSON_TYPE, **session)
    elif "id" in call.message and "method" in call.message:
        await call.reply(200, call.response(), JSON_TYPE)
    else:
        await call.reply(202)


def stream(*parts: bytes, response: bool = True, clean: bool = True, **headers: str) -> Fault:
    """Respond with an event stream: these bytes, then the response; may break off at the end."""

    async def fault(call: Call) -> None:
        await call.start(200, SSE_TYPE, **headers)
        for part in parts:
            await call.chunk(part)
        if response:
            await call.chunk(event(call.response()))
        if not clean:
            raise Hangup
        await call.end()

    return fault


def held(until: asyncio.Event, *parts: bytes) -> Fault:
    """Respond with an event stream that stays open after these bytes until the test ends it."""

    async def fault(call: Call) -> None:
        await call.start(200, SSE_TYPE)
        for part in parts:
            await call.chunk(part)
        await until.wait()
        raise Hangup

    return fault


def after(gate: asyncio.Event) -> Fault:
    """Respond when the gate opens."""

    async def fault(call: Call) -> None:
        await gate.wait()
        await good(call)

    return fault


def replies(status: int, body: bytes = b"", content_type: str = "", **headers: str) -> Fault:
    async def fault(call: Call) -> None:
        await call.reply(status, body, content_type, **headers)

    return fault


def replies_with(make: Callable[[Call], bytes], status: int = 200, content_type: str = JSON_TYPE) -> Fault:
    """Respond with a body made from the call."""

    async def fault(call: Call) -> None:
        await call.reply(status, make(call), content_type)

    return fault


def drops(*parts: bytes) -> Fault:
    """Write these bytes unchanged and drop the connection."""

    async def fault(call: Call) -> None:
        for part in parts:
            await call.write(part)
        raise Hangup

    return fault


async def bytewise(call: Call) -> None:
    """Respond correctly, with one chunk per byte."""
    await call.start(200, SSE_TYPE)
    for byte in event(call.response("Grüße 👋")):
        await call.chunk(bytes([byte]))
    await call.end()


def packed(size: int = 0, encoding: str = "gzip") -> Fault:
    """Respond with gzip; with a size, one that decompresses to that many bytes."""

    async def fault(call: Call) -> None:
        body = gzip.compress(call.response("x" * size))
        await call.reply(200, body, JSON_TYPE, Content_Encoding=encoding)

    return fault


async def endless_event(call: Call) -> None:
    """Send an event that never ends, until the client disconnects."""
    await call.start(200, SSE_TYPE)
    await call.chunk(b"data: ")
    while True:
        await call.chunk(b"x" * 65536)
