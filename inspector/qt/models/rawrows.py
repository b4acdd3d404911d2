"""What was sent to a server by hand and what came back, from the first such message on."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QIcon

from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line
from inspector.base.units import duration, full_time, time_of_day
from inspector.qt.models.logrows import Index, LogRowsModel
from inspector.qt.models.tips import plain_tip
from inspector.qt.models.trafficcells import STATUS_TONES
from inspector.qt.theme import Theme, Tone
from inspector.traffic.log import TrafficLog
from inspector.traffic.query.choices import STATUS_WORDS
from inspector.traffic.records import Direction, RecordKind, Status

_LONGEST = 300
_SHOWN = frozenset(kind for kind in RecordKind if kind.is_frame or kind is RecordKind.LOCAL)
_ANSWERS = (RecordKind.RESULT, RecordKind.ERROR)
_REFUSED = 400  # HTTP statuses from here on are errors


class Column(IntEnum):
    DIRECTION = 0
    TIME = 1
    TEXT = 2
    STATUS = 3
    DURATION = 4


class RawRowsModel(LogRowsModel):
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
        return (number for number in numbers if servers[number] == server and kinds[number] in _SHOWN)

    def alignment(self, column: int) -> Qt.AlignmentFlag:
        side = Qt.AlignmentFlag.AlignRight if column == Column.DURATION else Qt.AlignmentFlag.AlignLeft
        return side | Qt.AlignmentFlag.AlignVCenter

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        number, column = self._rows[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._cell(number, column)
        if role == Qt.ItemDataRole.DecorationRole and column == Column.DIRECTION:
            return self._icon(number)
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._color(number, column)
        if role == Qt.ItemDataRole.FontRole and column == Column.TEXT:
            return self._theme.mono_font()
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(number, column)
        if role == Qt.ItemDataRole.AccessibleTextRole and column == Column.DIRECTION:
            return "to the server" if self._log.direction(number) == Direction.OUT else "from the server"
        return None

    def _cell(self, number: int, column: int) -> str:
        log = self._log
        match column:
            case Column.TIME:
                return time_of_day(log.wall_ns(number))
            case Column.TEXT:
                return self._text(number)
            case Column.STATUS:
                return standing(self._log, number)[0]
            case Column.DURATION:
                took = log.duration_ns(number) if log.kind(number) in _ANSWERS else None
                return "" if took is None else duration(took)
        return ""

    def _text(self, number: int) -> str:
        """Return a row's text. A response starts with its method, to be found in a long list."""
        log = self._log
        text = one_line(log.head(number, _LONGEST).decode(errors="replace"))
        if log.kind(number) in _ANSWERS and log.method(number):
            text = f"{one_line(log.method(number))} ⇒ {text}"
        return shorten(text, _LONGEST)

    def _icon(self, number: int) -> QIcon | None:
        match self._log.direction(number):
            case Direction.OUT:
                return self._theme.icon("arrow-out", "outbound")
            case Direction.IN:
                return self._theme.icon("arrow-in", "inbound")
        return None

    def _color(self, number: int, column: int) -> QColor:
        if column == Column.STATUS:
            return self._theme.color(standing(self._log, number)[1])
        return self._theme.color("text" if column == Column.TEXT else "muted")

    def _tip(self, number: int, column: int) -> str | None:
        if column == Column.TIME:
            return full_time(self._log.wall_ns(number))
        return plain_tip(self._text(number)) if column == Column.TEXT else None


def refusal(log: TrafficLog, row: int) -> int | None:
    """Return the HTTP error status that rejected a sent message, else None."""
    exchange = log.exchange(row)
    if exchange is None or log.direction(row) != Direction.OUT:
        return None
    status = log.columns.http_status[exchange]
    return status if status >= _REFUSED else None


def standing(log: TrafficLog, row: int) -> tuple[str, Tone]:
    """Return a message's status in a word or two, and its tone."""
    refused = refusal(log, row)
    if refused is not None:
        return f"HTTP {refused}", "error"
    kind, status = log.kind(row), log.status(row)
    if status is not Status.NONE:
        return STATUS_WORDS[status], STATUS_TONES[status]
    if kind in (RecordKind.INVALID, RecordKind.TEXT) and log.direction(row) == Direction.IN:
        return "no message", "warn"
    # An error without a known request: the reply to something that was no message.
    return ("error", "error") if kind in (RecordKind.ERROR, RecordKind.LOCAL) else ("", "muted")
