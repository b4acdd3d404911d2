"""A tour of the real window against the demo servers: it does the main jobs as a person would.

Each stop uses the same actions, keys and clicks that a person has, waits until what it expects is on
screen, and saves a numbered picture. A stop that does not work ends the tour with its name.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from PySide6.QtCore import QMessageLogContext, Qt, QtMsgType, qInstallMessageHandler
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from inspector.app.behind import App, shut_down
from inspector.app.demo import add_demo_servers
from inspector.app.main import build
from inspector.config.paths import Files
from inspector.engine.views import CallOutcome, OutcomeKind, ServerStatus
from inspector.qt.dialogs.addserver import AddServerDialog
from inspector.qt.panels.tools.panel import ToolsPanel
from inspector.qt.theme import Scheme

_PATIENCE = 30.0


class StopFailed(Exception):
    """A stop of the tour did not show what it should."""


class Guide:
    """What a person can do with the window, and what they would look for."""

    def __init__(self, app: App, out: Path) -> None:
        self.app = app
        self.window = app.window
        self._out = out
        self._number = 0

    async def until(self, what: str, condition: Callable[[], object]) -> None:
        """Wait until something is so; a person would give up after half a minute."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _PATIENCE
        while not condition():
            if loop.time() > deadline:
                raise StopFailed(f"waited {_PATIENCE:.0f} s in vain for: {what}")
            await asyncio.sleep(0.02)

    async def picture(self, name: str, widget: QWidget | None = None) -> None:
        """Save what is on screen, when it has settled."""
        await asyncio.sleep(0.3)
        self._number += 1
        path = self._out / f"{self._number:02d}-{name}.png"
        if not (widget or self.window).grab().save(str(path)):
            raise StopFailed(f"could not write {path}")

    def do(self, command: str) -> None:
        """Use a command of the menus."""
        action = self.window.actions_table[command]
        if not action.isEnabled():
            raise StopFailed(f"the command “{action.text()}” cannot be used")
        action.trigger()

    def server(self, name: str) -> None:
        """Click a server in the list."""
        servers = self.window.servers
        row = servers.model.row_of(name)
        if row is None:
            raise StopFailed(f"there is no server {name!r} in the list")
        at = servers.list.visualRect(servers.model.index(row)).center()
        QTest.mouseClick(servers.list.viewport(), Qt.MouseButton.LeftButton, pos=at)

    def status(self, name: str) -> ServerStatus | None:
        views = {view.name: view.status for view in self.window.servers.model.views()}
        return views.get(name)

    @property
    def tools(self) -> ToolsPanel:
        workspace = self.window.workspace()
        if workspace is None:
            raise StopFailed("no server is in front")
        return workspace.tools

    async def tool(self, name: str) -> None:
        """Find a tool by typing its name, and go to it."""
        self.do("tool.search")
        self.tools.search.clear()
        self.tools.search.settle()
        QTest.keyClicks(self.tools.search, name)
        QTest.keyClick(self.tools.search, Qt.Key.Key_Return)
        await self.until(f"the tool {name} in the list", lambda: self.tools.model.row_of(name) is not None)
        if not self.tools.choose(name):
            raise StopFailed(f"the tool {name} could not be chosen")

    async def call(self, expected: OutcomeKind) -> CallOutcome:
        """Press Call and wait for the outcome."""
        outcome = self.outcome()
        self.do("tool.call")
        got = await asyncio.wait_for(outcome, _PATIENCE)
        if got.kind is not expected:
            raise StopFailed(
                f"expected the call to end as “{expected.value}”, but it ended as “{got.kind.value}”"
            )
        return got

    def outcome(self) -> asyncio.Future[CallOutcome]:
        """The next outcome that is shown."""
        future: asyncio.Future[CallOutcome] = asyncio.get_running_loop().create_future()
        result = self.tools.call_view.result

        def take(outcome: CallOutcome) -> None:
            result.shown.disconnect(take)
            future.set_result(outcome)

        result.shown.connect(take)
        return future

    def type_argument(self, label: str, text: str) -> None:
        """Type into the field of the form that has this name."""
        fields = [box for box in self.tools.call_view.arguments.findChildren(QWidget) if box.isVisible()]
        box = next((box for box in fields if label in box.accessibleName() and _takes_text(box)), None)
        if box is None:
            raise StopFailed(f"the form has no field {label!r} to type into")
        box.setFocus()
        QTest.keyClick(box, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
        QTest.keyClicks(box, text)


def _takes_text(widget: QWidget) -> bool:
    return widget.focusPolicy() != Qt.FocusPolicy.NoFocus and hasattr(widget, "setPlaceholderText")


# ------------------------------------------------------------------ the stops


async def _welcome(guide: Guide) -> None:
    await guide.picture("welcome")


async def _connect(guide: Guide) -> None:
    await add_demo_servers(guide.app.bridge, guide.app.demo_http)
    for name in ("everything", "library", "faulty", "everything (http)"):
        await guide.until(f"{name} to be connected", lambda: guide.status(name) is ServerStatus.CONNECTED)  # noqa: B023
    guide.server("everything")
    guide.do("view.overview")
    await guide.picture("overview")


async def _call_a_tool(guide: Guide) -> None:
    await guide.tool("forecast")
    guide.type_argument("city", "Lisbon")
    await guide.call(OutcomeKind.RESULT)
    text = guide.tools.call_view.result.content.shown_text()
    if "Lisbon" not in text:
        raise StopFailed(f"the result does not speak of Lisbon: {text[:200]}")
    await guide.picture("call-a-tool")


async def _fill_a_form(guide: Guide) -> None:
    await guide.tool("args_optional")
    guide.type_argument("name", "Ada")
    await guide.call(OutcomeKind.RESULT)
    await guide.picture("form")


async def _watch_progress(guide: Guide) -> None:
    await guide.tool("slow")
    outcome = guide.outcome()
    guide.do("tool.call")
    log = guide.app.bridge.log
    await guide.until("progress", lambda: log.method(len(log) - 1) == "notifications/progress")
    await guide.picture("progress")
    guide.do("tool.cancel")
    if (await asyncio.wait_for(outcome, _PATIENCE)).kind is not OutcomeKind.CANCELLED:
        raise StopFailed("cancelling a call did not end it as cancelled")
    await guide.until("the cancel notice", lambda: _has_method(guide, "notifications/cancelled"))
    await guide.picture("cancelled")


async def _tool_error(guide: Guide) -> None:
    await guide.tool("fail")
    await guide.call(OutcomeKind.TOOL_ERROR)
    await guide.picture("tool-error")


async def _many_tools(guide: Guide) -> None:
    guide.server("library")
    guide.do("view.tools")
    await guide.until("250 tools", lambda: guide.tools.model.total == 250)
    await guide.picture("many-tools")


async def _over_http(guide: Guide) -> None:
    guide.server("everything (http)")
    await guide.tool("add_numbers")
    guide.type_argument("a", "20")
    guide.type_argument("b", "22")
    outcome = await guide.call(OutcomeKind.RESULT)
    traffic = guide.window.traffic
    row = outcome.row
    assert row is not None
    await guide.until("the call in the traffic", lambda: traffic.choose(row))
    traffic.detail.tabs.setCurrentWidget(traffic.detail.http)
    await guide.until("its HTTP exchange", lambda: "Mcp-Method" in traffic.detail.http.text.shown_text())
    await guide.picture("over-http")
    traffic.detail.tabs.setCurrentIndex(0)


async def _wire_faults(guide: Guide) -> None:
    guide.server("faulty")
    for tool in ("stray_stdout", "answers_twice", "orphan_response"):
        await guide.tool(tool)
        await guide.call(OutcomeKind.RESULT)
    traffic, log = guide.window.traffic, guide.app.bridge.log
    await guide.until("a problem in the traffic", lambda: _problems(guide))
    await guide.until("its row in the table", lambda: traffic.choose(_problems(guide)[-1]))
    await guide.until("the message in the detail", lambda: traffic.detail.message.shown_text())
    await guide.picture("wire-faults")
    assert log.problem(_problems(guide)[-1])


async def _crash(guide: Guide) -> None:
    before = len(guide.app.bridge.log)
    await guide.tool("dies_mid_call")
    outcome = await guide.call(OutcomeKind.FAILED)
    if "code 9" not in outcome.summary:
        raise StopFailed(f"the failure does not name the exit code: {outcome.summary}")
    await guide.until("the server to be failed", lambda: guide.status("faulty") is ServerStatus.FAILED)
    guide.do("view.overview")
    await guide.picture("server-died")
    guide.do("view.console")
    await guide.picture("console")
    if len(guide.app.bridge.log) < before:
        raise StopFailed("the history got shorter")


async def _reconnect(guide: Guide) -> None:
    guide.do("server.reconnect")
    await guide.until("the server to be back", lambda: guide.status("faulty") is ServerStatus.CONNECTED)


async def _search_traffic(guide: Guide) -> None:
    guide.do("traffic.search")
    QTest.keyClicks(guide.window.traffic.search, "tools/call")
    guide.window.traffic.search.settle()
    model = guide.window.traffic.model
    await guide.until("calls in the table", lambda: 0 < model.rowCount() < len(guide.app.bridge.log))
    await guide.picture("search-traffic")
    guide.window.traffic.search.clear()
    guide.window.traffic.search.settle()


async def _add_server(guide: Guide) -> None:
    guide.do("server.add")
    dialog = next(iter(guide.window.findChildren(AddServerDialog)))
    QTest.keyClicks(dialog.address, "definitely-not-installed --flag")
    await guide.picture("add-server", dialog)
    dialog.add_action.trigger()
    name = "definitely-not-installed"
    await guide.until("the failure", lambda: guide.status(name) is ServerStatus.FAILED)
    guide.server(name)
    guide.do("view.overview")
    await guide.picture("command-not-found")
    guide.do("server.remove")
    await guide.until("it to be gone", lambda: guide.status(name) is None)


async def _in_the_dark(guide: Guide) -> None:
    guide.server("everything")
    await guide.tool("forecast")
    result = guide.tools.call_view.result.content
    await guide.until("the forecast of before", lambda: "Lisbon" in result.shown_text())
    guide.do("view.dark")
    await guide.picture("dark")


def _has_method(guide: Guide, method: str) -> bool:
    log = guide.app.bridge.log
    return any(log.method(number) == method for number in range(len(log)))


def _problems(guide: Guide) -> list[int]:
    log = guide.app.bridge.log
    return [number for number in range(len(log)) if log.problem(number)]


STOPS: tuple[Callable[[Guide], Awaitable[None]], ...] = (
    _welcome,
    _connect,
    _call_a_tool,
    _fill_a_form,
    _watch_progress,
    _tool_error,
    _many_tools,
    _over_http,
    _wire_faults,
    _crash,
    _reconnect,
    _search_traffic,
    _add_server,
    _in_the_dark,
)


async def _walk(guide: Guide) -> str:
    """Every stop; gives what went wrong, or nothing."""
    for stop in STOPS:
        name = stop.__name__.strip("_").replace("_", " ")
        try:
            await stop(guide)
        except (StopFailed, TimeoutError) as exc:
            return f"The tour stopped at “{name}”: {str(exc) or 'it took too long'}"
        sys.stdout.write(f"{name}: ok\n")
        sys.stdout.flush()
    return ""


def _print_qt_message(kind: QtMsgType, context: QMessageLogContext, text: str) -> None:
    """The offscreen platform tells with every window what it cannot do; a tour does not care."""
    if not text.startswith("This plugin does not support"):
        sys.stderr.write(f"{text}\n")


def run_tour(out: Path) -> int:
    """Walk the tour and save its pictures into a folder. 0 when every stop worked."""
    out.mkdir(parents=True, exist_ok=True)
    qInstallMessageHandler(_print_qt_message)
    with tempfile.TemporaryDirectory() as scratch:
        app = build(Files(), Path(scratch) / "window.ini", Scheme.LIGHT)
        app.window.show()
        QApplication.setActiveWindow(app.window)
        failure = app.loop.run_until_complete(_walk_and_leave(app, out))
        app.loop.close()
    if failure:
        sys.stderr.write(f"{failure}\n")
        return 1
    sys.stdout.write(f"The pictures are in {out}.\n")
    return 0


async def _walk_and_leave(app: App, out: Path) -> str:
    try:
        return await _walk(Guide(app, out))
    finally:
        app.window.close()
        await shut_down(app)
