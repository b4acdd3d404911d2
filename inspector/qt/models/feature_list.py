"""Searchable list model of tools, resources, templates or prompts; changes between lists.

Searches in slices of 10 ms; a list of ten thousand items takes one or two of them. `ItemTexts` says what
is shown and searched for each kind of item; those of tools and prompts are here, those of resources in
`resources.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from PySide6.QtCore import QObject, Qt

from inspector.base.json.values import JSONObject, shorten
from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.protocol.types import CacheHints, Listing, Malformed, Prompt, Resource, ResourceTemplate, Tool
from inspector.qt.models.record_table import ROOT, Index, SearchedList, plain_tip
from inspector.qt.theme import Tone

Feature: TypeAlias = Tool | Resource | ResourceTemplate | Prompt


@dataclass(frozen=True, slots=True)
class ServerFeature:
    """A feature in a list of several servers; `kind` is `tools`, `resources`, `templates` or `prompts`."""

    server: str
    kind: str
    feature: Feature

    @property
    def name(self) -> str:
        """The name, or what identifies a resource: its URI."""
        return feature_name(self.feature)

    @property
    def source(self) -> JSONObject:
        return self.feature.source


Item: TypeAlias = Feature | ServerFeature | Malformed

NoteRole = Qt.ItemDataRole.UserRole + 1
ToneRole = Qt.ItemDataRole.UserRole + 2
_SLICE_S = 0.010
_NEW: tuple[str, Tone] = ("new", "ok")
_CHANGED: tuple[str, Tone] = ("changed", "accent")
_MAX_SEARCHED = 4_000  # characters of one item

_MAX_NAMED = 3
_MAX_NAME_LENGTH = 40
_SLICE = 200


@dataclass(frozen=True, slots=True)
class ItemTexts:
    """Functions that return the texts of items of one kind.

    `key` identifies one, `text` is shown on the row, `note` beside it, and `rest` is searched, too. Only
    called for items of that kind.
    """

    key: Callable[[Item], str]
    text: Callable[[Item], str]
    note: Callable[[Item], str]
    rest: Callable[[Item], str]


class FeatureListModel(SearchedList):
    """The searchable list of one feature of a server.

    Names that start with the query come first, then names that contain it, then other matches. Malformed
    items are last, marked. `marks` are labels beside a row, by item key; `notes` are such labels that are
    shown unless there is a mark. While a new list is being
    searched, the rows are still the previous ones.
    """

    def __init__(self, texts: ItemTexts, parent: QObject | None = None) -> None:
        super().__init__(_SLICE_S, parent)
        self._texts = texts
        self._all = _FullList()
        self._shown_of = self._all
        self._shown: Sequence[int] = range(0)  # per row: the position in `_shown_of`
        self._query = ""
        self._is_listed = False
        self._reported: _FullList | None = None  # the list at the last `take_changes`
        self._marks: dict[str, tuple[str, Tone]] = {}
        self._notes: Mapping[str, tuple[str, Tone]] = {}
        self.cache: CacheHints | None = None  # the server's cache hints for the list

    def set_listing(self, listing: Listing[Any]) -> None:
        """Show a new list. `take_changes` returns what changed in it."""
        key = self._texts.key
        keys = [key(item) for item in listing.items] + [""] * len(listing.malformed)
        self._all = _FullList((*listing.items, *listing.malformed), keys)
        self._is_listed = True
        self.cache = listing.cache
        self._begin()

    async def take_changes(self) -> ListChanges:
        """Return what changed since the previous call; nothing for the first list.

        Computed in slices: comparing ten thousand tools with their schemas takes a while.
        """
        before, self._reported = self._reported, self._all if self._is_listed else None
        if before is None or before is self._all:
            return ListChanges()
        slices = change_slices(_sources(before), _sources(self._all))
        while True:
            until = time.perf_counter() + _SLICE_S
            while time.perf_counter() < until:
                if (changes := next(slices)) is not None:
                    return changes
            await asyncio.sleep(0)

    def set_text(self, text: str) -> None:
        if text.casefold() != self._query:
            self._query = text.casefold()
            self._begin()

    @property
    def filter_text(self) -> str:
        return self._query

    @property
    def total(self) -> int:
        return len(self._all.items)

    def all_items(self) -> Sequence[Item]:
        """Return all items, including those filtered out."""
        return self._all.items

    def items(self) -> Sequence[Item]:
        """Return the shown items, in order."""
        return [self._shown_of.items[position] for position in self._shown]

    def item(self, row: int) -> Item | None:
        return self._shown_of.items[self._shown[row]] if 0 <= row < len(self._shown) else None

    def find(self, key: str) -> Item | None:
        """Find an item by its key, even if it is filtered out."""
        position = self._all.first_of(key)
        return self._all.items[position] if position is not None else None

    def current(self, item: Item) -> Item | None:
        """Return the current version of an item; None if it is no longer listed."""
        position = self._all.position_of(item, self.key(item))
        return self._all.items[position] if position is not None else None

    def row_of(self, key: str) -> int | None:
        return self._row_at(self._shown_of.first_of(key))

    def row_of_item(self, item: Item) -> int | None:
        """Return the row of an item, even without a unique key."""
        return self._row_at(self._shown_of.position_of(item, self.key(item)))

    def key(self, item: Item) -> str:
        return "" if isinstance(item, Malformed) else self._texts.key(item)

    def _row_at(self, position: int | None) -> int | None:
        return self._shown.index(position) if position is not None and position in self._shown else None

    def set_marks(self, marks: Mapping[str, tuple[str, Tone]]) -> None:
        """Set labels shown instead of the items' notes; "" removes one."""
        before = dict(self._marks)
        for key, (text, tone) in marks.items():
            if text:
                self._marks[key] = (text, tone)
            else:
                self._marks.pop(key, None)
        if self._marks != before:
            self._repaint()

    def set_notes(self, notes: Mapping[str, tuple[str, Tone]]) -> None:
        """Set the labels that are shown where there is no mark, by item key."""
        if notes != self._notes:
            self._notes = notes
            self._repaint()

    def mark_changed(self, changes: ListChanges) -> None:
        """Mark added and changed items, unless marked otherwise; `mark_seen` removes these marks."""
        marks = {**dict.fromkeys(changes.changed, _CHANGED), **dict.fromkeys(changes.added, _NEW)}
        self.set_marks({key: mark for key, mark in marks.items() if self._marks.get(key) in (None, _CHANGED)})

    def mark_seen(self, item: Item) -> None:
        """Remove the new or changed mark of an item the user has seen."""
        key = self.key(item)
        if self._marks.get(key) in (_NEW, _CHANGED):
            self.set_marks({key: ("", "muted")})

    def mark_of(self, key: str) -> str:
        return self._marks.get(key, ("", "muted"))[0]

    def _repaint(self) -> None:
        if self._shown:
            self.dataChanged.emit(self.index(0), self.index(len(self._shown) - 1), [NoteRole, ToneRole])

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._shown)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        item = self.item(index.row())
        return self.item_data(item, role) if item is not None else None

    def item_data(self, item: Item, role: int) -> object:
        """Return what an item's row shows; also used by a tree of the same items."""
        if role == Qt.ItemDataRole.DisplayRole:
            return self.text(item)
        if isinstance(item, Malformed):
            return None
        key = self.key(item)
        label = self._marks.get(key) or self._notes.get(key)
        if role == NoteRole:
            return one_line(label[0] if label is not None else self._texts.note(item))
        if role == ToneRole:
            return label[1] if label is not None else "muted"
        if role == Qt.ItemDataRole.AccessibleTextRole and label is not None:
            return f"{self.text(item)}, {label[0]}"
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(key)
        return None

    def text(self, item: Item) -> str:
        if isinstance(item, Malformed):
            return f"⚠ invalid: {one_line(item.reason)}"
        return one_line(self._texts.text(item))

    def _begin(self) -> None:
        """Start searching; the first slice runs at once."""
        if not self._query:
            self._show(range(self.total))
            return
        self._start_search(self._ranked())

    def _ranked(self) -> Iterator[None]:
        text = self._query
        ranks: tuple[list[int], ...] = ([], [], [])
        haystacks = self._all.haystacks
        for position, item in enumerate(self._all.items):
            if position % 256 == 0:
                yield
            if position == len(haystacks):
                haystacks.append(self._haystack(item))
            name, rest = haystacks[position]
            if name.startswith(text):
                ranks[0].append(position)
            elif text in name:
                ranks[1].append(position)
            elif text in rest:
                ranks[2].append(position)
        self._show([position for rank in ranks for position in rank])

    def _show(self, positions: Sequence[int]) -> None:
        self._timer.stop()
        self._search = iter(())
        self.beginResetModel()
        self._shown_of, self._shown = self._all, positions
        self.endResetModel()
        self.searched.emit()

    def _haystack(self, item: Item) -> tuple[str, str]:
        if isinstance(item, Malformed):
            return "", item.reason[:_MAX_SEARCHED].casefold()
        texts = self._texts
        return texts.text(item).casefold(), texts.rest(item)[:_MAX_SEARCHED].casefold()


