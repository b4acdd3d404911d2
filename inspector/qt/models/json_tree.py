"""Lazy tree model of a JSON value. Large containers are divided into ranges of 1000."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, cast

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, Qt

from inspector.base.json.values import compact
from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.engine.content.json_tree import Members, Number, TreeValue, left_out, tree_text, whole_length
from inspector.protocol.jsonrpc import error_name
from inspector.qt.models.record_table import Index
from inspector.qt.theme import Tone

Steps: TypeAlias = tuple[str | int, ...]
Leaf: TypeAlias = "bool | int | float | str | None"

RANGE = 1_000
_MAX_SHOWN_LENGTH = 300
_MAX_KEY_LENGTH = 120
_ROOT_ID = 2**32 - 1


@dataclass(frozen=True, slots=True)
class RowAppearance:
    """The content of a row: `key: value note`."""

    key: str
    value: str
    tone: Tone
    note: str = ""


@dataclass(eq=False, slots=True)
class _Item:
    """A row, created when its parent is opened. A range has the step None: it is no JSON level."""

    parent: int
    row: int
    step: str | int | None
    value: TreeValue
    appearance: RowAppearance
    kind: Literal["value", "range", "rest"] = "value"
    first: int = 0
    children: list[int] | None = field(default=None)


class JsonTreeModel(QAbstractItemModel):
    """A one-column tree. The root is hidden if it is a container, else it is the only row."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._items: list[_Item] = []
        self._top: list[int] = []

    def set_value(self, value: TreeValue) -> None:
        self.beginResetModel()
        self._items = []
        is_open = isinstance(value, list) and (value or left_out(value))
        self._top = self._make_children(_ROOT_ID, value) if is_open else [self._add(_ROOT_ID, 0, None, value)]
        self.endResetModel()

    def clear(self) -> None:
        self.beginResetModel()
        self._items, self._top = [], []
        self.endResetModel()

    def appearance(self, index: Index) -> RowAppearance:
        return self._items[index.internalId()].appearance

    def steps(self, index: Index) -> Steps:
        """Return the path to a row's value: member names and item indexes."""
        steps: list[str | int] = []
        at = index.internalId()
        while at != _ROOT_ID:
            item = self._items[at]
            if item.step is not None:
                steps.append(item.step)
            at = item.parent
        return tuple(reversed(steps))

    def is_leaf(self, index: Index) -> bool:
        """Return whether the row has a value that can be compared with others."""
        item = self._items[index.internalId()]
        return item.kind == "value" and not isinstance(item.value, list)

    def leaf(self, index: Index) -> Leaf:
        """Return the value of a leaf; a number as a number."""
        value = self._items[index.internalId()].value
        assert not isinstance(value, list)
        return value.value if isinstance(value, Number) else value

    def text(self, index: Index) -> str:
        """Return a leaf's text, a string without quotes and escapes; a container as JSON."""
        return tree_text(self._items[index.internalId()].value)

    def child_count(self, index: Index) -> int:
        """Return how many values a container has, without creating rows."""
        value = self._items[index.internalId()].value
        return len(value) if isinstance(value, list) else 0

    def value(self, index: Index) -> TreeValue:
        return self._items[index.internalId()].value

    def index(self, row: int, column: int, parent: Index | None = None) -> QModelIndex:
        children = self._children(parent)
        if column != 0 or not 0 <= row < len(children):
            return QModelIndex()
        return self.createIndex(row, 0, children[row])

    def parent(self, index: Index) -> QModelIndex:  # type: ignore[override]
        at = self._items[index.internalId()].parent if index.isValid() else _ROOT_ID
        return QModelIndex() if at == _ROOT_ID else self.createIndex(self._items[at].row, 0, at)

    def rowCount(self, parent: Index | None = None) -> int:
        return len(self._children(parent))

    def columnCount(self, parent: Index | None = None) -> int:
        return 1

    def hasChildren(self, parent: Index | None = None) -> bool:
        if parent is None or not parent.isValid():
            return bool(self._top)
        value = self._items[parent.internalId()].value
        return isinstance(value, list) and bool(value or left_out(value))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if index.isValid() and role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            appearance = self.appearance(index)
            text = f"{appearance.key}: {appearance.value}" if appearance.key else appearance.value
            return f"{text}  {appearance.note}".rstrip()
        return None

    def _children(self, parent: Index | None) -> list[int]:
        if parent is None or not parent.isValid():
            return self._top
        at = parent.internalId()
        item = self._items[at]
        if item.children is None:
            item.children = self._make_children(at, item.value, item.first, item.kind == "range")
        return item.children

    def _make_children(
        self, parent: int, value: TreeValue, first: int = 0, is_range: bool = False
    ) -> list[int]:
        if not isinstance(value, list):
            return []
        if len(value) > RANGE and not is_range:
            children = [self._add_range(parent, value, start) for start in range(0, len(value), RANGE)]
        else:
            children = [self._add(parent, *each) for each in _members(value, first)]
        if left_out(value) and not is_range:
            children.append(self._add_rest(parent, len(children), left_out(value)))
        return children

    def _add(
        self, parent: int, row: int, step: str | int | None, value: TreeValue, is_repeated: bool = False
    ) -> int:
        notes = ["duplicate key"] if is_repeated else []
        if step == "code" and isinstance(value, Number) and self._is_error(parent):
            notes += filter(None, [_error_name(value)])
        return self._append(_Item(parent, row, step, value, _appearance(step, value, notes)))

    def _is_error(self, item: int) -> bool:
        return item != _ROOT_ID and self._items[item].step == "error"

    def _add_range(self, parent: int, value: list[TreeValue] | Members, start: int) -> int:
        part = value[start : start + RANGE]
        is_object = isinstance(value, Members)
        members = Members(cast(Members, part)) if is_object else cast("list[TreeValue]", part)
        appearance = RowAppearance("", f"[{start:,} … {start + len(part) - 1:,}]", "muted")
        return self._append(_Item(parent, start // RANGE, None, members, appearance, "range", start))

    def _add_rest(self, parent: int, row: int, count: int) -> int:
        appearance = RowAppearance("", f"… {count:,} more: see Pretty or Text", "muted")
        return self._append(_Item(parent, row, None, None, appearance, "rest"))

    def _append(self, item: _Item) -> int:
        self._items.append(item)
        return len(self._items) - 1


def _members(
    value: list[TreeValue] | Members, first: int
) -> Iterator[tuple[int, str | int, TreeValue, bool]]:
    if not isinstance(value, Members):
        for row, child in enumerate(value):
            yield row, first + row, child, False
        return
    counts = Counter(name for name, _ in value)
    for row, (name, child) in enumerate(value):
        yield row, name, child, counts[name] > 1


def _error_name(value: Number) -> str:
    """Return the name of a JSON-RPC error code; "" if it has none."""
    code = value.value
    return error_name(code) if type(code) is int else ""


def _appearance(step: str | int | None, value: TreeValue, notes: list[str]) -> RowAppearance:
    key = "" if step is None else str(step) if isinstance(step, int) else _shown_key(step)
    if isinstance(value, str) and whole_length(value) > _MAX_SHOWN_LENGTH:
        notes.append(plural(whole_length(value), "character"))
    text, tone = _shown_value(value)
    return RowAppearance(key, text, tone, ", ".join(notes))


def _shown_key(name: str) -> str:
    return one_line(name if len(name) <= _MAX_KEY_LENGTH else name[: _MAX_KEY_LENGTH - 1] + "…") or '""'


def _shown_value(value: TreeValue) -> tuple[str, Tone]:
    match value:
        case Number():
            return one_line(value[:_MAX_SHOWN_LENGTH]), "number"
        case str():
            head = value[:_MAX_SHOWN_LENGTH]
            written = compact(head)
            return one_line(written if len(head) == len(value) else written[:-1] + "…"), "string"
        case Members():
            return _count(value, "{}", "member"), "muted"
        case list():
            return _count(cast("list[TreeValue]", value), "[]", "item"), "muted"
        case _:
            return compact(value), "literal"


def _count(value: list[TreeValue] | Members, empty: str, noun: str) -> str:
    count = len(value) + left_out(value)
    return f"{empty[0]} {plural(count, noun)} {empty[1]}" if count else empty
