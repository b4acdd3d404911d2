"""Facts about a traffic row (title, caption, fact list) and its findings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QScrollArea, QWidget

from inspector.base.json.values import JSON, compact, shorten
from inspector.base.plain_text import one_line
from inspector.base.units import duration, full_time, size, time_of_day
from inspector.qt.theme import SPACE_1, SPACE_3, SPACE_4, Theme, Tone
from inspector.qt.widgets.layout import STRETCH, discard, hbox, vbox
from inspector.qt.widgets.notices.empty_state import ContentStack
from inspector.qt.widgets.text.badge import DotShape, StateDot
from inspector.qt.widgets.text.key_value_list import Fact
from inspector.qt.widgets.text.labels import PlainLabel
from inspector.traffic.filter import row_values
from inspector.traffic.filter.row_values import error_text
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, RecordKind, Status

_PREPOSITIONS = {Direction.IN: "from", Direction.OUT: "to", Direction.NONE: "about"}
_RESPONSES = (RecordKind.RESULT, RecordKind.ERROR)
_MAX_FINDINGS = 100
Severity: TypeAlias = Literal["error", "warning", "note"]


class Finding(NamedTuple):
    """A finding: a short title, and a text that says what to do."""

    severity: Severity
    title: str
    text: str


Findings: TypeAlias = Callable[[int], Sequence[Finding]]
"""Returns the findings of a row. Called when the row is shown, so it must be a lookup."""
_MARKS: dict[Severity, tuple[DotShape, Tone]] = {
    "error": (DotShape.CROSS, "error"),
    "warning": (DotShape.TRIANGLE, "warn"),
    "note": (DotShape.RING, "muted"),
}


def title(log: TrafficLog, row: int) -> str:
    message = " ".join(part for part in (log.method(row), log.subject(row)) if part)
    return one_line(message) or _kind(log, row)


def caption(log: TrafficLog, row: int) -> str:
    """Return e.g. `error from github: -32602 (invalid params) · #12 · 14:03:07.482 · 312 B`."""
    subject = (
        f"{_kind(log, row)} {_PREPOSITIONS[Direction(log.direction(row))]} {one_line(log.server_name(row))}"
    )
    if error := error_text(log, row):
        subject = f"{subject}: {error}"
    return f"{subject} · #{row + 1:,} · {time_of_day(log.wall_ns(row))} · {size(log.size(row))}"


def facts(log: TrafficLog, row: int) -> list[Fact]:
    result = [
        Fact("Row", f"{row + 1:,}", mono=True),
        Fact("Time", full_time(log.wall_ns(row)), mono=True),
        Fact("Server", one_line(log.server_name(row)), term=("server", log.server_name(row))),
        Fact("Size", _size(log, row), mono=True),
    ]
    id, duration_ns, revision = log.id(row), log.duration_ns(row), log.revision(row)
    if id is not None:
        result.append(Fact("ID", shorten(one_line(compact(id)), 200), mono=True, term=("id", id)))
    if error := error_text(log, row):
        result.append(Fact("Error", error, mono=True, term=_code_term(log, row)))
    if duration_ns is not None:
        result.append(Fact("Duration", duration(duration_ns), mono=True))
    if revision:
        result.append(Fact("Protocol version", one_line(revision), mono=True, term=("version", revision)))
    result += _cost_facts(log, row)
    for label, number in _links(log, row):
        term: tuple[str, JSON] | None = ("op", number + 1) if label == "Operation" else None
        result.append(Fact(label, f"row {number + 1:,}", mono=True, term=term))
    comment = log.note(row).comment
    return [*result, Fact("Comment", comment, term=("comment", comment))] if comment else result


def _code_term(log: TrafficLog, row: int) -> tuple[str, JSON] | None:
    code = next(iter(row_values.code(log, row, ())), None)
    return ("code", code) if type(code) is int else None


def _cost_facts(log: TrafficLog, row: int) -> list[Fact]:
    """Return what a row's call cost the server's processes, if measured."""
    operation = log.operation(row)
    cost = log.cost(row if operation is None else operation)
    if cost is None:
        return []
    facts = [Fact("CPU time", duration(cost.cpu_ns), mono=True)] if cost.cpu_ns is not None else []
    facts.append(Fact("stderr lines", f"{cost.stderr:,}", mono=True))
    return [*facts, Fact("Stray stdout lines", f"{cost.stray:,}", mono=True)]


def _links(log: TrafficLog, row: int) -> list[tuple[str, int]]:
    response = "Request" if log.kind(row) in _RESPONSES else "Response"
    links = {
        response: log.partner(row),
        "Operation": log.operation(row),
        "HTTP exchange": log.exchange(row),
        "Resent from": log.resent_of(row),
    }
    return [(label, number) for label, number in links.items() if number is not None and number != row]


def _size(log: TrafficLog, row: int) -> str:
    sent, recorded = log.size(row), log.kept(row)
    text = f"{size(sent)} ({sent:,} bytes)"
    is_cut = recorded < sent and log.kind(row) <= RecordKind.TEXT
    return f"{text}, {size(recorded)} recorded" if is_cut else text


def _kind(log: TrafficLog, row: int) -> str:
    return RecordKind(log.kind(row)).name.lower()


def is_carried_by_http(log: TrafficLog, row: int) -> bool:
    return log.kind(row) == RecordKind.HTTP or log.exchange(row) is not None


def state_of(log: TrafficLog, row: int) -> tuple[object, ...]:
    """Return everything about a row that can change later. Cheap: called after each batch of rows."""
    columns = log.columns
    changing = (columns.status, columns.partner, columns.duration, columns.exchange, columns.operation)
    exchange = log.readable_http(row) if _has_open_http(log, row) else None
    operation = log.operation(row)
    cost = log.cost(row if operation is None else operation)
    return (*(column[row] for column in changing), log.note(row), exchange, cost)


def is_open(log: TrafficLog, row: int) -> bool:
    """Return whether the row or its operation is still pending."""
    root = log.operation(row)
    return any(log.status(each) is Status.PENDING for each in {row, row if root is None else root})


def _has_open_http(log: TrafficLog, row: int) -> bool:
    """Return whether its exchange is still open. A finished one is not read from disk again."""
    if not is_carried_by_http(log, row):
        return False
    carrier = log.exchange(row)
    return log.columns.duration[row if carrier is None else carrier] < 0


def findings_of(log: TrafficLog, row: int, more: Findings | None = None) -> list[Finding]:
    """Return the findings of a row; protocol violations known to the log come first."""
    problem = log.problem(row)
    own = [Finding("error", "Protocol violation", problem)] if problem else []
    return [*own, *(more(row) if more is not None else ())]


class FindingsView(QWidget):
    """The findings of a row, in the given order. If there are none, it explains its purpose."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._shown: list[Finding] | None = None
        self._entries: list[_FindingEntry] = []
        self._list = QWidget()
        self._column = vbox(self._list, STRETCH, gap=SPACE_4, margin=SPACE_3)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(self._list)
        self._gate = ContentStack(theme, area)
        vbox(self, self._gate)
        self.show_findings([])

    def show_findings(self, findings: Sequence[Finding]) -> None:
        if list(findings) == self._shown:
            return
        self._shown = list(findings)
        for entry in self._entries:
            discard(entry)
        self._entries = [_FindingEntry(self._theme, finding) for finding in findings[:_MAX_FINDINGS]]
        for position, entry in enumerate(self._entries):
            self._column.insertWidget(position, entry)
        if findings:
            self._gate.open()
        else:
            sentence = "Protocol violations and client compatibility issues of each message appear here."
            self._gate.explain("empty", "check", "No findings", sentence)


class _FindingEntry(QWidget):
    def __init__(self, theme: Theme, finding: Finding) -> None:
        super().__init__()
        shape, tone = _MARKS[finding.severity]
        title = PlainLabel(theme, finding.title, wrap=True, selectable=True)
        text = PlainLabel(theme, finding.text, tone="muted", wrap=True, selectable=True)
        message = vbox(None, title, text, gap=SPACE_1)
        hbox(
            self, (StateDot(theme, shape, tone, finding.severity), 0, Qt.AlignmentFlag.AlignTop), (message, 1)
        )
