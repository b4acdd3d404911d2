"""What the book of tasks shows: frozen values, safe to hand to another thread."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the window shows these values before the protocol is imported
    from inspector.engine.views import CallOutcome
    from inspector.protocol.tasks import Task


class Origin(Enum):
    """How we came to know of a task."""

    CALLED = "called here"
    LISTED = "listed by the server"
    ADDED = "added by its id"


class Standing(Enum):
    """What is being done about a task, in the words that are shown."""

    FOLLOWED = "followed"
    WAITING = "waits for the connection"
    UNKNOWN = "the server no longer knows it"
    STOPPED = "not followed"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class TaskView:
    """One task as it stands now. Times are of the monotonic clock.

    `created_ns` is as good as we know it: the server may keep another time than we do. `expires_ns` is when
    the server may forget it, `next_poll_ns` when it is asked after next. `note` says why it is not followed,
    or what it waits for; `problems` what the server did wrong. `row` is that of the call.
    """

    server: str
    task: Task
    tool: str
    origin: Origin
    standing: Standing
    created_ns: int
    expires_ns: int | None = None
    next_poll_ns: int | None = None
    is_polling: bool = False
    progress: float | None = None
    total: float | None = None
    progress_message: str = ""
    open_questions: int = 0
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
        """Has it not ended, as far as we know?"""
        return not self.is_terminal and self.standing is not Standing.UNKNOWN
