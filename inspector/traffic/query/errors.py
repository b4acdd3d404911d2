"""What is wrong with a filter, and where."""

from __future__ import annotations

from inspector.base.errors import UserError


class QueryError(UserError):
    """A filter cannot be read. `column` is the place in its text, counted from 0."""

    def __init__(self, column: int, summary: str, next_step: str = "") -> None:
        super().__init__(summary, next_step)
        self.column = column
