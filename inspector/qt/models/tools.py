"""What tools say about themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from PySide6.QtCore import QObject

from inspector.protocol.types import Listing, Tool
from inspector.qt.models.listnews import ListNews, Sources, list_news
from inspector.qt.models.offered import Describe, Item, OfferedModel


def _name(item: Item) -> str:
    return item.name if isinstance(item, Tool) else ""


def _note(item: Item) -> str:
    return ""


def _rest(item: Item) -> str:
    return f"{item.title}\n{item.description}" if isinstance(item, Tool) else ""


_SLICE = 500


def _only(sources: Sources, names: Iterable[str]) -> Sources:
    return {name: sources[name] for name in names if name in sources}


TOOLS = Describe(_name, _name, _note, _rest)


class ToolsModel(OfferedModel):
    """The tools of one server that fit what is typed into the search field."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(TOOLS, parent)

    def set_listing(self, listing: Listing[Tool]) -> None:
        self.set_items(listing.items, listing.malformed)

    async def news_soon(self) -> ListNews:
        """`news`, worked out in slices: comparing the schemas of ten thousand tools takes a while."""
        before, now = self._before, self._keyed()
        self._sources = {name: item.source for name, item in now.items() if isinstance(item, Tool)}
        if before is None:
            return ListNews()
        after, parts = self._sources, []
        names = list(dict.fromkeys((*after, *before)))
        for start in range(0, len(names), _SLICE):
            some = names[start : start + _SLICE]
            parts.append(list_news(_only(before, some), _only(after, some)))
            await asyncio.sleep(0)
        return ListNews(
            tuple(name for part in parts for name in part.added),
            tuple(name for part in parts for name in part.removed),
            tuple(name for part in parts for name in part.changed),
        )

    def tools(self) -> Sequence[Tool]:
        """All of them, whatever is searched for."""
        return [item for item in self._all if isinstance(item, Tool)]
