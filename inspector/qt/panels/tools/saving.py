"""Saving calls under a name, and knowing which saved call the arguments of a tool came from."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, QPoint
from PySide6.QtWidgets import QWidget

from inspector.base.errors import UserError
from inspector.base.plaintext import one_line
from inspector.config.savedcalls import SavedCall
from inspector.config.variables import Variables
from inspector.engine.byhand import ToolCall
from inspector.protocol.types import Tool
from inspector.qt.bridge import Bridge
from inspector.qt.theme import Theme
from inspector.qt.widgets.alert import Alert
from inspector.qt.widgets.notepopup import NotePopup


class Saving(QObject):
    """Of the tools of one server. How it went is said in the alert."""

    def __init__(self, bridge: Bridge, server: str, theme: Theme, alert: Alert, anchor: QWidget) -> None:
        super().__init__(anchor)
        self._bridge = bridge
        self._server = server
        self._theme = theme
        self._alert = alert
        self._anchor = anchor
        self._origins: dict[str, SavedCall] = {}

    def came_from(self, call: SavedCall) -> None:
        """The arguments of its tool are those of this call now."""
        self._origins[call.tool] = call

    async def variables(self, tool: str) -> Variables:
        """Those of the folder that the tool's arguments came from; else our own."""
        origin = self._origins.get(tool)
        folder: Path | None = origin.folder if origin is not None else None
        return await self._bridge.ask_calls(lambda calls: calls.variables(folder))

    def ask_name(self, tool: Tool) -> NotePopup:
        """A small window for the name; it says `kept` with it."""
        origin = self._origins.get(tool.name)
        name = origin.name if origin is not None else tool.title or tool.name
        popup = NotePopup(self._theme, "Save this call as", one_line(name), self._anchor)
        popup.open_at(self._anchor.mapToGlobal(QPoint(0, -4 * self._theme.row_height())))
        return popup

    def save(self, name: str, call: ToolCall) -> None:
        """Under the name that it was opened by, its file is written anew."""
        origin = self._origins.get(call.tool)
        known = origin if origin is not None and origin.name == name else SavedCall(name, call.tool)
        saved = SavedCall(
            name,
            call.tool,
            self._server,
            call.arguments,
            known.description,
            call.timeout,
            call.meta,
            known.path,
            known.stamp,
        )
        self._bridge.start(f"save {name}", self._save(saved), self)

    def refuse(self, words: str, next_step: str) -> None:
        self._alert.say("saved", f"Not saved: {words}", next_step)

    async def _save(self, call: SavedCall) -> None:
        try:
            saved = await self._bridge.ask_calls(lambda calls: calls.save(call))
        except UserError as exc:
            self.refuse(exc.summary, exc.next_step)
            return
        self._origins[saved.tool] = saved
        self._alert.say("saved", f"Saved as {one_line(str(saved.path))}", tone="ok")
