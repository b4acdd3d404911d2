"""Tables of a capture comparison: paired exchanges, and figures by method and tool."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import partial

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.units import duration
from inspector.qt.models.record_table import CENTER, RIGHT, Column, RecordTable
from inspector.qt.theme import Theme, Tone
from inspector.traffic.compare.captures import CaptureDiff, PairStatus, SubjectDiff
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import STATUS_LABELS, Direction

_SIGNS: dict[PairStatus, tuple[str, str, Tone]] = {
    PairStatus.SAME: ("=", "same", "muted"),
    PairStatus.ONLY_LEFT: ("−", "only left", "error"),
    PairStatus.ONLY_RIGHT: ("+", "only right", "ok"),
    PairStatus.OTHER_STATUS: ("≠", "status differs", "warn"),
    PairStatus.OTHER_BYTES: ("≠", "bytes differ", "warn"),
    PairStatus.DIFFERENT: ("≠", "different", "warn"),
}


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


class PairRowsModel(RecordTable[int]):
    """The numbers of the pairs with the selected statuses, in chronological order."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, _pair_columns(lambda: self._diff))
        self._diff: CaptureDiff

    def show(self, diff: CaptureDiff | None, statuses: Sequence[PairStatus] = ()) -> None:
        if diff is None:
            self.replace([])
            return
        self._diff = diff
        is_all = len(statuses) == len(PairStatus)
        self.replace(array("q", range(len(diff)) if is_all else diff.pairs(*statuses)))


def _pair_columns(diff: Callable[[], CaptureDiff]) -> list[Column[int]]:
    def sign(number: int) -> tuple[str, str, Tone]:
        return _SIGNS[diff().pair(number).status]

    def row_of(number: int, side: int) -> int | None:
        pair = diff().pair(number)
        return pair.right if side else pair.left

    def request_text(number: int) -> str:
        side = 0 if row_of(number, 0) is not None else 1
        return _request_text(diff().logs[side], row_of(number, side) or 0)

    def fact(text: Callable[[TrafficLog, int], str], side: int) -> Callable[[int], str]:
        def shown(number: int) -> str:
            row = row_of(number, side)
            return "" if row is None else text(diff().logs[side], row)

        return shown

    def tone(number: int) -> Tone:
        return sign(number)[2]

    columns = [
        Column("", lambda number: sign(number)[0], tone, align=CENTER),
        Column("Result", lambda number: sign(number)[1], tone),
        Column("Exchange", request_text, "text", mono=1),
    ]
    for side, name in enumerate(("Left row", "Right row")):
        columns += [
            Column(name, fact(lambda log, row: f"{row + 1:,}", side), "muted", align=RIGHT),
            Column("Status", fact(lambda log, row: STATUS_LABELS[log.status(row)], side), "muted"),
            Column("Duration", fact(_duration_text, side), "muted", align=RIGHT),
        ]
    return columns


class SubjectColumn(IntEnum):
    REQUEST = 0
    LEFT_COUNT = 1
    RIGHT_COUNT = 2
    LEFT_ERRORS = 3
    RIGHT_ERRORS = 4
    LEFT_MEDIAN = 5
    RIGHT_MEDIAN = 6


class SubjectRowsModel(RecordTable[SubjectDiff]):
    """Each method and tool, with counts, errors and medians of both captures."""

    def __init__(self, theme: Theme) -> None:
        columns = [Column("Request", _subject_text, "text", mono=1)]
        columns += _number_columns("Left count", lambda subject: subject.counts)
        columns += _number_columns("Left errors", lambda subject: subject.errors)
        columns += [
            Column(title, partial(_median_text, side), "muted", align=RIGHT)
            for side, title in enumerate(("Left median", "Right"))
        ]
        super().__init__(theme, columns)


def _number_columns(
    title: str, values: Callable[[SubjectDiff], tuple[int, int]]
) -> list[Column[SubjectDiff]]:
    """Return the columns of both sides; a difference is highlighted. (Durations always differ.)"""

    def text(side: int, subject: SubjectDiff) -> str:
        return f"{values(subject)[side]:,}"

    def tone(subject: SubjectDiff) -> Tone:
        left, right = values(subject)
        return "muted" if left == right else "warn"

    return [
        Column(name, partial(text, side), tone, align=RIGHT) for side, name in enumerate((title, "Right"))
    ]


def _subject_text(subject: SubjectDiff) -> str:
    text = f"{subject.method} {subject.subject}".strip()
    prefix = "server request: " if subject.direction == Direction.IN else ""
    return shorten(one_line(f"{prefix}{text}"), 200)


def _median_text(side: int, subject: SubjectDiff) -> str:
    median = subject.medians_ns[side]
    return "" if median is None else duration(median)


def _request_text(log: TrafficLog, row: int) -> str:
    text = f"{log.method(row)} {log.subject(row)}".strip()
    return shorten(one_line(text), 200)


def _duration_text(log: TrafficLog, row: int) -> str:
    took = log.duration_ns(row)
    return "" if took is None else duration(took)
