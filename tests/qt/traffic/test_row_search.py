"""Row search and sorting of the traffic table: incremental, and equal to a full search."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from inspector.oauth.http import LoginRecorder
from inspector.protocol.jsonrpc import read
from inspector.qt.models.traffic.columns import Column
from inspector.qt.models.traffic.row_search import Condition, RowSearch, sort_in_steps
from inspector.qt.models.traffic.traffic_model import TrafficModel
from inspector.qt.theme import Theme
from inspector.traffic.filter.matcher import Matcher, compile
from inspector.traffic.filter.parser import parse
from inspector.traffic.log import TrafficLog
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import HttpExchange, RecordKind, RowNote, Status
from tests.helpers.fakes import FakeClock

ICONS = Path(__file__).parents[3] / "resources" / "icons"


@pytest.fixture
def log() -> TrafficLog:
    return TrafficLog()


@pytest.fixture
def search(log: TrafficLog, qapp: QApplication) -> RowSearch:
    return RowSearch(log)


@pytest.fixture
def model(log: TrafficLog, qapp: QApplication) -> TrafficModel:
    return TrafficModel(log, Theme(ICONS))


def fill(log: TrafficLog, calls: int) -> None:
    """Record calls with their responses; every tenth fails, the third of each ten is slow."""
    server = log.add_server("one")
    for number in range(calls):
        at = number * 1_000_000
        request = log.append(server, RecordKind.REQUEST, 2, at, at, b"{}", "tools/call", "echo", number)
        log.set_operation(request, request)
        late = at + (900_000_000 if number % 10 == 3 else 1000 * (number % 7))
        response = log.append(server, RecordKind.RESULT, 1, late, late, b"{}", "tools/call", "echo", number)
        log.link(request, response, Status.ERROR if number % 10 == 0 else Status.OK)
    log.publish()


def matching(log: TrafficLog, text: str) -> Matcher:
    return compile(parse(text), log, now_ns=0)


def ask(recorder: Recorder, id: int) -> None:
    recorder.sent(read(b'{"jsonrpc":"2.0","id":%d,"method":"ping"}' % id))


def response(recorder: Recorder, id: int, body: bytes = b'"result":{}') -> None:
    recorder.received([read(b'{"jsonrpc":"2.0","id":%d,%s}' % (id, body))], 1)


class Slow:
    """A filter that is slow for each row, by the clock of the test."""

    def rows(self, numbers: range) -> Iterable[int]:
        total = 0
        for number in numbers:
            for _ in range(100):
                total += number
        return [number for number in numbers if number % 2 == 0]

    def matches(self, number: int) -> bool:
        return number % 2 == 0

    is_cheap = True


def test_long_search_yields_to_events_and_shows_partial_results(
    log: TrafficLog, search: RowSearch, qtbot: QtBot
) -> None:
    fill(log, 20_000)
    search.extend(len(log))
    search.finish()
    shares: list[float] = []
    search.progressed.connect(lambda: shares.append(search.share))
    search.set_condition(Condition(matcher=Slow()))
    assert search.is_searching
    assert 0 < len(search.rows) < 20_000
    qtbot.waitUntil(lambda: not search.is_searching, timeout=10_000)
    assert list(search.rows) == list(range(0, 40_000, 2))
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_stopped_search_keeps_its_matches_and_searches_no_further(
    log: TrafficLog, search: RowSearch, qtbot: QtBot
) -> None:
    fill(log, 20_000)
    search.extend(len(log))
    search.set_condition(Condition(matcher=Slow()))
    search.stop()
    found = len(search.rows)
    qtbot.wait(1)
    search.extend(len(log))
    assert len(search.rows) == found > 0
    assert search.is_stopped
    search.resume()
    search.finish()
    assert len(search.rows) == 20_000


def test_small_log_is_searched_immediately(log: TrafficLog, search: RowSearch) -> None:
    fill(log, 200)
    search.extend(len(log))
    search.set_condition(Condition(matcher=matching(log, "status:error")))
    assert not search.is_searching
    assert len(search.rows) == 40


def test_row_appears_when_its_late_status_matches_and_disappears_when_it_does_not(
    log: TrafficLog, model: TrafficModel
) -> None:
    recorder = Recorder(log, "one", FakeClock())
    model.set_matcher(matching(log, "status:error"))
    ask(recorder, 1)
    ask(recorder, 2)
    model.extend(len(log))
    assert model.rowCount() == 0
    response(recorder, 1, b'"error":{"code":1,"message":"no"}')
    model.extend(len(log))
    assert [model.number(row) for row in range(model.rowCount())] == [0, 2]
    model.set_matcher(matching(log, "status:waiting"))
    assert [model.number(row) for row in range(model.rowCount())] == [1]
    response(recorder, 2)
    model.extend(len(log))
    assert model.rowCount() == 0


def test_row_appears_when_rechecked_after_being_marked(log: TrafficLog, model: TrafficModel) -> None:
    fill(log, 3)
    model.extend(len(log))
    model.set_matcher(matching(log, "mark:yes"))
    assert model.rowCount() == 0
    log.set_note(4, RowNote(is_marked=True))
    model.search.search_again([4])
    assert model.number(0) == 4


@given(st.lists(st.sampled_from(["ask", "answer", "fail", "note", "look"]), max_size=40))
def test_incremental_search_equals_a_new_search(steps: list[str]) -> None:
    log = TrafficLog()
    recorder, search = Recorder(log, "one", FakeClock()), RowSearch(log)
    search.set_condition(Condition(matcher=matching(log, "status:error or status:waiting")))
    requested: list[int] = []
    for number, step in enumerate(steps):
        if step == "ask":
            ask(recorder, number)
            requested.append(number)
        elif step in ("answer", "fail") and requested:
            body = b'"result":{}' if step == "answer" else b'"error":{"code":1,"message":"no"}'
            response(recorder, requested.pop(0), body)
        elif step == "note":
            recorder.note(RecordKind.STATE, "connected")
        else:
            search.extend(len(log))
    search.extend(len(log))
    search.finish()
    changed_rows = RowSearch(log)
    changed_rows.set_condition(search.condition)
    changed_rows.extend(len(log))
    changed_rows.finish()
    assert search.rows == changed_rows.rows


def test_conditions_on_time_server_and_kind_are_combined(log: TrafficLog, search: RowSearch) -> None:
    fill(log, 10)
    other = Recorder(log, "two", FakeClock())
    other.note(RecordKind.STATE, "connected")
    search.extend(len(log))
    search.set_condition(Condition(server="two"))
    assert list(search.rows) == []
    search.set_condition(Condition(server="two", with_events=True))
    assert list(search.rows) == [20]
    search.set_condition(Condition(span=(2_000_000, 5_000_000)))
    wanted = [row for row in range(20) if 2_000_000 <= log.wall_ns(row) <= 5_000_000]
    assert list(search.rows) == wanted


def test_filter_that_names_kinds_shows_stderr_without_events_switched_on(
    log: TrafficLog, search: RowSearch
) -> None:
    Recorder(log, "one", FakeClock()).stderr([b"noise"], 1)
    search.extend(len(log))
    search.set_condition(Condition(matcher=matching(log, "kind:stderr")))
    assert list(search.rows) == []
    search.set_condition(Condition(matcher=matching(log, "kind:stderr"), any_kind=True))
    assert list(search.rows) == [0]


def test_login_rows_are_shown_with_and_without_events_unless_disabled(
    log: TrafficLog, search: RowSearch
) -> None:
    exchange = HttpExchange("GET", "https://as.example/.well-known/x", (), 0)
    login = LoginRecorder(log, "one", FakeClock())
    login.step("Login · Probe.")
    body = login.body(b"grant_type=client_credentials")
    login._recorder.http.requested(1, exchange, 0, 0, body)
    usual = Recorder(log, "one", FakeClock())
    usual.http.requested(1, exchange, 0, 0, -1)
    usual.note(RecordKind.STATE, "connected")
    usual.stderr([b"noise"], 1)
    search.extend(len(log))
    assert list(search.rows) == [0, 1, 2]
    search.set_condition(Condition(with_events=True))
    assert list(search.rows) == [0, 1, 2, 3, 4]
    search.set_condition(Condition(with_events=True, with_logins=False))
    assert list(search.rows) == [3, 4]
    search.set_condition(Condition(with_logins=False))
    assert list(search.rows) == []
    search.set_condition(Condition(matcher=matching(log, "subject:login kind:http"), any_kind=True))
    assert list(search.rows) == [2]
    search.set_condition(Condition(matcher=matching(log, "login")))
    assert list(search.rows) == [0, 1, 2]


def test_each_operation_is_one_row_with_its_rounds_end_and_total_time(
    log: TrafficLog, model: TrafficModel
) -> None:
    server = log.add_server("one")
    first = log.append(server, RecordKind.REQUEST, 2, 0, 0, b"{}", "tools/call", "echo", 1)
    log.set_operation(first, first)
    requested = log.append(server, RecordKind.RESULT, 1, 10**9, 0, b"{}", "tools/call", "echo", 1)
    log.link(first, requested, Status.OK)
    log.publish()
    model.set_by_operation(True)
    model.extend(len(log))
    assert model.index(0, Column.ROUNDS).data() == "1"
    again = log.append(server, RecordKind.REQUEST, 2, 2 * 10**9, 0, b"{}", "tools/call", "echo", 2)
    log.set_operation(again, first)
    log.publish()
    model.extend(len(log))
    assert model.index(0, Column.STATUS).data() == "pending"
    end = log.append(server, RecordKind.ERROR, 1, 5 * 10**9, 0, b"{}", "tools/call", "echo", 2)
    log.link(again, end, Status.ERROR)
    log.publish()
    model.extend(len(log))
    assert model.rowCount() == 1
    shown = [model.index(0, column).data() for column in (Column.ROUNDS, Column.STATUS, Column.DURATION)]
    assert shown == ["2", "error", "5.00 s"]
    model.set_matcher(matching(log, "kind:error"))
    assert model.rowCount() == 1, "its response matches, too"
    model.set_matcher(matching(log, "tool:other"))
    assert model.rowCount() == 0


def test_paused_table_does_not_move_and_catches_up(log: TrafficLog, model: TrafficModel) -> None:
    fill(log, 2)
    model.extend(len(log))
    model.set_paused(True)
    fill(log, 3)
    model.extend(len(log))
    assert (model.rowCount(), model.new_while_paused) == (4, 6)
    model.set_paused(False)
    assert (model.rowCount(), model.new_while_paused) == (10, 0)


def test_cleared_rows_can_be_shown_again(log: TrafficLog, model: TrafficModel) -> None:
    fill(log, 2)
    model.extend(len(log))
    model.clear_view()
    assert (model.rowCount(), model.cleared_count) == (0, 4)
    model.show_cleared()
    assert model.rowCount() == 4


@given(st.lists(st.integers(-3, 3) | st.integers(), max_size=60), st.booleans(), st.integers(1, 400))
def test_stepwise_sort_equals_a_full_sort(keys: list[int], is_descending: bool, times: int) -> None:
    keys = keys * times
    rows = array("q", range(len(keys)))
    *steps, result = sort_in_steps(rows, keys.__getitem__, is_descending=is_descending)
    assert not any(steps)
    assert result is not None
    assert list(result) == sorted(rows, key=keys.__getitem__, reverse=is_descending)


def test_big_table_is_sorted_in_slices_and_new_rows_are_inserted_in_order(
    log: TrafficLog, model: TrafficModel, qtbot: QtBot
) -> None:
    fill(log, 10_000)
    model.extend(len(log))
    model.sort_by(Column.DURATION, is_descending=True)
    assert model.number(0) == 0, "not sorted yet"
    fill(log, 5)
    model.extend(len(log))
    model.finish()
    shown = [model.number(row) for row in range(model.rowCount())]
    by_duration = log.columns.duration.__getitem__
    assert shown == sorted(range(len(log)), key=by_duration, reverse=True)
    chosen = Random(1).choice(shown)
    assert model.find_row(chosen) == shown.index(chosen)
    model.sort_by(None)
    assert [model.number(row) for row in range(5)] == [0, 1, 2, 3, 4]


def test_sorted_small_table_stays_sorted_while_rows_arrive_and_change(
    log: TrafficLog, model: TrafficModel, qtbot: QtBot
) -> None:
    recorder = Recorder(log, "one", FakeClock())
    model.sort_by(Column.STATUS, is_descending=True)
    for number in range(3):
        ask(recorder, number)
    model.extend(len(log))
    response(recorder, 1, b'"error":{"code":1,"message":"no"}')
    model.extend(len(log))
    qtbot.waitUntil(lambda: model.number(0) == 1)
    words = [model.index(row, Column.STATUS).data() for row in range(model.rowCount())]
    assert words == ["error", "error", "pending", "pending"]
    assert model.headerData(Column.STATUS, Qt.Orientation.Horizontal) == "Status ↓"
