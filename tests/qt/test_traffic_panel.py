"""The traffic table, live: order, following, choosing, searching, and the detail of a row."""

from __future__ import annotations

import json
from collections.abc import Callable

from PySide6.QtCore import QItemSelectionModel, QPoint, QSettings, Qt
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QDialog, QPushButton, QTextEdit

from inspector.qt.dialogs.colourrules import ColourRulesDialog
from inspector.qt.dialogs.text import ManualDialog
from inspector.qt.models.traffic import Column
from inspector.qt.panels.traffic.panel import TrafficPanel
from inspector.qt.panels.traffic.rowmenu import make_menu, terms_of
from inspector.qt.widgets.notepopup import NotePopup
from inspector.traffic.records import RecordKind
from tests.qt.lens_driver import Lens, faulty, scripted, words_on


def column(panel: TrafficPanel, which: Column) -> list[object]:
    return [panel.model.index(row, which).data() for row in range(panel.model.rowCount())]


def fill(lens: Lens, count: int = 60) -> None:
    """Enough rows that the table must scroll."""
    lens.connect(faulty("chatty"))
    lens.call("floods", {"count": count})
    lens.until(lambda: lens.window.traffic.model.rowCount() > count)


def at_end(panel: TrafficPanel) -> bool:
    bar = panel.table.verticalScrollBar()
    return bar.maximum() > 0 and bar.value() == bar.maximum()


def find(lens: Lens, method: str, kind: RecordKind = RecordKind.REQUEST) -> int:
    """The newest row of a kind, as the log numbers it."""
    return next(row.number for row in reversed(lens.records()) if (row.method, row.kind) == (method, kind))


def chosen(panel: TrafficPanel) -> int | None:
    index = panel.table.currentIndex()
    return panel.model.number(index.row()) if index.isValid() else None


def numbers(panel: TrafficPanel) -> list[int]:
    return [panel.model.number(row) for row in range(panel.model.rowCount())]


def menu_of(panel: TrafficPanel, number: int, column: Column) -> dict[str, QAction]:
    """What a right click on a cell offers, by its words."""
    row = panel.model.find_row(number)
    assert row is not None
    terms = terms_of(panel.source.log, number, column)
    menu = make_menu(panel, terms, panel.actions_here, panel._narrow)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    return {action.text(): action for action in menu.actions()}


# ------------------------------------------------------------------ rows


def test_rows_arrive_live_in_the_order_of_the_wire(lens: Lens) -> None:
    panel = lens.window.traffic
    assert "No traffic yet" in words_on(panel)
    lens.connect(scripted())
    lens.until(lambda: panel.model.rowCount() == 5)
    assert column(panel, Column.MESSAGE) == [
        *("initialize", "initialize", "notifications/initialized", "tools/list", "tools/list")
    ]
    numbers = [int(str(number)) for number in column(panel, Column.NUMBER)]
    assert numbers == sorted(numbers)
    assert "5 messages" in words_on(panel)


def test_call_waits_until_its_answer_comes(lens: Lens) -> None:
    panel = lens.window.traffic
    tools = lens.connect(scripted())
    tools.choose("waits")
    lens.do("tool.call")
    lens.until(lambda: column(panel, Column.STATUS)[-1:] == ["waiting"])
    panel.choose(find(lens, "tools/call"))
    assert "waiting" in words_on(panel.detail)
    lens.do("tool.cancel")
    lens.until(lambda: "given up" in words_on(panel.detail))
    lens.call("echo", {"text": "hi"})
    lens.until(lambda: column(panel, Column.STATUS)[-2:] == ["ok", "ok"])
    assert str(column(panel, Column.DURATION)[-2]).endswith("s")
    assert column(panel, Column.MESSAGE)[-1] == "tools/call  echo"


