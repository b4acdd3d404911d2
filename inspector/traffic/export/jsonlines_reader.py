"""JSON Lines import: our own format exactly as written, and logs of other tools.

Our own files restore every column and byte. They may have been edited by hand: an unusable line is
reported with its number and the others are read. Links are made at the end, between the rows that were
read.

A line of another tool may be

- a JSON-RPC message, or a batch of them: its bytes are kept as they are;
- an object with the message in a member: `message`, `msg`, `frame`, `payload`, `json`, `data`, `raw`,
  `body`, `rpc` or `content`, as JSON or as a string of JSON. Beside it, any of
  - the direction, in `direction`, `dir`, `from`, `source`, `sender`, `side` or `type`: "client",
    "client->server", "fromClient", "stdin", "out", "sent", ">" and the like;
  - the time, in `time`, `timestamp`, `ts`, `at`, `date` or `wall_ns`: ISO 8601, or a number of seconds,
    milliseconds, microseconds or nanoseconds since 1970;
  - the server, in `server`, `server_name`, `serverName` or `peer`.

A missing direction is derived from the method, or from the request that a response belongs to. "in" and
"out" are taken as the client's; if a message would then come from the wrong side, the file was written on
the server's side and is read the other way round.

Foreign messages go through the recorder for live traffic, with a clock set from the file, so that
responses are paired and rows get their subjects and states in the same way.
"""

from __future__ import annotations

import base64
import binascii
import re
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from inspector.base.json.values import JSON, JSONError, JSONObject, parse, to_wire
from inspector.protocol.jsonrpc import Kind, Message, RequestId, read
from inspector.protocol.revisions import METHODS, Side
from inspector.traffic.analysis.time_axis import MAX_POSITION
from inspector.traffic.export.jsonlines import FORMAT, HTTP_SCALARS, VERSION
from inspector.traffic.log import TrafficLog
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import Direction, HttpExchange, RecordKind, RowNote, Status

_BODIES = ("message", "msg", "frame", "payload", "json", "data", "raw", "body", "rpc", "content")
_DIRECTIONS = ("direction", "dir", "from", "source", "sender", "side", "type")
_TIMES = ("time", "timestamp", "ts", "at", "date", "wall_ns")
_SERVERS = ("server", "server_name", "serverName", "peer")
_NANOSECONDS = (
    (1e17, 1),
    (1e14, 1000),
    (1e11, 1_000_000),
    (0, 1_000_000_000),
)  # minimum value: nanoseconds per unit
_MAX_NAME_LENGTH = 200
_FROM_CLIENT = re.compile(r"(?:from[_ -]?)?(?:client|host|c2s|stdin)|to[_ -]?server|>|→", re.IGNORECASE)
_FROM_SERVER = re.compile(r"(?:from[_ -]?)?(?:server|agent|s2c|stdout)|to[_ -]?client|<|←", re.IGNORECASE)
_OUT = re.compile(r"(?:out(?:bound|going|put)?|sen[dt]|tx|writ(?:e|ten)|egress)\b", re.IGNORECASE)
_IN = re.compile(r"(?:in(?:bound|coming|put)?|rec(?:v|eived?)|rx|read|ingress)\b", re.IGNORECASE)


class ForeignJsonLinesReader:
    """Reads JSON Lines of other tools. Feed it every line, then call `finish`."""

    def __init__(self, log: TrafficLog, server: str, wall_ns: int) -> None:
        """Create a reader; `server` and `wall_ns` are defaults for lines without them."""
        self._open_session = MessageReplay(log, wall_ns)
        self._server = server
        self._is_servers_view: bool | None = None

    def line(self, line: bytes) -> None:
        """Add a row. Raises BadRow."""
        try:
            value = parse(line.decode())
        except (UnicodeDecodeError, JSONError) as exc:
            raise BadRow(f"it is not JSON: {exc}") from exc
        self.item(value, line.strip())

    def item(self, value: JSON, raw: bytes | None = None) -> None:
        """Add the rows of an already parsed value."""
        if _is_message(value) or (isinstance(value, list) and value and all(map(_is_message, value))):
            self._add({}, to_wire(value) if raw is None else raw)
        elif isinstance(value, list):
            for item in value:
                self.item(item)
        elif isinstance(value, dict):
            self._add(value, _wrapped(value))
        else:
            raise BadRow("it is not an object")

    def finish(self) -> int:
        return 0

    def _add(self, around: JSONObject, raw: bytes) -> None:
        server = next((name for name in _texts(around, _SERVERS) if name), self._server)[:_MAX_NAME_LENGTH]
        self._set_time(around)
        message = read(raw)
        direction = self._direction(around, message) or self._open_session.likely_direction(server, message)
        self._open_session.add(server, raw, direction)

    def _set_time(self, around: JSONObject) -> None:
        times = (read_time(around[name]) for name in _TIMES if name in around)
        wall = next((time for time in times if time is not None), None)
        if wall is not None:
            self._open_session.clock.set(wall)

    def _direction(self, around: JSONObject, message: Message) -> Direction | None:
        for word in _texts(around, _DIRECTIONS):
            for pattern, direction in ((_FROM_CLIENT, Direction.OUT), (_FROM_SERVER, Direction.IN)):
                if pattern.match(word):
                    return direction
            for pattern, direction in ((_OUT, Direction.OUT), (_IN, Direction.IN)):
                if pattern.match(word):
                    return self._relative(direction, message)
        return None

    def _relative(self, direction: Direction, message: Message) -> Direction:
        must = sender_of(message)
        if self._is_servers_view is None and must is not None:
            self._is_servers_view = must is not direction
        if not self._is_servers_view:
            return direction
        return Direction.IN if direction is Direction.OUT else Direction.OUT


