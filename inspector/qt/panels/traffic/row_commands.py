"""Commands for selected rows: mark, comment, copy, resend, compare; and the context menu.

The menu also filters by the value of the clicked cell.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QObject, QPoint, Signal
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QMenu, QWidget

from inspector.base.errors import UserError
from inspector.base.json.values import compact, shorten
from inspector.base.plain_text import one_line
from inspector.base.units import duration, plural, size
from inspector.qt.models.traffic.columns import Column
from inspector.qt.panels.traffic.table import TrafficTable
from inspector.qt.theme import Theme
from inspector.qt.widgets.inputs.clipboard import secret_clipboard
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import (
    DIRECTION_LABELS,
    KIND_LABELS,
    STATUS_LABELS,
    Direction,
    RecordKind,
    Status,
)

if TYPE_CHECKING:
    from inspector.traffic.masking.masker import Masker

_MAX_EXCHANGE_SIZE = 1024 * 1024
_MAX_TEXT_SIZE = 64 * 1024 * 1024  # of messages copied as received
_MAX_ROWS = 10_000  # marked or copied at a time
SUBJECT_FIELDS = {"tools/call": "tool", "prompts/get": "prompt", "resources/read": "resource"}
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


class FilterTerm(NamedTuple):
    """A filter field with a cell's value; `shown` is how the cell displays it.

    `at_least` means this value or more: filtering for an exact size in bytes is useless.
    """

    field: str
    value: str
    shown: str
    at_least: bool = False


class RowCommands(QObject):
    """Connects the actions for rows and enables those that apply.

    `current` returns the row whose detail is shown: not every view has a table to select it in.

    Signals:
        notes_changed: Marks or comments changed; carries the rows.
        row_requested: Go to this row.
        resend_requested: Edit this request and send it again.
        compare_requested: Carries the two rows.
        problem_found: Carries the message.
        copied_masked: Something was copied without its secrets; carries the message, and a function that
            copies it with them.
    """

    notes_changed = Signal(object)
    row_requested = Signal(int)
    resend_requested = Signal(int)
    compare_requested = Signal(object)
    problem_found = Signal(str)
    copied_masked = Signal(str, object)

    def __init__(
        self,
        log: TrafficLog,
        table: TrafficTable,
        current: Callable[[], int | None],
        actions: dict[str, QAction],
        theme: Theme,
    ) -> None:
        super().__init__(table)
        self._log = log
        self._table = table
        self._current = current
        self._actions = actions
        self._theme = theme
        slots: dict[str, Callable[[], object]] = {
            "traffic.mark": self._mark,
            "traffic.next_mark": lambda: self._go_to_mark(1),
            "traffic.previous_mark": lambda: self._go_to_mark(-1),
            "traffic.comment": self.comment,
            "traffic.copy": self._copy,
            "traffic.copy_curl": lambda: self._copy_as("curl"),
            "traffic.copy_python": lambda: self._copy_as("python"),
            "traffic.copy_json": lambda: self._copy_as("json"),
            "traffic.resend": self._resend,
            "traffic.compare": self._compare,
        }
        for id, slot in slots.items():
            actions[id].triggered.connect(slot)
        table.mark_clicked.connect(lambda number: self.toggle_marks([number]))
        table.selectionModel().selectionChanged.connect(self.update)
        self.update()

    def update(self) -> None:
        """Update the actions after the row or the marks changed."""
        number = self._current()
        has_row, selected = number is not None, self._table.selected_count
        is_sent = number is not None and self._is_sent(number)
        has_operation = number is not None and self._log.operation(number) is not None
        for id, can in {
            "traffic.partner": number is not None and self._log.partner(number) is not None,
            "traffic.operation": has_operation,
            "traffic.mark": has_row,
            "traffic.comment": has_row,
            "traffic.copy": has_row,
            "traffic.copy_curl": has_row,
            "traffic.copy_python": has_row,
            "traffic.copy_json": has_row,
            "traffic.resend": is_sent,
            "traffic.compare": selected == 2,
            "traffic.next_mark": bool(self._log.noted_rows()),
            "traffic.previous_mark": bool(self._log.noted_rows()),
        }.items():
            self._actions[id].setEnabled(can)
        is_marked = number is not None and self._log.note(number).is_marked
        self._actions["traffic.mark"].setText("Unmark" if is_marked else "Mark")

    def _mark(self) -> None:
        if rows := self._selected():
            self.toggle_marks(rows)

    def toggle_marks(self, numbers: Iterable[int]) -> None:
        """Mark all rows, or remove the marks if all have one."""
        rows = list(numbers)
        mark = not all(self._log.note(row).is_marked for row in rows)
        for row in rows:
            self._log.set_note(row, self._log.note(row)._replace(is_marked=mark))
        self._on_note_changed(rows)

    def comment(self) -> None:
        """Ask for a comment in a popup at the row."""
        from inspector.qt.widgets.inputs.popups import NotePopup

        number = self._current()
        if number is None:
            return
        popup = NotePopup(
            self._theme, f"Comment on row {number + 1:,}", self._log.note(number).comment, self._table
        )
        popup.accepted.connect(lambda text: self.set_comment(number, text))
        popup.open_at(self._table.viewport().mapToGlobal(self._position_of(number)))

    def _position_of(self, number: int) -> QPoint:
        """Return the position below a row, or the table's top if another view selected it."""
        is_here = number == self._table.current_number()
        return self._table.visualRect(self._table.currentIndex()).bottomLeft() if is_here else QPoint()

    def set_comment(self, number: int, text: str) -> None:
        self._log.set_note(number, self._log.note(number)._replace(comment=text))
        self._on_note_changed([number])

    def _on_note_changed(self, rows: list[int]) -> None:
        self.update()
        self.notes_changed.emit(rows)

    def _go_to_mark(self, step: int) -> None:
        """Go to the next or previous marked or commented row, wrapping around."""
        rows, here = self._log.noted_rows(), self._current()
        if not rows:
            return
        if here is None:
            position = 0 if step > 0 else -1
        else:
            position = bisect_right(rows, here) if step > 0 else bisect_left(rows, here) - 1
        self.row_requested.emit(rows[position % len(rows)])

    def _copy(self) -> None:
        """Copy the messages as received, one per line; a login's without its secrets."""
        rows = self._selected()
        if rows and sum(map(self._log.kept, rows)) > _MAX_TEXT_SIZE:
            message = (
                f"Could not copy {plural(len(rows), 'message')}: over {size(_MAX_TEXT_SIZE)}. Export instead."
            )
            self.problem_found.emit(message)
        elif rows:
            try:
                texts = [_copied_bytes(self._log, number).decode(errors="replace") for number in rows]
            except UserError as exc:
                self.problem_found.emit(f"Not copied. {exc}")
                return
            QGuiApplication.clipboard().setText("\n".join(texts))

    def _copy_as(self, format: str) -> None:
        """Copy with secrets masked, since such text is pasted into chats and issues.

        It can be copied with them afterwards.
        """
        number = self._current()
        if number is None:
            return
        if self._size_of_exchange(number) > _MAX_EXCHANGE_SIZE:
            message = f"Could not copy: the exchange is over {size(_MAX_EXCHANGE_SIZE)}. Export instead."
            self.problem_found.emit(message)
        elif (masking := self._masking(number)).items:
            if self._put_on_clipboard(format, number, masking):
                again = partial(self._put_on_clipboard, format, number, None, is_secret=True)
                self.copied_masked.emit(f"Copied, with {plural(len(masking.items), 'secret')} masked.", again)
        else:
            self._put_on_clipboard(format, number, None)

    def _put_on_clipboard(
        self, format: str, number: int, masking: Masker | None, *, is_secret: bool = False
    ) -> bool:
        from inspector.traffic.export.snippets import as_curl, as_json, as_python

        write = {"curl": as_curl, "python": as_python, "json": as_json}[format]
        try:
            text = write(self._log, number, masking)
        except UserError as exc:
            self.problem_found.emit(str(exc))
            return False
        if is_secret:
            secret_clipboard().put(text)
        else:
            QGuiApplication.clipboard().setText(text)
        return True

    def _exchange_of(self, number: int) -> list[int]:
        partner = self._log.partner(number)
        return [number] if partner is None else [number, partner]

    def _size_of_exchange(self, number: int) -> int:
        return sum(self._log.kept(row) for row in self._exchange_of(number))

    def _masking(self, number: int) -> Masker:
        from inspector.traffic.masking.masker import Masker, find_secrets

        return Masker(find_secrets(self._log, self._exchange_of(number)))

    def _resend(self) -> None:
        number = self._current()
        if number is not None and self._is_sent(number):
            self.resend_requested.emit(number)

    def _is_sent(self, number: int) -> bool:
        kinds = (RecordKind.REQUEST, RecordKind.NOTIFICATION)
        return self._log.kind(number) in kinds and self._log.direction(number) == Direction.OUT

    def _compare(self) -> None:
        if self._table.selected_count == 2:
            self.compare_requested.emit(self._table.selected_numbers())

    def _selected(self) -> list[int]:
        """Return the selected rows, or the one whose detail is shown if another view selected it."""
        number, count = self._current(), self._table.selected_count
        if count > _MAX_ROWS:
            message = f"{count:,} rows are too many. Select at most {_MAX_ROWS:,}, or filter first."
            self.problem_found.emit(message)
            return []
        selected = self._table.selected_numbers()
        return selected if number in selected else [] if number is None else [number]


