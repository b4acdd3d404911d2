"""Tables of one server's output, and of messages sent by hand and their responses.

The output is stderr, stray lines on stdout, and the start and end of the process.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from enum import IntEnum

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QIcon

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.units import duration, full_time, time_of_day
from inspector.qt.models.row_models import Index, LogRowsModel, plain_tip
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


class ConsoleModel(LogRowsModel):
    """One server's output, one line per row."""

    columns = ("Time", "Source", "Text")

    def __init__(self, log: TrafficLog, server: str, theme: Theme) -> None:
        super().__init__(log)
        self._server = server
        self._theme = theme

    def matching(self, numbers: range) -> Iterable[int]:
        log, server = self._log, self._log.server_number(self._server)
        return (
            number
            for number in numbers
            if log.kind(number) in _SOURCE_LABELS and log.server(number) == server
        )

    def show_rows(self, rows: Iterable[int]) -> None:
        """Show exactly these rows of the log."""
        self.beginResetModel()
        self._rows = array("q", rows)
        self.endResetModel()

    def line(self, row: int) -> str:
        """Return the whole line in displayable form."""
        number = self._rows[row]
        return one_line(self._log.preview(number, self._log.kept(number)).decode(errors="replace"))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        number, column = self._rows[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._cell(number, column)
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._color(number, column)
        if role == Qt.ItemDataRole.FontRole and column == ConsoleColumn.TEXT:
            return self._theme.mono_font()
        if role == Qt.ItemDataRole.ToolTipRole and column == ConsoleColumn.TIME:
            return full_time(self._log.wall_ns(number))
        return None

    def _cell(self, number: int, column: int) -> str:
        if column == ConsoleColumn.TIME:
            return time_of_day(self._log.wall_ns(number))
        if column == ConsoleColumn.SOURCE:
            return _SOURCE_LABELS[RecordKind(self._log.kind(number))]
        text = self._log.preview(number, _MAX_LINE_LENGTH * 4).decode(errors="replace")
        return shorten(one_line(text), _MAX_LINE_LENGTH)

    def _color(self, number: int, column: int) -> QColor:
        kind = self._log.kind(number)
        if column == ConsoleColumn.TIME:
            return self._theme.color("muted")
        if kind in (RecordKind.TEXT, RecordKind.INVALID):
            return self._theme.color("warn")
        if kind == RecordKind.LOCAL:
            return self._theme.color("error")
        return self._theme.color("muted" if kind == RecordKind.PROCESS else "text")


class RawMessageColumn(IntEnum):
    DIRECTION = 0
    TIME = 1
    TEXT = 2
    STATUS = 3
    DURATION = 4


class RawMessagesModel(LogRowsModel):
    """One server's messages, starting with the first one sent from here."""

    columns = ("", "Time", "Message", "Status", "Duration")

    def __init__(self, log: TrafficLog, server: str, theme: Theme) -> None:
        super().__init__(log)
        self._server = server
        self._theme = theme
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

    def alignment(self, column: int) -> Qt.AlignmentFlag:
        side = (
            Qt.AlignmentFlag.AlignRight if column == RawMessageColumn.DURATION else Qt.AlignmentFlag.AlignLeft
        )
        return side | Qt.AlignmentFlag.AlignVCenter

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        number, column = self._rows[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._cell(number, column)
        if role == Qt.ItemDataRole.DecorationRole and column == RawMessageColumn.DIRECTION:
            return self._icon(number)
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._color(number, column)
        if role == Qt.ItemDataRole.FontRole and column == RawMessageColumn.TEXT:
            return self._theme.mono_font()
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(number, column)
        if role == Qt.ItemDataRole.AccessibleTextRole and column == RawMessageColumn.DIRECTION:
            return "to the server" if self._log.direction(number) == Direction.OUT else "from the server"
        return None

    def _cell(self, number: int, column: int) -> str:
        log = self._log
        match column:
            case RawMessageColumn.TIME:
                return time_of_day(log.wall_ns(number))
            case RawMessageColumn.TEXT:
                return self._text(number)
            case RawMessageColumn.STATUS:
                return raw_message_state(self._log, number)[0]
            case RawMessageColumn.DURATION:
                took = log.duration_ns(number) if log.kind(number) in _RESPONSES else None
                return "" if took is None else duration(took)
        return ""

    def _text(self, number: int) -> str:
        """Return a row's text. A response starts with its method, to be found in a long list."""
        log = self._log
        text = one_line(log.preview(number, _MAX_MESSAGE_LENGTH).decode(errors="replace"))
        if log.kind(number) in _RESPONSES and log.method(number):
            text = f"{one_line(log.method(number))} ⇒ {text}"
        return shorten(text, _MAX_MESSAGE_LENGTH)

    def _icon(self, number: int) -> QIcon | None:
        match self._log.direction(number):
            case Direction.OUT:
                return self._theme.icon("arrow-out", "outbound")
            case Direction.IN:
                return self._theme.icon("arrow-in", "inbound")
        return None

    def _color(self, number: int, column: int) -> QColor:
        if column == RawMessageColumn.STATUS:
            return self._theme.color(raw_message_state(self._log, number)[1])
        return self._theme.color("text" if column == RawMessageColumn.TEXT else "muted")

    def _tip(self, number: int, column: int) -> str | None:
        if column == RawMessageColumn.TIME:
            return full_time(self._log.wall_ns(number))
        return plain_tip(self._text(number)) if column == RawMessageColumn.TEXT else None


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
