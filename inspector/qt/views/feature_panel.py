"""Base classes of the Tools, Resources and Prompts panels, refetching of lists, runner of requests.

`SingleListPanel` is a searchable list with the selected item beside it. A list is refetched on
list_changed notifications, with at most one fetch in flight.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

import shiboken6
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inspector.base.errors import LensError, UserError
from inspector.engine.server_view import ServerView
from inspector.engine.views import CallOutcome, OutcomeKind, ServerStatus
from inspector.protocol.handshake import NegotiationResult
from inspector.protocol.types import Listing
from inspector.qt.bridge import Bridge
from inspector.qt.models.feature_list import FeatureListModel, Item
from inspector.qt.models.servers import connection_placeholder
from inspector.qt.theme import SPACE_2
from inspector.qt.views.feature_list import ChangeStrip, FeatureList, NoMatches
from inspector.qt.views.panel import Panel, PanelContext
from inspector.qt.widgets.inputs.search import SearchField
from inspector.qt.widgets.layout import PanelHeader, hsplit, vbox
from inspector.qt.widgets.notices.empty_state import ContentStack
from inspector.qt.widgets.notices.notices import Alert

T = TypeVar("T")

_LIST_FAILED, _LIST_EMPTY = "list", "empty list"
_MAX_CACHED = 100  # outcomes of other tools or prompts


class FeaturePanel(Panel):
    """Base class for panels that list a feature of a server.

    Lists on connect and on list_changed notifications. While there is nothing to show it explains why and
    what to do. A subclass sets `kind` (e.g. `tool`), calls `_lay_out` once its parts exist, and implements
    `_list_all`.
    """

    kind = ""
    list_method = ""  # e.g. `tools/list`

    def __init__(self, context: PanelContext) -> None:
        super().__init__()
        bridge, server, theme = context.bridge, context.server, context.theme
        self._bridge = bridge
        self._server = server
        self._actions = context.actions
        self._theme = theme
        self._status: ServerStatus | None = None
        self._what = f"{self.kind}s"
        self.change_strip = ChangeStrip(theme)
        self.change_strip.reported.connect(context.list_compared)
        self.alert = Alert(theme)
        self._refresher = ListRefresher(bridge, f"list {self._what} of {server}", self._list_all, self)

    def set_view(self, view: ServerView) -> None:
        is_new = view.status is not self._status
        self._status = view.status
        if is_new or view.status is ServerStatus.CONNECTING:
            self._show_placeholder(view)

    def refresh(self) -> None:
        """Fetch everything again; the selection, input and results stay."""
        self._refresher.refresh()

    @property
    def total(self) -> int:
        """The number of items in the latest list."""
        raise NotImplementedError

    async def _list_all(self) -> None:
        raise NotImplementedError

    def _keeps_current(self) -> bool:
        """Return whether the selected item stays shown while the list is empty."""
        return False

    def _on_connected(self, negotiated: NegotiationResult) -> None:
        """Called on connect if the server declares this capability; others may matter."""

    @property
    def _is_connected(self) -> bool:
        return self._status is ServerStatus.CONNECTED

    def _lay_out(self, left: QWidget, right: QWidget, sizes: Sequence[int]) -> None:
        splitter = hsplit(left, right, sizes=sizes, stretch=1)
        inside = QWidget()
        whole = column_in(inside)
        whole.addWidget(self.change_strip)
        whole.addWidget(self.alert)
        whole.addWidget(splitter, 1)
        self._stack = ContentStack(self._theme, inside)
        column_in(self).addWidget(self._stack)
        self._bridge.list_changed.connect(self._on_list_changed)

    def _explain_listing(self) -> None:
        if not self.total and not self._keeps_current():
            text = f"Waiting for the {self.list_method} response."
            self._stack.explain("loading", self.kind, f"Listing {self._what}", text)

    def _open(self, when_empty: str) -> None:
        """Show the list, or `when_empty` if there is nothing in it."""
        again = self._actions[f"{self.kind}.refresh"]
        self.alert.close_topic(_LIST_FAILED)
        self.alert.close_topic(_LIST_EMPTY)
        if self.total:
            self._stack.open()
        elif self._keeps_current():
            self.alert.show_message(_LIST_EMPTY, f"No {self._what}. {when_empty}", "", [again], tone="wait")
            self._stack.open()
        else:
            self._stack.explain("empty", self.kind, f"No {self._what}", when_empty, "", again)

    def _show_failure(self, error: LensError) -> None:
        """Show why listing failed; an existing list stays."""
        if not self._is_connected:
            return  # disconnected meanwhile; the panel already says so
        summary = error.summary if isinstance(error, UserError) else f"{error}."
        again = self._actions[f"{self.kind}.refresh"]
        if self.total or self._keeps_current():
            text = f"Could not refresh the {self._what}: {summary}"
            self.alert.show_message(
                _LIST_FAILED, text, f"Showing the previous list. {error.next_step}", [again]
            )
            self._stack.open()
        else:
            title = f"Could not list the {self._what}"
            self._stack.explain("failed", self.kind, title, summary, error.next_step, again)

    def _show_completeness(self, what: str, listing: Listing[Any]) -> None:
        """Say why a list is incomplete; it is shown as far as it arrived."""
        topic = f"{what} incomplete"
        if not listing.incomplete:
            self.alert.close_topic(topic)
            return
        again = self._actions[f"{self.kind}.refresh"]
        text = f"The list of {what} is incomplete: {listing.incomplete}"
        if self.total or self._keeps_current():
            self.alert.show_message(topic, text, listing.next_step, [again])
        else:
            title = f"Could not list the {what}"
            self._stack.explain("failed", self.kind, title, listing.incomplete, listing.next_step, again)

    def _show_placeholder(self, view: ServerView) -> None:
        placeholder = connection_placeholder(view)
        if placeholder is not None:
            text = (placeholder.title, placeholder.text, placeholder.next_step)
            actions = (self._actions[placeholder.command], self._actions.find(placeholder.other_command))
            self._stack.explain(placeholder.appearance, self.kind, *text, *actions)
        elif view.negotiated is None or not view.offers(self._what):
            sentence = f"This server does not offer {self._what}: it did not declare the capability."
            self._stack.explain("empty", self.kind, f"No {self._what}", sentence)
        else:
            self._on_connected(view.negotiated)
            self._explain_listing()
            self.refresh()

    def _on_list_changed(self, server: str, what: str) -> None:
        if server == self._server and what == self._what and self._is_connected:
            self.refresh()


class SingleListPanel(FeaturePanel):
    """A panel with one list. The first item is selected initially.

    The selected item stays shown even when it is no longer in the list, unless the list is empty.
    """

    def __init__(self, context: PanelContext, model: FeatureListModel) -> None:
        super().__init__(context)
        theme = context.theme
        self._current: Item | None = None
        self._awaited = ""  # an item to select once the list is loaded
        model.setParent(self)
        self._model = model
        self.search = SearchField(theme, f"Search {self._what}")
        self.list = FeatureList(theme, model, self._what.capitalize())
        self._header = PanelHeader(theme, self._what.capitalize())
        self._header.add_action(context.actions[f"{self.kind}.refresh"])
        self._no_matches = NoMatches(theme, [(model, self._header)])
        self.search.down_pressed.connect(self.list.setFocus)
        self.search.text_settled.connect(lambda text: model.set_text(text.strip()))
        self.list.chosen.connect(self._go_to)

    @property
    def total(self) -> int:
        return self._model.total

    def choose(self, name: str) -> bool:
        return self.list.go_to(name)

    def select_when_listed(self, name: str) -> None:
        """Select an item even if a search hides it, or as soon as the list is loaded."""
        self._awaited = name if self._model.find(name) is None else ""
        if self._awaited:
            return
        if not self.choose(name):
            self.search.clear()
            self.search.settle()
            self.choose(name)
        self._on_listed_selected(name)

    async def _fetch(self) -> Listing[Any]:
        raise NotImplementedError

    def _show_item(self, item: Item) -> None:
        """Show an item beside the list; it may be a new version of the current one."""
        raise NotImplementedError

    def _show_nothing(self) -> None:
        """Called when the list is empty."""

    def _on_listed_selected(self, name: str) -> None:
        """Called when the item requested by `select_when_listed` is shown."""

    def _lay_out_side_by_side(self, page: QWidget, width: int) -> None:
        left = QWidget()
        column = column_in(left)
        column.addWidget(self._header)
        boxed = vbox(None, self.search, gap=-1, margin=SPACE_2)
        column.addLayout(boxed)
        column.addWidget(self._no_matches)
        column.addWidget(self.list, 1)
        self._lay_out(left, page, [width, 1140 - width])

    async def _list_all(self) -> None:
        self._explain_listing()
        try:
            listing = await self._fetch()
        except LensError as exc:
            self._show_failure(exc)
            return
        if self._is_connected:
            await self._show_listing(listing)

    async def _show_listing(self, listing: Listing[Any]) -> None:
        """Show a list in steps: ten thousand rows and the first form at once would block the window."""
        self._model.set_listing(listing)
        await asyncio.sleep(0)
        self._restore_selection()
        await asyncio.sleep(0)
        if self._is_connected:
            self._open(f"The server's list of {self._what} is empty.")
            self._show_completeness(self._what, listing)
        if self._awaited:
            self.select_when_listed(self._awaited)
        changes = await self._model.take_changes()
        self.change_strip.notify(self._what, changes)
        self._model.mark_changed(changes)

    def _restore_selection(self) -> None:
        first = self._model.item(0)
        if not self.total and not self._keeps_current():
            self._current = None
            self._show_nothing()
        elif self._current is not None:
            current_version = self._model.current(self._current)
            if current_version is not None and current_version != self._current:
                self._current = current_version
                self._show_item(current_version)
        elif first is not None:
            self.list.select_silently(first)
            self._go_to(first)

    def _go_to(self, item: Item) -> None:
        self._current = item
        self._model.mark_seen(item)
        self._show_item(item)


class ListRefresher(QObject):
    """Refetches a list; requests during a fetch are merged into one more fetch afterwards.

    A server must not make MCP Lens send a request for each of its notifications.
    """

    def __init__(
        self, bridge: Bridge, name: str, fetch: Callable[[], Coroutine[Any, Any, None]], owner: QObject
    ) -> None:
        super().__init__(owner)
        self._bridge = bridge
        self._name = name
        self._fetch = fetch
        self._owner = owner
        self._is_fetching = False
        self._again = False

    def refresh(self) -> None:
        self._again = True
        if not self._is_fetching:
            self._is_fetching = True
            self._bridge.start(self._name, self._run(), self._owner)

    async def _run(self) -> None:
        try:
            while self._again:
                self._again = False
                await self._fetch()
        finally:
            self._is_fetching = False


class Runner(QObject):
    """Runs one request of a panel at a time and keeps the latest outcome of each tool or prompt.

    Signals:
        changed: A run started or ended.
    """

    changed = Signal()

    def __init__(self, bridge: Bridge, owner: QObject) -> None:
        super().__init__(owner)
        self._bridge = bridge
        self._task: asyncio.Task[None] | None = None
        self._started = 0
        self._on_failure: Callable[[CallOutcome], object] = lambda outcome: None
        self.outcomes: dict[str, CallOutcome] = {}
        self.cancel_action = QAction("Cancel", self)
        self.cancel_action.triggered.connect(self.cancel)

    @property
    def is_running(self) -> bool:
        return self._task is not None

    def run(
        self,
        name: str,
        work: Callable[[], Coroutine[Any, Any, None]],
        on_failure: Callable[[CallOutcome], object],
    ) -> None:
        """Start `work`, which calls `finish` before it shows its outcome.

        `on_failure` gets the outcome if the work is cancelled, even before it starts, or raises UserError.
        """
        self._started, self._on_failure = time.monotonic_ns(), on_failure
        self._task = self._bridge.start(name, self._run(work), self)
        self._task.add_done_callback(self._on_done)
        self.changed.emit()

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def finish(self) -> None:
        """End the run: reading a large response takes a while, and the next run need not wait."""
        if self._task is not None:
            self._task = None
            self.changed.emit()

    def in_run(self, callback: Callable[[T], None]) -> Callable[[T], None]:
        """Wrap `callback` of the current run: what arrives after its end is ignored."""
        task = self._task
        return lambda value: callback(value) if task is self._task else None

    def keep(self, name: str, outcome: CallOutcome) -> None:
        """Keep an outcome for when the user returns to the tool or prompt."""
        self.outcomes.pop(name, None)
        self.outcomes[name] = outcome
        while len(self.outcomes) > _MAX_CACHED:
            del self.outcomes[next(iter(self.outcomes))]

    async def _run(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        task = self._task
        try:
            await work()
        except UserError as exc:
            if task is not self._task:
                raise
            self._fail(OutcomeKind.FAILED, exc.summary, exc.next_step)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        if not shiboken6.isValid(self) or self._bridge.is_closed or task is not self._task:
            return
        if task.cancelled():
            self._fail(OutcomeKind.CANCELLED)
        else:
            self.finish()

    def _fail(self, kind: OutcomeKind, summary: str = "", next_step: str = "") -> None:
        elapsed = time.monotonic_ns() - self._started
        self.finish()
        self._on_failure(CallOutcome(kind, elapsed, summary=summary, next_step=next_step))


def column_in(widget: QWidget) -> QVBoxLayout:
    """Create a column without spacing or margins."""
    return vbox(widget, gap=0)
