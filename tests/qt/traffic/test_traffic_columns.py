"""Columns of the traffic table: visibility, width and sorting, also in a narrow panel."""

from __future__ import annotations

import json
from collections.abc import Callable

from PySide6.QtCore import QItemSelectionModel, QPoint, QSettings, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from inspector.qt.models.traffic.columns import Column
from tests.qt.lens_driver import Lens, scripted
from tests.qt.traffic.traffic_stage import at_end, chosen, column, fill


def test_narrow_table_hides_other_columns_before_the_message(lens: Lens) -> None:
    panel = lens.window.traffic
    fill(lens)
    lens.window.resize(1000, 700)
    lens.until(lambda: panel.table.isColumnHidden(Column.ID))
    assert panel.table.isColumnHidden(Column.SERVER)
    assert panel.table.columnWidth(Column.MESSAGE) >= 150
    lens.window.resize(1800, 900)
    lens.until(lambda: not panel.table.isColumnHidden(Column.ID))
    assert not panel.table.isColumnHidden(Column.SERVER)


def test_manually_added_column_stays_in_a_narrow_table_and_in_the_next_window(
    make_lens: Callable[[], Lens],
) -> None:
    first = make_lens()

    def choose() -> None:
        columns = first.window.traffic.table.columns
        columns.set_shown(Column.ID, True)
        columns.set_shown(Column.REVISION, True)
        columns.set_shown(Column.TIME, False)
        header = first.window.traffic.table.horizontalHeader()
        header.moveSection(header.visualIndex(Column.STATUS), 0)
        header.resizeSection(Column.STATUS, 123)
        first.window.resize(700, 700)
        first.settle()

    first.play(choose)
    second = make_lens()

    def inspect() -> None:
        table = second.window.traffic.table
        second.connect(scripted())  # with rows, the table is shown and has its width
        second.until(lambda: table.isColumnHidden(Column.NUMBER))
        assert not table.isColumnHidden(Column.ID)
        assert not table.isColumnHidden(Column.REVISION)
        assert table.isColumnHidden(Column.TIME)
        assert table.horizontalHeader().visualIndex(Column.STATUS) == 0
        assert table.columnWidth(Column.STATUS) == 123
        table.columns.reset()
        assert not table.isColumnHidden(Column.TIME)
        assert table.horizontalHeader().visualIndex(Column.STATUS) == Column.STATUS

    second.play(inspect)


def test_corrupt_column_layout_is_harmless(make_lens: Callable[[], Lens]) -> None:
    folder = make_lens().folder
    corrupt = json.dumps({"order": ["NONE", 7], "shown": {"X": 1}, "widths": {"TIME": -5, "ID": "wide"}})
    settings = QSettings(str(folder / "layout.ini"), QSettings.Format.IniFormat)
    settings.setValue("traffic/columns", corrupt)
    settings.sync()
    lens = make_lens()

    def inspect() -> None:
        assert lens.window.traffic.table.columnWidth(Column.TIME) == 104

    lens.play(inspect)


def test_clicking_a_header_sorts_ascending_then_descending_then_by_arrival(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.call("echo", {"text": "hi"})
    lens.settle()
    arrival = column(panel, Column.NUMBER)
    header = panel.table.horizontalHeader()
    position = QPoint(header.sectionViewportPosition(Column.MESSAGE) + 20, 8)
    up = sorted(map(str, column(panel, Column.MESSAGE)))
    for expected in (up, up[::-1]):
        QTest.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=position)
        assert column(panel, Column.MESSAGE) == expected
    QTest.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=position)
    assert column(panel, Column.NUMBER) == arrival


def test_selected_rows_stay_selected_when_the_table_is_sorted(lens: Lens) -> None:
    panel = lens.window.traffic
    fill(lens)
    first, second = panel.model.number(1), panel.model.number(4)
    panel.choose(first)
    flags = QItemSelectionModel.SelectionFlag
    panel.table.selectionModel().select(panel.model.index(4, 0), flags.Select | flags.Rows)
    for _ in range(3):
        panel.table.columns.cycle_sorting(Column.SIZE)
        assert (chosen(panel), panel.table.selected_numbers()) == (first, [first, second])
        assert panel.detail.number == first


def test_columns_and_order_are_chosen_without_the_mouse(lens: Lens) -> None:
    panel = lens.window.traffic
    fill(lens)
    lens.do("traffic.statistics")
    lens.do("traffic.columns")
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    assert panel.views.is_table
    actions = {action.text(): action for action in menu.actions()}
    actions["Protocol version"].trigger()
    assert not panel.table.isColumnHidden(Column.REVISION)
    sorting = actions["Sort by"].menu()
    assert isinstance(sorting, QMenu)
    next(action for action in sorting.actions() if action.text() == "Size").trigger()
    assert panel.model.sorted_by == (Column.SIZE, False)
    menu.close()


def test_focusing_the_table_with_the_keyboard_selects_a_visible_row(lens: Lens) -> None:
    panel = lens.window.traffic
    fill(lens)
    lens.until(lambda: at_end(panel))
    panel.search.setFocus()
    panel.table.setFocus(Qt.FocusReason.OtherFocusReason)
    assert chosen(panel) is None, "a row is selected only on keyboard focus"
    panel.search.setFocus()
    panel.table.setFocus(Qt.FocusReason.TabFocusReason)
    assert chosen(panel) == panel.model.number(panel.model.rowCount() - 1)
    assert panel.table.selected_numbers() == [chosen(panel)]
