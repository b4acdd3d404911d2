"""The traffic table: frames of all servers, or of one, newest last."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import IntEnum

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QIcon

from inspector.base.jsonvalue import compact, shorten
from inspector.base.plaintext import one_line
from inspector.base.units import duration, full_time, size, time_of_day
from inspector.qt.models.logrows import Index, LogRowsModel
from inspector.qt.models.tips import plain_tip
from inspector.qt.theme import Theme, Tone
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, RecordKind, Status

_LAST_FRAME = RecordKind.TEXT


class Column(IntEnum):
    NUMBER = 0
    TIME = 1
    DIRECTION = 2
    SERVER = 3
    MESSAGE = 4
    ID = 5
    STATUS = 6
    DURATION = 7
    SIZE = 8


STATUS_WORDS = {
    Status.NONE: "",
    Status.PENDING: "waiting",
    Status.OK: "ok",
    Status.TOOL_ERROR: "tool error",
    Status.ERROR: "error",
    Status.GIVEN_UP: "given up",
    Status.NOT_SENT: "not sent",
}
STATUS_TONES: dict[Status, Tone] = {
    Status.NONE: "muted",
    Status.PENDING: "wait",
    Status.OK: "ok",
    Status.TOOL_ERROR: "warn",
    Status.ERROR: "error",
    Status.GIVEN_UP: "muted",
    Status.NOT_SENT: "error",
}
_NUMERIC = (Column.NUMBER, Column.DURATION, Column.SIZE)
# Made once: combining two of Qt's flags takes longer than everything else that a cell is asked for.
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class TrafficModel(LogRowsModel):
    """Which rows are shown is a choice of server, of words, and of whether events stand among frames."""

    columns = ("#", "Time", "", "Server", "Message", "Id", "Status", "Duration", "Size")

    def __init__(self, log: TrafficLog, theme: Theme) -> None:
        super().__init__(log)
        self._theme = theme
        self._server: str | None = None
        self._words = ""
        self._with_events = False
        self._cells: dict[int, Callable[[int], str]] = {
            Column.NUMBER: lambda number: str(number + 1),
            Column.TIME: lambda number: time_of_day(log.wall_ns(number)),
            Column.SERVER: lambda number: one_line(log.server_name(number)),
            Column.MESSAGE: self.message_text,
            Column.ID: self._id_text,
            Column.STATUS: self.status_text,
            Column.DURATION: self._duration_text,
            Column.SIZE: lambda number: size(log.size(number)),
        }
        # By number: a view asks for seven roles of every cell that it paints, most of which have no answer.
        self._answers: dict[int, Callable[[int, int], object]] = {
            Qt.ItemDataRole.DisplayRole: self._text,
            Qt.ItemDataRole.ForegroundRole: self._color,
            Qt.ItemDataRole.TextAlignmentRole: lambda number, column: self.alignment(column),
            Qt.ItemDataRole.DecorationRole: self._direction_icon,
            Qt.ItemDataRole.ToolTipRole: self._tool_tip,
            Qt.ItemDataRole.AccessibleTextRole: self._accessible_text,
        }

    # -------------------------------------------------------------- which rows

    def set_server(self, name: str | None) -> None:
        if name != self._server:
            self._server = name
            self.refilter()

    def set_words(self, words: str) -> None:
        if words != self._words:
            self._words = words.casefold()
            self.refilter()

    def set_with_events(self, shown: bool) -> None:
        if shown != self._with_events:
            self._with_events = shown
            self.refilter()

    @property
    def is_filtered(self) -> bool:
        """Does a choice of server or words hide rows?"""
        return self._server is not None or bool(self._words)

    def matching(self, numbers: range) -> Iterable[int]:
        log = self._log
        kind = log.kind
        rows: Iterable[int] = (
            (number for number in numbers if kind(number) != RecordKind.STDERR)
            if self._with_events
            else (number for number in numbers if kind(number) <= _LAST_FRAME)
        )
        if self._server is not None:
            server = log.server_number(self._server)
            rows = (number for number in rows if log.server(number) == server)
        if self._words:
            rows = (number for number in rows if self._has_words(number))
        return rows

    def _has_words(self, number: int) -> bool:
        log = self._log
        return any(
            self._words in text.casefold()
            for text in (
                log.method(number),
                log.subject(number),
                self.status_text(number),
                log.problem(number),
            )
        )

    # -------------------------------------------------------------- what cells show

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        answer = self._answers.get(role)
        if answer is None or not index.isValid():
            return None
        return answer(self._rows[index.row()], index.column())

    def alignment(self, column: int) -> Qt.AlignmentFlag:
        return _RIGHT if column in _NUMERIC else _LEFT

    def _text(self, number: int, column: int) -> str | None:
        cell = self._cells.get(column)
        return cell(number) if cell else None

    def message_text(self, number: int) -> str:
        kind = self._log.kind(number)
        if kind > _LAST_FRAME or kind in (RecordKind.TEXT, RecordKind.INVALID):
            return shorten(one_line(self._log.raw(number)[:400].decode(errors="replace")), 200)
        method, subject = self._log.method(number), self._log.subject(number)
        words = f"{method}  {subject}" if subject else method
        if kind in (RecordKind.RESULT, RecordKind.ERROR):
            words = words or "answer to an unknown request"
        return one_line(words or RecordKind(kind).name.lower())

    def status_text(self, number: int) -> str:
        kind = self._log.kind(number)
        if kind == RecordKind.TEXT:
            return "stray"
        if self._log.problem(number):
            return "problem"
        if kind == RecordKind.HTTP:
            return self._http_status(number)
        if kind > _LAST_FRAME:
            return RecordKind(kind).name.lower()
        status = self._log.status(number)
        if status is Status.PENDING and self._log.method(number) == "subscriptions/listen":
            return "listening"  # a stream, not a call that waits
        return STATUS_WORDS[status]

    def _http_status(self, number: int) -> str:
        exchange = self._log.http(number)
        if exchange is None or exchange.status is None:
            return "failed" if exchange is not None and exchange.is_over else "waiting"
        return str(exchange.status)

    def _id_text(self, number: int) -> str:
        id = self._log.id(number)
        return "" if id is None else shorten(one_line(compact(id)), 24)

    def _duration_text(self, number: int) -> str:
        nanoseconds = self._log.duration_ns(number)
        if self._log.kind(number) == RecordKind.HTTP and (exchange := self._log.http(number)) is not None:
            nanoseconds = exchange.total_ns
        return "" if nanoseconds is None else duration(nanoseconds)

    def _color(self, number: int, column: int) -> QColor | None:
        kind = self._log.kind(number)
        if column == Column.STATUS:
            return self._theme.color(self._status_tone(number))
        if kind > _LAST_FRAME or kind == RecordKind.TEXT or column != Column.MESSAGE:
            return self._theme.color("muted")
        return self._theme.color("text")

    def _status_tone(self, number: int) -> Tone:
        if self._log.problem(number) or self._log.kind(number) == RecordKind.LOCAL:
            return "error"
        return STATUS_TONES[self._log.status(number)]

    def _direction_icon(self, number: int, column: int) -> QIcon | None:
        direction = self._log.direction(number)
        if column != Column.DIRECTION or direction == Direction.NONE:
            return None
        is_in = direction == Direction.IN
        return self._theme.icon("arrow-in" if is_in else "arrow-out", "inbound" if is_in else "outbound")

    def _tool_tip(self, number: int, column: int) -> str | None:
        if column == Column.TIME:
            return full_time(self._log.wall_ns(number))
        if column == Column.STATUS and self._log.problem(number):
            return plain_tip(self._log.problem(number))
        if column == Column.DIRECTION:
            return _direction_words(self._log.direction(number))
        return None

    def _accessible_text(self, number: int, column: int) -> str | None:
        return _direction_words(self._log.direction(number)) if column == Column.DIRECTION else None


def _direction_words(direction: int) -> str:
    return {Direction.IN: "from the server", Direction.OUT: "to the server"}.get(Direction(direction), "")
