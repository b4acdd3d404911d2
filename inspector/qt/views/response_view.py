"""Base class for the views of one response; the last page is the raw message."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QStackedWidget, QWidget

from inspector.base.json.values import JSON, pretty
from inspector.base.units import duration, size
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.qt.bridge import Bridge
from inspector.qt.models.servers import PlaceholderKind
from inspector.qt.theme import Theme
from inspector.qt.widgets.code.json_view import JsonView
from inspector.qt.widgets.code.save_file import BodySaver, BytesBody
from inspector.qt.widgets.inputs.controls import Segments
from inspector.qt.widgets.layout import vbox
from inspector.qt.widgets.notices.empty_state import ContentStack
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.badge import Badge
from inspector.qt.widgets.text.labels import MutedLabel

_CANCELLED = "Cancelled"


class ResponseView(QWidget):
    """Base class for a resources/read or prompts/get result: a badge, a view switch and pages.

    A subclass names its views, the last of which is the message, creates the pages of the others and lays
    them out.

    Signals:
        shown: A result, or why there is none, is shown; carries what it was made from.
        uri_requested: The user wants to follow a link; carries its URI.
    """

    shown = Signal(object)
    uri_requested = Signal(str)

    def __init__(
        self, bridge: Bridge, theme: Theme, icon: str, labels: Sequence[str], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._theme = theme
        self._icon = icon
        self._response = b""
        self._message_view = len(labels) - 1
        self._preferred = 0  # the view the user chose, shown where available
        self.badge = Badge(theme)
        self._facts = MutedLabel(theme)
        self.alert = Alert(theme)
        self.views = Segments(theme, labels)
        self.views.setAccessibleName("Response view")
        self.saver = BodySaver(theme)
        self._pages = QStackedWidget()
        inside = QWidget()
        self._inside = vbox(inside, gap=0)
        self._stack = ContentStack(theme, inside)
        vbox(self, self._stack)
        self.views.chosen.connect(self._on_view_chosen)

    @cached_property
    def message(self) -> JsonView:
        """The message view, created on first use: it is a large part of a panel's creation time."""
        view = JsonView(self._theme, "Full response")
        view.save_requested.connect(self._save_message)
        self._pages.addWidget(view)
        return view

    def show_malformed(self, value: JSON) -> None:
        """Show a list entry that cannot be requested, as the server sent it."""
        self.badge.set_text("invalid", "warn")
        self._facts.setText("")
        self.alert.close_all()
        self._response = pretty(value).encode(errors="surrogatepass")
        self._set_available_views()
        self._open()

    def _page(self, view: int) -> QWidget:
        """Return the page of a view, filled."""
        raise NotImplementedError

    def _open(self) -> None:
        self._stack.open()

    def _explain(
        self,
        appearance: PlaceholderKind,
        title: str,
        sentence: str,
        next_step: str = "",
        action: QAction | None = None,
    ) -> None:
        """Explain why there is no result, yet or at all."""
        icon = "stop" if title == _CANCELLED else self._icon
        self._stack.explain(appearance, icon, title, sentence, next_step, action)

    def _explain_missing_result(self, outcome: CallOutcome) -> bool:
        """Explain why the call ended without a result; return False if it has one."""
        if outcome.kind is OutcomeKind.FAILED:
            self._explain("failed", "Call failed", outcome.summary, outcome.next_step)
        elif outcome.kind is OutcomeKind.CANCELLED:
            text = "The server was notified. A late response will appear in Traffic."
            self._explain("empty", _CANCELLED, text)
        else:
            return False
        return True

    def _show_status(self, outcome: CallOutcome, *facts: str) -> None:
        """Show the status, and the server's error message if there is one."""
        is_error = outcome.kind is OutcomeKind.RPC_ERROR
        self._response = outcome.response
        self.badge.set_text(outcome.kind.value, "error" if is_error else "ok")
        self._facts.setText(" · ".join((time_text(outcome), size(len(outcome.response)), *facts)))
        self.alert.close_all()
        if is_error:
            text = f"The server returned an error: {outcome.summary}."
            self.alert.show_message("error", text, outcome.next_step, tone="error")

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

    def _save_message(self) -> None:
        self.saver.ask(BytesBody(self._response), "response.json")


def time_text(outcome: CallOutcome) -> str:
    """Return the elapsed time and how much of it the server waited for the Inbox."""
    whole = duration(outcome.elapsed_ns)
    return f"{whole}, including {duration(outcome.waited_ns)} in the Inbox" if outcome.waited_ns else whole
