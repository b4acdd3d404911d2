"""Saving calls under a name, and knowing which saved call the arguments of a tool came from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from inspector.base.errors import UserError
from inspector.base.plaintext import one_line
from inspector.config.savedcalls import ChangedElsewhere, SavedCall
from inspector.config.variables import Variables
from inspector.engine.byhand import ToolCall
from inspector.protocol.types import Tool
from inspector.qt.bridge import Bridge
from inspector.qt.panels.tools.savepopup import SavePopup
from inspector.qt.theme import Theme
from inspector.qt.widgets.alert import Alert


class Saving(QObject):
    """Saves calls of one server's tools. Results are reported in the alert."""

    def __init__(self, bridge: Bridge, server: str, theme: Theme, alert: Alert, anchor: QWidget) -> None:
        super().__init__(anchor)
        self._bridge = bridge
        self._server = server
        self._theme = theme
        self._alert = alert
        self._anchor = anchor
        self._origins: dict[str, SavedCall] = {}
        self.popup: SavePopup | None = None

    def came_from(self, call: SavedCall) -> None:
        """Remember that the tool's arguments come from this call."""
        self._origins[call.tool] = call

    def folder_of(self, tool: str) -> Path | None:
        origin = self._origins.get(tool)
        return origin.folder if origin is not None else None

    async def variables(self, tool: str) -> Variables:
        """Return the variables of the folder the arguments came from; else of the default folder."""
        folder = self.folder_of(tool)
        return await self._bridge.ask_calls(lambda calls: calls.variables(folder))

    def ask(self, tool: Tool, keep: Callable[[str, str, Path | None, bool], None]) -> None:
        """Ask for a name, a description and, if there are several, the folder."""
        self._bridge.start(f"save a call of {tool.name}", self._ask(tool, keep), self)

    async def _ask(self, tool: Tool, keep: Callable[[str, str, Path | None, bool], None]) -> None:
        folders = await self._bridge.ask_calls(lambda calls: calls.saved())
        known = self._origins.get(tool.name) or SavedCall(tool.title or tool.name, tool.name)
        popup = self.popup = SavePopup(self._theme, known, folders, self._anchor)
        popup.closed.connect(self._on_closed)
        popup.kept.connect(keep)
        popup.open_above(self._anchor)

    def _on_closed(self) -> None:
        self.popup = None

    def save(
        self,
        name: str,
        call: ToolCall,
        description: str | None = None,
        folder: Path | None = None,
        watch: bool | None = None,
    ) -> None:
        """Save a call. Under its original name, the file is overwritten.

        None for `description`, `folder` or `watch` keeps the saved value.
        """
        origin = self._origins.get(call.tool)
        is_same = origin is not None and origin.name == name and folder in (None, origin.folder)
        known = origin if origin is not None and is_same else SavedCall(name, call.tool)
        saved = SavedCall(
            name,
            call.tool,
            self._server,
            call.arguments,
            known.description if description is None else description,
            call.timeout,
            call.total,
            call.meta,
            call.as_task,
            call.capabilities,
            known.path,
            known.stamp,
            known.watch if watch is None else watch,
            known.ignore,
        )
        self._save_soon(saved, folder)

    def refuse(self, words: str, next_step: str, actions: Sequence[QAction] = ()) -> None:
        self._alert.say("saved", f"Not saved: {words}", next_step, actions)

    def _save_soon(self, call: SavedCall, folder: Path | None, *, overwrite: bool = False) -> None:
        self._alert.close_about("saved")
        self._bridge.start(f"save {call.name}", self._save(call, folder, overwrite=overwrite), self)

    async def _save(self, call: SavedCall, folder: Path | None, *, overwrite: bool) -> None:
        try:
            saved = await self._bridge.ask_calls(lambda calls: calls.save(call, folder, overwrite=overwrite))
            if saved.watch:
                await self._bridge.ask_calls(lambda calls: calls.allow(saved))
        except ChangedElsewhere as exc:
            again = QAction("Overwrite", self)
            again.triggered.connect(lambda: self._save_soon(call, folder, overwrite=True))
            self.refuse(exc.summary, exc.next_step, [again])
        except UserError as exc:
            self.refuse(exc.summary, exc.next_step)
        else:
            self._origins[saved.tool] = saved
            self._alert.say("saved", f"Saved as {one_line(str(saved.path))}", tone="ok")
