"""Which rows the traffic panel shows: filter, server, events, time range, cleared rows."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QPushButton, QTextEdit

from inspector.qt.dialogs.help import ManualDialog
from inspector.qt.models.traffic.columns import Column
from inspector.traffic.records import RecordKind
from tests.qt.lens_driver import Lens, scripted, visible_text
from tests.qt.traffic.traffic_stage import chosen, column, fill, find, menu_of, numbers


def test_search_scope_and_events_keep_the_selected_row(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted("one"))
    lens.connect(scripted("two"))
    lens.call("echo", {"text": "hi"})
    lens.settle()
    number = find(lens, "tools/call")
    panel.choose(number)
    QTest.keyClicks(panel.search, "call")
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    assert column(panel, Column.MESSAGE) == ["tools/call  echo"] * 2
    assert chosen(panel) == number
    panel.scope.setCurrentIndex(1)
    assert chosen(panel) == number
    panel.search.clear()
    panel.search.settle()
    assert set(column(panel, Column.SERVER)) == {"two"}
    lens.do("traffic.events")
    assert "process" in column(panel, Column.STATUS)
    assert chosen(panel) == number
    panel.scope.setCurrentIndex(0)
    assert {"one", "two"} <= set(column(panel, Column.SERVER))
    assert chosen(panel) == number


def test_row_hidden_by_a_search_is_reselected_when_the_search_is_cleared(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.settle()
    number = find(lens, "initialize")
    panel.choose(number)
    panel.search.setText("tools/list")
    panel.search.settle()
    assert chosen(panel) is None
    panel.search.setText("no such thing")
    panel.search.settle()
    assert "No matches" in visible_text(panel)
    panel.search.setText("")
    panel.search.settle()
    assert chosen(panel) == number


def test_scope_follows_the_current_server(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted("one"))
    lens.connect(scripted("two"))
    panel.scope.setCurrentIndex(1)
    assert set(column(panel, Column.SERVER)) == {"two"}
    lens.choose("one")
    assert set(column(panel, Column.SERVER)) == {"one"}


def test_cleared_view_keeps_the_log_and_says_that_it_was_cleared(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.settle()
    panel.choose(find(lens, "initialize"))
    recorded = len(lens.records())
    lens.do("traffic.clear")
    assert panel.model.rowCount() == 0
    assert len(lens.records()) == recorded
    text = visible_text(panel)
    assert "No message selected" in text
    assert "search" not in text
    lens.call("echo", {"text": "hi"})
    lens.until(lambda: column(panel, Column.MESSAGE) == ["tools/call  echo"] * 2)


def test_rows_found_by_a_filter_are_not_counted_as_new(lens: Lens) -> None:
    panel = lens.window.traffic
    fill(lens)
    panel.table.verticalScrollBar().setValue(0)
    panel.filter_bar.set_text("kind:notification")
    assert panel.model.rowCount() > 50
    assert panel.table.new_below == 0


def test_stopped_search_says_so_and_can_be_resumed(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.settle()
    panel.model.search.stop()
    assert "Stopped after" in panel.strips.text("stopped")
    shown = panel.model.rowCount()
    lens.call("echo", {"text": "hi"})
    lens.settle()
    assert panel.model.rowCount() == shown
    buttons = [each for each in panel.findChildren(QAbstractButton) if each.text() == "Continue search"]
    buttons[0].click()
    lens.until(lambda: panel.model.rowCount() == shown + 2)
    assert panel.strips.text("stopped") == ""


def test_clearing_can_be_undone(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.settle()
    before = column(panel, Column.NUMBER)
    assert not lens.actions["traffic.show_cleared"].isEnabled()
    lens.do("traffic.clear")
    lens.until(lambda: "Show cleared messages" in visible_text(panel))
    lens.call("echo", {"text": "hi"})
    lens.until(lambda: "earlier rows cleared" in panel.strips.text("cleared"))
    lens.do("traffic.show_cleared")
    assert column(panel, Column.NUMBER)[: len(before)] == before
    assert panel.strips.text("cleared") == ""


def test_invalid_filter_is_pointed_at_and_changes_nothing(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.settle()
    panel.filter_bar.set_text("method:tools/list")
    before = column(panel, Column.NUMBER)
    panel.filter_bar.set_text("method:tools/list and dur>quick")
    error = panel.search.error
    assert error is not None
    assert error.column == len("method:tools/list and dur>")
    assert column(panel, Column.NUMBER) == before
    panel.filter_bar.set_text("method=initialize")
    assert panel.search.error is None
    assert set(column(panel, Column.MESSAGE)) == {"initialize"}


def test_filter_finds_rows_that_match_later(lens: Lens) -> None:
    panel = lens.window.traffic
    tools = lens.connect(scripted())
    panel.filter_bar.set_text("status:cancelled")
    tools.choose("waits")
    lens.do("tool.call")
    lens.until(lambda: "tools/call" in {row.method for row in lens.records()})
    assert panel.model.rowCount() == 0
    lens.do("tool.cancel")
    lens.until(lambda: column(panel, Column.STATUS) == ["cancelled"])


def test_filter_that_names_a_kind_overrides_the_events_switch(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.settle()
    panel.filter_bar.set_text("kind:process")
    assert set(column(panel, Column.STATUS)) == {"process"}
    assert not lens.actions["traffic.events"].isEnabled()
    panel.filter_bar.set_text("")
    assert lens.actions["traffic.events"].isEnabled()
    assert "process" not in column(panel, Column.STATUS)


def test_right_click_on_a_cell_filters_by_its_value_or_excludes_it(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted("one"))
    lens.connect(scripted("two"))
    lens.settle()
    menu_of(panel, find(lens, "tools/list"), Column.SERVER)["Filter by server two"].trigger()
    assert panel.search.text() == "server=two"
    assert set(column(panel, Column.SERVER)) == {"two"}
    menu_of(panel, find(lens, "tools/list"), Column.MESSAGE)["Exclude method tools/list"].trigger()
    assert panel.search.text() == "server=two and method!=tools/list"
    assert "tools/list" not in column(panel, Column.MESSAGE)
    lens.do("traffic.no_filter")
    assert {"one", "two"} == set(column(panel, Column.SERVER))


def test_size_and_duration_filters_mean_at_least(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.settle()
    number, log = find(lens, "tools/list", RecordKind.RESULT), lens.app.bridge.log
    names = menu_of(panel, number, Column.SIZE)
    next(action for text, action in names.items() if text.startswith("Filter by size")).trigger()
    assert panel.search.text() == f"size>={log.size(number)}"
    assert number in numbers(panel)
    assert all(log.size(each) >= log.size(number) for each in numbers(panel))


def test_only_this_operation_keeps_the_rows_that_belong_to_it(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.call("echo", {"text": "hi"})
    lens.settle()
    request = find(lens, "tools/call")
    lens.app.bridge.log.set_operation(request, request)
    panel.choose(request)
    lens.do("traffic.operation")
    assert panel.search.text() == f"op={request + 1}"
    assert request in numbers(panel)
    assert find(lens, "tools/list") not in numbers(panel)


def test_saved_and_recent_filters_are_restored_in_the_next_window(
    make_lens: Callable[[], Lens],
) -> None:
    first = make_lens()

    def use() -> None:
        bar = first.window.traffic.filter_bar
        bar.set_text("method:ping")
        bar.set_text("status:error")
        bar.saving_requested.emit("failures", "status:error")
        bar.set_text("")
        assert "failures" in {action.text() for action in bar.menu().actions()}

    first.play(use)
    second = make_lens()

    def inspect() -> None:
        bar = second.window.traffic.filter_bar
        second.until(lambda: "failures" in {action.text() for action in bar.menu().actions()})
        actions = {action.text(): action for action in bar.menu().actions()}
        assert {"failures", "method:ping", "status:error"} <= set(actions)
        actions["method:ping"].trigger()
        assert second.window.traffic.search.text() == "method:ping"

    second.play(inspect)


def test_hidden_counterpart_is_named_and_can_be_shown(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.settle()
    request, response = find(lens, "tools/list"), find(lens, "tools/list", RecordKind.RESULT)
    panel.filter_bar.set_text("dir:out")
    panel.choose(request)
    lens.do("traffic.partner")
    assert chosen(panel) == request
    assert f"Row {response + 1:,}" in panel.strips.text("hidden")
    buttons = [each for each in panel.findChildren(QAbstractButton) if each.text() == "Show row"]
    buttons[0].click()
    assert chosen(panel) == response
    assert panel.search.text() == ""


def test_help_explains_the_filter_syntax(lens: Lens) -> None:
    lens.window.traffic.filter_bar.help_requested.emit()
    dialog = lens.dialog(ManualDialog)
    text = dialog.findChild(QTextEdit)
    assert text is not None
    assert "method:tools/call" in text.toPlainText()
    dialog.close()


def test_abandoned_invalid_filter_is_explained_above_the_rows_and_can_be_reverted(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.settle()
    panel.filter_bar.set_text("method:tools/list")
    panel.filter_bar.set_text("method:tools/list and (status:ok")
    assert "not closed" in panel.strips.text("filter")
    assert "previous filter still applies" in panel.strips.text("filter")
    lens.press("Restore previous filter", panel)
    assert panel.search.text() == "method:tools/list"
    assert panel.strips.text("filter") == ""


def test_time_range_narrows_the_filter_until_its_chip_is_closed(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.settle()
    whole, log = panel.model.rowCount(), lens.app.bridge.log
    panel.set_range((log.wall_ns(panel.model.number(0)), log.wall_ns(panel.model.number(1))))
    assert 0 < panel.model.rowCount() < whole
    chip = next(each for each in panel.findChildren(QPushButton) if "–" in each.text())
    chip.click()
    assert panel.model.rowCount() == whole
