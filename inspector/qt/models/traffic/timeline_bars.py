"""Operations of the timeline as bars, and the details inside wide ones.

Details require a log scan. It runs in slices of a few milliseconds for the bars in view, and the results
are cached.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import TypeAlias

from PySide6.QtCore import QObject, QTimer, Signal

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.units import duration, full_time, plural
from inspector.traffic.analysis.lanes import RANKS, Piece
from inspector.traffic.analysis.timeline import Bar, BarPosition, LaneView, Mark, Timeline, Wait
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import STATUS_LABELS, Status

_SLICE_S = 0.006
_PAUSE_MS = 15
# Refreshing one operation may take at most this share of the time.
_MAX_LOAD = 0.05
_MAX_CACHED = 4_000
_MAX_LABEL_LENGTH = 80
_END_OF_TIME = 2**62
_PIXELS = 1_000

# What happened during an operation: waits for the user, and marks.
Inside: TypeAlias = tuple[tuple[Wait, ...], tuple[Mark, ...]]


class TimelineBars(QObject):
    """The operations of the timeline and their known details.

    Signals:
        found: Details of some bars are known now.
    """

    found = Signal()

    def __init__(self, log: TrafficLog, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._log = log
        self._timeline = Timeline(log)
        self._window: tuple[object, tuple[LaneView, ...]] | None = None
        self._inside: dict[int, Inside] = {}
        self._requested: list[int] = []
        self._stale: set[int] = set()
        self._due: dict[int, float] = {}
        self._labels: dict[tuple[int, int], tuple[str, str]] = {}
        self._timer = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._timer.timeout.connect(self._compute_some)

    def __len__(self) -> int:
        return len(self._timeline)

    def reset(self) -> None:
        """Remove all operations."""
        self._timeline = Timeline(self._log)
        self._window = None
        self._inside.clear()
        self._stale.clear()
        self._due.clear()
        self._requested.clear()
        self._timer.stop()

    def extend(self, rows: array[int]) -> None:
        self._timeline.extend(rows)
        self._window = None
        self._note_stale(rows)

    def retouch(self, rows: array[int]) -> None:
        self._timeline.refresh(rows)
        self._window = None
        self._note_stale(rows)

    def _note_stale(self, rows: Iterable[int]) -> None:
        if self._inside:
            operations, inside = self._log.columns.operation, self._inside
            self._stale.update(operations[row] for row in rows if operations[row] in inside)

    def span(self) -> tuple[int, int] | None:
        """Return the first start and the last known time."""
        return self._timeline.span()

    def density(self, t0: int, t1: int, columns: int) -> tuple[list[int], list[Status]]:
        """Return the operations started per column of a range, and their worst status."""
        counts, worst, factor = [0] * columns, [Status.NONE] * columns, columns / max(1, t1 - t0)
        for lane in self._timeline.window(t0, t1, columns):
            for piece in lane.pieces:
                position = min(max(int((piece.start_ns - t0) * factor), 0), columns - 1)
                counts[position] += piece.bars
                if piece.status is not worst[position] and RANKS[piece.status] > RANKS[worst[position]]:
                    worst[position] = piece.status
        return counts, worst

    def lanes(self, t0: int, t1: int) -> tuple[LaneView, ...]:
        """Return the lanes; each sub-row merged into one piece, except for open operations."""
        return self._timeline.window(t0, t1, 1)

    def window(
        self, t0: int, t1: int, width: int, servers: Sequence[int] | None = None
    ) -> tuple[LaneView, ...]:
        """Return the lanes in a range. The last result is cached: most paints repeat it."""
        requested = t0, t1, width, None if servers is None else tuple(servers)
        if self._window is None or self._window[0] != requested:
            self._window = requested, self._timeline.window(t0, t1, width, servers)
        return self._window[1]

    def where(self, row: int) -> BarPosition | None:
        return self._timeline.where(row)

    def at(self, at: int, server: int, subrow: int, slack: int) -> int | None:
        return self._timeline.at(at, server, subrow, slack)

    def label(self, operation: int) -> tuple[str, str]:
        """Return a bar's label and its detail: tool and method, or just the method."""
        columns = self._log.columns
        numbers = columns.method[operation], columns.subject[operation]
        if numbers not in self._labels:
            texts = [
                shorten(one_line(self._log.strings.text(number)), _MAX_LABEL_LENGTH) for number in numbers
            ]
            self._labels[numbers] = (texts[1], texts[0]) if texts[1] else (texts[0] or "batch", "")
        return self._labels[numbers]

    def inside(self, operation: int) -> Inside | None:
        """Return the details of an operation; None while unknown (see `request`)."""
        return self._inside.get(operation)

    def request(self, operations: Sequence[int]) -> None:
        """Request the details of visible operations. Only unknown or stale ones are computed."""
        now = perf_counter()
        self._requested = [
            operation
            for operation in operations
            if operation not in self._inside
            or (operation in self._stale and self._due.get(operation, 0.0) <= now)
        ]
        if self._requested and not self._timer.isActive():
            self._timer.start()

    def _compute_some(self) -> None:
        until = perf_counter() + _SLICE_S
        if len(self._inside) > _MAX_CACHED:
            self._inside.clear()
        while self._requested and perf_counter() < until:
            self._compute(self._requested.pop(0))
        if self._requested:
            self._timer.start()
        self.found.emit()

    def _compute(self, operation: int) -> None:
        began = perf_counter()
        self._stale.discard(operation)
        self._inside[operation] = self._timeline.waits(operation), self._timeline.marks(operation)
        took = perf_counter() - began
        self._due[operation] = began + took / _MAX_LOAD

    def neighbor(self, operation: int, step: int) -> int | None:
        """Return the next (1) or previous (-1) operation in the same sub-row."""
        position = self.where(operation)
        if position is None:
            return None
        if step > 0:
            end = position.end_ns if position.end_ns is not None else _END_OF_TIME
            pieces = self._pieces(position, end, _END_OF_TIME, 1)
            return pieces[0].operation if pieces else None
        span = self.span()
        pieces = self._pieces(position, span[0], position.start_ns, _PIXELS) if span else []
        while pieces and pieces[-1].bars > 1:
            last = pieces[-1]
            pieces = self._pieces(position, last.start_ns, position.start_ns, _PIXELS)
            if pieces and pieces[-1] == last:
                break  # they overlap and cannot be distinguished
        return pieces[-1].operation if pieces else None

    def _pieces(self, position: BarPosition, t0: int, t1: int, width: int) -> list[Piece]:
        lanes = self._timeline.window(t0, t1, width, (position.server,))
        return [piece for lane in lanes for piece in lane.pieces if piece.subrow == position.subrow]

    def text(self, operation: int, now_ns: int) -> str:
        """Return a summary of an operation in a few lines."""
        bar = self._timeline.bar(operation)
        if bar is None:
            return ""
        lines = [
            "  ".join(reversed(self.label(operation))).strip(),
            one_line(self._log.server_name(operation)),
        ]
        lines.append(f"{STATUS_LABELS[bar.status] or 'no response'}, {_length(bar, now_ns)}")
        lines.append(f"started {full_time(bar.start_ns)}")
        waited = sum(max(0, (wait.end_ns or now_ns) - wait.start_ns) for wait in bar.waits)
        if bar.waits:
            lines.append(f"{duration(waited)} waiting for user input")
        kinds = Counter(mark.kind.value for mark in bar.marks)
        lines += [plural(count, kind) for kind, count in kinds.items()]
        return "\n".join(lines)


def _length(bar: Bar, now_ns: int) -> str:
    if bar.end_ns is None:
        return f"{duration(max(0, now_ns - bar.start_ns))} so far"
    return duration(bar.end_ns - bar.start_ns)
