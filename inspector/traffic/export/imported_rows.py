"""Common parts of the import readers: invalid rows, times, and replay of recorded messages.

Messages of other tools go through the recorder for live traffic, with a clock set from the file, so that
responses are paired and rows get their subjects and statuses in the same way.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from inspector.base.json.values import JSON, JSONError
from inspector.protocol.jsonrpc import Kind, Message, RequestId, read
from inspector.protocol.revisions import METHODS, Side
from inspector.traffic.analysis.related import MAX_POSITION
from inspector.traffic.log import TrafficLog
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import Direction

_MAX_SERVERS = 1000
MAX_REVISIONS = 255  # a one-byte column has room for this many
# Minimum value of a time, and the nanoseconds per unit that it then has.
_UNITS = ((1e17, 1), (1e14, 1000), (1e11, 1_000_000), (0, 1_000_000_000))


class BadRow(ValueError):
    """A line is invalid; the message continues after its number."""


class MessageReplay:
    """Records the messages of one file, by server. Raises BadRow when there are too many servers."""

    def __init__(self, log: TrafficLog, wall_ns: int = 0) -> None:
        self.clock = FileClock(wall_ns)
        self._log = log
        self._recorders: dict[str, Recorder] = {}
        self._directions: dict[tuple[str, RequestId], Direction] = {}

    def recorder(self, server: str) -> Recorder:
        if server not in self._recorders:
            server_number(self._log, server)
            self._recorders[server] = Recorder(self._log, server, self.clock)
        return self._recorders[server]

    def add(self, server: str, raw: bytes, direction: Direction, exchange: int | None = None) -> int:
        """Record a frame at the clock's time; return its row."""
        message, recorder = read(raw), self.recorder(server)
        if message.kind is Kind.REQUEST and message.id is not None:
            self._directions[server, message.id] = direction
        if direction is Direction.OUT:
            return recorder.sent(message)
        row = len(self._log)
        recorder.received([message], self.clock.monotonic_ns(), exchange=exchange)
        self._set_revision(recorder, message, row)
        return row

    def likely_direction(self, server: str, message: Message) -> Direction:
        """Guess the direction of a message when the file does not say."""
        direction = direction_of(message)
        if direction is not None:
            return direction
        if message.kind.is_response and message.id is not None:
            direction = self._directions.get((server, message.id), Direction.OUT)
            return Direction.OUT if direction is Direction.IN else Direction.IN
        return Direction.OUT if message.kind is Kind.REQUEST else Direction.IN

    def _set_revision(self, recorder: Recorder, message: Message, row: int) -> None:
        """Set the protocol version that the server returned for `initialize`, from then on."""
        if message.kind is Kind.RESULT and self._log.method(row) == "initialize":
            try:
                revision = message.result.get("protocolVersion")
            except JSONError:
                return
            if isinstance(revision, str) and len(self._log.revisions) < MAX_REVISIONS:
                recorder.set_revision(revision[:40])


def direction_of(message: Message) -> Direction | None:
    """Return the direction of a message that only one side may send, else None."""
    method = METHODS.get(message.method)
    if method is None or message.kind.is_response or method.sender is Side.BOTH:
        return None
    return Direction.OUT if method.sender is Side.CLIENT else Direction.IN


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


def server_number(log: TrafficLog, name: str) -> int:
    """Return a server's number, adding it if new.

    Raises BadRow for more servers than a real file could have.
    """
    if log.server_number(name) is None and len(log.servers()) >= _MAX_SERVERS:
        raise BadRow(f"it adds a server beyond the limit of {_MAX_SERVERS:,}")
    return log.add_server(name)


def read_time(value: JSON) -> int | None:
    """Parse a time in any common notation to nanoseconds since 1970; None if it is not one."""
    if isinstance(value, str):
        return _iso_time(value)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 2**63:
        return None
    nanoseconds = next(factor for minimum, factor in _UNITS if value >= minimum)
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
