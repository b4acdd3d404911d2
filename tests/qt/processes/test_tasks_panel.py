"""Tasks panel, with real servers of both task designs (core and extension)."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from inspector.config.servers.entries import StdioEntry
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.tasks.views import TaskView, TrackingState
from inspector.engine.views import OutcomeKind, ServerStatus
from inspector.protocol.tasks import Task, TaskStatus
from inspector.qt.models.tasks import TaskColumn, TasksModel, age_text, poll_text, ttl_text
from inspector.qt.panels.tasks.panel import TasksPanel
from inspector.qt.window.tabs import INBOX, TAB_IDS, TASKS
from tests.helpers.steps import steps_of
from tests.qt.lens_driver import Lens, scripted, visible_text
from tests.qt.widgets.test_hostile_text import HIDDEN, HOSTILE, MARKUP

SERVER = Path(__file__).parent.parent.parent / "helpers" / "taskserver.py"
DESIGNS = ("core", "extension")


def entry(design: str, file: Path | None = None) -> StdioEntry:
    args = ("-I", "-S", str(SERVER), design, *((str(file),) if file else ()))
    return StdioEntry(name="tasks", command=sys.executable, args=args)


def open_tasks(lens: Lens, design: str, file: Path | None = None) -> TasksPanel:
    lens.connect(entry(design, file))
    lens.do("view.tasks")
    panel = lens.workspace.panel(TASKS)
    lens.settle()
    return panel


def call(lens: Lens, tool: str, **arguments: int) -> None:
    """Call a tool as a task, as the Tools panel does."""
    bridge = lens.app.bridge
    call = ToolCall(tool, {**arguments}, as_task=True)
    bridge.start(f"call {tool}", bridge.ask(lambda engine: engine.tool_caller.call_for_user("tasks", call)))


def until(lens: Lens, panel: TasksPanel, status: TaskStatus, row: int = 0) -> TaskView:
    def is_so() -> bool:
        return panel.model.rowCount() > row and panel.model.record(row).task.status is status

    lens.until(is_so)
    return panel.model.record(row)


def text(panel: TasksPanel, column: TaskColumn, row: int = 0) -> str:
    return str(panel.model.index(row, column).data())


BOTH = pytest.mark.parametrize("design", DESIGNS)


@BOTH
def test_before_the_first_task_the_panel_says_how_to_create_one(lens: Lens, design: str) -> None:
    panel = open_tasks(lens, design)
    assert "Call a tool as a task" in visible_text(panel)


def test_server_without_task_support_says_so(lens: Lens) -> None:
    lens.connect(scripted())
    lens.do("view.tasks")
    assert "does not offer tasks" in visible_text(lens.workspace.panel(TASKS))


@BOTH
def test_task_is_shown_from_start_to_result(lens: Lens, design: str) -> None:
    panel = open_tasks(lens, design)
    call(lens, "count", polls=3)
    view = until(lens, panel, TaskStatus.COMPLETED)
    lens.until(lambda: panel.detail.result.tabs.isVisibleTo(panel))
    assert (text(panel, TaskColumn.STATUS), text(panel, TaskColumn.TOOL)) == ("completed", "count")
    assert text(panel, TaskColumn.ID) == view.id
    assert text(panel, TaskColumn.TTL) == "9 min 59 s" or text(panel, TaskColumn.TTL) == "10 min 00 s"
    assert panel.detail.badge.text == "completed"
    assert "1 task, 0 running" in visible_text(panel)
    assert not panel.detail.poll.isEnabled()
    assert not panel.detail.cancel.isEnabled()


@BOTH
def test_a_running_task_is_cancelled_polled_and_forgotten_by_hand(lens: Lens, design: str) -> None:
    panel = open_tasks(lens, design)
    call(lens, "stay")
    lens.until(lambda: panel.model.rowCount() and text(panel, TaskColumn.STATUS_MESSAGE).startswith("Step"))
    panel.detail.cancel.trigger()
    until(lens, panel, TaskStatus.CANCELLED)
    lens.until(lambda: not panel.detail.cancel.isEnabled())
    panel.detail.remove.trigger()
    lens.until(lambda: panel.model.rowCount() == 0)
    assert "No tasks" in visible_text(panel)


@BOTH
def test_the_failure_of_a_task_is_shown(lens: Lens, design: str) -> None:
    panel = open_tasks(lens, design)
    call(lens, "fail")
    until(lens, panel, TaskStatus.FAILED)
    lens.until(lambda: "the disk is full" in visible_text(panel.detail))


@BOTH
def test_finished_tasks_are_forgotten_all_at_once(lens: Lens, design: str) -> None:
    panel = open_tasks(lens, design)
    for _ in range(3):
        call(lens, "count", polls=1)
    call(lens, "stay")
    lens.until(lambda: panel.model.rowCount() == 4 and panel.model.count_running() == 1)
    lens.until(lambda: sum(panel.model.record(row).tracking is TrackingState.ENDED for row in range(4)) == 3)
    panel.remove_ended.trigger()
    lens.until(lambda: panel.model.rowCount() == 1)
    assert text(panel, TaskColumn.TOOL) == "stay"


@BOTH
def test_task_is_added_by_id_and_an_unknown_id_is_reported(lens: Lens, design: str) -> None:
    panel = open_tasks(lens, design)
    call(lens, "stay")
    lens.until(lambda: panel.model.rowCount() == 1)
    id = panel.model.record(0).id
    panel.detail.remove.trigger()
    lens.until(lambda: panel.model.rowCount() == 0)
    panel.id_line.setFocus()
    QTest.keyClicks(panel.id_line, "unknown-task")
    QTest.keyClick(panel.id_line, Qt.Key.Key_Return)
    lens.until(
        lambda: "The server returned an error: -32602 (invalid params): Unknown task." in visible_text(panel)
    )
    panel.id_line.clear()
    QTest.keyClicks(panel.id_line, f" {id} ")
    QTest.keyClick(panel.id_line, Qt.Key.Key_Return)
    lens.until(lambda: panel.model.rowCount() == 1)
    lens.until(lambda: not panel.id_line.text())
    assert "refused" not in visible_text(panel)
    assert "added by its id" in panel.detail.facts.text()


def test_lost_connection_is_reported_and_the_task_continues_afterwards(lens: Lens, tmp_path: Path) -> None:
    panel = open_tasks(lens, "extension", tmp_path / "tasks.json")
    call(lens, "stay")
    lens.until(lambda: panel.model.rowCount() == 1)
    lens.do("server.disconnect")
    lens.until(lambda: text(panel, TaskColumn.STATUS_MESSAGE) == "Waiting for the connection")
    lens.until(lambda: not panel.detail.poll.isEnabled())
    lens.do("server.connect")
    lens.wait_for("tasks", ServerStatus.CONNECTED)
    lens.until(lambda: text(panel, TaskColumn.STATUS_MESSAGE).startswith("Step"))


def test_server_task_list_is_requested_and_results_are_fetched_manually(lens: Lens, tmp_path: Path) -> None:
    panel = open_tasks(lens, "core", tmp_path / "tasks.json")
    call(lens, "count", polls=1)
    until(lens, panel, TaskStatus.COMPLETED)
    lens.until(lambda: panel.model.record(0).tracking is TrackingState.ENDED)
    panel.remove_ended.trigger()
    lens.until(lambda: panel.model.rowCount() == 0)
    panel.refresh.trigger()
    lens.until(lambda: panel.model.rowCount() == 1)
    assert "listed by the server" in panel.detail.facts.text()
    assert "The result was not fetched" in visible_text(panel.detail)
    panel.detail.fetch.trigger()
    lens.until(lambda: panel.detail.result.tabs.isVisibleTo(panel))


@BOTH
def test_the_call_of_a_task_is_found_in_the_traffic(lens: Lens, design: str) -> None:
    panel = open_tasks(lens, design)
    call(lens, "count", polls=1)
    until(lens, panel, TaskStatus.COMPLETED)
    lens.settle()
    panel.detail.show_call.trigger()
    row = panel.model.record(0).row
    assert row is not None
    lens.until(lambda: lens.window.traffic.current_number() == row)


def test_a_call_in_the_tools_panel_can_be_left_running(lens: Lens) -> None:
    tools = lens.connect(entry("core"))
    tools.choose("stay")
    view = tools.call_view
    lens.do("call.options")
    view.drawer.options.task.setChecked(True)
    lens.do("tool.call")
    lens.until(lambda: "Run in the background" in visible_text(view))
    view.progress.run_in_background.trigger()
    lens.until(lambda: view.result.badge.text == OutcomeKind.DETACHED.value)
    assert "its task continues" in visible_text(view.result)
    call(lens, "count", polls=1)
    lens.press("Show task", view.result)
    panel = lens.workspace.panel(TASKS)
    lens.until(lambda: panel.model.rowCount() == 2 and panel.detail.view is not None)
    lens.until(lambda: panel.detail.view is not None and panel.detail.view.tool == "stay")
    lens.until(lambda: lens.workspace.tabs.tabText(TAB_IDS.index("tasks")) == "Tasks 1")
    panel.detail.cancel.trigger()
    lens.until(lambda: lens.workspace.tabs.tabText(TAB_IDS.index("tasks")) == "Tasks")


@BOTH
def test_task_with_a_request_links_to_the_inbox_and_back(lens: Lens, design: str) -> None:
    panel = open_tasks(lens, design)
    call(lens, "ask")
    until(lens, panel, TaskStatus.INPUT_REQUIRED)
    lens.until(lambda: "Input required: reply in the Inbox" in text(panel, TaskColumn.STATUS_MESSAGE))
    call(lens, "stay")
    lens.until(lambda: panel.model.rowCount() == 2)
    panel.show_task(panel.model.record(0).id)
    assert "Answer" not in visible_text(panel.detail)
    server_request = panel.model.record(1)
    panel.show_task(server_request.id)
    lens.press("Reply", panel.detail)
    inbox = lens.workspace.panel(INBOX)
    lens.until(lambda: inbox.isVisible() and inbox.request_view is not None)
    panel.show_task(panel.model.record(0).id)
    assert inbox.request_view is not None
    lens.press("Show task", inbox.request_view)
    lens.until(lambda: panel.isVisible())
    assert panel.detail.view is not None
    assert panel.detail.view.id == server_request.id


def test_unknown_task_can_be_added(lens: Lens) -> None:
    open_tasks(lens, "core")
    lens.workspace.show_task("other-task")
    panel = lens.workspace.panel(TASKS)
    lens.until(lambda: panel.id_line.text() == "other-task")


def task_view(id: str = "t", status: str = "working", **more: object) -> TaskView:
    from inspector.engine.tasks.views import TaskOrigin

    task = Task.read({"taskId": id, "status": status, "statusMessage": str(more.pop("message", ""))})
    values: dict[str, object] = {
        "created_ns": 0,
        "origin": TaskOrigin.LISTED,
        "tracking": TrackingState.FOLLOWED,
    }
    return TaskView(**{"server": "s", "task": task, "tool": "", **values, **more})  # type: ignore[arg-type]


def test_durations_stay_readable_while_they_change() -> None:
    second = 1_000_000_000
    shown = [age_text(seconds * second) for seconds in (0, 59, 60, 3_599, 3_600, 86_400, 10**6)]
    assert shown == ["0 s", "59 s", "1 min 00 s", "59 min 59 s", "1 h 00 min", "24 h 00 min", "11 d"]
    view = task_view(expires_ns=90 * second, next_poll_ns=5 * second)
    assert ttl_text(view, 30 * second) == "1 min 00 s"
    assert ttl_text(view, 90 * second) == "expired"
    assert poll_text(view, 4 * second) == "in 1 s"
    assert ttl_text(task_view(), 0) == "no limit"


def test_server_text_is_shown_on_one_line_and_as_plain_text(lens: Lens) -> None:
    from PySide6.QtGui import QIcon

    model = TasksModel(lens.app.frontend.theme, lambda view: QIcon())
    view = task_view(HOSTILE * 100, message=HOSTILE * 100, tool=f"{HOSTILE}\n{HOSTILE}")
    model.apply({view.id: view})
    for column in range(model.columnCount()):
        words = str(model.index(0, column).data())
        assert "\n" not in words
        assert HIDDEN not in words
        assert len(words) < 1_000
        tip = model.index(0, column).data(Qt.ItemDataRole.ToolTipRole)
        assert tip is None or MARKUP not in tip


def test_thousands_of_tasks_are_added_and_removed_without_blocking_the_window(lens: Lens) -> None:
    panel = open_tasks(lens, "core")
    call(lens, "count", polls=10_000)
    until(lens, panel, TaskStatus.WORKING)
    chosen = panel.model.record(0).id
    emit = lens.app.bridge.tasks_changed.emit
    many = [replace(task_view(f"t{number}"), server="tasks") for number in range(10_000)]

    def change() -> None:
        emit("tasks", {view.id: view for view in many})
        emit("tasks", {view.id: view for view in many[5_000:]})
        emit("tasks", {view.id: None for view in many[:9_000]})

    assert steps_of(change) < 100 * len(many)  # rows are numbered once, not once for each
    assert panel.model.rowCount() == 1_001
    assert panel.detail.view is not None
    assert panel.detail.view.id == chosen
    assert panel.model.record(panel.table.currentIndex().row()).id == chosen
    assert panel.count.text() == "1,001 tasks, 1,001 running"


def test_thousands_of_tasks_are_added_and_removed_in_place(lens: Lens) -> None:
    from PySide6.QtGui import QIcon

    model = TasksModel(lens.app.frontend.theme, lambda view: QIcon())
    for number in range(3_000):
        model.apply({f"t{number}": task_view(f"t{number}")})
    assert model.record(0).id == "t2999"
    model.apply({"t5": task_view("t5", "completed")})
    t5 = model.find(model.row_of("t5") or 0)
    assert t5 is not None
    assert t5.is_terminal
    model.apply({"t6": None})
    assert (model.rowCount(), model.row_of("t6"), model.row_of("t7")) == (2_999, None, 2_992)


def test_task_does_not_enlarge_a_low_window(lens: Lens) -> None:
    lens.window.resize(1000, 700)
    panel = open_tasks(lens, "core")
    call(lens, "ask")
    until(lens, panel, TaskStatus.INPUT_REQUIRED)
    lens.until(lambda: "Reply" in visible_text(panel.detail))
    lens.settle()
    assert lens.window.minimumSizeHint().height() <= 700
    assert lens.window.height() == 700
