"""Between the filter bar, which knows no language, and the language, which knows no bar.

The language is imported when something is first typed or painted: no window waits for it when it opens.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.base.jsonvalue import JSON
from inspector.qt.models.rowsearch import Matcher
from inspector.qt.widgets.filterfield import Complaint
from inspector.traffic.log import TrafficLog

if TYPE_CHECKING:
    from inspector.qt.widgets.suggestions import Suggestion
    from inspector.traffic.query.tree import Compare, Node


@dataclass(frozen=True, slots=True)
class Ready:
    """A compiled filter. With `names_kind` it decides itself about the kinds of rows."""

    matcher: Matcher | None
    names_kind: bool = False


class FilterLanguage:
    """The filter language for one log."""

    def __init__(self, log: TrafficLog) -> None:
        self._log = log

    def check(self, text: str) -> Complaint | None:
        """Return what is wrong with a filter; None if it is valid."""
        from inspector.traffic.query.errors import QueryError
        from inspector.traffic.query.grammar import parse

        try:
            parse(text)
        except QueryError as exc:
            return Complaint(exc.column, str(exc))
        return None

    def compile(self, text: str) -> Ready:
        """Compile a filter. Raises QueryError."""
        from inspector.traffic.query.grammar import parse
        from inspector.traffic.query.matcher import compile

        tree = parse(text)
        if tree is None:
            return Ready(None)
        names_kind = any(node.path.word == "kind" for node in _comparisons(tree))
        return Ready(compile(tree, self._log, now_ns=time.time_ns()), names_kind)

    def matcher(self, text: str) -> Matcher | None:
        """Compile a color rule's filter; an invalid one matches nothing."""
        from inspector.traffic.query.errors import QueryError

        try:
            return self.compile(text).matcher
        except QueryError:
            return None

    def complete(self, text: str, cursor: int) -> Sequence[Suggestion]:
        from inspector.qt.widgets.suggestions import Suggestion
        from inspector.traffic.query.completion import complete

        found = complete(text, cursor, self._log)
        return [Suggestion(each.text, found.start, found.end, each.description) for each in found.items]

    def narrowed(self, text: str, word: str, value: JSON, *, exclude: bool, at_least: bool = False) -> str:
        """Return the filter narrowed to this value, or with `at_least` to this value or more.

        Raises QueryError if the word can never have such a value.
        """
        from inspector.traffic.query.build import narrow
        from inspector.traffic.query.grammar import parse
        from inspector.traffic.query.printing import to_text
        from inspector.traffic.query.tree import Compare, Not, Operator, Or, Path

        if not at_least:
            return narrow(text, word, value, exclude=exclude)
        compare = Compare(Path(word), Operator.AT_LEAST, (str(value),))
        term = to_text(Not(compare) if exclude else compare)
        if not text:
            return term
        return f"({text}) and {term}" if isinstance(parse(text), Or) else f"{text} and {term}"


def _comparisons(node: Node) -> Iterator[Compare]:
    from inspector.traffic.query.tree import And, Compare, Not, Or

    match node:
        case Compare():
            yield node
        case Not(inner):
            yield from _comparisons(inner)
        case And(nodes) | Or(nodes):
            for inner in nodes:
                yield from _comparisons(inner)
