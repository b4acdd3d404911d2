"""What is wrong with a filter, and where."""

from __future__ import annotations

from inspector.base.errors import UserError


class QueryError(UserError):
    """A filter is invalid. `column` is the 0-based position in its text."""

    def __init__(self, column: int, summary: str, next_step: str = "") -> None:
        super().__init__(summary, next_step)
        self.column = column
