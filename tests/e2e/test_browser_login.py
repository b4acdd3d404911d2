"""A login as a user does it: Connect in the window, a page in a real browser, a tool call."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QUrl

from inspector.config.servers.entries import HttpEntry
from inspector.engine.views import CallOutcome, OutcomeKind, ServerStatus
from inspector.oauth.login.steps import StepId, StepState
from inspector.qt.link_opener import LinkOpener
from inspector.qt.window.tabs import AUTH, OVERVIEW
from tests.helpers.browser import WHY_NOT, Browser, find_browser
from tests.qt.lens_driver import Lens, visible_text
from tests.unit.demo.login.login_client import LoginDemo

pytestmark = pytest.mark.skipif(find_browser() is None, reason=WHY_NOT)

NAME = "notes"
RECEIVED = "You can close this tab. MCP Lens shows whether the login succeeded."


class Desktop:
    """The system's browser: opens the URL from the window, and the user continues there."""

    def __init__(self, lens: Lens, browser: Browser) -> None:
        self._lens = lens
        self._browser = browser
        self._requested: list[str] = []
        lens.window.login_notice.opener = LinkOpener(self._launch)

    def _launch(self, url: QUrl) -> bool:
        self._requested.append(bytes(url.toEncoded().data()).decode())
        return True

    def page(self) -> Browser:
        """The browser at the page that the window opened."""
        self._lens.until(lambda: self._requested)
        self._browser.go(self._requested.pop(0))
        return self._browser

    def is_quiet(self) -> bool:
        return not self._requested


@pytest.fixture(scope="module")
def shared_demo() -> Iterator[LoginDemo]:
    with LoginDemo() as demo:
        yield demo


@pytest.fixture
def demo(shared_demo: LoginDemo) -> LoginDemo:
    shared_demo.forget()
    return shared_demo


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    profile: Path = tmp_path_factory.mktemp("browser")
    with Browser(profile) as browser:
        yield browser


@pytest.fixture
def desktop(lens: Lens, browser: Browser) -> Desktop:
    return Desktop(lens, browser)


def press_connect(lens: Lens, demo: LoginDemo) -> None:
    lens.add(HttpEntry(name=NAME, url=demo.url))
    lens.choose(NAME)
    lens.press("Connect", lens.workspace)


def allow(page: Browser) -> None:
    page.type("#name", "ada")
    page.type("#password", "lovelace")
    page.press("button[value=allow]")
    assert RECEIVED in page.text


def connected(lens: Lens) -> None:
    lens.wait_for(NAME, ServerStatus.CONNECTED)
    lens.until(lambda: lens.tools.list.isVisibleTo(lens.tools))


def response(outcome: CallOutcome) -> str:
    assert outcome.kind is OutcomeKind.RESULT, outcome.summary
    return outcome.response.decode()


def test_connect_logs_in_through_the_browser_and_a_tool_sees_the_user(
    lens: Lens, demo: LoginDemo, desktop: Desktop
) -> None:
    press_connect(lens, demo)
    allow(desktop.page())
    connected(lens)
    reported = response(lens.call("whoami"))
    assert '"ada"' in reported
    assert "notes:read" in reported


def test_wrong_password_stays_on_the_page_until_the_right_one_is_entered(
    lens: Lens, demo: LoginDemo, desktop: Desktop
) -> None:
    press_connect(lens, demo)
    page = desktop.page()
    page.type("#name", "ada")
    page.type("#password", "byron")
    page.press("button[value=allow]")
    assert "Wrong name or password" in page.text
    assert lens.view(NAME).status is not ServerStatus.CONNECTED
    allow(page)
    connected(lens)


def test_denying_access_is_reported_in_the_window(lens: Lens, demo: LoginDemo, desktop: Desktop) -> None:
    press_connect(lens, demo)
    page = desktop.page()
    page.press("button[value=deny]")
    assert RECEIVED in page.text
    lens.until(lambda: "access_denied" in lens.view(NAME).reason)
    view = lens.view(NAME)
    assert "The user denied the request." in view.reason
    assert view.status is ServerStatus.NEEDS_LOGIN
    assert view.reason in visible_text(lens.workspace.panel(OVERVIEW))
    lens.press("Connect", lens.workspace)
    allow(desktop.page())
    connected(lens)


def test_tool_that_needs_more_scopes_is_retried_after_consent_in_the_browser(
    lens: Lens, demo: LoginDemo, desktop: Desktop
) -> None:
    press_connect(lens, demo)
    allow(desktop.page())
    connected(lens)
    outcome = lens.call("write_note", {"text": "Tea at five"})
    assert outcome.summary == "The server requires “notes:write”, which the token does not have."
    lens.until(lambda: "notes:write" in lens.window.strips.text(f"login {NAME}"))
    assert desktop.is_quiet(), "a call alone opens no browser"
    lens.press("Show login", lens.window.strips)
    panel = lens.workspace.panel(AUTH)
    lens.until(panel.controls.log_in.isEnabled)
    panel.controls.log_in.trigger()
    page = desktop.page()
    assert "notes:write" in page.text
    allow(page)
    lens.until(lambda: panel.login is not None and panel.login.is_over)
    lens.workspace.show_tab("tools")
    assert "Note added by ada" in response(lens.call("write_note", {"text": "Tea at five"}))
    assert "Tea at five" in response(lens.call("read_notes"))


def test_login_can_be_walked_through_in_the_auth_tab(lens: Lens, demo: LoginDemo, desktop: Desktop) -> None:
    lens.add(HttpEntry(name=NAME, url=demo.url))
    lens.choose(NAME)
    lens.workspace.show_tab("auth")
    panel = lens.workspace.panel(AUTH)
    panel.controls.log_in.trigger()
    allow(desktop.page())
    lens.until(lambda: panel.login is not None and panel.login.is_over)
    assert panel.login is not None
    assert panel.login.failure == ""
    states = {step.id: step.state for step in panel.login.steps}
    assert states[StepId.VERIFY] is StepState.DONE
    lens.press("Connect", lens.workspace)
    connected(lens)
    assert desktop.is_quiet(), "the tokens of the login are used"
