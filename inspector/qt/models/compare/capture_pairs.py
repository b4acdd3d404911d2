"""Tables of a capture comparison: paired exchanges, and figures by method and tool."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from enum import IntEnum

from PySide6.QtCore import QAbstractTableModel, Qt
from PySide6.QtGui import QColor

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.units import duration
from inspector.qt.models.row_models import ROOT, Index
from inspector.qt.theme import Theme, Tone
from inspector.traffic.compare.captures import CaptureDiff, PairStatus, SubjectDiff
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import STATUS_LABELS, Direction

_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_SIGNS: dict[PairStatus, tuple[str, str, Tone]] = {
    PairStatus.SAME: ("=", "same", "muted"),
    PairStatus.ONLY_LEFT: ("−", "only left", "error"),
    PairStatus.ONLY_RIGHT: ("+", "only right", "ok"),
    PairStatus.OTHER_STATUS: ("≠", "status differs", "warn"),
    PairStatus.OTHER_BYTES: ("≠", "bytes differ", "warn"),
    PairStatus.DIFFERENT: ("≠", "different", "warn"),
}


class _Table(QAbstractTableModel):
    """The common base of both tables."""

    names: tuple[str, ...] = ()
    right_aligned: frozenset[int] = frozenset()

    def columnCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self.names)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.names[section]
        return self._alignment(section) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def _alignment(self, column: int) -> Qt.AlignmentFlag:
        return _RIGHT if column in self.right_aligned else _LEFT


class PairColumn(IntEnum):
    SIGN = 0
    RESULT = 1
    EXCHANGE = 2
    LEFT_ROW = 3
    LEFT_STATUS = 4
    LEFT_DURATION = 5
    RIGHT_ROW = 6
    RIGHT_STATUS = 7
    RIGHT_DURATION = 8


class PairRowsModel(_Table):
    """The pairs with the selected statuses, in chronological order."""

    names = (
        "", "Result", "Exchange", "Left row", "Status", "Duration", "Right row", "Status", "Duration"
    )  # fmt: skip
    right_aligned = frozenset(
        {
            PairColumn.LEFT_ROW,
            PairColumn.LEFT_DURATION,
            PairColumn.RIGHT_ROW,
            PairColumn.RIGHT_DURATION,
        }
    )

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._diff: CaptureDiff | None = None
        self._pairs = array("q")

    def show(self, diff: CaptureDiff | None, statuses: Sequence[PairStatus] = ()) -> None:
        self.beginResetModel()
        self._diff = diff
        is_all = len(statuses) == len(PairStatus)
        numbers = () if diff is None else range(len(diff)) if is_all else diff.pairs(*statuses)
        self._pairs = array("q", numbers)
        self.endResetModel()

    def number(self, row: int) -> int:
        """Return the number of the pair on a row."""
        return self._pairs[row]

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._pairs)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or self._diff is None:
            return None
        column = PairColumn(index.column())
        if role == Qt.ItemDataRole.DisplayRole:
            return self._cell(self._diff, self._pairs[index.row()], column)
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._color(self._diff, self._pairs[index.row()], column)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignCenter if column == PairColumn.SIGN else self._alignment(column)
        if role == Qt.ItemDataRole.FontRole and column == PairColumn.EXCHANGE:
            return self._theme.mono_font()
        return None

    def _cell(self, diff: CaptureDiff, number: int, column: PairColumn) -> str:
        pair = diff.pair(number)
        sign, text, _ = _SIGNS[pair.status]
        if column == PairColumn.SIGN:
            return sign
        if column == PairColumn.RESULT:
            return text
        if column == PairColumn.EXCHANGE:
            is_left = pair.left is not None
            row = pair.left if is_left else pair.right
            return _request_text(diff.logs[0 if is_left else 1], row if row is not None else 0)
        is_left = column < PairColumn.RIGHT_ROW
        log, row = diff.logs[0 if is_left else 1], pair.left if is_left else pair.right
        return "" if row is None else _fact_text(log, row, (column - PairColumn.LEFT_ROW) % 3)

    def _color(self, diff: CaptureDiff, number: int, column: PairColumn) -> QColor:
        if column in (PairColumn.SIGN, PairColumn.RESULT):
            return self._theme.color(_SIGNS[diff.pair(number).status][2])
        return self._theme.color("text" if column == PairColumn.EXCHANGE else "muted")


class SubjectColumn(IntEnum):
    REQUEST = 0
    LEFT_COUNT = 1
    RIGHT_COUNT = 2
    LEFT_ERRORS = 3
    RIGHT_ERRORS = 4
    LEFT_MEDIAN = 5
    RIGHT_MEDIAN = 6


class SubjectRowsModel(_Table):
    """Each method and tool, with counts, errors and medians of both captures."""

    names = ("Request", "Left count", "Right", "Left errors", "Right", "Left median", "Right")
    right_aligned = frozenset(range(1, len(SubjectColumn)))

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._subjects: list[SubjectDiff] = []

    def show(self, subjects: list[SubjectDiff]) -> None:
        self.beginResetModel()
        self._subjects = subjects
        self.endResetModel()

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._subjects)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        subject, column = self._subjects[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._cell(subject, column)
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._color(subject, column)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self._alignment(column)
        if role == Qt.ItemDataRole.FontRole and column == SubjectColumn.REQUEST:
            return self._theme.mono_font()
        return None

    def _cell(self, subject: SubjectDiff, column: int) -> str:
        if column == SubjectColumn.REQUEST:
            text = f"{subject.method} {subject.subject}".strip()
            prefix = "server request: " if subject.direction == Direction.IN else ""
            return shorten(one_line(f"{prefix}{text}"), 200)
        values = (*subject.counts, *subject.errors)
        if column <= SubjectColumn.RIGHT_ERRORS:
            return f"{values[column - 1]:,}"
        median = subject.medians_ns[column - SubjectColumn.LEFT_MEDIAN]
        return "" if median is None else duration(median)

    def _color(self, subject: SubjectDiff, column: int) -> QColor:
        """Highlight differences, except in durations, which always differ."""
        counts, errors = subject.counts, subject.errors
        is_count = column in (SubjectColumn.LEFT_COUNT, SubjectColumn.RIGHT_COUNT)
        is_error = column in (SubjectColumn.LEFT_ERRORS, SubjectColumn.RIGHT_ERRORS)
        differs = (is_count and counts[0] != counts[1]) or (is_error and errors[0] != errors[1])
        return self._theme.color(
            "warn" if differs else "text" if column == SubjectColumn.REQUEST else "muted"
        )


def _request_text(log: TrafficLog, row: int) -> str:
    text = f"{log.method(row)} {log.subject(row)}".strip()
    return shorten(one_line(text), 200)


def _fact_text(log: TrafficLog, row: int, which: int) -> str:
    if which == 0:
        return f"{row + 1:,}"
    if which == 1:
        return STATUS_LABELS[log.status(row)]
    took = log.duration_ns(row)
    return "" if took is None else duration(took)
