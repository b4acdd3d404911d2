"""Command palette: fuzzy search over commands, servers, their features and saved calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSettings
from PySide6.QtGui import QKeySequence

from inspector.base.errors import LensError
from inspector.base.plain_text import one_line
from inspector.engine.views import ServerStatus
from inspector.qt.actions import COMMANDS
from inspector.qt.bridge import Bridge
from inspector.qt.theme import Theme
from inspector.qt.window.tabs import PROMPTS, RESOURCES, TOOLS

if TYPE_CHECKING:
    from inspector.config.calls.saved_calls import SavedCall
    from inspector.engine.server_view import ServerView
    from inspector.qt.models.feature_list import Feature, FeatureListModel
    from inspector.qt.models.palette import PaletteItem, PaletteModel
    from inspector.qt.panels.resources.panel import ResourcesPanel
    from inspector.qt.widgets.inputs.popups import PickerPopup
    from inspector.qt.window.main_window import MainWindow
    from inspector.qt.window.workspace import Workspace

_WIDTH = 680
_MAX_RECENT = 40
_RECENT = "palette/recent"
_SEPARATOR = "\x1f"  # separates kind, server and name in a key
_ICONS = {"tools": "tool", "resources": "resource", "templates": "resource", "prompts": "prompt"}


class CommandPalette(QObject):
    """Opens the command palette and runs what the user picks.

    Lists not fetched yet are fetched when the palette is opened.
    """

    def __init__(self, window: MainWindow, bridge: Bridge, theme: Theme, layout: QSettings) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = bridge
        self._theme = theme
        self._layout = layout
        self._saved: dict[str, SavedCall] = {}
        self.popup: PickerPopup | None = None

    def open_palette(self) -> None:
        """Open the palette.

        Commands and servers are listed immediately; other items are added as they arrive.
        """
        from inspector.qt.models.palette import IconRole, NoteRole, PaletteModel, PositionsRole, ToneRole
        from inspector.qt.widgets.inputs.popups import PickerPopup, Roles

        if self.popup is not None:
            return
        model = PaletteModel()
        roles = Roles(NoteRole, ToneRole, IconRole, PositionsRole)
        prompt = "Search commands, servers, tools, resources, prompts, saved calls"
        popup = self.popup = PickerPopup(self._theme, model, roles, prompt, self._window)
        model.setParent(popup)
        popup.text_changed.connect(model.set_text)
        popup.picked.connect(lambda row: self._on_picked(model, row))
        popup.closed.connect(self._on_popup_closed)
        model.searched.connect(lambda: popup.show_message(_count_text(model)))
        model.set_items(self._available(), self._recent())
        popup.open_over(self._window, _WIDTH)
        self._bridge.start_when_attached("fill the palette", self._fill(model, popup))

    def _available(self) -> Iterator[PaletteItem]:
        from inspector.qt.models.all_features import CAPABILITIES

        yield from self._commands()
        for view in self._window.servers.model.views():
            yield _item("server", view.name, "", view.name, f"server · {view.status.value}", "server")
        for view in self._connected():
            for kind in CAPABILITIES:
                yield from _items(view.name, kind, self._fetched(view.name, kind) or ())

    def _commands(self) -> Iterator[PaletteItem]:
        """Yield the commands that can be used now."""
        for command in COMMANDS:
            action = self._window.actions_table[command.id]
            if action.isEnabled() and command.id != "app.palette":
                keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
                note = f"{command.menu} · {keys}" if keys else command.menu
                yield _item("command", "", command.id, action.text(), note, command.icon)

    def _connected(self) -> list[ServerView]:
        views = self._window.servers.model.views()
        return [view for view in views if view.status is ServerStatus.CONNECTED]

    def _fetched(self, server: str, kind: str) -> Sequence[Feature] | None:
        """Return an already fetched list; the Tools panel keeps its own up to date."""
        workspace = self._window.workspaces.get(server)
        tools = workspace.existing(TOOLS) if workspace is not None else None
        if kind == "tools" and tools is not None and tools.model.total:
            return tools.model.tools()
        return self._window.feature_lists.get(server, kind)

    async def _fill(self, model: PaletteModel, popup: PickerPopup) -> None:
        from inspector.qt.models.all_features import CAPABILITIES
        from inspector.qt.models.palette import calls_in, saved_items, saved_key

        folders = await self._bridge.ask(lambda engine: engine.calls.saved())
        calls = calls_in(folders)
        self._saved = {saved_key(call): call for call in calls}
        if self.popup is popup:
            model.add_items(saved_items(folders, calls))
        for view in self._connected():
            for kind in CAPABILITIES:
                if self.popup is not popup:
                    return  # closed meanwhile
                if view.offers(CAPABILITIES[kind]) and self._fetched(view.name, kind) is None:
                    items = await self._fetch(view.name, kind)
                    if self.popup is popup:
                        model.add_items(_items(view.name, kind, items))

    async def _fetch(self, server: str, kind: str) -> Sequence[Feature]:
        try:
            return await self._window.feature_lists.fetch(server, kind)
        except LensError:  # visible in the traffic
            return ()

    def _on_popup_closed(self) -> None:
        self.popup = None

    def _on_picked(self, model: PaletteModel, row: int) -> None:
        pick = model.item(row)
        if pick is None:
            return
        self._remember(pick.key)
        if pick.key in self._saved:
            self.open_saved(self._saved[pick.key])
            return
        # At most 2 splits: the name comes from the server and may contain the separator.
        kind, server, name = pick.key.split(_SEPARATOR, 2)
        if kind == "command":
            self._window.actions_table[name].trigger()
        else:
            self.open_feature(kind, server, name)

    def open_feature(self, kind: str, server: str, name: str) -> None:
        """Open a tool, resource, resource template or prompt at its server."""
        if (workspace := self._go_to(server)) is not None:
            _show(workspace, kind, name)

    def open_saved(self, call: SavedCall) -> None:
        """Open a saved call in its server's Tools panel; without a server, in the current one."""
        workspace = self._go_to(call.server) if call.server else self._window.workspace()
        if workspace is not None:
            workspace.open_saved(call)
        else:
            text = (
                f"“{one_line(call.name)}” is for the server “{one_line(call.server)}”, which is not in the "
                "server list."
            )
            self._bridge.problem_found.emit(text if call.server else "Choose a server for this call first.")

    def _go_to(self, server: str) -> Workspace | None:
        if self._window.servers.model.row_of(server) is None:
            return None
        self._window.servers.choose(server)
        return self._window.workspace()

    def _recent(self) -> list[str]:
        stored = self._layout.value(_RECENT, [])
        return [str(key) for key in stored] if isinstance(stored, list) else [str(stored)] if stored else []

    def _remember(self, key: str) -> None:
        keys = [key, *(each for each in self._recent() if each != key)]
        self._layout.setValue(_RECENT, keys[:_MAX_RECENT])


