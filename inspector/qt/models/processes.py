"""Table model of a server's processes, children indented below parents; formats for figures."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import IntEnum

from PySide6.QtCore import QObject

from inspector.base.units import duration, full_time, size
from inspector.engine.processes.sample import ProcessFacts, Sample
from inspector.qt.models.record_table import RIGHT, Column, RecordTable
from inspector.qt.theme import Theme, Tone

_INDENT = "    "
_MAX_DEPTH = 8
_UNKNOWN = "—"
_FILES_TIP = "Open files, pipes and sockets"
_HOUR, _DAY = 3_600, 86_400


class ProcessColumn(IntEnum):
    NAME = 0
    PID = 1
    CPU = 2
    MEMORY = 3
    THREADS = 4
    HANDLES = 5
    AGE = 6


class ProcessesModel(RecordTable[ProcessFacts]):
    """The processes of the latest Sample. Rows are kept while the processes stay the same."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        columns = (
            Column("Process", _name_text, _tone, _name_tip),
            _number("PID", lambda process: str(process.pid), mono=1),
            _number("CPU", lambda process: percent_text(process.share), _cpu_tip),
            _number("Memory", lambda process: size(process.rss) if process.rss is not None else _UNKNOWN),
            _number("Threads", lambda process: _count(process.threads)),
            _number("Files", lambda process: _count(process.handles), lambda process: _FILES_TIP),
            _number("Uptime", _uptime_text, lambda process: f"Started {full_time(process.started_ns)}"),
        )
        super().__init__(theme, columns, _identity, parent)

    def show(self, sample: Sample | None) -> None:
        self.update(sample.processes if sample is not None else ())
        self.refresh(ProcessColumn.AGE)


def _number(
    title: str,
    text: Callable[[ProcessFacts], str],
    tip: Callable[[ProcessFacts], str] | None = None,
    mono: float = 0,
) -> Column[ProcessFacts]:
    return Column(title, text, _tone, tip, align=RIGHT, mono=mono)


def _tone(process: ProcessFacts) -> Tone | None:
    return "muted" if process.state == "zombie" else None


def _name_text(process: ProcessFacts) -> str:
    note = " (orphan)" if process.is_stray else ""
    ended = " (ended)" if process.state == "zombie" else ""
    return f"{_INDENT * min(process.depth, _MAX_DEPTH)}{process.name}{note}{ended}"


def _name_tip(process: ProcessFacts) -> str:
    text = "Its parent process has exited, but it still belongs to the server's process group. "
    return f"{text if process.is_stray else ''}{process.command}"


def _cpu_tip(process: ProcessFacts) -> str:
    return f"{duration(process.cpu_ns)} of CPU time since start" if process.cpu_ns is not None else ""


def _count(number: int | None) -> str:
    return f"{number:,}" if number is not None else _UNKNOWN


def _uptime_text(process: ProcessFacts) -> str:
    return age_text(time.time_ns() - process.started_ns)


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
