"""Filters from context menus: of a fact, a header, a related message or a bar."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from inspector.qt.panels.traffic.detail import row_facts
from inspector.qt.panels.traffic.detail.detail_view import DetailView
from inspector.qt.panels.traffic.detail.http_view import exchange_text, header_at
from inspector.qt.theme import Theme
from inspector.traffic.filter.parser import parse
from inspector.traffic.records import HttpExchange
from tests.qt.lens_driver import Lens, scripted
from tests.qt.traffic.detail.detail_stage import Stage
from tests.qt.traffic.traffic_stage import find, numbers

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")

ICONS = Path(__file__).parents[3] / "resources" / "icons"
EXCHANGE = HttpExchange(
    "POST",
    "http://x/mcp",
    (("Content-Type", "application/json"), ("Authorization", "Bearer hush"), ("X-Odd name", "a")),
    10,
    status=200,
    http_version="HTTP/1.1",
    response_headers=(("Content-Type", "text/event-stream"), ("Set-Cookie", "id=1")),
    response_size=20,
)


def offered(menu: QMenu) -> dict[str, object]:
    return {action.text(): action for action in menu.actions() if not action.isSeparator()}


@pytest.fixture
def requested() -> list[tuple[str, object, bool]]:
    return []


@pytest.fixture
def view(qapp: QApplication, qtbot: QtBot, requested: list[tuple[str, object, bool]]) -> DetailView:
    """A call over HTTP and its response; the request is shown."""
    stage = Stage("shop")
    row = stage.request("tools/call", {"name": "buy"}, "seven")
    stage.after(0.01).result({"content": []}, "seven", stage.http(EXCHANGE, row))
    view = DetailView(stage.source, stage.bridge.as_bridge(), Theme(ICONS))
    qtbot.addWidget(view)
    view.filter_requested.connect(lambda *args: requested.append(args))
    view.show_row(row)
    return view


def press(menu: QMenu, text: str) -> None:
    next(action for action in menu.actions() if action.text() == text).trigger()


def test_facts_about_a_row_can_be_filtered_on(view: DetailView, requested: list[object]) -> None:
    facts = {fact.label: fact for fact in view.facts.facts}
    press(view.facts.menu_of(facts["Server"]), "Filter by this value")
    press(view.facts.menu_of(facts["ID"]), "Exclude this value")
    assert requested == [("server", "shop", False), ("id", "seven", True)]
    assert "Filter by this value" not in offered(view.facts.menu_of(facts["Time"]))


def test_every_header_is_found_in_its_line() -> None:
    for exchange in (EXCHANGE, HttpExchange("GET", "http://x", (("A", "b"),), 0, status=204)):
        lines = exchange_text(exchange, show_secrets=True).split("\n")
        headers = [header_at(exchange, line) for line in range(len(lines))]
        assert [each for each in headers if each] == [*exchange.request_headers, *exchange.response_headers]
        for line, header in zip(lines, headers, strict=True):
            assert header is None or line[2:] == f"{header[0]}: {header[1]}"


def test_headers_can_be_filtered_on_but_not_while_they_are_masked(
    view: DetailView, requested: list[tuple[str, object, bool]]
) -> None:
    view.http.show_exchange(EXCHANGE)
    press(view.http.text.menu(1), "Filter by this header")
    assert requested == [("http.header.content-type", "application/json", False)]
    assert "Filter by this header" not in offered(view.http.text.menu(0))
    assert "Filter by this header" not in offered(view.http.text.menu(2)), "it is masked"
    view.http.secrets.setChecked(True)
    press(view.http.text.menu(2), "Exclude this header")
    press(view.http.text.menu(3), "Filter by this header")
    assert requested[1] == ("http.header.authorization", "Bearer hush", True)
    for path, value, _ in requested:
        parse(f'{path}="{value}"')  # unusual names are quoted


def test_related_messages_can_be_filtered_on(view: DetailView, requested: list[object]) -> None:
    view.tabs.setCurrentWidget(view.related)
    view._filled.clear()
    view._fill_tab()
    press(view.related.menu(0), "Filter by tool buy")
    assert requested == [("tool", "buy", False)]
    opened: list[int] = []
    view.row_requested.connect(opened.append)
    press(view.related.menu(0), "Go to this row")
    assert opened == [0]


def test_request_id_can_be_filtered_on() -> None:
    stage = Stage()
    row = stage.request("ping")
    assert [fact.term for fact in row_facts.facts(stage.log, row) if fact.label == "ID"] == [("id", 1)]


def test_right_click_on_a_bar_selects_its_row_and_opens_the_row_menu(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.call("echo", {"text": "hi"})
    lens.settle()
    lens.do("traffic.timeline")
    timeline, call = panel.views.timeline, find(lens, "tools/call")
    assert timeline is not None
    timeline.menu_requested.emit(call, QPoint(10, 10))
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    assert panel.current_number() == call
    assert "Edit and resend…" in offered(menu)
    press(menu, "Filter by tool echo")
    menu.close()
    assert set(numbers(panel)) == {call, call + 1}
