"""Server commands: add, export, edit, duplicate, remove and copy.

Servers are added from pasted text, files or drops; a removal can be undone. Dialogs are imported on demand.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import shiboken6
from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QAction, QGuiApplication

from inspector.base.errors import ConfigError, UserError
from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.qt.bridge import Bridge
from inspector.qt.theme import Theme
from inspector.qt.window.tabs import TOOLS
from inspector.traffic.records import OPENABLE_SUFFIXES

if TYPE_CHECKING:
    from inspector.config.foreign.export import Exported
    from inspector.config.servers.entries import Entry
    from inspector.engine.server_view import ServerView
    from inspector.engine.servers.lifecycle import Removed
    from inspector.protocol.types import Tool
    from inspector.qt.dialogs.servers.add_server import AddServerDialog
    from inspector.qt.dialogs.servers.edit_server import EditServerDialog
    from inspector.qt.window.main_window import MainWindow

_REMOVED = "removed"  # key of the strip
_MAX_NAME_LENGTH = 60
_DEFINITIONS_AT_ONCE = 20
_MAX_NOTES = 2


class ServerCommands(QObject):
    """Commands for the current server: edit, duplicate, remove and copy."""

    def __init__(self, window: MainWindow, bridge: Bridge, theme: Theme) -> None:
        super().__init__(window)
        self._window, self._bridge, self._theme = window, bridge, theme
        self._editing: dict[str, EditServerDialog] = {}
        self._removed: list[tuple[Removed, float]] = []  # with the time until which each can be restored
        self._undo = QAction("Undo", self)
        self._undo.triggered.connect(self._on_undo)
        self._expiry = QTimer(self, singleShot=True)
        self._expiry.timeout.connect(self._show_removed)

    def edit(self) -> None:
        self._start("edit", self._edit)

    def duplicate(self) -> None:
        self._start("duplicate", self._duplicate)

    def remove(self) -> None:
        self._start("remove", self._remove)

    def copy_claude_command(self) -> None:
        self._start("copy", self._copy_claude_command)

    def copy_fragment(self) -> None:
        self._start("copy", self._copy_fragment)

    def copy_tool_name(self) -> None:
        """Copy the current tool's name as clients present it to a model."""
        from inspector.protocol.types import namespaced

        workspace = self._window.workspace()
        tools = workspace.existing(TOOLS) if workspace is not None else None
        if workspace is not None and tools is not None and (tool := tools.call_view.tool) is not None:
            self._copy(namespaced(workspace.view.name, tool.name))

    def copy_definitions(self, format: str, *, everything: bool = False) -> None:
        """Copy the selected tools, or all listed ones, as a model API takes them."""
        tools = self.tools(everything=everything)
        if tools:
            self._bridge.start("copy tool definitions", self._copy_definitions(tools, format))

    def tools(self, *, everything: bool = False) -> list[tuple[str, Tool]]:
        """Return the selected tools, or all listed ones, each with the name of its server."""
        features = self._window.shown_features()
        if features is not None:
            return features.all_tools() if everything else features.selected_tools()
        workspace = self._window.workspace()
        panel = workspace.existing(TOOLS) if workspace is not None else None
        if workspace is None or panel is None:
            return []
        tools = panel.model.tools() if everything else panel.selected_tools()
        return [(workspace.view.name, tool) for tool in tools]

    async def _copy_definitions(self, tools: Sequence[tuple[str, Tool]], format: str) -> None:
        """Write a few definitions at a time: there may be ten thousand tools."""
        import asyncio

        from inspector.base.json.text import write
        from inspector.schema.tool_definitions import FORMATS, tool_definitions, tools_text

        texts: list[str] = []
        notes: list[str] = []
        for definition in tool_definitions(tools, format):
            texts.append(write(definition.value))
            notes += definition.notes
            if len(texts) % _DEFINITIONS_AT_ONCE == 0:
                await asyncio.sleep(0)
        if not shiboken6.isValid(self._window):
            return
        QGuiApplication.clipboard().setText(texts[0] if len(texts) == 1 else tools_text(texts, format))
        count = plural(len(texts), "tool definition")
        more = [f"{len(notes) - _MAX_NOTES:,} more changes."] if len(notes) > _MAX_NOTES else []
        sentences = [f"Copied {count} for {FORMATS[format]}.", *notes[:_MAX_NOTES], *more]
        self._window.notify(" ".join(sentences))

    def _start(self, what: str, work: Callable[[ServerView], Coroutine[Any, Any, None]]) -> None:
        view = self._window.current_view()
        if view is not None:
            self._bridge.start(f"{what} {view.name}", work(view))

    async def _edit(self, view: ServerView) -> None:
        from inspector.qt.dialogs.servers.edit_server import EditServerDialog

        draft = await self._bridge.ask(lambda engine: engine.servers.draft(view.name))
        if not shiboken6.isValid(self._window):
            return
        if (dialog := self._editing.get(view.name)) is None:  # one per server: two would conflict
            dialog = EditServerDialog(self._bridge, view.name, draft, self._theme, self._window)
            self._editing[view.name] = dialog
            dialog.finished.connect(lambda: self._editing.pop(view.name, None))
            dialog.saved.connect(self._window.servers.choose)
        dialog.show()
        dialog.raise_()
        dialog.activateWindow()

    async def _duplicate(self, view: ServerView) -> None:
        copy = await self._bridge.ask(lambda engine: engine.servers.duplicate(view.name))
        if shiboken6.isValid(self._window):
            self._window.servers.choose(copy.name)

    async def _remove(self, view: ServerView) -> None:
        removed = await self._bridge.ask(lambda engine: engine.servers.removals.remove(view.name))
        self._put_removed(removed, monotonic() + removed.seconds)

    def _on_undo(self) -> None:
        """Undo the latest removal."""
        if self._removed:
            removed, until = self._removed.pop()
            self._show_removed()
            self._bridge.start(f"undo {removed.name}", self._restore(removed, until))

    async def _restore(self, removed: Removed, until: float) -> None:
        try:
            view = await self._bridge.ask(lambda engine: engine.servers.removals.undo(removed.id))
        except UserError:
            self._put_removed(removed, until)  # the obstacle can be removed, and undo tried again
            raise
        if shiboken6.isValid(self._window):
            self._window.servers.choose(view.name)

    def _put_removed(self, removed: Removed, until: float) -> None:
        if shiboken6.isValid(self._window):
            self._removed.append((removed, until))
            self._show_removed()

    def _show_removed(self) -> None:
        now = monotonic()
        self._removed = [(removed, until) for removed, until in self._removed if until > now]
        if not self._removed:
            self._expiry.stop()
            self._window.strips.close_topic(_REMOVED)
            return
        last, until = self._removed[-1]
        self._expiry.start(int((until - now) * 1000) + 1)
        name = f"“{shorten(one_line(last.name), _MAX_NAME_LENGTH)}”"
        others = len(self._removed) - 1
        text = f"Removed {name} and {others} before it." if others else f"Removed {name}."
        self._window.strips.show_message(_REMOVED, text, "", [self._undo])

    async def _copy_claude_command(self, view: ServerView) -> None:
        from inspector.config.foreign.export import claude_command

        await self._copy_exported(view, claude_command)

    async def _copy_fragment(self, view: ServerView) -> None:
        from inspector.config.foreign.export import fragment

        await self._copy_exported(view, fragment)

    async def _copy_exported(self, view: ServerView, make: Callable[[Entry], Exported]) -> None:
        exported = make(await self._bridge.ask(lambda engine: engine.servers.entry(view.name)))
        if shiboken6.isValid(self._window):
            self._copy(exported.text, *exported.notes)

    def _copy(self, text: str, *notes: str) -> None:
        QGuiApplication.clipboard().setText(text)
        self._window.notify(" ".join((f"Copied: {shorten(one_line(text), 120)}", *notes)))