def read_time(value: JSON) -> int | None:
    """Parse a time in any common notation to nanoseconds since 1970; None if it is not one."""
    if isinstance(value, str):
        return _iso_time(value)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 2**63:
        return None
    nanoseconds = next(factor for minimum, factor in _NANOSECONDS if value >= minimum)
    return min(round(value * nanoseconds), 2**63 - 1)


def _iso_time(text: str) -> int | None:
    match = re.fullmatch(r"(.{19})[.,](\d{1,9})(\D.*)?", text)
    whole = f"{match[1]}{match[3] or ''}" if match else text
    try:
        moment = datetime.fromisoformat(whole)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    rest = int(match[2].ljust(9, "0")) if match else moment.microsecond * 1000
    nanoseconds = round(moment.replace(microsecond=0).timestamp()) * 1_000_000_000 + rest
    return nanoseconds if abs(nanoseconds) < 2**63 else None


def _is_message(value: JSON) -> bool:
    if not isinstance(value, dict):
        return False
    return "jsonrpc" in value or ("id" in value and ("method" in value or "result" in value))


def _wrapped(value: JSONObject) -> bytes:
    """Return the message that an object wraps."""
    for name in _BODIES:
        inner = value.get(name)
        if isinstance(inner, dict | list) and inner:
            return to_wire(inner)
        if isinstance(inner, str) and inner.lstrip()[:1] in ("{", "["):
            return inner.strip().encode(errors="replace")
    raise BadRow(f"it contains no message: it has {', '.join(value)[:100] or 'no members'}")


def _texts(around: JSONObject, names: tuple[str, ...]) -> list[str]:
    values = (around.get(name) for name in names)
    return [value for value in values if isinstance(value, str)]


# Status values of older versions.
_OLD_NAMES = {"given_up": Status.NO_RESPONSE.name}
_LINKS = ("partner", "exchange", "operation", "resent_of")
_MAX_SIZE = 2**63 - 1
_MAX_SERVERS = 1000
_MAX_REVISIONS = 255  # a one-byte column has room for this many
T = TypeVar("T")


class BadRow(ValueError):
    """A line is invalid; the message continues after its number."""


def version_problem(header: JSON) -> str | None:
    """Return why a file with this header cannot be read; "" if it can, None for a foreign file."""
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        return None
    version = header.get("version")
    return (
        "" if version == VERSION else f"it is version {version!r}, but this MCP Lens supports only {VERSION}"
    )


class _Late(NamedTuple):
    """What a log learns of a row after it was appended."""

    http: HttpExchange | None
    status: Status
    duration: int
    note: RowNote


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
        number = _whole(members, "number", len(self._rows))
        links = [(name, _whole(members, name, -1)) for name in _LINKS if name in members]
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
            _word(members, "kind", RecordKind),
            _word(members, "direction", Direction, Direction.NONE),
            _whole(members, "monotonic_ns", 0),
            _whole(members, "wall_ns", 0),
            raw,
            _text(members, "method"),
            _text(members, "subject"),
            id if type(id) in (int, str) else None,  # type: ignore[arg-type]
            _text(members, "problem"),
            max(_whole(members, "size", len(raw)), 0),
            _revision_number(log, _text(members, "revision")),
        )

    def _set_late_columns(self, row: int, late: _Late) -> None:
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


def _object(line: bytes) -> JSONObject:
    try:
        value = parse(line.decode())
    except (UnicodeDecodeError, JSONError) as exc:
        raise BadRow(f"it is not JSON: {exc}") from exc
    if not isinstance(value, dict):
        raise BadRow("it is not an object")
    return value


