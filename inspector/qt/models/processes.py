"""Table model of a server's processes, children indented below parents; formats for figures."""

from __future__ import annotations

import time
from enum import IntEnum

from PySide6.QtCore import QAbstractTableModel, QObject, Qt

from inspector.base.units import duration, full_time, size
from inspector.engine.processes.sample import ProcessFacts, Sample
from inspector.qt.models.row_models import ROOT, Index, plain_tip
from inspector.qt.theme import Theme

_INDENT = "    "
_MAX_DEPTH = 8
_UNKNOWN = "—"
_HOUR, _DAY = 3_600, 86_400


class Column(IntEnum):
    NAME = 0
    PID = 1
    CPU = 2
    MEMORY = 3
    THREADS = 4
    HANDLES = 5
    AGE = 6


HEADERS = ("Process", "PID", "CPU", "Memory", "Threads", "Files", "Uptime")
_NUMBERS = (Column.PID, Column.CPU, Column.MEMORY, Column.THREADS, Column.HANDLES, Column.AGE)
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class ProcessesModel(QAbstractTableModel):
    """The latest Sample. Rows are kept while the processes stay the same."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._processes: tuple[ProcessFacts, ...] = ()
        self._now_ns = 0

    def show(self, sample: Sample | None) -> None:
        processes = sample.processes if sample is not None else ()
        self._now_ns = time.time_ns()
        if [_identity(each) for each in processes] != [_identity(each) for each in self._processes]:
            self.beginResetModel()
            self._processes = processes
            self.endResetModel()
        elif processes:
            self._processes = processes
            last = self.index(len(processes) - 1, len(Column) - 1)
            self.dataChanged.emit(self.index(0, 0), last)

    def process(self, row: int) -> ProcessFacts:
        return self._processes[row]

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._processes)

    def columnCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(Column)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return HEADERS[section]
        return self._alignment(section) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        process, column = self._processes[index.row()], index.column()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return cell_text(process, column, self._now_ns)
            case Qt.ItemDataRole.TextAlignmentRole:
                return self._alignment(column)
            case Qt.ItemDataRole.FontRole if column == Column.PID:
                return self._theme.mono_font()
            case Qt.ItemDataRole.ForegroundRole if process.state == "zombie":
                return self._theme.color("muted")
            case Qt.ItemDataRole.ToolTipRole:
                return plain_tip(tip) if (tip := _tip(process, column)) else None
        return None

    def _alignment(self, column: int) -> Qt.AlignmentFlag:
        return _RIGHT if column in _NUMBERS else _LEFT


def cell_text(process: ProcessFacts, column: int, now_ns: int) -> str:
    match column:
        case Column.NAME:
            note = " (orphan)" if process.is_stray else ""
            ended = " (ended)" if process.state == "zombie" else ""
            return f"{_INDENT * min(process.depth, _MAX_DEPTH)}{process.name}{note}{ended}"
        case Column.PID:
            return str(process.pid)
        case Column.CPU:
            return percent_text(process.share)
        case Column.MEMORY:
            return size(process.rss) if process.rss is not None else _UNKNOWN
        case Column.THREADS:
            return f"{process.threads:,}" if process.threads is not None else _UNKNOWN
        case Column.HANDLES:
            return f"{process.handles:,}" if process.handles is not None else _UNKNOWN
    return age_text(now_ns - process.started_ns)


def percent_text(share: float | None) -> str:
    """Format a share of one core: 250% is two and a half cores."""
    if share is None:
        return _UNKNOWN
    return f"{share * 100:.1f}%" if 0.0005 <= share < 0.0995 else f"{share * 100:.0f}%"


def age_text(nanoseconds: int) -> str:
    """Format an age: 12 s, 3 min 05 s, 2 h 07 min, 3 d 4 h."""
    seconds = max(0, nanoseconds) // 1_000_000_000
    if seconds < 60:
        return f"{seconds} s"
    if seconds < _HOUR:
        return f"{seconds // 60} min {seconds % 60:02d} s"
    if seconds < _DAY:
        return f"{seconds // _HOUR} h {seconds % _HOUR // 60:02d} min"
    return f"{seconds // _DAY} d {seconds % _DAY // _HOUR} h"


def _identity(process: ProcessFacts) -> tuple[int, int, int]:
    return process.pid, process.started_ns, process.depth


def _tip(process: ProcessFacts, column: int) -> str:
    match column:
        case Column.CPU if process.cpu_ns is not None:
            return f"{duration(process.cpu_ns)} of CPU time since start"
        case Column.AGE:
            return f"Started {full_time(process.started_ns)}"
        case Column.HANDLES:
            return "Open files, pipes and sockets"
        case Column.NAME:
            text = "Its parent process has exited, but it still belongs to the server's process group. "
            return f"{text if process.is_stray else ''}{process.command}"
    return ""
