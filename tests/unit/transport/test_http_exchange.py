"""HTTP exchanges: their events, size limits and decompression."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import zlib
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.clock import SystemClock
from inspector.base.errors import ConfigError, ConnectionLost, UserError
from inspector.protocol.framing import ServerSentEvent
from inspector.transport.base import HttpEnded, HttpRequested, HttpResponded
from inspector.transport.http_exchange import BadEncoding, Exchanges, Inflater, inflater_for
from inspector.transport.network import Network
from tests.helpers import httpfaults as faults
from tests.helpers.httpfaults import SSE_TYPE, FaultServer
from tests.helpers.wirelog import WireLog


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    async with FaultServer() as server:
        yield server


@pytest.fixture
def log() -> WireLog:
    return WireLog()


@pytest.fixture
async def http(server: FaultServer, log: WireLog) -> AsyncIterator[Exchanges]:
    http = Exchanges(server.url(), Network(message_cap=1000), SystemClock(), log)
    yield http
    await http.close()


def nothing(events: list[ServerSentEvent], at: int) -> None:
    """Ignore events."""


async def test_request_and_response_are_reported_with_their_headers_in_order(
    server: FaultServer, http: Exchanges, log: WireLog
) -> None:
    server.order("GET", faults.replies(200, b"hello", "text/plain", X_One="1"))
    async with http.begin("GET", server.url(), (("Accept", "*/*"),), tag=9) as exchange:
        assert await exchange.read(nothing) == b"hello"
    requested, responded, ended = log.events
    assert isinstance(requested, HttpRequested)
    assert isinstance(responded, HttpResponded)
    assert isinstance(ended, HttpEnded)
    assert (requested.exchange, requested.method, requested.url) == (1, "GET", server.url())
    assert (requested.size, requested.tag) == (0, 9)
    assert ("Accept", "*/*") in requested.headers
    assert ("Accept-Encoding", "identity") in requested.headers
    assert (responded.status, responded.http_version) == (200, "HTTP/1.1")
    assert ("X-One", "1") in responded.headers
    assert (ended.size, ended.error, ended.body) == (5, "", b"")
    assert requested.at <= responded.at <= ended.at


async def test_reported_request_is_exactly_what_was_sent(
    server: FaultServer, http: Exchanges, log: WireLog
) -> None:
    async with http.begin("POST", server.url(), (), b'{"id":1,"method":"x"}') as exchange:
        await exchange.read_body()
    (requested,) = log.all(HttpRequested)
    assert {name.lower(): value for name, value in requested.headers} == server.calls[0].headers
    assert requested.size == len(server.calls[0].body)


async def test_exchanges_are_numbered(server: FaultServer, http: Exchanges, log: WireLog) -> None:
    for _ in range(3):
        async with http.begin("GET", server.url(), ()) as exchange:
            await exchange.read_body()
    assert [event.exchange for event in log.all(HttpEnded)] == [1, 2, 3]


async def test_events_are_delivered_as_they_arrive(server: FaultServer, http: Exchanges) -> None:
    gate, taken = asyncio.Event(), asyncio.Queue[bytes | None]()

    async def in_two(call: faults.Call) -> None:
        await call.start(200, SSE_TYPE)
        await call.chunk(faults.event(b"1"))
        await gate.wait()
        await call.chunk(faults.event(b"2"))
        await call.end()

    def take(events: list[ServerSentEvent], at: int) -> None:
        for event in events:
            taken.put_nowait(event.data)

    server.order("GET", in_two)
    async with http.begin("GET", server.url(), ()) as exchange:
        reading = asyncio.get_running_loop().create_task(exchange.read(take))
        assert await taken.get() == b"1"
        gate.set()
        assert await reading is None
    assert taken.get_nowait() == b"2"


async def test_a_failed_exchange_is_reported_with_its_reason(
    server: FaultServer, http: Exchanges, log: WireLog
) -> None:
    server.order("GET", faults.drops())
    with pytest.raises(ConnectionLost, match="before it responded"):
        async with http.begin("GET", server.url(), ()):
            pytest.fail("there was no answer")
    assert [type(event) for event in log.events] == [HttpRequested, HttpEnded]
    assert "before it responded" in log.all(HttpEnded)[0].error


async def test_a_body_at_the_cap_is_read_and_one_above_it_is_not(
    server: FaultServer, http: Exchanges, log: WireLog
) -> None:
    server.order("GET", faults.replies(200, b"x" * 1000), faults.replies(200, b"x" * 1001))
    async with http.begin("GET", server.url(), ()) as exchange:
        assert len(await exchange.read_body()) == 1000
    with pytest.raises(UserError, match=r"larger than 1000 B\. Make the server send less"):
        async with http.begin("GET", server.url(), ()) as exchange:
            await exchange.read_body()


async def test_internal_error_during_an_exchange_is_not_blamed_on_the_transport(
    server: FaultServer, http: Exchanges, log: WireLog
) -> None:
    with pytest.raises(ZeroDivisionError):
        async with http.begin("GET", server.url(), ()):
            _ = 1 / 0
    assert log.all(HttpEnded)[0].error == ""


@pytest.mark.parametrize("url", ["http://host:port/", "http://x/\x00"])
async def test_invalid_request_is_rejected(http: Exchanges, url: str) -> None:
    with pytest.raises(ConfigError, match="Could not create a request"):
        http.begin("GET", url, ())


async def test_url_with_another_scheme_is_rejected(http: Exchanges) -> None:
    with pytest.raises(ConnectionLost, match=r"ftp://x/ is not an HTTP URL"):
        async with http.begin("GET", "ftp://x/", ()):
            pytest.fail("there was no answer")


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


@given(
    st.binary(max_size=5000),
    st.sampled_from(["gzip", "deflate"]),
    st.lists(st.integers(min_value=0), max_size=8),
)
def test_compressed_body_can_be_split_anywhere(data: bytes, encoding: str, locations: list[int]) -> None:
    packed = gzip.compress(data) if encoding == "gzip" else zlib.compress(data)
    edges = [0, *sorted(location % (len(packed) + 1) for location in locations), len(packed)]
    inflater = inflater_for(encoding)
    assert inflater is not None
    pieces = [inflater.feed(packed[start:end]) for start, end in itertools.pairwise(edges)]
    assert b"".join(itertools.chain.from_iterable(pieces)) == data


def test_raw_deflate_is_supported() -> None:
    inflater = inflater_for("deflate")
    assert inflater is not None
    assert b"".join(inflater.feed(raw_deflate(b"hello" * 100))) == b"hello" * 100


def test_decompression_bomb_is_inflated_in_bounded_chunks() -> None:
    bomb = gzip.compress(bytes(20_000_000))
    sizes = [len(piece) for piece in Inflater().feed(bomb)]
    assert sum(sizes) == 20_000_000
    assert max(sizes) <= 1024 * 1024


@pytest.mark.parametrize("encoding", ["", "identity", " Identity "])
def test_uncompressed_body_needs_no_inflater(encoding: str) -> None:
    assert inflater_for(encoding) is None


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip"])
def test_unsupported_encodings_are_rejected(encoding: str) -> None:
    with pytest.raises(BadEncoding, match="which was not requested"):
        inflater_for(encoding)
