"""What the panels of tools, resources and prompts have in common: a list that the server keeps changing."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter, QVBoxLayout, QWidget

from inspector.base.errors import LensError, UserError
from inspector.engine.views import ServerStatus, ServerView
from inspector.protocol.handshake import Agreement
from inspector.qt.actions import Actions
from inspector.qt.bridge import Bridge
from inspector.qt.forms.newsstrip import NewsStrip
from inspector.qt.forms.refreshing import Refreshing
from inspector.qt.models.standing import standing_of
from inspector.qt.theme import Theme
from inspector.qt.widgets.alert import Alert
from inspector.qt.widgets.gate import Gate

_LIST_FAILED = "list"


class OfferedPanel(QWidget):
    """Base class for panels that list what a server offers.

    Lists on connect and on list_changed notifications. While there is nothing to show it explains why and
    what to do. A subclass sets `kind` (e.g. `tool`), calls `_lay_out` once its parts exist, and implements
    `_list_all`.
    """

    kind = ""
    asked = ""  # the request being waited for, e.g. `tools/list`

    def __init__(
        self, bridge: Bridge, server: str, actions: Actions, theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._server = server
        self._actions = actions
        self._theme = theme
        self._status: ServerStatus | None = None
        self._what = f"{self.kind}s"
        self.news = NewsStrip(theme)
        self.alert = Alert(theme)
        self._refreshing = Refreshing(bridge, f"list {self._what} of {server}", self._list_all, self)

    def set_view(self, view: ServerView) -> None:
        is_new = view.status is not self._status
        self._status = view.status
        if is_new or view.status is ServerStatus.CONNECTING:
            self._show_standing(view)

    def refresh(self) -> None:
        """Fetch everything again; the selection, input and results stay."""
        self._refreshing.refresh()

    # -------------------------------------------------------------- what each panel has of its own

    @property
    def total(self) -> int:
        """The number of items in the latest list."""
        raise NotImplementedError

    async def _list_all(self) -> None:
        raise NotImplementedError

    def _on_connected(self, agreement: Agreement) -> None:
        """Called on connect if the server offers this kind; other capabilities may matter."""

    # -------------------------------------------------------------- for them

    @property
    def _is_connected(self) -> bool:
        return self._status is ServerStatus.CONNECTED

    def _lay_out(self, left: QWidget, right: QWidget, sizes: Sequence[int]) -> None:
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(left)
        splitter.addWidget(right)
        splitter.setSizes(sizes)
        splitter.setStretchFactor(1, 1)
        inside = QWidget()
        whole = column_in(inside)
        whole.addWidget(self.news)
        whole.addWidget(self.alert)
        whole.addWidget(splitter, 1)
        self._gate = Gate(self._theme, inside)
        column_in(self).addWidget(self._gate)
        self._bridge.list_changed.connect(self._on_list_changed)

    def _explain_listing(self) -> None:
        if not self.total:
            words = f"Waiting for the answer to {self.asked}."
            self._gate.explain("loading", self.kind, f"Listing {self._what}", words)

    def _open(self, when_empty: str) -> None:
        """Show the list, or `when_empty` if there is nothing in it."""
        self.alert.close_about(_LIST_FAILED)
        if self.total:
            self._gate.open()
        else:
            again = self._actions[f"{self.kind}.refresh"]
            self._gate.explain("empty", self.kind, f"No {self._what}", when_empty, "", again)

    def _show_failure(self, error: LensError) -> None:
        """Show why listing failed; an existing list stays."""
        if not self._is_connected:
            return  # disconnected meanwhile; the panel already says so
        summary = error.summary if isinstance(error, UserError) else f"{error}."
        next_step = error.next_step if isinstance(error, UserError) else "The Traffic view has the exchange."
        again = self._actions[f"{self.kind}.refresh"]
        if self.total:
            words = f"The {self._what} could not be listed again: {summary}"
            self.alert.say(_LIST_FAILED, words, f"This is the list as it was. {next_step}", [again])
            self._gate.open()
        else:
            title = f"The {self._what} could not be listed"
            self._gate.explain("failed", self.kind, title, summary, next_step, again)

    def _show_standing(self, view: ServerView) -> None:
        standing = standing_of(view)
        if standing is not None:
            words = (standing.title, standing.sentence, standing.next_step)
            self._gate.explain(standing.look, self.kind, *words, self._actions[standing.command])
        elif view.agreement is None or not view.offers(self._what):
            sentence = f"This server does not offer {self._what}: it did not declare the capability."
            self._gate.explain("empty", self.kind, f"No {self._what}", sentence)
        else:
            self._on_connected(view.agreement)
            self._explain_listing()
            self.refresh()

    def _on_list_changed(self, server: str, what: str) -> None:
        if server == self._server and what == self._what and self._is_connected:
            self.refresh()


def column_in(widget: QWidget) -> QVBoxLayout:
    """Create a column without spacing or margins."""
    column = QVBoxLayout(widget)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(0)
    return column
