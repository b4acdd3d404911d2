"""Tour stops about debugging: Doctor, edit and reconnect, drift, login, traffic.

The login stop steps through an OAuth flow and submits the browser pages itself. The traffic stops cover a
flood of messages, filters, timeline, statistics, comparison and captures.
"""

from __future__ import annotations

import html
import re
import sys
import tempfile
from functools import partial
from pathlib import Path

from PySide6.QtCore import QItemSelectionModel, QUrl
from PySide6.QtTest import QTest

from inspector.app.tour.guide import Guide, StopFailed
from inspector.config.calls.saved_calls import SavedCall
from inspector.config.servers.entries import HttpEntry, StdioEntry
from inspector.engine.views import OutcomeKind, ServerStatus
from inspector.oauth.login.steps import StepId, StepState
from inspector.qt.dialogs.drift import DriftDialog
from inspector.qt.dialogs.settings import SettingsDialog
from inspector.qt.dialogs.traffic.compare import CompareDialog
from inspector.qt.link_opener import LinkOpener
from inspector.qt.panels.login.panel import LoginPanel
from inspector.qt.window.tabs import AUTH, DOCTOR, PROCESS
from inspector.traffic.records import RecordKind

_LOGIN_SERVER = "login"
_USER = {"name": "ada", "password": "lovelace", "decision": "allow"}
_REQUEST = re.compile(r'name="request" value="([^"]+)"')
_FLOOD = 20_000
_GREETER = '''"""A server under development."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("greeter")


@server.tool()
def greet(name: str) -> str:
    """Greet someone by name."""
    return f"{word}, {{name}}!"


@server.tool()
def {other}(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


server.run()
'''


def _write(path: Path, word: str, other: str) -> None:
    path.write_text(_GREETER.format(word=word, other=other))


async def run_doctor(guide: Guide) -> None:
    """Connect to a port where nothing listens: the Doctor shows which step fails, and why."""
    await guide.app.bridge.ask(
        lambda engine: engine.servers.add(HttpEntry(name="tickets", url="http://127.0.0.1:9/mcp"))
    )
    await guide.until("the server", lambda: guide.status("tickets") is not None)
    guide.server("tickets")
    guide.do("server.connect")
    await guide.until("the connection to fail", lambda: guide.status("tickets") is ServerStatus.FAILED)
    guide.do("server.doctor")
    workspace = guide.window.workspace()
    assert workspace is not None
    panel = workspace.panel(DOCTOR)

    def is_over() -> bool:
        seen = panel.report
        return seen is not None and not seen.is_running and seen.failure is not None

    await guide.until("the diagnosis", is_over)
    await guide.screenshot("doctor")


async def rerun_after_an_edit(guide: Guide) -> None:
    """Edit the server's file: the regression calls run again and show what differs."""
    source = guide.project / "greeter.py"
    _write(source, "Hello", "count_words")
    entry = StdioEntry(
        name="greeter",
        command=sys.executable,
        args=("-P", str(source)),
        cwd=str(guide.project),
        watch=("*.py",),
        color="teal",
    )
    for name in ("Ada", "Grace"):
        call = SavedCall(f"Greet {name}", "greet", "greeter", {"name": name}, is_regression=True)
        await guide.app.bridge.ask(lambda engine: engine.calls.save(call))  # noqa: B023
    compared: list[str] = []
    guide.app.bridge.drift_changed.connect(lambda view: compared.append(view.server))
    await guide.app.bridge.ask(lambda engine: engine.servers.add(entry))
    await guide.until("the server", lambda: guide.status("greeter") is not None)
    guide.server("greeter")
    guide.do("server.connect")
    await guide.until("the server to connect", lambda: guide.status("greeter") is ServerStatus.CONNECTED)
    guide.do("view.process")
    workspace = guide.window.workspace()
    assert workspace is not None
    regression_calls = workspace.panel(PROCESS).regression_calls
    await guide.until("the saved calls", lambda: regression_calls.model.rowCount() == 2)
    regression_calls.run_now()
    await guide.until("their results", regression_calls.accept_all.isEnabled)
    regression_calls.accept_all.trigger()
    await guide.until("the results to be accepted", lambda: "as expected" in workspace.regression_badge.text)
    # The baseline holds the first lists: an edit before it is stored would change what it holds.
    await guide.until("the baseline", lambda: "greeter" in compared)
    _write(source, "Goodbye", "number_of_words")
    await guide.until("red", lambda: "differ" in workspace.regression_badge.text)
    await guide.screenshot("edit-save-red")


