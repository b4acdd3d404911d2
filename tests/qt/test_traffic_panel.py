"""The traffic table, live: order, following, choosing, searching, and the detail of a row."""

from __future__ import annotations

import json

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtTest import QTest

from inspector.qt.models.traffic import Column
from inspector.qt.panels.traffic.panel import TrafficPanel
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
    lens.until(lambda: not any(panel.table.isColumnHidden(each) for each in Column))


def test_the_copy_keys_copy_the_chosen_message_as_it_came(lens: Lens) -> None:
    panel = lens.window.traffic
    fill(lens)
    number = find(lens, "tools/call", RecordKind.REQUEST)
    panel.choose(number)
    panel.table.setFocus()
    QTest.keySequence(panel.table, QKeySequence(QKeySequence.StandardKey.Copy))
    assert QGuiApplication.clipboard().text() == lens.app.bridge.log.raw(number).decode()
