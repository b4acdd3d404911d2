"""Helpers for tests of the Resources panel."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex

from inspector.config.servers.entries import StdioEntry
from inspector.qt.panels.resources.contents_view import ReadResult
from inspector.qt.panels.resources.panel import ResourcesPanel
from tests.qt.features.feature_stage import feature_server
from tests.qt.lens_driver import TIMEOUT, Lens

RESOURCE_LIST = [
    {"uri": "file:///home/ada/notes.md", "name": "notes", "title": "Notes", "mimeType": "text/markdown"},
    {"uri": "file:///home/ada/data/a.csv", "name": "a.csv", "description": "Numbers of the engine"},
    {"uri": "counter://it", "name": "it"},
]
TEMPLATE_LIST = [
    {"uriTemplate": "book://{author}/{title}", "name": "book", "title": "Book"},
    {"uriTemplate": "find://all{?q,tags*}", "name": "find"},
]
COMPLETIONS = {"author": ["Ada", "Alan", "Grace"], "title": ["Notes on the Engine"]}


def resource_server(**script: Any) -> StdioEntry:
    return feature_server(
        **{"resources": RESOURCE_LIST, "templates": TEMPLATE_LIST, "completions": COMPLETIONS, **script}
    )


def rows(model: QAbstractItemModel, parent: QModelIndex | None = None) -> list[Any]:
    parent = parent or QModelIndex()
    return [model.index(row, 0, parent).data() for row in range(model.rowCount(parent))]


def go_to(panel: ResourcesPanel, uri: str) -> None:
    row = panel.lists.resources.row_of(uri)
    assert row is not None, f"{uri} is not in the list"
    panel.lists.list.setCurrentIndex(panel.lists.resources.index(row))


def go_to_template(panel: ResourcesPanel, position: int) -> None:
    panel.lists.template_list.setCurrentIndex(panel.lists.templates.index(position))


def read(lens: Lens, panel: ResourcesPanel, uri: str = "") -> ReadResult:
    """Read the selected resource, or a listed URI, and wait until it is shown."""
    if uri:
        go_to(panel, uri)
    with lens.bot.waitSignal(panel.contents.shown, timeout=TIMEOUT) as shown:
        lens.do("resource.read")
    assert shown.args is not None
    reading = shown.args[0]
    assert isinstance(reading, ReadResult)
    return reading


def read_aside(lens: Lens, uri: str) -> None:
    """Read a resource without the panel, to trigger an effect in the server."""
    lens.ask(lambda engine: engine.read_resource("features", uri))
