"""Login rows: bodies and headers are shown, with secrets masked until revealed."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from inspector.base.clock import SystemClock
from inspector.protocol.jsonrpc import read
from inspector.qt.models.traffic.columns import TrafficCells
from inspector.qt.models.traffic.row_search import OperationRows
from inspector.qt.panels.traffic.detail.detail_view import DetailView
from inspector.qt.panels.traffic.detail.http_view import exchange_text, has_secrets
from inspector.qt.theme import Scheme, Theme
from inspector.qt.widgets.inputs.clipboard import secret_clipboard
from inspector.traffic.log import TrafficLog
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import HttpExchange, RecordKind
from tests.qt.traffic.detail.detail_stage import Stage
from tests.qt.traffic.test_traffic_context_menu import ICONS

REPLY = HttpExchange(
    "POST",
    "https://as.example/token",
    (("Content-Type", "application/x-www-form-urlencoded"),),
    10,
    status=200,
    http_version="HTTP/1.1",
    response_headers=(("Content-Type", "application/json"),),
    body=b'{"access_token":"hush-1","token_type":"Bearer"}',
    is_over=True,
)


def test_token_in_a_response_is_masked_until_requested() -> None:
    assert has_secrets(REPLY)
    masked, plain = exchange_text(REPLY), exchange_text(REPLY, show_secrets=True)
    assert '{"access_token":"•••","token_type":"Bearer"}' in masked
    assert "hush-1" in plain
    assert "hush-1" not in masked


def test_authorization_code_in_a_redirect_is_masked() -> None:
    location = ("Location", "http://127.0.0.1:1/callback?code=hush-1&iss=x")
    exchange = HttpExchange("GET", "https://as.example/", (), 0, status=302, response_headers=(location,))
    assert has_secrets(exchange)
    assert "< Location: http://127.0.0.1:1/callback?code=•••&iss=x" in exchange_text(exchange)


def test_metadata_has_no_secrets() -> None:
    document = (
        b'{"token_endpoint":"https://as.example/token","token_endpoint_auth_methods_supported":["none"]}'
    )
    exchange = HttpExchange("GET", "https://as.example/", (), 0, status=200, body=document)
    assert not has_secrets(exchange)
    assert exchange_text(exchange) == exchange_text(exchange, show_secrets=True)


def test_list_shows_login_requests_without_their_secrets(qapp: object) -> None:
    log = TrafficLog()
    recorder = Recorder(log, "shop", SystemClock())
    form = recorder.login_body(b"grant_type=authorization_code&code=hush-1&client_id=me")
    recorder.note(RecordKind.LOGIN, "The login page was opened.")
    cells = TrafficCells(log, Theme(ICONS), OperationRows(log))
    assert cells.message(form) == "grant_type=authorization_code&code=•••&client_id=me"
    assert cells.message(form + 1) == "The login page was opened."


@pytest.fixture
def stage() -> Stage:
    return Stage(is_live=True)


@pytest.fixture
def view(stage: Stage, qapp: QApplication, qtbot: QtBot) -> DetailView:
    theme = Theme(ICONS)
    theme.prepare(qapp, Scheme.LIGHT)
    view = DetailView(stage.source, stage.bridge.as_bridge(), theme)
    qtbot.addWidget(view)
    view.resize(640, 480)
    view.show()
    return view


def test_login_request_is_masked_in_every_view_until_requested(view: DetailView, stage: Stage) -> None:
    row = stage.recorder.login_body(b"grant_type=authorization_code&code=hush-1&client_id=me")
    view.show_row(row)
    switch = view.message.secrets
    assert switch.isVisibleTo(view)
    assert view.text.shown_text() == "grant_type=authorization_code&code=•••&client_id=me"
    assert "68 75 73 68" not in view.bytes.shown_text()  # "hush"
    switch.click()
    assert view.text.shown_text() == "grant_type=authorization_code&code=hush-1&client_id=me"
    assert "68 75 73 68" in view.bytes.shown_text()
    switch.click()
    assert "hush" not in view.text.shown_text()


def test_revealed_secrets_are_copied_only_after_confirmation(view: DetailView, stage: Stage) -> None:
    view.show_row(stage.recorder.login_body(b"grant_type=authorization_code&code=hush-1&client_id=me"))
    view.text.copy_action.trigger()
    assert QGuiApplication.clipboard().text() == "grant_type=authorization_code&code=•••&client_id=me"
    view.message.secrets.click()
    view.text.copy_action.trigger()
    assert view.text.copy_prompt.is_asking
    assert "hush-1" not in QGuiApplication.clipboard().text()
    view.text.copy_prompt.copy_action.trigger()
    assert "code=hush-1" in QGuiApplication.clipboard().text()
    secret_clipboard().clear()


def test_next_login_row_is_masked_again(view: DetailView, stage: Stage) -> None:
    first, second = (stage.recorder.login_body(b"code=hush-%d" % number) for number in (1, 2))
    view.show_row(first)
    view.message.secrets.click()
    view.show_row(second)
    assert not view.message.secrets.isChecked()
    assert view.text.shown_text() == "code=•••"
    view.show_row(first)
    assert view.text.shown_text() == "code=•••"


def test_rows_without_secrets_have_no_reveal_switch(view: DetailView, stage: Stage) -> None:
    stage.recorder.note(RecordKind.LOGIN, "The login page was opened.")
    view.show_row(0)
    assert not view.message.secrets.isVisibleTo(view)
    message = b'{"jsonrpc":"2.0","method":"x","params":{"password":"hush-1"}}'
    row = stage.recorder.received([read(message)], 0)[0]
    view.show_row(row)
    assert not view.message.secrets.isVisibleTo(view)
    assert "hush-1" in view.text.shown_text()
