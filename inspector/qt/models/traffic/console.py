"""Tables of one server's output, and of messages sent by hand and their responses.

The output is stderr, stray lines on stdout, and the start and end of the process.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from functools import partial

from PySide6.QtGui import QIcon

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.units import duration, full_time, time_of_day
from inspector.qt.models.record_table import RIGHT, Column, LogRowsModel
from inspector.qt.models.traffic.columns import STATUS_TONES
from inspector.qt.theme import Theme, Tone
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import STATUS_LABELS, Direction, RecordKind, Status

_MAX_LINE_LENGTH = 2000
_SOURCE_LABELS = {
    RecordKind.TEXT: "stdout",
    RecordKind.INVALID: "stdout",
    RecordKind.STDERR: "stderr",
    RecordKind.PROCESS: "process",
    RecordKind.LOCAL: "MCP Lens",
}

_MAX_MESSAGE_LENGTH = 300
_SHOWN_KINDS = frozenset(kind for kind in RecordKind if kind.is_message or kind is RecordKind.LOCAL)
_RESPONSES = (RecordKind.RESULT, RecordKind.ERROR)
_MIN_HTTP_ERROR = 400  # HTTP statuses from here on are errors


class ConsoleColumn(IntEnum):
    TIME = 0
    SOURCE = 1
    TEXT = 2


CONSOLE_WIDTHS = {ConsoleColumn.TIME: 110, ConsoleColumn.SOURCE: 72}


class ConsoleModel(LogRowsModel):
    """One server's output, one line per row."""

    def __init__(self, log: TrafficLog, server: str, theme: Theme) -> None:
        columns = (
            Column("Time", partial(_time, log), "muted", partial(_full_time, log)),
            Column(
                "Source", lambda number: _SOURCE_LABELS[RecordKind(log.kind(number))], partial(_tone, log)
            ),
            Column("Text", partial(_line, log), partial(_tone, log), mono=1),
        )
        super().__init__(log, theme, columns)
        self._server = server

    def matching(self, numbers: range) -> Iterable[int]:
        log, server = self._log, self._log.server_number(self._server)
        return (
            number
            for number in numbers
            if log.kind(number) in _SOURCE_LABELS and log.server(number) == server
        )

    def line(self, row: int) -> str:
        """Return the whole line in displayable form."""
        number = self._rows[row]
        return one_line(self._log.preview(number, self._log.kept(number)).decode(errors="replace"))


class RawMessageColumn(IntEnum):
    DIRECTION = 0
    TIME = 1
    TEXT = 2
    STATUS = 3
    DURATION = 4


class RawMessagesModel(LogRowsModel):
    """One server's messages, starting with the first one sent from here."""

    def __init__(self, log: TrafficLog, server: str, theme: Theme) -> None:
        text = partial(_message_text, log)
        columns: tuple[Column[int], ...] = (
            Column(
                "",
                lambda number: "",
                icon=partial(_direction_icon, log, theme),
                accessible=lambda number: (
                    "to the server" if log.direction(number) == Direction.OUT else "from the server"
                ),
            ),
            Column("Time", partial(_time, log), "muted", partial(_full_time, log)),
            Column("Message", text, "text", text, mono=1),
            Column(
                "Status",
                lambda number: raw_message_state(log, number)[0],
                lambda number: raw_message_state(log, number)[1],
            ),
            Column("Duration", partial(_response_time, log), "muted", align=RIGHT),
        )
        super().__init__(log, theme, columns)
        self._server = server
        self._has_begun = False

    def begin(self, length: int) -> None:
        """Start at this length of the log, when bytes are sent for the first time."""
        if not self._has_begun:
            self._has_begun = True
            self._first = self._seen = length

    def matching(self, numbers: range) -> Iterable[int]:
        log, server = self._log, self._log.server_number(self._server)
        if not self._has_begun or server is None:
            return ()
        kinds, servers = log.columns.kind, log.columns.server
        return (number for number in numbers if servers[number] == server and kinds[number] in _SHOWN_KINDS)


def _time(log: TrafficLog, number: int) -> str:
    return time_of_day(log.wall_ns(number))


def _full_time(log: TrafficLog, number: int) -> str:
    return full_time(log.wall_ns(number))


def _line(log: TrafficLog, number: int) -> str:
    text = log.preview(number, _MAX_LINE_LENGTH * 4).decode(errors="replace")
    return shorten(one_line(text), _MAX_LINE_LENGTH)


def _tone(log: TrafficLog, number: int) -> Tone:
    kind = log.kind(number)
    if kind in (RecordKind.TEXT, RecordKind.INVALID):
        return "warn"
    if kind == RecordKind.LOCAL:
        return "error"
    return "muted" if kind == RecordKind.PROCESS else "text"


def _message_text(log: TrafficLog, number: int) -> str:
    """Return a row's text. A response starts with its method, to be found in a long list."""
    text = one_line(log.preview(number, _MAX_MESSAGE_LENGTH).decode(errors="replace"))
    if log.kind(number) in _RESPONSES and log.method(number):
        text = f"{one_line(log.method(number))} ⇒ {text}"
    return shorten(text, _MAX_MESSAGE_LENGTH)


def _direction_icon(log: TrafficLog, theme: Theme, number: int) -> QIcon | None:
    match log.direction(number):
        case Direction.OUT:
            return theme.icon("arrow-out", "outbound")
        case Direction.IN:
            return theme.icon("arrow-in", "inbound")
    return None


def _response_time(log: TrafficLog, number: int) -> str:
    took = log.duration_ns(number) if log.kind(number) in _RESPONSES else None
    return "" if took is None else duration(took)


def rejection_status(log: TrafficLog, row: int) -> int | None:
    """Return the HTTP error status that rejected a sent message, else None."""
    exchange = log.exchange(row)
    if exchange is None or log.direction(row) != Direction.OUT:
        return None
    status = log.columns.http_status[exchange]
    return status if status >= _MIN_HTTP_ERROR else None


def raw_message_state(log: TrafficLog, row: int) -> tuple[str, Tone]:
    """Return a message's status in a word or two, and its tone."""
    rejected = rejection_status(log, row)
    if rejected is not None:
        return f"HTTP {rejected}", "error"
    kind, status = log.kind(row), log.status(row)
    if status is not Status.NONE:
        return STATUS_LABELS[status], STATUS_TONES[status]
    if kind in (RecordKind.INVALID, RecordKind.TEXT) and log.direction(row) == Direction.IN:
        return "not a message", "warn"
    # An error without a known request: the response to something that was not a message.
    return ("error", "error") if kind in (RecordKind.ERROR, RecordKind.LOCAL) else ("", "muted")
