"""An Inbox panel with the real engine and a server that sends the requests a test wants."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, QUrl

from inspector.base.json.values import JSON, JSONObject
from inspector.config.servers.entries import StdioEntry
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.inbox.views import InboxRequest
from inspector.engine.views import CallOutcome, ServerStatus
from inspector.qt.link_opener import LinkOpener
from inspector.qt.panels.inbox.elicitation import FormSection, UrlSection
from inspector.qt.panels.inbox.panel import InboxPanel, RequestViewCache
from inspector.qt.panels.inbox.request_view import RequestView
from inspector.qt.panels.inbox.sampling import SamplingSection
from inspector.qt.panels.inbox.section import Section
from tests.qt.lens_driver import Lens, visible_text

_SERVER = Path(__file__).with_name("requesting_server.py")
FORM, SAMPLING = "elicitation/create", "sampling/createMessage"


def requesting_server(name: str = "asking", era: str = "2025-11-25") -> StdioEntry:
    return StdioEntry(name=name, command=sys.executable, args=("-I", "-S", str(_SERVER)), era=era)


def form(message: str = "Your name?", required: tuple[str, ...] = (), **properties: JSON) -> JSONObject:
    schema: JSONObject = {"type": "object", "properties": properties or {"name": {"type": "string"}}}
    if required:
        schema["required"] = list(required)
    return {"method": FORM, "params": {"message": message, "requestedSchema": schema}}


def page(url: str = "https://pages.test/a?b=c", id: str = "e1") -> JSONObject:
    params: JSONObject = {"mode": "url", "message": "Log in", "url": url, "elicitationId": id}
    return {"method": FORM, "params": params}


def sampling(text: str = "2 + 2?", **more: JSON) -> JSONObject:
    messages: JSON = [{"role": "user", "content": {"type": "text", "text": text}}]
    return {"method": SAMPLING, "params": {"messages": messages, "maxTokens": 100, **more}}


class InboxStage:
    """`opened` are the URLs opened in the browser; `browser_works` is False if there is none."""

    def __init__(self, lens: Lens, *servers: StdioEntry) -> None:
        self.lens = lens
        self.opened: list[str] = []
        self.browser_works = True
        bridge, theme = lens.app.bridge, lens.app.frontend.theme
        self.opener = LinkOpener(self._launch)
        self.view_cache = RequestViewCache(bridge, theme, self.opener, lens.window)
        for entry in servers or (requesting_server(),):
            lens.add(entry)
            lens.choose(entry.name)
            lens.do("server.connect")
            lens.wait_for(entry.name, ServerStatus.CONNECTED)
        self.panel = self.open()

    def open(self, server: str | None = None) -> InboxPanel:
        """Open another panel with the same requests."""
        bridge, theme = self.lens.app.bridge, self.lens.app.frontend.theme
        panel = InboxPanel(bridge, theme, self.opener, server, self.view_cache, self.lens.window)
        panel.setWindowFlag(Qt.WindowType.Window)  # in front, and deleted with the window
        panel.resize(1100, 700)
        panel.show()
        panel.activateWindow()
        self.lens.settle()
        return panel

    def _launch(self, url: QUrl) -> bool:
        self.opened.append(url.toString())
        return self.browser_works

    def call(self, server: str = "asking", tool: str = "ask", **arguments: JSON) -> asyncio.Task[CallOutcome]:
        """Start a call in the background."""
        work = self.lens.app.bridge.ask(
            lambda engine: engine.tool_caller.call(server, ToolCall(tool, arguments))
        )
        return asyncio.get_running_loop().create_task(work)

    def replies(self, call: asyncio.Task[CallOutcome]) -> Any:
        """Return the replies that the server received, from the result of its call."""
        self.lens.until(call.done)
        result = json.loads(call.result().response)["result"]
        return json.loads(result["content"][0]["text"])

    def wait_for(self, count: int, panel: InboxPanel | None = None) -> tuple[InboxRequest, ...]:
        """Wait for this number of pending requests."""
        shown = panel or self.panel
        self.lens.until(lambda: shown.count == count)
        return shown.model.open_requests

    @property
    def view(self) -> RequestView:
        view = self.panel.request_view
        assert view is not None, "no request is shown"
        return view

    def section(self, key: str | None = None) -> Section:
        """Return a section of the shown request; without a key, the only one."""
        return next(iter(self.view.sections.values())) if key is None else self.view.sections[key]

    def form(self, key: str | None = None) -> FormSection:
        section = self.section(key)
        assert isinstance(section, FormSection)
        return section

    def page(self, key: str | None = None) -> UrlSection:
        section = self.section(key)
        assert isinstance(section, UrlSection)
        return section

    def sampling(self, key: str | None = None) -> SamplingSection:
        section = self.section(key)
        assert isinstance(section, SamplingSection)
        return section

    def press(self, label: str) -> None:
        self.lens.press(label, self.view)

    def text(self) -> str:
        return visible_text(self.view)

    def earlier(self) -> list[InboxRequest]:
        """Return the ended requests, the latest first."""
        inbox_requests = (self.panel.model.inbox_request(row) for row in range(self.panel.model.rowCount()))
        return [
            inbox_request
            for inbox_request in inbox_requests
            if inbox_request is not None and not inbox_request.is_open
        ]
