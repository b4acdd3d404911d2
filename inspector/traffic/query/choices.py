"""The fixed words for what a row is: its kind, its direction, how it stands.

Interface and filter say the same words, so both take them from here.
"""

from __future__ import annotations

from inspector.traffic.records import Direction, RecordKind, Status

STATUS_WORDS = {
    Status.NONE: "",
    Status.PENDING: "waiting",
    Status.OK: "ok",
    Status.TOOL_ERROR: "tool error",
    Status.ERROR: "error",
    Status.GIVEN_UP: "given up",
    Status.NOT_SENT: "not sent",
}
DIRECTION_WORDS = {Direction.NONE: "", Direction.IN: "in", Direction.OUT: "out"}
KIND_WORDS = {kind: kind.name.lower() for kind in RecordKind}


def kind_words(kind: RecordKind) -> tuple[str, ...]:
    """Return the word of a kind, and those of its groups."""
    group = "frame" if kind.is_frame else "event"
    is_answer = kind in (RecordKind.RESULT, RecordKind.ERROR)
    return (KIND_WORDS[kind], group, "answer") if is_answer else (KIND_WORDS[kind], group)
