"""Values of a traffic row: kind, direction, status, HTTP exchange; and the file name suffixes.

Rows are stored in columns (`log.py`); a `Record` is created when one is displayed. The labels of kinds,
directions and statuses are also words of the filter language. The suffixes are here so that the window
can use them without loading SQLite.

Imported at start-up: named tuples are defined four times as fast as frozen dataclasses.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from inspector.protocol.jsonrpc import Kind, RequestId

CAPTURE_SUFFIX = ".mcpcap"
OPENABLE_SUFFIXES = (CAPTURE_SUFFIX, ".jsonl", ".ndjson", ".har", ".json")
LOGIN_SUBJECT = "login"  # subject of all rows of a login, including its HTTP exchanges


class RecordKind(IntEnum):
    """Kind of a row.

    The first seven are frames, and equal `protocol.jsonrpc.Kind`. The numbers are stored in captures: never
    renumber.
    """

    REQUEST = 1
    NOTIFICATION = 2
    RESULT = 3
    ERROR = 4
    BATCH = 5
    INVALID = 6
    TEXT = 7  # a line on stdout that is not JSON
    STDERR = 16
    PROCESS = 17  # started, exited
    STATE = 18  # of the connection
    LOCAL = 19  # a local error, nothing that the server sent
    HTTP = 20  # an HTTP exchange; the frames that it carried point to its row
    SSE = 21  # one server-sent event, or a comment in the stream
    LOGIN = 22  # one step of an OAuth login

    @property
    def is_message(self) -> bool:
        return self <= RecordKind.TEXT


assert all(RecordKind[kind.name].value == kind.value for kind in Kind)


class Direction(IntEnum):
    NONE = 0
    IN = 1  # from the server
    OUT = 2  # to the server


class Status(IntEnum):
    """Status of a request and its response. The numbers are stored in captures: never renumber."""

    NONE = 0  # not a request
    PENDING = 1
    OK = 2
    TOOL_ERROR = 3  # a result with isError
    ERROR = 4
    # The connection ended before a response came. In captures of versions before CANCELLED and TIMED_OUT
    # existed, also a cancelled request, or one that timed out.
    NO_RESPONSE = 5
    NOT_SENT = 6  # the server could not be reached: it was never sent
    CANCELLED = 7
    TIMED_OUT = 8
    LATE = 9  # only of a response: its request was cancelled or timed out before


class HttpExchange(NamedTuple):
    """What is known of an HTTP exchange so far. Times in nanoseconds; None for what did not happen."""

    method: str
    url: str
    request_headers: tuple[tuple[str, str], ...]
    request_size: int
    status: int | None = None
    http_version: str = ""
    response_headers: tuple[tuple[str, str], ...] = ()
    response_size: int = 0
    dns_ns: int | None = None
    connect_ns: int | None = None
    tls_ns: int | None = None
    first_byte_ns: int | None = None
    total_ns: int | None = None
    error: str = ""
    body: bytes = b""  # kept if it was not a message
    is_over: bool = False


class Record(NamedTuple):
    """One row, with everything known about it."""

    number: int
    server: str
    kind: RecordKind
    direction: Direction
    monotonic_ns: int
    wall_ns: int
    method: str  # for a response, that of its request
    subject: str  # tool, prompt or resource that it is about
    id: RequestId | None
    status: Status
    duration_ns: int | None
    partner: int | None  # row of the response to a request, or of the request of a response
    size: int
    problem: str
    raw: bytes
    exchange: int | None = None  # row of the HTTP exchange that carried it
    operation: int | None = None  # row of the first request of its operation
    revision: str = ""  # negotiated by then


class RowNote(NamedTuple):
    """The user's mark and comment on a row."""

    is_marked: bool = False
    comment: str = ""


STATUS_LABELS = {
    Status.NONE: "",
    Status.PENDING: "pending",
    Status.OK: "ok",
    Status.TOOL_ERROR: "tool error",
    Status.ERROR: "error",
    Status.CANCELLED: "cancelled",
    Status.TIMED_OUT: "timed out",
    Status.NO_RESPONSE: "no response",
    Status.NOT_SENT: "not sent",
    Status.LATE: "late",
}
# Filter words of older versions, which saved filters may still have. Statuses that they match:
STATUS_ALIASES = {
    "given up": (Status.CANCELLED, Status.TIMED_OUT, Status.NO_RESPONSE),
    "waiting": (Status.PENDING,),
}
KIND_GROUPS = ("message", "event", "response")
KIND_ALIASES = {"message": "frame", "response": "answer"}
DIRECTION_LABELS = {Direction.NONE: "", Direction.IN: "in", Direction.OUT: "out"}
KIND_LABELS = {kind: kind.name.lower() for kind in RecordKind}


def kind_labels(kind: RecordKind) -> tuple[str, ...]:
    """Return the label of a kind, then those of its groups and their aliases."""
    groups = ["message" if kind.is_message else "event"]
    if kind in (RecordKind.RESULT, RecordKind.ERROR):
        groups.append("response")
    return (KIND_LABELS[kind], *groups, *(KIND_ALIASES[group] for group in groups if group in KIND_ALIASES))
