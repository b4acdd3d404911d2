"""TCP streams of the HTTP client: reading, flow control, errors and the end of a connection."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpcore2
import pytest

from inspector.transport.socket_stream import SocketBackend, SocketStream, _Received


@dataclass
class Peer:
    """The other end of a connection, a blocking socket with a time limit, and the stream to it."""

    socket: socket.socket
    stream: SocketStream


@asynccontextmanager
async def connected() -> AsyncIterator[Peer]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        stream = await SocketBackend().connect_tcp("127.0.0.1", listener.getsockname()[1])
        assert isinstance(stream, SocketStream)
        other, _ = listener.accept()
        other.settimeout(10)
        with other:
            try:
                yield Peer(other, stream)
            finally:
                await stream.aclose()


async def test_bytes_are_read_in_order_and_in_pieces_of_the_requested_size() -> None:
    async with connected() as peer:
        peer.socket.sendall(b"abcdef")
        assert await peer.stream.read(4) == b"abcd"
        assert await peer.stream.read(4) == b"ef"
        peer.socket.close()
        assert await peer.stream.read(4) == b""
        assert await peer.stream.read(4) == b"", "the end is final"


async def test_read_that_waits_gets_the_next_bytes() -> None:
    async with connected() as peer:
        reading = asyncio.ensure_future(peer.stream.read(100))
        await asyncio.sleep(0)
        peer.socket.sendall(b"late")
        assert await reading == b"late"


async def test_written_bytes_arrive() -> None:
    async with connected() as peer:
        await peer.stream.write(b"request")
        assert peer.socket.recv(100) == b"request"


async def test_server_that_closed_an_idle_connection_is_noticed() -> None:
    """The pool must not send a request on it; the event loop need not have run since."""
    async with connected() as peer:
        assert not peer.stream.get_extra_info("is_readable")
        peer.socket.close()
        assert peer.stream.get_extra_info("is_readable")


async def test_reset_is_a_read_error_with_its_cause() -> None:
    async with connected() as peer:
        peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.socket.close()
        with pytest.raises(httpcore2.ReadError) as failure:
            await peer.stream.read(100)
        assert isinstance(failure.value.__context__, ConnectionResetError)
        with pytest.raises(httpcore2.WriteError):
            await peer.stream.write(b"request")


async def test_refused_connection_is_a_connect_error_with_its_cause() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(httpcore2.ConnectError) as failure:
        await SocketBackend().connect_tcp("127.0.0.1", port)
    assert isinstance(failure.value.__context__, ConnectionRefusedError)


async def test_read_times_out() -> None:
    async with connected() as peer:
        with pytest.raises(httpcore2.ReadTimeout):
            await peer.stream.read(100, timeout=0.01)
        peer.socket.sendall(b"later")
        assert await peer.stream.read(100) == b"later", "the stream can still be used"


async def test_closing_ends_a_read_that_waits() -> None:
    async with connected() as peer:
        reading = asyncio.ensure_future(peer.stream.read(100))
        await asyncio.sleep(0)
        await peer.stream.aclose()
        with pytest.raises(httpcore2.ReadError):
            await reading
        with pytest.raises(httpcore2.WriteError):
            await peer.stream.write(b"request")


async def test_what_is_not_read_stays_in_the_socket() -> None:
    """The buffer is bounded: a server cannot fill the memory while reading is paused."""
    async with connected() as peer:
        transport, received = peer.stream._transport, peer.stream._received
        while transport.is_reading():
            received.buffer_updated(64 * 1024)
        assert 256 * 1024 < received.size <= 320 * 1024
        while not transport.is_reading():
            assert len(await peer.stream.read(64 * 1024)) == 64 * 1024
        assert received.size > 0, "it resumes before the buffer is empty"


async def test_write_waits_while_the_socket_is_full() -> None:
    async with connected() as peer:
        body = bytes(16 * 1024 * 1024)
        with pytest.raises(httpcore2.WriteTimeout):
            await peer.stream.write(body, timeout=0.01)
        writing = asyncio.ensure_future(peer.stream.write(b""))
        received = 0
        while received < len(body):
            received += len(await asyncio.to_thread(peer.socket.recv, 1024 * 1024))
        await writing


def received_over_tls() -> _Received:
    received = _Received()
    received.is_tls = True
    assert received.eof_received() is False, "asyncio closes the connection"
    assert not received.is_readable
    return received


async def test_tls_alert_that_is_reported_after_the_end_of_the_stream_is_the_error() -> None:
    """As on Windows, for a server that wants a client certificate."""
    received, alert = received_over_tls(), ssl.SSLError(1, "certificate required")
    received.connection_lost(alert)
    assert received.is_readable
    assert received.error is alert


async def test_failure_to_close_after_the_end_of_a_tls_stream_is_no_error() -> None:
    received = received_over_tls()
    received.connection_lost(ConnectionResetError())
    assert received.is_readable
    assert received.error is None


async def test_tls_stream_ends_although_the_connection_is_not_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.transport.socket_stream._ALERT_GRACE", 0)
    received = received_over_tls()
    await received.wait()
    assert received.take(1) == b""
