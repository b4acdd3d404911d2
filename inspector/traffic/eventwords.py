"""Server-sent events in words, as their rows have them, and back.

The names in it are the server's, and may look like anything: reading takes one pass, whatever they are.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_SIZE = re.compile(r"[\d,]+ bytes of data\)")


class EventWords(NamedTuple):
    """The text of an event's row, parsed. `data` is None if it is in the frame after the row."""

    event: str
    id: str | None
    retry_ms: int | None
    data: str | None


def event_text(event: str, id: str | None, retry_ms: int | None, data: bytes | None, size: int) -> str:
    """Format an event's row.

    `data` is given only if it is not a message, which has a separate row; `size` is always its length.
    """
    parts = [f"event: {event}"]
    parts += [f"id: {id}"] if id is not None else []
    parts += [f"retry: {retry_ms}"] if retry_ms is not None else []
    parts += [f"data: {data.decode(errors='replace')}"] if data else []
    return "  ".join([*parts, f"({size:,} bytes of data)"])


def comment_text(comment: str) -> str:
    """Format an SSE comment. An empty one keeps a stream alive."""
    return f": {comment}".rstrip()


def read_event(text: str) -> EventWords | None:
    """Parse an event's row; None for a comment or anything else."""
    head, _, size = text.rpartition("  (")
    if not head.startswith("event: ") or not _SIZE.fullmatch(size):
        return None
    head, has_data, data = head.removeprefix("event: ").partition("  data: ")
    head, retry_ms = _without_retry(head)
    event, has_id, id = head.partition("  id: ")
    return EventWords(event, id if has_id else None, retry_ms, data if has_data else None)


def _without_retry(head: str) -> tuple[str, int | None]:
    before, _, digits = head.rpartition("  retry: ")
    is_retry = digits.isdecimal() and len(digits) < 20 and digits != head
    return (before, int(digits)) if is_retry else (head, None)
