"""Where the time of an operation went, as bars: its requests, their HTTP phases, its waits for a person."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from inspector.base.plaintext import one_line
from inspector.qt.theme import Tone
from inspector.traffic.axis import elapsed_ns
from inspector.traffic.follow import Role, Step, Story
from inspector.traffic.log import TrafficLog
from inspector.traffic.operations import ASKS_A_PERSON
from inspector.traffic.records import HttpExchange, RecordKind, Status

MOST_BARS = 60
_MOST_MARKS = 200
_TONES: dict[Status, Tone] = {
    Status.NONE: "outbound",
    Status.PENDING: "wait",
    Status.OK: "outbound",
    Status.TOOL_ERROR: "warn",
    Status.ERROR: "error",
    Status.GIVEN_UP: "muted",
    Status.NOT_SENT: "error",
}


@dataclass(frozen=True, slots=True)
class Bar:
    """A time span since the operation started. `duration_ns` is None while it is open.

    `marks` are moments in it (progress, events); `is_part`: it is part of the bar above.
    """

    label: str
    start_ns: int
    duration_ns: int | None
    tone: Tone
    marks: tuple[int, ...] = ()
    is_part: bool = False
    hint: str = ""

    @property
    def end_ns(self) -> int:
        last = max(self.marks, default=self.start_ns)
        return last if self.duration_ns is None else self.start_ns + self.duration_ns


@dataclass(frozen=True, slots=True)
class Timing:
    """All bars, in the order of their starts, and their totals."""

    bars: tuple[Bar, ...] = ()
    person_ns: int = 0
    left_out: int = 0

    @property
    def total_ns(self) -> int:
        return max((bar.end_ns for bar in self.bars), default=0)

    @property
    def is_open(self) -> bool:
        return any(bar.duration_ns is None and bar.tone == "wait" for bar in self.bars)


def timing_of(log: TrafficLog, story: Story) -> Timing:
    """Return the bars of a story. Empty if nothing in it takes time."""
    bars = [bar for step in story.steps for bar in _bars(log, story, step)]
    bars += _rounds(log, story.steps)
    bars.sort(key=lambda bar: bar.start_ns)  # stable: parts stay after their whole
    person = sum(bar.duration_ns or 0 for bar in bars if bar.hint == _FOR_A_PERSON)
    return Timing(tuple(bars[:MOST_BARS]), person, max(0, len(bars) - MOST_BARS))


_FOR_A_PERSON = "waiting for a person"


def _bars(log: TrafficLog, story: Story, step: Step) -> Iterator[Bar]:
    kind = log.kind(step.row)
    if step.role in (Role.REQUEST, Role.RETRY, Role.TASK) and kind in _REQUESTS:
        yield _request(log, story, step)
        yield from _http(log, story, log.exchange(step.row))
    elif step.role is Role.QUESTION:
        yield _question(log, step)
    elif step.role is Role.HTTP and not _carries(log, story, step.row):
        exchange = log.http(step.row)
        if exchange is not None:
            label = f"{exchange.method} {exchange.status or ''}".strip()
            yield Bar(label, step.offset_ns, exchange.total_ns, "outbound", hint="an HTTP exchange")
            yield from _http(log, story, step.row)


_REQUESTS = (RecordKind.REQUEST, RecordKind.BATCH)


def _carries(log: TrafficLog, story: Story, exchange: int) -> bool:
    """Return whether the exchange is shown below the request it carried."""
    return any(
        step.role in (Role.REQUEST, Role.RETRY, Role.TASK) and log.exchange(step.row) == exchange
        for step in story.steps
    )


def _request(log: TrafficLog, story: Story, step: Step) -> Bar:
    words = (log.method(step.row), log.subject(step.row), "again" if step.role is Role.RETRY else "")
    label = one_line(" ".join(word for word in words if word)) or "batch"
    status, taken = log.status(step.row), log.duration_ns(step.row)
    hint = status.name.lower().replace("_", " ")
    return Bar(label, step.offset_ns, taken, _TONES[status], _marks(story, step, taken), hint=hint)


def _marks(story: Story, request: Step, taken: int | None) -> tuple[int, ...]:
    """Return when progress and events arrived while a request was open."""
    last = None if taken is None else request.offset_ns + taken
    moments = (
        step.offset_ns
        for step in story.steps
        if step.role in (Role.PROGRESS, Role.SSE)
        and step.offset_ns >= request.offset_ns
        and (last is None or step.offset_ns <= last)
    )
    return tuple(moment for moment, _ in zip(moments, range(_MOST_MARKS), strict=False))


def _question(log: TrafficLog, step: Step) -> Bar:
    asks_a_person = log.method(step.row) in ASKS_A_PERSON
    hint = _FOR_A_PERSON if asks_a_person else "the server asks"
    tone: Tone = "wait" if asks_a_person else "inbound"
    return Bar(one_line(log.method(step.row)), step.offset_ns, log.duration_ns(step.row), tone, hint=hint)


def _rounds(log: TrafficLog, steps: tuple[Step, ...]) -> Iterator[Bar]:
    """Yield the user's time between a result that asks for input and the retry with it."""
    answered: Step | None = None
    for step in steps:
        if step.role is Role.RESPONSE:
            answered = step
        elif step.role is Role.RETRY and answered is not None:
            taken = step.offset_ns - answered.offset_ns
            yield Bar("answering", answered.offset_ns, taken, "wait", hint=_FOR_A_PERSON)
            answered = None


def _http(log: TrafficLog, story: Story, row: int | None) -> Iterator[Bar]:
    """Yield the phases of an exchange in order; the unmeasured rest is last."""
    exchange = log.http(row) if row is not None else None
    if row is None or exchange is None:
        return
    at = elapsed_ns(log, story.operation, row)
    begun = at
    for label, taken in _phases(exchange):
        if taken is not None:
            yield Bar(label, at, taken, "muted", is_part=True)
            at += taken
    rest = None if exchange.total_ns is None else begun + exchange.total_ns - at
    if rest is not None and rest > 0:
        yield Bar("send and receive", at, rest, "inbound", is_part=True)


def _phases(exchange: HttpExchange) -> list[tuple[str, int | None]]:
    return [
        ("DNS", exchange.dns_ns),
        ("connect", exchange.connect_ns),
        ("TLS", exchange.tls_ns),
        ("first byte", exchange.first_byte_ns),
    ]
