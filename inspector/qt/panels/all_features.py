"""All features panel: tools, resources or prompts of all connected servers in one list."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QShowEvent
from PySide6.QtWidgets import QFrame, QMenu, QScrollArea, QWidget

from inspector.base.errors import LensError
from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.engine.server_view import ServerView
from inspector.engine.views import ServerStatus
from inspector.protocol.types import Listing, Tool
from inspector.qt.actions import Actions
from inspector.qt.bridge import Bridge
from inspector.qt.models.all_features import (
    CAPABILITIES,
    AllFeaturesModel,
    FeatureLists,
    feature_facts,
    key_of,
)
from inspector.qt.models.feature_list import Item, ServerFeature
from inspector.qt.theme import SPACE_2, SPACE_3, SPACE_4, Theme
from inspector.qt.views.feature_list import FeatureList, NoMatches, add_copy_menu
from inspector.qt.views.feature_panel import ListRefresher, column_in
from inspector.qt.widgets.inputs.controls import ActionButton, Segments
from inspector.qt.widgets.inputs.search import SearchField
from inspector.qt.widgets.layout import STRETCH, PanelHeader, hbox, hsplit, vbox
from inspector.qt.widgets.notices.empty_state import ContentStack
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.key_value_list import Fact, KeyValueList
from inspector.qt.widgets.text.labels import Heading
from inspector.schema.tool_names import tool_findings

_WHAT = ("tools", "resources", "prompts")
_WIDTHS = [520, 620]
_FAILED = "failed"
_MAX_REASONS = 3


class AllFeaturesPanel(QWidget):
    """One list of the tools, resources or prompts of all connected servers, with the server of each.

    `views` returns the state of all servers. The lists are fetched when the panel is shown.

    Signals:
        feature_requested: The user wants to open a feature at its server; carries the ServerFeature.
        selection_changed: Other features are selected.
    """

    help_page = "tools"
    feature_requested = Signal(object)
    selection_changed = Signal()

    def __init__(
        self,
        bridge: Bridge,
        lists: FeatureLists,
        views: Callable[[], Sequence[ServerView]],
        actions: Actions,
        theme: Theme,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._lists, self._views, self._actions = lists, views, actions
        self._findings: dict[str, tuple[str, ...]] = {}
        self._connected: frozenset[str] = frozenset()
        self._is_outdated = True
        self.model = AllFeaturesModel(self)
        self.list = FeatureList(theme, self.model, "Features of all servers")
        self.search = SearchField(theme, "Search all servers")
        self.kinds = Segments(theme, [what.capitalize() for what in _WHAT])
        self.detail = FeatureDetail(theme)
        self.alert = Alert(theme)
        self._header = PanelHeader(theme, "All features")
        self._no_matches = NoMatches(theme, [(self.model, self._header)])
        self.refresh_action = QAction("Refresh", self)
        self.refresh_action.setToolTip("Fetch the lists that changed")
        theme.set_icon(self.refresh_action, "refresh")
        self._refresher = ListRefresher(bridge, "list features of all servers", self._list_all, self)
        self._stack = ContentStack(theme, self._make_content())
        self._lay_out()
        self._connect(bridge)

    @property
    def what(self) -> str:
        """The features shown: `tools`, `resources` or `prompts`."""
        return _WHAT[self.kinds.index()]

    def selected_tools(self) -> list[tuple[str, Tool]]:
        """Return the selected tools, each with the name of its server."""
        return _tools_in(self.list.selected_items())

    def all_tools(self) -> list[tuple[str, Tool]]:
        """Return all listed tools, whatever the search."""
        return _tools_in(self.model.all_items())

    def refresh(self) -> None:
        self._is_outdated = False
        self._refresher.refresh()

    async def _list_all(self) -> None:
        what = self.what
        views = [view for view in self._views() if view.status is ServerStatus.CONNECTED]
        self._connected = frozenset(view.name for view in views)
        if not self.model.total:
            text = f"Waiting for the lists of {what}."
            self._stack.explain("loading", what.removesuffix("s"), f"Listing {what}", text)
        kinds = [kind for kind, capability in CAPABILITIES.items() if capability == what]
        wanted = [(view.name, kind) for view in views if view.offers(what) for kind in kinds]
        found = await asyncio.gather(*(self._fetch(server, kind) for server, kind in wanted))
        if what == self.what:  # else the user has chosen other features
            items = [item for features, _ in found for item in features]
            await self._show(items, [reason for _, reason in found if reason])

    async def _fetch(self, server: str, kind: str) -> tuple[list[ServerFeature], str]:
        """Return the features of a server, or why they are unknown."""
        try:
            listed = self._lists.get(server, kind)
            if listed is None:
                listed = await self._lists.fetch(server, kind)
        except LensError as exc:
            return [], f"{one_line(server)}: {exc}"
        return [ServerFeature(server, kind, feature) for feature in listed], ""

    async def _show(self, items: list[ServerFeature], reasons: Sequence[str]) -> None:
        """Show a list in steps: ten thousand rows at once would block the window."""
        await asyncio.sleep(0)
        tools = _tools_in(items)
        findings = tool_findings(tools)
        pairs = [(item, found) for item, found in zip(items, findings, strict=False) if found]
        self._findings = {key_of(item): found for item, found in pairs}
        self.model.set_notes(
            {
                key_of(item): (f"{item.server} · {plural(len(found), 'finding')}", "warn")
                for item, found in pairs
            }
        )
        await asyncio.sleep(0)
        listing: Listing[ServerFeature] = Listing(tuple(items))
        self.model.set_listing(listing)
        self._show_state(reasons)
        if not self.list.currentIndex().isValid() and (first := self.model.item(0)) is not None:
            self.list.select_silently(first)
        self._show_item(self.model.item(self.list.currentIndex().row()))

    def _show_state(self, reasons: Sequence[str]) -> None:
        what = self.what
        self.alert.close_topic(_FAILED)
        if reasons:
            text = shorten("; ".join(reasons[:_MAX_REASONS]), 600)
            self.alert.show_message(
                _FAILED, f"Could not list all {what}: {text}", actions=(self.refresh_action,)
            )
        if self.model.total:
            self._stack.open()
        elif not self._connected:
            action = self._actions["server.connect_all"]
            text = f"Connect your servers to list their {what}."
            self._stack.explain("empty", "server", "No connected servers", text, "", action)
        else:
            text = f"No connected server offers {what}."
            self._stack.explain("empty", what.removesuffix("s"), f"No {what}", text)

    def _show_item(self, item: Item | None) -> None:
        shown = item if isinstance(item, ServerFeature) else None
        self.detail.show_feature(shown, self._findings.get(key_of(shown), ()) if shown is not None else ())
        self.selection_changed.emit()

    def _open_current(self) -> None:
        item = self.model.item(self.list.currentIndex().row())
        if isinstance(item, ServerFeature):
            self.feature_requested.emit(item)

    def _connect(self, bridge: Bridge) -> None:
        self.search.text_settled.connect(lambda text: self.model.set_text(text.strip()))
        self.search.down_pressed.connect(self.list.setFocus)
        self.list.chosen.connect(self._show_item)
        self.list.selectionModel().selectionChanged.connect(self._on_selection_changed)
        self.list.activated.connect(self._on_activated)
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.list.customContextMenuRequested.connect(self._on_menu_requested)
        self.detail.open_action.triggered.connect(self._open_current)
        self.kinds.chosen.connect(self._on_kind_chosen)
        self.refresh_action.triggered.connect(self.refresh)
        self._lists.outdated.connect(self._on_outdated)
        bridge.server_changed.connect(self._on_server_changed)
        bridge.server_removed.connect(self._on_outdated)

    def _on_kind_chosen(self) -> None:
        nothing: Listing[ServerFeature] = Listing()
        self.model.set_listing(nothing)
        self._show_item(None)
        self.refresh()

    def _on_activated(self, index: QModelIndex) -> None:
        self._open_current()

    def _on_selection_changed(self) -> None:
        self.selection_changed.emit()

    def _on_server_changed(self, view: ServerView) -> None:
        is_connected = view.status is ServerStatus.CONNECTED
        if is_connected is not (view.name in self._connected):
            self._on_outdated()

    def _on_outdated(self) -> None:
        self._is_outdated = True
        if self.isVisible():
            self.refresh()

    def _on_menu_requested(self, position: QPoint) -> None:
        if not self.list.indexAt(position).isValid():
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self.detail.open_action)
        if self.what == "tools":
            add_copy_menu(menu, self._actions)
        menu.popup(self.list.viewport().mapToGlobal(position))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._is_outdated:
            self.refresh()

    def _make_content(self) -> QWidget:
        left = QWidget()
        column = column_in(left)
        column.addWidget(self._no_matches)
        column.addWidget(self.list, 1)
        return hsplit(left, self.detail, sizes=_WIDTHS, stretch=1)

    def _lay_out(self) -> None:
        self._header.add_action(self.refresh_action)
        bar = hbox(None, self.kinds, (self.search, 1), gap=SPACE_3, margin=SPACE_2)
        column = column_in(self)
        column.addWidget(self._header)
        column.addWidget(self.alert)
        column.addLayout(bar)
        column.addWidget(self._stack, 1)


class FeatureDetail(QScrollArea):
    """What is known about the selected feature, and a button that opens it at its server."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.open_action = QAction("Open", self)
        self.open_action.setToolTip("Go to this feature at its server (Enter)")
        self.facts = KeyValueList(theme)
        self._title = Heading(theme)
        self._button = ActionButton(self.open_action, "primary")
        page = QWidget()
        vbox(
            page,
            self._title,
            self.facts,
            (self._button, 0, Qt.AlignmentFlag.AlignLeft),
            STRETCH,
            gap=SPACE_3,
            margin=(SPACE_4, SPACE_3, SPACE_4, SPACE_4),
        )
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidget(page)
        self.show_feature(None, ())

    def show_feature(self, item: ServerFeature | None, findings: Sequence[str]) -> None:
        self._button.setVisible(item is not None)
        if item is None:
            self._title.setText("")
            self.facts.set_facts([])
            return
        self._title.setText(one_line(item.feature.title or item.feature.name or item.name))
        facts = [Fact(label, text, mono=is_wire_data) for label, text, is_wire_data in feature_facts(item)]
        self.facts.set_facts([*facts, *(Fact("Finding", text, tone="warn") for text in findings)])


def _tools_in(items: Sequence[Item]) -> list[tuple[str, Tool]]:
    return [
        (item.server, item.feature)
        for item in items
        if isinstance(item, ServerFeature) and isinstance(item.feature, Tool)
    ]
