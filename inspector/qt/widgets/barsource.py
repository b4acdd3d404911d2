"""What a timeline is painted from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from inspector.traffic.timeline import LaneView, Mark, Place, Wait


class BarSource(Protocol):
    """The source of operations (`inspector.qt.models.timelinebars`). Times are ns since 1970."""

    def lanes(self, t0: int, t1: int) -> tuple[LaneView, ...]:
        """Return the lanes; each sub-row merged into one piece, except for open operations."""
        ...

    def window(self, t0: int, t1: int, width: int, servers: Sequence[int]) -> tuple[LaneView, ...]:
        """Return what to paint in `width` pixels."""
        ...

    def where(self, row: int) -> Place | None:
        """Return the bar of a row."""
        ...

    def at(self, at: int, server: int, subrow: int, slack: int) -> int | None:
        """Return the operation at a moment, or within `slack` of it."""
        ...

    def label(self, operation: int) -> tuple[str, str]:
        """Return a bar's label, and a detail to add if there is room."""
        ...

    def words(self, operation: int, now_ns: int) -> str:
        """Return a summary of an operation in a few lines."""
        ...

    def inside(self, operation: int) -> tuple[tuple[Wait, ...], tuple[Mark, ...]] | None:
        """Return what happened in an operation; None while unknown."""
        ...

    def ask(self, operations: Sequence[int]) -> None:
        """Load the details of these visible operations, if not known yet."""
        ...

    def neighbour(self, operation: int, step: int) -> int | None:
        """Return the next (1) or previous (-1) operation in the same sub-row."""
        ...
