"""Columns of the traffic table: titles, cell contents and sort keys."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from PySide6.QtGui import QColor, QIcon

from inspector.base.json.values import compact, shorten
from inspector.base.plain_text import one_line
from inspector.base.units import duration, full_time, size, time_of_day
from inspector.qt.models.record_table import plain_tip
from inspector.qt.models.traffic.row_search import OperationRows, SortKey
from inspector.qt.theme import Theme, Tone
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import STATUS_LABELS, Direction, RecordKind, Status

_LAST_FRAME = RecordKind.TEXT


class Column(IntEnum):
    """The columns in their default order."""

    MARK = 0
    NUMBER = 1
    TIME = 2
    DIRECTION = 3
    SERVER = 4
    MESSAGE = 5
    ID = 6
    STATUS = 7
    ROUNDS = 8
    DURATION = 9
    SIZE = 10
    HTTP = 11
    REVISION = 12
    OPERATION = 13
    DATE = 14
    COMMENT = 15
    FINDING = 16


# A column's header text, and its full name.
HEADERS = {
    Column.MARK: ("", "Mark"),
    Column.NUMBER: ("#", "Number"),
    Column.TIME: ("Time", "Time"),
    Column.DIRECTION: ("", "Direction"),
    Column.SERVER: ("Server", "Server"),
    Column.MESSAGE: ("Message", "Message"),
    Column.ID: ("ID", "ID"),
    Column.STATUS: ("Status", "Status"),
    Column.ROUNDS: ("Rounds", "Rounds of the operation"),
    Column.DURATION: ("Duration", "Duration"),
    Column.SIZE: ("Size", "Size"),
    Column.HTTP: ("HTTP", "HTTP status"),
    Column.REVISION: ("Protocol", "Protocol version"),
    Column.OPERATION: ("Operation", "Operation it belongs to"),
    Column.DATE: ("Date", "Date"),
    Column.COMMENT: ("Comment", "Comment"),
    Column.FINDING: ("Finding", "Finding"),
}
NUMERIC = frozenset(
    (Column.NUMBER, Column.ROUNDS, Column.DURATION, Column.SIZE, Column.HTTP, Column.OPERATION)
)
STATUS_TONES: dict[Status, Tone] = {
    Status.NONE: "muted",
    Status.PENDING: "wait",
    Status.OK: "ok",
    Status.TOOL_ERROR: "warn",
    Status.ERROR: "error",
    Status.CANCELLED: "muted",
    Status.TIMED_OUT: "warn",
    Status.LATE: "muted",
    Status.NO_RESPONSE: "muted",
    Status.NOT_SENT: "error",
}
_DIRECTION_LABELS = {Direction.NONE: "", Direction.IN: "from the server", Direction.OUT: "to the server"}


class TrafficCells:
    """Cell contents by log row. `is_by_operation`: a row represents its whole operation."""

    def __init__(self, log: TrafficLog, theme: Theme, operations: OperationRows) -> None:
        self._log = log
        self._theme = theme
        self._operations = operations
        self.is_by_operation = False
        self._colors: dict[Tone, QColor] = {}  # creating one takes longer than the rest of a cell lookup
        theme.changed.connect(self._on_theme_changed)
        self._texts: dict[int, Callable[[int], str]] = {
            Column.NUMBER: lambda number: str(number + 1),
            Column.TIME: lambda number: time_of_day(log.wall_ns(number)),
            Column.SERVER: lambda number: one_line(log.server_name(number)),
            Column.MESSAGE: self.message,
            Column.ID: self._id,
            Column.STATUS: self.status,
            Column.ROUNDS: self._rounds,
            Column.DURATION: self._duration,
            Column.SIZE: lambda number: size(log.size(number)),
            Column.HTTP: self._http,
            Column.REVISION: lambda number: one_line(log.revision(number)),
            Column.OPERATION: self._operation,
            Column.DATE: lambda number: full_time(log.wall_ns(number))[:10],
            Column.COMMENT: lambda number: shorten(one_line(log.note(number).comment), 200),
            Column.FINDING: lambda number: shorten(one_line(log.problem(number)), 200),
        }

    def _on_theme_changed(self) -> None:
        self._colors.clear()

    def text(self, number: int, column: int) -> str | None:
        cell = self._texts.get(column)
        return cell(number) if cell else None

    def message(self, number: int) -> str:
        kind = self._log.kind(number)
        if kind > _LAST_FRAME or kind in (RecordKind.TEXT, RecordKind.INVALID):
            head = self._log.preview(number, 400)
            if kind == RecordKind.LOGIN:
                head = _masked(head)  # it may be a token request's form
            return shorten(one_line(head.decode(errors="replace")), 200)
        method, subject = self._log.method(number), self._log.subject(number)
        message = f"{method}  {subject}" if subject else method
        if kind in (RecordKind.RESULT, RecordKind.ERROR):
            message = message or "response without a matching request"
        return one_line(message or RecordKind(kind).name.lower())

    def status(self, number: int) -> str:
        kind = self._log.kind(number)
        if kind == RecordKind.TEXT:
            return "not JSON"
        if self._log.problem(number):
            return "finding"
        if kind == RecordKind.HTTP:
            return self._http(number)
        if kind > _LAST_FRAME:
            return RecordKind(kind).name.lower()
        status = self._status_of(number)
        if status is Status.PENDING and self._log.method(number) == "subscriptions/listen":
            return "listening"  # a stream, not a pending call
        return STATUS_LABELS[status]

    def _status_of(self, number: int) -> Status:
        return self._operations.status(number) if self.is_by_operation else self._log.status(number)

    def _http(self, number: int) -> str:
        """Return the HTTP status of an HTTP row, or of the exchange that carried a message."""
        columns = self._log.columns
        row = number if columns.kind[number] == RecordKind.HTTP else columns.exchange[number]
        if row < 0:
            return ""
        status = columns.http_status[row]
        return str(status) if status else "failed" if columns.duration[row] >= 0 else "pending"

    def _id(self, number: int) -> str:
        id = self._log.id(number)
        return "" if id is None else shorten(one_line(compact(id)), 24)

    def _rounds(self, number: int) -> str:
        if self._log.columns.operation[number] != number:
            return ""
        rounds = self._operations.rounds(number)
        return str(rounds) if rounds > 1 or self.is_by_operation else ""

    def _operation(self, number: int) -> str:
        operation = self._log.columns.operation[number]
        return str(operation + 1) if operation >= 0 else ""

    def duration_ns(self, number: int) -> int | None:
        if self.is_by_operation:
            return self._operations.duration_ns(number)
        return self._log.duration_ns(number)

    def _duration(self, number: int) -> str:
        nanoseconds = self.duration_ns(number)
        return "" if nanoseconds is None else duration(nanoseconds)

    def color(self, number: int, column: int) -> QColor:
        kind = self._log.kind(number)
        if column == Column.STATUS:
            return self._color(self._status_tone(number))
        is_event = kind > _LAST_FRAME or kind == RecordKind.TEXT
        is_plain = column in (Column.MESSAGE, Column.COMMENT) and not (is_event and column == Column.MESSAGE)
        return self._color("text" if is_plain else "muted")

    def _color(self, tone: Tone) -> QColor:
        if tone not in self._colors:
            self._colors[tone] = self._theme.color(tone)
        return self._colors[tone]

    def _status_tone(self, number: int) -> Tone:
        if self._log.problem(number) or self._log.kind(number) == RecordKind.LOCAL:
            return "error"
        return STATUS_TONES[self._status_of(number)]

    def icon(self, number: int, column: int) -> QIcon | None:
        if column == Column.DIRECTION:
            return self._direction_icon(self._log.direction(number))
        if column == Column.MARK:
            note = self._log.note(number)
            name = "flag" if note.is_marked else "comment" if note.comment else ""
            return self._theme.icon(name, "accent") if name else None
        return None

    def _direction_icon(self, direction: int) -> QIcon | None:
        if direction == Direction.NONE:
            return None
        is_in = direction == Direction.IN
        return self._theme.icon("arrow-in" if is_in else "arrow-out", "inbound" if is_in else "outbound")

    def tip(self, number: int, column: int) -> str | None:
        """Return a cell's tool tip. None for no tool tip."""
        if column in (Column.TIME, Column.DATE):
            return full_time(self._log.wall_ns(number))
        if column in (Column.STATUS, Column.FINDING) and self._log.problem(number):
            return plain_tip(self._log.problem(number))
        if column == Column.STATUS and self._log.status(number) is Status.LATE:
            return "Response to a request that was cancelled or timed out"
        if column == Column.DIRECTION:
            return _DIRECTION_LABELS[Direction(self._log.direction(number))]
        if column == Column.MARK:
            return plain_tip(self.spoken(number, column) or "Click to mark this row")
        comment = self._log.note(number).comment
        return plain_tip(comment) if comment else None

    def spoken(self, number: int, column: int) -> str | None:
        """Return accessible text for cells that are graphics."""
        if column == Column.DIRECTION:
            return _DIRECTION_LABELS[Direction(self._log.direction(number))]
        if column == Column.MARK:
            note = self._log.note(number)
            return ": ".join(filter(None, ("Marked" if note.is_marked else "", note.comment)))
        return None

    def sort_key(self, column: int) -> SortKey:
        """Return a column's sort key; a C-level lookup where a log column is shown directly."""
        log, columns = self._log, self._log.columns
        by_column: dict[int, SortKey] = {
            Column.TIME: columns.wall.__getitem__,
            Column.DATE: columns.wall.__getitem__,
            Column.DIRECTION: columns.direction.__getitem__,
            Column.SERVER: lambda row: log.server_name(row).casefold(),
            Column.MESSAGE: self._message_key(),
            Column.ID: lambda row: (columns.id_kind[row], columns.id_value[row]),
            Column.STATUS: self._status_of if self.is_by_operation else columns.status.__getitem__,
            Column.ROUNDS: self._rounds_key,
            Column.DURATION: self._duration_key if self.is_by_operation else columns.duration.__getitem__,
            Column.SIZE: columns.size.__getitem__,
            Column.HTTP: self._http_key,
            Column.REVISION: log.revision,
            Column.OPERATION: columns.operation.__getitem__,
            Column.COMMENT: lambda row: log.note(row).comment.casefold(),
            Column.FINDING: log.problem,
            Column.MARK: lambda row: int(log.note(row).is_marked),
        }
        return by_column.get(column, _same)

    def _message_key(self) -> SortKey:
        """Return a sort key: method, then subject. Not the body, which may be on disk for all rows."""
        columns, text = self._log.columns, self._log.strings.text
        known: dict[tuple[int, int], str] = {}

        def key(row: int) -> str:
            message = columns.method[row], columns.subject[row]
            if message not in known:
                known[message] = f"{text(message[0])}  {text(message[1])}".casefold()
            return known[message]

        return key

    def _duration_key(self, row: int) -> int:
        nanoseconds = self._operations.duration_ns(row)
        return -1 if nanoseconds is None else nanoseconds

    def _http_key(self, row: int) -> int:
        columns = self._log.columns
        own = row if columns.kind[row] == RecordKind.HTTP else columns.exchange[row]
        return columns.http_status[own] if own >= 0 else -1

    def _rounds_key(self, row: int) -> int:
        return self._operations.rounds(row) if self._log.columns.operation[row] == row else 0


def _same(row: int) -> int:
    return row


def _masked(head: bytes) -> bytes:
    from inspector.traffic.masking.masker import masked_excerpt  # 30 patterns, only for login rows

    return masked_excerpt(head)
