"""The detail of a row: its header, its tabs, and updates while it is shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from inspector.qt.panels.traffic.detail import row_facts
from inspector.qt.panels.traffic.detail.detail_view import DetailView
from inspector.qt.panels.traffic.detail.message_view import Form
from inspector.qt.panels.traffic.detail.row_facts import Finding
from inspector.qt.theme import Scheme, Theme
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import HttpExchange, RecordKind, Status
from tests.qt.lens_driver import visible_text
from tests.qt.traffic.detail.detail_stage import Stage

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")

ICONS = Path(__file__).parents[4] / "resources" / "icons"
HEADERS = (("Authorization", "Bearer sk-hush"), ("Mcp-Session-Id", "s-1"), ("Accept", "*/*"))


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    theme = Theme(ICONS)
    theme.prepare(qapp, Scheme.LIGHT)
    yield theme
    qapp.styleHints().unsetColorScheme()
    qapp.setPalette(QPalette())


@pytest.fixture
def stage() -> Stage:
    return Stage("github", is_live=True)


@pytest.fixture
def view(stage: Stage, theme: Theme, qtbot: QtBot) -> DetailView:
    view = DetailView(stage.source, stage.bridge.as_bridge(), theme)
    qtbot.addWidget(view)
    view.resize(640, 480)
    view.show()
    return view


def tab_titles(view: DetailView) -> list[str]:
    bar = view.tabs.tabBar()
    return [bar.tabText(position) for position in range(bar.count()) if bar.isTabVisible(position)]


def test_empty_selection_says_what_to_do(view: DetailView) -> None:
    assert "No message selected" in visible_text(view)
    assert view.number is None


def test_row_shows_its_header_and_its_message(view: DetailView, stage: Stage) -> None:
    row = stage.request("tools/call", {"name": "echo", "arguments": {"text": "<b>hi"}})
    view.show_row(row)
    assert "tools/call echo" in visible_text(view)
    assert "request to github" in visible_text(view)
    assert "pending" in visible_text(view)
    assert json.loads(view.message.shown_text()) == json.loads(stage.log.raw(row))
    assert view.text.shown_text() == stage.log.raw(row).decode()
    assert view.bytes.shown_text().startswith("00000000  7b 22")
    assert tab_titles(view) == ["Message", "Timing", "Findings", "Related"]


def test_error_is_shown_with_the_name_of_its_code(view: DetailView, stage: Stage) -> None:
    stage.request("tools/call")
    view.show_row(
        stage.received({"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "No such tool"}})
    )
    assert "error from github: -32602 (invalid params)" in visible_text(view)
    fact = next(fact for fact in row_facts.facts(stage.log, 1) if fact.label == "Error")
    assert (fact.value, fact.term) == ("-32602 (invalid params)", ("code", -32602))


def test_clearing_the_selection_restores_the_initial_state(view: DetailView, stage: Stage) -> None:
    view.show_row(stage.request("ping"))
    view.show_row(None)
    assert "No message selected" in visible_text(view)


def test_response_that_arrives_while_its_request_is_shown_is_displayed(
    view: DetailView, stage: Stage
) -> None:
    row = stage.request("tools/call", {"name": "slow"})
    view.show_row(row)
    view.refresh()
    assert "pending" in visible_text(view)
    response = stage.after(0.25).result({"content": []})
    view.refresh()
    assert "ok" in visible_text(view).splitlines()
    facts = {fact.label: fact.value for fact in view.facts.facts}
    assert facts["Response"] == f"row {response + 1}"
    assert facts["Duration"] == "250 ms"


def test_refresh_does_nothing_when_nothing_changed(
    view: DetailView, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = stage.request("ping")
    stage.result({})
    view.show_row(row)

    def fail(*_: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(TrafficLog, "part", fail)
    monkeypatch.setattr(TrafficLog, "http", fail)
    monkeypatch.setattr(view.message, "refresh", fail)
    stage.request("ping", id=2)
    view.refresh()


def test_truncated_message_says_so(view: DetailView, stage: Stage) -> None:
    view.show_row(stage.received(b'{"jsonrpc":"2.0","id":1,"result":{"a":"xxxx', size=50_000_000))
    facts = {fact.label: fact.value for fact in view.facts.facts}
    assert facts["Size"] == "48 MiB (50,000,000 bytes), 43 B recorded"


def test_http_tab_exists_only_for_rows_sent_over_http(view: DetailView, stage: Stage) -> None:
    plain = stage.request("ping")
    carried = stage.request("ping", id=2)
    stage.http(HttpExchange("POST", "http://x/mcp", HEADERS, 10), carried)
    view.show_row(plain)
    assert "HTTP" not in tab_titles(view)
    view.show_row(carried)
    assert "HTTP" in tab_titles(view)


def test_http_tab_is_reselected_after_a_row_without_http(view: DetailView, stage: Stage) -> None:
    first, plain, last = (stage.request("ping", id=id) for id in range(3))
    for row in (first, last):
        stage.http(HttpExchange("POST", "http://x/mcp", HEADERS, 10), row)
    view.show_row(first)
    view.tabs.setCurrentWidget(view.http)
    view.show_row(plain)
    assert view.tabs.currentWidget() is not view.http
    view.show_row(last)
    assert view.tabs.currentWidget() is view.http
    view.show_row(plain)
    view.tabs.tabBarClicked.emit(0)
    view.show_row(last)
    assert view.tabs.currentWidget() is not view.http


def test_secrets_are_masked_until_requested_and_again_on_the_next_row(view: DetailView, stage: Stage) -> None:
    first, second = stage.request("ping"), stage.request("ping", id=2)
    for row in (first, second):
        stage.http(HttpExchange("POST", "http://x/mcp?api_key=hush", HEADERS, 10), row)
    view.show_row(first)
    view.tabs.setCurrentWidget(view.http)
    assert "hush" not in view.http.text.shown_text()
    view.http.secrets.setChecked(True)
    assert "Bearer sk-hush" in view.http.text.shown_text()
    assert "api_key=hush" in view.http.text.shown_text()
    view.show_row(second)
    assert not view.http.secrets.isChecked()
    assert "hush" not in view.http.text.shown_text()


def test_http_exchange_is_followed_to_its_end(view: DetailView, stage: Stage) -> None:
    row = stage.request("ping")
    exchange = stage.http(HttpExchange("POST", "http://x/mcp", (), 10), row)
    view.show_row(row)
    view.tabs.setCurrentWidget(view.http)
    assert "no response yet" in view.http.text.shown_text()
    location = (("Location", "http://y/?token=hush"), ("Mcp-Session-Id", "new"))
    stage.http_update(exchange, status=307, response_headers=location, total_ns=5_000_000, is_over=True)
    view.refresh()
    facts = {fact.label: fact.value for fact in view.http.facts.facts}
    assert facts["Redirected to"] == "http://y/?token=•••"
    assert facts["Session"] == "started by this response"


def test_protocol_violation_is_the_first_finding_of_a_row(view: DetailView, stage: Stage) -> None:
    row = stage.received({"jsonrpc": "2.0", "id": "never-used", "result": {}})
    view.show_row(row)
    assert "Findings 1" in tab_titles(view)
    view.tabs.setCurrentWidget(view.findings)
    assert "never-used" in visible_text(view.findings)


def test_late_response_is_not_a_finding(view: DetailView, stage: Stage) -> None:
    stage.request("ping")
    stage.recorder.end_request(1, Status.CANCELLED)
    view.show_row(stage.result({}))
    assert "Findings" in tab_titles(view)
    assert "late" in visible_text(view).splitlines()


def test_findings_from_other_sources_are_listed_and_counted(view: DetailView, stage: Stage) -> None:
    row = stage.request("ping")
    view.show_row(row)
    view.tabs.setCurrentWidget(view.findings)
    assert "No findings" in visible_text(view.findings)
    view.set_findings(
        lambda row: [Finding("warning", f"<b>Row {row}</b>", "Do this."), Finding("note", "N", "")]
    )
    assert "Findings 2" in tab_titles(view)
    assert f"<b>Row {row}</b>" in visible_text(view.findings)


def test_related_tab_lists_the_messages_and_opens_them(view: DetailView, stage: Stage, qtbot: QtBot) -> None:
    row = stage.request("tools/call", {"name": "slow", "_meta": {"progressToken": 7}})
    progress = stage.after(0.1).progress(7, 1)
    response = stage.after(0.1).result({"content": []})
    view.show_row(row)
    view.tabs.setCurrentWidget(view.related)
    model = view.related.model
    cells = [
        [model.index(position, column).data() for column in range(3)] for position in range(model.rowCount())
    ]
    assert cells == [
        ["0.0 ms", "request", "tools/call  slow"],
        ["100 ms", "progress", "notifications/progress  1"],
        ["200 ms", "response", "tools/call  slow"],
    ]
    assert [model.number(position) for position in range(3)] == [row, progress, response]
    with qtbot.waitSignal(view.row_requested) as requested:
        view.related.table.clicked.emit(model.index(2, 2))
    assert requested.args == [response]


def test_row_without_an_operation_says_so(view: DetailView, stage: Stage) -> None:
    stage.recorder.note(RecordKind.STATE, "connected")
    view.show_row(0)
    view.tabs.setCurrentWidget(view.related)
    assert "No related messages" in visible_text(view.related)


def test_steps_of_a_pending_operation_appear_as_they_arrive(
    view: DetailView, stage: Stage, qtbot: QtBot
) -> None:
    view.show_row(stage.request("tools/call", {"name": "slow", "_meta": {"progressToken": 7}}))
    view.tabs.setCurrentWidget(view.related)
    assert "No related messages" in visible_text(view.related)
    stage.progress(7, 1)
    view.refresh()
    qtbot.waitUntil(lambda: view.related.model.rowCount() == 2)


@pytest.mark.parametrize("kind", list(RecordKind))
def test_every_kind_of_row_can_be_viewed_in_every_tab_and_view(
    view: DetailView, stage: Stage, kind: RecordKind
) -> None:
    for raw in (b"", b"{}", b"\xff\x00<b>", b'{"jsonrpc":"2.0","method":"x"}'):
        row = stage.log.append(0, kind, 1, 5, 5, raw, "<i>m</i>", problem="<u>p</u>")
        stage.log.publish()
        view.show_row(row)
        for form in Form:
            view.message.set_form(form)
        for position in range(view.tabs.count()):
            view.tabs.setCurrentIndex(position)
        view.refresh()
        assert "<i>m</i>" in visible_text(view)


@pytest.mark.parametrize("status", list(Status))
def test_every_status_has_a_description(view: DetailView, stage: Stage, status: Status) -> None:
    row = stage.request("ping")
    stage.log.columns.status[row] = status
    view.message.both_action.trigger()
    view.show_row(row)
    expected = {
        Status.PENDING: "No response yet",
        Status.CANCELLED: "Cancelled",
        Status.TIMED_OUT: "Timed out",
        Status.NO_RESPONSE: "No response",
        Status.NOT_SENT: "Not sent",
    }
    assert expected.get(status, "ping") in visible_text(view)
