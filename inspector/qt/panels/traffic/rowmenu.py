"""What a right click on a cell offers: filter on its value, and what can be done with its row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from inspector.base.jsonvalue import compact, shorten
from inspector.base.plaintext import one_line
from inspector.base.units import duration, size
from inspector.qt.models.traffic import Column
from inspector.traffic.log import TrafficLog
from inspector.traffic.query.choices import DIRECTION_WORDS, KIND_WORDS, STATUS_WORDS
from inspector.traffic.records import Direction, RecordKind, Status

_SUBJECT_WORDS = {"tools/call": "tool", "prompts/get": "prompt", "resources/read": "resource"}
_ROW_COMMANDS = (
    ("traffic.partner", "traffic.operation", "traffic.inbox"),
    ("traffic.mark", "traffic.comment"),
    ("traffic.copy",),
    ("traffic.resend",),
)
# Submenus as in the menu bar, after the command in whose group they are.
_SUBMENUS = {
    "traffic.copy": ("Copy as", ("traffic.copy_curl", "traffic.copy_python", "traffic.copy_json")),
    "traffic.resend": ("Compare", ("traffic.compare", "traffic.left_side", "traffic.compare_left")),
}


@dataclass(frozen=True, slots=True)
class Term:
    """A filter word with a cell's value; `shown` is how the cell displays it.

    `at_least` means this value or more: filtering for an exact size in bytes is of no use.
    """

    word: str
    value: str
    shown: str
    at_least: bool = False


def terms_of(log: TrafficLog, number: int, column: int) -> list[Term]:
    """Return a cell's filter terms; empty cells offer those of the message."""
    found = [term for term in _terms_of_cell(log, number, column) if term.value]
    if found or column == Column.MESSAGE:
        return found
    return [term for term in _terms_of_cell(log, number, Column.MESSAGE) if term.value]


def _terms_of_cell(log: TrafficLog, number: int, column: int) -> Iterator[Term]:
    match column:
        case Column.MESSAGE:
            yield from _terms_of_message(log, number)
        case Column.SERVER:
            yield _same("server", log.server_name(number))
        case Column.STATUS:
            yield _same("status", STATUS_WORDS[Status(log.status(number))])
        case Column.DIRECTION:
            yield _same("dir", DIRECTION_WORDS[Direction(log.direction(number))])
        case Column.ID if (id := log.id(number)) is not None:
            yield _same("id", id if isinstance(id, str) else compact(id))
        case Column.SIZE:
            yield Term("size", str(log.size(number)), f"{size(log.size(number))} or more", at_least=True)
        case Column.DURATION if (took := log.duration_ns(number)) is not None:
            yield Term("dur", f"{took}ns", f"{duration(took)} or longer", at_least=True)
        case Column.HTTP if (exchange := _http_row(log, number)) >= 0:
            status = log.columns.http_status[exchange]
            yield _same("http.status", str(status) if status else "")
        case Column.REVISION:
            yield _same("rev", log.revision(number))
        case Column.OPERATION if (operation := log.operation(number)) is not None:
            yield _same("op", str(operation + 1))
        case Column.COMMENT:
            yield _same("comment", log.remark(number).comment)
        case Column.FINDING:
            yield _same("problem", log.problem(number))


def _terms_of_message(log: TrafficLog, number: int) -> Iterator[Term]:
    kind, method = RecordKind(log.kind(number)), log.method(number)
    if method and kind is not RecordKind.HTTP:
        yield _same("method", method)
        yield _same(_SUBJECT_WORDS.get(method, "subject"), log.subject(number))
    else:
        yield _same("kind", KIND_WORDS[kind])


def _same(word: str, value: str) -> Term:
    return Term(word, value, value)


def _http_row(log: TrafficLog, number: int) -> int:
    is_own = log.kind(number) == RecordKind.HTTP
    return number if is_own else log.columns.exchange[number]


def make_menu(
    parent: QWidget,
    terms: list[Term],
    actions: dict[str, QAction],
    narrow: Callable[[Term, bool], None],
) -> QMenu:
    """Create a row's context menu; `narrow` is called with the term and whether to exclude it."""
    menu = QMenu(parent)
    add_terms(menu, terms, narrow)
    for group in _ROW_COMMANDS:
        menu.addSeparator()
        menu.addActions([actions[id] for id in group])
        for title, ids in (_SUBMENUS[id] for id in group if id in _SUBMENUS):
            menu.addMenu(title).addActions([actions[id] for id in ids])
    return menu


def add_terms(menu: QMenu, terms: list[Term], narrow: Callable[[Term, bool], None]) -> None:
    """Add the filter actions, then the same as exclusions."""
    for is_excluded in (False, True):
        for term in terms:
            words = f"{term.word} {_shown(term)}"
            text = f"Exclude {words}" if is_excluded else f"Filter on {words}"
            menu.addAction(text, partial(narrow, term, is_excluded))


def _shown(term: Term) -> str:
    return shorten(one_line(term.shown), 40).replace("&", "&&")
