"""Base classes of the views of one response: its status, its pages, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TypeVar

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QStackedWidget, QWidget

from inspector.base.json.values import JSON, pretty
from inspector.base.units import duration, size
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.qt.bridge import Bridge
from inspector.qt.models.servers import PlaceholderKind
from inspector.qt.theme import Theme, Tone
from inspector.qt.widgets.code.json_view import JsonView
from inspector.qt.widgets.code.save_file import BodySaver, BytesBody
from inspector.qt.widgets.inputs.controls import Segments
from inspector.qt.widgets.layout import vbox
from inspector.qt.widgets.notices.empty_state import ContentStack
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.badge import Badge
from inspector.qt.widgets.text.labels import MutedLabel

T = TypeVar("T")

CANCELLED_TEXT = "The server was notified. A late response will appear in Traffic."
_TONES: dict[OutcomeKind, Tone] = {
    OutcomeKind.RESULT: "ok",
    OutcomeKind.TOOL_ERROR: "warn",
    OutcomeKind.RPC_ERROR: "error",
    OutcomeKind.FAILED: "error",
    OutcomeKind.CANCELLED: "muted",
    OutcomeKind.DETACHED: "wait",
}


class ResponseView(QWidget):
    """Base class of the views of one response: its status, and `content` or why there is none.

    A subclass lays out the badge, the facts and the alert; `icon` is shown while nothing was requested.

    Signals:
        shown: An outcome is shown; carries what it was made from.
        uri_requested: The user wants to follow a link; carries its URI.
    """

    shown = Signal(object)
    uri_requested = Signal(str)
    _error_text = "The server returned an error:"

    def __init__(
        self, bridge: Bridge, theme: Theme, icon: str, content: QWidget, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._theme = theme
        self._icon = icon
        self._response = b""
        self._generation = 0  # of what is shown: what was read for an earlier one is dropped
        self.badge = Badge(theme)
        self._facts = MutedLabel(theme)
        self.alert = Alert(theme)
        self._stack = ContentStack(theme, content)

    @cached_property
    def saver(self) -> BodySaver:
        """The progress of saving, below everything else; created on first use."""
        saver = BodySaver(self._theme)
        layout = self.layout()
        assert layout is not None
        layout.addWidget(saver)
        return saver

    def explain(
        self,
        state: PlaceholderKind,
        title: str,
        sentence: str,
        next_step: str = "",
        action: QAction | None = None,
        icon: str = "",
    ) -> None:
        """Show why there is no response, yet or at all."""
        self._clear()
        self._stack.explain(state, icon or self._icon, title, sentence, next_step, action)

    def save(self) -> None:
        """Ask for a path and save the raw message."""
        self.saver.ask(BytesBody(self._response), "response.json")

    def _clear(self) -> int:
        """Clear the status; return the number of what is shown next."""
        self._generation += 1
        self._response = b""
        self.badge.set_text("")
        self._facts.setText("")
        self.alert.close_all()
        return self._generation

    def _show_status(self, outcome: CallOutcome, *facts: str) -> None:
        """Show the status, and the server's error message if there is one."""
        self._response = outcome.response
        self.badge.set_text(outcome.kind.value, _TONES[outcome.kind])
        length = size(len(outcome.response)) if outcome.response else ""
        self._facts.setText(" · ".join(filter(None, (_time_text(outcome), length, *facts))))
        self.alert.close_all()
        if outcome.kind is OutcomeKind.RPC_ERROR:
            text = f"{self._error_text} {outcome.summary}."
            self.alert.show_message("outcome", text, outcome.next_step, tone="error")

    def _explain_missing_result(self, outcome: CallOutcome) -> bool:
        """Explain why the call ended without a result; return False if it has one."""
        if outcome.kind is OutcomeKind.FAILED:
            self._stack.explain("failed", "", "Call failed", outcome.summary, outcome.next_step)
        elif outcome.kind is OutcomeKind.CANCELLED:
            self._stack.explain("empty", "stop", "Cancelled", outcome.summary or CANCELLED_TEXT)
        else:
            return False
        return True


class SwitchedResponseView(ResponseView):
    """Base class for a resources/read or prompts/get result: pages and a switch.

    A subclass names its views, the last of which is the message, creates the pages of the others and lays
    them out in `_inside`.
    """

    def __init__(
        self, bridge: Bridge, theme: Theme, icon: str, labels: Sequence[str], parent: QWidget | None = None
    ) -> None:
        inside = QWidget()
        super().__init__(bridge, theme, icon, inside, parent)
        self._message_view = len(labels) - 1
        self._preferred = 0  # the view the user chose, shown where available
        self.views = Segments(theme, labels)
        self.views.setAccessibleName("Response view")
        self._pages = QStackedWidget()
        self._inside = vbox(inside, gap=0)
        vbox(self, (self._stack, 1), gap=0)
        self.views.chosen.connect(self._on_view_chosen)

    @cached_property
    def message(self) -> JsonView:
        """The message view, created on first use: it is a large part of a panel's creation time."""
        view = JsonView(self._theme, "Full response")
        view.save_requested.connect(self.save)
        self._pages.addWidget(view)
        return view

    def show_malformed(self, value: JSON) -> None:
        """Show a list entry that cannot be requested, as the server sent it."""
        self._clear()
        self.badge.set_text("invalid", "warn")
        self._response = pretty(value).encode(errors="surrogatepass")
        self._set_available_views()
        self._stack.open()

    def _page(self, view: int) -> QWidget:
        """Return the page of a view, filled."""
        raise NotImplementedError

    def _set_available_views(self, *views: int) -> None:
        """Offer these views and the raw response, keeping the user's choice where possible."""
        available = (*views, self._message_view)
        for view in range(self._message_view + 1):
            self.views.button(view).setVisible(view in available)
        self.views.setVisible(len(available) > 1)
        self.views.choose(self._preferred if self._preferred in available else available[0])
        self._show_view()

    def _on_view_chosen(self, view: int) -> None:
        self._preferred = view
        self._show_view()

    def _show_view(self) -> None:
        view = self.views.index()
        if view == self._message_view:
            self.message.set_body(BytesBody(self._response), "pretty")
            self._pages.setCurrentWidget(self.message)
        else:
            self._pages.setCurrentWidget(self._page(view))


async def parsed(bridge: Bridge, outcome: CallOutcome, parse: Callable[[bytes], T]) -> T | None:
    """Parse a result, a large one in the worker process; return None for a call without one."""
    if outcome.kind not in (OutcomeKind.RESULT, OutcomeKind.TOOL_ERROR):
        return None
    return await bridge.ask(lambda engine: engine.work(parse, outcome.response))


def _time_text(outcome: CallOutcome) -> str:
    """Return the elapsed time and how much of it the server waited for the Inbox."""
    whole = duration(outcome.elapsed_ns)
    return f"{whole}, including {duration(outcome.waited_ns)} in the Inbox" if outcome.waited_ns else whole
