"""Resources panel: the lists on the left, the selected item and its contents on the right."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Set
from functools import partial
from typing import Any, TypeVar

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QWidget

from inspector.base.errors import LensError
from inspector.base.json.values import JSONObject
from inspector.engine.content.content import Content, read_contents
from inspector.engine.server_view import ServerView
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.protocol.handshake import NegotiationResult
from inspector.protocol.jsonrpc import METHOD_NOT_FOUND, RpcError
from inspector.protocol.revisions import missing_capability
from inspector.protocol.types import Listing, Malformed, Resource, ResourceTemplate
from inspector.qt.models.feature_list import Item, ListChanges
from inspector.qt.panels.resources.contents_view import ContentsView, ReadHistory, ReadResult
from inspector.qt.panels.resources.lists import ResourceHeader, ResourceLists
from inspector.qt.panels.resources.periodic_read import PeriodicRead
from inspector.qt.theme import SPACE_2, SPACE_3, Tone
from inspector.qt.views.feature_panel import FeaturePanel, Runner, column_in
from inspector.qt.views.panel import PanelContext
from inspector.qt.views.response_view import parsed
from inspector.qt.widgets.code.raw_edit import claim_keys, is_submit
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import STRETCH, hbox

T = TypeVar("T")


class ResourcesPanel(FeaturePanel):
    """The resources of one server.

    Signals:
        readiness_changed: `can_read`, `can_subscribe` or `is_subscribed` may have changed.
    """

    help_page = "tools"
    kind = "resource"
    list_method = "resources/list"
    readiness_changed = Signal()

    def __init__(self, context: PanelContext) -> None:
        super().__init__(context)
        bridge, server, theme = context.bridge, context.server, context.theme
        self._supports_subscriptions = False
        self._history = ReadHistory()
        self._subscribed: set[str] = set()
        self._changed: set[str] = set()
        self._unseen: set[str] = set()  # periodically read resources with changes not seen yet
        self.lists = ResourceLists(theme, context.actions["resource.refresh"])
        self.head = ResourceHeader(bridge, server, theme)
        self.contents = ContentsView(bridge, theme)
        self.periodic_read = PeriodicRead(bridge, server, theme, self._store)
        self.runner = Runner(bridge, self)
        self._again_action = QAction("Read again", self)
        self._lay_out(self.lists, self._make_right(), [300, 840])
        self._connect()
        self.readiness_changed.connect(context.readiness_changed)

    @property
    def can_read(self) -> bool:
        return self._is_connected and not self.runner.is_running and bool(self.head.uri)

    @property
    def can_subscribe(self) -> bool:
        return self._is_connected and self._supports_subscriptions and bool(self.head.uri)

    @property
    def is_subscribed(self) -> bool:
        return self.head.uri in self._subscribed

    @property
    def search(self) -> QWidget:
        return self.lists.search

    @property
    def total(self) -> int:
        return self.lists.total

    def set_view(self, view: ServerView) -> None:
        super().set_view(view)
        self.readiness_changed.emit()

    def open_uri(self, uri: str) -> None:
        """Go to a URI, listed or not, and read it."""
        self.lists.search.clear()
        self.lists.search.settle()
        found = self.lists.resources.find(uri)
        source: JSONObject = {"uri": uri}
        item = found or Resource(uri=uri, name="", title="", description="", mime_type="", source=source)
        self.lists.choose(item)
        self._show_item(item)
        self._stack.open()
        self.read()

    def read(self) -> None:
        """Read the selected resource, even if it was read before."""
        if self.can_read:
            uri = self.head.uri
            self.contents.show_waiting(uri, self.runner.cancel_action)
            self.runner.run(f"read {uri}", partial(self._read, uri), partial(self._finish, uri))

    async def _read(self, uri: str) -> None:
        outcome = await self._bridge.ask(lambda engine: engine.read_resource(self._server, uri))
        contents = await parsed(self._bridge, outcome, read_contents) or ()
        self.runner.finish()
        self._finish(uri, outcome, contents)

    def _finish(self, uri: str, outcome: CallOutcome, contents: tuple[Content, ...] = ()) -> None:
        self._store(uri, outcome, contents)
        if uri != self.head.uri:
            self._show_latest()

    def _store(self, uri: str, outcome: CallOutcome, contents: tuple[Content, ...]) -> ReadResult:
        """Store a result with its URI: shown now, or when the user returns to it."""
        result = self._history.add(uri, outcome, contents, time.time_ns())
        if outcome.kind is OutcomeKind.RESULT:
            self._changed.discard(uri)
            self._mark(uri)
        if uri == self.head.uri:
            self.contents.show_result(result)
        return result

    def _on_change_seen(self, uri: str) -> None:
        """Mark a resource that changed while another one is shown."""
        if uri != self.head.uri:
            self._unseen.add(uri)
            self._mark(uri)

    def toggle_subscription(self) -> None:
        """Subscribe to the selected resource, or unsubscribe."""
        if self.can_subscribe:
            uri, subscribe = self.head.uri, not self.is_subscribed
            self._bridge.start(f"subscribe {uri}", self._subscribe(uri, subscribe), self)

    async def _subscribe(self, uri: str, subscribe: bool) -> None:
        verb = "subscribe" if subscribe else "unsubscribe"
        try:
            await self._bridge.ask(lambda engine: engine.subscribe(self._server, uri, subscribe))
        except LensError as exc:
            self.alert.show_message("subscribe", f"Could not {verb}: {exc}", "", [self._dismiss_action()])
            return
        self.alert.close_topic("subscribe")
        self._subscribed ^= {uri}
        if not subscribe:
            self._changed.discard(uri)
        self._mark(uri)
        self.readiness_changed.emit()

    def _dismiss_action(self) -> QAction:
        action = QAction("Dismiss", self.alert)
        action.triggered.connect(lambda: self.alert.close_topic("subscribe"))
        return action

    def _on_resources_changed(self, server: str, uris: Set[str]) -> None:
        """Mark changed resources: one below a subscribed URI marks both."""
        if server != self._server:
            return
        covering = {each for each in self._subscribed if any(uri.startswith(each) for uri in uris)}
        changes = covering.union(uris)
        self._changed |= changes
        self._mark(*changes)
        self._show_changed()

    def _mark(self, *uris: str) -> None:
        self.lists.resources.set_marks({uri: self._mark_of(uri) for uri in uris})
        self._show_badge()

    def _mark_of(self, uri: str) -> tuple[str, Tone]:
        if uri in self._changed or uri in self._unseen:
            return "changed", "accent"
        return ("subscribed", "ok") if uri in self._subscribed else ("", "muted")

    def _show_badge(self) -> None:
        self.head.badge.set_text("subscribed" if self.is_subscribed else "", "ok")

    def _show_changed(self) -> None:
        if self.head.uri in self._changed and self.contents.result is not None:
            self.contents.show_changed_note(self._again_action)

    def _show_item(self, item: Item | None) -> None:
        self.head.show_item(item)
        if isinstance(item, Malformed):
            self.contents.show_malformed(item.value)

    def _on_uri_changed(self) -> None:
        if self.head.uri in self._unseen:
            self._unseen.discard(self.head.uri)
            self._mark(self.head.uri)
        self._show_badge()
        if not isinstance(self.head.item, Malformed):
            self._show_latest()
        self.readiness_changed.emit()

    def _show_latest(self) -> None:
        """Show the last result of the URI, if any."""
        result = self._history.of(self.head.uri)
        if result is None:
            self.contents.show_nothing()
        elif result is not self.contents.result:
            self.contents.show_result(result)
        self._show_changed()

    def _on_activated(self, item: Item) -> None:
        self._on_chosen(item)
        if isinstance(item, ResourceTemplate) and self.head.form.rows:
            next(iter(self.head.form.rows.values())).setFocus()
        else:
            self.read()

    def _on_chosen(self, item: Item) -> None:
        if isinstance(item, Resource):
            self._mark(item.uri)  # no longer new
        elif isinstance(item, ResourceTemplate):
            self.lists.templates.mark_seen(item)
        if item is not self.head.item:
            self._show_item(item)

    async def _list_all(self) -> None:
        self._explain_listing()
        resources = await _listed(self._bridge.ask(lambda engine: engine.list_resources(self._server)))
        templates = await _listed(
            self._bridge.ask(lambda engine: engine.list_resource_templates(self._server))
        )
        if isinstance(templates, RpcError) and templates.code == METHOD_NOT_FOUND:
            templates = Listing()  # many servers have none and do not know the method
        if not self._is_connected:
            return  # the panel already says so
        if isinstance(resources, LensError) and not (isinstance(templates, Listing) and templates.items):
            self._show_failure(resources)
            return
        await self._show_listings(resources, templates)

    async def _show_listings(
        self, resources: Listing[Resource] | LensError, templates: Listing[ResourceTemplate] | LensError
    ) -> None:
        """Show the lists in steps: ten thousand rows and the first item would block the window."""
        if isinstance(resources, Listing):
            await self.lists.prepare(resources)
        self._show_list("resources", resources, self.lists.set_resources)
        self._show_list("templates", templates, self.lists.set_templates)
        await asyncio.sleep(0)
        self._restore_selection()
        await asyncio.sleep(0)
        if self._is_connected:
            self._open("The server's lists of resources and templates are empty.")
            for what, listed in (("resources", resources), ("resource templates", templates)):
                if isinstance(listed, Listing):
                    self._show_completeness(what, listed)
        await self._report_changes()

    def _show_list(
        self, what: str, listed: Listing[T] | LensError, show: Callable[[Listing[T]], None]
    ) -> None:
        """Show one of the two lists; if it could not be fetched, the old one stays."""
        if isinstance(listed, LensError):
            again = self._actions["resource.refresh"]
            self.alert.show_message(what, f"Could not list the {what}: {listed}", "", [again])
        else:
            self.alert.close_topic(what)
            show(listed)

    async def _report_changes(self) -> None:
        changes = await self.lists.resources.take_changes()
        self.change_strip.notify("resources", changes)
        # "changed" marks changed content here, so only additions are marked.
        self.lists.resources.mark_changed(ListChanges(changes.added))
        changes = await self.lists.templates.take_changes()
        self.change_strip.notify("resource templates", changes)
        self.lists.templates.mark_changed(changes)

    def _restore_selection(self) -> None:
        """Update the selected item; one no longer listed stays while it is shown."""
        item = self.lists.current_version() or self.head.item or self.lists.first()
        if item is not None and item != self.head.item:
            self._show_item(item)
        self.lists.choose(item)

    def _on_connected(self, negotiated: NegotiationResult) -> None:
        capabilities, revision = negotiated.capabilities, negotiated.revision
        self._supports_subscriptions = not missing_capability("resources/subscribe", capabilities, revision)
        self.head.completes = not missing_capability("completion/complete", capabilities, revision)

    def event(self, event: QEvent) -> bool:
        # The window has another command on these keys; here they read.
        return claim_keys(event, is_submit) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if is_submit(event):
            self.read()
        else:
            super().keyPressEvent(event)

    def _connect(self) -> None:
        self._bridge.resources_changed.connect(self._on_resources_changed)
        self.lists.chosen.connect(self._on_chosen)
        self.lists.activated.connect(self._on_activated)
        self.lists.uri_typed.connect(self.open_uri)
        self.head.uri_changed.connect(self._on_uri_changed)
        self.contents.uri_requested.connect(self.open_uri)
        self.runner.changed.connect(self.readiness_changed)
        self._again_action.triggered.connect(self.read)
        self.periodic_read.change_seen.connect(self._on_change_seen)
        self.readiness_changed.connect(self._on_readiness_changed)

    def _on_readiness_changed(self) -> None:
        self.periodic_read.set_target(self.head.uri, self._is_connected and bool(self.head.uri))

    def _make_right(self) -> QWidget:
        buttons = hbox(
            None,
            ActionButton(self._actions["resource.read"], "primary"),
            ActionButton(self._actions["resource.subscribe"]),
            ActionButton(self._actions["resource.watch"]),
            (self.contents.strip, 1),
            (STRETCH, 0),
            margin=(SPACE_3, SPACE_2),
        )
        right = QWidget()
        column = column_in(right)
        column.addWidget(self.head)
        column.addLayout(buttons)
        column.addWidget(self.periodic_read)
        column.addWidget(self.contents, 1)
        return right


async def _listed(fetch: Coroutine[Any, Any, Listing[T]]) -> Listing[T] | LensError:
    """Await a list; return the error instead of raising, so that the other list is shown."""
    try:
        return await fetch
    except LensError as exc:
        return exc
