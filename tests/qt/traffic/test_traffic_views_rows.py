"""The current row, whichever view selected it; an operation leads to all its rows."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from inspector.qt.panels.traffic.detail.detail_view import Tab
from inspector.qt.panels.traffic.view_stack import View
from inspector.traffic.records import RecordKind
from tests.qt.lens_driver import Lens, scripted
from tests.qt.traffic.traffic_stage import chosen, find, numbers


def test_commands_apply_to_the_row_selected_in_the_timeline(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.call("echo", {"text": "hi"})
    lens.settle()
    panel.choose(find(lens, "initialize"))
    lens.do("traffic.timeline")
    call = find(lens, "tools/call")
    panel.views.row_chosen.emit(call)
    resent: list[int] = []
    panel.resend_requested.connect(resent.append)
    lens.window.traffic_commands.open_resend = lambda *about: None  # type: ignore[method-assign]
    lens.do("traffic.resend")
    lens.do("traffic.mark")
    assert resent == [call]
    assert lens.app.bridge.log.noted_rows() == [call]
    lens.do("traffic.frames")
    assert chosen(panel) == call


def test_operation_shows_all_its_rows_and_a_step_opens_in_place(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.call("echo", {"text": "hi"})
    lens.settle()
    request, response = find(lens, "tools/call"), find(lens, "tools/call", RecordKind.RESULT)
    panel.choose(response)
    assert panel.detail.tabs.currentIndex() == Tab.MESSAGE
    lens.do("traffic.operations")
    assert chosen(panel) == request, "the operation that the response belongs to"
    assert panel.detail.tabs.currentIndex() == Tab.RELATED
    steps = panel.detail.related.model
    assert {request, response} <= {steps.number(row) for row in range(steps.rowCount())}
    panel.detail.related.row_requested.emit(response)
    assert panel.detail.number == response
    assert chosen(panel) == request
    assert panel.strips.text("hidden") == ""
    lens.do("traffic.partner")
    assert panel.detail.number == request
    lens.do("traffic.frames")
    assert panel.detail.tabs.currentIndex() == Tab.MESSAGE


def test_enter_on_an_operation_filters_to_its_rows(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.call("echo", {"text": "hi"})
    lens.settle()
    lens.do("traffic.operations")
    request = find(lens, "tools/call")
    panel.choose(request)
    panel.table.setFocus()
    QTest.keyClick(panel.table, Qt.Key.Key_Return)
    assert panel.head.views.index() == View.MESSAGES
    assert numbers(panel) == [request, find(lens, "tools/call", RecordKind.RESULT)]
