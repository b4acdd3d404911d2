"""A capture opened in the window, and the times at which parts of it become visible."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, SignalInstance
from PySide6.QtWidgets import QWidget

if TYPE_CHECKING:
    from inspector.app.backend import App
    from inspector.qt.panels.traffic.panel import TrafficPanel
    from inspector.qt.window.captures import OpenedCapture


async def until(happened: SignalInstance, is_so: Callable[[], bool]) -> None:
    """Wait until a condition holds; it is checked whenever the signal is emitted."""
    while not is_so():
        again: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def on_happened(*_: object, again: asyncio.Future[None] = again) -> None:
            if not again.done():
                again.set_result(None)

        connection = happened.connect(on_happened)
        await again
        happened.disconnect(connection)


class Painted(QObject):
    """The first time that a widget is painted with content."""

    def __init__(self, widget: QWidget, has_something: Callable[[], bool]) -> None:
        super().__init__(widget)
        self._widget = widget
        self._has_something = has_something
        self._painted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Paint and not self._painted.done() and self._has_something():
            # The waiting task goes on when this event, and with it the painting, is over.
            self._painted.set_result(None)
        return False

    async def wait(self) -> None:
        await self._painted
        self._widget.removeEventFilter(self)


class Watched:
    """The panel of an open capture, driven like a user."""

    def __init__(self, panel: TrafficPanel) -> None:
        self.panel = panel
        self.search = panel.model.search
        self.progress: list[float] = []  # what the bar showed while it offered to stop
        (self._stop,) = (action for action in panel.search.actions() if action.text() == "Stop searching")
        self.search.progressed.connect(self._on_progressed)

    @classmethod
    async def open(cls, app: App, path: Path) -> Watched:
        """Open the capture and wait until its first rows are painted."""
        shown: asyncio.Future[tuple[TrafficPanel, Painted]] = asyncio.get_running_loop().create_future()

        def on_opened(opened: OpenedCapture) -> None:
            panel = opened.panel
            shown.set_result((panel, Painted(panel.table.viewport(), lambda: panel.model.rowCount() > 0)))

        def on_problem(words: str) -> None:
            if not shown.done():
                shown.set_exception(SystemExit(words))

        app.window.captures.opened.connect(on_opened)
        app.bridge.problem_found.connect(on_problem)
        app.window.captures.open([path])
        panel, painted = await shown
        await painted.wait()
        return cls(panel)

    async def until_found(self) -> None:
        await until(self.search.progressed, lambda: not self.search.is_searching)

    async def filter(self, text: str) -> int:
        """Type a filter; return the number of matches once all rows were checked."""
        self.begin_filter(text)
        await self.until_found()
        return self.panel.model.rowCount()

    def begin_filter(self, text: str) -> None:
        self.progress.clear()
        self.panel.filter_bar.set_text(text)

    async def until_share(self, share: float) -> None:
        """Wait until this share was searched, or everything."""
        await until(self.search.progressed, lambda: self.search.share > share or not self.search.is_searching)

    async def stop(self) -> None:
        """Press the stop button and wait until the search has ended."""
        self._stop.trigger()
        for _ in range(3):
            await asyncio.sleep(0)

    async def sort(self, column: int) -> None:
        """Click a column header."""
        ordered = asyncio.Event()
        connection = self.panel.model.reordered.connect(lambda: ordered.set())
        self.panel.table.horizontalHeader().sectionClicked.emit(column)
        await ordered.wait()
        self.panel.model.reordered.disconnect(connection)

    def _on_progressed(self) -> None:
        if self.search.is_searching and self._stop.isVisible():
            self.progress.append(self.search.share)
