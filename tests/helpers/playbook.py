"""Scripts for the sans-I/O core: incoming messages and the expected events.

    with Playbook(connection.receive) as play:
        play >> Received(b'{"jsonrpc":"2.0","id":9,"result":{}}')
        play << UnexpectedResponse(message(id=9, result={}), Match.UNKNOWN)

`>>` feeds a message; `<<` states the next event. Every event must be stated, in order: one that was not
stated fails the test at the next `>>`, or at the end of the block.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType

from inspector.base.errors import ConnectFailed
from inspector.base.json.values import JSON, to_wire
from inspector.protocol.handshake import Negotiation
from inspector.protocol.jsonrpc import Message, read


@dataclass(frozen=True)
class Received:
    """An incoming message as bytes."""

    raw: bytes


@dataclass(frozen=True)
class Failed:
    """The error of a failed negotiation: the beginning of each sentence."""

    summary: str
    next_step: str = ""


class Playbook:
    """Feeds messages to a receiver and stores the events of each until they are stated."""

    def __init__(self, receive: Callable[[Message], Sequence[object]], *opening: object) -> None:
        self._receive = receive
        self._events: deque[object] = deque(opening)

    def __rshift__(self, frame: Received) -> Playbook:
        self._expect_nothing()
        self._events.extend(self._receive(read(frame.raw)))
        return self

    def __lshift__(self, expected: object) -> Playbook:
        event = self.next()
        if isinstance(expected, Failed):
            assert isinstance(event, ConnectFailed), f"expected {expected!r}, got {event!r}"
            assert event.summary.startswith(expected.summary), event.summary
            assert event.next_step.startswith(expected.next_step), event.next_step
        else:
            assert event == expected
        return self

    def next(self) -> object:
        """Return the next event, for further checks."""
        assert self._events, "nothing happened"
        return self._events.popleft()

    def _expect_nothing(self) -> None:
        assert not self._events, f"happened, and was not stated: {list(self._events)!r}"

    def __enter__(self) -> Playbook:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._expect_nothing()


def negotiating(negotiation: Negotiation) -> Playbook:
    """Return a playbook for a negotiation. It begins with the first request, to be stated."""

    def receive(response: Message) -> list[object]:
        try:
            return [negotiation.receive(response)]
        except ConnectFailed as exc:
            return [exc]

    return Playbook(receive, negotiation.first())


def frame(**members: JSON) -> bytes:
    """Return a message's bytes, as most servers write them."""
    return to_wire({"jsonrpc": "2.0", **members})


def message(**members: JSON) -> Message:
    return read(frame(**members))
