"""HAR import: our own files, and those of browsers and proxies.

Only hosts with at least one JSON-RPC entry are imported. Each of their entries becomes an HTTP row
(errors, logins and `.well-known` requests are part of the story), and its JSON-RPC bodies and event
streams become messages on that row. Requests and responses are recorded in order of time.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.framing import EventStreamReader, EventTooLarge, ServerSentEvent
from inspector.protocol.jsonrpc import Kind, read
from inspector.traffic.export.har import header
from inspector.traffic.export.imported_rows import BadRow, MessageReplay, read_time
from inspector.traffic.log import TrafficLog
from inspector.traffic.recorder import comment_text, event_text
from inspector.traffic.records import Direction, HttpExchange

_MAX_BODY_SIZE = 64 * 1024
_MAX_EVENT_SIZE = 2048
_EVENT_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")


@dataclass(slots=True)
class _Entry:
    """A HAR entry, converted."""

    number: int
    server: str
    origin: str
    started: int
    exchange: HttpExchange
    sent: bytes
    received: bytes

    @property
    def ended(self) -> int:
        return self.started + (self.exchange.total_ns or 0)

    @property
    def is_stream(self) -> bool:
        mime = header(self.exchange.response_headers, "content-type")
        return "text/event-stream" in mime or self.received.startswith(_EVENT_FIELDS)

    @property
    def uses_mcp(self) -> bool:
        if _is_json_rpc(self.sent) or _is_json_rpc(self.received):
            return True
        return self.is_stream and b'"jsonrpc"' in self.received


class HarReader:
    """Reads a parsed HAR file. `problems` lists the entries that could not be used."""

    def __init__(self, log: TrafficLog, document: JSON) -> None:
        self.problems: list[str] = []
        self._replay = MessageReplay(log)
        self._entries = list(self._read(document))

    def steps(self) -> Iterator[int]:
        """Do the work; yield the number of half entries done."""
        origins = {entry.origin for entry in self._entries if entry.uses_mcp}
        used = [entry for entry in self._entries if entry.origin in origins]
        if len(used) < len(self._entries):
            count = len(self._entries) - len(used)
            self.problems.append(
                f"{count:,} of {len(self._entries):,} entries omitted: their hosts do not use MCP."
            )
        halves = [(entry.started, 0, entry.number, entry) for entry in used]
        halves += [(entry.ended, 1, entry.number, entry) for entry in used]
        for done, (wall, is_response, _, entry) in enumerate(sorted(halves, key=lambda half: half[:3]), 1):
            self._replay.clock.set(wall)
            try:
                (self._response if is_response else self._request)(entry)
            except BadRow as exc:
                self.problems.append(f"Entry {entry.number}: {exc}.")
            yield done

    def _read(self, document: JSON) -> Iterator[_Entry]:
        for number, value in enumerate(entries_of(document) or [], 1):
            try:
                yield _entry(number, value)
            except ValueError as exc:
                self.problems.append(f"Entry {number}: {exc}.")

    def _request(self, entry: _Entry) -> None:
        clock, recorder = self._replay.clock, self._replay.recorder(entry.server)
        carried = -1
        if entry.sent.lstrip()[:1] in (b"{", b"["):
            carried = self._replay.add(entry.server, entry.sent, Direction.OUT)
        at, wall = clock.monotonic_ns(), clock.wall_ns()
        recorder.http.requested(entry.number, entry.exchange, at, wall, carried)

    def _response(self, entry: _Entry) -> None:
        recorder = self._replay.recorder(entry.server)
        if entry.is_stream:
            self._stream(entry)
        elif _is_json_rpc(entry.received):
            self._replay.add(entry.server, entry.received, Direction.IN, entry.number)
        else:
            recorder.http.update(entry.number, body=entry.received[:_MAX_BODY_SIZE])

    def _stream(self, entry: _Entry) -> None:
        """Add the events of a stream. The file has no time per event: all get that of the end."""
        recorder, clock = self._replay.recorder(entry.server), self._replay.clock
        try:
            events = EventStreamReader().feed(entry.received + b"\n\n")
        except EventTooLarge as exc:
            self.problems.append(f"Entry {entry.number}: its event stream contains {exc}.")
            return
        for event in events:
            recorder.http.event(entry.number, _event_text(event), clock.monotonic_ns(), clock.wall_ns())
            if event.data and (event.event == "message" or _is_json_rpc(event.data)):
                self._replay.add(entry.server, event.data, Direction.IN, entry.number)


def entries_of(document: JSON) -> list[JSON] | None:
    """Return the entries of a HAR; None if it is not one."""
    log = document.get("log") if isinstance(document, dict) else None
    entries = log.get("entries") if isinstance(log, dict) else None
    return entries if isinstance(entries, list) else None


def _entry(number: int, value: JSON) -> _Entry:
    entry = _object(value, "it is not an object")
    request = _object(entry.get("request"), 'it has no "request"')
    response = _object(entry.get("response", {}), 'its "response" is not an object')
    url = str(request.get("url", ""))
    parts = urlsplit(url)
    if not parts.netloc:
        raise ValueError(f"its URL {url[:100]!r} has no host")
    started = read_time(entry.get("startedDateTime"))
    ours = entry.get("_mcp")
    server = ours.get("server") if isinstance(ours, dict) else None
    return _Entry(
        number,
        server if isinstance(server, str) and server else parts.netloc.rpartition("@")[2],
        f"{parts.scheme}://{parts.netloc}",
        0 if started is None else started,
        _exchange(entry, request, response, url),
        _post_data(request),
        _content(response),
    )


def _exchange(entry: JSONObject, request: JSONObject, response: JSONObject, url: str) -> HttpExchange:
    timings = entry.get("timings")
    timings = timings if isinstance(timings, dict) else {}
    connect, tls = _nanoseconds(timings.get("connect")), _nanoseconds(timings.get("ssl"))
    status = response.get("status")
    return HttpExchange(
        str(request.get("method", "")),
        url,
        _headers(request),
        _size(request),
        status=status if type(status) is int and 0 < status < 1000 else None,
        http_version=str(response.get("httpVersion", "")),
        response_headers=_headers(response),
        response_size=_size(response),
        dns_ns=_nanoseconds(timings.get("dns")),
        connect_ns=connect if connect is None or tls is None else max(connect - tls, 0),
        tls_ns=tls,
        first_byte_ns=_nanoseconds(timings.get("wait")),
        total_ns=_nanoseconds(entry.get("time")) or 0,
        error=str(response.get("comment") or response.get("_error") or ""),
        is_over=True,
    )


def _post_data(request: JSONObject) -> bytes:
    data = request.get("postData")
    text = data.get("text") if isinstance(data, dict) else None
    return text.encode(errors="replace") if isinstance(text, str) else b""


def _content(response: JSONObject) -> bytes:
    content = response.get("content")
    text = content.get("text") if isinstance(content, dict) else None
    if not isinstance(content, dict) or not isinstance(text, str):
        return b""
    if content.get("encoding") != "base64":
        return text.encode(errors="replace")
    try:
        return base64.b64decode(text)
    except (binascii.Error, ValueError) as exc:
        raise ValueError(f"its Base64 data is invalid: {exc}") from exc


def _object(value: JSON, problem: str) -> JSONObject:
    if not isinstance(value, dict):
        raise ValueError(problem)
    return value


def _headers(message: JSONObject) -> tuple[tuple[str, str], ...]:
    headers = message.get("headers")
    pairs = [pair for pair in headers if isinstance(pair, dict)] if isinstance(headers, list) else []
    return tuple((str(pair.get("name", "")), str(pair.get("value", ""))) for pair in pairs)


def _size(message: JSONObject) -> int:
    size = message.get("bodySize")
    return size if type(size) is int and 0 <= size < 2**62 else 0


def _nanoseconds(milliseconds: JSON) -> int | None:
    if not isinstance(milliseconds, int | float) or not 0 <= milliseconds < 1e12:
        return None  # -1: does not apply
    return round(milliseconds * 1_000_000)


def _is_json_rpc(body: bytes) -> bool:
    if body.lstrip()[:1] not in (b"{", b"[") or b'"jsonrpc"' not in body:
        return False
    return read(body).kind not in (Kind.INVALID, Kind.TEXT)


def _event_text(event: ServerSentEvent) -> str:
    if not event.event:
        return comment_text(event.comment)
    data = event.data or b""
    is_message = event.event == "message" or _is_json_rpc(data)
    shown = None if is_message else data[:_MAX_EVENT_SIZE]
    return event_text(event.event, event.id, event.retry_ms, shown, len(data))
