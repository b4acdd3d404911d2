"""The Tools panel: the list, the call and the result, side by side."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from inspector.base.plaintext import one_line
from inspector.config.savedcalls import SavedCall
from inspector.engine.views import ServerStatus, ServerView
from inspector.protocol.types import Listing, Malformed, Tool
from inspector.qt.actions import Actions
from inspector.qt.bridge import Bridge
from inspector.qt.forms.onelistpanel import OneListPanel
from inspector.qt.models.offered import Item
from inspector.qt.models.tools import ToolsModel
from inspector.qt.panels.tools.call import CallView
from inspector.qt.theme import Theme


class ToolsPanel(OneListPanel):
    """The tools of one server."""

    kind = "tool"
    asked = "tools/list"

    def __init__(
        self, bridge: Bridge, server: str, actions: Actions, theme: Theme, parent: QWidget | None = None
    ) -> None:
        self.model = ToolsModel()
        super().__init__(bridge, server, actions, theme, self.model, parent)
        self._wanted_call: SavedCall | None = None
        self.call_view = CallView(bridge, server, actions, theme)
        self.call_view.saved_picked.connect(self.open_saved)
        self._lay_out_beside(self.call_view, 240)

    def set_view(self, view: ServerView) -> None:
        self.call_view.set_connected(view.status is ServerStatus.CONNECTED, view.agreement)
        self.call_view.drawer.options.set_our_side(view.ours)
        super().set_view(view)

    def open_saved(self, call: SavedCall) -> None:
        """Select a saved call's tool and load its arguments."""
        self._wanted_call = call
        self.choose_soon(call.tool)
        if self._wanted and self.total:
            words = f"The server has no tool “{one_line(call.tool)}”, which “{one_line(call.name)}” is for."
            self.call_view.alert.say("saved", words)

    # --------------------------------------------------------------

    async def _fetch(self) -> Listing[Tool]:
        return await self._bridge.list_tools(self._server)

    def _show_item(self, item: Item) -> None:
        if isinstance(item, Tool):
            self.call_view.set_tool(item)
        elif isinstance(item, Malformed):
            self.call_view.set_malformed(item)

    def _show_nothing(self) -> None:
        self.call_view.set_nothing()

    def _on_chosen_soon(self, name: str) -> None:
        if (call := self._wanted_call) is not None and call.tool == name:
            self._wanted_call = None
            self.call_view.put_saved(call)
