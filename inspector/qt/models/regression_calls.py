"""Table model of a server's regression calls: state, and what differs in a few words."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from PySide6.QtCore import QObject
from PySide6.QtGui import QIcon

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.units import duration, plural
from inspector.engine.calls.regression_calls import RegressionResult, RegressionState, RegressionView
from inspector.qt.models.record_table import RIGHT, Column, RecordTable
from inspector.qt.theme import Theme, Tone

_MAX_LENGTH = 300


class RegressionColumn(IntEnum):
    STATE = 0
    CALL = 1
    DIFFERENCE = 2
    DURATION = 3
    CPU = 4


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


class RegressionCallsModel(RecordTable[RegressionResult]):
    """The regression calls and their results. `mark` returns the icon of a state."""

    def __init__(
        self, theme: Theme, mark: Callable[[RegressionState], QIcon], parent: QObject | None = None
    ) -> None:
        columns = (
            Column("Status", _state, _state_tone, icon=lambda result: mark(result.state)),
            Column("Call", lambda result: _short(result.call.name), "text", _call_tip),
            Column("Difference", _difference, "text", _difference),
            Column("Duration", _duration, "muted", align=RIGHT),
            Column("CPU", _cpu_time, "muted", align=RIGHT),
        )
        super().__init__(theme, columns, lambda result: result.call.path, parent)

    def first_bad(self) -> int | None:
        return next((row for row, each in enumerate(self.records) if each.state.is_bad), None)


def _short(text: str) -> str:
    return one_line(shorten(text, _MAX_LENGTH))


def _state(result: RegressionResult) -> str:
    return result.state.value


def _state_tone(result: RegressionResult) -> Tone:
    return TONES[result.state]


def _call_tip(result: RegressionResult) -> str:
    return f"{result.call.tool}, in {result.call.path}"


def _difference(result: RegressionResult) -> str:
    return _short(difference_text(result))


def _duration(result: RegressionResult) -> str:
    return duration(result.outcome.elapsed_ns) if result.outcome is not None else ""


def _cpu_time(result: RegressionResult) -> str:
    cost = result.outcome.cost if result.outcome is not None else None
    return duration(cost.cpu_ns) if cost is not None and cost.cpu_ns is not None else ""


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
