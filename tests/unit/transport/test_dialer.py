"""Network streams: a request is sent in as few writes as possible."""

from __future__ import annotations

import ssl

import httpcore2

from inspector.transport.dialer import JoinedWrites

HEAD = b"POST /mcp HTTP/1.1\r\nContent-Length: 2\r\n\r\n"


class Sink(httpcore2.AsyncNetworkStream):
    """Records writes and returns one response."""

    def __init__(self) -> None:
        self.written: list[bytes] = []

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self.written.append(buffer)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return b"answer"

    async def aclose(self) -> None:
        pass

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        return self


async def test_post_headers_are_sent_together_with_the_body() -> None:
    stream = JoinedWrites(sink := Sink())
    for _ in range(2):
        await stream.write(HEAD)
        await stream.write(b"{}")
    assert sink.written == [HEAD + b"{}", HEAD + b"{}"]


async def test_post_headers_without_a_body_are_sent_before_the_response_is_read() -> None:
    stream = JoinedWrites(sink := Sink())
    await stream.write(HEAD)
    assert await stream.read(100) == b"answer"
    assert sink.written == [HEAD]


async def test_other_writes_are_not_delayed() -> None:
    stream = JoinedWrites(sink := Sink())
    get, frames = b"GET /mcp HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    await stream.write(get)
    await stream.write(frames)
    assert sink.written == [get, frames]


async def test_a_long_body_is_not_copied_to_be_joined() -> None:
    stream, body = JoinedWrites(sink := Sink()), b"x" * 100_000
    await stream.write(HEAD)
    await stream.write(body)
    assert sink.written == [HEAD, body]
    assert sink.written[1] is body


async def test_writes_are_joined_under_tls_too() -> None:
    stream = await JoinedWrites(sink := Sink()).start_tls(ssl.create_default_context())
    await stream.write(HEAD)
    await stream.write(b"{}")
    assert sink.written == [HEAD + b"{}"]
