"""Table model of one server's tasks, newest first, and texts about their state."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum

from PySide6.QtCore import QAbstractTableModel, QObject, Qt
from PySide6.QtGui import QIcon

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.engine.tasks.views import TaskView, TrackingState
from inspector.protocol.tasks import TaskStatus
from inspector.qt.models.row_models import ROOT, Index, plain_tip
from inspector.qt.theme import Theme, Tone

_MAX_LENGTH = 300
_SECOND = 1_000_000_000
_MAX_SINGLE_REMOVALS = 20  # rows removed one by one; more reset the model


class Column(IntEnum):
    STATUS = 0
    TOOL = 1
    ID = 2
    STATUS_MESSAGE = 3
    AGE = 4
    TTL = 5
    POLL = 6


HEADERS = ("Status", "Tool", "ID", "Progress", "Age", "TTL", "Next poll")
_TIMES = (Column.AGE, Column.TTL, Column.POLL)
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter

_TONES: dict[TaskStatus, Tone] = {
    TaskStatus.WORKING: "wait",
    TaskStatus.INPUT_REQUIRED: "warn",
    TaskStatus.COMPLETED: "ok",
    TaskStatus.FAILED: "error",
    TaskStatus.CANCELLED: "muted",
}


class TasksModel(QAbstractTableModel):
    """The tasks of a server. `mark` returns a task's icon; `tick` updates the times."""

    def __init__(
        self, theme: Theme, mark: Callable[[TaskView], QIcon], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._mark = mark
        self._views: list[TaskView] = []  # the newest last
        self._positions: dict[str, int] = {}
        theme.changed.connect(self._on_theme_changed)

    def set_all(self, views: Iterable[TaskView]) -> None:
        self.beginResetModel()
        self._views = list(views)
        self._number()
        self.endResetModel()

    def put(self, view: TaskView) -> None:
        """Add or update a task."""
        self.apply({view.id: view})

    def remove(self, id: str) -> None:
        self.apply({id: None})

    def apply(self, changes: Mapping[str, TaskView | None]) -> None:
        """Apply changes by task id; None removes one. If many are removed, the model is reset."""
        self._remove([id for id, view in changes.items() if view is None and id in self._positions])
        views = [view for view in changes.values() if view is not None]
        self._change([view for view in views if view.id in self._positions])
        self._add([view for view in views if view.id not in self._positions])

    def _remove(self, ids: list[str]) -> None:
        if len(ids) > _MAX_SINGLE_REMOVALS:
            removed = set(ids)
            self.set_all([view for view in self._views if view.id not in removed])
            return
        for id in ids:
            position = self._positions[id]
            row = self._row(position)
            self.beginRemoveRows(ROOT, row, row)
            del self._views[position]
            self._number()
            self.endRemoveRows()

    def _change(self, views: list[TaskView]) -> None:
        positions = [self._positions[view.id] for view in views]
        for position, view in zip(positions, views, strict=True):
            self._views[position] = view
        if positions:
            first, last = self._row(max(positions)), self._row(min(positions))
            self.dataChanged.emit(self.index(first, 0), self.index(last, len(Column) - 1))

    def _add(self, views: list[TaskView]) -> None:
        if views:
            self.beginInsertRows(ROOT, 0, len(views) - 1)
            for view in views:
                self._positions[view.id] = len(self._views)
                self._views.append(view)
            self.endInsertRows()

    def view(self, row: int) -> TaskView:
        return self._views[self._row(row)]

    def find(self, id: str) -> TaskView | None:
        position = self._positions.get(id)
        return None if position is None else self._views[position]

    def row_of(self, id: str) -> int:
        """Return the row of a task; -1 if there is none."""
        position = self._positions.get(id)
        return -1 if position is None else self._row(position)

    def count_running(self) -> int:
        return sum(view.is_running for view in self._views)

    def tick(self) -> None:
        if self._views:
            self.dataChanged.emit(self.index(0, Column.AGE), self.index(len(self._views) - 1, Column.POLL))

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._views)

    def columnCount(self, parent: Index = ROOT) -> int:
        return len(Column)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return HEADERS[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if section in _TIMES else _LEFT
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        view, column = self.view(index.row()), Column(index.column())
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return cell_text(view, column, time.monotonic_ns())
            case Qt.ItemDataRole.DecorationRole if column is Column.STATUS:
                return self._mark(view)
            case Qt.ItemDataRole.TextAlignmentRole:
                return _RIGHT if column in _TIMES else _LEFT
            case Qt.ItemDataRole.ForegroundRole if column in _TIMES or view.is_terminal:
                return self._theme.color("text" if column is Column.TOOL else "muted")
            case Qt.ItemDataRole.FontRole if column is Column.ID:
                return self._theme.mono_font(0.95)
            case Qt.ItemDataRole.ToolTipRole if column in (Column.STATUS_MESSAGE, Column.ID, Column.TOOL):
                return plain_tip(cell_text(view, column, time.monotonic_ns()))
            case Qt.ItemDataRole.AccessibleTextRole:
                return f"{HEADERS[column]}: {cell_text(view, column, time.monotonic_ns())}"
        return None

    def _row(self, position: int) -> int:
        """Convert a list position to a row, or back."""
        return len(self._views) - 1 - position

    def _number(self) -> None:
        self._positions = {view.id: position for position, view in enumerate(self._views)}

    def _on_theme_changed(self) -> None:
        if self._views:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._views) - 1, len(Column) - 1))


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


def cell_text(view: TaskView, column: Column, now: int) -> str:
    match column:
        case Column.STATUS:
            return status_text(view)
        case Column.TOOL:
            return one_line(shorten(view.tool, _MAX_LENGTH))
        case Column.STATUS_MESSAGE:
            return one_line(shorten(message_text(view), _MAX_LENGTH))
        case Column.AGE:
            return age_text(now - view.created_ns)
        case Column.TTL:
            return ttl_text(view, now)
        case Column.POLL:
            return poll_text(view, now)
        case Column.ID:
            return one_line(shorten(view.id, _MAX_LENGTH))


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
