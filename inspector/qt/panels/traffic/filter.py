"""Filter of a traffic panel: text filter, time range, server, events and logins.

`FilterLanguage` connects the filter bar, which knows no language, with `traffic.filter`. That package is
imported on first use: opening a window does not wait for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QComboBox

from inspector.base.errors import UserError
from inspector.base.json.values import JSON
from inspector.base.units import time_of_day
from inspector.qt.models.traffic.row_search import Matcher
from inspector.qt.models.traffic.traffic_model import TrafficModel
from inspector.qt.widgets.inputs.filter_bar import FilterBar, TextError
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import LOGIN_SUBJECT, RecordKind

if TYPE_CHECKING:
    from inspector.qt.panels.traffic.row_commands import FilterTerm
    from inspector.qt.widgets.inputs.completion import Suggestion
    from inspector.traffic.filter.tree import Compare, Node

_EVENTS_TIP = "Show process, connection, HTTP and local error events among the messages"
_LOGINS_TIP = "Show login steps and login requests among the messages"
_KIND_TIP = "The filter already selects which kinds of rows to show"


class TrafficFilter(QObject):
    """Applies the filter, time range, server and switches to the model; `change` wraps each change.

    If a filter names `kind`, it alone decides about kinds: `kind:stderr` shows those rows whether or not
    connection events are on, and the switches are disabled.

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
        text = f"{time_of_day(span[0])} – {time_of_day(span[1])}" if span is not None else ""
        self._bar.set_chip(text)
        self._change(lambda: self._model.set_span(span))

    def narrow(self, path: str, value: JSON, exclude: bool, *, at_least: bool = False) -> None:
        """Narrow the filter to rows with this value (or at least it), or without it."""
        try:
            text = self._language.narrowed(self._bar.applied, path, value, exclude=exclude, at_least=at_least)
        except UserError as exc:
            self.problem_found.emit(str(exc))
        else:
            self._bar.set_text(text)

    def narrow_term(self, term: FilterTerm, exclude: bool) -> None:
        """Narrow the filter by a cell's term."""
        self.narrow(term.field, term.value, exclude, at_least=term.at_least)

    def show_all(self) -> None:
        """Clear the filter, time range and server."""
        self._bar.set_text("")
        self.set_range(None)
        self._scope.setCurrentIndex(0)

    def reveal_row(self, number: int, kind: RecordKind, subject: str) -> None:
        """Remove whatever hides a row and search until it is found."""
        self.show_all()
        if number < self._model.search.first:
            self._model.show_cleared()
        if kind is RecordKind.STDERR:
            self._bar.set_text("kind:stderr")
        elif kind is RecordKind.LOGIN or (kind is RecordKind.HTTP and subject == LOGIN_SUBJECT):
            self._logins.setChecked(True)
        elif not kind.is_message:
            self._events.setChecked(True)
        self._model.search.search_up_to(number)

    def hidden_reason(self) -> str:
        """Return why a row may not be shown."""
        if self._bar.applied:
            return "the filter excludes it"
        if self._model.is_filtered:
            return "the selected servers or time range exclude it"
        return "it was cleared from the view" if self._model.is_cleared else "this view excludes it"

    def _on_filter_changed(self, text: str) -> None:
        compiled = self._language.compile(text)
        for switch, tip in ((self._events, _EVENTS_TIP), (self._logins, _LOGINS_TIP)):
            switch.setEnabled(not compiled.names_kind)
            switch.setToolTip(_KIND_TIP if compiled.names_kind else tip)
        self._change(lambda: self._model.set_matcher(compiled.matcher, any_kind=compiled.names_kind))

    def _apply_scope(self) -> None:
        server = self._server if self._scope.currentIndex() == 1 else None
        self._change(lambda: self._model.set_server(server))


class FilterLanguage:
    """The filter language for one log."""

    def __init__(self, log: TrafficLog) -> None:
        self._log = log

    def check(self, text: str) -> TextError | None:
        """Return what is wrong with a filter; None if it is valid."""
        from inspector.traffic.filter.parser import parse
        from inspector.traffic.filter.tree import FilterError

        try:
            parse(text)
        except FilterError as exc:
            return TextError(exc.column, str(exc))
        return None

    def compile(self, text: str) -> CompiledFilter:
        """Compile a filter. Raises FilterError."""
        from inspector.traffic.filter.matcher import compile
        from inspector.traffic.filter.parser import parse

        tree = parse(text)
        if tree is None:
            return CompiledFilter(None)
        names_kind = any(node.path.field == "kind" for node in _comparisons(tree))
        return CompiledFilter(compile(tree, self._log, now_ns=time.time_ns()), names_kind)

    def matcher(self, text: str) -> Matcher | None:
        """Compile a color rule's filter; an invalid one matches nothing."""
        from inspector.traffic.filter.tree import FilterError

        try:
            return self.compile(text).matcher
        except FilterError:
            return None

    def complete(self, text: str, cursor: int) -> Sequence[Suggestion]:
        from inspector.qt.widgets.inputs.completion import Suggestion
        from inspector.traffic.filter.completion import complete

        found = complete(text, cursor, self._log)
        return [Suggestion(each.text, found.start, found.end, each.description) for each in found.items]

    def narrowed(self, text: str, field: str, value: JSON, *, exclude: bool, at_least: bool = False) -> str:
        """Return the filter narrowed to this value, or with `at_least` to this value or more.

        Raises FilterError if the field can never have such a value.
        """
        from inspector.traffic.filter.builder import narrow
        from inspector.traffic.filter.parser import parse
        from inspector.traffic.filter.tree import Compare, Not, Operator, Or, Path, to_text

        if not at_least:
            return narrow(text, field, value, exclude=exclude)
        compare = Compare(Path(field), Operator.AT_LEAST, (str(value),))
        term = to_text(Not(compare) if exclude else compare)
        if not text:
            return term
        return f"({text}) and {term}" if isinstance(parse(text), Or) else f"{text} and {term}"


class CompiledFilter(NamedTuple):
    """A compiled filter. With `names_kind` it decides itself about the kinds of rows."""

    matcher: Matcher | None
    names_kind: bool = False


def _comparisons(node: Node) -> Iterator[Compare]:
    from inspector.traffic.filter.tree import And, Compare, Not, Or

    match node:
        case Compare():
            yield node
        case Not(inner):
            yield from _comparisons(inner)
        case And(nodes) | Or(nodes):
            for inner in nodes:
                yield from _comparisons(inner)
