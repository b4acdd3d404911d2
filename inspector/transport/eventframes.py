"""From server-sent events to frames, and how far a stream has come: where a GET could take it up again."""

from __future__ import annotations

from collections.abc import Sequence

from inspector.protocol.eventstream import ServerSentEvent
from inspector.protocol.jsonrpc import Kind, Message, RequestId, read

DEFAULT_RETRY = 1.0


class StreamPosition:
    """The position in one stream, across the exchanges that carried it.

    `request` is the one that it responds to.
    """

    def __init__(self, request: RequestId | None = None) -> None:
        self.request = request
        self.is_open = False  # whether it ever was
        self.is_answered = False
        self.last_id = ""
        self.retry = DEFAULT_RETRY
        self.events = 0

    def take(self, events: Sequence[ServerSentEvent]) -> list[bytes]:
        """Advance past these events; return the frames among them."""
        frames: list[bytes] = []
        for event in events:
            if event.id is not None:
                self.last_id = event.id
            if event.retry_ms is not None:
                self.retry = event.retry_ms / 1000
            if event.event:  # a comment keeps a stream alive, but does not advance it
                self.events += 1
            if event.data and is_frame(event):
                frames.append(event.data)
        if self.request is not None and not self.is_answered:
            self.is_answered = any(answers(frame, self.request) for frame in frames)
        return frames


def is_frame(event: ServerSentEvent) -> bool:
    """True if an event is a message.

    Messages have the default name; under another name, only what looks like one is.
    """
    return event.event == "message" or (event.data or b"").lstrip()[:1] in (b"{", b"[")


def answers(frame: bytes, request: RequestId) -> bool:
    """True if a frame is the response to the request.

    An error without an id can only be meant for it.
    """
    if b'"id"' not in frame and b'"error"' not in frame:
        return False  # quick: in a flood of notifications nothing is parsed twice
    return is_answer(read(frame), request)


def is_answer(message: Message, request: RequestId | None) -> bool:
    if message.kind is Kind.BATCH:
        return any(is_answer(item, request) for item in message.items())
    if message.kind is Kind.ERROR and message.id is None:
        return True
    return message.kind.is_answer and message.id == request
