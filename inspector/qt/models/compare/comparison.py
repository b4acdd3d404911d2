"""Comparison of two traffic rows: their corresponding messages, and what to ignore.

Large messages are compared in the worker process, very large ones only up to the first difference.
The ignored parts are shared by all comparisons and saved with the window layout.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

from PySide6.QtCore import QObject, QSettings, Signal

from inspector.base.errors import UserError
from inspector.base.json.values import JSON, JSONError, parse
from inspector.base.units import duration, size
from inspector.qt.bridge import Bridge
from inspector.traffic.compare.diff import IGNORE_NOTHING, Change, ChangeKind, Diff, IgnoreOptions
from inspector.traffic.compare.lines import first_difference
from inspector.traffic.compare.messages import Exchange
from inspector.traffic.compare.texts import MAX_BYTES, compare_packed, pack
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RecordKind, Status

_KEY = "compare/ignoring"

_RESPONSES = (RecordKind.RESULT, RecordKind.ERROR)
_SLICE = 1024 * 1024
_CONTEXT = 200  # bytes shown before a difference; ten times as many after it
_MAX_PARSED = 64 * 1024


class CompareOptions(QObject):
    """What comparisons ignore. Stored with the window layout: losing it loses no work.

    Signals:
        changed: The ignored parts changed.
    """

    changed = Signal()

    def __init__(self, layout: QSettings | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._layout = layout
        self._ignoring = self._read()

    @property
    def ignoring(self) -> IgnoreOptions:
        return self._ignoring

    def set_preset(self, name: str, is_on: bool) -> None:
        """Turn one of `ignore_rules.PRESETS` on or off."""
        self._change(replace(self._ignoring, **{name: is_on}))  # type: ignore[arg-type]

    def add_path(self, path: str) -> None:
        """Also ignore the value at a path. Raises UserError for an invalid path."""
        if path not in self._ignoring.paths:
            self._change(replace(self._ignoring, paths=(*self._ignoring.paths, path)))

    def remove_path(self, path: str) -> None:
        rest = tuple(each for each in self._ignoring.paths if each != path)
        self._change(replace(self._ignoring, paths=rest))

    def _change(self, ignoring: IgnoreOptions) -> None:
        ignoring.check()
        if ignoring == self._ignoring:
            return
        self._ignoring = ignoring
        if self._layout is not None:
            self._layout.setValue(_KEY, json.dumps(asdict(ignoring)))
        self.changed.emit()

    def _read(self) -> IgnoreOptions:
        """Return the saved choices; defaults if unreadable, since the file may be edited by hand."""
        text = self._layout.value(_KEY) if self._layout is not None else None
        try:
            saved = json.loads(str(text)) if text else {}
            ignoring = IgnoreOptions(
                ids=saved.get("ids") is True,
                times=saved.get("times") is True,
                metadata=saved.get("metadata") is True,
                paths=tuple(str(path) for path in saved.get("paths", ())),
            )
            ignoring.check()
        except (ValueError, AttributeError, TypeError, UserError):
            return IGNORE_NOTHING
        return ignoring


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: a row of a log. `title` names its traffic."""

    log: TrafficLog
    row: int
    title: str

    @property
    def exchange(self) -> Exchange:
        return Exchange.of(self.log, self.row)

    @property
    def request(self) -> int:
        """The row of the exchange's request, if it is known; otherwise the row itself."""
        request = self.exchange.request
        return self.row if request is None else request

    @property
    def status(self) -> Status:
        return self.log.status(self.request)

    def name(self) -> str:
        """Return the method and subject of the request."""
        return f"{self.log.method(self.request)} {self.log.subject(self.request)}".strip()

    def facts(self, row: int | None) -> str:
        """Return timing, size and status of a message, e.g. `12 ms · 4.1 KiB · HTTP 200`."""
        log, took, http = self.log, self.log.duration_ns(self.request), self.log.readable_http(self.request)
        parts = [duration(took)] if took is not None else []
        if row is not None:
            is_cut = log.kept(row) < log.size(row)
            cut = f", {size(log.kept(row))} recorded" if is_cut else ""
            parts.append(f"{size(log.size(row))}{cut}")
        if http is not None and http.status is not None:
            parts.append(f"HTTP {http.status}")
        return " · ".join(parts)


