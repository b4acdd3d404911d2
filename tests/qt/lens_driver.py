"""The real application without a screen, with hands and eyes for a test: `Lens`."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar, overload

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QAbstractButton, QDialog, QLabel, QWidget
from pytestqt.qtbot import QtBot

from inspector.app.backend import App, shut_down
from inspector.app.main import build
from inspector.base.json.values import JSONObject
from inspector.config.paths import Files
from inspector.config.servers.entries import Entry, StdioEntry
from inspector.engine.engine import Engine
from inspector.engine.server_view import ServerView
from inspector.engine.views import CallOutcome, ServerStatus
from inspector.qt.panels.tools.panel import ToolsPanel
from inspector.qt.theme import Scheme
from inspector.qt.widgets.text.badge import Badge
from inspector.qt.window.tabs import TOOLS
from inspector.qt.window.workspace import Workspace
from inspector.traffic.records import Direction, Record

T = TypeVar("T")
DialogT = TypeVar("DialogT", bound=QDialog)

TIMEOUT = 30_000  # a busy machine is no failure
_HERE = Path(__file__).parent
FAULTS = _HERE.parent / "helpers" / "faultserver.py"


def scripted(name: str = "scripted", **script: Any) -> StdioEntry:
    """A server that follows a script: see `scripted_server.py` for the commands."""
    argument = json.dumps(script)
    args = ("-I", "-S", str(_HERE / "scripted_server.py"), argument)
    return StdioEntry(name=name, command=sys.executable, args=args, era="2025-11-25")


def faulty(name: str, *words: str) -> StdioEntry:
    """A server that misbehaves as the words say."""
    args = ("-I", "-S", str(FAULTS), *words)
    return StdioEntry(name=name, command=sys.executable, args=args, era="2025-11-25")


def visible_text(widget: QWidget) -> str:
    """Everything that labels, badges and buttons on a widget say, were it in front; a line each."""
    words: list[str] = []
    for each in widget.findChildren(QWidget):
        if each.isVisibleTo(widget):
            if isinstance(each, QLabel | QAbstractButton):
                words.append(each.text())
            elif isinstance(each, Badge):
                words.append(each.text)
    return "\n".join(words)


class Lens:
    """One built application, shown. What a person can do, and what they would look at.

    A test is a callback of the window's own loop (`play`): only there can slots start tasks. It waits in a
    nested Qt loop, which is why it must not be a task itself: asyncio enters one task at a time.
    """

    def __init__(
        self,
        bot: QtBot,
        folder: Path,
        scheme: Scheme | None,
        *,
        remembers: bool = False,
        finds: bool = False,
    ) -> None:
        self.bot = bot
        self.folder = folder
        self.server_list = folder / "servers.json"
        files = Files(
            self.server_list,
            folder / "preferences.json",
            folder / "captures",
            folder / "history",
            folder / "calls",
            folder / "secrets",
            folder / "answers.json",
            baselines=folder / "baselines" if remembers else None,
            trust=folder / "trust.json" if finds else None,
        )
        self.app: App = build(files, folder / "layout.ini", scheme)
        self.errors = _Errors()
        self.has_failed = False
        self.window = self.app.window
        self.actions = self.window.actions_table
        self.window.show()

    def play(self, test: Callable[[], object]) -> None:
        """Run a test while the window's loop runs; then close the window as a person would."""
        failures: list[BaseException] = []

        def run() -> None:
            try:
                test()
            except BaseException as exc:  # also that of pytest.skip: it is raised again outside
                failures.append(exc)
            self.app.loop.create_task(self._end())

        self.app.loop.call_soon(run)
        self.app.loop.run_forever()
        self._take_apart()
        if failures:
            self.has_failed = True
            raise failures[0]

    def close(self) -> None:
        """For one that was built but never played."""
        if not self.app.loop.is_closed():
            self.play(lambda: None)

    async def _end(self) -> None:
        try:
            self.window.close_unasked()
            await shut_down(self.app)
        finally:
            self.app.loop.stop()

    def _take_apart(self) -> None:
        self.app.loop.close()
        asyncio.set_event_loop(None)
        self.window.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        self.errors.close()

    def until(self, condition: Callable[[], object]) -> None:
        """Wait until something is so."""
        self.bot.waitUntil(lambda: bool(condition()), timeout=TIMEOUT)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What a coroutine gives."""
        task = asyncio.get_running_loop().create_task(work)
        self.until(task.done)
        return task.result()

    @overload
    def ask(self, work: Callable[[Engine], Coroutine[Any, Any, T]]) -> T: ...

    @overload
    def ask(self, work: Callable[[Engine], T]) -> T: ...

    def ask(self, work: Callable[[Engine], Any]) -> Any:
        """What work on the engine's thread gives; the window has heard everything before it."""
        return self.run(self.app.bridge.ask(work))

    def settle(self) -> None:
        """Wait until the window has heard everything that the engine has said so far."""
        self.ask(lambda engine: None)

    def add(self, entry: Entry) -> None:
        """Put a server into the list, for this run."""
        self.ask(lambda engine: engine.servers.add(entry))
        self.until(lambda: self.window.servers.model.row_of(entry.name) is not None)

    def keep(self, entry: Entry) -> None:
        """A server of the server lists."""
        self.ask(lambda engine: engine.servers.save_with_secrets(entry, {}))
        self.until(lambda: self.window.servers.model.row_of(entry.name) is not None)

    def connect(self, entry: Entry) -> ToolsPanel:
        """Add a server, go to it, connect it, wait for its tools."""
        self.add(entry)
        self.choose(entry.name)
        self.do("server.connect")
        self.wait_for(entry.name, ServerStatus.CONNECTED)
        self.until(lambda: self.tools.list.isVisibleTo(self.tools))
        return self.tools

    def choose(self, name: str) -> None:
        self.window.servers.choose(name)

    def view(self, name: str) -> ServerView:
        row = self.window.servers.model.row_of(name)
        assert row is not None, f"no server {name!r} in the list"
        return self.window.servers.model.record(row)

    def wait_for(self, name: str, status: ServerStatus) -> ServerView:
        self.until(lambda: self.view(name).status is status)
        return self.view(name)

    def do(self, command: str) -> None:
        """Use a command of the menus."""
        assert self.actions[command].isEnabled(), f"{command} cannot be used now"
        self.actions[command].trigger()

    def press(self, words: str, widget: QWidget) -> None:
        """Click the button with these words on a widget, as soon as it can be."""
        buttons = widget.findChildren(QAbstractButton)
        button = next((each for each in buttons if each.text() == words and each.isVisibleTo(widget)), None)
        assert button is not None, f"no button {words!r} there"
        self.until(button.isEnabled)
        button.click()

    @property
    def workspace(self) -> Workspace:
        workspace = self.window.workspace()
        assert workspace is not None, "no server is open"
        return workspace

    @property
    def tools(self) -> ToolsPanel:
        return self.workspace.panel(TOOLS)

    def dialogs(self, kind: type[DialogT]) -> list[DialogT]:
        """The open dialogs of a kind. Closed ones are deleted when the test has left its event: after it."""
        return [each for each in self.window.findChildren(kind) if each.isVisible()]

    def dialog(self, kind: type[DialogT]) -> DialogT:
        self.until(lambda: self.dialogs(kind))
        return self.dialogs(kind)[0]

    def call(self, tool: str, arguments: JSONObject | None = None) -> CallOutcome:
        """Call a tool of the server in front, and wait for what is shown of it. Consent is given."""
        assert self.tools.choose(tool), f"no tool {tool!r} in the list"
        if arguments is not None:
            self.tools.call_view.arguments.set_arguments(arguments)
        with self.bot.waitSignal(self.tools.call_view.result.shown, timeout=TIMEOUT) as shown:
            self.do("tool.call")
            if self.tools.call_view.alert.text("consent"):
                self.press("Call", self.tools.call_view.alert)
        outcome = shown.args[0]
        assert isinstance(outcome, CallOutcome)
        return outcome

    def records(self) -> list[Record]:
        log = self.app.bridge.log
        return [log.record(number) for number in range(len(log))]

    def sent(self, method: str) -> list[JSONObject]:
        """The params of what we sent, oldest first."""
        found = [each for each in self.records() if each.direction is Direction.OUT and each.method == method]
        return [json.loads(each.raw).get("params", {}) for each in found]


class _Errors(logging.Handler):
    """Errors of background tasks, which would go unnoticed otherwise."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []
        for name in ("inspector", "asyncio"):
            logging.getLogger(name).addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(logging.Formatter().format(record))

    def close(self) -> None:
        for name in ("inspector", "asyncio"):
            logging.getLogger(name).removeHandler(self)
        super().close()
