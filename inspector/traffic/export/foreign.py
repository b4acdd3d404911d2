"""Reads JSON Lines of other tools. A line may be

- a JSON-RPC message, or a batch of them: its bytes are kept as they are;
- an object that has the message in a member: `message`, `msg`, `frame`, `payload`, `json`, `data`, `raw`,
  `body`, `rpc` or `content`, as JSON or as a text that is JSON. Next to it, any of
  - the direction, in `direction`, `dir`, `from`, `source`, `sender`, `side` or `type`: "client",
    "client->server", "fromClient", "stdin", "out", "sent", ">" and the like;
  - the time, in `time`, `timestamp`, `ts`, `at`, `date` or `wall_ns`: ISO 8601, or a number of seconds,
    milliseconds, microseconds or nanoseconds since 1970;
  - the server, in `server`, `server_name`, `serverName` or `peer`.

Where the direction is not said, the method tells, or the request that an answer is for. "in" and "out" are
taken to be the client's; a file that was written on the server's side shows by a message that then would
come from the wrong one, and is read the other way round.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from inspector.base.jsonvalue import JSON, JSONObject, JSONProblem, parse, to_wire
from inspector.protocol.jsonrpc import Message, read
from inspector.traffic.export.ownlines import BadRow
from inspector.traffic.export.talk import Talk, sender_of
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction

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
_LONGEST_NAME = 200
_FROM_CLIENT = re.compile(r"(?:from[_ -]?)?(?:client|host|c2s|stdin)|to[_ -]?server|>|→", re.IGNORECASE)
_FROM_SERVER = re.compile(r"(?:from[_ -]?)?(?:server|agent|s2c|stdout)|to[_ -]?client|<|←", re.IGNORECASE)
_OUT = re.compile(r"(?:out(?:bound|going|put)?|sen[dt]|tx|writ(?:e|ten)|egress)\b", re.IGNORECASE)
_IN = re.compile(r"(?:in(?:bound|coming|put)?|rec(?:v|eived?)|rx|read|ingress)\b", re.IGNORECASE)


class ForeignLines:
    """Reads JSON Lines of other tools. Feed it every line, then call `finish`."""

    def __init__(self, log: TrafficLog, server: str, wall_ns: int) -> None:
        """Create a reader; `server` and `wall_ns` are defaults for lines without them."""
        self._talk = Talk(log, wall_ns)
        self._server = server
        self._is_servers_view: bool | None = None

    def line(self, line: bytes) -> None:
        """Add a row. Raises BadRow."""
        try:
            value = parse(line.decode())
        except (UnicodeDecodeError, JSONProblem) as exc:
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
        server = next((name for name in _texts(around, _SERVERS) if name), self._server)[:_LONGEST_NAME]
        self._set_time(around)
        message = read(raw)
        direction = self._direction(around, message) or self._talk.likely_direction(server, message)
        self._talk.add(server, raw, direction)

    def _set_time(self, around: JSONObject) -> None:
        times = (read_time(around[name]) for name in _TIMES if name in around)
        wall = next((time for time in times if time is not None), None)
        if wall is not None:
            self._talk.clock.set(wall)

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
    nanoseconds = next(factor for least, factor in _NANOSECONDS if value >= least)
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
    raise BadRow(f"there is no message in it: it has {', '.join(value)[:100] or 'no members'}")


def _texts(around: JSONObject, names: tuple[str, ...]) -> list[str]:
    values = (around.get(name) for name in names)
    return [value for value in values if isinstance(value, str)]
