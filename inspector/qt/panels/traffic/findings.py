"""What is wrong with a row, or worth knowing about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, SPACE_4, Theme, Tone
from inspector.qt.widgets.badge import DotShape, StateDot
from inspector.qt.widgets.gate import Gate
from inspector.qt.widgets.labels import PlainLabel
from inspector.traffic.log import TrafficLog

Severity: TypeAlias = Literal["error", "warning", "note"]
_MOST_SHOWN = 100


class Finding(NamedTuple):
    """A finding: a short title, and a text that says what to do."""

    severity: Severity
    title: str
    text: str


Findings: TypeAlias = Callable[[int], Sequence[Finding]]
"""Gives what was found about a row; called when it is shown, so it looks up and does not search."""

_MARKS: dict[Severity, tuple[DotShape, Tone]] = {
    "error": (DotShape.CROSS, "error"),
    "warning": (DotShape.TRIANGLE, "warn"),
    "note": (DotShape.RING, "muted"),
}


def findings_of(log: TrafficLog, row: int, more: Findings | None = None) -> list[Finding]:
    """Return the findings of a row; protocol violations known to the log come first."""
    problem = log.problem(row)
    own = [Finding("error", "Not as the protocol has it", problem)] if problem else []
    return [*own, *(more(row) if more is not None else ())]


class FindingsView(QWidget):
    """The findings of a row, most severe as given. If empty, it explains its purpose."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._shown: list[Finding] | None = None
        self._entries: list[_Entry] = []
        self._list = QWidget()
        self._column = QVBoxLayout(self._list)
        self._column.setContentsMargins(SPACE_3, SPACE_3, SPACE_3, SPACE_3)
        self._column.setSpacing(SPACE_4)
        self._column.addStretch(1)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(self._list)
        self._gate = Gate(theme, area)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._gate)
        self.show_findings([])

    def show_findings(self, findings: Sequence[Finding]) -> None:
        if list(findings) == self._shown:
            return
        self._shown = list(findings)
        for entry in self._entries:
            self._column.removeWidget(entry)
            entry.hide()
            entry.deleteLater()
        self._entries = [_Entry(self._theme, finding) for finding in findings[:_MOST_SHOWN]]
        for place, entry in enumerate(self._entries):
            self._column.insertWidget(place, entry)
        if findings:
            self._gate.open()
        else:
            sentence = "What breaks the protocol, or will trouble clients, is named here for each message."
            self._gate.explain("empty", "check", "Nothing found", sentence)


class _Entry(QWidget):
    def __init__(self, theme: Theme, finding: Finding) -> None:
        super().__init__()
        shape, tone = _MARKS[finding.severity]
        title = PlainLabel(theme, finding.title, wrap=True, selectable=True)
        text = PlainLabel(theme, finding.text, tone="muted", wrap=True, selectable=True)
        words = QVBoxLayout()
        words.setSpacing(SPACE_1)
        words.addWidget(title)
        words.addWidget(text)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_2)
        row.addWidget(StateDot(theme, shape, tone, finding.severity), 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(words, 1)
