"""Table model of one server's tasks, and texts about their state."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from enum import IntEnum

from PySide6.QtCore import QObject
from PySide6.QtGui import QIcon

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.engine.tasks.views import TaskView, TrackingState
from inspector.protocol.tasks import TaskStatus
from inspector.qt.models.record_table import LEFT, RIGHT, Column, RecordTable
from inspector.qt.theme import Theme, Tone

_MAX_LENGTH = 300
_SECOND = 1_000_000_000


class TaskColumn(IntEnum):
    STATUS = 0
    TOOL = 1
    ID = 2
    STATUS_MESSAGE = 3
    AGE = 4
    TTL = 5
    POLL = 6


_TONES: dict[TaskStatus, Tone] = {
    TaskStatus.WORKING: "wait",
    TaskStatus.INPUT_REQUIRED: "warn",
    TaskStatus.COMPLETED: "ok",
    TaskStatus.FAILED: "error",
    TaskStatus.CANCELLED: "muted",
}


class TasksModel(RecordTable[TaskView]):
    """The tasks of a server, newest first. `mark` returns a task's icon; `tick` updates the times."""

    def __init__(
        self, theme: Theme, mark: Callable[[TaskView], QIcon], parent: QObject | None = None
    ) -> None:
        columns = (
            _column("Status", status_text, icon=mark),
            _column("Tool", lambda view: view.tool, has_tip=True),
            _column("ID", lambda view: view.id, has_tip=True, mono=0.95),
            _column("Progress", message_text, has_tip=True),
            _column("Age", lambda view: age_text(time.monotonic_ns() - view.created_ns), is_time=True),
            _column("TTL", lambda view: ttl_text(view, time.monotonic_ns()), is_time=True),
            _column("Next poll", lambda view: poll_text(view, time.monotonic_ns()), is_time=True),
        )
        super().__init__(theme, columns, lambda view: view.id, parent)

    def apply(self, changes: Mapping[str, TaskView | None]) -> None:
        """Add, update or remove tasks by ID; None removes one."""
        views: dict[str, TaskView | None] = {view.id: view for view in reversed(self.records)}
        views.update(changes)
        self.update(reversed([view for view in views.values() if view is not None]))

    def count_running(self) -> int:
        return sum(view.is_running for view in self.records)

    def tick(self) -> None:
        self.refresh(TaskColumn.AGE)


def _column(
    title: str,
    text: Callable[[TaskView], str],
    *,
    icon: Callable[[TaskView], QIcon] | None = None,
    has_tip: bool = False,
    is_time: bool = False,
    mono: float = 0,
) -> Column[TaskView]:
    def shown(view: TaskView) -> str:
        return one_line(shorten(text(view), _MAX_LENGTH))

    def tone(view: TaskView) -> Tone | None:
        if not (is_time or view.is_terminal):
            return None
        return "text" if title == "Tool" else "muted"

    return Column(
        title,
        shown,
        tone,
        tip=shown if has_tip else None,
        icon=icon,
        accessible=lambda view: f"{title}: {shown(view)}",
        align=RIGHT if is_time else LEFT,
        mono=mono,
    )


def tone_of(view: TaskView) -> Tone:
    is_lost = view.tracking in (TrackingState.UNKNOWN, TrackingState.WAITING)
    return "muted" if is_lost else _TONES[view.task.status]


def status_text(view: TaskView) -> str:
    if view.tracking is TrackingState.UNKNOWN:
        return "unknown"
    status = view.task.status.value.replace("_", " ")
    if view.wants_cancel and not view.is_terminal:
        return f"{status}, cancel requested"
    return status


def message_text(view: TaskView) -> str:
    """Return the most important fact: obstacle, request, progress or the server's message."""
    if view.tracking is TrackingState.WAITING:
        return "Waiting for the connection"
    if view.note:
        return view.note
    if needs_input(view):
        return "Input required: reply in the Inbox"
    latest = "" if view.is_terminal else view.progress_message
    parts = [progress_text(view), latest or view.task.message]
    return "  ".join(word for word in parts if word)


def needs_input(view: TaskView) -> bool:
    """Return whether it is waiting for input from the user.

    Only the newer task design lists its pending requests in the state.
    """
    is_requesting = bool(view.open_requests) or view.task.status is TaskStatus.INPUT_REQUIRED
    return is_requesting and view.tracking is TrackingState.FOLLOWED


def progress_text(view: TaskView) -> str:
    if view.progress is None or view.is_terminal:
        return ""
    return f"{view.progress:g} of {view.total:g}" if view.total is not None else f"{view.progress:g}"


def ttl_text(view: TaskView, now: int) -> str:
    """Return the time until the server may delete the task."""
    if view.expires_ns is None:
        return "no limit"
    return age_text(view.expires_ns - now) if view.expires_ns > now else "expired"


def poll_text(view: TaskView, now: int) -> str:
    if view.is_polling:
        return "now"
    if view.next_poll_ns is None:
        return ""
    left = max(view.next_poll_ns - now, 1)
    return f"in {age_text(-(-left // _SECOND) * _SECOND)}"  # rounded up to whole seconds: never "in 0 s"


def age_text(nanoseconds: int) -> str:
    """Format a duration readably while it changes: 12 s, 3 min 05 s, 2 h 10 min, 4 d."""
    seconds = round(nanoseconds / 1e9)
    if seconds < 60:
        return f"{seconds} s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes} min {seconds:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours < 48 else f"{hours // 24:,} d"
