"""A fast Streamable HTTP MCP server with the standard library only.

It responds with JSON, keeps connections open, has sessions and no event stream. The tool `echo` returns
its message. Run it as `python -m tests.bench.httpserver`: it prints its URL and exits when stdin closes.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from tests.bench.echoserver import response

_HEAD = (
    b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nMcp-Session-Id: bench\r\nContent-Length: %d\r\n\r\n"
)


class Peer(asyncio.Protocol):
    """One connection; requests arrive whole or in pieces, one after another."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._received = b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, rest = self._received.partition(b"\r\n\r\n")
        size = _content_length(head)
        if found and len(rest) >= size:
            self._received = rest[size:]
            self._transport.write(_reply(head, rest[:size]))


def _content_length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line[15:])
    return 0


def _reply(head: bytes, body: bytes) -> bytes:
    if not head.startswith(b"POST"):
        return _HEAD % (b"200 OK" if head.startswith(b"DELETE") else b"405 Method Not Allowed", 0)
    message: dict[str, Any] = json.loads(body)
    if "id" not in message:
        return _HEAD % (b"202 Accepted", 0)
    result = response(message["method"], message.get("params", {}))
    content = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
    return _HEAD % (b"200 OK", len(content)) + content


async def serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Peer, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(serve())