def test_wrong_answers_are_shown_with_their_problem_in_words(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(faulty("confused"))
    lens.call("unknown-id")
    lens.until(lambda: "problem" in column(panel, Column.STATUS))
    panel.choose(panel.model.number(column(panel, Column.STATUS).index("problem")))
    assert "never-used" in words_on(panel.detail)


# ------------------------------------------------------------------ following


def test_table_follows_until_the_person_scrolls_away_and_again_when_they_return(lens: Lens) -> None:
    panel = lens.window.traffic
    fill(lens)
    lens.until(lambda: at_end(panel))
    panel.table.verticalScrollBar().setValue(0)
    assert not lens.actions["traffic.follow"].isChecked()
    rows = panel.model.rowCount()
    lens.call("echo", {"text": "hi"})
    lens.until(lambda: panel.model.rowCount() > rows)
    assert panel.table.verticalScrollBar().value() == 0
    bar = panel.table.verticalScrollBar()
    bar.setValue(bar.maximum())
    assert lens.actions["traffic.follow"].isChecked()
    lens.call("echo", {"text": "hi"})
    lens.settle()
    assert at_end(panel)
    bar.setValue(0)
    lens.do("traffic.follow")
    assert at_end(panel), "the command leads back to the end, too"


def test_choosing_a_row_far_from_the_end_stops_following(lens: Lens) -> None:
    panel = lens.window.traffic
    fill(lens)
    first = panel.model.number(0)
    assert panel.choose(first)
    lens.call("echo", {"text": "hi"})
    lens.settle()
    assert chosen(panel) == first
    assert panel.table.verticalScrollBar().value() == 0


# ------------------------------------------------------------------ which rows


def test_search_scope_and_events_keep_the_chosen_row(lens: Lens) -> None:
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


def test_row_hidden_by_a_search_is_chosen_again_when_the_search_is_cleared(lens: Lens) -> None:
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
    assert "Nothing fits" in words_on(panel)
    panel.search.setText("")
    panel.search.settle()
    assert chosen(panel) == number


def test_scope_follows_the_server_in_front(lens: Lens) -> None:
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
    words = words_on(panel)
    assert "No message chosen" in words
    assert "search" not in words
    lens.call("echo", {"text": "hi"})
    lens.until(lambda: column(panel, Column.MESSAGE) == ["tools/call  echo"] * 2)


# ------------------------------------------------------------------ detail


def test_detail_shows_the_message_readable_as_it_came_and_byte_by_byte(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.call("echo", {"text": "héllo"})
    lens.settle()
    number = find(lens, "tools/call")
    panel.choose(number)
    raw = lens.app.bridge.log.raw(number)
    lens.until(lambda: panel.detail.message.shown_text())
    assert json.loads(panel.detail.message.shown_text()) == json.loads(raw)
    assert '\n  "method": "tools/call"' in panel.detail.message.shown_text()
    assert panel.detail.text.shown_text() == raw.decode()
    assert "7b 22" in panel.detail.bytes.shown_text()
    facts = {fact.label: fact.value for fact in panel.detail.facts.facts}
    assert facts["Server"] == "scripted"
    assert f"{len(raw)} bytes" in facts["Size"]
    assert "Duration" in facts


def test_partner_command_goes_from_request_to_answer_and_back(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.settle()
    request, answer = find(lens, "tools/list"), find(lens, "tools/list", RecordKind.RESULT)
    panel.choose(request)
    lens.do("traffic.partner")
    assert chosen(panel) == answer
    assert f"row {request + 1:,}" in panel.detail.facts.as_text()
    lens.do("traffic.partner")
    assert chosen(panel) == request


def test_message_that_is_no_json_is_shown_as_it_came(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted(stray=["*** My Server 1.0 ***"]))
    lens.until(lambda: "stray" in column(panel, Column.STATUS))
    panel.choose(panel.model.number(column(panel, Column.STATUS).index("stray")))
    lens.until(lambda: panel.detail.message.shown_text() == "*** My Server 1.0 ***")


def test_fast_walk_through_rows_ends_at_the_last_one(lens: Lens) -> None:
    panel = lens.window.traffic
    fill(lens)
    lens.call("long-line", {"megabytes": 1})
    lens.settle()
    panel.table.setFocus()
    panel.choose(find(lens, "tools/call", RecordKind.RESULT))
    for _ in range(5):
        QTest.keyClick(panel.table, Qt.Key.Key_Up)
    number = chosen(panel)
    assert number is not None
    raw = lens.app.bridge.log.raw(number)
    lens.until(lambda: panel.detail.message.shown_text())
    assert json.loads(panel.detail.message.shown_text()) == json.loads(raw)


def test_a_narrow_table_gives_up_columns_before_the_message(lens: Lens) -> None:
    panel = lens.window.traffic
    fill(lens)
    lens.window.resize(1000, 700)
    lens.until(lambda: panel.table.isColumnHidden(Column.ID))
    assert panel.table.isColumnHidden(Column.SERVER)
    assert panel.table.columnWidth(Column.MESSAGE) >= 150
    lens.window.resize(1800, 900)
    lens.until(lambda: not panel.table.isColumnHidden(Column.ID))
    assert not panel.table.isColumnHidden(Column.SERVER)


def test_column_that_was_put_in_by_hand_stays_in_a_narrow_table_and_in_the_next_window(
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

    def look() -> None:
        table = second.window.traffic.table
        second.connect(scripted())  # with rows, the table is there and has its width
        second.until(lambda: table.isColumnHidden(Column.SIZE))
        assert not table.isColumnHidden(Column.ID)
        assert not table.isColumnHidden(Column.REVISION)
        assert table.isColumnHidden(Column.TIME)
        assert table.horizontalHeader().visualIndex(Column.STATUS) == 0
        assert table.columnWidth(Column.STATUS) == 123
        table.columns.reset()
        assert not table.isColumnHidden(Column.TIME)
        assert table.horizontalHeader().visualIndex(Column.STATUS) == Column.STATUS

    second.play(look)


def test_layout_of_columns_that_is_rubbish_does_no_harm(make_lens: Callable[[], Lens]) -> None:
    folder = make_lens().folder
    rubbish = json.dumps({"order": ["NONE", 7], "shown": {"X": 1}, "widths": {"TIME": -5, "ID": "wide"}})
    settings = QSettings(str(folder / "layout.ini"), QSettings.Format.IniFormat)
    settings.setValue("traffic/columns", rubbish)
    settings.sync()
    lens = make_lens()

    def look() -> None:
        assert lens.window.traffic.table.columnWidth(Column.TIME) == 104

    lens.play(look)


def test_click_on_a_head_sorts_up_then_down_then_as_they_came(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.call("echo", {"text": "hi"})
    lens.settle()
    arrival = column(panel, Column.NUMBER)
    header = panel.table.horizontalHeader()
    place = QPoint(header.sectionViewportPosition(Column.MESSAGE) + 20, 8)
    up = sorted(map(str, column(panel, Column.MESSAGE)))
    for expected in (up, up[::-1]):
        QTest.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=place)
        assert column(panel, Column.MESSAGE) == expected
    QTest.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert column(panel, Column.NUMBER) == arrival


def test_chosen_rows_stay_chosen_when_the_table_is_sorted(lens: Lens) -> None:
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


# ------------------------------------------------------------------ new below, pause, clear


def test_pill_counts_what_comes_below_and_leads_there(lens: Lens) -> None:
    panel = lens.window.traffic
    fill(lens)
    panel.table.verticalScrollBar().setValue(0)
    assert "new below" not in words_on(panel.table)
    lens.call("echo", {"text": "hi"})
    lens.until(lambda: panel.table.new_below == 2)
    pill = next(each for each in panel.table.findChildren(QPushButton) if "2 new below" in each.text())
    QTest.mouseClick(pill, Qt.MouseButton.LeftButton)
    assert at_end(panel)
    assert panel.table.new_below == 0
    assert lens.actions["traffic.follow"].isChecked()


def test_rows_that_a_filter_finds_are_not_told_as_new(lens: Lens) -> None:
    panel = lens.window.traffic
    fill(lens)
    panel.table.verticalScrollBar().setValue(0)
    panel.filter_bar.set_text("kind:notification")
    assert panel.model.rowCount() > 50
    assert panel.table.new_below == 0


def test_stopped_search_says_so_and_can_go_on(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.settle()
    panel.model.search.stop()
    assert "Stopped after" in panel.strips.text("stopped")
    shown = panel.model.rowCount()
    lens.call("echo", {"text": "hi"})
    lens.settle()
    assert panel.model.rowCount() == shown
    buttons = [each for each in panel.findChildren(QAbstractButton) if each.text() == "Look on"]
    buttons[0].click()
    lens.until(lambda: panel.model.rowCount() == shown + 2)
    assert panel.strips.text("stopped") == ""


def test_pause_lets_the_table_stand_still_and_says_how_much_is_new(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.settle()
    lens.do("traffic.pause")
    shown = panel.model.rowCount()
    lens.call("echo", {"text": "hi"})
    lens.until(lambda: "Paused, 2 new" in panel.strips.text("pause"))
    assert panel.model.rowCount() == shown
    assert lens.actions["traffic.pause"].text() == "Resume"
    lens.do("traffic.pause")
    assert panel.model.rowCount() == shown + 2
    assert panel.strips.text("pause") == ""


def test_clearing_can_be_taken_back(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.settle()
    before = column(panel, Column.NUMBER)
    assert not lens.actions["traffic.show_cleared"].isEnabled()
    lens.do("traffic.clear")
    lens.until(lambda: "Show cleared" in words_on(panel))
    lens.call("echo", {"text": "hi"})
    lens.until(lambda: "earlier rows cleared" in panel.strips.text("cleared"))
    lens.do("traffic.show_cleared")
    assert column(panel, Column.NUMBER)[: len(before)] == before
    assert panel.strips.text("cleared") == ""


# ------------------------------------------------------------------ the filter


def test_wrong_filter_is_pointed_at_and_changes_nothing(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.settle()
    panel.filter_bar.set_text("method:tools/list")
    before = column(panel, Column.NUMBER)
    panel.filter_bar.set_text("method:tools/list and dur>quick")
    complaint = panel.search.complaint
    assert complaint is not None
    assert complaint.column == len("method:tools/list and dur>")
    assert column(panel, Column.NUMBER) == before
    panel.filter_bar.set_text("method=initialize")
    assert panel.search.complaint is None
    assert set(column(panel, Column.MESSAGE)) == {"initialize"}


def test_filter_finds_rows_that_come_to_fit_later(lens: Lens) -> None:
    panel = lens.window.traffic
    tools = lens.connect(scripted())
    panel.filter_bar.set_text('status="given up"')
    tools.choose("waits")
    lens.do("tool.call")
    lens.until(lambda: "tools/call" in {row.method for row in lens.records()})
    assert panel.model.rowCount() == 0
    lens.do("tool.cancel")
    lens.until(lambda: column(panel, Column.STATUS) == ["given up"])


def test_filter_that_names_a_kind_decides_about_events_itself(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.settle()
    panel.filter_bar.set_text("kind:process")
    assert set(column(panel, Column.STATUS)) == {"process"}
    assert not lens.actions["traffic.events"].isEnabled()
    panel.filter_bar.set_text("")
    assert lens.actions["traffic.events"].isEnabled()
    assert "process" not in column(panel, Column.STATUS)


def test_range_of_time_narrows_the_filter_until_its_chip_is_closed(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.settle()
    whole, log = panel.model.rowCount(), lens.app.bridge.log
    panel.set_range((log.wall_ns(panel.model.number(0)), log.wall_ns(panel.model.number(1))))
    assert 0 < panel.model.rowCount() < whole
    chip = next(each for each in panel.findChildren(QPushButton) if "–" in each.text())
    chip.click()
    assert panel.model.rowCount() == whole


def test_right_click_on_a_cell_filters_on_its_value_or_leaves_it_out(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted("one"))
    lens.connect(scripted("two"))
    lens.settle()
    menu_of(panel, find(lens, "tools/list"), Column.SERVER)["Filter on server two"].trigger()
    assert panel.search.text() == "server=two"
    assert set(column(panel, Column.SERVER)) == {"two"}
    menu_of(panel, find(lens, "tools/list"), Column.MESSAGE)["Exclude method tools/list"].trigger()
    assert panel.search.text() == "server=two and method!=tools/list"
    assert "tools/list" not in column(panel, Column.MESSAGE)
    lens.do("traffic.no_filter")
    assert {"one", "two"} == set(column(panel, Column.SERVER))


def test_size_and_duration_are_filtered_on_from_there_up(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.settle()
    number, log = find(lens, "tools/list", RecordKind.RESULT), lens.app.bridge.log
    names = menu_of(panel, number, Column.SIZE)
    next(action for words, action in names.items() if words.startswith("Filter on size")).trigger()
    assert panel.search.text() == f"size>={log.size(number)}"
    assert number in numbers(panel)
    assert all(log.size(each) >= log.size(number) for each in numbers(panel))


def test_only_this_operation_leaves_what_belongs_to_it(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.call("echo", {"text": "hi"})
    lens.settle()
    request = find(lens, "tools/call")
    lens.app.bridge.log.belongs_to(request, request)
    panel.choose(request)
    lens.do("traffic.operation")
    assert panel.search.text() == f"op={request + 1}"
    assert request in numbers(panel)
    assert find(lens, "tools/list") not in numbers(panel)


def test_saved_filters_and_those_used_lately_come_back_in_the_next_window(
    make_lens: Callable[[], Lens],
) -> None:
    first = make_lens()

    def use() -> None:
        bar = first.window.traffic.filter_bar
        bar.set_text("method:ping")
        bar.set_text("status:error")
        bar.saving_requested.emit("went wrong", "status:error")
        bar.set_text("")
        assert "went wrong" in {action.text() for action in bar.menu().actions()}

    first.play(use)
    second = make_lens()

    def look() -> None:
        bar = second.window.traffic.filter_bar
        actions = {action.text(): action for action in bar.menu().actions()}
        assert {"went wrong", "method:ping", "status:error"} <= set(actions)
        actions["method:ping"].trigger()
        assert second.window.traffic.search.text() == "method:ping"

    second.play(look)


def test_hidden_partner_is_named_and_can_be_shown(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.settle()
    request, answer = find(lens, "tools/list"), find(lens, "tools/list", RecordKind.RESULT)
    panel.filter_bar.set_text("dir:out")
    panel.choose(request)
    lens.do("traffic.partner")
    assert chosen(panel) == request
    assert f"Row {answer + 1:,}" in panel.strips.text("hidden")
    buttons = [each for each in panel.findChildren(QAbstractButton) if each.text() == "Show it"]
    buttons[0].click()
    assert chosen(panel) == answer
    assert panel.search.text() == ""


# ------------------------------------------------------------------ marks, comments, colours


def test_marks_are_set_with_a_click_or_a_key_and_led_through(lens: Lens) -> None:
    panel, log = lens.window.traffic, lens.app.bridge.log
    lens.connect(scripted())
    lens.settle()
    first, last = panel.model.number(0), panel.model.number(panel.model.rowCount() - 1)
    cell = panel.table.visualRect(panel.model.index(0, Column.MARK))
    QTest.mouseClick(panel.table.viewport(), Qt.MouseButton.LeftButton, pos=cell.center())
    assert log.remark(first).is_marked
    panel.choose(last)
    panel.table.setFocus()
    QTest.keyClick(panel.table, Qt.Key.Key_M)
    assert log.remarked() == [first, last]
    lens.do("traffic.next_mark")
    assert chosen(panel) == first, "round the end"
    lens.do("traffic.previous_mark")
    assert chosen(panel) == last
    lens.do("traffic.mark")
    assert log.remarked() == [first]


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
    assert log.remark(number).comment == "look <b>here</b>"
    row = panel.model.find_row(number)
    assert row is not None
    assert panel.model.index(row, Column.COMMENT).data() == "look <b>here</b>"
    assert "&lt;b&gt;" in panel.model.index(row, Column.MESSAGE).data(Qt.ItemDataRole.ToolTipRole)
    panel.filter_bar.set_text("comment:here")
    assert numbers(panel) == [number]


def test_rows_that_went_wrong_are_tinted_and_rules_can_be_changed(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.call("fails")
    lens.settle()
    number = find(lens, "tools/call")
    row = panel.model.find_row(number)
    assert row is not None
    ground = Qt.ItemDataRole.BackgroundRole
    assert panel.model.index(row, Column.MESSAGE).data(ground) is not None
    assert panel.model.index(0, Column.MESSAGE).data(ground) is None
    lens.do("traffic.colours")
    dialog = lens.dialog(ColourRulesDialog)
    for line in dialog.lines:
        line.on.setChecked(False)
    assert panel.model.index(row, Column.MESSAGE).data(ground) is None
    dialog.add_rule()
    dialog.lines[-1].field.setText("method:initialize")
    dialog.lines[-1].field.settle()
    assert panel.model.index(0, Column.MESSAGE).data(ground) is not None
    dialog.close()


def test_two_chosen_rows_can_be_compared_and_a_request_of_ours_sent_again(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.settle()
    request, answer = find(lens, "tools/list"), find(lens, "tools/list", RecordKind.RESULT)
    resent: list[int] = []
    compared: list[list[int]] = []
    panel.resend_requested.connect(resent.append)
    panel.compare_requested.connect(compared.append)
    panel.choose(answer)
    assert not lens.actions["traffic.resend"].isEnabled()
    panel.choose(request)
    lens.do("traffic.resend")
    assert not lens.actions["traffic.compare"].isEnabled()
    place = panel.model.find_row(answer)
    assert place is not None
    flags = QItemSelectionModel.SelectionFlag
    panel.table.selectionModel().select(panel.model.index(place, 0), flags.Select | flags.Rows)
    lens.do("traffic.compare")
    assert (resent, compared) == ([request], [[request, answer]])
    for dialog in lens.dialogs(QDialog):
        dialog.close()


def test_timeline_and_statistics_show_what_fits(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.call("echo", {"text": "hi"})
    lens.settle()
    for command in ("traffic.timeline", "traffic.statistics"):
        lens.do(command)
        assert not panel.views.is_table
        assert lens.actions[command].isChecked()
    panel.filter_bar.set_text("tool:echo")
    lens.do("traffic.timeline")
    panel.choose(find(lens, "tools/call"))
    lens.do("traffic.frames")
    assert panel.views.is_table
    assert set(column(panel, Column.MESSAGE)) == {"tools/call  echo"}


def test_operations_are_listed_instead_of_frames(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.settle()
    request, log = find(lens, "tools/list"), lens.app.bridge.log
    log.belongs_to(request, request)
    lens.do("traffic.operations")
    assert request in numbers(panel)
    assert all(log.operation(number) == number for number in numbers(panel))
    assert panel.head.views.index() == 1
    assert not panel.table.isColumnHidden(Column.ROUNDS)
    lens.do("traffic.frames")
    assert panel.table.isColumnHidden(Column.ROUNDS)


def test_help_shows_how_filters_are_written(lens: Lens) -> None:
    lens.window.traffic.filter_bar.help_requested.emit()
    dialog = lens.dialog(ManualDialog)
    text = dialog.findChild(QTextEdit)
    assert text is not None
    assert "method:tools/call" in text.toPlainText()
    dialog.close()


def test_the_copy_keys_copy_the_chosen_message_as_it_came(lens: Lens) -> None:
    panel = lens.window.traffic
    fill(lens)
    number = find(lens, "tools/call", RecordKind.REQUEST)
    panel.choose(number)
    panel.table.setFocus()
    QTest.keySequence(panel.table, QKeySequence(QKeySequence.StandardKey.Copy))
    assert QGuiApplication.clipboard().text() == lens.app.bridge.log.raw(number).decode()
