"""Parts of a step's card: values with where they came from, tables, sentences, what was answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from inspector.base.plaintext import one_line
from inspector.base.redact import masked_url
from inspector.base.units import duration, size
from inspector.oauth.steps import Decision, HttpSeen, Input, Table
from inspector.qt.panels.auth.secretvalue import SecretValue
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, SPACE_4, Theme, Tone
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.badge import Badge
from inspector.qt.widgets.labels import Heading, Muted, PlainLabel

_MOST_ROWS = 100
_NAME_WIDTH = 140
_TOP = Qt.AlignmentFlag.AlignTop


class Part(QWidget):
    """A heading with content below it."""

    def __init__(self, theme: Theme, title: str) -> None:
        super().__init__()
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(SPACE_2)
        if title:
            self.column.addWidget(Heading(theme, title))


def inputs_part(
    theme: Theme, inputs: Sequence[Input], revealed: set[str], on_toggled: Callable[[str, bool], None]
) -> Part:
    """Create the part with the step's values; `revealed` names those the user has revealed."""
    part = Part(theme, "Values")
    grid = _grid(1)
    grid.setVerticalSpacing(SPACE_2)
    for place, each in enumerate(inputs[:_MOST_ROWS]):
        name = Muted(theme, each.name)
        name.setMinimumWidth(min(name.sizeHint().width(), _NAME_WIDTH))
        if each.is_secret:
            name.setContentsMargins(0, SPACE_1, 0, 0)  # aligns with the taller buttons beside its value
        grid.addWidget(name, place, 0, _TOP)
        value = QVBoxLayout()
        value.setSpacing(0)
        value.addWidget(_value(theme, each, revealed, on_toggled))
        if each.origin:
            value.addWidget(PlainLabel(theme, each.origin, tone="muted", wrap=True))
        grid.addLayout(value, place, 1)
    part.column.addLayout(grid)
    _say_more(theme, part, len(inputs))
    return part


def table_part(theme: Theme, table: Table) -> Part:
    part = Part(theme, table.title)
    grid = _grid(0)
    columns = len(table.columns)
    fixed = [
        _is_from_wire([row[place] for row in table.rows if place < len(row)]) for place in range(columns)
    ]
    for place, name in enumerate(table.columns):
        grid.addWidget(PlainLabel(theme, name, tone="muted"), 0, place)
        grid.setColumnStretch(place, 1)
    for number, row in enumerate(table.rows[:_MOST_ROWS], 1):
        for place, cell in enumerate(row[:columns]):
            label = PlainLabel(theme, cell, mono=fixed[place], wrap=True, selectable=True)
            grid.addWidget(label, number, place, _TOP)
            # Give long texts more room than a status code.
            longest = max(grid.columnStretch(place), min(len(cell), 60))
            grid.setColumnStretch(place, longest)
    part.column.addLayout(grid)
    _say_more(theme, part, len(table.rows))
    return part


def decisions_part(theme: Theme, decisions: Sequence[Decision]) -> Part:
    part = Part(theme, "Decided")
    grid = _grid(1)
    grid.setHorizontalSpacing(SPACE_2)
    grid.setVerticalSpacing(SPACE_1)
    for place, each in enumerate(decisions[:_MOST_ROWS]):
        grid.addWidget(PlainLabel(theme, "•", tone="muted"), place, 0, _TOP)
        grid.addWidget(PlainLabel(theme, each.text, wrap=True, selectable=True), place, 1)
    part.column.addLayout(grid)
    _say_more(theme, part, len(decisions))
    return part


def exchanges_part(theme: Theme, exchanges: Sequence[HttpSeen], on_chosen: Callable[[int], None]) -> Part:
    """Create the part with one line per request and response; a click shows it in full."""
    part = Part(theme, "Requests")
    for place, seen in enumerate(exchanges[:_MOST_ROWS]):
        line = QHBoxLayout()
        line.setSpacing(SPACE_2)
        line.addWidget(Badge(theme, str(seen.status or "failed"), status_tone(seen)), 0, _TOP)
        words = f"{seen.request.method} {masked_url(seen.request.url)}"
        line.addWidget(PlainLabel(theme, words, mono=True, wrap=True, selectable=True), 1)
        action = QAction("Look", part)
        action.setToolTip("Show this request and its answer whole")
        action.triggered.connect(partial(_call, on_chosen, place))
        line.addWidget(ActionButton(action, "quiet"), 0, _TOP)
        part.column.addLayout(line)
        if about := exchange_words(seen):
            part.column.addWidget(Muted(theme, about, wrap=True))
        if certificate := seen.peer.lines()[1:] if seen.peer is not None else ():
            part.column.addWidget(Muted(theme, "\n".join(line.strip() for line in certificate), wrap=True))
    _say_more(theme, part, len(exchanges))
    return part


def exchange_words(seen: HttpSeen) -> str:
    """Return time, size, type and origin of a response, or why there is none."""
    kind = next((value for name, value in seen.headers if name.lower() == "content-type"), "")
    words = (
        duration(seen.elapsed_ns) if seen.elapsed_ns else "",
        size(len(seen.body)) if seen.status else "",
        one_line(kind.partition(";")[0]),
        seen.peer.lines()[0] if seen.peer is not None else "",
        seen.failure,
    )
    return " · ".join(word for word in words if word)


def status_tone(seen: HttpSeen) -> Tone:
    if not seen.status:
        return "error"
    return "ok" if seen.status < 300 else "warn" if seen.status < 500 else "error"


def _value(theme: Theme, each: Input, revealed: set[str], on_toggled: Callable[[str, bool], None]) -> QWidget:
    if not each.is_secret:
        value = PlainLabel(theme, each.value, mono=True, wrap=True, selectable=True)
        value.setAccessibleName(each.name)
        return value
    secret = SecretValue(theme, each.name, each.value, is_shown=each.name in revealed)
    secret.toggled.connect(partial(on_toggled, each.name))
    return secret


def _call(function: Callable[[int], None], place: int, *_: object) -> None:
    function(place)


def _grid(stretched: int) -> QGridLayout:
    grid = QGridLayout()
    grid.setHorizontalSpacing(SPACE_4)
    grid.setVerticalSpacing(SPACE_1)
    grid.setContentsMargins(0, 0, SPACE_3, 0)
    grid.setColumnStretch(stretched, 1)
    return grid


def _is_from_wire(cells: Sequence[str]) -> bool:
    """Return whether a column holds URLs and codes, for a monospace font, not sentences."""
    said = [cell for cell in cells if cell]
    return sum(" " not in cell for cell in said) * 2 > len(said)


def _say_more(theme: Theme, part: Part, count: int) -> None:
    if count > _MOST_ROWS:
        part.column.addWidget(Muted(theme, f"and {count - _MOST_ROWS:,} more"))
