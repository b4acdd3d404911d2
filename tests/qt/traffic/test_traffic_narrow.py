"""A narrow traffic panel: captures side by side, or a window on half a screen."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from inspector.qt.models.traffic.columns import Column
from inspector.qt.panels.traffic.panel import TrafficPanel
from inspector.qt.panels.traffic.view_stack import DetailSplit, View
from tests.qt.panel_stage import make_panel
from tests.qt.traffic.detail.detail_stage import Stage

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")


@pytest.fixture
def stage() -> Stage:
    """An opened capture of forty rows."""
    stage = Stage()
    for id in range(1, 21):
        stage.request("tools/call", {"name": f"tool{id}"}, id)
        stage.after(0.01).result({"content": []}, id)
        stage.after(0.2)
    return stage


@pytest.fixture
def panel(stage: Stage, qapp: QApplication, qtbot: QtBot) -> TrafficPanel:
    panel = make_panel(stage)
    qtbot.addWidget(panel)
    panel.resize(520, 420)
    panel.show()
    qtbot.waitUntil(lambda: panel.model.rowCount() == 40)
    return panel


def views_button(panel: TrafficPanel) -> QToolButton:
    return next(each for each in panel.head.findChildren(QToolButton) if each.accessibleName() == "View")


def test_opened_capture_has_no_new_rows_button_and_no_follow_buttons(panel: TrafficPanel) -> None:
    assert panel.table.new_below == 0
    bar = panel.table.verticalScrollBar()
    bar.setValue(bar.maximum())
    assert not panel.table.is_following
    buttons = {each.defaultAction(): each for each in panel.head.findChildren(QToolButton)}
    assert buttons[panel.local_actions["traffic.follow"]].isHidden()
    assert buttons[panel.local_actions["traffic.pause"]].isHidden()
    assert not buttons[panel.local_actions["traffic.clear"]].isHidden()


def test_views_are_in_a_menu_when_their_names_do_not_fit(panel: TrafficPanel) -> None:
    button = views_button(panel)
    assert button.isVisible()
    assert not panel.head.views.isVisible()
    menu = button.menu()
    assert menu is not None
    assert [action.text() for action in menu.actions()] == [
        "Messages",
        "Operations",
        "Timeline",
        "Statistics",
    ]
    menu.actions()[View.OPERATIONS].trigger()
    assert button.text() == "Operations"
    assert panel.head.views.index() == View.OPERATIONS
    panel.resize(1200, 420)
    assert panel.head.views.isVisible()
    assert not button.isVisible()
    panel.resize(520, 420)
    assert button.isVisible()


def test_rows_use_all_the_space_until_one_is_selected(panel: TrafficPanel) -> None:
    assert panel.table.width() == panel.width()
    assert not panel.table.isColumnHidden(Column.TIME)
    panel.choose(4)
    assert panel.detail.isVisible()
    assert panel.table.columnWidth(Column.MESSAGE) >= 80
    panel.local_actions["traffic.clear"].trigger()
    assert not panel.detail.isVisible()


def test_detail_is_below_the_rows_in_a_tall_panel_and_beside_them_in_a_wide_one(
    panel: TrafficPanel,
) -> None:
    split = panel.findChild(DetailSplit)
    assert split is not None
    panel.resize(520, 800)
    panel.choose(4)
    assert split.orientation() is Qt.Orientation.Vertical
    assert panel.table.width() == panel.width()
    panel.resize(1200, 800)
    assert split.orientation() is Qt.Orientation.Horizontal
    assert panel.detail.width() > 300


def test_detail_size_set_by_the_user_survives_a_layout_change(qtbot: QtBot) -> None:
    rows, detail = QWidget(), QWidget()
    split = DetailSplit(rows, detail)
    qtbot.addWidget(split)
    split.resize(1000, 600)
    split.show()
    split.set_has_row(True)
    split.moveSplitter(300, 1)
    before = rows.width()
    assert abs(before - 300) < 10
    split.resize(500, 600)
    assert split.orientation() is Qt.Orientation.Vertical
    split.resize(1000, 600)
    assert abs(rows.width() - before) < 10
