"""What tools say about themselves."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject

from inspector.protocol.types import Tool
from inspector.qt.models.offered import Describe, Item, OfferedModel


def _name(item: Item) -> str:
    return item.name if isinstance(item, Tool) else ""


def _note(item: Item) -> str:
    return ""


def _rest(item: Item) -> str:
    return f"{item.title}\n{item.description}" if isinstance(item, Tool) else ""


TOOLS = Describe(_name, _name, _note, _rest)


class ToolsModel(OfferedModel):
    """The tools of one server that match the search."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(TOOLS, parent)

    def tools(self) -> Sequence[Tool]:
        """Return all tools, whatever the search."""
        return [item for item in self.all_items() if isinstance(item, Tool)]