@dataclass(frozen=True, slots=True)
class _FullList:
    """A complete list with an index of its items' positions."""

    items: tuple[Item, ...] = ()
    keys: list[str] = field(default_factory=list)  # empty for malformed items
    haystacks: list[tuple[str, str]] = field(default_factory=list)  # created on the first search

    def position_of(self, item: Item, key: str) -> int | None:
        """Return the position of the same item if there is one, else of the first with the key."""
        first: int | None = None
        for position in self._positions(key):
            if self.items[position] == item:
                return position
            first = position if first is None else first
        return first if key else None

    def first_of(self, key: str) -> int | None:
        return next(self._positions(key), None) if key else None

    def _positions(self, key: str) -> Iterator[int]:
        """Yield the positions of a key; list.index is a hundred times faster than a loop."""
        position = -1
        with contextlib.suppress(ValueError):
            while True:
                position = self.keys.index(key, position + 1)
                yield position


def _sources(full: _FullList) -> Iterator[tuple[str, JSONObject]]:
    for key, item in zip(full.keys, full.items, strict=True):
        if not isinstance(item, Malformed):
            yield key, item.source


class ToolsModel(FeatureListModel):
    """The tools of one server that match the search."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(TOOLS, parent)

    def tools(self) -> Sequence[Tool]:
        """Return all tools, whatever the search."""
        return [item for item in self.all_items() if isinstance(item, Tool)]


def feature_name(item: Feature) -> str:
    """Return the name of a tool or prompt, the URI of a resource, the URI template of a template."""
    match item:
        case Resource():
            return item.uri
        case ResourceTemplate():
            return item.uri_template
    return item.name


def finding_notes(findings: Iterable[tuple[str, Sequence[str]]]) -> dict[str, tuple[str, Tone]]:
    """Return labels with the number of findings, by item key."""
    return {key: (plural(len(texts), "finding"), "warn") for key, texts in findings if texts}


def _name(item: Item) -> str:
    return item.name if isinstance(item, Tool | Prompt) else ""


def _argument_count(item: Item) -> str:
    """Return the number of a prompt's arguments; computed only for visible rows."""
    arguments = item.source.get("arguments") if isinstance(item, Prompt) else None
    return plural(len(arguments), "argument") if isinstance(arguments, list) and arguments else ""


