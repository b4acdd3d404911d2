"""Resources as a tree of their URIs: scheme, authority, the folders of the path. Made as it is opened."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, Qt

from inspector.base.plaintext import one_line
from inspector.base.units import plural
from inspector.protocol.types import Malformed, Resource
from inspector.qt.models.logrows import Index
from inspector.qt.models.offered import Item, NoteRole, OfferedModel, ToneRole

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*:(?://)?)([^/?#]*/?)(.*)", re.DOTALL)
_ROOT = 2**32 - 1


@dataclass(eq=False, slots=True)
class _Node:
    """A folder of `items`, whose URIs agree in their first `depth` parts; or one item."""

    parent: int
    row: int
    label: str
    items: list[int]
    depth: int
    item: int | None = None
    children: list[int] | None = field(default=None)


class ResourceTreeModel(QAbstractItemModel):
    """The rows of an OfferedModel, by their URIs. A folder that holds only one folder is one row with it."""

    def __init__(self, offered: OfferedModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._offered = offered
        self._items: Sequence[Item] = ()
        self._parts: list[list[str]] = []
        self._nodes: list[_Node] = []
        self._top: list[int] = []

    def rebuild(self) -> None:
        """The list is another one."""
        self.beginResetModel()
        self._items = self._offered.items()
        self._parts = [uri_parts(item.uri) if isinstance(item, Resource) else [] for item in self._items]
        self._nodes = []
        usable = [place for place, parts in enumerate(self._parts) if parts]
        self._top = self._make_children(_ROOT, usable, 0)
        for place, item in enumerate(self._items):
            if isinstance(item, Malformed):
                self._top.append(self._add(_ROOT, len(self._top), "", [place], 0, place))
        self.endResetModel()

    def repaint(self) -> None:
        """Marks are other ones."""
        self.layoutChanged.emit()

    def item(self, index: Index) -> Item | None:
        """The resource on a row; None for a folder."""
        place = self._nodes[index.internalId()].item if index.isValid() else None
        return self._items[place] if place is not None else None

    def index_of(self, key: str) -> QModelIndex:
        """The row of a resource; what leads there is made."""
        at, row = _ROOT, self._top
        while True:
            found = next((each for each in row if self._leads_to(each, key)), None)
            if found is None:
                return QModelIndex()
            at = found
            if self._nodes[at].item is not None:
                return self.createIndex(self._nodes[at].row, 0, at)
            row = self._children(at)

    # -------------------------------------------------------------- Qt's questions

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
        return self._offered.item_data(item, role)

    def _folder_data(self, node: _Node, role: int) -> object:
        if role == Qt.ItemDataRole.DisplayRole:
            return node.label
        if role == NoteRole:
            return f"{len(node.items):,}"
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{node.label}, {plural(len(node.items), 'resource')}"
        return "muted" if role == ToneRole else None

    # -------------------------------------------------------------- made when opened

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
        """Folders by their next part, in the order in which they are met; resources at their place."""
        folders: dict[str, int] = {}
        made: list[int] = []
        for place in items:
            parts = self._parts[place]
            if len(parts) == depth + 1:
                made.append(self._add(parent, len(made), parts[depth], [place], depth + 1, place))
            elif parts[depth] in folders:
                self._nodes[folders[parts[depth]]].items.append(place)
            else:
                at = self._add(parent, len(made), parts[depth], [place], depth + 1)
                folders[parts[depth]] = at
                made.append(at)
        for at in folders.values():
            self._join_chain(self._nodes[at])
        return made

    def _join_chain(self, node: _Node) -> None:
        first = self._parts[node.items[0]]
        while len(first) > node.depth + 1 and all(
            len(self._parts[place]) > node.depth + 1 and self._parts[place][node.depth] == first[node.depth]
            for place in node.items
        ):
            node.label += one_line(first[node.depth])
            node.depth += 1

    def _add(
        self, parent: int, row: int, label: str, items: list[int], depth: int, item: int | None = None
    ) -> int:
        self._nodes.append(_Node(parent, row, one_line(label), items, depth, item))
        return len(self._nodes) - 1

    def _leads_to(self, at: int, key: str) -> bool:
        return any(self._offered.key(self._items[place]) == key for place in self._nodes[at].items)


def uri_parts(uri: str) -> list[str]:
    """`file:///a/b.txt` -> `file://`, `/`, `a/`, `b.txt`. Joined they are the URI; a query stays whole."""
    match = _URI.match(uri)
    if match is None:
        return [uri]
    path, mark, query = _cut(match[3])
    parts = [match[1], match[2], *re.findall(r"[^/]*/|[^/]+", path)]
    parts = [part for part in parts if part]
    if mark:
        parts = [*parts[:-1], parts[-1] + mark + query] if len(parts) > 1 else [*parts, mark + query]
    return parts


def _cut(path: str) -> tuple[str, str, str]:
    places = [place for place in (path.find("?"), path.find("#")) if place >= 0]
    if not places:
        return path, "", ""
    return path[: min(places)], path[min(places)], path[min(places) + 1 :]
