"""The Process panel: what runs of a stdio server, and what happens when its files change."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QSplitter, QVBoxLayout, QWidget

from inspector.base.errors import UserError
from inspector.engine.filewatch import FileWatchView
from inspector.engine.reruns import RerunView
from inspector.engine.views import ServerStatus, ServerView
from inspector.qt.actions import Actions
from inspector.qt.bridge import Bridge
from inspector.qt.models.listnews import ListNews
from inspector.qt.panels.process.filebar import FileBar
from inspector.qt.panels.process.reruns import RerunsView
from inspector.qt.panels.process.running import RunningView
from inspector.qt.theme import Theme
from inspector.qt.widgets.gate import Gate

_LOOK_MS = 1_000


class ProcessPanel(QWidget):
    """The server's process. Samples once a second, only while visible.

    Signals:
        call_requested: The user wants to see a saved call in the Tools tab; carries the SavedCall.
        row_requested: The user wants to see a row in the traffic; carries its number.
    """

    call_requested = Signal(object)
    row_requested = Signal(int)

    def __init__(
        self, bridge: Bridge, server: str, actions: Actions, theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._server = server
        self._is_ours = True
        self._is_looking = False
        self._looks_again = False
        self.running = RunningView(actions, theme)
        self.files = FileBar(theme)
        self.reruns = RerunsView(bridge, server, actions, theme)
        self._left = Gate(theme, self.running)
        self._timer = QTimer(self, interval=_LOOK_MS)
        self._lay_out()
        self._connect()

    def set_view(self, view: ServerView) -> None:
        self._is_ours = view.transport == "stdio"
        self.files.setVisible(self._is_ours)
        if self._is_ours:
            self._left.open()
            self.running.set_view(view)
        else:
            words = "This server runs elsewhere: MCP Lens did not start it and cannot look at it."
            self._left.explain("empty", "server", "No process of ours", words)
        self.reruns.set_server(view.status is ServerStatus.CONNECTED, self._is_ours)
        self._look()

    def tell_news(self, what: str, news: ListNews) -> None:
        """Show what changed in a refetched list, if files changed before."""
        if news and self.files.has_seen_change:
            self.files.tell_news(what, news.sentence())

    # -------------------------------------------------------------- looking

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._timer.start()
        self._look()
        self._start(f"watched calls of {self._server}", self._load())

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()

    async def _load(self) -> None:
        try:
            self.files.show_view(await self._bridge.ask_filewatch(lambda files: files.view(self._server)))
            self.reruns.show_view(await self._bridge.ask_reruns(lambda reruns: reruns.view(self._server)))
        except UserError:
            return  # the server is gone, and this panel with it

    def _look(self) -> None:
        self._looks_again = self._is_looking
        if self._is_ours and self.isVisible() and not self._is_looking:
            self._is_looking = True
            self._start(f"look at processes of {self._server}", self._look_once())

    async def _look_once(self) -> None:
        try:
            view = await self._bridge.ask_processes(lambda processes: processes.look(self._server))
            self.running.show_processes(view)
        finally:
            self._is_looking = False
        if self._looks_again:  # something happened meanwhile
            self._look()

    def _start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Start work owned by this panel: the server may be removed meanwhile."""
        if self._bridge.is_attached:
            self._bridge.start(name, work, self)
        else:
            self._bridge.start_when_attached(name, work)

    # -------------------------------------------------------------- what happens

    def _on_process_changed(self, server: str) -> None:
        if server == self._server:
            self._look()

    def _on_filewatch_changed(self, view: FileWatchView) -> None:
        if view.server == self._server:
            if view.is_restarting:
                self.files.forget_news()
            self.files.show_view(view)

    def _on_reruns_changed(self, view: RerunView) -> None:
        if view.server == self._server:
            self.reruns.show_view(view)

    def _on_globs_chosen(self, globs: tuple[str, ...]) -> None:
        self._bridge.start(f"watch files of {self._server}", self._set_globs(globs), self)

    async def _set_globs(self, globs: tuple[str, ...]) -> None:
        try:
            await self._bridge.ask_filewatch(lambda files: files.set_globs(self._server, globs))
        except UserError as exc:
            self.files.refuse(exc.summary, exc.next_step)
            return
        self.files.line.setModified(False)
        self.files.show_view(await self._bridge.ask_filewatch(lambda files: files.view(self._server)))

    # -------------------------------------------------------------- building

    def _connect(self) -> None:
        self._timer.timeout.connect(self._look)
        self._bridge.process_changed.connect(self._on_process_changed)
        self._bridge.filewatch_changed.connect(self._on_filewatch_changed)
        self._bridge.reruns_changed.connect(self._on_reruns_changed)
        self.files.globs_chosen.connect(self._on_globs_chosen)
        self.reruns.call_requested.connect(self.call_requested)
        self.reruns.row_requested.connect(self.row_requested)

    def _lay_out(self) -> None:
        right = QWidget()
        column = QVBoxLayout(right)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.files)
        column.addWidget(self.reruns, 1)
        split = QSplitter(Qt.Orientation.Horizontal)
        split.setChildrenCollapsible(False)
        split.addWidget(self._left)
        split.addWidget(right)
        split.setSizes([490, 630])
        split.setStretchFactor(1, 1)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(split)
