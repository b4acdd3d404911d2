"""Line framing, however the bytes are split into chunks."""

from __future__ import annotations

import itertools
import sys

from hypothesis import example, given
from hypothesis import strategies as st

from inspector.protocol.framing import LineFramer, Overlong

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
    stream = b"".join(line + b"\n" for line in lines)
    expected = [line if len(line) <= 5 else Overlong(line[:5], len(line)) for line in lines]
    assert frame(cut(stream, locations), cap=5) == expected


def test_unterminated_line_is_returned_at_the_end_of_the_stream() -> None:
    framer = LineFramer()
    assert framer.feed(b'{"half":') == []
    assert framer.end() == b'{"half":'
    assert framer.end() is None


def test_only_a_line_feed_ends_a_line() -> None:
    line = '{"text":"a\u2028b\u2029c\x0b\x0c\x85\rd"}'.encode()
    assert LineFramer().feed(line + b"\n") == [line]


def test_long_line_is_joined_once() -> None:
    """Its chunks are stored until it ends: joining at every chunk would be quadratic."""
    chunk = b"x" * 65_536
    framer = LineFramer()
    before = sys.getrefcount(chunk)
    for _ in range(512):
        assert framer.feed(chunk) == []
    assert sys.getrefcount(chunk) == before + 512
    assert framer.feed(b"\n") == [chunk * 512]
    assert sys.getrefcount(chunk) == before
