"""Traffic as JSON Lines: lossless, one row per line; `jsonlines_reader.py` reads it back.

The first line describes the file: `format`, `version`, `app`, the number of `rows`, and what was
`masked`. Every other line is a row:

    number          of the row in this file, from 0
    partner, exchange, operation, resent_of         numbers of other rows in this file
    time            for people; `wall_ns` and `monotonic_ns` are exact
    server, kind, direction ("out" is to the server), method, subject, id, status, duration_ns, size,
    problem, revision, marked, comment              omitted if empty
    http            of an HTTP exchange: method, url, headers, status, timings, …
    message         the message as JSON, if compact serialization gives exactly the wire's bytes;
    raw             otherwise, the bytes as text
    raw_base64      otherwise (not UTF-8), the bytes in Base64
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from json.encoder import encode_basestring

from inspector.base.json.values import JSON, JSONError, JSONObject, to_wire
from inspector.traffic.export.writer import APP, APP_VERSION, Dropped, ExportSteps, Numbering, Sink
from inspector.traffic.log import TrafficLog
from inspector.traffic.masking.masker import NO_MASKING, Masker
from inspector.traffic.records import Direction, HttpExchange, Record, Status

FORMAT = "mcp-lens-traffic"
VERSION = 1
HTTP_SCALARS = tuple(
    name for name in HttpExchange._fields if name not in ("request_headers", "response_headers", "body")
)
_LARGE = 64 * 1024  # such bodies are written as text in pieces instead of being parsed
_PIECE = 256 * 1024


def write_json_lines(
    log: TrafficLog, rows: Iterable[int], sink: Sink, masker: Masker = NO_MASKING
) -> ExportSteps:
    """Write these rows. Dropped: links to rows that are not among them."""
    numbering = Numbering(rows)
    sink.write(to_wire(_header(log, numbering, masker)) + b"\n")
    dropped: Counter[str] = Counter()
    for number, row in enumerate(numbering.rows):
        members = _members(log, row, number, masker) | _links(log, row, numbering, dropped)
        sink.write(to_wire(members)[:-1])
        for piece in _body(log.raw(row), masker):
            sink.write(piece)
            yield number
        sink.write(b"}\n")
        yield number + 1
    return Dropped(dropped)


def time_text(wall_ns: int) -> str:
    """Format a time: 2026-11-16T14:03:07.482193512Z."""
    try:
        moment = datetime.fromtimestamp(wall_ns // 1_000_000_000, UTC)
    except (ValueError, OverflowError, OSError):  # the years after 9999
        moment = datetime.fromtimestamp(0, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{wall_ns % 1_000_000_000:09d}Z"


def _header(log: TrafficLog, numbering: Numbering, masker: Masker) -> JSONObject:
    cut = sum(log.kept(row) < log.size(row) and log.kept(row) > 0 for row in numbering.rows)
    return {
        "format": FORMAT,
        "version": VERSION,
        "app": f"{APP} {APP_VERSION}",
        "rows": len(numbering),
        "recorded_rows": len(log),
        "cut_rows": cut,  # too long to be kept whole when they were recorded
        "masked": [
            {"placeholder": item.placeholder, "where": item.where, "count": item.count}
            for item in masker.items
        ],
    }


def _members(log: TrafficLog, row: int, number: int, masker: Masker) -> JSONObject:
    record, note = log.record(row), log.note(row)
    members: JSONObject = {
        "number": number,
        "time": time_text(record.wall_ns),
        "wall_ns": record.wall_ns,
        "monotonic_ns": record.monotonic_ns,
        "server": masker.text(record.server),
        "kind": record.kind.name.lower(),
        "size": record.size,
    }
    members |= {name: value for name, value in _optional(record, masker).items() if value not in ("", None)}
    if record.id is not None:
        members["id"] = masker.text(record.id) if isinstance(record.id, str) else record.id
    if note.is_marked:
        members["marked"] = True
    if note.comment:
        members["comment"] = masker.text(note.comment)
    exchange = log.http(row) if record.exchange is None else None
    if exchange is not None:
        members["http"] = _http(masker.exchange(exchange))
    return members


def _optional(record: Record, masker: Masker) -> JSONObject:
    return {
        "direction": record.direction.name.lower() if record.direction is not Direction.NONE else "",
        "method": masker.text(record.method),
        "subject": masker.text(record.subject),
        "problem": masker.text(record.problem),
        "status": record.status.name.lower() if record.status is not Status.NONE else "",
        "duration_ns": record.duration_ns,
        "revision": record.revision,
    }


def _links(log: TrafficLog, row: int, numbering: Numbering, dropped: Counter[str]) -> JSONObject:
    links = {
        "partner": log.partner(row),
        "exchange": log.exchange(row),
        "operation": log.operation(row),
        "resent_of": log.resent_of(row),
    }
    members: JSONObject = {}
    for name, target in links.items():
        number = numbering.of(target)
        if number is not None:
            members[name] = number
        elif target is not None:
            dropped["link to a row outside the export"] += 1
    return members


def _http(exchange: HttpExchange) -> JSONObject:
    members: JSONObject = {name: getattr(exchange, name) for name in HTTP_SCALARS}
    members["request_headers"] = [[*pair] for pair in exchange.request_headers]
    members["response_headers"] = [[*pair] for pair in exchange.response_headers]
    members["body_base64"] = base64.b64encode(exchange.body).decode()
    return {name: value for name, value in members.items() if value not in (None, "", [])}


def _body(raw: bytes, masker: Masker) -> Iterator[bytes]:
    """Yield the last member of a line, after a comma."""
    if len(raw) > _LARGE:
        pieces = []
        for piece in masker.pieces(raw):
            pieces.append(piece)
            yield b""
        yield from _as_text(b"".join(pieces))
        return
    masked = masker.body(raw)
    if is_canonical(masked):
        yield b',"message":' + masked
    else:
        yield from _as_text(masked)


def is_canonical(raw: bytes) -> bool:
    """True if parsing and writing gives the same bytes. Strict JSON only: no NaN."""
    try:
        return to_wire(_strict.decode(raw.decode())) == raw
    except (ValueError, RecursionError, JSONError):
        return False


def _as_text(raw: bytes) -> Iterator[bytes]:
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        yield b',"raw_base64":"' + base64.b64encode(raw) + b'"'
        return
    yield b',"raw":"'
    for start in range(0, len(text), _PIECE):
        yield encode_basestring(text[start : start + _PIECE])[1:-1].encode()
    yield b'"'


def _refuse(constant: str) -> JSON:
    raise ValueError(constant)


_strict = json.JSONDecoder(parse_constant=_refuse)
