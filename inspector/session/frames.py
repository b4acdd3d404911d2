"""Frames as they came off the wire, read as messages."""

from __future__ import annotations

from collections.abc import Sequence

from inspector.protocol.framing import Overlong
from inspector.protocol.jsonrpc import Kind, Message, RequestId, read, read_overlong


def read_frame(frame: bytes | Overlong, request: RequestId | None = None) -> Message:
    """Parse a frame; `request` is the one that its HTTP exchange responds to.

    An error without an id belongs to that request: a server that could not parse a request cannot name it.
    """
    if isinstance(frame, Overlong):
        return read_overlong(frame.head, frame.size)
    message = read(frame)
    if message.kind is Kind.ERROR and message.id is None and request is not None:
        return message._replace(id=request)
    return message


def sizes_of(frames: Sequence[bytes | Overlong]) -> list[int] | None:
    """Return the size of each frame on the wire; None if all were kept whole."""
    if Overlong not in map(type, frames):
        return None
    return [frame.size if isinstance(frame, Overlong) else len(frame) for frame in frames]
