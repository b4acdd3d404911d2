"""The file of servers, changed by hand: a line above the workspace says so, and leads to what changed."""

from __future__ import annotations

from collections import deque
from datetime import datetime
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import QObject
from PySide6.QtGui import QAction

from inspector.base.plaintext import one_line
from inspector.config.entrychanges import CatalogueDiff
from inspector.qt.bridge import Bridge
from inspector.qt.models.cataloguewords import change_words
from inspector.qt.theme import Theme

if TYPE_CHECKING:
    from inspector.engine.servers import Servers
    from inspector.qt.dialogs.cataloguechanges import CatalogueChangesDialog
    from inspector.qt.window.mainwindow import MainWindow

_ABOUT = "catalogue"
_MOST_KEPT = 50


class CatalogueNews(QObject):
    """Reports changes to the server list. Created for the first one.

    Changes since the strip was last dismissed are shown together.
    """

    def __init__(self, window: MainWindow, bridge: Bridge, theme: Theme) -> None:
        super().__init__(window)
        self._window, self._bridge, self._theme = window, bridge, theme
        self._changes: deque[tuple[datetime, CatalogueDiff]] = deque(maxlen=_MOST_KEPT)
        self._dialog: CatalogueChangesDialog | None = None
        self._show, self._dismiss = QAction("Show…", self), QAction("Dismiss", self)
        self._show.triggered.connect(self.open)
        self._dismiss.triggered.connect(self._on_dismissed)

    def put(self, diff: CatalogueDiff) -> None:
        self._changes.append((datetime.now().astimezone(), diff))
        if self._dialog is not None:
            self._dialog.show_changes(list(self._changes))
        self._bridge.start("catalogue changed", self._say(diff))

    def open(self) -> None:
        from inspector.qt.dialogs.cataloguechanges import CatalogueChangesDialog

        if self._dialog is None:
            self._dialog = CatalogueChangesDialog(self._theme, list(self._changes), self._window)
            self._dialog.finished.connect(self._on_closed)
            self._dialog.show()
        self._dialog.raise_()
        self._dialog.activateWindow()

    async def _say(self, diff: CatalogueDiff) -> None:
        async def name(servers: Servers) -> str:
            return servers.catalogue.path.name if servers.catalogue is not None else "The list of servers"

        file = await self._bridge.ask_servers(name)
        if shiboken6.isValid(self._window):
            words = f"{one_line(file)} was changed by hand: {change_words(diff)}."
            self._window.strips.say(_ABOUT, words, self._show, "accent", self._dismiss)

    def _on_closed(self) -> None:
        self._dialog = None

    def _on_dismissed(self) -> None:
        self._window.strips.take_back(_ABOUT)
        self._changes.clear()