def _late_columns(members: JSONObject) -> _Late:
    http = members.get("http")
    return _Late(
        _exchange(http) if isinstance(http, dict) else None,
        _word(members, "status", Status, Status.NONE),
        max(_whole(members, "duration_ns", -1), -1),
        RowNote(members.get("marked") is True, _text(members, "comment")),
    )


def server_number(log: TrafficLog, name: str) -> int:
    """Return a server's number, adding it if new.

    Raises BadRow for more servers than a real file could have.
    """
    if log.server_number(name) is None and len(log.servers()) >= _MAX_SERVERS:
        raise BadRow(f"it adds a server beyond the limit of {_MAX_SERVERS:,}")
    return log.add_server(name)


def _revision_number(log: TrafficLog, revision: str) -> int:
    is_full = revision not in log.revisions and len(log.revisions) >= _MAX_REVISIONS
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


def _whole(members: JSONObject, name: str, default: int) -> int:
    value = members.get(name, default)
    if type(value) is not int or abs(value) > _MAX_SIZE:
        raise BadRow(f'"{name}" is not an integer')
    return value


def _word(members: JSONObject, name: str, text: type[T], default: T | None = None) -> T:
    value = members.get(name)
    if value is None and default is not None:
        return default
    name_in_enum = _OLD_NAMES.get(value, value.upper()) if isinstance(value, str) else ""
    found: T | None = getattr(text, name_in_enum, None)
    if not isinstance(found, text):
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
        if is_number and not (type(value) is int and abs(value) <= _MAX_SIZE):
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


class FileClock:
    """Clock set from the file's times. The monotonic clock starts at the first of them."""

    def __init__(self, wall_ns: int = 0) -> None:
        """Create the clock; `wall_ns` applies until a time is set."""
        self._wall = self._start = wall_ns
        self._is_set = False

    def set(self, wall_ns: int) -> None:
        """Set the time, clamped to the valid range: sums and differences must not overflow."""
        wall_ns = min(max(wall_ns, 0), MAX_POSITION)
        if not self._is_set:
            self._start = wall_ns
            self._is_set = True
        self._wall = wall_ns

    def wall_ns(self) -> int:
        return self._wall

    def monotonic_ns(self) -> int:
        return self._wall - self._start


class MessageReplay:
    """The conversations in one file, by server. Raises BadRow when there are too many of them."""

    def __init__(self, log: TrafficLog, wall_ns: int = 0) -> None:
        self.clock = FileClock(wall_ns)
        self._log = log
        self._recorders: dict[str, Recorder] = {}
        self._requested: dict[tuple[str, RequestId], Direction] = {}

    def recorder(self, server: str) -> Recorder:
        if server not in self._recorders:
            server_number(self._log, server)
            self._recorders[server] = Recorder(self._log, server, self.clock)
        return self._recorders[server]

    def add(self, server: str, raw: bytes, direction: Direction, exchange: int | None = None) -> int:
        """Record a frame at the clock's time; return its row."""
        message, recorder = read(raw), self.recorder(server)
        if message.kind is Kind.REQUEST and message.id is not None:
            self._requested[server, message.id] = direction
        if direction is Direction.OUT:
            return recorder.sent(message)
        row = len(self._log)
        recorder.received([message], self.clock.monotonic_ns(), exchange=exchange)
        self._note_revision(recorder, message, row)
        return row

    def likely_direction(self, server: str, message: Message) -> Direction:
        """Guess the direction of a message when the file does not say."""
        side = sender_of(message)
        if side is not None:
            return side
        if message.kind.is_response and message.id is not None:
            requested = self._requested.get((server, message.id), Direction.OUT)
            return Direction.OUT if requested is Direction.IN else Direction.IN
        return Direction.OUT if message.kind is Kind.REQUEST else Direction.IN

    def _note_revision(self, recorder: Recorder, message: Message, row: int) -> None:
        """Set the protocol version that the server returned for `initialize`, from then on."""
        if message.kind is Kind.RESULT and self._log.method(row) == "initialize":
            try:
                revision = message.result.get("protocolVersion")
            except JSONError:
                return
            if isinstance(revision, str) and len(self._log.revisions) < 255:
                recorder.set_revision(revision[:40])


def sender_of(message: Message) -> Direction | None:
    """Return the direction of a message that only one side may send, else None."""
    method = METHODS.get(message.method)
    if method is None or message.kind.is_response or method.sender is Side.BOTH:
        return None
    return Direction.OUT if method.sender is Side.CLIENT else Direction.IN
