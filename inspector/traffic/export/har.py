"""HTTP traffic as HAR 1.2, which browsers and HTTP tools can open.

One entry per exchange, with bodies assembled from the messages it carried. Rows without HTTP cannot be
represented: they are counted in `log.comment` and returned. `_mcp` in an entry holds the server and the
rows of the log. Unknown times are -1 where HAR allows that, else 0.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlsplit

from inspector.base.json.values import JSON, JSONObject, to_wire
from inspector.traffic.export.jsonlines import time_text
from inspector.traffic.export.writer import (
    APP,
    APP_VERSION,
    CarriedMessages,
    Dropped,
    ExportSteps,
    Numbering,
    Sink,
    carried_by_exchange,
    noun,
    request_body,
    response_body,
)
from inspector.traffic.log import TrafficLog
from inspector.traffic.masking.masker import NO_MASKING, Masker
from inspector.traffic.records import HttpExchange, RecordKind

_Headers = tuple[tuple[str, str], ...]


def write_har(log: TrafficLog, rows: Iterable[int], sink: Sink, masker: Masker = NO_MASKING) -> ExportSteps:
    """Write the exchanges that these rows are, or were carried by; each whole, and once."""
    numbering, carried = Numbering(rows), carried_by_exchange(log)
    dropped: Counter[str] = Counter()
    written: set[int] = set()
    creator: JSON = {"name": APP, "version": APP_VERSION}
    sink.write(b'{"log":{"version":"1.2","creator":' + to_wire(creator) + b',"entries":[')
    for done, row in enumerate(numbering.rows, 1):
        number, exchange = _carrier(log, row), log.http(row)
        if exchange is None:
            dropped[noun(log, row)] += 1
        elif number not in written:
            sink.write(b",\n" if written else b"\n")
            written.add(number)
            entry = _Entry(log, number, exchange, carried.get(number, CarriedMessages()), masker)
            for piece in entry.pieces():
                sink.write(piece)
                yield done - 1
        yield done
    sink.write(b'],"comment":' + to_wire(_comment(Dropped(dropped), masker)) + b"}}\n")
    return Dropped(dropped)


def _carrier(log: TrafficLog, row: int) -> int:
    exchange = log.exchange(row)
    return row if exchange is None or log.kind(row) == RecordKind.HTTP else exchange


def _comment(dropped: Dropped, masker: Masker) -> str:
    parts = []
    if dropped:
        parts.append(f"Omitted (not HTTP): {dropped}.")
    if masker.items:
        names = ", ".join(item.placeholder for item in masker.items[:50])
        parts.append(
            f"Masked: {len(masker.items)} secrets ({names}{', …' if len(masker.items) > 50 else ''})."
        )
    return " ".join(parts)


class _Entry:
    """An exchange as a HAR entry."""

    def __init__(
        self, log: TrafficLog, row: int, exchange: HttpExchange, carried: CarriedMessages, masker: Masker
    ) -> None:
        self._log = log
        self._row = row
        self._carried = carried
        self._masker = masker
        self._raw = exchange
        self._exchange = masker.exchange(exchange)

    def pieces(self) -> Iterator[bytes]:
        """Yield the entry's text; empty pieces while a long body is being processed."""
        sent = yield from self._masked(request_body(self._log, self._carried))
        received = yield from self._masked(response_body(self._log, self._raw, self._carried))
        yield to_wire(self._members(sent, received))

    def _masked(self, body: bytes) -> Generator[bytes, None, bytes]:
        pieces = []
        for piece in self._masker.pieces(body):
            pieces.append(piece)
            yield b""
        return b"".join(pieces)

    def _members(self, sent: bytes, received: bytes) -> JSONObject:
        timings = _timings(self._exchange)
        rows: JSONObject = {
            "server": self._masker.text(self._log.server_name(self._row)),
            "row": self._row,
            "requestRows": [*self._carried.sent],
            "responseRows": [*self._carried.received],
        }
        return {
            "startedDateTime": time_text(self._log.wall_ns(self._row)),
            "time": sum(value for name, value in timings.items() if value >= 0 and name != "ssl"),
            "request": _request(self._exchange, sent),
            "response": _response(self._exchange, received),
            "cache": {},
            "timings": {**timings},
            "_mcp": rows,
        }


def _request(exchange: HttpExchange, body: bytes) -> JSONObject:
    members: JSONObject = {
        "method": exchange.method,
        "url": exchange.url,
        "httpVersion": exchange.http_version,
        "cookies": _cookies(exchange.request_headers, "cookie"),
        "headers": _pairs(exchange.request_headers),
        "queryString": _pairs(_query(exchange.url)),
        "headersSize": -1,
        "bodySize": exchange.request_size,
    }
    if body:
        mime = header(exchange.request_headers, "content-type")
        members["postData"] = {"mimeType": mime, "text": body.decode(errors="replace")}
    return members


def _response(exchange: HttpExchange, body: bytes) -> JSONObject:
    content: JSONObject = {
        "size": len(body),
        "mimeType": header(exchange.response_headers, "content-type") or "x-unknown",
    }
    members: JSONObject = {
        "status": exchange.status or 0,  # as browsers write it if there was no response
        "statusText": _status_text(exchange.status),
        "httpVersion": exchange.http_version,
        "cookies": _cookies(exchange.response_headers, "set-cookie"),
        "headers": _pairs(exchange.response_headers),
        "content": content | _content_text(body),
        "redirectURL": header(exchange.response_headers, "location"),
        "headersSize": -1,
        "bodySize": exchange.response_size,
    }
    return members | ({"comment": exchange.error} if exchange.error else {})


def _content_text(body: bytes) -> JSONObject:
    if not body:
        return {}
    try:
        return {"text": body.decode()}
    except UnicodeDecodeError:
        return {"text": base64.b64encode(body).decode(), "encoding": "base64"}


def _timings(exchange: HttpExchange) -> dict[str, float]:
    """Return the timings in milliseconds.

    HAR includes TLS in `connect`. The time to send the request is part of `receive`.
    """
    connect = None if exchange.connect_ns is None else exchange.connect_ns + (exchange.tls_ns or 0)
    before = (exchange.dns_ns or 0) + (connect or 0)
    rest = max((exchange.total_ns or 0) - before, 0)
    wait = min(rest, exchange.first_byte_ns) if exchange.first_byte_ns is not None else rest
    return {
        "dns": _milliseconds(exchange.dns_ns),
        "connect": _milliseconds(connect),
        "ssl": _milliseconds(exchange.tls_ns),
        "send": 0,
        "wait": _milliseconds(wait),
        "receive": _milliseconds(rest - wait),
    }


def _milliseconds(nanoseconds: int | None) -> float:
    return -1 if nanoseconds is None else nanoseconds / 1_000_000


def header(headers: _Headers, name: str) -> str:
    """Return the first header of this (lower-case) name; "" if there is none."""
    return next((value for given, value in headers if given.lower() == name), "")


def _pairs(pairs: Iterable[tuple[str, str]]) -> JSON:
    return [{"name": name, "value": value} for name, value in pairs]


def _query(url: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(urlsplit(url).query, keep_blank_values=True)
    except ValueError:
        return []


def _cookies(headers: _Headers, name: str) -> JSON:
    jar: SimpleCookie = SimpleCookie()
    for given, value in headers:
        if given.lower() == name:
            try:
                jar.load(value)
            except CookieError:
                continue  # the header itself is included anyway
    return [{"name": cookie.key, "value": cookie.value} for cookie in jar.values()]


def _status_text(status: int | None) -> str:
    try:
        return HTTPStatus(status or 0).phrase
    except ValueError:
        return ""