def _title_and_description(item: Item) -> str:
    return f"{item.title}\n{item.description}" if isinstance(item, Tool | Prompt) else ""


TOOLS = ItemTexts(key=_name, text=_name, note=lambda item: "", rest=_title_and_description)
PROMPTS = ItemTexts(key=_name, text=_name, note=_argument_count, rest=_title_and_description)


@dataclass(frozen=True, slots=True)
class ListChanges:
    """The names of the added, removed and changed items of a list. Falsy if nothing changed."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def then(self, later: ListChanges) -> ListChanges:
        """Merge with a later change."""
        added_before, removed_before, removed_later = {*self.added}, {*self.removed}, {*later.removed}
        added_again = tuple(name for name in later.added if name in removed_before)  # it may have changed
        changed = dict.fromkeys((*self.changed, *added_again, *later.changed))
        return ListChanges(
            (
                *(name for name in self.added if name not in removed_later),
                *(name for name in later.added if name not in removed_before),
            ),
            (
                *(name for name in self.removed if name not in {*added_again}),
                *(name for name in later.removed if name not in added_before),
            ),
            tuple(name for name in changed if name not in removed_later and name not in added_before),
        )

    def sentence(self, what: str) -> str:
        """Return a sentence about the list `what`: `Tools changed: 2 added (a, b), 1 removed (c).`"""
        parts = (("added", self.added), ("removed", self.removed), ("changed", self.changed))
        counts = (f"{len(names):,} {change} ({_named(names)})" for change, names in parts if names)
        return f"{what[:1].upper()}{what[1:]} changed: {', '.join(counts)}."


def change_slices(
    before: Iterable[tuple[str, JSONObject]], after: Iterable[tuple[str, JSONObject]]
) -> Iterator[ListChanges | None]:
    """Compare two lists of (name, source) in slices; yields None until the result is known.

    Of several items with the same name the first one is used, as everywhere.
    """
    old: dict[str, JSONObject] = {}
    seen: set[str] = set()
    added: list[str] = []
    changed: list[str] = []
    for count, (name, source) in enumerate(before, 1):
        old.setdefault(name, source)
        if count % _SLICE == 0:
            yield None
    for count, (name, source) in enumerate(after, 1):
        if name in seen:
            continue
        seen.add(name)
        if name not in old:
            added.append(name)
        elif old[name] is not source and old[name] != source:
            changed.append(name)
        if count % _SLICE == 0:
            yield None
    removed = tuple(name for name in old if name not in seen)
    yield ListChanges(tuple(added), removed, tuple(changed))


def _named(names: Sequence[str]) -> str:
    shown = [one_line(shorten(name, _MAX_NAME_LENGTH)) for name in names[:_MAX_NAMED]]
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" and {rest:,} more" if rest else "")
