"""Views of a log whose oldest rows have left memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from inspector.qt.models.traffic.columns import Column
from inspector.qt.models.traffic.console import ConsoleModel
from inspector.qt.panels.traffic.panel import TrafficPanel
from inspector.qt.panels.traffic.statistics import StatisticsView
from inspector.qt.panels.traffic.view_stack import View
from inspector.traffic.captures.recording import EarlierCapture, RecordingState
from tests.qt.panel_stage import PanelBridge, make_panel
from tests.qt.traffic.detail.detail_stage import Stage

COUNT = 400
PATH = Path("earlier.mcpcap")


@pytest.fixture
def stage() -> Stage:
    return Stage(is_live=True)


@pytest.fixture
def panel(stage: Stage, qapp: QApplication, qtbot: QtBot) -> TrafficPanel:
    for id in range(COUNT // 2):
        stage.request("tools/call", {"name": f"tool {id % 3}"}, id)
        stage.result({"content": []}, id)
    panel = make_panel(stage)
    qtbot.addWidget(panel)
    panel.resize(1200, 500)
    panel.show()
    panel.model.extend(COUNT)
    panel.model.finish()
    return panel


def drop(stage: Stage, panel: TrafficPanel, first: int) -> None:
    stage.log.request_drop(first, 0)
    stage.log.publish()
    stage.source.grew.emit(len(stage.log))
    panel.model.finish()


def bridge_of(panel: TrafficPanel) -> PanelBridge:
    bridge: QObject = panel._bridge
    assert isinstance(bridge, PanelBridge)
    return bridge


def test_dropped_rows_leave_the_table_and_the_others_stay(stage: Stage, panel: TrafficPanel) -> None:
    drop(stage, panel, 100)
    assert panel.model.rowCount() == COUNT - 100
    assert [panel.model.number(row) for row in (0, 299)] == [100, 399]
    row = stage.request("ping", id="new")
    stage.source.grew.emit(len(stage.log))
    assert panel.model.find_row(row) == COUNT - 100


def test_selected_row_and_position_in_the_table_are_kept(stage: Stage, panel: TrafficPanel) -> None:
    assert panel.choose(250)
    top = panel.model.number(panel.table.rowAt(0))
    drop(stage, panel, 100)
    assert panel.table.current_number() == 250
    assert panel.model.number(panel.table.rowAt(0)) == top
    assert not panel.table.is_following


def test_selection_is_cleared_if_its_row_is_dropped(stage: Stage, panel: TrafficPanel) -> None:
    assert panel.choose(50)
    drop(stage, panel, 100)
    assert panel.table.current_number() is None
    assert panel.current_number() is None


def test_dropped_rows_leave_a_sorted_filtered_and_paused_table(stage: Stage, panel: TrafficPanel) -> None:
    panel.table.columns.cycle_sorting(Column.NUMBER)
    panel.table.columns.cycle_sorting(Column.NUMBER)
    panel.model.finish()
    drop(stage, panel, 100)
    assert [panel.model.number(row) for row in (0, 299)] == [399, 100]
    panel.table.columns.cycle_sorting(Column.NUMBER)
    panel.filter_bar.set_text('subject:"tool 1"')
    panel.model.finish()
    drop(stage, panel, 200)
    assert panel.model.number(0) >= 200
    panel.local_actions["traffic.pause"].setChecked(True)
    drop(stage, panel, 300)
    assert panel.model.number(0) >= 300


def test_other_views_count_only_the_rows_in_memory(stage: Stage, panel: TrafficPanel) -> None:
    panel.show_view(View.TIMELINE)
    panel.show_view(View.STATISTICS)
    timeline, statistics = panel.views.timeline, panel.views.findChild(StatisticsView)
    assert timeline is not None
    assert isinstance(statistics, StatisticsView)
    for first in (0, 100):
        drop(stage, panel, first)
        for feeder in panel.views._feeders.values():
            feeder.finish()
        assert len(timeline.bars) == (COUNT - first) // 2
        stats = statistics._statistics.summary()
        assert sum(each.count for each in stats if not each.subject) == (COUNT - first) // 2
    panel.show_view(View.OPERATIONS)
    panel.model.finish()
    assert panel.model.rowCount() == (COUNT - 100) // 2
    drop(stage, panel, 200)
    assert panel.model.rowCount() == (COUNT - 200) // 2


def test_console_removes_dropped_rows(stage: Stage, panel: TrafficPanel) -> None:
    console = ConsoleModel(stage.log, "stage", panel.theme)
    stage.recorder.stderr([b"first"], 0)
    console.extend(len(stage.log))
    assert console.rowCount() == 1
    stage.recorder.stderr([b"second"], 0)
    drop(stage, panel, COUNT + 1)
    console.extend(len(stage.log))
    assert [console.record(row) for row in range(console.rowCount())] == [COUNT + 1]


def test_clearing_and_dropping_do_not_add_up(stage: Stage, panel: TrafficPanel) -> None:
    panel.local_actions["traffic.clear"].trigger()
    assert panel.model.cleared_count == COUNT
    drop(stage, panel, 100)
    assert panel.model.cleared_count == COUNT - 100
    panel.local_actions["traffic.show_cleared"].trigger()
    panel.model.finish()
    assert panel.model.number(0) == 100


def test_the_header_says_where_older_rows_are(stage: Stage, panel: TrafficPanel, qtbot: QtBot) -> None:
    assert panel.strips.text("earlier") == ""
    earlier = (EarlierCapture(PATH, 0, 200),)
    bridge_of(panel).recording_changed.emit(RecordingState(Path("now.mcpcap"), earlier=earlier))
    assert panel.strips.text("earlier") == ""  # all of them are still in memory
    drop(stage, panel, 150)
    assert (
        panel.strips.text("earlier") == "Showing the latest 250 rows. 150 older ones are in earlier captures."
    )
    with qtbot.waitSignal(panel.capture_requested) as request:
        panel._status._open_earlier.trigger()
    assert request.args == [PATH]


def test_the_header_says_that_older_rows_were_not_recorded(stage: Stage, panel: TrafficPanel) -> None:
    drop(stage, panel, 100)
    unrecorded = (
        "Showing the latest 300 rows. 100 older ones have left memory: traffic is not recorded. "
        "Turn on recording in Manage captures to store everything."
    )
    assert panel.strips.text("earlier") == unrecorded
    changed = bridge_of(panel).recording_changed
    changed.emit(RecordingState(PATH, rows=50, is_closed=True))
    assert panel.strips.text("earlier") == unrecorded
    changed.emit(RecordingState(PATH, rows=400, first=100, began=100))
    assert panel.strips.text("earlier") == "Showing the latest 300 rows. 100 were not recorded."


def test_the_header_says_that_older_rows_were_deleted(stage: Stage, panel: TrafficPanel) -> None:
    drop(stage, panel, 100)
    bridge_of(panel).recording_changed.emit(RecordingState(Path("now.mcpcap"), first=100))
    assert panel.strips.text("earlier") == (
        "Showing the latest 300 rows. 100 were deleted: captures have reached their disk limit."
    )
    panel._status._dismiss_earlier.trigger()
    assert panel.strips.text("earlier") == ""
    drop(stage, panel, 200)
    assert panel.strips.text("earlier") == ""
