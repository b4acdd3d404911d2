"""Line framing, however the bytes are split into chunks."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from inspector.config.preferences.settings import ConnectionSettings
from inspector.protocol import framing
from inspector.protocol.framing import (
    DEFAULT_LINE_CAP,
    ByteBuffer,
    EventStreamReader,
    LineFramer,
    Overlong,
)
from inspector.transport.network import Network

MIB = 1024 * 1024

streams = st.lists(
    st.sampled_from([b"a", b"{}", b"\r", b"\n", b"\r\n", b"\xff", b"\xe2\x80\xa8", b"\x0b"])
).map(b"".join)


def cut(stream: bytes, locations: list[int]) -> list[bytes]:
    edges = [0, *sorted(location % (len(stream) + 1) for location in locations), len(stream)]
    return [stream[start:end] for start, end in itertools.pairwise(edges)]


def frame(chunks: list[bytes], cap: int = 1000) -> list[bytes | Overlong]:
    framer = LineFramer(cap)
    lines = [line for chunk in chunks for line in framer.feed(chunk)]
    rest = framer.end()
    return lines if rest is None else [*lines, rest]


@given(streams, st.lists(st.integers(min_value=0)))
@example(b"a\r\nb", [2])
def test_lines_do_not_depend_on_how_the_bytes_are_split(stream: bytes, locations: list[int]) -> None:
    assert frame(cut(stream, locations)) == frame([stream])


@given(streams)
def test_lines_are_separated_by_line_feeds(stream: bytes) -> None:
    *lines, rest = stream.split(b"\n")
    expected = [line.removesuffix(b"\r") for line in lines] + ([rest.removesuffix(b"\r")] if rest else [])
    assert frame([stream]) == expected


@given(st.lists(st.binary(max_size=20).filter(lambda line: b"\n" not in line and not line.endswith(b"\r"))))
def test_no_byte_below_the_cap_is_lost(lines: list[bytes]) -> None:
    assert frame([b"".join(line + b"\n" for line in lines)], cap=20) == lines


@given(
    st.lists(st.binary(max_size=12).filter(lambda line: b"\n" not in line and b"\r" not in line)),
    st.lists(st.integers(min_value=0)),
)
@example([b"", b"0123456"], [])
def test_overlong_line_gives_its_start_and_length_and_spares_the_others(
    lines: list[bytes], locations: list[int]
) -> None:
    """T24: a line without an end fills the memory."""
    stream = b"".join(line + b"\n" for line in lines)
    expected = [line if len(line) <= 5 else Overlong(line[:5], len(line)) for line in lines]
    assert frame(cut(stream, locations), cap=5) == expected


class CountingBuffer(ByteBuffer):
    """Counts the bytes instead of storing them."""

    largest = 0

    def add(self, part: bytes) -> None:
        self.size += len(part)
        CountingBuffer.largest = max(CountingBuffer.largest, self.size)

    def head(self, length: int) -> bytes:
        return b"x" * min(length, self.size)


def test_line_without_an_end_is_cut_at_the_default_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    """T24: a server writes a gigabyte without a line feed, and the user has changed no setting."""
    monkeypatch.setattr(framing, "ByteBuffer", CountingBuffer)
    assert ConnectionSettings().line_cap == Network().message_cap == DEFAULT_LINE_CAP <= 256 * MIB
    framer, chunk = LineFramer(), b"x" * MIB
    for _ in range(1024):
        assert framer.feed(chunk) == []
    assert CountingBuffer.largest <= DEFAULT_LINE_CAP + MIB
    line = framer.end()
    assert isinstance(line, Overlong)
    assert line.size == 1024 * MIB
    assert len(line.head) <= MIB


def test_unterminated_line_is_returned_at_the_end_of_the_stream() -> None:
    framer = LineFramer()
    assert framer.feed(b'{"half":') == []
    assert framer.end() == b'{"half":'
    assert framer.end() is None


def test_only_a_line_feed_ends_a_line() -> None:
    line = '{"text":"a\u2028b\u2029c\x0b\x0c\x85\rd"}'.encode()
    assert LineFramer().feed(line + b"\n") == [line]


CAP = 8 * 1024 * 1024


def peak_of(framer: LineFramer | EventStreamReader, chunks: Iterable[bytes]) -> int:
    """Return the most memory that was in use while the chunks were fed one by one."""
    tracemalloc.start()
    try:
        for chunk in chunks:
            framer.feed(chunk)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def chunks_of(size: int, end: bytes) -> Iterator[bytes]:
    yield from (b"x" * 65536 for _ in range(size // 65536))
    yield end


@pytest.mark.parametrize(
    ("size", "end"), [(CAP, b"\n"), (CAP, b"\r\n"), (CAP + 65536, b"\n"), (2 * CAP, b"\n")]
)
def test_line_at_the_limit_takes_little_more_memory_than_the_limit(size: int, end: bytes) -> None:
    """A server decides how long its lines are: twice the limit would be needed to join the chunks."""
    assert peak_of(LineFramer(CAP), chunks_of(size, end)) < 1.25 * CAP


def test_event_at_the_limit_is_copied_once() -> None:
    """The copy is without the name of the field."""
    chunks = itertools.chain([b"data: "], chunks_of(CAP - 65536, b"\n\n"))
    assert peak_of(EventStreamReader(CAP), chunks) < 2.25 * CAP


def test_long_line_arrives_whole() -> None:
    framer, parts = LineFramer(), [b"%07d" % number for number in range(1000)]
    assert [line for part in parts for line in framer.feed(part)] == []
    assert framer.feed(b"\r\nnext\n") == [b"".join(parts), b"next"]
