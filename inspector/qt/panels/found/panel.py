"""Found servers: the files on the left, the chosen one on the right."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import shiboken6
from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QSplitter, QVBoxLayout, QWidget

from inspector.base.errors import UserError
from inspector.base.plaintext import one_line
from inspector.config.finding import FoundFile
from inspector.engine.found import FoundServers
from inspector.engine.foundviews import FoundReport, FoundView
from inspector.qt.bridge import Bridge
from inspector.qt.models.foundwords import nothing_words, summary_words
from inspector.qt.panels.found.review import ReviewPage
from inspector.qt.panels.found.tree import FoundTree
from inspector.qt.theme import Theme
from inspector.qt.widgets.alert import Alert
from inspector.qt.widgets.gate import Gate
from inspector.qt.widgets.toolbar import PanelHeader

_WIDTHS = [380, 760]


class FoundPanel(QWidget):
    """The servers found in other tools' config files.

    Signals:
        server_wanted: Show a server of the server list; carries its name.
    """

    server_wanted = Signal(str)

    def __init__(self, bridge: Bridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self.report = FoundReport()
        self.tree = FoundTree(theme)
        self.review = ReviewPage(theme)
        self.look_action = QAction("Look again", self)
        self.look_action.setToolTip("Read all files anew")
        theme.dress(self.look_action, "refresh")
        self._header = PanelHeader(theme, "Found servers")
        self._header.add_action(self.look_action)
        self.alert = Alert(theme)
        sides = QSplitter()
        sides.setChildrenCollapsible(False)
        sides.addWidget(self.tree)
        sides.addWidget(self.review)
        sides.setSizes(_WIDTHS)
        sides.setStretchFactor(1, 1)
        self._gate = Gate(theme, sides)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._header)
        column.addWidget(self.alert)
        column.addWidget(self._gate, 1)
        self.tree.chosen.connect(self._on_chosen)
        self.look_action.triggered.connect(self.look)
        self.review.trust_wanted.connect(lambda view: self._start("trust", self._trust(view)))
        self.review.import_wanted.connect(lambda view: self._start("import", self._import(view)))
        self.review.examine_wanted.connect(lambda view: self._start("examine", self._examine(view)))
        self.review.distrust_wanted.connect(lambda view: self._start("distrust", self._distrust(view)))
        self.review.server_wanted.connect(self.server_wanted)
        bridge.found_changed.connect(self.show_report)
        self.show_report(self.report)
        bridge.start_when_attached("load found servers", self._load())

    def look(self) -> None:
        self._start("look for servers", self._look())

    def show_report(self, report: FoundReport) -> None:
        self.report = report
        self._header.set_detail(summary_words(report) if report.files else "")
        if report.problem:
            self.alert.say("trust", report.problem, tone="error")
        else:
            self.alert.close_about("trust")
        self.tree.show_report(report)
        if report.files:
            self._gate.open()
        else:
            self._gate.explain("empty", "search", "Nothing found", nothing_words(), action=self.look_action)

    # --------------------------------------------------------------

    def _on_chosen(self, what: FoundView | FoundFile | None) -> None:
        for about in ("failed", "examined"):
            self.alert.close_about(about)
        if isinstance(what, FoundView):
            self.review.show_server(what)
        elif what is not None:
            self.review.show_file(what)

    def _start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        self.alert.close_about("failed")
        self._bridge.start_when_attached(name, self._shown(work))

    async def _shown(self, work: Coroutine[Any, Any, None]) -> None:
        """Await `work` and show errors here, next to their subject."""
        try:
            await work
        except UserError as exc:
            if not shiboken6.isValid(self):
                raise
            self.alert.say("failed", str(exc), tone="error")

    async def _load(self) -> None:
        """Load what was found before the panel was opened."""

        async def last(found: FoundServers) -> FoundReport:
            return found.report

        report = await self._bridge.ask_found(last)
        if shiboken6.isValid(self):
            self.show_report(report)

    async def _look(self) -> None:
        await self._bridge.ask_found(lambda found: found.look())

    async def _trust(self, view: FoundView) -> None:
        allowed, given = self.review.allowed(), self.review.given()
        server = await self._bridge.ask_found(lambda found: found.trust(view.id, view.seen, allowed, given))
        self._bridge.connect_server(server.name)
        if shiboken6.isValid(self):
            self.server_wanted.emit(server.name)

    async def _import(self, view: FoundView) -> None:
        allowed, given = self.review.allowed(), self.review.given()
        server = await self._bridge.ask_found(
            lambda found: found.import_(view.id, view.seen, inputs=given, variables=allowed)
        )
        if shiboken6.isValid(self):
            self.server_wanted.emit(server.name)

    async def _examine(self, view: FoundView) -> None:
        examination = await self._bridge.ask_doctor(lambda doctor: doctor.look_over(view.id))
        shown = self.review.view if shiboken6.isValid(self) else None
        if shown is None or shown.id != view.id:
            return
        failure = examination.failure
        if failure is not None:
            self.alert.say("examined", failure.cause, failure.fix, tone="error")
            return
        seen = next((each for each in examination.results if each.id in ("command", "url")), None)
        words = "Nothing that can be seen speaks against it."
        if seen is not None and seen.found:  # where it is, or why that is unknown
            words = f"{words} {seen.title}: {one_line(seen.found).rstrip('.')}."
        self.alert.say("examined", words, "It was not started, and nobody was asked.", tone="ok")

    async def _distrust(self, view: FoundView) -> None:
        await self._bridge.ask_found(lambda found: found.forget(view.id))
