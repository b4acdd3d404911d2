"""Logins in the whole application at the demo server; a thread acts as the browser."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from functools import partial

import httpx2
import pytest
from PySide6.QtCore import QUrl
from PySide6.QtWidgets import QAbstractButton, QApplication

from inspector.config.servers.entries import HttpEntry, StdioEntry
from inspector.engine.views import OutcomeKind, ServerStatus
from inspector.oauth.login.steps import StepId, StepState
from inspector.qt.link_opener import LinkOpener
from inspector.qt.models.servers import state_text
from inspector.qt.models.traffic.columns import Column
from inspector.qt.panels.login.panel import LoginPanel
from inspector.qt.window.tabs import AUTH, TOOLS
from tests.qt.lens_driver import Lens, scripted, visible_text
from tests.qt.traffic.traffic_stage import column
from tests.unit.demo.login.login_client import LoginDemo


@pytest.fixture(scope="module")
def shared_demo() -> Iterator[LoginDemo]:
    with LoginDemo() as server:
        yield server


@pytest.fixture
def demo(shared_demo: LoginDemo) -> LoginDemo:
    shared_demo.forget()
    return shared_demo


class Browser:
    """Logs in at each opened URL, on a separate thread."""

    def __init__(self, lens: Lens, demo: LoginDemo) -> None:
        self._demo = demo
        self.pages: list[str] = []
        self.responses: list[str] = []
        self.follows_redirect = True
        self._threads: list[threading.Thread] = []
        lens.window.login_notice.opener = LinkOpener(self._open)

    def _open(self, url: QUrl) -> bool:
        self.pages.append(url.toString())
        thread = threading.Thread(target=self.log_in, args=(bytes(url.toEncoded().data()).decode(),))
        self._threads.append(thread)
        thread.start()
        return True

    def log_in(self, url: str) -> None:
        response = self._demo.decide(self._demo.http.get(url))
        self.responses.append(response.headers["location"])
        if self.follows_redirect:
            httpx2.get(self.responses[-1], trust_env=False, timeout=20)

    def close(self) -> None:
        for thread in self._threads:
            thread.join(timeout=20)
            assert not thread.is_alive()


@pytest.fixture
def browser(lens: Lens, demo: LoginDemo) -> Iterator[Browser]:
    browser = Browser(lens, demo)
    yield browser
    browser.close()


def add(lens: Lens, demo: LoginDemo) -> None:
    lens.add(HttpEntry(name="notes", url=demo.url))
    lens.choose("notes")


def open_panel(lens: Lens) -> LoginPanel:
    lens.workspace.show_tab("auth")
    return lens.workspace.panel(AUTH)


def is_done(panel: LoginPanel) -> bool:
    return panel.login is not None and panel.login.is_over


def is_ready_at(panel: LoginPanel, position: int) -> bool:
    return panel.steps.currentRow() == position and panel.controls.next.isEnabled()


def state_of(panel: LoginPanel, step: StepId) -> StepState:
    assert panel.login is not None
    return next(each.state for each in panel.login.steps if each.id is step)


def test_login_modules_are_not_imported_before_a_login_is_shown(lens: Lens) -> None:
    """Other tests may have imported the modules: check that the objects do not exist."""
    lens.connect(scripted())
    assert lens.workspace.findChildren(LoginPanel) == []
    assert "login_notice" not in vars(lens.window)


def test_connecting_logs_in_and_the_tools_can_be_called(
    lens: Lens, demo: LoginDemo, browser: Browser
) -> None:
    add(lens, demo)
    lens.do("server.connect")
    lens.wait_for("notes", ServerStatus.CONNECTED)
    assert len(browser.pages) == 1
    lens.until(lambda: lens.tools.list.isVisibleTo(lens.tools))
    assert lens.call("read_notes").kind is OutcomeKind.RESULT
    panel = open_panel(lens)
    lens.until(lambda: panel.login is not None)
    assert state_of(panel, StepId.TOKEN_CHECK) is StepState.DONE
    panel.show_view("Token")
    lens.until(lambda: "Bearer" in visible_text(panel.token))


def test_login_is_stepped_through_without_a_connection(lens: Lens, demo: LoginDemo, browser: Browser) -> None:
    add(lens, demo)
    panel = open_panel(lens)
    panel.controls.begin.trigger()
    lens.until(lambda: panel.login is not None and panel.controls.next.isEnabled())
    for position in range(9):
        assert panel.login is not None
        assert panel.steps.currentRow() == position
        panel.controls.next.trigger()
        lens.until(partial(is_ready_at, panel, position + 1))
    assert browser.pages == []
    panel.controls.run.trigger()
    lens.until(lambda: is_done(panel))
    assert panel.login is not None
    assert panel.login.failure == ""
    assert len(browser.pages) == 1
    assert lens.view("notes").status is ServerStatus.IDLE


def test_callback_can_be_pasted_and_a_wrong_one_is_rejected_with_the_reason(
    lens: Lens, demo: LoginDemo, browser: Browser
) -> None:
    browser.follows_redirect = False
    add(lens, demo)
    panel = open_panel(lens)
    panel.controls.log_in.trigger()
    lens.until(lambda: panel.browser_wait.isVisible() and browser.responses)
    assert panel.browser_wait.host.text() == "127.0.0.1"
    assert state_text(lens.view("notes")) == "logging in"
    lens.until(lambda: panel.browser_wait.time_left.text().endswith(" left"))
    panel.browser_wait.paste_field.setText(browser.responses[0].replace("state=", "state=x"))
    panel.browser_wait.paste_action.trigger()
    lens.until(lambda: "not the authorization response" in panel.alert.text("command"))
    panel.browser_wait.paste_field.setText(browser.responses[0])
    panel.browser_wait.paste_action.trigger()
    lens.until(lambda: is_done(panel))
    assert state_of(panel, StepId.CALLBACK) is StepState.DONE
    lens.until(lambda: state_text(lens.view("notes")) != "logging in")


def test_login_keeps_waiting_without_a_browser(lens: Lens, demo: LoginDemo, browser: Browser) -> None:
    lens.window.login_notice.opener = LinkOpener(lambda url: False)
    add(lens, demo)
    panel = open_panel(lens)
    panel.controls.log_in.trigger()
    lens.until(lambda: panel.browser_wait.isVisible())
    assert "Copy the URL instead." in visible_text(lens.window.notices)
    panel.browser_wait.copy_action.trigger()
    browser.log_in(QApplication.clipboard().text())
    lens.until(lambda: is_done(panel))


def test_waiting_login_out_of_view_is_announced_with_a_link(
    lens: Lens, demo: LoginDemo, browser: Browser
) -> None:
    browser.follows_redirect = False
    add(lens, demo)
    lens.do("server.connect")
    lens.wait_for("notes", ServerStatus.LOGGING_IN)
    lens.until(lambda: "Waiting for a login in the browser." in visible_text(lens.workspace.panel(TOOLS)))
    shown = [button.text() for button in lens.workspace.findChildren(QAbstractButton) if button.isVisible()]
    assert "Cancel login" in shown
    assert "Connect" not in shown
    announced = "notes: waiting for login in the browser at 127.0.0.1."
    lens.until(lambda: lens.window.strips.text("login notes") == announced)
    lens.press("Show login", lens.window.strips)
    panel = lens.workspace.panel(AUTH)
    lens.until(lambda: panel.browser_wait.isVisible())
    panel.controls.cancel.trigger()
    lens.wait_for("notes", ServerStatus.NEEDS_LOGIN)
    assert "Log in…" in visible_text(lens.workspace)
    assert not lens.window.strips.text("login notes")


def test_login_started_by_connect_can_be_cancelled_from_the_server(
    lens: Lens, demo: LoginDemo, browser: Browser
) -> None:
    browser.follows_redirect = False
    add(lens, demo)
    lens.do("server.connect")
    lens.wait_for("notes", ServerStatus.LOGGING_IN)
    lens.press("Cancel login", lens.workspace)
    lens.wait_for("notes", ServerStatus.NEEDS_LOGIN)
    assert lens.view("notes").reason == "The login was cancelled."
    assert "go through the login in the Auth tab" in visible_text(lens.workspace)


def test_login_demo_faults_are_detected_and_named(lens: Lens, demo: LoginDemo, browser: Browser) -> None:
    demo.only("wrong_issuer")
    add(lens, demo)
    panel = open_panel(lens)
    panel.controls.log_in.trigger()
    lens.until(lambda: panel.login is not None and panel.login.failure)
    panel.show_view("Findings")
    assert "ASM-002" in visible_text(panel.findings)
    assert panel.controls.retry.isEnabled()


def test_logging_out_deletes_the_token(lens: Lens, demo: LoginDemo, browser: Browser) -> None:
    add(lens, demo)
    panel = open_panel(lens)
    panel.controls.log_in.trigger()
    lens.until(lambda: is_done(panel))
    panel.show_view("Token")
    lens.until(lambda: "Bearer" in visible_text(panel.token))
    panel.token.refresh_action.trigger()
    assert not panel.token.log_out_action.isEnabled()
    lens.until(panel.token.log_out_action.isEnabled)
    panel.token.log_out_action.trigger()
    lens.until(lambda: "No token" in visible_text(panel.token))
    assert panel.alert.text("command")


def test_login_requests_link_to_the_traffic(lens: Lens, demo: LoginDemo, browser: Browser) -> None:
    add(lens, demo)
    panel = open_panel(lens)
    panel.controls.begin.trigger()
    lens.until(lambda: panel.controls.next.isEnabled())
    panel.controls.next.trigger()
    lens.until(lambda: state_of(panel, StepId.PROBE) is StepState.DONE)
    panel.steps.choose(StepId.PROBE)
    assert "HTTP 401" in panel.http.text.shown_text()
    traffic = lens.window.traffic
    lens.until(lambda: "login" in column(traffic, Column.STATUS))
    assert "401" in column(traffic, Column.STATUS)
    lens.do("traffic.logins")
    assert {"login", "401"}.isdisjoint(column(traffic, Column.STATUS))
    panel.http.row_action.trigger()
    lens.press("Show row", traffic.strips)
    assert lens.actions["traffic.logins"].isChecked()
    row = lens.window.traffic.current_number()
    assert row is not None
    exchange = lens.app.bridge.log.http(row)
    assert exchange is not None
    assert exchange.status == 401


def test_local_server_has_no_login(lens: Lens) -> None:
    lens.add(StdioEntry(name="local", command=sys.executable))
    lens.choose("local")
    assert "environment" in visible_text(open_panel(lens))
    assert not lens.actions["server.login"].isEnabled()