@dataclass(frozen=True, slots=True)
class Part:
    """A pair of corresponding messages; a row is None where one side has none."""

    name: str
    left: int | None
    right: int | None


def parts_of(left: Side, right: Side) -> tuple[list[Part], int]:
    """Return what can be compared of two rows, and the index of the chosen part.

    Two requests or two responses represent their exchanges; anything else represents itself.
    """
    roles = [_role(side) for side in (left, right)]
    if roles[0] != roles[1] or not roles[0]:
        return [Part("Messages", left.row, right.row)], 0
    ours, theirs = left.exchange, right.exchange
    parts = [
        Part("Requests", ours.request, theirs.request),
        Part("Responses", ours.response, theirs.response),
    ]
    present = [part for part in parts if part.left is not None or part.right is not None]
    chosen = next(position for position, part in enumerate(present) if part.name == roles[0])
    return present, chosen


def _role(side: Side) -> str:
    kind = side.log.kind(side.row)
    return "Requests" if kind == RecordKind.REQUEST else "Responses" if kind in _RESPONSES else ""


async def compare_part(bridge: Bridge, left: Side, right: Side, part: Part, ignoring: IgnoreOptions) -> Diff:
    """Compare a part: large messages in the worker, huge ones up to their first difference.

    Raises UserError. Cancelling ends the work.
    """
    if part.left is None or part.right is None:
        return _one_sided(left, right, part)
    if max(left.log.kept(part.left), right.log.kept(part.right)) > MAX_BYTES:
        return await _compare_huge(left.log, part.left, right.log, part.right)
    data = pack(left.log.raw(part.left), right.log.raw(part.right), ignoring)
    return await bridge.ask(lambda engine: engine.work(compare_packed, data))


def _one_sided(left: Side, right: Side, part: Part) -> Diff:
    if part.left is not None:
        value = _value(left.log, part.left)
        change = Change(-1, 0, ChangeKind.REMOVED, None, None, value, None)
        return Diff((change,), "The right side has no such message.")
    assert part.right is not None
    change = Change(-1, 0, ChangeKind.ADDED, None, None, None, _value(right.log, part.right))
    return Diff((change,), "The left side has no such message.")


def _value(log: TrafficLog, row: int) -> JSON:
    """Parse a message; return the start of its text if it is large or not JSON."""
    text = log.part(row, 0, _MAX_PARSED).decode(errors="backslashreplace")
    try:
        return parse(text) if log.kept(row) <= _MAX_PARSED else text[: 10 * _CONTEXT]
    except JSONError:
        return text[: 10 * _CONTEXT]


async def _compare_huge(log: TrafficLog, row: int, other: TrafficLog, other_row: int) -> Diff:
    """Find the first difference, reading in pieces so that the window stays responsive."""
    position = 0
    for start, left, right in _pieces(log, row, other, other_row):
        await asyncio.sleep(0)
        if left != right:
            position = start + first_difference(left, right)
            break
    else:
        text = log.part(row, 0, 10 * _CONTEXT).decode(errors="backslashreplace")
        return Diff((Change(-1, 0, ChangeKind.SAME, None, None, text, text),), is_text=True)
    begin = max(0, position - _CONTEXT)
    before, after = (
        side.part(number, begin, 11 * _CONTEXT).decode(errors="backslashreplace")
        for side, number in ((log, row), (other, other_row))
    )
    note = (
        f"Too large to compare in detail. Equal up to byte {position:,}; the view starts shortly "
        "before that. Save both messages to compare them with another tool."
    )
    return Diff((Change(-1, 0, ChangeKind.CHANGED, None, None, before, after),), note, is_text=True)


def _pieces(
    log: TrafficLog, row: int, other: TrafficLog, other_row: int
) -> Iterator[tuple[int, bytes, bytes]]:
    for start in range(0, max(log.kept(row), other.kept(other_row)), _SLICE):
        yield start, log.part(row, start, _SLICE), other.part(other_row, start, _SLICE)
