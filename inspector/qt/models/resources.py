"""Tree model of resources by URI (scheme, authority, path segments), and their display texts.

Nodes are created when their parent is expanded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, Qt

from inspector.base.json.values import JSON, JSONObject, excerpt
from inspector.base.plain_text import one_line
from inspector.base.units import plural, size
from inspector.protocol.types import Malformed, Resource, ResourceTemplate
from inspector.qt.models.feature_list import FeatureListModel, Item, ItemTexts, NoteRole, ToneRole
from inspector.qt.models.record_table import Index

_RESOURCE_TYPES = (Resource, ResourceTemplate)

_ROOT = 2**32 - 1
_MAX_CACHED = 50_000
_SLICE = 2_000

_MEMBERS = (("Name", "name"), ("Type", "mimeType"))
_ANNOTATIONS = {"audience": "Audience", "priority": "Priority", "lastModified": "Last modified"}


class ResourceTreeModel(QAbstractItemModel):
    """The rows of a FeatureListModel as a URI tree. Folders with a single subfolder are merged."""

    def __init__(self, features: FeatureListModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._features = features
        self._items: Sequence[Item] = ()
        self._parts: list[list[str]] = []
        self._parts_cache: dict[str, list[str]] = {}
        self._nodes: list[_Node] = []
        self._top: list[int] = []

    def rebuild(self) -> None:
        self.beginResetModel()
        self._items = self._features.items()
        self._parts = [self._parts_of(item) for item in self._items]
        self._nodes = []
        usable = [position for position, parts in enumerate(self._parts) if parts]
        self._top = self._make_children(_ROOT, usable, 0)
        for position, item in enumerate(self._items):
            if isinstance(item, Malformed):
                self._top.append(self._add(_ROOT, len(self._top), "", [position], 0, position))
        self.endResetModel()

    async def split_uris(self, items: Sequence[Item]) -> None:
        """Split the URIs of a long list in slices, before the tree is built."""
        for start in range(0, len(items), _SLICE):
            for item in items[start : start + _SLICE]:
                self._parts_of(item)
            await asyncio.sleep(0)

    def _parts_of(self, item: Item) -> list[str]:
        """Return an item's URI parts, cached across rebuilds: every search rebuilds the tree."""
        if not isinstance(item, Resource):
            return []
        parts = self._parts_cache.get(item.uri)
        if parts is None:
            if len(self._parts_cache) > _MAX_CACHED:
                self._parts_cache.clear()
            parts = self._parts_cache[item.uri] = uri_parts(item.uri)
        return parts

    def item(self, index: Index) -> Item | None:
        """Return the resource on a row; None for a folder."""
        position = self._nodes[index.internalId()].item if index.isValid() else None
        return self._items[position] if position is not None else None

    def index_of(self, key: str) -> QModelIndex:
        """Return the index of a resource, creating its parents."""
        position, nodes = self._features.row_of(key), self._top
        while position is not None:
            at = next((node for node in nodes if position in self._nodes[node].items), None)
            if at is None:
                break
            if self._nodes[at].item is not None:
                return self.createIndex(self._nodes[at].row, 0, at)
            nodes = self._children(at)
        return QModelIndex()

    def folders(self, parent: Index | None = None) -> Iterator[tuple[str, QModelIndex]]:
        """Yield the URI prefix and index of each subfolder of `parent`, or of each top-level folder."""
        for row, at in enumerate(self._children_of(parent)):
            node = self._nodes[at]
            if node.item is None:
                yield "".join(self._parts[node.items[0]][: node.depth]), self.createIndex(row, 0, at)

    def index(self, row: int, column: int, parent: Index | None = None) -> QModelIndex:
        children = self._children_of(parent)
        if column != 0 or not 0 <= row < len(children):
            return QModelIndex()
        return self.createIndex(row, 0, children[row])

    def parent(self, index: Index) -> QModelIndex:  # type: ignore[override]
        at = self._nodes[index.internalId()].parent if index.isValid() else _ROOT
        return QModelIndex() if at == _ROOT else self.createIndex(self._nodes[at].row, 0, at)

    def rowCount(self, parent: Index | None = None) -> int:
        return len(self._children_of(parent))

    def columnCount(self, parent: Index | None = None) -> int:
        return 1

    def hasChildren(self, parent: Index | None = None) -> bool:
        if parent is None or not parent.isValid():
            return bool(self._top)
        return self._nodes[parent.internalId()].item is None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        node = self._nodes[index.internalId()]
        if node.item is None:
            return self._folder_data(node, role)
        item = self._items[node.item]
        if role == Qt.ItemDataRole.DisplayRole and not isinstance(item, Malformed):
            return node.label
        return self._features.item_data(item, role)

    def _folder_data(self, node: _Node, role: int) -> object:
        if role == Qt.ItemDataRole.DisplayRole:
            return node.label
        if role == NoteRole:
            return f"{len(node.items):,}"
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{node.label}, {plural(len(node.items), 'resource')}"
        return "muted" if role == ToneRole else None

    def _children_of(self, parent: Index | None) -> list[int]:
        if parent is None or not parent.isValid():
            return self._top
        return self._children(parent.internalId())

    def _children(self, at: int) -> list[int]:
        node = self._nodes[at]
        if node.children is None:
            node.children = [] if node.item is not None else self._make_children(at, node.items, node.depth)
        return node.children

    def _make_children(self, parent: int, items: list[int], depth: int) -> list[int]:
        """Create one folder per distinct next URI part, with the resources among them.

        Both are in order of first appearance.
        """
        folders: dict[str, int] = {}
        children: list[int] = []
        for position in items:
            parts = self._parts[position]
            if len(parts) == depth + 1:
                children.append(
                    self._add(parent, len(children), parts[depth], [position], depth + 1, position)
                )
            elif parts[depth] in folders:
                self._nodes[folders[parts[depth]]].items.append(position)
            else:
                at = self._add(parent, len(children), parts[depth], [position], depth + 1)
                folders[parts[depth]] = at
                children.append(at)
        for at in folders.values():
            self._merge_single_folders(self._nodes[at])
        return children

    def _merge_single_folders(self, node: _Node) -> None:
        first = self._parts[node.items[0]]
        while len(first) > node.depth + 1 and all(
            len(self._parts[position]) > node.depth + 1
            and self._parts[position][node.depth] == first[node.depth]
            for position in node.items
        ):
            node.label += one_line(first[node.depth])
            node.depth += 1

    def _add(
        self, parent: int, row: int, label: str, items: list[int], depth: int, item: int | None = None
    ) -> int:
        self._nodes.append(_Node(parent, row, one_line(label), items, depth, item))
        return len(self._nodes) - 1


