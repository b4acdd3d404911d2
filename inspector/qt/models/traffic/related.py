"""Table model of the messages related to a row (`traffic.analysis.related`)."""

from __future__ import annotations

from enum import IntEnum

from PySide6.QtCore import QAbstractTableModel, QObject, Qt
from PySide6.QtGui import QFont

from inspector.base.json.values import JSONError, excerpt, shorten
from inspector.base.plain_text import one_line
from inspector.base.units import duration, full_time, plural
from inspector.protocol.jsonrpc import read
from inspector.qt.models.row_models import Index, plain_tip
from inspector.qt.theme import Theme, Tone
from inspector.traffic.analysis.related import RelatedMessages, Role
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import STATUS_LABELS, RecordKind, Status

_MAX_LENGTH = 200
_MAX_PARSED = 16 * 1024

_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter

_TONES: dict[Role, Tone] = {
    Role.REQUEST: "outbound",
    Role.RETRY: "outbound",
    Role.RESPONSE: "inbound",
    Role.SERVER_REQUEST: "wait",
    Role.REPLY: "wait",
    Role.CANCELLED: "warn",
    Role.STDERR: "warn",
}


class Column(IntEnum):
    OFFSET = 0
    ROLE = 1
    TEXT = 2


class RelatedMessagesModel(QAbstractTableModel):
    """The related messages, one per row; a row in between says how many were omitted."""

    def __init__(self, log: TrafficLog, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._log = log
        self._theme = theme
        self._related: RelatedMessages | None = None
        self._current: int | None = None
        self._gap = -1
        self._texts: dict[int, str] = {}

    def set_related(self, related: RelatedMessages | None, current: int | None) -> None:
        """Show related messages; the `current` log row is highlighted."""
        self.beginResetModel()
        self._texts.clear()
        self._related, self._current = related, current
        self._gap = len(related.steps) // 2 if related is not None and related.left_out else -1
        self.endResetModel()

    def number(self, position: int) -> int | None:
        """Return the log row of a step; None for the row of omitted steps."""
        at = self._step(position)
        return self._related.steps[at].row if self._related is not None and at is not None else None

    def position_of(self, number: int) -> int | None:
        return next(
            (position for position in range(self.rowCount()) if self.number(position) == number), None
        )

    def rowCount(self, parent: Index | None = None) -> int:
        if self._related is None or (parent is not None and parent.isValid()):
            return 0
        return len(self._related.steps) + (self._gap >= 0)

    def columnCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(Column)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return ("Offset", "Role", "Message")[section]
        if role == Qt.ItemDataRole.TextAlignmentRole and section == Column.OFFSET:
            return _RIGHT
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or self._related is None:
            return None
        at = self._step(index.row())
        if at is None:
            return self._gap_data(index.column(), role)
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self._text(at, index.column())
            case Qt.ItemDataRole.ForegroundRole:
                return self._theme.color(self._tone(at, index.column()))
            case Qt.ItemDataRole.TextAlignmentRole if index.column() == Column.OFFSET:
                return _RIGHT
            case Qt.ItemDataRole.FontRole if self._related.steps[at].row == self._current:
                font = self._theme.mono_font(0.95)
                font.setWeight(QFont.Weight.Bold)
                return font
            case Qt.ItemDataRole.ToolTipRole:
                row = self._related.steps[at].row
                return plain_tip(f"row {row + 1:,} · {full_time(self._log.wall_ns(row))}")
        return None

    def _step(self, position: int) -> int | None:
        if self._gap < 0 or position < self._gap:
            return position
        return None if position == self._gap else position - 1

    def _gap_data(self, column: int, role: int) -> object:
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._theme.color("muted")
        if role == Qt.ItemDataRole.DisplayRole and column == Column.TEXT and self._related is not None:
            return f"… {plural(self._related.left_out, 'message')} omitted"
        return None

    def _text(self, at: int, column: int) -> str:
        assert self._related is not None
        step = self._related.steps[at]
        if column == Column.OFFSET:
            return f"−{duration(-step.offset_ns)}" if step.offset_ns < 0 else duration(step.offset_ns)
        return step.role.value if column == Column.ROLE else self._step_text(step.row)

    def _step_text(self, row: int) -> str:
        """Return a step's text, computed once when it comes into view."""
        if row not in self._texts:
            self._texts[row] = step_text(self._log, row)
        return self._texts[row]

    def _tone(self, at: int, column: int) -> Tone:
        assert self._related is not None
        if column == Column.ROLE:
            return _TONES.get(self._related.steps[at].role, "muted")
        return "muted" if column == Column.OFFSET else "text"


def step_text(log: TrafficLog, row: int) -> str:
    """Return a row in one line: its method and subject, or its text."""
    if log.kind(row) > RecordKind.TEXT or not log.method(row):
        text = log.preview(row, 4 * _MAX_LENGTH).decode(errors="replace").strip()
        return shorten(one_line(text), _MAX_LENGTH)
    status = log.status(row)
    parts = [
        log.method(row),
        log.subject(row),
        STATUS_LABELS[status] if status is not Status.OK else "",
        _notification_note(log, row),
    ]
    return shorten(one_line("  ".join(part for part in parts if part)), _MAX_LENGTH)


def _notification_note(log: TrafficLog, row: int) -> str:
    """Return what a progress, log or cancelled notification says; "" for others."""
    if log.kind(row) != RecordKind.NOTIFICATION or log.kept(row) > _MAX_PARSED:
        return ""
    try:
        params = read(log.readable_raw(row) or b"").params
    except JSONError:
        return ""
    match log.method(row):
        case "notifications/progress":
            parts = [params.get(name) for name in ("progress", "total")]
            done = " of ".join(excerpt(part) for part in parts if part is not None)
            return f"{done}  {excerpt(params.get('message', ''), _MAX_LENGTH)}".rstrip()
        case "notifications/message":
            return excerpt(params.get("data"), _MAX_LENGTH)
        case "notifications/cancelled":
            return excerpt(params.get("reason", ""), _MAX_LENGTH)
    return ""
