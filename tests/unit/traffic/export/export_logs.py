"""Logs for export tests: HTTP traffic, stdio traffic, and random logs."""

from __future__ import annotations

from io import BytesIO

from hypothesis import strategies as st

from inspector.base.json.values import to_wire
from inspector.protocol import jsonrpc
from inspector.traffic.export.writer import Dropped, ExportSteps
from inspector.traffic.log import TrafficLog
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import Direction, HttpExchange, RecordKind, RowNote, Status
from tests.helpers.exports import run_export
from tests.helpers.fakes import FakeClock

TOKEN = "tok-4711-abcdef"
URL = "https://example.org/mcp?tenant=a"
HEADERS = (
    ("Authorization", f"Bearer {TOKEN}"),
    ("Content-Type", "application/json"),
    ("Cookie", "a=b1; c=d2"),
)
JSON_HEADERS = (("content-type", "application/json"),)
STREAM_HEADERS = (("content-type", "text/event-stream"), ("set-cookie", "sid=x; Path=/"))


class Conversation:
    """Records the messages of a test with a fake clock."""

    def __init__(self, server: str = "srv") -> None:
        self.log = TrafficLog()
        self.clock = FakeClock()
        self.recorder = Recorder(self.log, server, self.clock)
        self._exchanges = 0

    def post(
        self, message: jsonrpc.Message, url: str = URL, headers: tuple[tuple[str, str], ...] = HEADERS
    ) -> int:
        """Send a message over HTTP; give the number of the exchange."""
        self.clock.advance(0.001)
        row = self.recorder.sent(message)
        self._exchanges += 1
        exchange = HttpExchange("POST", url, headers, len(message.raw))
        at, wall = self.clock.monotonic_ns(), self.clock.wall_ns()
        self.recorder.http.requested(self._exchanges, exchange, at, wall, row)
        return self._exchanges

    def responded(self, number: int, *frames: bytes, stream: bool = False, body: bytes = b"") -> None:
        self.clock.advance(0.012)
        headers = STREAM_HEADERS if stream else JSON_HEADERS
        self.recorder.http.update(number, status=200, http_version="HTTP/1.1", response_headers=headers)
        at, wall = self.clock.monotonic_ns(), self.clock.wall_ns()
        for event, frame in enumerate(frames if stream else ()):
            text = f"event: message  id: {event}  ({len(frame):,} bytes of data)"
            self.recorder.http.event(number, text, at, wall)
        self.recorder.received([jsonrpc.read(frame) for frame in frames], at, exchange=number)
        self.recorder.http.update(
            number,
            response_size=sum(map(len, frames)),
            dns_ns=1_000_000,
            connect_ns=2_000_000,
            tls_ns=3_000_000,
            first_byte_ns=4_000_000,
            total_ns=12_000_000,
            body=body,
            is_over=True,
        )


def http_log() -> TrafficLog:
    """Calls with a JSON response, a stream, and an HTML page as the response; and a note on a row."""
    conversation = Conversation()
    conversation.recorder.note(RecordKind.STATE, "connecting")
    params = {"name": "echo", "arguments": {"text": f"say {TOKEN}"}}
    first = conversation.post(jsonrpc.request(1, "tools/call", params))  # type: ignore[arg-type]
    conversation.responded(first, jsonrpc.result(1, {"content": [{"type": "text", "text": TOKEN}]}).raw)
    second = conversation.post(jsonrpc.request("b", "tools/list"))
    progress = (
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1.50}}'
    )
    conversation.responded(second, progress, jsonrpc.result("b", {"tools": []}).raw, stream=True)
    conversation.responded(
        conversation.post(jsonrpc.notification("notifications/initialized")), body=b"<html>\xff</html>"
    )
    conversation.recorder.stderr([b"a line", b"\xff\xfe"], conversation.clock.monotonic_ns())
    conversation.log.set_note(1, RowNote(True, "look at this"))
    return conversation.log


def written(steps: ExportSteps, sink: BytesIO) -> tuple[bytes, Dropped]:
    dropped = run_export(steps)
    return sink.getvalue(), dropped


texts = st.text(max_size=12)
header_lists = st.lists(st.tuples(texts, texts), max_size=3).map(tuple)
nanoseconds = st.none() | st.integers(0, 2**60)
exchanges = st.builds(
    HttpExchange,
    method=texts,
    url=texts,
    request_headers=header_lists,
    request_size=st.integers(0, 2**40),
    status=st.none() | st.integers(100, 599),
    http_version=texts,
    response_headers=header_lists,
    response_size=st.integers(0, 2**40),
    dns_ns=nanoseconds,
    connect_ns=nanoseconds,
    tls_ns=nanoseconds,
    first_byte_ns=nanoseconds,
    total_ns=nanoseconds,
    error=texts,
    body=st.binary(max_size=20),
    is_over=st.booleans(),
)
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
bodies = (
    st.binary(max_size=40)
    | values.map(to_wire)
    | st.sampled_from(
        [b'{"a": 1}', b'{"a":1.10}', b"[NaN]", b'{"a":1,"a":2}', b'{"b":"\\u0041"}', b"1e400", b""]
    )
)


@st.composite
def logs(draw: st.DrawFn) -> TrafficLog:
    """Rows of any content, with links between any of them."""
    log = TrafficLog()
    count = draw(st.integers(0, 6))
    for _ in range(count):
        _append(draw, log)
    rows = st.integers(0, max(count - 1, 0))
    for row in range(count):
        log.columns.status[row] = draw(st.sampled_from(Status))
        log.columns.partner[row] = draw(rows | st.just(-1))
        if draw(st.booleans()):
            log.set_operation(row, draw(rows))
        if draw(st.booleans()):
            log.set_resent_of(row, draw(rows))
        if log.kind(row) == RecordKind.HTTP:
            log.set_http(row, draw(exchanges))
        elif draw(st.booleans()):
            log.set_carrier(row, draw(rows))
        if draw(st.booleans()):
            log.set_note(row, RowNote(draw(st.booleans()), draw(texts)))
    log.publish()
    return log


def _append(draw: st.DrawFn, log: TrafficLog) -> None:
    raw = draw(bodies)
    log.append(
        log.add_server(draw(texts)),
        draw(st.sampled_from(RecordKind)),
        draw(st.sampled_from(Direction)),
        draw(st.integers(0, 2**62)),
        draw(st.integers(0, 2**62)),
        raw,
        draw(texts),
        draw(texts),
        draw(st.none() | st.integers(-(2**70), 2**70) | texts),
        draw(texts),
        len(raw) + draw(st.integers(0, 5)),
        log.add_revision(draw(st.sampled_from(["", "2025-11-25", "2026-07-28"]))),
    )
