"""Table of the tabs of a server. Each panel is imported and created when its tab is first shown.

Loaded before the first paint: it must import little.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from inspector.qt.panels.client.panel import ClientPanel
    from inspector.qt.panels.console import ConsolePanel, RawConsole
    from inspector.qt.panels.doctor.panel import DoctorPanel
    from inspector.qt.panels.inbox.panel import InboxPanel
    from inspector.qt.panels.login.panel import LoginPanel
    from inspector.qt.panels.overview import OverviewPanel
    from inspector.qt.panels.processes.panel import ProcessPanel
    from inspector.qt.panels.prompts.panel import PromptsPanel
    from inspector.qt.panels.resources.panel import ResourcesPanel
    from inspector.qt.panels.tasks.panel import TasksPanel
    from inspector.qt.panels.tools.panel import ToolsPanel
    from inspector.qt.views.panel import Panel, PanelContext

PanelT = TypeVar("PanelT", bound="Panel")


def _none(context: PanelContext) -> int:
    return 0


class TabSpec(NamedTuple, Generic[PanelT]):
    """A tab: its panel as "module:class" in `inspector.qt`, and the count shown after the title, if any."""

    id: str
    title: str
    panel: str
    count: Callable[[PanelContext], int] = _none

    def make_panel(self, context: PanelContext) -> PanelT:
        module, _, name = self.panel.partition(":")
        panel: PanelT = getattr(importlib.import_module(f"inspector.qt.{module}"), name)(context)
        return panel

    def label(self, context: PanelContext) -> str:
        count = self.count(context)
        return f"{self.title} {count:,}" if count else self.title


OVERVIEW: TabSpec[OverviewPanel] = TabSpec("overview", "Overview", "panels.overview:OverviewPanel")
TOOLS: TabSpec[ToolsPanel] = TabSpec("tools", "Tools", "panels.tools.panel:ToolsPanel")
RESOURCES: TabSpec[ResourcesPanel] = TabSpec(
    "resources", "Resources", "panels.resources.panel:ResourcesPanel"
)
PROMPTS: TabSpec[PromptsPanel] = TabSpec("prompts", "Prompts", "panels.prompts.panel:PromptsPanel")
TASKS: TabSpec[TasksPanel] = TabSpec(
    "tasks", "Tasks", "panels.tasks.panel:TasksPanel", lambda context: len(context.running_tasks)
)
INBOX: TabSpec[InboxPanel] = TabSpec(
    "inbox", "Inbox", "panels.inbox.panel:server_inbox", lambda context: len(context.requests)
)
CLIENT: TabSpec[ClientPanel] = TabSpec("client", "Client", "panels.client.panel:ClientPanel")
AUTH: TabSpec[LoginPanel] = TabSpec("auth", "Auth", "panels.login.panel:LoginPanel")
RAW: TabSpec[RawConsole] = TabSpec("raw", "Raw", "panels.console:RawConsole")
CONSOLE: TabSpec[ConsolePanel] = TabSpec("console", "Console", "panels.console:ConsolePanel")
PROCESS: TabSpec[ProcessPanel] = TabSpec("process", "Process", "panels.processes.panel:ProcessPanel")
DOCTOR: TabSpec[DoctorPanel] = TabSpec("doctor", "Doctor", "panels.doctor.panel:DoctorPanel")

# In the order of the window. A constant above is for a panel that other code uses by type.
TABS: tuple[TabSpec[Any], ...] = (
    *(OVERVIEW, TOOLS, RESOURCES, PROMPTS, TASKS, INBOX),
    *(CLIENT, AUTH, RAW, CONSOLE, PROCESS, DOCTOR),
)
TAB_IDS = tuple(tab.id for tab in TABS)
