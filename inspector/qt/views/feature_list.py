"""List of tools, resources or prompts, and the strip that reports changes to it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, Qt, QTimer, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QTableView, QWidget

from inspector.base.units import duration
from inspector.qt.actions import COPY_TOOLS, Actions
from inspector.qt.models.feature_list import FeatureListModel, Item, ListChanges, NoteRole, ToneRole
from inspector.qt.theme import SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.item_views import NoteDelegate, style_table
from inspector.qt.widgets.layout import PanelHeader
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.labels import MutedLabel

_SHOWN_MS = 20_000


class FeatureList(QTableView):
    """A one-column table: unlike a list view, it does not lay out ten thousand rows one by one.

    The selection survives a change of the rows, and a refetched list keeps its scroll position.

    Signals:
        chosen: The user made an item the current one; carries it. Others may be selected, too.
    """

    chosen = Signal(object)

    def __init__(
        self, theme: Theme, model: FeatureListModel, name: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._model = model
        self._selected: Item | None = None
        self._is_moving = False
        self._last_filter = model.filter_text
        self._top: tuple[str, int] | None = None  # the key of the first row on screen and its pixel offset
        self.setAccessibleName(name)
        self.setModel(model)
        style_table(self, theme)
        self.horizontalHeader().hide()
        self.setSelectionMode(QTableView.SelectionMode.ExtendedSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFont(theme.mono_font(0.95))
        self.setItemDelegate(NoteDelegate(theme, NoteRole, ToneRole, self))
        model.modelAboutToBeReset.connect(self._on_about_to_change)
        model.searched.connect(self._on_searched)
        self.selectionModel().currentChanged.connect(self._on_current_changed)

    def go_to(self, key: str) -> bool:
        """Select an item by key, emitting `chosen`; return False if it has no row."""
        row = self._model.row_of(key)
        if row is not None:
            self.setCurrentIndex(self._model.index(row))
        return row is not None

    def selected_items(self) -> list[Item]:
        """Return the selected items, in the order of the rows."""
        rows = sorted(index.row() for index in self.selectionModel().selectedRows())
        return [item for row in rows if (item := self._model.item(row)) is not None]

    def select_silently(self, item: Item | None) -> None:
        """Select an item without emitting `chosen`; an unlisted item selects no row."""
        self._selected = item
        row = self._model.row_of_item(item) if item is not None else None
        self._is_moving = True
        self.setCurrentIndex(self._model.index(row) if row is not None else QModelIndex())
        self._is_moving = False

    def _on_about_to_change(self) -> None:
        row = self.rowAt(0)
        item = self._model.item(row)
        key = self._model.key(item) if item is not None else ""
        is_scrolled = self.verticalScrollBar().value() > 0
        self._top = (key, self.rowViewportPosition(row)) if key and is_scrolled else None

    def _on_searched(self) -> None:
        is_same_search = self._last_filter == self._model.filter_text
        self._last_filter = self._model.filter_text
        self.setAutoScroll(False)
        self.select_silently(self._selected)
        self.setAutoScroll(True)
        if is_same_search:
            self._scroll_back()
        elif self._last_filter:
            self.scrollToTop()  # to the best match
        else:
            self.scrollTo(self.currentIndex())

    def _scroll_back(self) -> None:
        """Scroll back to the same item at the same pixel; does nothing if the item is gone."""
        row = self._model.row_of(self._top[0]) if self._top is not None else None
        if self._top is not None and row is not None:
            self.verticalScrollBar().setValue(row * self.verticalHeader().defaultSectionSize() - self._top[1])

    def _on_current_changed(self, current: QModelIndex) -> None:
        item = self._model.item(current.row())
        if item is not None and not self._is_moving:
            self._selected = item
            self.chosen.emit(item)

    def moveCursor(self, action: QTableView.CursorAction, modifiers: Qt.KeyboardModifier) -> QModelIndex:
        """Make Home and End go to the first and last row, as in a list, not to a column."""
        if action in (QTableView.CursorAction.MoveHome, QTableView.CursorAction.MoveEnd):
            modifiers |= Qt.KeyboardModifier.ControlModifier
        return super().moveCursor(action, modifiers)


def count_text(model: FeatureListModel) -> str:
    """Return how many items are shown of the total, and the list's TTL if the server sent one.

    The TTL is informational: lists are refetched regardless.
    """
    shown, total = model.rowCount(), model.total
    count = f"{shown:,} of {total:,}" if shown != total else f"{total:,}"
    if model.cache is None or not model.cache.ttl_ms:
        return count
    return f"{count} · fresh for {duration(model.cache.ttl_ms * 1_000_000)}"


class NoMatches(MutedLabel):
    """Says that a search found nothing; hidden if it did. Keeps the counts in the headers of the lists."""

    def __init__(self, theme: Theme, lists: Sequence[tuple[FeatureListModel, PanelHeader]]) -> None:
        super().__init__(theme, "No matches", wrap=True)
        self._lists = lists
        self.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_2)
        self.hide()
        for model, _ in lists:
            model.searched.connect(self._on_searched)

    def _on_searched(self) -> None:
        for model, header in self._lists:
            header.set_detail(count_text(model))
        has_found = any(model.rowCount() for model, _ in self._lists)
        self.setVisible(bool(self._lists[0][0].filter_text) and not has_found)


def add_copy_menu(menu: QMenu, actions: Actions) -> None:
    """Add the commands that copy the selected tools, or all, as tool definitions."""
    copies = menu.addMenu("Copy as")
    for id in COPY_TOOLS:
        copies.addAction(actions[id])


class ChangeStrip(Alert):
    """Reports list changes; closes after a while or when dismissed.

    Refetching an unchanged list leaves it alone. Changes that arrive while it is shown are merged: a server
    that registers five tools sends five notifications.

    Signals:
        reported: The list changed; carries its name and the ListChanges.
    """

    reported = Signal(str, object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._changes: dict[str, ListChanges] = {}
        self._dismiss = QAction("Dismiss", self)
        self._dismiss.triggered.connect(self.dismiss)
        self._timer = QTimer(self, interval=_SHOWN_MS, singleShot=True)
        self._timer.timeout.connect(self.dismiss)

    def notify(self, what: str, changes: ListChanges) -> None:
        """Report changes of the list `what`: resources or prompts."""
        if not changes:
            return
        self.reported.emit(what, changes)
        self._changes[what] = reported = self._changes.get(what, ListChanges()).then(changes)
        if reported:
            self.show_message(what, reported.sentence(what), "", [self._dismiss], "wait")
            self._timer.start()
        else:  # the changes cancelled each other out
            self.close_topic(what)

    def dismiss(self) -> None:
        self._timer.stop()
        self._changes.clear()
        self.close_all()
