"""Table model of a server's regression calls: state, and what differs in a few words."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from pathlib import Path

from PySide6.QtCore import QAbstractTableModel, QObject, Qt
from PySide6.QtGui import QIcon

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.units import duration, plural
from inspector.engine.calls.regression_calls import RegressionResult, RegressionState, RegressionView
from inspector.qt.models.row_models import ROOT, Index, plain_tip
from inspector.qt.theme import Theme, Tone

_MAX_LENGTH = 300


class Column(IntEnum):
    STATE = 0
    CALL = 1
    DIFFERENCE = 2
    DURATION = 3
    CPU = 4


HEADERS = ("Status", "Call", "Difference", "Duration", "CPU")
_NUMBERS = (Column.DURATION, Column.CPU)
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter

TONES: dict[RegressionState, Tone] = {
    RegressionState.NOT_RUN: "muted",
    RegressionState.RUNNING: "wait",
    RegressionState.SAME: "ok",
    RegressionState.DIFFERENT: "error",
    RegressionState.NEW: "warn",
    RegressionState.FAILED: "error",
    RegressionState.STOPPED: "muted",
    RegressionState.NOT_APPROVED: "warn",
}


class RegressionCallsModel(QAbstractTableModel):
    """The regression calls and their results. `mark` returns the icon of a state."""

    def __init__(
        self, theme: Theme, mark: Callable[[RegressionState], QIcon], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._mark = mark
        self._results: tuple[RegressionResult, ...] = ()
        theme.changed.connect(self._on_theme_changed)

    def show(self, view: RegressionView) -> None:
        """Show the results. Rows are kept while the calls stay the same."""
        results = view.results
        if [each.call.path for each in results] != [each.call.path for each in self._results]:
            self.beginResetModel()
            self._results = results
            self.endResetModel()
            return
        changed = [row for row, each in enumerate(results) if each is not self._results[row]]
        self._results = results
        for row in changed:
            self.dataChanged.emit(self.index(row, 0), self.index(row, len(Column) - 1))

    def result(self, row: int) -> RegressionResult | None:
        return self._results[row] if 0 <= row < len(self._results) else None

    def row_of(self, path: Path | None) -> int:
        """Return the row of a call; -1 if there is none."""
        paths = [each.call.path for each in self._results]
        return paths.index(path) if path in paths else -1

    def first_bad(self) -> int:
        return next((row for row, each in enumerate(self._results) if each.state.is_bad), -1)

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._results)

    def columnCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(Column)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return HEADERS[section]
        return _alignment(section) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        result, column = self._results[index.row()], index.column()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return cell_text(result, column)
            case Qt.ItemDataRole.DecorationRole if column == Column.STATE:
                return self._mark(result.state)
            case Qt.ItemDataRole.ForegroundRole:
                return self._theme.color(_tone(result, column))
            case Qt.ItemDataRole.TextAlignmentRole:
                return _alignment(column)
            case Qt.ItemDataRole.ToolTipRole if column == Column.CALL:
                return plain_tip(f"{result.call.tool}, in {result.call.path}")
            case Qt.ItemDataRole.ToolTipRole if column == Column.DIFFERENCE:
                return plain_tip(text) if (text := cell_text(result, column)) else None
        return None

    def _on_theme_changed(self) -> None:
        if self._results:
            last = self.index(len(self._results) - 1, len(Column) - 1)
            self.dataChanged.emit(self.index(0, 0), last)


def cell_text(result: RegressionResult, column: int) -> str:
    outcome = result.outcome
    match column:
        case Column.STATE:
            return result.state.value
        case Column.CALL:
            return one_line(shorten(result.call.name, _MAX_LENGTH))
        case Column.DURATION:
            return duration(outcome.elapsed_ns) if outcome is not None else ""
        case Column.CPU:
            cost = outcome.cost if outcome is not None else None
            return duration(cost.cpu_ns) if cost is not None and cost.cpu_ns is not None else ""
    return one_line(shorten(difference_text(result), _MAX_LENGTH))


def difference_text(result: RegressionResult) -> str:
    """Return what differs, in a few words; "" if there is nothing to report."""
    if result.problem:
        return result.problem
    if result.state is RegressionState.DIFFERENT and result.diff is not None:
        count = sum(1 for _ in result.diff.differences())
        return plural(count, "change") if count else result.diff.summary()
    return ""


def summary_text(view: RegressionView) -> str:
    """Return counts by state: `2 differ, 3 as expected`."""
    order = (
        RegressionState.RUNNING,
        RegressionState.FAILED,
        RegressionState.DIFFERENT,
        RegressionState.NOT_APPROVED,
        RegressionState.NEW,
        RegressionState.SAME,
        RegressionState.STOPPED,
        RegressionState.NOT_RUN,
    )
    counts = ((view.count(state), state) for state in order)
    return ", ".join(f"{count:,} {_state_text(state, count)}" for count, state in counts if count)


def _state_text(state: RegressionState, count: int) -> str:
    return "differ" if state is RegressionState.DIFFERENT and count > 1 else state.value


def badge(view: RegressionView) -> tuple[str, Tone]:
    """Return a badge: red, green or neutral; "" before the first run."""
    if not view.number or not view.results:
        return "", "muted"
    total = len(view.results)
    if view.is_running:
        return "running regression calls", "wait"
    if view.bad:
        states = (RegressionState.FAILED, RegressionState.DIFFERENT)
        text = " or ".join(_state_text(state, view.bad) for state in states if view.count(state))
        return f"{view.bad:,} of {total:,} regression calls {text}", "error"
    good = view.count(RegressionState.SAME)
    if good == total:
        return f"{total:,} of {total:,} regression calls as expected", "ok"
    return f"{good:,} of {total:,} regression calls as expected", "warn"


def _tone(result: RegressionResult, column: int) -> Tone:
    if column == Column.STATE:
        return TONES[result.state]
    return "text" if column in (Column.CALL, Column.DIFFERENCE) else "muted"


def _alignment(column: int) -> Qt.AlignmentFlag:
    return _RIGHT if column in _NUMBERS else _LEFT
