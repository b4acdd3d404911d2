"""The members of an object in a form: a row for each, and the keys that the form does not know."""

from __future__ import annotations

from collections import deque
from time import perf_counter

from PySide6.QtCore import QTimer
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inspector.qt.forms.editors import Kit, OnChange, Problems
from inspector.qt.forms.fieldrow import FieldRow
from inspector.qt.forms.look import set_label_text, small_label
from inspector.qt.theme import SPACE_4
from inspector.schema.fields import ObjectField
from inspector.schema.values import ABSENT, Draft, child

# A row takes about a millisecond to make and another to show. A screenful comes at once; the others follow
# when they are about to be scrolled into view, so that a form of 2,000 fields opens as fast as one of 20.
ROWS_AT_ONCE = 20
_SLICE_SECONDS = 0.010
_ROW_HEIGHT = 64  # about; the place kept for rows that are not made, so that the scroll bar is about right
_PIXELS_AHEAD = 600


class Members(QWidget):
    """The rows of one object, one below the other.

    Keys keep the order they were given in; those set later go where the schema has them. Keys without a
    row are kept as they are, and named below the rows. A row that is not made yet holds its value too.
    """

    def __init__(self, kit: Kit, field: ObjectField, on_change: OnChange) -> None:
        super().__init__()
        self._kit = kit
        self._on_change = on_change
        self._names = [member.name for member in field.members]
        self._unmade = deque(field.members)
        self._rows: dict[str, FieldRow] = {}
        self._given: dict[str, Draft] = {}
        self._problems: Problems = {}
        self._pointer = ""
        self._was_touched = False
        self._unknown_label = small_label(kit.look, "")
        self._unknown_label.hide()
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(SPACE_4)
        self._column.addWidget(self._unknown_label)
        self._room = QWidget(self)
        self._column.addWidget(self._room)
        self._next_slice = QTimer(self, singleShot=True, interval=0)
        self._next_slice.timeout.connect(self._make_slice)
        for _ in range(min(ROWS_AT_ONCE, len(self._unmade))):
            self._make_row()
        self._keep_room()

    def rows(self) -> list[FieldRow]:
        """All rows in the schema's order; makes those that are not made yet."""
        while self._unmade:
            self._make_row()
        self._keep_room()
        return list(self._rows.values())

    def draft(self) -> dict[str, Draft]:
        drafts = {name: self._draft_of(name) for name in self._names}
        unknown = {name: draft for name, draft in self._given.items() if name not in drafts}
        found = {name: draft for name, draft in drafts.items() if draft is not ABSENT}
        order = [name for name in self._given if name in found or name in unknown]
        _insert_in_schema_order(order, list(found))
        return {name: found[name] if name in found else unknown[name] for name in order}

    def set_draft(self, draft: dict[str, Draft]) -> None:
        self._given = draft
        self._was_touched = False
        for name, row in self._rows.items():
            row.set_draft(draft.get(name, ABSENT))
        known = set(self._names)
        names = ", ".join(name for name in draft if name not in known)
        set_label_text(self._unknown_label, f"Also sent, not in the schema: {names}. Edit as JSON.")
        self._unknown_label.setVisible(bool(names))

    def show_problems(self, problems: Problems, pointer: str) -> None:
        self._problems, self._pointer = problems, pointer
        for name, row in self._rows.items():
            row.show_problems(problems, child(pointer, name))

    def mark_touched(self) -> None:
        self._was_touched = True
        for row in self._rows.values():
            row.mark_touched()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._unmade and event.rect().bottom() > self._room.y() - _PIXELS_AHEAD:
            self._next_slice.start()

    def _draft_of(self, name: str) -> Draft:
        row = self._rows.get(name)
        return row.draft() if row is not None else self._given.get(name, ABSENT)

    def _make_slice(self) -> None:
        end = perf_counter() + _SLICE_SECONDS
        while self._unmade and perf_counter() < end:
            self._make_row()
        self._keep_room()

    def _keep_room(self) -> None:
        self._room.setFixedHeight(_ROW_HEIGHT * len(self._unmade))
        self._room.setVisible(bool(self._unmade))

    def _make_row(self) -> None:
        member = self._unmade.popleft()
        row = FieldRow(self._kit, member, self._on_change, self)
        if member.name in self._given:
            row.set_draft(self._given[member.name])
        if self._was_touched:
            row.mark_touched()
        if self._problems:
            row.show_problems(self._problems, child(self._pointer, member.name))
        self._column.insertWidget(len(self._rows), row)
        self._rows[member.name] = row


def _insert_in_schema_order(order: list[str], names: list[str]) -> None:
    """Put the names that are not in `order` behind their nearest predecessor that is."""
    place = 0
    for name in names:
        if name in order:
            place = order.index(name) + 1
        else:
            order.insert(place, name)
            place += 1
