"""Hex dumps and pages of text."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.traffic.hexdump import TextPage, line_count, line_page, line_page_before, lines, text_page

mixed = st.lists(st.sampled_from([b"a", b"\n", "é".encode(), "€".encode(), "😀".encode(), b"\xff", b"\x80"]))
bodies = mixed.map(b"".join) | st.binary(max_size=60)


def read_back(line: str) -> bytes:
    return bytes.fromhex(line[10:58])


def test_line_has_its_offset_sixteen_bytes_and_printable_characters() -> None:
    assert lines(b"Hello, world\n\x00\xff~" + b"0123", 0, 10) == [
        "00000000  48 65 6c 6c 6f 2c 20 77  6f 72 6c 64 0a 00 ff 7e  |Hello, world...~|",
        "00000010  30 31 32 33                                       |0123|",
    ]


@given(st.binary(max_size=100), st.integers(0, 9), st.integers(0, 9))
def test_the_bytes_can_be_read_back_from_any_part(data: bytes, start: int, count: int) -> None:
    shown = lines(data, start, count)
    assert b"".join(map(read_back, shown)) == data[start * 16 : (start + count) * 16]
    assert len(lines(data, 0, 10**9)) == line_count(len(data))


def test_offsets_count_from_the_start_of_the_part() -> None:
    assert lines(b"abc", 0, 1, offset=0x1230)[0].startswith("00001230  61 62 63 ")


@given(bodies, st.integers(1, 9))
@pytest.mark.parametrize("page", [text_page, line_page])
def test_consecutive_pages_make_up_the_body(
    page: Callable[[bytes, int, int], TextPage], data: bytes, length: int
) -> None:
    place, texts = 0, []
    while place < len(data):
        one = page(data, place, length)
        assert one.start == place < one.end
        texts.append(one.text)
        place = one.end
    assert "".join(texts) == data.decode(errors="backslashreplace")


@given(bodies, st.integers(1, 9))
def test_pages_at_fixed_places_neither_overlap_nor_leave_gaps(data: bytes, length: int) -> None:
    length += 3  # no page is smaller than a character
    pages = [text_page(data, start, length) for start in range(0, len(data), length)]
    ends = [0, *(page.end for page in pages)]
    assert [page.start for page in pages] == ends[:-1]
    assert ends[-1] == len(data)


@given(bodies, st.integers(1, 9))
def test_paging_backwards_makes_up_the_body(data: bytes, length: int) -> None:
    place, texts = len(data), []
    while place > 0:
        one = line_page_before(data, place, length)
        assert one.end == place > one.start
        texts.append(one.text)
        place = one.start
    assert "".join(reversed(texts)) == data.decode(errors="backslashreplace")


def test_page_ends_after_a_line_where_possible() -> None:
    data = b"one\ntwo\nthree\n"
    assert line_page(data, 0, 6) == TextPage("one\n", 0, 4)
    assert line_page(data, 8, 4) == TextPage("thre", 8, 12)
    assert line_page_before(data, 8, 6) == TextPage("two\n", 4, 8)


@given(bodies, st.integers(-5, 80), st.integers(-5, 80))
def test_offsets_outside_the_body_give_what_is_available(data: bytes, start: int, length: int) -> None:
    page = text_page(data, start, length)
    assert 0 <= page.start <= page.end <= len(data)
