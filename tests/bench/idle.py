"""Processor time of the idle window: every tab, view and dialog, in both themes.

Opens the real window with the demo servers, goes to each place, lets it settle, and measures the
processor time of this process over three seconds. A repaint loop shows only in a window that is really
on a screen, so run this also under Xvfb (`QT_QPA_PLATFORM=xcb xvfb-run …`). The limit is 1 % of a core.
"""

from __future__ import annotations

import argparse
import asyncio
import pkgutil
import tempfile
import time
from collections.abc import AsyncIterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.qt.window.tabs import DOCTOR
from tests.bench.report import Number, Result, note
from tests.bench.windowhost import in_empty_window

if TYPE_CHECKING:
    from PySide6.QtWidgets import QDialog, QWidget

    from inspector.app.backend import App
    from inspector.app.tour.guide import Guide

MAX_PERCENT = 1.0
_SETTLE_S = 1.0
_SERVERS = ("everything", "everything (http)", "login")
_WITH_SECRET = "with a secret"
_TRAFFIC_VIEWS = ("traffic.operations", "traffic.timeline", "traffic.statistics", "traffic.frames")
_DIALOGS = (
    "server.add", "server.export", "server.drift", "server.edit", "server.secrets", "app.answers",
    "app.secrets", "app.settings", "call.manage", "call.variables", "traffic.colors", "traffic.resend",
    "traffic.compare", "capture.export", "capture.compare", "capture.kept", "help.manual", "help.news",
    "help.about", "app.palette", "call.history", "call.saved", "call.save",
)  # fmt: skip


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=3.0, help="per place (default: %(default)s)")
    parser.add_argument("--only", default="", metavar="TEXT", help="measure places whose name contains TEXT")


def run(options: argparse.Namespace) -> Result:
    async def measure(app: App) -> Result:
        return await _Measuring(app, options).run()

    return in_empty_window(measure)


class _Measuring:
    def __init__(self, app: App, options: argparse.Namespace) -> None:
        self._app = app
        self._options = options
        self._percent: dict[str, float] = {}
        self._dialogs: set[type[QDialog]] = set()

    async def run(self) -> Result:
        from inspector.app.tour.guide import Guide

        with tempfile.TemporaryDirectory() as folder:
            guide = Guide(self._app, Path(folder), Path(folder))
            await self._measure_start_page(guide)
            await _prepare(guide)
            for theme in ("light", "dark"):
                guide.do(f"theme.{theme}")
                async for place in self._places(guide):
                    await self._measure(f"{theme}: {place}")
        worst = max(self._percent, key=self._percent.__getitem__)
        missed = {kind.__name__ for kind in _dialog_classes() - self._dialogs}
        numbers: dict[str, Number] = {
            "platform": self._platform(),
            "places": len(self._percent),
            "worst": worst,
            "worst_percent": self._percent[worst],
            "dialogs_missed": ", ".join(sorted(missed)),
        }
        bars = {"idle<=1%": self._percent[worst] <= MAX_PERCENT}
        if not self._options.only:
            bars["every dialog"] = not missed
        return Result("idle", numbers, bars)

    async def _measure_start_page(self, guide: Guide) -> None:
        await guide.app.bridge.ask(lambda engine: engine.discovery.scan(guide.project))
        await guide.until("the start page", lambda: guide.window.welcome.isVisible())
        for theme in ("light", "dark"):
            guide.do(f"theme.{theme}")
            await self._measure(f"{theme}: start page")

    async def _measure(self, place: str) -> None:
        if self._options.only not in place:
            return
        await asyncio.sleep(_SETTLE_S)
        began, cpu = time.perf_counter(), time.process_time()
        await asyncio.sleep(self._options.seconds)
        share = (time.process_time() - cpu) / (time.perf_counter() - began)
        self._percent[place] = round(100 * share, 2)
        note(f"{self._percent[place]:6.2f} %  {place}")

    async def _places(self, guide: Guide) -> AsyncIterator[str]:
        """Go to every place of the window, and yield its name."""
        from inspector.qt.window.tabs import TAB_IDS

        for server in _SERVERS:
            guide.server(server)
            for tab in TAB_IDS:
                guide.do(f"view.{tab}")
                yield f"{server}, {tab}"
        guide.server("everything")
        for id in _TRAFFIC_VIEWS:
            guide.do(id)
            yield id
        async for place in self._details(guide):
            yield place
        for id in ("app.inbox", "app.found"):
            guide.do(id)
            yield id
        guide.server("everything")
        guide.do("view.tools")
        async for place in self._open_dialogs(guide):
            yield place

    async def _details(self, guide: Guide) -> AsyncIterator[str]:
        traffic = guide.window.traffic
        await _select_calls(guide, 1)
        for index in range(traffic.detail.tabs.count()):
            traffic.detail.tabs.setCurrentIndex(index)
            yield f"traffic detail, {traffic.detail.tabs.tabText(index)}"

    async def _open_dialogs(self, guide: Guide) -> AsyncIterator[str]:
        from inspector.config.servers.entry_diff import ServerListDiff
        from inspector.qt.dialogs.settings import SettingsDialog

        for id in _DIALOGS:
            guide.server(_WITH_SECRET if id == "server.secrets" else "everything")
            if id in ("traffic.resend", "traffic.compare"):
                await _select_calls(guide, 1 if id == "traffic.resend" else 2)
            await guide.until(f"{id} to be enabled", guide.window.actions_table[id].isEnabled)
            guide.do(id)
            await self._opened(guide, id)
            yield id
            for dialog in guide.window.findChildren(SettingsDialog):
                for row in range(1, dialog.sections.count()):
                    dialog.sections.setCurrentRow(row)
                    yield f"{id}, {dialog.sections.item(row).text()}"
            await self._close(guide)
        guide.window.server_list_notice.put(ServerListDiff(added=("new",)))
        guide.window.server_list_notice.open()
        await self._opened(guide, "server list changes")
        yield "server list changes"
        await self._close(guide)

    async def _opened(self, guide: Guide, what: str) -> None:
        from PySide6.QtWidgets import QDialog

        await guide.until(f"the window of {what}", lambda: _other_windows(guide))
        self._dialogs |= {type(each) for each in _other_windows(guide) if isinstance(each, QDialog)}

    async def _close(self, guide: Guide) -> None:
        for window in _other_windows(guide):
            window.close()
        await guide.until("the windows to close", lambda: not _other_windows(guide))

    def _platform(self) -> str:
        return str(self._app.frontend.qt.platformName())


