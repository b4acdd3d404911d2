"""The files that were found, strongest first, and the servers in each."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHeaderView, QTreeWidget, QTreeWidgetItem, QWidget

from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line
from inspector.config.finding import FoundFile
from inspector.engine.foundviews import FoundReport, FoundView
from inspector.qt.models.foundwords import TONES, file_words, place_words, standing_words
from inspector.qt.theme import Theme
from inspector.qt.widgets.itemviews import dress_tree
from inspector.qt.widgets.labels import plain_tooltip

_LONGEST_NAME = 200
_WHAT = Qt.ItemDataRole.UserRole  # the FoundView or the FoundFile of a row


class FoundTree(QTreeWidget):
    """The tree of found files and servers.

    Signals:
        chosen: The selection changed; carries a FoundView or FoundFile, or None.
    """

    chosen = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._report = FoundReport()
        self.setAccessibleName("Found servers")
        self.setHeaderHidden(True)
        self.setColumnCount(2)
        dress_tree(self, theme)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.currentItemChanged.connect(self._on_current_changed)
        theme.changed.connect(lambda: self.show_report(self._report))

    def show_report(self, report: FoundReport) -> None:
        """Show a report; the selection stays if it still exists."""
        self._report = report
        before = _key(self.current())
        self.blockSignals(True)
        self.clear()
        views = iter(report.servers)  # in file order
        for file in report.files:
            self._add_file(file, [next(views) for _ in file.servers])
        self.expandAll()
        self.blockSignals(False)
        items = self._items()
        kept = next((item for item in items if _key(_what(item)) == before), None)
        first = next((item for item in items if isinstance(_what(item), FoundView)), None)
        if (item := kept or first or next(iter(items), None)) is not None:
            self.setCurrentItem(item)
        self.chosen.emit(self.current())

    def current(self) -> FoundView | FoundFile | None:
        item = self.currentItem()
        return _what(item) if item is not None else None

    def choose(self, id: str) -> bool:
        """Select a server; return False if it is not there."""
        for item in self._items():
            what = _what(item)
            if isinstance(what, FoundView) and what.id == id:
                self.setCurrentItem(item)
                return True
        return False

    def _add_file(self, file: FoundFile, views: list[FoundView]) -> None:
        row = QTreeWidgetItem([place_words(file.source), file_words(file)])
        row.setData(0, _WHAT, file)
        row.setToolTip(0, plain_tooltip(str(file.source.path or file.source.tool)))
        row.setForeground(0, self._theme.color("muted"))
        row.setForeground(1, self._theme.color("error" if file.problem else "muted"))
        for view in views:
            child = QTreeWidgetItem([shorten(one_line(view.name), _LONGEST_NAME), standing_words(view)])
            child.setData(0, _WHAT, view)
            is_quiet = view.overridden_by is not None
            tone = "error" if view.problem else "muted" if is_quiet else TONES[view.trust]
            child.setForeground(0, self._theme.color("muted" if is_quiet else "text"))
            child.setForeground(1, self._theme.color(tone))
            row.addChild(child)
        self.addTopLevelItem(row)

    def _items(self) -> list[QTreeWidgetItem]:
        items: list[QTreeWidgetItem] = []
        for row in range(self.topLevelItemCount()):
            if (top := self.topLevelItem(row)) is not None:
                children = (top.child(place) for place in range(top.childCount()))
                items += [top, *(child for child in children if child is not None)]
        return items

    def _on_current_changed(self) -> None:
        self.chosen.emit(self.current())


def _what(item: QTreeWidgetItem) -> FoundView | FoundFile | None:
    what: FoundView | FoundFile | None = item.data(0, _WHAT)
    return what


def _key(what: FoundView | FoundFile | None) -> object:
    if isinstance(what, FoundView):
        return what.id
    return what.source if what is not None else None
