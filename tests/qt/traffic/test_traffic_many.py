"""A traffic table with very many selected rows."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from inspector.qt.models.traffic.columns import Column
from inspector.qt.panels.traffic import row_commands
from inspector.qt.panels.traffic.panel import TrafficPanel
from tests.qt.panel_stage import make_panel
from tests.qt.traffic.detail.detail_stage import Stage

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")

COUNT = 3_000


@pytest.fixture
def panel(qapp: QApplication, qtbot: QtBot) -> TrafficPanel:
    stage = Stage()
    for id in range(COUNT):
        stage.request("tools/call", {"name": "x" * (id % 7)}, id)
    panel = make_panel(stage)
    qtbot.addWidget(panel)
    panel.resize(1200, 500)
    panel.show()
    qtbot.waitUntil(lambda: panel.model.rowCount() == COUNT)
    return panel


def test_header_does_not_iterate_over_the_whole_selection(panel: TrafficPanel) -> None:
    panel.table.selectAll()
    assert panel.table.selected_count == COUNT
    assert not panel.table.horizontalHeader().selectionModel().hasSelection()


def test_current_row_is_kept_when_a_huge_selection_is_sorted(panel: TrafficPanel) -> None:
    panel.choose(40)
    panel.table.selectAll()
    panel.table.columns.cycle_sorting(Column.SIZE)
    panel.model.finish()
    assert panel.table.current_number() == 40
    assert panel.table.selected_numbers() == [40]


def test_too_many_rows_are_rejected_with_a_message(
    panel: TrafficPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[str] = []
    panel._bridge.problem_found.connect(reported.append)
    QGuiApplication.clipboard().setText("before")
    panel.choose(40)
    panel.table.selectAll()
    monkeypatch.setattr(row_commands, "_MAX_ROWS", COUNT - 1)
    panel.local_actions["traffic.mark"].trigger()
    assert panel.source.log.noted_rows() == []
    monkeypatch.setattr(row_commands, "_MAX_ROWS", COUNT)
    monkeypatch.setattr(row_commands, "_MAX_TEXT_SIZE", 1_000)
    panel.local_actions["traffic.copy"].trigger()
    assert QGuiApplication.clipboard().text() == "before"
    assert ["are too many" in reported[0], "Export instead" in reported[1]] == [True, True]
