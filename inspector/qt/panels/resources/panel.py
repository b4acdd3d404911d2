"""The Resources panel: the lists on the left, what is chosen and what reading it gave on the right."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Set
from functools import partial

import shiboken6
from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QVBoxLayout, QWidget

from inspector.base.errors import LensError, RpcError, UserError
from inspector.base.jsonvalue import JSONObject
from inspector.engine.contents import Content, digest_read
from inspector.engine.views import CallOutcome, OutcomeKind, ServerStatus, ServerView
from inspector.protocol.jsonrpc import METHOD_NOT_FOUND
from inspector.protocol.methods import missing_capability
from inspector.protocol.types import Listing, Malformed, Resource, ResourceTemplate
from inspector.qt.actions import Actions
from inspector.qt.bridge import Bridge
from inspector.qt.forms.newsstrip import NewsStrip
from inspector.qt.forms.refreshing import Refreshing
from inspector.qt.models.offered import Item
from inspector.qt.models.standing import standing_of
from inspector.qt.panels.resources.head import ResourceHead
from inspector.qt.panels.resources.lists import ResourceLists
from inspector.qt.panels.resources.reading import ReadingView
from inspector.qt.panels.resources.readings import Readings
from inspector.qt.theme import SPACE_2, SPACE_3, Theme, Tone
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.alert import Alert
from inspector.qt.widgets.gate import Gate
from inspector.qt.widgets.rawedit import is_submit


class ResourcesPanel(QWidget):
    """The resources of one server.

    Signals:
        readiness_changed: What can be done (`can_read`, `can_subscribe`, `is_subscribed`) may be another now.
    """

    readiness_changed = Signal()

    def __init__(
        self, bridge: Bridge, server: str, actions: Actions, theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._server = server
        self._actions = actions
        self._status: ServerStatus | None = None
        self._offers_subscribing = False
        self._task: asyncio.Task[None] | None = None
        self._readings = Readings()
        self._subscribed: set[str] = set()
        self._changed: set[str] = set()
        self.lists = ResourceLists(theme, actions["resource.refresh"])
        self.head = ResourceHead(bridge, server, theme)
        self.reading = ReadingView(bridge, theme)
        self.news = NewsStrip(theme)
        self.alert = Alert(theme)
        self._refreshing = Refreshing(bridge, f"list resources of {server}", self._list_all, self)
        self._cancel_action = QAction("Cancel", self)
        self._again_action = QAction("Read again", self)
        self._gate = Gate(theme, self._make_content())
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._gate)
        self._connect()

    # -------------------------------------------------------------- what others ask

    @property
    def can_read(self) -> bool:
        return self._is_connected and self._task is None and bool(self.head.uri)

    @property
    def can_subscribe(self) -> bool:
        return self._is_connected and self._offers_subscribing and bool(self.head.uri)

    @property
    def is_subscribed(self) -> bool:
        return self.head.uri in self._subscribed

    @property
    def search(self) -> QWidget:
        return self.lists.search

    def set_view(self, view: ServerView) -> None:
        is_new = view.status is not self._status
        self._status = view.status
        if is_new or view.status is ServerStatus.CONNECTING:
            self._show_standing(view)
        self.readiness_changed.emit()

    def refresh(self) -> None:
        """List everything again; what is chosen, typed and read stays."""
        self._refreshing.refresh()

    def open_uri(self, uri: str) -> None:
        """Go to a URI, in a list or not, and read it."""
        self.lists.search.clear()
        self.lists.search.settle()
        found = self.lists.resources.find(uri)
        source: JSONObject = {"uri": uri}
        item = found or Resource(uri=uri, name="", title="", description="", mime_type="", source=source)
        self.lists.choose(item)
        self._show_item(item)
        self._gate.open()
        self.read()

    # -------------------------------------------------------------- reading

    def read(self) -> None:
        """Read what is chosen, now or again."""
        if self.can_read:
            uri = self.head.uri
            self._task = self._bridge.start(f"read {uri}", self._read(uri), self)
            self._task.add_done_callback(partial(self._on_ended, uri, time.monotonic_ns()))
            self.reading.show_waiting(uri, self._cancel_action)
            self.readiness_changed.emit()

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _read(self, uri: str) -> None:
        outcome = await self._bridge.read_resource(self._server, uri)
        is_read = outcome.kind is OutcomeKind.RESULT
        contents = await self._bridge.work(digest_read, outcome.answer) if is_read else ()
        self._finish(uri, outcome, contents)

    def _on_ended(self, uri: str, started: int, task: asyncio.Task[None]) -> None:
        """Also one that was cancelled before it began has to be told."""
        if task.cancelled() and shiboken6.isValid(self):
            self._finish(uri, CallOutcome(OutcomeKind.CANCELLED, time.monotonic_ns() - started), ())

    def _finish(self, uri: str, outcome: CallOutcome, contents: tuple[Content, ...]) -> None:
        self._task = None
        reading = self._readings.keep(uri, outcome, contents, time.time_ns())
        if outcome.kind is OutcomeKind.RESULT:
            self._changed.discard(uri)
            self._mark(uri)
        if uri == self.head.uri:
            self.reading.show_reading(reading)
        else:
            self._show_latest()
        self.readiness_changed.emit()

    # -------------------------------------------------------------- hearing of changes

    def toggle_subscription(self) -> None:
        """Hear of changes of what is chosen, or no longer."""
        if self.can_subscribe:
            uri, wanted = self.head.uri, not self.is_subscribed
            self._bridge.start(f"subscribe {uri}", self._subscribe(uri, wanted), self)

    async def _subscribe(self, uri: str, wanted: bool) -> None:
        words = "subscribed to" if wanted else "unsubscribed from"
        try:
            await self._bridge.subscribe(self._server, uri, wanted)
        except LensError as exc:
            self.alert.say("subscribe", f"It could not be {words}: {exc}", "", [self._dismiss_action()])
            return
        self.alert.close_about("subscribe")
        self._subscribed ^= {uri}
        if not wanted:
            self._changed.discard(uri)
        self._mark(uri)
        self.readiness_changed.emit()

    def _dismiss_action(self) -> QAction:
        action = QAction("Dismiss", self.alert)
        action.triggered.connect(lambda: self.alert.close_about("subscribe"))
        return action

    def _on_resources_changed(self, server: str, uris: Set[str]) -> None:
        """What is told may be below what was subscribed to: then both have changed."""
        if server != self._server:
            return
        above = {each for each in self._subscribed if any(uri.startswith(each) for uri in uris)}
        news = above.union(uris)
        self._changed |= news
        self._mark(*news)
        self._tell_changed()

    def _mark(self, *uris: str) -> None:
        self.lists.resources.set_marks({uri: self._mark_of(uri) for uri in uris})
        self._show_badge()

    def _mark_of(self, uri: str) -> tuple[str, Tone]:
        if uri in self._changed:
            return "changed", "accent"
        return ("subscribed", "ok") if uri in self._subscribed else ("", "muted")

    def _show_badge(self) -> None:
        self.head.badge.set_text("subscribed" if self.is_subscribed else "", "ok")

    def _tell_changed(self) -> None:
        if self.head.uri in self._changed and self.reading.reading is not None:
            self.reading.say_changed(self._again_action)

    # -------------------------------------------------------------- what is chosen

    def _show_item(self, item: Item | None) -> None:
        self.head.show_item(item)
        if isinstance(item, Malformed):
            self.reading.show_malformed(item.value)

    def _on_uri_changed(self) -> None:
        self._show_badge()
        if not isinstance(self.head.item, Malformed):
            self._show_latest()
        self.readiness_changed.emit()

    def _show_latest(self) -> None:
        """What was read of the URI last, if anything was."""
        reading = self._readings.of(self.head.uri)
        if reading is None:
            self.reading.show_nothing()
        elif reading is not self.reading.reading:
            self.reading.show_reading(reading)
        self._tell_changed()

    def _on_activated(self, item: Item) -> None:
        self._on_chosen(item)
        if isinstance(item, ResourceTemplate) and self.head.form.rows:
            next(iter(self.head.form.rows.values())).setFocus()
        else:
            self.read()

    def _on_chosen(self, item: Item) -> None:
        if item is not self.head.item:
            self._show_item(item)

    # -------------------------------------------------------------- the lists

    def _explain_listing(self) -> None:
        if not self.lists.total:
            words = "Waiting for the answers to resources/list and resources/templates/list."
            self._gate.explain("loading", "resource", "Listing resources", words)

    async def _list_all(self) -> None:
        self._explain_listing()
        failure: LensError | None = None
        listing: Listing[Resource] = Listing()
        try:
            listing = await self._bridge.list_resources(self._server)
        except LensError as exc:
            failure = exc
        templates = await self._list_templates()
        if self._status is ServerStatus.CONNECTED:  # else the panel says already that it is not
            await self._show_listings(listing, templates, failure)

    async def _list_templates(self) -> Listing[ResourceTemplate]:
        """Many a server has none and does not know the method: that is no failure worth telling."""
        self.alert.close_about("templates")
        try:
            return await self._bridge.list_resource_templates(self._server)
        except LensError as exc:
            if not (isinstance(exc, RpcError) and exc.code == METHOD_NOT_FOUND):
                self.alert.say("templates", f"The templates could not be listed: {exc}")
            return Listing()

    async def _show_listings(
        self, listing: Listing[Resource], templates: Listing[ResourceTemplate], failure: LensError | None
    ) -> None:
        self.alert.close_about("resources")
        if failure is not None and not templates.items:
            self._show_failure(failure)
            return
        if failure is not None:
            self.alert.say("resources", f"The resources could not be listed: {failure}")
        self.lists.set_resources(listing)
        self.lists.set_templates(templates)
        self._choose_again()
        if self.lists.total:
            self._gate.open()
        else:
            self._gate.explain(
                "empty",
                "resource",
                "No resources",
                "The server's lists of resources and templates are empty.",
            )

        await asyncio.sleep(0)  # a long list is painted before it is compared with the one before
        self._tell_news()

    def _tell_news(self) -> None:
        news = self.lists.resources.news()
        self.news.tell("resources", news)
        self.lists.resources.mark_new(news.added)
        self.news.tell("resource templates", self.lists.templates.news())

    def _choose_again(self) -> None:
        """What was chosen, as it is now; what is in no list any more stays as long as it is looked at."""
        item = self.lists.renewed() or self.head.item or self.lists.first()
        if item is not None and item != self.head.item:
            self._show_item(item)
        self.lists.choose(item)

    def _show_failure(self, error: LensError) -> None:
        summary = error.summary if isinstance(error, UserError) else f"{error}."
        next_step = error.next_step if isinstance(error, UserError) else "The Traffic view has the exchange."
        title, action = "The resources could not be listed", self._actions["resource.refresh"]
        self._gate.explain("failed", "resource", title, summary, next_step, action)

    def _show_standing(self, view: ServerView) -> None:
        standing = standing_of(view)
        if standing is not None:
            action = self._actions[standing.command]
            self._gate.explain(
                standing.look, "resource", standing.title, standing.sentence, standing.next_step, action
            )
        elif not view.offers("resources"):
            sentence = "This server does not offer resources: it did not declare the capability."
            self._gate.explain("empty", "resource", "No resources", sentence)
        else:
            assert view.agreement is not None, "it is connected"
            capabilities, revision = view.agreement.capabilities, view.agreement.revision
            missing = missing_capability("resources/subscribe", capabilities, revision)
            self._offers_subscribing = not missing
            self.head.completes = not missing_capability("completion/complete", capabilities, revision)
            self._explain_listing()
            self.refresh()

    def _on_list_changed(self, server: str, what: str) -> None:
        if server == self._server and what == "resources" and self._is_connected:
            self.refresh()

    @property
    def _is_connected(self) -> bool:
        return self._status is ServerStatus.CONNECTED

    # -------------------------------------------------------------- keys

    def event(self, event: QEvent) -> bool:
        # The window has another command on these keys: here they are for reading.
        if event.type() is QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and is_submit(event):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if is_submit(event):
            self.read()
        else:
            super().keyPressEvent(event)

    # --------------------------------------------------------------

    def _connect(self) -> None:
        self._bridge.list_changed.connect(self._on_list_changed)
        self._bridge.resources_changed.connect(self._on_resources_changed)
        self.lists.chosen.connect(self._on_chosen)
        self.lists.activated.connect(self._on_activated)
        self.lists.uri_typed.connect(self.open_uri)
        self.head.uri_changed.connect(self._on_uri_changed)
        self.reading.uri_requested.connect(self.open_uri)
        self._cancel_action.triggered.connect(self.cancel)
        self._again_action.triggered.connect(self.read)

    def _make_content(self) -> QWidget:
        buttons = QHBoxLayout()
        buttons.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_2)
        buttons.setSpacing(SPACE_2)
        buttons.addWidget(ActionButton(self._actions["resource.read"], "primary"))
        buttons.addWidget(ActionButton(self._actions["resource.subscribe"]))
        buttons.addWidget(self.reading.strip, 1)
        buttons.addStretch(0)
        right = QWidget()
        column = QVBoxLayout(right)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.alert)
        column.addWidget(self.head)
        column.addLayout(buttons)
        column.addWidget(self.reading, 1)
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(self.lists)
        splitter.addWidget(right)
        splitter.setSizes([300, 800])
        splitter.setStretchFactor(1, 1)
        inside = QWidget()
        whole = QVBoxLayout(inside)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addWidget(self.news)
        whole.addWidget(splitter, 1)
        return inside
