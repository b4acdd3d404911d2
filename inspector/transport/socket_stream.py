"""TCP and TLS streams for the HTTP client, directly on asyncio.

The library's own streams yield to the event loop before each write, register the socket again for each
read, and enter two cancel scopes for both: a fifth of the time of a call over the loopback interface.

Imports the HTTP library, which takes 100 ms; so it is imported only by `dialer`.
"""

from __future__ import annotations

import asyncio
import select
import ssl
from collections import deque
from collections.abc import Iterable
from typing import Any, NoReturn, cast

import httpcore2

_READ_SIZE = 64 * 1024
_ALERT_GRACE = 0.2  # seconds that closing the connection may take, before its end is reported
_MAX_BUFFERED = 256 * 1024  # bytes that were received but not read yet, before receiving pauses


class SocketBackend(httpcore2.AsyncNetworkBackend):
    """Opens TCP connections to an IP address. Raises httpcore2.ConnectError."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout):
                transport, received = await loop.create_connection(_Received, host, port)
        except TimeoutError as exc:
            raise httpcore2.ConnectTimeout(str(exc)) from exc
        except OSError as exc:
            raise httpcore2.ConnectError(str(exc)) from exc
        return SocketStream(transport, received)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class SocketStream(httpcore2.AsyncNetworkStream):
    """One connection. At most one task reads at a time, and one writes."""

    def __init__(self, transport: asyncio.Transport, received: _Received) -> None:
        self._transport = transport
        self._received = received

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return the next bytes; b"" at the end of the stream."""
        received = self._received
        if not received.is_readable and timeout is None:
            await received.wait()
        elif not received.is_readable:
            try:
                async with asyncio.timeout(timeout):
                    await received.wait()
            except TimeoutError as exc:
                raise httpcore2.ReadTimeout(str(exc)) from exc
        if received.size == 0 and received.error is not None:
            _raise_as(httpcore2.ReadError, received.error)
        return received.take(max_bytes)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        received = self._received
        self._require_open()
        if buffer:
            self._transport.write(buffer)
        if received.can_write.is_set():
            return
        try:
            async with asyncio.timeout(timeout):
                await received.can_write.wait()
        except TimeoutError as exc:
            raise httpcore2.WriteTimeout(str(exc)) from exc
        self._require_open()

    def _require_open(self) -> None:
        if self._received.error is not None:
            _raise_as(httpcore2.WriteError, self._received.error)
        if self._transport.is_closing():
            raise httpcore2.WriteError("The connection is closed.")

    async def aclose(self) -> None:
        """Close the connection without waiting for the server, also for its TLS shutdown."""
        self._received.fail(ConnectionAbortedError("The connection is closed."))
        if not self._transport.is_closing():  # Python 3.11.2 cannot abort a TLS transport closed twice
            self._transport.close()
        try:
            await asyncio.sleep(0)  # the transport sends what is left if the socket accepts it
        finally:
            self._transport.abort()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        loop = asyncio.get_running_loop()
        self._received.is_tls = True
        try:
            async with asyncio.timeout(timeout):
                transport = await loop.start_tls(
                    self._transport, self._received, ssl_context, server_hostname=server_hostname
                )
        except TimeoutError as exc:
            self._transport.abort()
            raise httpcore2.ConnectTimeout(str(exc)) from exc
        except OSError as exc:  # including ssl.SSLError
            self._transport.abort()
            raise httpcore2.ConnectError(str(exc)) from exc
        except BaseException:
            self._transport.abort()
            raise
        if transport is None:
            raise httpcore2.ConnectError("The connection was closed during the TLS handshake.")
        self._transport = transport
        self._received.transport = transport
        return self

    def get_extra_info(self, info: str) -> Any:
        match info:
            case "client_addr":
                return self._transport.get_extra_info("sockname")
            case "server_addr":
                return self._transport.get_extra_info("peername")
            case "ssl_object" | "socket":
                return self._transport.get_extra_info(info)
            case "is_readable":  # of an idle connection: the server has closed it
                return self._received.is_readable or _is_readable(self._transport)
        return None


class _Received(asyncio.BufferedProtocol):
    """What was received and not read yet.

    A buffered protocol, because asyncio allocates 256 KiB for each read of any other.
    """

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.is_tls = False
        self.size = 0
        self.error: Exception | None = None
        self.can_write = asyncio.Event()
        self.can_write.set()
        self._buffer = memoryview(bytearray(_READ_SIZE))  # a view: asyncio's TLS reads into slices of it
        self._chunks: deque[bytes] = deque()
        self._is_over = False
        self._is_paused = False
        self._waiter: asyncio.Future[None] | None = None
        self._end_timer: asyncio.TimerHandle | None = None

    @property
    def is_readable(self) -> bool:
        """True if `take` has something to return: bytes, the end of the stream, or an error."""
        return self.size > 0 or self._is_over

    async def wait(self) -> None:
        """Wait until it is readable."""
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def take(self, max_bytes: int) -> bytes:
        """Remove and return the next bytes; b"" at the end of the stream."""
        if not self._chunks:
            return b""
        chunk = self._chunks.popleft()
        if len(chunk) > max_bytes:
            self._chunks.appendleft(chunk[max_bytes:])
            chunk = chunk[:max_bytes]
        self.size -= len(chunk)
        if self._is_paused and self.size <= _MAX_BUFFERED // 2:
            self._is_paused = False
            if self.transport is not None and not self.transport.is_closing():
                self.transport.resume_reading()
        return chunk

    def fail(self, error: Exception | None) -> None:
        """End the stream; with an error, reads after the received bytes and all writes fail."""
        if self._end_timer is not None:
            self._end_timer.cancel()
        self._is_over = True
        self.error = self.error or error
        self.can_write.set()
        self._wake()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._chunks.append(bytes(self._buffer[:nbytes]))
        self.size += nbytes
        if self.size > _MAX_BUFFERED and not self._is_paused and self.transport is not None:
            self._is_paused = True
            self.transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        """Handle the end of what the server sends; plain TCP stays open for writing.

        On Windows, asyncio reports it before a TLS alert, with which `connection_lost` follows.
        """
        if not self.is_tls:
            self.fail(None)
            return True
        self._end_timer = asyncio.get_running_loop().call_later(_ALERT_GRACE, self.fail, None)
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        is_at_end = self._end_timer is not None
        self.fail(exc if isinstance(exc, ssl.SSLError) or not is_at_end else None)

    def pause_writing(self) -> None:
        self.can_write.clear()

    def resume_writing(self) -> None:
        self.can_write.set()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _raise_as(kind: type[Exception], error: Exception) -> NoReturn:
    """Raise an error as the library's; it removes the cause on the way, but not the context."""
    try:
        raise error
    except Exception as exc:
        raise kind(str(exc)) from exc


def _is_readable(transport: asyncio.Transport) -> bool:
    """Ask the system: the end of the stream may not have reached the event loop yet."""
    socket = transport.get_extra_info("socket")
    if socket is None or socket.fileno() < 0:
        return True
    if not hasattr(select, "poll"):  # Windows
        return bool(select.select([socket.fileno()], [], [], 0)[0])
    poll = select.poll()
    poll.register(socket.fileno(), select.POLLIN)
    return bool(poll.poll(0))