class AddServerCommands(QObject):
    """Adds servers. The dialogs are imported on demand; none of them is modal."""

    def __init__(self, window: MainWindow, bridge: Bridge, theme: Theme) -> None:
        super().__init__(window)
        self._window, self._bridge, self._theme = window, bridge, theme

    def open(self, text: str = "") -> AddServerDialog:
        """Open the dialog; `text` is what was pasted elsewhere. It is shown, not added."""
        from inspector.qt.dialogs.servers.add_server import AddServerDialog

        dialog = AddServerDialog(self._bridge, self._theme, self._window, taken=self._names)
        dialog.added.connect(self._window.servers.choose)
        if text:
            dialog.put(text)
        dialog.show()
        return dialog

    def open_file(self, path: Path) -> None:
        self.open().open_file(path)

    def choose_file(self) -> None:
        self.open().choose_file()

    def open_export(self) -> None:
        from inspector.qt.dialogs.servers.export_servers import ExportServersDialog

        view = self._window.current_view()
        chosen = [view.name] if view is not None else self._names()
        ExportServersDialog(self._bridge, self._theme, self._names(), chosen, self._window).show()

    def open_dropped(self, paths: Sequence[Path]) -> None:
        """Open dropped files, which may be configurations or captures of the same file type."""
        for path in paths:
            self._bridge.start_when_attached("open a dropped file", self._open_dropped(path))

    async def _open_dropped(self, path: Path) -> None:
        is_configuration = path.suffix.lower() not in OPENABLE_SUFFIXES or await self._holds_servers(path)
        if shiboken6.isValid(self):
            if is_configuration:
                self.open_file(path)
            else:
                self._window.captures.open([path])

    async def _holds_servers(self, path: Path) -> bool:
        import asyncio

        from inspector.config.foreign.paste import read_pasted
        from inspector.config.foreign.reader import read_config_text

        try:
            return await self._bridge.ask(
                lambda engine: asyncio.to_thread(lambda: bool(read_pasted(read_config_text(path))))
            )
        except ConfigError:
            return False

    def _names(self) -> list[str]:
        return [view.name for view in self._window.servers.model.views()]
