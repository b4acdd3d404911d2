"""Welcome panel of an empty window: paste box, discovered servers, demo servers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import shiboken6
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QFont, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from inspector.engine.servers.views import DiscoveryReport
from inspector.qt.bridge import Bridge
from inspector.qt.forms.server.input_fields import PasteBox
from inspector.qt.models.discovered_servers import configured_text, no_servers_text
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, SPACE_6, SPACE_8, Theme
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel

_MAX_WIDTH = 720
_MIN_FULL_HEIGHT = 330  # height in pixels from which the texts fit, too
_PASTE = (
    "Paste a command, a URL, an MCP client configuration or an install link. You review it before "
    "anything is started."
)
_DEMO = (
    "They demonstrate every MCP feature; one violates the protocol on purpose. They run on this machine "
    "until you close MCP Lens."
)


class WelcomePanel(QWidget):
    """The start page.

    Signals:
        pasted: The user wants to add this; carries the text. This adds nothing by itself.
        review_requested: The user wants to see the servers found in other clients' files.
    """

    pasted = Signal(str)
    review_requested = Signal()

    def __init__(
        self, bridge: Bridge, theme: Theme, open_file: QAction, demo: QAction, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge, self._theme = bridge, theme
        self._folder: Path | None = None
        self.report: DiscoveryReport | None = None
        self.box = PasteBox(theme, lines=(3, 6))
        self.go_action = self._action("Add server…", self._on_entered)
        self.review_action = self._action("Review…", self.review_requested.emit)
        self.search_action = self._action("Search again", self._scan)
        self._title = _TitleLabel(theme, "Inspect an MCP server")
        self._title.setContentsMargins(0, 0, 0, SPACE_3)
        self._gap = QWidget()
        self._gap.setFixedHeight(SPACE_2)
        self._about_paste = MutedLabel(theme, _PASTE, wrap=True)
        self.found_text = PlainLabel(theme, wrap=True, tone="muted")
        self._review, self._search_again = ActionButton(self.review_action), ActionButton(self.search_action)
        self._demo = demo
        self._lay_out(open_file)
        self.box.textChanged.connect(self._on_text)
        self.box.entered.connect(self._on_entered)
        bridge.discovered_servers_changed.connect(self.show_report)
        self._on_text()
        self._show_found()
        bridge.start_when_attached("load discovered servers", self._load())

    def show_report(self, report: DiscoveryReport) -> None:
        self.report = report
        self._show_found()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """In a low window, show only the three options."""
        super().resizeEvent(event)
        for widget in (self._title, self._about_paste, self._gap):
            widget.setVisible(self.height() >= _MIN_FULL_HEIGHT)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.box.clear()

    def _action(self, text: str, act: object) -> QAction:
        action = QAction(text, self)
        action.triggered.connect(act)
        return action

    def _lay_out(self, open_file: QAction) -> None:
        inside = QWidget()
        inside.setMaximumWidth(_MAX_WIDTH)
        demo = [ActionButton(self._demo)]
        below = hbox(
            None,
            (
                self._section(
                    "Discovered on this machine", self.found_text, [self._review, self._search_again]
                ),
                1,
            ),
            (self._section("Try the demo servers", MutedLabel(self._theme, _DEMO, wrap=True), demo), 1),
            gap=SPACE_8,
        )
        vbox(
            inside,
            (STRETCH, 2),
            self._title,
            Heading(self._theme, "Add a server"),
            self._about_paste,
            self._paste_row(open_file),
            self._gap,
            below,
            (STRETCH, 3),
            margin=(SPACE_6, SPACE_2),
        )
        scroll = QScrollArea()
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(_centered(inside))
        vbox(self, scroll)
        self.setFocusProxy(self.box)

    def _paste_row(self, open_file: QAction) -> QHBoxLayout:
        column = vbox(None, ActionButton(self.go_action, "primary"), ActionButton(open_file), STRETCH)
        return hbox(None, (self.box, 1, Qt.AlignmentFlag.AlignTop), column)

    def _section(self, title: str, text: QWidget, buttons: Sequence[ActionButton]) -> QVBoxLayout:
        return vbox(None, Heading(self._theme, title), text, SPACE_1, _row(buttons), STRETCH, gap=SPACE_1)

    def _on_text(self) -> None:
        self.go_action.setEnabled(bool(self.box.text().strip()))

    def _on_entered(self) -> None:
        if text := self.box.text().strip():
            self.pasted.emit(text)

    def _show_found(self) -> None:
        report = self.report
        has_files = report is not None and bool(report.files)
        self._review.setVisible(has_files)
        self._search_again.setVisible(report is not None and not has_files)
        if report is None:
            self.found_text.setText("Searching…")
        elif has_files:
            self.found_text.setText(f"{configured_text(report)} Nothing is started until you approve it.")
        else:
            self.found_text.setText(no_servers_text(self._folder))

    def _scan(self) -> None:
        self._bridge.start_when_attached(
            "search for servers", self._bridge.ask(lambda engine: engine.discovery.scan())
        )

    async def _load(self) -> None:
        """Load what was found before the panel was created, and where."""
        report, folder = await self._bridge.ask(
            lambda engine: (engine.discovery.report, engine.discovery.folder)
        )
        if shiboken6.isValid(self):
            self._folder = folder
            self.show_report(self.report or report)


def _row(buttons: Sequence[ActionButton]) -> QHBoxLayout:
    return hbox(None, *buttons, STRETCH)


def _centered(widget: QWidget) -> QWidget:
    page = QWidget()
    hbox(page, STRETCH, (widget, 1000), STRETCH, gap=-1)
    return page


class _TitleLabel(PlainLabel):
    def _label_font(self) -> QFont:
        return self._theme.ui_font(1.4, QFont.Weight.DemiBold)
