"""Comparison of two recorded messages, or of two exchanges.

The rows may be in different captures. For messages above about 1 MB use the worker process:
`texts.compare_packed(texts.pack(log.raw(row), other.raw(other_row), ignoring))`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from inspector.base import units
from inspector.base.json.values import JSON, JSONError, parse
from inspector.traffic.compare.diff import IGNORE_NOTHING, Change, ChangeKind, Diff, IgnoreOptions
from inspector.traffic.compare.texts import compare_texts
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import STATUS_LABELS, RecordKind

_ABSENT = "none"
_MAX_PARSED = 64 * 1024
_HEAD = 2_000


@dataclass(frozen=True, slots=True)
class Fact:
    """A property of both exchanges, formatted side by side."""

    name: str
    left: str
    right: str

    @property
    def is_different(self) -> bool:
        return self.left != self.right


@dataclass(frozen=True, slots=True)
class ExchangeDiff:
    """Diffs of request and response; a Diff is None if neither side has such a message."""

    facts: tuple[Fact, ...]
    request: Diff | None
    response: Diff | None

    @property
    def is_same(self) -> bool:
        """True if messages and status are equal; times and sizes may differ."""
        status = next(fact for fact in self.facts if fact.name == "Status")
        return not status.is_different and all(
            diff is None or diff.is_same for diff in (self.request, self.response)
        )


def compare_messages(
    log: TrafficLog, row: int, other: TrafficLog, other_row: int, ignoring: IgnoreOptions = IGNORE_NOTHING
) -> Diff:
    """Compare two messages. Raises UserError for an invalid `ignoring`."""
    diff = compare_texts(log.raw(row), other.raw(other_row), ignoring)
    sides = [("left", log, row), ("right", other, other_row)]
    cut = [_cut_note(side, log.kept(row), log.size(row)) for side, log, row in sides]
    notes = " ".join(filter(None, [diff.note, *cut]))
    return replace(diff, note=notes) if notes != diff.note else diff


def compare_exchanges(
    log: TrafficLog, row: int, other: TrafficLog, other_row: int, ignoring: IgnoreOptions = IGNORE_NOTHING
) -> ExchangeDiff:
    """Compare two exchanges, given by the row of their request or response."""
    ours, theirs = Exchange.of(log, row), Exchange.of(other, other_row)
    return ExchangeDiff(
        tuple(
            Fact(name, left, right)
            for (name, left), (_, right) in zip(ours.facts(), theirs.facts(), strict=True)
        ),
        _compare_parts(log, ours.request, other, theirs.request, ignoring),
        _compare_parts(log, ours.response, other, theirs.response, ignoring),
    )


@dataclass(frozen=True, slots=True)
class Exchange:
    """The rows of a request and its response; None for a missing one."""

    log: TrafficLog
    request: int | None
    response: int | None

    @classmethod
    def of(cls, log: TrafficLog, row: int) -> Exchange:
        partner = log.partner(row)
        is_response = log.kind(row) in (RecordKind.RESULT, RecordKind.ERROR)
        return cls(log, partner, row) if is_response else cls(log, row, partner)

    def facts(self) -> list[tuple[str, str]]:
        log, row = self.log, self.request if self.request is not None else self.response
        assert row is not None
        duration, http = log.duration_ns(row), log.readable_http(row)
        return [
            ("Method", log.method(row) or _ABSENT),
            ("Subject", log.subject(row) or _ABSENT),
            ("Status", STATUS_LABELS[log.status(row)] or _ABSENT),
            ("Duration", _ABSENT if duration is None else units.duration(duration)),
            ("Request size", self._size(self.request)),
            ("Response size", self._size(self.response)),
            ("HTTP status", _ABSENT if http is None or http.status is None else str(http.status)),
            ("Protocol version", log.revision(row) or _ABSENT),
        ]

    def _size(self, row: int | None) -> str:
        return _ABSENT if row is None else units.size(self.log.size(row))


def _compare_parts(
    log: TrafficLog, row: int | None, other: TrafficLog, other_row: int | None, ignoring: IgnoreOptions
) -> Diff | None:
    if row is not None and other_row is not None:
        return compare_messages(log, row, other, other_row, ignoring)
    if row is not None:
        return _one_sided(ChangeKind.REMOVED, log.raw(row), "The right side has no such message.")
    if other_row is not None:
        return _one_sided(ChangeKind.ADDED, other.raw(other_row), "The left side has no such message.")
    return None


def _one_sided(kind: ChangeKind, raw: bytes, note: str) -> Diff:
    value = _value(raw)
    left, right = (None, value) if kind is ChangeKind.ADDED else (value, None)
    return Diff((Change(-1, 0, kind, None, None, left, right),), note)


def _value(raw: bytes) -> JSON:
    """Parse a message; return the start of its text if it is large or not JSON."""
    text = raw[: _MAX_PARSED + 1].decode(errors="backslashreplace")
    try:
        return parse(text) if len(raw) <= _MAX_PARSED else text[:_HEAD]
    except JSONError:
        return text[:_HEAD]


def _cut_note(side: str, kept: int, size: int) -> str:
    if kept >= size:
        return ""
    return f"Only the first {units.size(kept)} of {units.size(size)} of the {side} message were saved."
