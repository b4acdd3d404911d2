"""Server-sent events, checked against a reference parser."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from inspector.protocol.framing import EventStreamReader, EventTooLarge, ServerSentEvent

pieces = st.sampled_from(
    [
        *(b"data: one", b"data:two", b"data:  two spaces", b"data", b"data:", b"event: endpoint", b"event:"),
        *(
            b"id: 7",
            b"id",
            b"id: a\0b",
            b"retry: 1500",
            b"retry: soon",
            b"retry:",
            b": comment",
            b"unknown: x",
        ),
        *(b"\n", b"\n\n", b"\r\n", b"\r\n\r\n", b"\r", b"\r\r", b"\xff", b"\xef\xbb\xbf", b":"),
    ]
)
streams = st.lists(pieces, max_size=25).map(b"".join)


def reference(stream: bytes) -> list[ServerSentEvent]:
    """Parse the whole stream by HTML, section 9.2.6 "Interpreting an event stream"."""
    stream = stream.removeprefix(b"\xef\xbb\xbf")
    events: list[ServerSentEvent] = []
    data: list[bytes] = []
    event, id, retry = "", None, None
    for line in re.split(rb"\r\n|\r|\n", stream)[:-1]:  # a line needs a line end
        if not line:
            if data or id is not None or retry is not None:
                joined = b"\n".join(data) if data else None
                events.append(ServerSentEvent(joined, event or "message", id, retry))
            data, event, id, retry = [], "", None, None
        elif line.startswith(b":"):  # ignored there, shown here
            comment = line[2:] if line[1:2] == b" " else line[1:]
            events.append(ServerSentEvent(None, "", comment=comment.decode(errors="replace")))
        else:
            field, _, value = line.partition(b":")
            value = value[1:] if value[:1] == b" " else value
            if field == b"data":
                data.append(value)
            elif field == b"event":
                event = value.decode(errors="replace")
            elif field == b"id" and b"\0" not in value:
                id = value.decode(errors="replace")
            elif field == b"retry" and re.fullmatch(rb"[0-9]+", value):
                retry = int(value)
    return events


@given(streams, st.lists(st.integers(min_value=0), max_size=12))
@example(b"data: x\r\n\n", [8, 9])
@example(b"data: x\r\n\r\n", [8, 9, 10])
def test_parsed_events_match_the_spec_however_the_bytes_are_split(
    stream: bytes, locations: list[int]
) -> None:
    edges = [0, *sorted(location % (len(stream) + 1) for location in locations), len(stream)]
    reader = EventStreamReader()
    events = [event for start, end in itertools.pairwise(edges) for event in reader.feed(stream[start:end])]
    # A carriage return at the very end may be half of a line end; a reader must treat it as a whole one.
    assert events == reference(stream)


def test_event_with_only_an_id_has_no_data() -> None:
    assert EventStreamReader().feed(b"id: s1-0\nretry: 1500\n\n") == [
        ServerSentEvent(None, "message", "s1-0", 1500)
    ]


def test_the_priming_event_has_empty_data() -> None:
    assert EventStreamReader().feed(b"id: 1\ndata:\n\n") == [ServerSentEvent(b"", "message", "1")]


def test_data_lines_are_joined_with_line_feeds() -> None:
    (event,) = EventStreamReader().feed(b'data: {"a":\ndata: 1}\n\n')
    assert event.data == b'{"a":\n1}'


@pytest.mark.parametrize("stream", [b"data: 0123456789", b"data: 01234\ndata: 56789\n"])
def test_an_event_past_the_cap_is_refused_before_it_ends(stream: bytes) -> None:
    with pytest.raises(EventTooLarge, match="an event of more than 15 bytes"):
        EventStreamReader(cap=15).feed(stream)


def test_the_cap_counts_one_event_not_the_stream() -> None:
    reader = EventStreamReader(cap=15)
    assert sum(len(reader.feed(b"data: 1234\n\n")) for _ in range(100)) == 100


def test_comment_is_a_separate_event_before_the_surrounding_one() -> None:
    assert EventStreamReader().feed(b"data: 1\n: still here\ndata: 2\n\n") == [
        ServerSentEvent(None, "", comment="still here"),
        ServerSentEvent(b"1\n2"),
    ]


def test_comments_do_not_count_toward_the_cap() -> None:
    reader = EventStreamReader(cap=15)
    assert sum(len(reader.feed(b": ping\n")) for _ in range(100)) == 100


@pytest.mark.parametrize(
    ("stream", "unfinished"),
    [
        (b"data: 1\n\n", b""),
        (b"data: 1\n\n: ping\n", b""),
        (b"data: 1\n\ndata: 2\ndata: 3", b"2\ndata: 3"),
        (b"data: gr\xc3", b"data: gr\xc3"),
    ],
)
def test_unfinished_event_can_be_retrieved(stream: bytes, unfinished: bytes) -> None:
    reader = EventStreamReader()
    reader.feed(stream)
    assert reader.unfinished == unfinished