def _copied_bytes(log: TrafficLog, number: int) -> bytes:
    from inspector.traffic.masking.masker import masked_excerpt

    raw = log.raw(number)
    return masked_excerpt(raw) if log.kind(number) == RecordKind.LOGIN else raw


def make_menu(
    parent: QWidget,
    terms: list[FilterTerm],
    actions: dict[str, QAction],
    narrow: Callable[[FilterTerm, bool], None],
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


def add_terms(menu: QMenu, terms: list[FilterTerm], narrow: Callable[[FilterTerm, bool], None]) -> None:
    """Add the filter actions, then the same as exclusions."""
    for is_excluded in (False, True):
        for term in terms:
            verb = "Exclude" if is_excluded else "Filter by"
            menu.addAction(f"{verb} {term.field} {_shown(term)}", partial(narrow, term, is_excluded))


def _shown(term: FilterTerm) -> str:
    return shorten(one_line(term.shown), 40).replace("&", "&&")


def terms_of(log: TrafficLog, number: int, column: int) -> list[FilterTerm]:
    """Return a cell's filter terms; empty cells offer those of the message."""
    found = [term for term in _terms_of_cell(log, number, column) if term.value]
    if found or column == Column.MESSAGE:
        return found
    return [term for term in _terms_of_cell(log, number, Column.MESSAGE) if term.value]


def _terms_of_cell(log: TrafficLog, number: int, column: int) -> Iterator[FilterTerm]:
    match column:
        case Column.MESSAGE:
            yield from _terms_of_message(log, number)
        case Column.SERVER:
            yield _same("server", log.server_name(number))
        case Column.STATUS:
            yield _same("status", STATUS_LABELS[Status(log.status(number))])
        case Column.DIRECTION:
            yield _same("dir", DIRECTION_LABELS[Direction(log.direction(number))])
        case Column.ID if (id := log.id(number)) is not None:
            yield _same("id", id if isinstance(id, str) else compact(id))
        case Column.SIZE:
            yield FilterTerm(
                "size", str(log.size(number)), f"{size(log.size(number))} or more", at_least=True
            )
        case Column.DURATION if (took := log.duration_ns(number)) is not None:
            yield FilterTerm("dur", f"{took}ns", f"{duration(took)} or longer", at_least=True)
        case Column.HTTP if (exchange := _http_row(log, number)) >= 0:
            status = log.columns.http_status[exchange]
            yield _same("http.status", str(status) if status else "")
        case Column.REVISION:
            yield _same("version", log.revision(number))
        case Column.OPERATION if (operation := log.operation(number)) is not None:
            yield _same("op", str(operation + 1))
        case Column.COMMENT:
            yield _same("comment", log.note(number).comment)
        case Column.FINDING:
            yield _same("finding", log.problem(number))


def _terms_of_message(log: TrafficLog, number: int) -> Iterator[FilterTerm]:
    kind, method = RecordKind(log.kind(number)), log.method(number)
    if method and kind is not RecordKind.HTTP:
        yield _same("method", method)
        yield _same(SUBJECT_FIELDS.get(method, "subject"), log.subject(number))
    else:
        yield _same("kind", KIND_LABELS[kind])


def _same(field: str, value: str) -> FilterTerm:
    return FilterTerm(field, value, value)


def _http_row(log: TrafficLog, number: int) -> int:
    is_own = log.kind(number) == RecordKind.HTTP
    return number if is_own else log.columns.exchange[number]