async def _prepare(guide: Guide) -> None:
    """Connect the demo servers, make two calls, log in step by step, and run the Doctor."""
    from inspector.app.tour import debugging_stops
    from inspector.config.servers.entries import HttpEntry
    from inspector.engine.views import OutcomeKind, ServerStatus

    guide.app.frontend.window.demo_requested.emit()
    for name in ("everything", "library", "faulty", "everything (http)"):
        await guide.until(f"{name} to be connected", lambda: guide.status(name) is ServerStatus.CONNECTED)  # noqa: B023
    await guide.until("login", lambda: guide.status("login") is not None)
    headers = {"Authorization": "Bearer ${input:token}"}
    await guide.app.bridge.ask(
        lambda engine: engine.servers.add(
            HttpEntry(name=_WITH_SECRET, url="http://127.0.0.1:9/mcp", headers=headers)
        )
    )
    guide.server("everything")
    await guide.tool("forecast")
    for city in ("Oslo", "Lisbon"):
        guide.type_argument("city", city)
        await guide.call(OutcomeKind.RESULT)
    await debugging_stops.walk_through_a_login(guide)
    for server in _SERVERS:
        guide.server(server)
        guide.do("server.doctor")
        workspace = guide.window.workspace()
        assert workspace is not None
        panel = workspace.panel(DOCTOR)
        await guide.until("the checks", lambda: panel.report is not None and not panel.report.is_running)  # noqa: B023


async def _select_calls(guide: Guide, count: int) -> None:
    """Select the requests of the first calls in the traffic table."""
    from PySide6.QtCore import QItemSelectionModel

    panel, log = guide.window.traffic, guide.app.bridge.log
    calls = [row for row in range(len(log)) if log.method(row) == "tools/call"][:count]
    await guide.until("the calls in the table", lambda: panel.choose(calls[-1]))
    both = QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows
    for position in map(panel.model.find_row, calls):
        assert position is not None
        panel.table.selectionModel().select(panel.model.index(position, 0), both)


def _other_windows(guide: Guide) -> list[QWidget]:
    """Return the visible windows except the main window."""
    from PySide6.QtWidgets import QApplication

    return [each for each in QApplication.topLevelWidgets() if each.isVisible() and each is not guide.window]


def _dialog_classes() -> set[type[QDialog]]:
    """Return every dialog class of the application."""
    from PySide6.QtWidgets import QDialog

    import inspector.qt.dialogs

    for module in pkgutil.walk_packages(inspector.qt.dialogs.__path__, "inspector.qt.dialogs."):
        import_module(module.name)
    return {kind for kind in QDialog.__subclasses__() if kind.__module__.startswith("inspector.")}
