"""A login in the traffic log: its steps in words, and every HTTP exchange with what it carried.

The rows are those of the server that the login is for. They hold what went over the wire, secrets too, as all
rows do: those are masked on the screen and in exports.
"""

from __future__ import annotations

from inspector.base.clock import Clock
from inspector.traffic.httpevents import record_http
from inspector.traffic.log import TrafficLog
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import LOGIN_SUBJECT, RecordKind
from inspector.transport.base import WireEvent

NO_ROW = -1


class LoginRecorder:
    """Writes the log rows of one login.

    It has a separate recorder, as the session's one numbers its own exchanges.
    """

    def __init__(self, log: TrafficLog, server: str, clock: Clock) -> None:
        self._recorder = Recorder(log, server, clock, LOGIN_SUBJECT)
        self._credentials = log.credentials

    def know(self, name: str, value: str) -> None:
        """Register a secret that is not in the store before it is sent, so that echoes are masked."""
        self._credentials.add(value, name)

    def step(self, text: str) -> None:
        """Record a login step as text without secrets."""
        self._recorder.note(RecordKind.LOGIN, text)

    def body(self, body: bytes) -> int:
        """Record the next request's body; return its row, to be used as the request's tag."""
        return self._recorder.login_body(body) if body else NO_ROW

    def report(self, event: WireEvent) -> None:
        """Record an HTTP event; callback for `Exchanges`."""
        record_http(self._recorder, event)

    def row_of(self, exchange: int) -> int:
        """Return the row of an exchange by number; -1 if there is none."""
        return self._recorder.http.row_of(exchange)