async def review_changes(guide: Guide) -> None:
    """A tool was renamed since the last connection."""
    workspace = guide.window.workspace()
    assert workspace is not None
    await guide.until("the change notice", lambda: workspace.strips.text("drift"))
    guide.do("server.drift")
    dialog = next(iter(guide.window.findChildren(DriftDialog)))
    await guide.until("the changes", lambda: dialog.model.rowCount() > 0)
    await guide.screenshot("changes", dialog)
    dialog.close()


async def settings(guide: Guide) -> None:
    guide.do("app.settings")
    dialog = next(iter(guide.window.findChildren(SettingsDialog)))
    await guide.until("the settings", dialog.isVisible)
    await guide.screenshot("settings", dialog)
    dialog.close()


async def walk_through_a_login(guide: Guide) -> None:
    """Step through a login up to the browser; once that is done, run the remaining steps."""
    guide.server(_LOGIN_SERVER)
    guide.do("view.auth")
    workspace = guide.window.workspace()
    if workspace is None:
        raise StopFailed("no server is open")
    panel, pages = workspace.panel(AUTH), list[str]()
    notice = guide.window.login_notice
    before, notice.opener = notice.opener, LinkOpener(partial(_record_url, pages))
    try:
        await _log_in_stepwise(guide, panel, pages)
    finally:
        notice.opener = before
    await guide.screenshot("auth-done")
    panel.show_view("Diagram")
    await guide.screenshot("auth-diagram")
    panel.show_view("Steps")


async def _log_in_stepwise(guide: Guide, panel: LoginPanel, pages: list[str]) -> None:
    await guide.press("Log in step by step", panel)
    while _state(panel, StepId.AUTHORIZE) is not StepState.DONE:
        await guide.until("a step to be ready", lambda: _next(panel))
        step = _next(panel)
        await guide.press("Next", panel)
        is_done = partial(_is_past, panel, step)
        await guide.until(f"the step “{step}” to finish", is_done)
        if _failure(panel):
            raise StopFailed(f"the login failed: {_failure(panel)}")
    await guide.press("Next", panel)
    await guide.until("the login to wait for the browser", panel.browser_wait.isVisible)
    await guide.screenshot("auth-waiting")
    if not pages:
        raise StopFailed("the browser did not open")
    await guide.app.bridge.ask(lambda engine: _submit_login_page(pages[0]))
    await guide.until("the browser callback", lambda: _state(panel, StepId.WAIT) is StepState.DONE)
    await guide.press("Run to the end", panel)
    await guide.until("the login to finish", lambda: panel.login is None or panel.login.is_over)
    if panel.login is None or panel.login.result is None:
        raise StopFailed(f"the login returned no token: {_failure(panel)}")
    panel.show_step(StepId.TOKEN_CHECK)


def _record_url(pages: list[str], url: QUrl) -> bool:
    """Record the URL instead of opening a browser; the tour fetches the page itself."""
    pages.append(bytes(url.toEncoded().data()).decode())
    return True


async def _submit_login_page(url: str) -> None:
    """Log in as a user would: open the page, fill it in, allow, follow the redirect."""
    import httpx2

    async with httpx2.AsyncClient(trust_env=False) as browser:
        page = await browser.get(url)
        found = _REQUEST.search(page.text)
        if found is None:
            raise StopFailed(f"the login page has no form (HTTP {page.status_code})")
        form = {**_USER, "request": html.unescape(found[1])}
        sent = await browser.post(page.url.copy_with(query=None), data=form)
        if not sent.has_redirect_location:
            raise StopFailed(f"the login page did not redirect back (HTTP {sent.status_code})")
        await browser.get(sent.headers["location"])


