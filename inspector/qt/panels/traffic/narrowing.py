"""Everything that decides which rows a traffic panel shows: filter, time range, server, events, logins."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QComboBox

from inspector.base.errors import UserError
from inspector.base.jsonvalue import JSON
from inspector.base.units import time_of_day
from inspector.qt.models.traffic import TrafficModel
from inspector.qt.panels.traffic.filtering import FilterLanguage
from inspector.qt.widgets.filterbar import FilterBar
from inspector.traffic.records import LOGIN_SUBJECT, RecordKind

if TYPE_CHECKING:
    from inspector.qt.panels.traffic.rowmenu import Term

_EVENTS_TIP = "Process, state, HTTP and local errors among the messages"
_LOGINS_TIP = "Steps and requests of logins among the messages"
_NAMED_TIP = "The filter says itself which kinds of rows to show"


class Narrowing(QObject):
    """Turns the user's choices into conditions of the model. `change` wraps each change.

    If a filter names `kind`, it alone decides about kinds: `kind:stderr` shows those rows whether or not
    connection events are on, and the switches say so.

    Signals:
        problem_found: Carries the message.
    """

    problem_found = Signal(str)

    def __init__(
        self,
        model: TrafficModel,
        language: FilterLanguage,
        bar: FilterBar,
        scope: QComboBox,
        events: QAction,
        logins: QAction,
        change: Callable[[Callable[[], None]], None],
    ) -> None:
        super().__init__(bar)
        self._model = model
        self._language = language
        self._bar = bar
        self._scope = scope
        self._events = events
        self._logins = logins
        self._change = change
        self._server = ""
        bar.filter_changed.connect(self._on_filter_changed)
        bar.chip_closed.connect(lambda: self.set_range(None))
        scope.currentIndexChanged.connect(self._apply_scope)
        events.toggled.connect(lambda shown: change(lambda: model.set_with_events(shown)))
        logins.toggled.connect(lambda shown: change(lambda: model.set_with_logins(shown)))

    def set_server(self, name: str) -> None:
        """Set which server "This server" means."""
        self._server = name
        self._apply_scope()

    def set_range(self, span: tuple[int, int] | None) -> None:
        """Show only rows between two wall times, in nanoseconds; None for all."""
        words = f"{time_of_day(span[0])} – {time_of_day(span[1])}" if span is not None else ""
        self._bar.set_chip(words)
        self._change(lambda: self._model.set_span(span))

    def narrow(self, path: str, value: JSON, exclude: bool, *, at_least: bool = False) -> None:
        """Narrow the filter to rows with this value (or at least it), or without it."""
        try:
            text = self._language.narrowed(self._bar.applied, path, value, exclude=exclude, at_least=at_least)
        except UserError as exc:
            self.problem_found.emit(str(exc))
        else:
            self._bar.set_text(text)

    def narrow_term(self, term: Term, exclude: bool) -> None:
        """Narrow the filter by a cell's term."""
        self.narrow(term.word, term.value, exclude, at_least=term.at_least)

    def show_all(self) -> None:
        """Clear the filter, time range and server."""
        self._bar.set_text("")
        self.set_range(None)
        self._scope.setCurrentIndex(0)

    def let_in(self, number: int, kind: RecordKind, subject: str) -> None:
        """Remove whatever hides a row and search until it is found."""
        self.show_all()
        if number < self._model.cleared_count:
            self._model.show_cleared()
        if kind is RecordKind.STDERR:
            self._bar.set_text("kind:stderr")
        elif kind is RecordKind.LOGIN or (kind is RecordKind.HTTP and subject == LOGIN_SUBJECT):
            self._logins.setChecked(True)
        elif not kind.is_frame:
            self._events.setChecked(True)
        self._model.search.look_up_to(number)

    def what_hides(self) -> str:
        """Return why a row may not be shown."""
        if self._bar.applied:
            return "the filter leaves it out"
        if self._model.is_filtered:
            return "the choice of server or time leaves it out"
        return "it was cleared from the view" if self._model.is_cleared else "this view leaves it out"

    def _on_filter_changed(self, text: str) -> None:
        ready = self._language.compile(text)
        for switch, tip in ((self._events, _EVENTS_TIP), (self._logins, _LOGINS_TIP)):
            switch.setEnabled(not ready.names_kind)
            switch.setToolTip(_NAMED_TIP if ready.names_kind else tip)
        self._change(lambda: self._model.set_matcher(ready.matcher, any_kind=ready.names_kind))

    def _apply_scope(self) -> None:
        server = self._server if self._scope.currentIndex() == 1 else None
        self._change(lambda: self._model.set_server(server))
