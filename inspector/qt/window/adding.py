"""Servers come in and go out: the dialogs for adding what was pasted or dropped, and for exporting."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import QObject

from inspector.base.errors import ConfigError
from inspector.qt.bridge import Bridge
from inspector.qt.theme import Theme
from inspector.traffic.suffixes import OPENABLE

if TYPE_CHECKING:
    from inspector.engine.servers import Servers
    from inspector.qt.dialogs.addserver import AddServerDialog
    from inspector.qt.window.mainwindow import MainWindow


class Adding(QObject):
    """Adds servers. The dialogs are imported on demand; none of them is modal."""

    def __init__(self, window: MainWindow, bridge: Bridge, theme: Theme) -> None:
        super().__init__(window)
        self._window, self._bridge, self._theme = window, bridge, theme

    def open(self, text: str = "") -> AddServerDialog:
        """Open the dialog; `text` is what was pasted elsewhere. It is shown, not added."""
        from inspector.qt.dialogs.addserver import AddServerDialog

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
        from inspector.qt.dialogs.exportservers import ExportServersDialog

        view = self._window.current_view()
        chosen = [view.name] if view is not None else self._names()
        ExportServersDialog(self._bridge, self._theme, self._names(), chosen, self._window).show()

    def open_dropped(self, paths: Sequence[Path]) -> None:
        """Open dropped files, which may be configurations or captures of the same file type."""
        for path in paths:
            self._bridge.start_when_attached("open a dropped file", self._open_dropped(path))

    async def _open_dropped(self, path: Path) -> None:
        is_configuration = path.suffix.lower() not in OPENABLE or await self._holds_servers(path)
        if shiboken6.isValid(self):
            if is_configuration:
                self.open_file(path)
            else:
                self._window.captures.open([path])

    async def _holds_servers(self, path: Path) -> bool:
        import asyncio

        from inspector.config.formats.reading import read_config_text
        from inspector.config.pasting import read_pasted

        async def run(servers: Servers) -> bool:
            try:
                return bool(await asyncio.to_thread(lambda: read_pasted(read_config_text(path))))
            except ConfigError:
                return False

        return await self._bridge.ask_servers(run)

    def _names(self) -> list[str]:
        return [view.name for view in self._window.servers.model.views()]
