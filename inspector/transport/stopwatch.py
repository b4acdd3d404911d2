"""When each part of one HTTP exchange began and ended.

The HTTP library tells what it does through its `trace` extension; only the way from a name to an address
it keeps to itself, so our `Dialler` marks that. It finds the watch of the exchange it dials for in
`CURRENT`, because the library makes a connection in the task of the request that needs it.
"""

from __future__ import annotations

from contextvars import ContextVar

from inspector.base.clock import Clock
from inspector.transport.base import HttpTimings

CURRENT: ContextVar[Stopwatch | None] = ContextVar("stopwatch", default=None)


class Stopwatch:
    """Records the timings of one exchange; starts when created.

    A mark is overwritten if its phase happens again: only the last counts.
    """

    __slots__ = ("_clock", "_marks", "resolved", "started")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._marks: dict[str, int] = {}
        self.started = clock.monotonic_ns()
        self.resolved: tuple[int, int] | None = None

    def now(self) -> int:
        return self._clock.monotonic_ns()

    async def trace(self, name: str, info: object) -> None:
        """Trace callback of the library; `name` is like `connection.start_tls.complete`."""
        _, _, step = name.partition(".")
        if step in _STEPS:
            self._marks[step] = self._clock.monotonic_ns()

    def timings(self, ended: int) -> HttpTimings:
        dialled = self.resolved[1] if self.resolved else self._marks.get("connect_tcp.started")
        return HttpTimings(
            dns=self.resolved[1] - self.resolved[0] if self.resolved else None,
            connect=_between(dialled, self._marks.get("connect_tcp.complete")),
            tls=self._span("start_tls.started", "start_tls.complete"),
            first_byte=self._span("send_request_body.complete", "receive_response_headers.complete"),
            total=ended - self.started,
        )

    def _span(self, start: str, end: str) -> int | None:
        return _between(self._marks.get(start), self._marks.get(end))


def _between(start: int | None, end: int | None) -> int | None:
    return None if start is None or end is None else end - start


_STEPS = frozenset(
    {
        "connect_tcp.started",
        "connect_tcp.complete",
        "start_tls.started",
        "start_tls.complete",
        "send_request_body.complete",
        "receive_response_headers.complete",
    }
)
