"""Tasks panel: all known tasks of one server in a table, and the selected one in detail."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QModelIndex, Qt, QTimer
from PySide6.QtGui import QAction, QHideEvent, QIcon, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QLineEdit,
    QScrollArea,
    QSplitter,
    QTableView,
)

from inspector.base.errors import LensError, UserError
from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.engine.server_view import ServerView
from inspector.engine.tasks.views import TaskView, TrackingState
from inspector.engine.views import ServerStatus
from inspector.protocol.jsonrpc import RpcError
from inspector.protocol.revisions import missing_capability
from inspector.protocol.tasks import TaskStatus, tasks_of
from inspector.qt.models.servers import connection_placeholder
from inspector.qt.models.tasks import TaskColumn, TasksModel, tone_of
from inspector.qt.panels.tasks.detail import TaskDetail
from inspector.qt.theme import SPACE_1, SPACE_3, Theme
from inspector.qt.views.panel import Panel, PanelContext
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.item_views import style_table
from inspector.qt.widgets.layout import hbox, vbox, vsplit
from inspector.qt.widgets.notices.empty_state import ContentStack
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.badge import DotShape, dot_icon
from inspector.qt.widgets.text.labels import MutedLabel

if TYPE_CHECKING:
    from inspector.engine.engine import Engine

_WIDTHS = {
    TaskColumn.STATUS: 120,
    TaskColumn.TOOL: 120,
    TaskColumn.ID: 150,
    TaskColumn.AGE: 88,
    TaskColumn.TTL: 96,
    TaskColumn.POLL: 84,
}
_TICK_MS = 1_000
_SHAPES = {
    TaskStatus.WORKING: DotShape.RING,
    TaskStatus.INPUT_REQUIRED: DotShape.TRIANGLE,
    TaskStatus.COMPLETED: DotShape.FILLED,
    TaskStatus.FAILED: DotShape.CROSS,
    TaskStatus.CANCELLED: DotShape.DASH,
}


class TasksPanel(Panel):
    """The tasks of a server. They survive a lost connection, until they are dropped."""

    help_page = "tools"

    def __init__(self, context: PanelContext) -> None:
        super().__init__()
        bridge, server, theme = context.bridge, context.server, context.theme
        self._bridge = bridge
        self._server = server
        self._actions = context.actions
        self._view: ServerView | None = None
        self._can_list = False
        self._is_loaded = False
        self._awaited = ""  # the task to show once they are loaded
        self._theme = theme
        self.model = TasksModel(theme, self._mark)
        self.table = QTableView()
        self.detail = TaskDetail(bridge, theme)
        self.id_line = QLineEdit(placeholderText="Task ID", clearButtonEnabled=True)
        self.id_line.setAccessibleName("ID of the task to add")
        self.add = QAction("Add", self)
        self.refresh = QAction("Refresh", self)
        self.refresh.setToolTip("Request the task list from the server")
        self._list_button = ActionButton(self.refresh)
        self.remove_ended = QAction("Remove ended", self)
        self.remove_ended.setToolTip("Remove ended tasks from this list; the server is not notified")
        self.count = MutedLabel(theme)
        self.alert = Alert(theme)
        self.stack = ContentStack(theme, self._make_split(theme))
        self._timer = QTimer(self, interval=_TICK_MS)
        self._lay_out()
        self._connect(context)
        bridge.start_when_attached(f"load tasks of {server}", self._load())

    def _make_split(self, theme: Theme) -> QSplitter:
        self.table.setAccessibleName(f"Tasks of {one_line(self._server)}")
        self.table.setModel(self.model)
        style_table(self.table, theme, _WIDTHS, [TaskColumn.STATUS_MESSAGE])
        self.table.horizontalHeader().setMinimumSectionSize(60)
        return vsplit(self.table, self._detail_area(), sizes=[100, 350], stretch=1)

    def _detail_area(self) -> QScrollArea:
        """Put the detail into a scroll area, so that it does not make a small window grow."""
        area = QScrollArea()
        area.setWidget(self.detail)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        return area

    def _lay_out(self) -> None:
        self.id_line.setMaximumWidth(320)
        bar = hbox(
            None,
            (self.count, 1),
            (self.id_line, 1),
            ActionButton(self.add),
            self._list_button,
            ActionButton(self.remove_ended),
            margin=(SPACE_3, SPACE_1),
        )
        vbox(self, bar, self.alert, (self.stack, 1), gap=0)

    def _connect(self, context: PanelContext) -> None:
        self._bridge.tasks_changed.connect(self._on_changed)
        self.table.selectionModel().currentRowChanged.connect(self._on_current_changed)
        self._timer.timeout.connect(self._on_tick)
        self.id_line.textChanged.connect(self._update)
        self.id_line.returnPressed.connect(self.add.trigger)
        self.add.triggered.connect(self._on_add)
        self.refresh.triggered.connect(self.list_tasks)
        self.remove_ended.triggered.connect(
            lambda: self._start_request(lambda engine: engine.tasks.forget_ended(self._server))
        )
        self.detail.poll.triggered.connect(
            lambda: self._ask_selected(lambda engine, *task: engine.tasks.poll(*task))
        )
        self.detail.fetch.triggered.connect(
            lambda: self._ask_selected(lambda engine, *task: engine.tasks.fetch(*task))
        )
        self.detail.cancel.triggered.connect(
            lambda: self._ask_selected(lambda engine, *task: engine.tasks.cancel(*task))
        )
        self.detail.remove.triggered.connect(
            lambda: self._ask_selected(lambda engine, *task: engine.tasks.forget(*task))
        )
        self.detail.row_requested.connect(context.row_requested)
        self.detail.reply_requested.connect(context.reply_requested)
        self.detail.result.uri_requested.connect(context.uri_requested)
        self.detail.show_requests(context.requests)
        context.requests_changed.connect(self.detail.show_requests)

    def focus_first(self) -> None:
        self.table.setFocus()

    async def _load(self) -> None:
        views = await self._bridge.ask(lambda engine: engine.tasks.views(self._server))
        self.model.update(reversed(views))
        self._is_loaded = True
        self._choose_first()
        if self._awaited:
            self.show_task(self._awaited)
        self._update()

    def set_view(self, view: ServerView) -> None:
        was_connected = self._is_connected
        self._view = view
        negotiated = view.negotiated if self._is_connected else None
        if negotiated is not None:
            task_protocol = tasks_of(negotiated.revision)
            support = negotiated.capabilities, negotiated.revision
            self._can_list = (
                task_protocol is not None
                and task_protocol.list(negotiated.capabilities) is not None
                and not missing_capability("tasks/list", *support)
            )
            self.detail.fetches_result = task_protocol is not None and task_protocol.outcome("") is not None
            self.detail.can_cancel = task_protocol is not None and not missing_capability(
                "tasks/cancel", *support
            )
        self.detail.is_connected = self._is_connected
        self.detail.update_actions()
        self._update()
        if self._is_connected and not was_connected and self._can_list:
            self.list_tasks()

    def list_tasks(self) -> None:
        """Ask the server for its tasks, if it supports listing."""
        self._start_request(lambda engine: engine.tasks.refresh(self._server))

    def show_task(self, id: str) -> None:
        """Select a task; one that is unknown here can be added by its id."""
        is_listed = self._choose(id)
        self._awaited = "" if is_listed or self._is_loaded else id
        if is_listed:
            self.table.setFocus()
        elif self._is_loaded:
            self.id_line.setText(id)
            self.id_line.setFocus()

    def _on_add(self) -> None:
        id = self.id_line.text().strip()
        if id and self.add.isEnabled():
            self._bridge.start(f"add task {id}", self._add(id), self)

    async def _add(self, id: str) -> None:
        if await self._run_request(lambda engine: engine.tasks.add(self._server, id)):
            self.id_line.clear()
            view = await self._bridge.ask(lambda engine: engine.tasks.find(self._server, id))
            self._on_changed(self._server, {id: view})
            self.show_task(id)

    def _ask_selected(self, work: Callable[[Engine, str, str], Coroutine[Any, Any, object]]) -> None:
        view = self.detail.view
        if view is not None:
            self._start_request(lambda engine: work(engine, self._server, view.id))

    def _start_request(self, work: Callable[[Engine], Coroutine[Any, Any, object]]) -> None:
        self._bridge.start(f"tasks of {self._server}", self._run_request(work), self)

    async def _run_request(self, work: Callable[[Engine], Coroutine[Any, Any, object]]) -> bool:
        """Run a request and show errors here."""
        try:
            await self._bridge.ask(work)
        except RpcError as exc:
            text = f"The server returned an error: {one_line(str(exc))}."
            self.alert.show_message("request", text, exc.next_step)
        except LensError as exc:
            summary = exc.summary if isinstance(exc, UserError) else f"{exc}."
            self.alert.show_message("request", summary, exc.next_step)
        else:
            self.alert.close_topic("request")
            return True
        return False

    @property
    def _is_connected(self) -> bool:
        return self._view is not None and self._view.status is ServerStatus.CONNECTED

    def _on_changed(self, server: str, changes: Mapping[str, TaskView | None]) -> None:
        if server != self._server:
            return
        chosen = self.detail.view.id if self.detail.view is not None else ""
        self.model.apply(changes)
        view = changes.get(chosen)
        if view is not None:
            self.detail.show_view(view)
        if not self.table.currentIndex().isValid():  # so many were removed that the model was reset
            self._choose(chosen)
        self._choose_first()
        self._update()

    def _choose(self, id: str) -> bool:
        row = self.model.row_of(id)
        if row is not None:
            self.table.selectRow(row)
            self.table.scrollTo(self.model.index(row, 0))
        return row is not None

    def _choose_first(self) -> None:
        if not self.table.currentIndex().isValid() and self.model.rowCount():
            self.table.selectRow(0)

    def _on_current_changed(self, current: QModelIndex, previous: QModelIndex) -> None:
        if current.isValid():
            self.detail.show_view(self.model.record(current.row()))

    def _update(self) -> None:
        total, running = self.model.rowCount(), self.model.count_running()
        self.count.setText(f"{plural(total, 'task')}, {running:,} running" if total else "")
        self.add.setEnabled(self._is_connected and bool(self.id_line.text().strip()))
        self._list_button.setVisible(self._can_list)
        self.refresh.setEnabled(self._is_connected)
        self.remove_ended.setEnabled(total > running)
        self._set_ticking()
        if total:
            self.stack.open()
        elif self._view is not None:
            self._explain(self._view)

    def _explain(self, view: ServerView) -> None:
        placeholder = connection_placeholder(view)
        if placeholder is not None:
            text = (placeholder.title, placeholder.text, placeholder.next_step)
            actions = (self._actions[placeholder.command], self._actions.find(placeholder.other_command))
            self.stack.explain(placeholder.appearance, "tasks", *text, *actions)
            return
        negotiated = view.negotiated
        task_protocol = tasks_of(negotiated.revision) if negotiated is not None else None
        if negotiated is None or task_protocol is None:
            revision = negotiated.revision if negotiated is not None else ""
            sentence = f"Protocol version {revision} has no tasks; they were added in 2025-11-25."
        elif missing_capability("tasks/get", negotiated.capabilities, negotiated.revision):
            sentence = "This server does not offer tasks: it did not declare the capability."
        else:
            sentence = "Call a tool as a task (see Call options), or add a task by its ID."
        self.stack.explain("empty", "tasks", "No tasks", sentence)

    def _mark(self, view: TaskView) -> QIcon:
        shape = DotShape.CROSS if view.tracking is TrackingState.UNKNOWN else _SHAPES[view.task.status]
        return dot_icon(self._theme, shape, tone_of(view))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._set_ticking()
        self._on_tick()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()

    def _set_ticking(self) -> None:
        is_needed = self.isVisible() and self.model.rowCount() > 0
        if is_needed != self._timer.isActive():
            self._timer.start() if is_needed else self._timer.stop()

    def _on_tick(self) -> None:
        self.model.tick()
        self.detail.tick()
