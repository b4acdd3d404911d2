"""The Prompts panel: the list, the arguments and the messages, side by side."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from inspector.engine.views import ServerStatus, ServerView
from inspector.protocol.handshake import Agreement
from inspector.protocol.methods import missing_capability
from inspector.protocol.types import Listing, Malformed, Prompt
from inspector.qt.actions import Actions
from inspector.qt.bridge import Bridge
from inspector.qt.forms.onelistpanel import OneListPanel
from inspector.qt.models.offered import Item, OfferedModel
from inspector.qt.models.prompts import PROMPTS
from inspector.qt.panels.prompts.getting import PromptView
from inspector.qt.theme import Theme


class PromptsPanel(OneListPanel):
    """The prompts of one server."""

    kind = "prompt"
    asked = "prompts/list"

    def __init__(
        self, bridge: Bridge, server: str, actions: Actions, theme: Theme, parent: QWidget | None = None
    ) -> None:
        self.model = OfferedModel(PROMPTS)
        super().__init__(bridge, server, actions, theme, self.model, parent)
        self.view = PromptView(bridge, server, actions, theme)
        self.list.activated.connect(self._on_activated)
        self._lay_out_beside(self.view, 220)

    def set_view(self, view: ServerView) -> None:
        self.view.set_connected(view.status is ServerStatus.CONNECTED)
        super().set_view(view)

    # --------------------------------------------------------------

    async def _fetch(self) -> Listing[Prompt]:
        return await self._bridge.list_prompts(self._server)

    def _on_connected(self, agreement: Agreement) -> None:
        missing = missing_capability("completion/complete", agreement.capabilities, agreement.revision)
        self.view.completes = not missing

    def _show_item(self, item: Item) -> None:
        if isinstance(item, Prompt):
            self.view.set_prompt(item)
        elif isinstance(item, Malformed):
            self.view.set_malformed(item)

    def _on_activated(self) -> None:
        """Handle Return on a prompt: focus its arguments, or get it if it has none."""
        rows = self.view.form.rows
        if rows:
            next(iter(rows.values())).setFocus()
        else:
            self.view.get()
