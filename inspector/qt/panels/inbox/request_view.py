"""View of one Inbox request, with a section for each of its items (server requests).

The reply to a single item is sent at once; replies to several are sent together.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QFrame, QScrollArea, QStackedWidget, QWidget

from inspector.base.units import plural
from inspector.engine.content.content import Content
from inspector.engine.inbox.views import InboxRequest, Reply, RequestItem
from inspector.protocol.server_requests.request import (
    FormElicitation,
    RootsRequest,
    SamplingRequest,
    UnreadableRequest,
    UrlElicitation,
)
from inspector.qt.bridge import Bridge
from inspector.qt.link_opener import LinkOpener
from inspector.qt.models.inbox import for_user, kind_text, requesting_task
from inspector.qt.panels.inbox.elicitation import FormSection, UrlSection
from inspector.qt.panels.inbox.request_header import RequestFooter, RequestHeader
from inspector.qt.panels.inbox.sampling import SamplingSection
from inspector.qt.panels.inbox.section import EarlierRounds, Section, UnreadableSection
from inspector.qt.theme import SPACE_2, SPACE_3, Theme
from inspector.qt.views.content_view import ContentView
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import STRETCH, vbox
from inspector.qt.widgets.notices.notices import reported

if TYPE_CHECKING:
    from inspector.engine.engine import Engine

MAX_REQUESTS = 30  # shown at first
_FIRST_SECTIONS = 2
_MAX_NAMES = 5


class RequestView(QWidget):
    """The view of an Inbox request. Keeps what the user typed, even after the request has ended.

    With one item, its buttons reply at once. With several, each reply is stored in the engine; the last
    one is held here until the user sends them all.

    Signals:
        operation_requested: Show the waiting call; carries the server and the row.
        uri_requested: Read a resource; carries the server and the URI.
        task_requested: Show the task behind the request; carries the server and the task's ID.
        replied: The user has sent the last missing reply.
    """

    operation_requested = Signal(str, int)
    uri_requested = Signal(str, str)
    task_requested = Signal(str, str)
    replied = Signal()

    def __init__(
        self,
        bridge: Bridge,
        theme: Theme,
        opener: LinkOpener,
        inbox_request: InboxRequest,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._bridge, self._theme, self._opener = bridge, theme, opener
        self._inbox_request = inbox_request
        self._was_open = inbox_request.is_open
        self._held: tuple[str, Reply] | None = None
        self._is_storing = False
        self.head = RequestHeader(theme)
        self.rounds = EarlierRounds(theme, inbox_request)
        self.sections: dict[str, Section] = {}
        self.footer = RequestFooter(theme)
        self._max_sections = MAX_REQUESTS
        self._more_action = QAction("", self)
        self._more_button = ActionButton(self._more_action, "quiet")
        self._section_timer = QTimer(self, interval=0)
        self._pages = QStackedWidget()
        self._scroll = QScrollArea()
        self._back_action = QAction("Back to request", self)
        self._lay_out()
        self._connect()
        self._add_sections(_FIRST_SECTIONS)
        self.show_request(inbox_request)

    @property
    def inbox_request(self) -> InboxRequest:
        return self._inbox_request

    @property
    def is_single(self) -> bool:
        """Whether the user has at most one item to reply to."""
        return len(for_user(self._inbox_request)) < 2

    def show_request(self, inbox_request: InboxRequest) -> None:
        self._inbox_request = inbox_request
        self._update_held()
        self.head.show_request(inbox_request)
        for input_request in inbox_request.input_requests:
            if input_request.key in self.sections:
                self._show_input_request(input_request)
        needs_replies = inbox_request.is_open and not inbox_request.awaits_completion
        missing = [self._name(each) for each in self._missing()]
        if len(missing) > _MAX_NAMES:
            missing = [*missing[:_MAX_NAMES], f"and {len(missing) - _MAX_NAMES:,} more"]
        self.footer.show_replies(needs_replies and not self.is_single, missing)
        self.footer.show_page(inbox_request.is_open and inbox_request.awaits_completion)
        has_ended = self._was_open and not inbox_request.is_open
        self.footer.show_not_sent(
            has_ended and any(self._has_typed(each) for each in inbox_request.unanswered)
        )

    def tick(self) -> None:
        """Update the age."""
        self.head.tick()

    def submit(self) -> None:
        """Send all replies, or reply to the focused item, as Ctrl+Return does."""
        if self.footer.send_action.isEnabled():
            self.send()
            return
        focused = QApplication.focusWidget()
        for section in self.sections.values():
            has_focus = focused is not None and section.isAncestorOf(focused)
            if section.needs_reply and (self.is_single or has_focus):
                section.submit()

    def focus_first_item(self) -> None:
        """Focus the first item that needs a reply."""
        self._pages.setCurrentWidget(self._scroll)
        section = next((each for each in self.sections.values() if each.needs_reply), None)
        if section is None or not section.focus_first_field():
            # Arrow keys scroll, Tab leads to the buttons: no key press may accept an unread request.
            self._scroll.setFocus()

    def send(self) -> None:
        """Send all replies, including the held one."""
        if self._held is not None:
            self._reply(*self._held, is_last=True)

    def _on_decided(self, key: str, reply: Reply) -> None:
        others = [each for each in self._inbox_request.unanswered if each.key != key]
        # Input responses cannot carry an error: one refusal ends the call.
        ends_call = reply.is_error and self._inbox_request.round > 0
        if self.is_single or others or ends_call:
            self._reply(key, reply, is_last=ends_call or not others)
        else:
            self._held, self._is_storing = (key, reply), False
            self.show_request(self._inbox_request)

    def _on_retracted(self, key: str) -> None:
        if self._held is not None and self._held[0] == key:
            self._held = None
            self.show_request(self._inbox_request)
        else:
            id = self._inbox_request.id
            self._start(lambda engine: engine.inbox.retract(id, key))

    def _update_held(self) -> None:
        """Hold a reply only while it is the last missing one; otherwise store it in the engine."""
        if self._held is None:
            return
        key, reply = self._held
        missing = {each.key for each in self._inbox_request.unanswered}
        if not self._inbox_request.is_open or key not in missing:
            self._held = None
        elif len(missing) > 1 and not self._is_storing:
            self._is_storing = True
            self._reply(key, reply)

    def _missing(self) -> list[RequestItem]:
        held = self._held[0] if self._held is not None else None
        return [each for each in self._inbox_request.unanswered if each.key != held]

    def _number(self, input_request: RequestItem) -> int:
        """Return the item's number among those for the user; 0 for others."""
        keys = [each.key for each in for_user(self._inbox_request)]
        return keys.index(input_request.key) + 1 if input_request.key in keys else 0

    def _name(self, input_request: RequestItem) -> str:
        return f"{self._number(input_request)} ({kind_text(input_request)})"

    def _reply(self, key: str, reply: Reply, *, is_last: bool = False) -> None:
        if is_last and self.isAncestorOf(QApplication.focusWidget() or self):
            self._scroll.setFocus()  # otherwise the focus leaves the view with the button
        id = self._inbox_request.id
        self._start(lambda engine: engine.inbox.reply(id, key, reply), is_last=is_last)

    def _start(self, change: Callable[[Engine], None], *, is_last: bool = False) -> None:
        self._bridge.start("reply to a server request", self._run(change, is_last), self)

    async def _run(self, change: Callable[[Engine], None], is_last: bool) -> None:
        with reported(self.footer.alert, "sending"):
            await self._bridge.ask(change)
            if is_last:
                self.replied.emit()

    def _reopen_url(self) -> None:
        for section in self.sections.values():
            if isinstance(section, UrlSection):
                section.reopen_url()

    @cached_property
    def content(self) -> ContentView:
        """Viewer for one content block, such as an image or a long text. Created on first use."""
        view = ContentView(self._theme, self._back_action)
        view.setContentsMargins(0, SPACE_2, 0, 0)
        view.uri_requested.connect(self._on_uri_requested)
        self._pages.addWidget(view)
        return view

    def _show_content(self, content: Content) -> None:
        self._pages.setCurrentWidget(self.content)
        self.content.show_content(content)
        self.content.setFocus()

    def _on_uri_requested(self, uri: str) -> None:
        self.uri_requested.emit(self._inbox_request.server, uri)

    def _on_call_requested(self) -> None:
        row = (
            self._inbox_request.operation
            if self._inbox_request.operation is not None
            else self._inbox_request.row
        )
        if row is not None:
            self.operation_requested.emit(self._inbox_request.server, row)

    def _on_task_requested(self) -> None:
        self.task_requested.emit(self._inbox_request.server, requesting_task(self._inbox_request))

    def _show_input_request(self, input_request: RequestItem) -> None:
        held = self._held[1] if self._held is not None and self._held[0] == input_request.key else None
        self.sections[input_request.key].show_input_request(self._inbox_request, input_request, held)

    def _has_typed(self, input_request: RequestItem) -> bool:
        return input_request.key in self.sections and self.sections[input_request.key].has_typed

    def _add_sections(self, count: int) -> None:
        """Add the next sections, a few at a time: forms are slow to create, and there may be thousands."""
        start = len(self.sections)
        for input_request in self._inbox_request.input_requests[
            start : min(start + count, self._max_sections)
        ]:
            self._add_section(input_request)
        total, made = len(self._inbox_request.input_requests), len(self.sections)
        if made < min(total, self._max_sections):
            self._section_timer.start()
        else:
            self._section_timer.stop()
        self._more_action.setText(f"Show more ({plural(total - made, 'request')})")
        self._more_button.setVisible(made == self._max_sections < total)

    def _add_section(self, input_request: RequestItem) -> None:
        section = self.sections[input_request.key] = self._make_section(input_request)
        user_items = for_user(self._inbox_request)
        if len(self._inbox_request.input_requests) > 1:
            number = self._number(input_request)
            section.show_heading(f"{number:,} of {len(user_items):,} · " if number else "")
        self._body.insertWidget(self._body.indexOf(self._more_button), section)
        if len(user_items) == 1 and user_items[0].key == input_request.key:
            self.footer.add_bar(section)
        section.content_requested.connect(self._show_content)
        section.uri_requested.connect(self._on_uri_requested)
        section.decided.connect(partial(self._on_decided, input_request.key))
        section.retracted.connect(partial(self._on_retracted, input_request.key))
        self._show_input_request(input_request)

    def _show_more(self) -> None:
        self._max_sections += MAX_REQUESTS
        self._add_sections(1)

    def _make_section(self, input_request: RequestItem) -> Section:
        inbox_request, theme = self._inbox_request, self._theme
        request = input_request.request
        match request:
            case FormElicitation():
                return FormSection(self._bridge, theme, inbox_request, input_request, request)
            case UrlElicitation():
                return UrlSection(self._opener, theme, inbox_request, input_request, request)
            case SamplingRequest():
                return SamplingSection(self._bridge, theme, inbox_request, input_request, request)
            case RootsRequest() | UnreadableRequest():
                return UnreadableSection(theme, inbox_request, input_request)

    def _connect(self) -> None:
        self.head.call_requested.connect(self._on_call_requested)
        self.head.task_requested.connect(self._on_task_requested)
        self._back_action.triggered.connect(lambda: self._pages.setCurrentWidget(self._scroll))
        self.rounds.content_requested.connect(self._show_content)
        self.rounds.uri_requested.connect(self._on_uri_requested)
        self._section_timer.timeout.connect(lambda: self._add_sections(1))
        self._more_action.triggered.connect(self._show_more)
        footer, id = self.footer, self._inbox_request.id
        footer.send_requested.connect(self.send)
        footer.done_requested.connect(lambda: self._start(lambda engine: engine.inbox.mark_completed(id)))
        footer.dismiss_requested.connect(lambda: self._start(lambda engine: engine.inbox.dismiss(id)))
        footer.again_requested.connect(self._reopen_url)

    def _lay_out(self) -> None:
        body = QWidget()
        self._body = vbox(
            body,
            self.rounds,
            (self._more_button, 0, Qt.AlignmentFlag.AlignLeft),
            STRETCH,
            margin=(0, SPACE_2, 0, SPACE_3),
        )
        self._scroll.setWidget(body)
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setAccessibleName("Server request")
        self._pages.addWidget(self._scroll)
        vbox(self, self.head, (self._pages, 1), self.footer, gap=0)
