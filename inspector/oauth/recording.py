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
    """Writes the rows of one login. It has a recorder of its own: the session's counts its own exchanges."""

    def __init__(self, log: TrafficLog, server: str, clock: Clock) -> None:
        self._recorder = Recorder(log, server, clock, LOGIN_SUBJECT)
        self._credentials = log.credentials

    def know(self, name: str, value: str) -> None:
        """A secret that no store has is about to be sent: who sends it back must not get it recorded."""
        self._credentials.add(value, name)

    def step(self, text: str) -> None:
        """One step of the login, in words that hold no secret."""
        self._recorder.note(RecordKind.LOGIN, text)

    def body(self, body: bytes) -> int:
        """What the next request carries; its row, for the request to name as its tag."""
        return self._recorder.login_body(body) if body else NO_ROW

    def report(self, event: WireEvent) -> None:
        """For `Exchanges`."""
        record_http(self._recorder, event)

    def row_of(self, exchange: int) -> int:
        """The row of an exchange, by its number; -1 when there is none."""
        return self._recorder.http.row_of(exchange)
