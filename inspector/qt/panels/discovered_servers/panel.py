"""Discovered servers panel: files and servers as a tree, the selected one on the right.

Files are ordered by precedence, highest first.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import shiboken6
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHeaderView, QSplitter, QTreeWidget, QTreeWidgetItem, QWidget

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.config.foreign.discovery import DiscoveredFile
from inspector.engine.servers.views import DiscoveredServerView, DiscoveryReport
from inspector.qt.bridge import Bridge
from inspector.qt.models.discovered_servers import (
    TONES,
    file_text,
    location_text,
    no_servers_text,
    status_text,
    summary_text,
)
from inspector.qt.panels.discovered_servers.review import ReviewPage
from inspector.qt.theme import Theme
from inspector.qt.widgets.item_views import style_tree
from inspector.qt.widgets.layout import PanelHeader, vbox
from inspector.qt.widgets.notices.empty_state import ContentStack
from inspector.qt.widgets.notices.notices import Alert, reported
from inspector.qt.widgets.text.labels import plain_tooltip

_WIDTHS = [380, 760]
_MAX_NAME_LENGTH = 200
_ITEM_ROLE = Qt.ItemDataRole.UserRole  # the DiscoveredServerView or the DiscoveredFile of a row


class DiscoveredServersPanel(QWidget):
    """The servers found in other clients' configuration files.

    Signals:
        server_requested: Show a server of the server list; carries its name.
    """

    help_page = "servers"
    server_requested = Signal(str)

    def __init__(self, bridge: Bridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self.report = DiscoveryReport()
        self.tree = DiscoveredServersTree(theme)
        self.review = ReviewPage(theme)
        self.search_action = QAction("Search again", self)
        self.search_action.setToolTip("Read all files again")
        theme.set_icon(self.search_action, "refresh")
        self._header = PanelHeader(theme, "Discovered servers")
        self._header.add_action(self.search_action)
        self.alert = Alert(theme)
        splitter = QSplitter()
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(self.tree)
        splitter.addWidget(self.review)
        splitter.setSizes(_WIDTHS)
        splitter.setStretchFactor(1, 1)
        self._stack = ContentStack(theme, splitter)
        vbox(self, self._header, self.alert, (self._stack, 1), gap=0)
        self.tree.chosen.connect(self._on_chosen)
        self.search_action.triggered.connect(self.scan)
        self.review.trust_requested.connect(lambda view: self._start("trust", self._trust(view)))
        self.review.import_requested.connect(lambda view: self._start("import", self._import(view)))
        self.review.check_requested.connect(lambda view: self._start("check", self._check(view)))
        self.review.distrust_requested.connect(lambda view: self._start("distrust", self._distrust(view)))
        self.review.server_requested.connect(self.server_requested)
        bridge.discovered_servers_changed.connect(self.show_report)
        self.show_report(self.report)
        bridge.start_when_attached("load discovered servers", self._load())

    def scan(self) -> None:
        self._start("search for servers", self._scan())

    def show_report(self, report: DiscoveryReport) -> None:
        self.report = report
        self._header.set_detail(summary_text(report) if report.files else "")
        if report.problem:
            self.alert.show_message("trust", report.problem, tone="error")
        else:
            self.alert.close_topic("trust")
        self.tree.show_report(report)
        if report.files:
            self._stack.open()
        else:
            self._stack.explain(
                "empty", "search", "No servers found", no_servers_text(), action=self.search_action
            )

    def _on_chosen(self, what: DiscoveredServerView | DiscoveredFile | None) -> None:
        for topic in ("failed", "check"):
            self.alert.close_topic(topic)
        if isinstance(what, DiscoveredServerView):
            self.review.show_server(what)
        elif what is not None:
            self.review.show_file(what)

    def _start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        self.alert.close_topic("failed")
        self._bridge.start_when_attached(name, self._show_errors(work))

    async def _show_errors(self, work: Coroutine[Any, Any, None]) -> None:
        """Await `work` and show errors here, next to their subject."""
        with reported(self.alert, "failed", "error"):
            await work

    async def _load(self) -> None:
        """Load what was found before the panel was opened."""
        report = await self._bridge.ask(lambda engine: engine.discovery.report)
        if shiboken6.isValid(self):
            self.show_report(report)

    async def _scan(self) -> None:
        await self._bridge.ask(lambda engine: engine.discovery.scan())

    async def _trust(self, view: DiscoveredServerView) -> None:
        variables, inputs = self.review.selected_variables(), self.review.input_values()
        server = await self._bridge.ask(
            lambda engine: engine.discovery.trust(view.id, view.seen, variables, inputs)
        )
        await self._bridge.ask(lambda engine: engine.servers.connector.connect_soon(server.name))
        if shiboken6.isValid(self):
            self.server_requested.emit(server.name)

    async def _import(self, view: DiscoveredServerView) -> None:
        variables, inputs = self.review.selected_variables(), self.review.input_values()
        server = await self._bridge.ask(
            lambda engine: engine.discovery.import_(view.id, view.seen, inputs=inputs, variables=variables)
        )
        if shiboken6.isValid(self):
            self.server_requested.emit(server.name)

    async def _check(self, view: DiscoveredServerView) -> None:
        check = await self._bridge.ask(lambda engine: engine.doctor.check_discovered(view.id))
        shown = self.review.view if shiboken6.isValid(self) else None
        if shown is None or shown.id != view.id:
            return
        failure = check.failure
        if failure is not None:
            self.alert.show_message("check", failure.cause, failure.fix, tone="error")
            return
        target = next((each for each in check.results if each.id in ("command", "url")), None)
        text = "No findings."
        if target is not None and target.text:  # where it is, or why that is unknown
            text = f"{text} {target.title}: {one_line(target.text).rstrip('.')}."
        self.alert.show_message("check", text, "The server was not started or contacted.", tone="ok")

    async def _distrust(self, view: DiscoveredServerView) -> None:
        await self._bridge.ask(lambda engine: engine.discovery.forget(view.id))


class DiscoveredServersTree(QTreeWidget):
    """The tree of configuration files and their servers.

    Signals:
        chosen: The selection changed; carries a DiscoveredServerView or DiscoveredFile, or None.
    """

    chosen = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._report = DiscoveryReport()
        self.setAccessibleName("Discovered servers")
        self.setHeaderHidden(True)
        self.setColumnCount(2)
        style_tree(self, theme)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.currentItemChanged.connect(self._on_current_changed)
        # A method: Qt drops the connection with the tree. A lambda would keep the report in memory.
        theme.changed.connect(self._on_theme_changed)

    def _on_theme_changed(self) -> None:
        self.show_report(self._report)

    def show_report(self, report: DiscoveryReport) -> None:
        """Show a report; the selection stays if it still exists."""
        self._report = report
        previous = _key(self.current())
        self.blockSignals(True)
        self.clear()
        views = iter(report.servers)  # in file order
        for file in report.files:
            self._add_file(file, [next(views) for _ in file.servers])
        self.expandAll()
        self.blockSignals(False)
        items = self._items()
        same = next((item for item in items if _key(_what(item)) == previous), None)
        first = next((item for item in items if isinstance(_what(item), DiscoveredServerView)), None)
        if (item := same or first or next(iter(items), None)) is not None:
            self.setCurrentItem(item)
        self.chosen.emit(self.current())

    def current(self) -> DiscoveredServerView | DiscoveredFile | None:
        item = self.currentItem()
        return _what(item) if item is not None else None

    def choose(self, id: str) -> bool:
        """Select a server; return False if it is not there."""
        for item in self._items():
            what = _what(item)
            if isinstance(what, DiscoveredServerView) and what.id == id:
                self.setCurrentItem(item)
                return True
        return False

    def _add_file(self, file: DiscoveredFile, views: list[DiscoveredServerView]) -> None:
        row = QTreeWidgetItem([location_text(file.source), file_text(file)])
        row.setData(0, _ITEM_ROLE, file)
        row.setToolTip(0, plain_tooltip(str(file.source.path or file.source.tool)))
        row.setForeground(0, self._theme.color("muted"))
        row.setForeground(1, self._theme.color("error" if file.problem else "muted"))
        for view in views:
            child = QTreeWidgetItem([shorten(one_line(view.name), _MAX_NAME_LENGTH), status_text(view)])
            child.setData(0, _ITEM_ROLE, view)
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
                children = (top.child(position) for position in range(top.childCount()))
                items += [top, *(child for child in children if child is not None)]
        return items

    def _on_current_changed(self) -> None:
        self.chosen.emit(self.current())


def _what(item: QTreeWidgetItem) -> DiscoveredServerView | DiscoveredFile | None:
    what: DiscoveredServerView | DiscoveredFile | None = item.data(0, _ITEM_ROLE)
    return what


def _key(what: DiscoveredServerView | DiscoveredFile | None) -> object:
    if isinstance(what, DiscoveredServerView):
        return what.id
    return what.source if what is not None else None
