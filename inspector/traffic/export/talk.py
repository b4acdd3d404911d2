"""Messages from a file, recorded as if they went over the wire now.

The recorder that writes live traffic writes these rows too, so that answers are paired with their requests
and rows have their subjects and states alike. Only the clock is the file's.
"""

from __future__ import annotations

from inspector.base.jsonvalue import JSONProblem
from inspector.protocol.jsonrpc import Kind, Message, RequestId, read
from inspector.protocol.methods import METHODS, Side
from inspector.traffic.axis import LATEST
from inspector.traffic.export.ownlines import server_number
from inspector.traffic.log import TrafficLog
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import Direction


class FileClock:
    """Clock set from the file's times. The monotonic clock starts at the first of them."""

    def __init__(self, wall_ns: int = 0) -> None:
        """Create the clock; `wall_ns` applies until a time is set."""
        self._wall = self._start = wall_ns
        self._is_set = False

    def set(self, wall_ns: int) -> None:
        """Set the time, clamped to the valid range: sums and differences must not overflow."""
        wall_ns = min(max(wall_ns, 0), LATEST)
        if not self._is_set:
            self._start = wall_ns
            self._is_set = True
        self._wall = wall_ns

    def wall_ns(self) -> int:
        return self._wall

    def monotonic_ns(self) -> int:
        return self._wall - self._start


class Talk:
    """The conversations in one file, by server. Raises BadRow when there are too many of them."""

    def __init__(self, log: TrafficLog, wall_ns: int = 0) -> None:
        self.clock = FileClock(wall_ns)
        self._log = log
        self._recorders: dict[str, Recorder] = {}
        self._asked: dict[tuple[str, RequestId], Direction] = {}

    def recorder(self, server: str) -> Recorder:
        if server not in self._recorders:
            server_number(self._log, server)
            self._recorders[server] = Recorder(self._log, server, self.clock)
        return self._recorders[server]

    def add(self, server: str, raw: bytes, direction: Direction, exchange: int | None = None) -> int:
        """Record a frame at the clock's time; return its row."""
        message, recorder = read(raw), self.recorder(server)
        if message.kind is Kind.REQUEST and message.id is not None:
            self._asked[server, message.id] = direction
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
        if message.kind.is_answer and message.id is not None:
            asked = self._asked.get((server, message.id), Direction.OUT)
            return Direction.OUT if asked is Direction.IN else Direction.IN
        return Direction.OUT if message.kind is Kind.REQUEST else Direction.IN

    def _note_revision(self, recorder: Recorder, message: Message, row: int) -> None:
        """Set the protocol version that the server returned for `initialize`, from then on."""
        if message.kind is Kind.RESULT and self._log.method(row) == "initialize":
            try:
                revision = message.result.get("protocolVersion")
            except JSONProblem:
                return
            if isinstance(revision, str) and len(self._log.revisions) < 255:
                recorder.agreed(revision[:40])


def sender_of(message: Message) -> Direction | None:
    """Return the direction of a message that only one side may send, else None."""
    method = METHODS.get(message.method)
    if method is None or message.kind.is_answer or method.sender is Side.BOTH:
        return None
    return Direction.OUT if method.sender is Side.CLIENT else Direction.IN