def _show(workspace: Workspace, kind: str, name: str) -> None:
    if kind == "tools":
        tools = workspace.go_to(TOOLS)
        tools.select_when_listed(name)
        tools.list.setFocus()
    elif kind == "resources":
        workspace.open_uri(name)
    elif kind == "templates":
        resources = workspace.go_to(RESOURCES)
        _when_listed(resources.lists.templates, lambda: _choose_template(resources, name))
    elif kind == "prompts":
        prompts = workspace.go_to(PROMPTS)
        prompts.select_when_listed(name)
        prompts.list.setFocus()


def _when_listed(model: FeatureListModel, go: Callable[[], object]) -> None:
    """Call `go` now, or once the list is loaded."""
    if model.total:
        go()
        return

    def on_searched() -> None:
        model.searched.disconnect(on_searched)
        go()

    model.searched.connect(on_searched)


def _choose_template(resources: ResourcesPanel, uri_template: str) -> None:
    """Select a template's row as a user would, and focus its first field."""
    lists, form = resources.lists, resources.head.form
    lists.search.clear()
    lists.search.settle()
    row = lists.templates.row_of(uri_template)
    if row is not None:
        lists.template_list.setCurrentIndex(lists.templates.index(row))
        next(iter(form.rows.values()), lists.template_list).setFocus()


def _item(
    kind: str, server: str, name: str, text: str, note: str, icon: str, search: str = ""
) -> PaletteItem:
    from inspector.qt.models.palette import PaletteItem

    key = _SEPARATOR.join((kind, server, name))
    return PaletteItem(key, one_line(text), one_line(note), icon, search=search)


def _items(server: str, kind: str, items: Sequence[Feature]) -> Iterator[PaletteItem]:
    """Yield palette items lazily. A tool is also found by its qualified name."""
    from inspector.qt.models.all_features import NOUNS
    from inspector.qt.models.feature_list import feature_name
    from inspector.schema.tool_names import search_names

    noun, icon = NOUNS[kind], _ICONS[kind]
    for item in items:
        name = feature_name(item)
        # The server comes first: long notes are elided at the end, and the server must stay visible.
        parts = [server, noun, item.title if item.title != item.name else ""]
        if kind in ("resources", "templates") and item.name:
            parts.append(name)
        note = " · ".join(filter(None, parts))
        search = " ".join(search_names(server, name)) if kind == "tools" else ""
        yield _item(kind, server, name, item.name or name, note, icon, search)


def _count_text(model: PaletteModel) -> str:
    shown, found = model.rowCount(), model.found
    if not found:
        return "No matches"
    more = f"{shown:,} of {found:,}" if shown < found else f"{found:,}"
    return f"{more} · ↑↓ to select, Enter to open, Esc to close"
