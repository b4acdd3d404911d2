"""The live traffic table: order, following, selection, and the detail of a row."""

from __future__ import annotations

import json

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from inspector.qt.models.traffic.columns import Column
from inspector.traffic.records import RecordKind
from tests.qt.lens_driver import Lens, faulty, scripted, visible_text
from tests.qt.traffic.traffic_stage import at_end, chosen, column, fill, find, numbers


def test_rows_arrive_live_in_wire_order(lens: Lens) -> None:
    panel = lens.window.traffic
    assert "No traffic yet" in visible_text(panel)
    lens.connect(scripted())
    lens.until(lambda: panel.model.rowCount() == 5)
    assert column(panel, Column.MESSAGE) == [
        *("initialize", "initialize", "notifications/initialized", "tools/list", "tools/list")
    ]
    numbers = [int(str(number)) for number in column(panel, Column.NUMBER)]
    assert numbers == sorted(numbers)
    assert "5 messages" in visible_text(panel)


def test_call_is_pending_until_its_response_arrives(lens: Lens) -> None:
    panel = lens.window.traffic
    tools = lens.connect(scripted())
    tools.choose("waits")
    lens.do("tool.call")
    lens.until(lambda: column(panel, Column.STATUS)[-1:] == ["pending"])
    panel.choose(find(lens, "tools/call"))
    assert "pending" in visible_text(panel.detail)
    lens.do("tool.cancel")
    lens.until(lambda: "cancelled" in visible_text(panel.detail).splitlines())
    lens.call("echo", {"text": "hi"})
    lens.until(lambda: column(panel, Column.STATUS)[-2:] == ["ok", "ok"])
    assert str(column(panel, Column.DURATION)[-2]).endswith("s")
    assert column(panel, Column.MESSAGE)[-1] == "tools/call  echo"


def test_invalid_responses_are_shown_with_their_finding(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(faulty("confused"))
    lens.call("unknown-id")
    lens.until(lambda: "finding" in column(panel, Column.STATUS))
    panel.choose(panel.model.number(column(panel, Column.STATUS).index("finding")))
    assert "never-used" in visible_text(panel.detail)


def test_table_follows_until_scrolled_away_and_again_on_return(lens: Lens) -> None:
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
    assert at_end(panel), "the command scrolls to the end, too"


def test_selecting_a_row_far_from_the_end_stops_following(lens: Lens) -> None:
    panel = lens.window.traffic
    fill(lens)
    first = panel.model.number(0)
    assert panel.choose(first)
    lens.call("echo", {"text": "hi"})
    lens.settle()
    assert chosen(panel) == first
    assert panel.table.verticalScrollBar().value() == 0


def test_detail_shows_the_message_formatted_raw_and_as_bytes(lens: Lens) -> None:
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


def test_counterpart_command_toggles_between_request_and_response(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.settle()
    request, response = find(lens, "tools/list"), find(lens, "tools/list", RecordKind.RESULT)
    panel.choose(request)
    lens.do("traffic.partner")
    assert chosen(panel) == response
    assert f"row {request + 1:,}" in panel.detail.facts.as_text()
    lens.do("traffic.partner")
    assert chosen(panel) == request


def test_non_json_message_is_shown_verbatim(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted(stray=["*** My Server 1.0 ***"]))
    lens.until(lambda: "not JSON" in column(panel, Column.STATUS))
    panel.choose(panel.model.number(column(panel, Column.STATUS).index("not JSON")))
    lens.until(lambda: panel.detail.message.shown_text() == "*** My Server 1.0 ***")


def test_moving_quickly_through_rows_ends_at_the_last_one(lens: Lens) -> None:
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


def test_button_counts_new_rows_below_and_scrolls_to_them(lens: Lens) -> None:
    panel = lens.window.traffic
    fill(lens)
    panel.table.verticalScrollBar().setValue(0)
    assert "new below" not in visible_text(panel.table)
    lens.call("echo", {"text": "hi"})
    lens.until(lambda: panel.table.new_below == 2)
    button = next(each for each in panel.table.findChildren(QPushButton) if "2 new below" in each.text())
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert at_end(panel)
    assert panel.table.new_below == 0
    assert lens.actions["traffic.follow"].isChecked()


def test_pause_freezes_the_table_and_counts_new_rows(lens: Lens) -> None:
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


def test_timeline_and_statistics_respect_the_filter(lens: Lens) -> None:
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


def test_operations_are_listed_instead_of_messages(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.settle()
    request, log = find(lens, "tools/list"), lens.app.bridge.log
    log.set_operation(request, request)
    lens.do("traffic.operations")
    assert request in numbers(panel)
    assert all(log.operation(number) == number for number in numbers(panel))
    assert panel.head.views.index() == 1
    assert not panel.table.isColumnHidden(Column.ROUNDS)
    lens.do("traffic.frames")
    assert panel.table.isColumnHidden(Column.ROUNDS)