def _state(panel: LoginPanel, id: StepId) -> StepState | None:
    steps = panel.login.steps if panel.login is not None else ()
    return next((step.state for step in steps if step.id is id), None)


def _next(panel: LoginPanel) -> str:
    """Return the title of the step that is ready; "" while one is running."""
    login = panel.login
    step = login.current if login is not None and not login.is_running else None
    return step.id.value if step is not None and step.state is StepState.READY else ""


def _is_past(panel: LoginPanel, step: str) -> bool:
    return _next(panel) not in ("", step) or bool(_failure(panel))


def _failure(panel: LoginPanel) -> str:
    return panel.login.failure if panel.login is not None else ""


async def flood(guide: Guide) -> None:
    """Notifications as fast as the pipe allows: all recorded, and the window stays responsive."""
    guide.server("everything")
    log = guide.app.bridge.log
    before = len(log)
    await guide.tool("flood")
    guide.type_argument("count", str(_FLOOD))
    outcome = await guide.call(OutcomeKind.RESULT)
    if len(log) - before < _FLOOD:
        raise StopFailed(f"{_FLOOD:,} notifications were sent, but {len(log) - before:,} were recorded")
    assert outcome.row is not None
    response, model = log.partner(outcome.row), guide.window.traffic.model
    assert response is not None
    await guide.until("the response in the table", lambda: model.find_row(response) is not None)
    await guide.screenshot("flood")


async def filter_traffic(guide: Guide) -> None:
    panel = guide.window.traffic
    await _filter(guide, "method:tools/call and not status:ok")
    await guide.until("failed calls in the table", lambda: 0 < panel.model.rowCount() < 100)
    await guide.screenshot("filter")
    await _filter(guide, "method:tools/call and (status:ok")
    await guide.until("the filter error", lambda: panel.search.error is not None)
    await guide.screenshot("filter-error")
    await _filter(guide, "")


async def timeline(guide: Guide) -> None:
    await _filter(guide, "not tool:flood")
    guide.do("traffic.timeline")
    await guide.screenshot("timeline")


async def statistics(guide: Guide) -> None:
    guide.do("traffic.statistics")
    await guide.screenshot("statistics")
    guide.do("traffic.frames")
    await _filter(guide, "")


async def compare_two(guide: Guide) -> None:
    """Compare two calls of the same tool with different arguments."""
    panel, log = guide.window.traffic, guide.app.bridge.log
    guide.server("everything")
    await guide.tool("forecast")
    for city in ("Oslo", "Lisbon"):
        guide.type_argument("city", city)
        await guide.call(OutcomeKind.RESULT)
    responses = [row for row in range(len(log)) if log.kind(row) == RecordKind.RESULT]
    responses = [row for row in responses if log.subject(row) == "forecast"][-2:]
    await guide.until("both responses in the table", lambda: panel.choose(responses[-1]))
    both = QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows
    for position in map(panel.model.find_row, responses):
        assert position is not None
        panel.table.selectionModel().select(panel.model.index(position, 0), both)
    guide.do("traffic.compare")
    dialog = next(iter(guide.window.findChildren(CompareDialog)))
    await guide.until("the differences", lambda: dialog.model.rowCount())
    await guide.screenshot("compare", dialog)
    dialog.close()


async def save_and_open(guide: Guide) -> None:
    """Save a copy of the running capture and open it beside the live traffic."""
    captures = guide.window.captures
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "monday.mcpcap")
        captures.save(None, copy)
        await guide.until("the saved capture", copy.exists)
        captures.open([copy])
        await guide.until("its messages", lambda: captures.all and captures.all[0].panel.model.rowCount())
        guide.do("capture.side_by_side")
        await guide.screenshot("side-by-side")
        guide.do("capture.side_by_side")
        captures.close(captures.all[0].panel)


async def _filter(guide: Guide, text: str) -> None:
    """Type a filter, as a user would."""
    panel = guide.window.traffic
    guide.do("traffic.search")
    panel.search.clear()
    QTest.keyClicks(panel.search, text)
    panel.search.settle()
    await guide.until("the search to finish", lambda: not panel.model.search.is_searching)
