"""A small HTTP/2 server over TLS that responds to every posted request."""

from __future__ import annotations

import asyncio
import json
import ssl
from types import TracebackType

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, StreamEnded


class Http2Server:
    """An async context manager that returns the URL."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", ssl=self._tls)
        return f"https://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/mcp"

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        tasks = list(self._connections)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        connection = H2Connection(H2Configuration(client_side=False))
        connection.initiate_connection()
        bodies: dict[int, bytes] = {}
        try:
            writer.write(connection.data_to_send())
            while data := await reader.read(65536):
                for event in connection.receive_data(data):
                    if isinstance(event, DataReceived):
                        bodies[event.stream_id] = bodies.get(event.stream_id, b"") + event.data
                    elif isinstance(event, StreamEnded):
                        _response(connection, event.stream_id, bodies.pop(event.stream_id, b"{}"))
                writer.write(connection.data_to_send())
        except (ConnectionError, ssl.SSLError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            writer.transport.abort()


def _response(connection: H2Connection, stream: int, body: bytes) -> None:
    response = json.dumps({"jsonrpc": "2.0", "id": json.loads(body).get("id"), "result": {}}).encode()
    headers = [(":status", "200"), ("content-type", "application/json")]
    connection.send_headers(stream, headers)
    connection.send_data(stream, response, end_stream=True)
