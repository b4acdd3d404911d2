"""JSON Lines import: restores every column and byte of what `jsonlines.py` wrote.

A file may have been edited by hand: an unusable line is reported with its number and the others are read.
Links are made at the end, between the rows that were read.
"""

from __future__ import annotations

import base64
import binascii
from typing import NamedTuple, TypeVar

from inspector.base.json.values import JSON, JSONError, JSONObject, parse, to_wire
from inspector.traffic.export.imported_rows import MAX_REVISIONS, BadRow, server_number
from inspector.traffic.export.jsonlines import FORMAT, HTTP_SCALARS, VERSION
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, HttpExchange, RecordKind, RowNote, Status

# Status values of older versions.
_OLD_STATUSES = {"given_up": Status.NO_RESPONSE.name}
_LINKS = ("partner", "exchange", "operation", "resent_of")
_MAX_INTEGER = 2**63 - 1
T = TypeVar("T")


def version_problem(header: JSON) -> str | None:
    """Return why a file with this header cannot be read; "" if it can, None for a foreign file."""
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        return None
    version = header.get("version")
    return (
        "" if version == VERSION else f"it is version {version!r}, but this MCP Lens supports only {VERSION}"
    )


class JsonLinesReader:
    """Reads our own JSON Lines. Feed it every line after the first, then call `finish`."""

    def __init__(self, log: TrafficLog) -> None:
        self._log = log
        self._rows: dict[int, int] = {}  # by their numbers in the file
        self._links: list[tuple[int, str, int]] = []

    def line(self, line: bytes) -> None:
        """Add a row. Raises BadRow."""
        members = _object(line)
        # Parse everything before appending the row: an invalid line adds none.
        raw, late = _raw(members), _late_columns(members)
        number = _integer(members, "number", len(self._rows))
        links = [(name, _integer(members, name, -1)) for name in _LINKS if name in members]
        row = self._append(members, raw)
        self._set_late_columns(row, late)
        self._rows[number] = row
        self._links += [(row, *link) for link in links]

    def finish(self) -> int:
        """Create the links; return how many had no target."""
        lost = 0
        for row, name, number in self._links:
            target = self._rows.get(number)
            if target is None:
                lost += 1
            else:
                self._link(row, name, target)
        self._log.publish()
        return lost

    def _append(self, members: JSONObject, raw: bytes) -> int:
        log = self._log
        id = members.get("id")
        return log.append(
            server_number(log, _text(members, "server")),
            _enum_member(members, "kind", RecordKind),
            _enum_member(members, "direction", Direction, Direction.NONE),
            _integer(members, "monotonic_ns", 0),
            _integer(members, "wall_ns", 0),
            raw,
            _text(members, "method"),
            _text(members, "subject"),
            id if type(id) in (int, str) else None,  # type: ignore[arg-type]
            _text(members, "problem"),
            max(_integer(members, "size", len(raw)), 0),
            _revision_number(log, _text(members, "revision")),
        )

    def _set_late_columns(self, row: int, late: _LateColumns) -> None:
        if late.http is not None:
            self._log.set_http(row, late.http)
        self._log.columns.status[row] = late.status
        self._log.columns.duration[row] = late.duration
        if late.note != RowNote():
            self._log.set_note(row, late.note)

    def _link(self, row: int, name: str, target: int) -> None:
        match name:
            case "partner":
                self._log.columns.partner[row] = target
            case "exchange":
                self._log.set_carrier(row, target)
            case "operation":
                self._log.set_operation(row, target)
            case "resent_of":
                self._log.set_resent_of(row, target)


class _LateColumns(NamedTuple):
    """What a log learns of a row after it was appended."""

    http: HttpExchange | None
    status: Status
    duration: int
    note: RowNote


def _object(line: bytes) -> JSONObject:
    try:
        value = parse(line.decode())
    except (UnicodeDecodeError, JSONError) as exc:
        raise BadRow(f"it is not JSON: {exc}") from exc
    if not isinstance(value, dict):
        raise BadRow("it is not an object")
    return value


def _late_columns(members: JSONObject) -> _LateColumns:
    http = members.get("http")
    return _LateColumns(
        _exchange(http) if isinstance(http, dict) else None,
        _enum_member(members, "status", Status, Status.NONE),
        max(_integer(members, "duration_ns", -1), -1),
        RowNote(members.get("marked") is True, _text(members, "comment")),
    )


def _revision_number(log: TrafficLog, revision: str) -> int:
    is_full = revision not in log.revisions and len(log.revisions) >= MAX_REVISIONS
    return 0 if is_full else log.add_revision(revision)


def _raw(members: JSONObject) -> bytes:
    if "message" in members:
        return to_wire(members["message"])
    raw = members.get("raw")
    if isinstance(raw, str):
        return raw.encode(errors="surrogatepass")
    encoded = members.get("raw_base64")
    if not isinstance(encoded, str):
        raise BadRow('it has none of "message", "raw" and "raw_base64"')
    return _from_base64(encoded)


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as exc:
        raise BadRow(f"its Base64 data is invalid: {exc}") from exc


def _text(members: JSONObject, name: str) -> str:
    value = members.get(name)
    return value if isinstance(value, str) else ""


def _integer(members: JSONObject, name: str, default: int) -> int:
    value = members.get(name, default)
    if type(value) is not int or abs(value) > _MAX_INTEGER:
        raise BadRow(f'"{name}" is not an integer')
    return value


def _enum_member(members: JSONObject, name: str, enum: type[T], default: T | None = None) -> T:
    value = members.get(name)
    if value is None and default is not None:
        return default
    member = _OLD_STATUSES.get(value, value.upper()) if isinstance(value, str) else ""
    found: T | None = getattr(enum, member, None)
    if not isinstance(found, enum):
        raise BadRow(f'"{name}" has the unknown value {value!r}')
    return found


def _exchange(members: JSONObject) -> HttpExchange:
    known: dict[str, JSON] = {name: members[name] for name in HTTP_SCALARS if name in members}
    for name, default in (("method", ""), ("url", ""), ("http_version", ""), ("error", "")):
        if not isinstance(known.setdefault(name, default), str):
            raise BadRow(f'"{name}" of its HTTP exchange is not a string')
    known.setdefault("request_size", 0)
    known["is_over"] = known.get("is_over") is True
    for name, value in known.items():
        is_number = name not in ("method", "url", "http_version", "error", "is_over")
        if is_number and not (type(value) is int and abs(value) <= _MAX_INTEGER):
            raise BadRow(f'"{name}" of its HTTP exchange is not an integer')
    return HttpExchange(
        request_headers=_headers(members.get("request_headers")),
        response_headers=_headers(members.get("response_headers")),
        body=_from_base64(_text(members, "body_base64")),
        **known,  # type: ignore[arg-type]
    )


def _headers(value: JSON) -> tuple[tuple[str, str], ...]:
    pairs = value if isinstance(value, list) else []
    return tuple((str(pair[0]), str(pair[1])) for pair in pairs if isinstance(pair, list) and len(pair) == 2)
