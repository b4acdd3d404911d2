"""JSON Lines of other tools: import of logs that hold JSON-RPC messages.

A line may be

- a JSON-RPC message, or a batch of them: its bytes are stored as they are;
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
"""

from __future__ import annotations

import re

from inspector.base.json.values import JSON, JSONError, JSONObject, parse, to_wire
from inspector.protocol.jsonrpc import Message, read
from inspector.traffic.export.replay import BadRow, MessageReplay, direction_of, read_time
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction

_BODIES = ("message", "msg", "frame", "payload", "json", "data", "raw", "body", "rpc", "content")
_DIRECTIONS = ("direction", "dir", "from", "source", "sender", "side", "type")
_TIMES = ("time", "timestamp", "ts", "at", "date", "wall_ns")
_SERVERS = ("server", "server_name", "serverName", "peer")
_MAX_NAME_LENGTH = 200
_FROM_CLIENT = re.compile(r"(?:from[_ -]?)?(?:client|host|c2s|stdin)|to[_ -]?server|>|→", re.IGNORECASE)
_FROM_SERVER = re.compile(r"(?:from[_ -]?)?(?:server|agent|s2c|stdout)|to[_ -]?client|<|←", re.IGNORECASE)
_OUT = re.compile(r"(?:out(?:bound|going|put)?|sen[dt]|tx|writ(?:e|ten)|egress)\b", re.IGNORECASE)
_IN = re.compile(r"(?:in(?:bound|coming|put)?|rec(?:v|eived?)|rx|read|ingress)\b", re.IGNORECASE)


class ForeignJsonLinesReader:
    """Reads JSON Lines of other tools. Feed it every line, then call `finish`."""

    def __init__(self, log: TrafficLog, server: str, wall_ns: int) -> None:
        """Create a reader; `server` and `wall_ns` are defaults for lines without them."""
        self._replay = MessageReplay(log, wall_ns)
        self._server = server
        self._is_server_side: bool | None = None

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

    def _add(self, envelope: JSONObject, raw: bytes) -> None:
        server = next((name for name in _texts(envelope, _SERVERS) if name), self._server)[:_MAX_NAME_LENGTH]
        self._set_time(envelope)
        message = read(raw)
        direction = self._direction(envelope, message) or self._replay.likely_direction(server, message)
        self._replay.add(server, raw, direction)

    def _set_time(self, envelope: JSONObject) -> None:
        times = (read_time(envelope[name]) for name in _TIMES if name in envelope)
        wall = next((time for time in times if time is not None), None)
        if wall is not None:
            self._replay.clock.set(wall)

    def _direction(self, envelope: JSONObject, message: Message) -> Direction | None:
        for text in _texts(envelope, _DIRECTIONS):
            for pattern, direction in ((_FROM_CLIENT, Direction.OUT), (_FROM_SERVER, Direction.IN)):
                if pattern.match(text):
                    return direction
            for pattern, direction in ((_OUT, Direction.OUT), (_IN, Direction.IN)):
                if pattern.match(text):
                    return self._from_our_side(direction, message)
        return None

    def _from_our_side(self, direction: Direction, message: Message) -> Direction:
        expected = direction_of(message)
        if self._is_server_side is None and expected is not None:
            self._is_server_side = expected is not direction
        if not self._is_server_side:
            return direction
        return Direction.IN if direction is Direction.OUT else Direction.OUT


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


def _texts(envelope: JSONObject, names: tuple[str, ...]) -> list[str]:
    values = (envelope.get(name) for name in names)
    return [value for value in values if isinstance(value, str)]