@dataclass(eq=False, slots=True)
class _Node:
    """A folder of `items` whose URIs share their first `depth` parts, or a single item."""

    parent: int
    row: int
    label: str
    items: list[int]
    depth: int
    item: int | None = None
    children: list[int] | None = field(default=None)


def uri_parts(uri: str) -> list[str]:
    """Split a URI: `file:///a/b.txt` -> `file://`, `/`, `a/`, `b.txt`.

    Joining the parts restores the URI; a query is never split. Uses plain string methods for speed: the
    user may be waiting for the tree of ten thousand URIs.
    """
    scheme, colon, rest = uri.partition(":")
    if not colon:
        return [uri]
    slashes = "//" if rest.startswith("//") else ""
    path, tail = _split_query(rest.removeprefix(slashes))
    *folders, last = path.split("/")
    parts = [f"{scheme}:{slashes}", *[f"{folder}/" for folder in folders]]
    if last:
        parts.append(last)
    if tail:
        parts[1:] = [*parts[1:-1], parts[-1] + tail] if len(parts) > 1 else [tail]
    return parts


def _split_query(path: str) -> tuple[str, str]:
    """Split off a query or fragment."""
    if "?" not in path and "#" not in path:
        return path, ""
    position = min(position for position in (path.find("?"), path.find("#")) if position >= 0)
    return path[:position], path[position:]


def _uri(item: Item) -> str:
    if isinstance(item, ResourceTemplate):
        return item.uri_template
    return item.uri if isinstance(item, Resource) else ""


def _text(item: Item) -> str:
    return (item.title or item.name or _uri(item)) if isinstance(item, _RESOURCE_TYPES) else ""


def _note(item: Item) -> str:
    return short_type(item.mime_type) if isinstance(item, _RESOURCE_TYPES) else ""


def _search_text(item: Item) -> str:
    if not isinstance(item, _RESOURCE_TYPES):
        return ""
    return f"{item.name}\n{_uri(item)}\n{item.mime_type}\n{item.description}"


RESOURCES = ItemTexts(_uri, _text, _note, _search_text)
TEMPLATES = ItemTexts(_uri, _text, _uri, _search_text)


def short_type(mime_type: str) -> str:
    """Shorten a MIME type: `text/markdown; charset=utf-8` -> `markdown`."""
    bare = mime_type.partition(";")[0].strip()
    return bare.rpartition("/")[2].removeprefix("x-") or bare


def facts_of(source: JSONObject) -> list[tuple[str, str]]:
    """Return labeled facts about a resource or template besides URI, title and description."""
    facts = [(label, _string(source.get(member))) for label, member in _MEMBERS]
    facts.append(("Size", _size(source.get("size"))))
    annotations = source.get("annotations")
    if isinstance(annotations, dict):
        facts += [
            (_ANNOTATIONS.get(name, name), _annotation(name, value)) for name, value in annotations.items()
        ]
    return [(label, value) for label, value in facts if value]


def _string(value: JSON) -> str:
    return "" if value is None else excerpt(value, 200)


def _size(value: JSON) -> str:
    if type(value) is int and value >= 0:
        return size(value) if value < 1024 else f"{size(value)} ({value:,} bytes)"
    return _string(value)


def _annotation(name: str, value: JSON) -> str:
    if name == "audience" and isinstance(value, list):
        return ", ".join(excerpt(each, 40) for each in value[:10])
    if name == "lastModified" and isinstance(value, str):
        return _local_time(value)
    return _string(value)


def _local_time(text: str) -> str:
    """Format a time in the local zone; return unparsable text as sent."""
    try:
        return f"{datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return excerpt(text, 80)
