"""Frozen task values for display; they may cross threads."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the window shows these before the protocol is imported
    from inspector.engine.views import CallOutcome
    from inspector.protocol.tasks import Task


class TaskOrigin(Enum):
    """How we learned of a task."""

    CALLED = "called here"
    LISTED = "listed by the server"
    ADDED = "added by its id"


class TrackingState(Enum):
    """What is being done about a task; the values are display text."""

    FOLLOWED = "followed"
    WAITING = "waiting for the connection"
    UNKNOWN = "unknown to the server"
    STOPPED = "not followed"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class TaskView:
    """Current state of a task. Times are monotonic.

    `created_ns` is approximate, as the server's clock may differ. `expires_ns` is when the server may
    forget it, `next_poll_ns` when it is polled next. `note` says why it is not polled or what it waits for;
    `problems` are protocol violations. `row` is that of the call.
    """

    server: str
    task: Task
    tool: str
    origin: TaskOrigin
    tracking: TrackingState
    created_ns: int
    expires_ns: int | None = None
    next_poll_ns: int | None = None
    is_polling: bool = False
    progress: float | None = None
    total: float | None = None
    progress_message: str = ""
    open_requests: int = 0
    wants_cancel: bool = False
    is_fetching: bool = False
    note: str = ""
    problems: tuple[str, ...] = ()
    row: int | None = None
    outcome: CallOutcome | None = None

    @property
    def id(self) -> str:
        return self.task.id

    @property
    def is_terminal(self) -> bool:
        return self.task.status.is_terminal

    @property
    def is_running(self) -> bool:
        """True if it has not ended, as far as is known."""
        return not self.is_terminal and self.tracking is not TrackingState.UNKNOWN
