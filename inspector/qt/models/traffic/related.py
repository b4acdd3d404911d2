"""Table model of the messages related to a row (`traffic.analysis.related`)."""

from __future__ import annotations

from enum import IntEnum

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QFont

from inspector.base.json.values import JSONError, excerpt, shorten
from inspector.base.plain_text import one_line
from inspector.base.units import duration, full_time, plural
from inspector.protocol.jsonrpc import read
from inspector.qt.models.record_table import RIGHT, Column, Index, RecordTable
from inspector.qt.theme import Theme, Tone
from inspector.traffic.analysis.related import RelatedMessages, Role, Step
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import STATUS_LABELS, RecordKind, Status

_MAX_LENGTH = 200
_MAX_PARSED = 16 * 1024

_TONES: dict[Role, Tone] = {
    Role.REQUEST: "outbound",
    Role.RETRY: "outbound",
    Role.RESPONSE: "inbound",
    Role.SERVER_REQUEST: "wait",
    Role.REPLY: "wait",
    Role.CANCELLED: "warn",
    Role.STDERR: "warn",
}


class RelatedColumn(IntEnum):
    OFFSET = 0
    ROLE = 1
    TEXT = 2


class RelatedMessagesModel(RecordTable[Step | None]):
    """The related messages, one per row; None marks a gap where messages are omitted."""

    def __init__(self, log: TrafficLog, theme: Theme, parent: QObject | None = None) -> None:
        self._left_out = 0
        self._current: int | None = None
        self._texts: dict[int, str] = {}

        def text(step: Step | None) -> str:
            """Return a step's text, computed once when it comes into view."""
            if step is None:
                return f"… {plural(self._left_out, 'message')} omitted"
            if step.row not in self._texts:
                self._texts[step.row] = step_text(log, step.row)
            return self._texts[step.row]

        def tip(step: Step | None) -> str:
            return f"row {step.row + 1:,} · {full_time(log.wall_ns(step.row))}" if step is not None else ""

        columns = (
            Column("Offset", _offset_text, "muted", tip, align=RIGHT),
            Column("Role", lambda step: step.role.value if step is not None else "", _role_tone, tip),
            Column("Message", text, lambda step: "text" if step is not None else "muted", tip),
        )
        super().__init__(theme, columns, lambda step: step.row if step is not None else None, parent)

    def set_related(self, related: RelatedMessages | None, current: int | None) -> None:
        """Show related messages; the `current` log row is highlighted."""
        self._texts.clear()
        self._current = current
        self._left_out = related.left_out if related is not None else 0
        steps: list[Step | None] = list(related.steps) if related is not None else []
        if self._left_out:
            steps.insert(len(steps) // 2, None)
        self.replace(steps)

    def number(self, row: int) -> int | None:
        """Return the log row of a step; None for the row of omitted steps."""
        step = self.find(row)
        return step.row if step is not None else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role == Qt.ItemDataRole.FontRole and self.number(index.row()) == self._current is not None:
            font = self._theme.mono_font(0.95)
            font.setWeight(QFont.Weight.Bold)
            return font
        return super().data(index, role)


def _offset_text(step: Step | None) -> str:
    if step is None:
        return ""
    return f"−{duration(-step.offset_ns)}" if step.offset_ns < 0 else duration(step.offset_ns)


def _role_tone(step: Step | None) -> Tone:
    return _TONES.get(step.role, "muted") if step is not None else "muted"


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
