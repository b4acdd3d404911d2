"""What a timeline is painted from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from inspector.traffic.timeline import LaneView, Mark, Place, Wait


class BarSource(Protocol):
    """The operations (`inspector.qt.models.timelinebars`). Times are nanoseconds since 1970."""

    def lanes(self, t0: int, t1: int) -> tuple[LaneView, ...]:
        """Which lanes there are; each with everything of a sub-row in one piece, but for what is open."""
        ...

    def window(self, t0: int, t1: int, width: int, servers: Sequence[int]) -> tuple[LaneView, ...]:
        """What to paint in so many pixels."""
        ...

    def where(self, row: int) -> Place | None:
        """The bar of a row."""
        ...

    def at(self, at: int, server: int, subrow: int, slack: int) -> int | None:
        """The operation at a moment, or no further away than `slack`."""
        ...

    def label(self, operation: int) -> tuple[str, str]:
        """What a bar is called, and what can be said besides if there is room."""
        ...

    def words(self, operation: int, now_ns: int) -> str:
        """Everything about one, in a few lines."""
        ...

    def inside(self, operation: int) -> tuple[tuple[Wait, ...], tuple[Mark, ...]] | None:
        """What happened in it; None while that is not known."""
        ...

    def ask(self, operations: Sequence[int]) -> None:
        """Find out what happened in these, which are in view, if that is not known yet."""
        ...

    def neighbour(self, operation: int, step: int) -> int | None:
        """The one after (1) or before (-1) it in its sub-row."""
        ...
