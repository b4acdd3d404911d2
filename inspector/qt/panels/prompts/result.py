"""What getting a prompt gave: its messages, one of them by itself, and the answer as it came."""

from __future__ import annotations

from functools import cached_property

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from inspector.base.jsonvalue import JSON, pretty
from inspector.base.units import duration, plural, size
from inspector.engine.contents import Content, PromptDigest, digest_prompt
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.qt.bridge import Bridge
from inspector.qt.panels.prompts.messages import MessagesView, as_text
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.alert import Alert
from inspector.qt.widgets.badge import Badge
from inspector.qt.widgets.bytesbody import BytesBody
from inspector.qt.widgets.contentview import ContentView
from inspector.qt.widgets.gate import Gate
from inspector.qt.widgets.iconbutton import icon_button
from inspector.qt.widgets.jsonview import JsonView
from inspector.qt.widgets.labels import Muted
from inspector.qt.widgets.savefile import save_bytes
from inspector.qt.widgets.segments import Segments

_MESSAGES, _RAW = 0, 1


class PromptResult(QWidget):
    """The latest outcome.

    Signals:
        shown: An outcome is on screen; carries it.
        uri_requested: The person wants to see what a link leads to; carries its URI.
    """

    shown = Signal(object)
    uri_requested = Signal(str)

    def __init__(self, bridge: Bridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._theme = theme
        self._turn = 0
        self._answer = b""
        self._digest = PromptDigest(())
        self.badge = Badge(theme)
        self._facts = Muted(theme)
        self.alert = Alert(theme)
        self.views = Segments(theme, ("Messages", "Raw"))
        self.views.setAccessibleName("What is shown of the answer")
        self.messages = MessagesView(theme)
        self.copy_action = QAction("Copy as text", self)
        theme.dress(self.copy_action, "copy")
        self._back_action = QAction("Back to the messages", self)
        self._pages = QStackedWidget()
        self._gate = Gate(theme, self._make_inside())
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._gate)
        self._connect()
        self.show_nothing()

    @cached_property
    def content(self) -> ContentView:
        """One content by itself. Made when it is first looked at, like the raw view."""
        view = ContentView(self._theme)
        view.uri_requested.connect(self.uri_requested)
        return view

    @cached_property
    def raw(self) -> JsonView:
        view = JsonView(self._theme, "Whole answer")
        view.save_requested.connect(self._on_save_requested)
        self._pages.addWidget(view)
        return view

    @cached_property
    def _single(self) -> QWidget:
        single = QWidget()
        column = QVBoxLayout(single)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(ActionButton(self._back_action, "quiet"), 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self.content, 1)
        self._pages.addWidget(single)
        return single

    def show_nothing(self) -> None:
        """The prompt was not asked for yet."""
        self._turn += 1
        self._gate.explain("empty", "prompt", "No messages yet", "Fill in the arguments and get the prompt.")

    def show_waiting(self, cancel: QAction) -> None:
        self._turn += 1
        self._gate.explain(
            "loading", "prompt", "Getting the prompt", "Waiting for the answer to prompts/get.", "", cancel
        )

    def show_malformed(self, value: JSON) -> None:
        """An entry of the list that cannot be asked for: what was sent."""
        self._turn += 1
        self._answer = pretty(value).encode(errors="surrogatepass")
        self.badge.set_text("not usable", "warn")
        self._facts.setText("")
        self.alert.close_all()
        self._offer(_RAW)

    async def show_outcome(self, outcome: CallOutcome) -> None:
        self._turn += 1
        turn = self._turn
        self._answer = outcome.answer
        if outcome.kind is OutcomeKind.FAILED:
            self._gate.explain("failed", "prompt", "No answer", outcome.summary, outcome.next_step)
        elif outcome.kind is OutcomeKind.CANCELLED:
            words = "The server was told. An answer that still comes is in Traffic."
            self._gate.explain("empty", "stop", "Cancelled", words)
        else:
            is_got = outcome.kind is OutcomeKind.RESULT
            empty = PromptDigest(())
            digest = await self._bridge.work(digest_prompt, outcome.answer) if is_got else empty
            if turn != self._turn:
                return  # reading it took so long that something newer is shown
            self._show_answer(outcome, digest)
        self.shown.emit(outcome)

    # --------------------------------------------------------------

    def _show_answer(self, outcome: CallOutcome, digest: PromptDigest) -> None:
        self._digest = digest
        is_error = outcome.kind is OutcomeKind.RPC_ERROR
        self.badge.set_text(outcome.kind.value, "error" if is_error else "ok")
        facts = [duration(outcome.elapsed_ns), size(len(outcome.answer))]
        facts += [] if is_error else [plural(len(digest.messages), "message")]
        self._facts.setText(" · ".join(facts))
        self.alert.close_all()
        if is_error:
            self.alert.say("error", f"The server refused: {outcome.summary}.", tone="error")
        elif not digest.messages:
            self.alert.say("empty", "The prompt has no messages.")
        self.messages.show_messages(digest.messages)
        self._offer(*([_MESSAGES] if digest.messages else []), _RAW)

    def _offer(self, *views: int) -> None:
        was = self.views.index()
        for view in (_MESSAGES, _RAW):
            self.views.button(view).setVisible(view in views)
        self.views.setVisible(len(views) > 1)
        self.views.choose(was if was in views else views[0])
        self.copy_action.setEnabled(_MESSAGES in views)
        self._on_view_chosen()
        self._gate.open()

    def _on_view_chosen(self) -> None:
        if self.views.index() == _MESSAGES:
            self._pages.setCurrentWidget(self.messages)
        else:
            self.raw.set_body(BytesBody(self._answer), "pretty")
            self._pages.setCurrentWidget(self.raw)

    def _on_open(self, content: Content) -> None:
        self.content.show_content(content)
        self._pages.setCurrentWidget(self._single)
        self.content.setFocus()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(as_text(self._digest.messages))

    def _on_save_requested(self) -> None:
        save_bytes(self, "Save the whole answer", "answer.json", self._answer)

    def _connect(self) -> None:
        self.views.chosen.connect(self._on_view_chosen)
        self.messages.open_requested.connect(self._on_open)
        self.messages.uri_requested.connect(self.uri_requested)
        self._back_action.triggered.connect(self._on_view_chosen)
        self.copy_action.triggered.connect(self._copy)

    def _make_inside(self) -> QWidget:
        strip = QHBoxLayout()
        strip.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_1)
        strip.setSpacing(SPACE_2)
        strip.addWidget(self.badge)
        strip.addWidget(self._facts, 1)
        strip.addWidget(icon_button(self.copy_action))
        strip.addWidget(self.views)
        self._pages.addWidget(self.messages)
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(strip)
        column.addWidget(self.alert)
        column.addWidget(self._pages, 1)
        return inside
