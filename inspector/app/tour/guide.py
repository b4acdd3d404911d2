"""Driver of the tour: user actions on the window, and waiting for their results."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QBuffer, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QWidget

from inspector.app.backend import App
from inspector.base.atomic_file import replace_file
from inspector.engine.views import CallOutcome, OutcomeKind, ServerStatus
from inspector.qt.panels.tools.panel import ToolsPanel
from inspector.qt.window.tabs import TOOLS

TIMEOUT = 30.0


class StopFailed(Exception):
    """A tour stop did not show what it should."""


class Guide:
    """Drives the window like a user: clicks, types, and waits for what should appear.

    The user works in the `project` folder.
    """

    def __init__(self, app: App, out: Path, project: Path) -> None:
        self.app = app
        self.project = project
        self.window = app.window
        self._out = out
        self._number = 0

    async def until(self, what: str, condition: Callable[[], object]) -> None:
        """Wait until a condition holds. Raises `StopFailed` after half a minute."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + TIMEOUT
        while not condition():
            if loop.time() > deadline:
                raise StopFailed(f"timed out after {TIMEOUT:.0f} s waiting for: {what}")
            await asyncio.sleep(0.02)

    async def screenshot(self, name: str, widget: QWidget | None = None) -> None:
        """Save a screenshot once the screen has settled."""
        await asyncio.sleep(0.3)
        self._number += 1
        path = self._out / f"{self._number:02d}-{name}.png"
        buffer = QBuffer()
        (widget or self.window).grab().save(buffer, "PNG")
        try:
            replace_file(path, bytes(buffer.data().data()), is_private=False)
        except OSError as exc:
            raise StopFailed(f"could not write {path}: {exc.strerror}") from exc

    def do(self, command: str) -> None:
        """Trigger a menu command."""
        action = self.window.actions_table[command]
        if not action.isEnabled():
            raise StopFailed(f"the command “{action.text()}” is disabled")
        action.trigger()

    async def press(self, text: str, parent: QWidget) -> None:
        """Click the button with this text, once it is enabled."""

        def buttons() -> list[QAbstractButton]:
            found = parent.findChildren(QAbstractButton)
            return [each for each in found if each.text() == text and each.isVisible() and each.isEnabled()]

        await self.until(f"the button “{text}”", buttons)
        QTest.mouseClick(buttons()[0], Qt.MouseButton.LeftButton)

    def server(self, name: str) -> None:
        """Click a server in the list."""
        servers = self.window.servers
        row = servers.model.row_of(name)
        if row is None:
            raise StopFailed(f"no server named {name!r} in the server list")
        at = servers.list.visualRect(servers.model.index(row, 0)).center()
        QTest.mouseClick(servers.list.viewport(), Qt.MouseButton.LeftButton, pos=at)

    def status(self, name: str) -> ServerStatus | None:
        views = {view.name: view.status for view in self.window.servers.model.views()}
        return views.get(name)

    @property
    def tools(self) -> ToolsPanel:
        workspace = self.window.workspace()
        if workspace is None:
            raise StopFailed("no server is open")
        return workspace.panel(TOOLS)

    async def tool(self, name: str) -> None:
        """Search for a tool by name and select it."""
        self.do("tool.search")
        self.tools.search.clear()
        self.tools.search.settle()
        QTest.keyClicks(self.tools.search, name)
        QTest.keyClick(self.tools.search, Qt.Key.Key_Return)
        await self.until(f"the tool {name} in the list", lambda: self.tools.model.row_of(name) is not None)
        if not self.tools.choose(name):
            raise StopFailed(f"could not select the tool {name}")
        # The list is filled a moment before it is shown.
        await self.until(f"the form for {name}", self.tools.call_view.arguments.isVisible)

    async def call(self, expected: OutcomeKind) -> CallOutcome:
        """Press Call and wait for the result."""
        await self.until("Call to be enabled", self.window.actions_table["tool.call"].isEnabled)
        outcome = self.outcome()
        self.do("tool.call")
        ended = await asyncio.wait_for(outcome, TIMEOUT)
        if ended.kind is not expected:
            raise StopFailed(
                f"expected the call to end as “{expected.value}”, but it ended as “{ended.kind.value}”"
            )
        return ended

    def outcome(self) -> asyncio.Future[CallOutcome]:
        """Return a future for the next result shown, ignoring older ones that are shown again."""
        future: asyncio.Future[CallOutcome] = asyncio.get_running_loop().create_future()
        result, since = self.tools.call_view.result, len(self.app.bridge.log)

        def on_shown(outcome: CallOutcome) -> None:
            if outcome.row is not None and outcome.row < since:
                return
            result.shown.disconnect(on_shown)
            future.set_result(outcome)

        result.shown.connect(on_shown)
        return future

    def type_argument(self, label: str, text: str) -> None:
        """Type into the form field with this label."""
        fields = [box for box in self.tools.call_view.arguments.findChildren(QWidget) if box.isVisible()]
        box = next((box for box in fields if label in box.accessibleName() and _accepts_text(box)), None)
        if box is None:
            raise StopFailed(f"the form has no text field {label!r}")
        box.setFocus()
        QTest.keyClick(box, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
        QTest.keyClicks(box, text)


def _accepts_text(widget: QWidget) -> bool:
    return widget.focusPolicy() != Qt.FocusPolicy.NoFocus and hasattr(widget, "setPlaceholderText")
