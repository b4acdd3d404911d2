"""Commands for rows of the traffic panel: mark, comment, color, copy, compare, resend."""

from __future__ import annotations

from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog

from inspector.qt.dialogs.traffic.color_rules import ColorRulesDialog
from inspector.qt.models.traffic.columns import Column
from inspector.qt.widgets.inputs.popups import NotePopup
from inspector.traffic.records import RecordKind
from tests.qt.lens_driver import Lens, scripted
from tests.qt.traffic.traffic_stage import chosen, fill, find, numbers


def test_marks_are_set_by_click_or_key_and_can_be_stepped_through(lens: Lens) -> None:
    panel, log = lens.window.traffic, lens.app.bridge.log
    lens.connect(scripted())
    lens.settle()
    first, last = panel.model.number(0), panel.model.number(panel.model.rowCount() - 1)
    cell = panel.table.visualRect(panel.model.index(0, Column.MARK))
    QTest.mouseClick(panel.table.viewport(), Qt.MouseButton.LeftButton, pos=cell.center())
    assert log.note(first).is_marked
    panel.choose(last)
    panel.table.setFocus()
    QTest.keyClick(panel.table, Qt.Key.Key_M)
    assert log.noted_rows() == [first, last]
    lens.do("traffic.next_mark")
    assert chosen(panel) == first, "wraps around"
    lens.do("traffic.previous_mark")
    assert chosen(panel) == last
    lens.do("traffic.mark")
    assert log.noted_rows() == [first]


def test_comment_is_written_in_a_small_window_and_shown_with_the_row(lens: Lens) -> None:
    panel, log = lens.window.traffic, lens.app.bridge.log
    lens.connect(scripted())
    lens.settle()
    number = find(lens, "tools/list")
    panel.choose(number)
    lens.do("traffic.comment")
    popup = lens.window.findChild(NotePopup)
    assert popup is not None
    QTest.keyClicks(popup.line, "look <b>here</b>")
    QTest.keyClick(popup.line, Qt.Key.Key_Return)
    assert log.note(number).comment == "look <b>here</b>"
    row = panel.model.find_row(number)
    assert row is not None
    assert panel.model.index(row, Column.COMMENT).data() == "look <b>here</b>"
    assert "&lt;b&gt;" in panel.model.index(row, Column.MESSAGE).data(Qt.ItemDataRole.ToolTipRole)
    panel.filter_bar.set_text("comment:here")
    assert numbers(panel) == [number]


def test_failed_rows_are_tinted_and_the_rules_can_be_changed(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.call("fails")
    lens.settle()
    number = find(lens, "tools/call")
    row = panel.model.find_row(number)
    assert row is not None
    background = Qt.ItemDataRole.BackgroundRole
    assert panel.model.index(row, Column.MESSAGE).data(background) is not None
    assert panel.model.index(0, Column.MESSAGE).data(background) is None
    lens.do("traffic.colors")
    dialog = lens.dialog(ColorRulesDialog)
    for line in dialog.lines:
        line.on.setChecked(False)
    assert panel.model.index(row, Column.MESSAGE).data(background) is None
    dialog.add_rule()
    dialog.lines[-1].field.setText("method:initialize")
    dialog.lines[-1].field.settle()
    assert panel.model.index(0, Column.MESSAGE).data(background) is not None
    dialog.close()


def test_two_selected_rows_can_be_compared_and_our_own_request_resent(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.settle()
    request, response = find(lens, "tools/list"), find(lens, "tools/list", RecordKind.RESULT)
    resent: list[int] = []
    compared: list[list[int]] = []
    panel.resend_requested.connect(resent.append)
    panel.compare_requested.connect(compared.append)
    panel.choose(response)
    assert not lens.actions["traffic.resend"].isEnabled()
    panel.choose(request)
    lens.do("traffic.resend")
    assert not lens.actions["traffic.compare"].isEnabled()
    position = panel.model.find_row(response)
    assert position is not None
    flags = QItemSelectionModel.SelectionFlag
    panel.table.selectionModel().select(panel.model.index(position, 0), flags.Select | flags.Rows)
    lens.do("traffic.compare")
    assert (resent, compared) == ([request], [[request, response]])
    for dialog in lens.dialogs(QDialog):
        dialog.close()


def test_copy_shortcut_copies_the_selected_message_verbatim(lens: Lens) -> None:
    panel = lens.window.traffic
    fill(lens)
    number = find(lens, "tools/call", RecordKind.REQUEST)
    panel.choose(number)
    panel.table.setFocus()
    QTest.keySequence(panel.table, QKeySequence(QKeySequence.StandardKey.Copy))
    assert QGuiApplication.clipboard().text() == lens.app.bridge.log.raw(number).decode()
