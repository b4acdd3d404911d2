"""How a tree is worked off for a window of rows: cheap questions first, dear ones only of rows that are
still in doubt.

A plan is asked "which of these?", with masks as one big integer: a byte a row, so that `&`, `|` and `^` of
16,000 rows are one step each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from itertools import compress

from inspector.base.jsonvalue import JSON
from inspector.traffic.log import TrafficLog
from inspector.traffic.query.bodies import rows_with
from inspector.traffic.query.jsonpaths import BIGGEST
from inspector.traffic.query.leaves import Leaf
from inspector.traffic.query.needle import Needle
from inspector.traffic.query.predicates import OfJSON


class Cost(IntEnum):
    COLUMNS = 0
    ROWS = 1
    BODIES = 2


class Plan(ABC):
    cost: Cost

    @abstractmethod
    def among(self, window: range, alive: int) -> int:
        """Return the rows that match, among those that are alive."""


class Lookup(Plan):
    """Evaluated from columns."""

    cost = Cost.COLUMNS

    def __init__(self, leaf: Leaf) -> None:
        self._leaf = leaf

    def among(self, window: range, alive: int) -> int:
        return int.from_bytes(self._leaf.mask(window), "little") & alive


class Reading(Plan):
    """Evaluated row by row, for rows of certain kinds."""

    def __init__(self, fits: Callable[[int], bool], cost: Cost, of_kind: Leaf | None = None) -> None:
        self._fits, self.cost, self._of_kind = fits, cost, of_kind

    def among(self, window: range, alive: int) -> int:
        if self._of_kind is not None:
            alive &= int.from_bytes(self._of_kind.mask(window), "little")
        fits, found = self._fits, bytearray(len(window))
        for row in compress(window, alive.to_bytes(len(window), "little")):
            if fits(row):
                found[row - window.start] = 1
        return int.from_bytes(found, "little")


def path_reading(
    log: TrafficLog, values: Callable[[bytes], Iterable[JSON]], test: OfJSON, of_kind: Leaf
) -> Reading:
    """Return a plan that tests values in messages; oversized bodies are not parsed."""
    raw, kept = log.raw, log.columns.kept

    def fits(row: int) -> bool:
        return kept[row] <= BIGGEST and any(map(test, values(raw(row))))

    return Reading(fits, Cost.BODIES, of_kind)


class Searching(Plan):
    """Evaluated by searching the bytes of bodies."""

    cost = Cost.BODIES

    def __init__(self, log: TrafficLog, needle: Needle) -> None:
        self._log, self._needle = log, needle

    def among(self, window: range, alive: int) -> int:
        return int.from_bytes(
            rows_with(self._log, self._needle, window, alive.to_bytes(len(window), "little")), "little"
        )


class AllOf(Plan):
    def __init__(self, plans: Sequence[Plan]) -> None:
        self._plans = sorted(plans, key=lambda plan: plan.cost)
        self.cost = self._plans[-1].cost

    def among(self, window: range, alive: int) -> int:
        for plan in self._plans:
            if not alive:
                break
            alive = plan.among(window, alive)
        return alive


class AnyOf(Plan):
    def __init__(self, plans: Sequence[Plan]) -> None:
        self._plans = sorted(plans, key=lambda plan: plan.cost)
        self.cost = self._plans[-1].cost

    def among(self, window: range, alive: int) -> int:
        doubtful = alive
        for plan in self._plans:
            if not doubtful:
                break
            doubtful ^= plan.among(window, doubtful)
        return alive ^ doubtful


class NoneOf(Plan):
    def __init__(self, plan: Plan) -> None:
        self._plan, self.cost = plan, plan.cost

    def among(self, window: range, alive: int) -> int:
        return alive ^ self._plan.among(window, alive)


class Everything(Plan):
    cost = Cost.COLUMNS

    def among(self, window: range, alive: int) -> int:
        return alive
