"""Editor for objects: one row per member, plus the keys that the schema does not name.

`is_same_field` decides whether a row can stay when the conditions around it (if/then) change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields as attributes
from dataclasses import replace
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QPushButton, QWidget

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.qt.forms.schema.editor import Editor, EditorFactory, Errors, OnChange
from inspector.qt.forms.schema.field_row import FieldRow
from inspector.qt.forms.schema.item_rows import LazyRows
from inspector.qt.forms.schema.map_editor import MapRows
from inspector.qt.theme import SPACE_4
from inspector.qt.widgets.inputs.controls import TextButton
from inspector.qt.widgets.inputs.search import SearchField
from inspector.qt.widgets.layout import IndentedBlock, vbox
from inspector.qt.widgets.text.labels import ERROR, set_label_text, small_label
from inspector.qt.widgets.text.text_box import is_plain_line
from inspector.schema.builder import Builder
from inspector.schema.drafts import effective, settle_draft
from inspector.schema.fields import (
    ConstField,
    Field,
    ListField,
    MapField,
    Member,
    ObjectField,
    TupleField,
    UnionField,
)
from inspector.schema.references import Document
from inspector.schema.values import (
    ABSENT,
    REPEATED_KEY,
    Absent,
    Draft,
    FormError,
    InactiveDraft,
    Unreadable,
    child,
    initial_draft,
    json_of,
)

_ROW_HEIGHT = 64
_MAX_KEY_ROWS = 200
_MAX_DEPTH = 3
_MAX_OPEN_DEPTH = 3
_MAX_UNFILTERED = 15
_MAX_UNFOLDED = 30
_MAX_UNKNOWN_ERRORS = 6
_OWN_KEYS = MapField(value=partial(Builder(Document(True)).field, True, 1))  # of any type
# Compared part by part, or not comparable.
_PARTS = frozenset(
    (
        "item",
        "items",
        "rest",
        "value",
        "patterns",
        "key",
        "members",
        "variants",
        "conditions",
        "under",
        "union",
    )
)


class ObjectEditor(Editor):
    """A nested object. Its rows are created when it is first set or opened, so a schema may be recursive.

    An open one that is not set is sent once one of its members is edited.
    """

    stated = ("set", "null")

    def __init__(self, factory: EditorFactory, field: ObjectField, on_change: OnChange) -> None:
        self._factory = factory
        self._field = field
        self._on_change = on_change
        self._empty_state: Absent | None = ABSENT
        self._is_set = False
        self._opens = False
        self.members: MemberRows | None = None
        self._frame = self.widget = IndentedBlock(factory.depth)
        self.fill_button = QPushButton()
        factory.style.theme.set_icon(self.fill_button, "plus", "muted")
        self.fill_button.clicked.connect(self._on_fill_clicked)
        self._frame.column.addWidget(self.fill_button, 0, Qt.AlignmentFlag.AlignLeft)
        self.widget.setFocusProxy(self.fill_button)
        self._show_state()

    def draft(self) -> Draft:
        return self.members.draft() if self._is_set and self.members is not None else self._empty_state

    def set_draft(self, draft: Draft) -> bool:
        if draft is not ABSENT and draft is not None and not isinstance(draft, dict):
            return False
        self._empty_state = None if draft is None else ABSENT
        self._is_set = isinstance(draft, dict)
        if isinstance(draft, dict):
            self._made_members().set_draft(draft)
        elif self._is_open:
            self._made_members().set_draft(_initial(replace(self._field, default=ABSENT)))
        self._show_state()
        return True

    def open_unset(self) -> None:
        self._opens = self._factory.depth < _MAX_OPEN_DEPTH
        self.set_draft(self.draft())

    @property
    def _is_open(self) -> bool:
        return self._is_set or (self._opens and self._empty_state is ABSENT)

    def show_errors(self, errors: Errors, pointer: str) -> None:
        if self.members is not None and self._is_open:
            self.members.show_errors(errors, pointer)

    def mark_touched(self) -> None:
        if self.members is not None:
            self.members.mark_touched()

    def at(self, path: Sequence[str]) -> QWidget:
        return self.members.at(path) if self.members is not None and self._is_open else self.widget

    def set_focus(self) -> None:
        rows = self.members.rows() if self.members is not None and self._is_open else []
        if rows := [row for row in rows if not row.isHidden()]:
            rows[0].slot.editor.set_focus()
        else:
            self.fill_button.setFocus()

    def _made_members(self) -> MemberRows:
        if self.members is None:
            self.members = MemberRows(
                self._factory.nested(), self._field, self._on_member_changed, self._factory.tag
            )
            self._frame.column.insertWidget(0, self.members)
        return self.members

    def _on_fill_clicked(self) -> None:
        self.set_draft(self.members.draft() if self._is_open and self.members else _initial(self._field))
        self._on_change()
        self.set_focus()

    @property
    def _needs_members(self) -> bool:
        return any(one.required and not isinstance(one.field, ConstField) for one in self._field.members)

    def _on_member_changed(self) -> None:
        if not self._is_set:
            self._is_set = True
            self._show_state()
        self._on_change()

    def _show_state(self) -> None:
        text = "Fill in (null)" if self._empty_state is None else "Fill in"
        self.fill_button.setText("Send as shown" if self._is_open else text)
        self.fill_button.setVisible(not self._is_set and not (self._is_open and self._needs_members))
        self._frame.set_indented(self._is_open)
        if self.members is not None:
            self.members.setVisible(self._is_open)


def _initial(field: ObjectField) -> dict[str, Draft]:
    draft = initial_draft(field)
    return draft if isinstance(draft, dict) else {}


class MemberRows(QWidget):
    """The rows of one object.

    Keys keep their given order; keys set later go where the schema has them. Keys without a row are kept
    and listed below the rows. A row not created yet holds its value too. Conditional members come and go;
    what was typed in them is kept aside. The constant `tag` is hidden: the variant picker shows it.
    Of many members, the required ones come first and the optional ones are folded until they have a value.
    """

    def __init__(
        self, factory: EditorFactory, field: ObjectField, on_change: OnChange, tag: str = ""
    ) -> None:
        super().__init__()
        self._factory = factory
        self._field = field
        self._on_change = on_change
        self._effective = effective(field, {})
        self._members: dict[str, Member] = {member.name: member for member in self._effective.members}
        self._names = list(self._members)
        self._rows: dict[str, FieldRow] = {}
        self._hidden: set[str] = set()  # names of rows that do not apply now
        self._last_draft: dict[str, Draft] = {}
        self._previous: dict[str, Draft] = {}
        self._is_folded = True
        self._shown = self._names_to_show("")
        self._tag = tag
        self._errors: Errors = {}
        self._pointer = ""
        self._was_touched = False
        self._lazy = LazyRows(
            factory,
            lambda: len(self._shown),
            lambda position: self._rows.get(self._shown[position]),
            self._make_row,
            spacing=SPACE_4,
            height=_ROW_HEIGHT,
        )
        self.filter_line: SearchField | None = None
        if len(self._names) > _MAX_UNFILTERED:
            self.filter_line = SearchField(factory.style.theme, "Filter fields")
            self.filter_line.text_settled.connect(self._show_matches)
        self._no_match_label = small_label(factory.style, "No field matches.")
        self._no_match_label.hide()
        self.fold_button = TextButton("", factory.style.small, QPalette.ColorRole.Link)
        self.fold_button.clicked.connect(self._on_fold_clicked)
        self._extra_keys: MapRows | None = None
        self._aside_label = small_label(factory.style, "")
        self._unknown_label = small_label(factory.style, "")
        self._unknown_error_label = small_label(factory.style, "", ERROR)
        self.remove_button = TextButton("Remove", factory.style.small, QPalette.ColorRole.Link)
        self.remove_button.clicked.connect(self._on_remove_clicked)
        self._lay_out()
        self._lazy.reset()
        self._show_fold_button()
        self._show_others()

    @property
    def effective_field(self) -> ObjectField:
        """The object's effective schema for the current value."""
        return self._effective

    @property
    def key_rows(self) -> MapRows | None:
        """The rows for additional keys, if the schema allows them."""
        return self._extra_keys

    def rows(self) -> list[FieldRow]:
        """Return all rows that are shown or can be scrolled to; creates the missing ones."""
        self._lazy.make_all()
        return [self._rows[name] for name in self._shown]

    def draft(self) -> dict[str, Draft]:
        drafts = self._settled_draft()
        if (
            self._extra_keys is not None
        ):  # an additional key with a field's name: one of the two would be lost
            drafts |= {
                key: Unreadable("", REPEATED_KEY)
                for key, part in self._extra_keys.pairs()
                if key in self._members and part is not ABSENT
            }
        return drafts

    def _settled_draft(self) -> dict[str, Draft]:
        drafts = {name: self._draft_of(name) for name in self._names}
        others = self._other_drafts()
        found = {name: draft for name, draft in drafts.items() if draft is not ABSENT}
        order = [name for name in self._last_draft if name in found or name in others]
        order = _in_schema_order(order, list(found))
        order += [name for name in others if name not in self._last_draft]
        return {name: found[name] if name in found else others[name] for name in order}

    def set_draft(self, draft: dict[str, Draft]) -> None:
        self._last_draft = self._previous = dict(draft)
        self._was_touched = False
        self._show_members(effective(self._field, draft))
        for name, row in self._rows.items():
            row.set_draft(draft.get(name, ABSENT) if name in self._members else ABSENT)
        if self._can_fold():
            self._show_matches()  # those that have a value now
        self._show_tag()
        self._show_others()

    def show_errors(self, errors: Errors, pointer: str) -> None:
        self._errors, self._pointer = errors, pointer
        for name, row in self._rows.items():
            row.show_errors(errors, child(pointer, name))
        if self._extra_keys is not None:
            self._extra_keys.show_errors(errors, pointer)
        self._show_unknown_errors()

    def _show_unknown_errors(self) -> None:
        """Show the errors of the keys that have no row."""
        names = self._last_draft.keys() - self._members.keys() if self._extra_keys is None else ()
        found = {name: self._errors.get(child(self._pointer, name)) for name in sorted(names)}
        lines = [f"{one_line(shorten(name, 80))} {problem}" for name, problem in found.items() if problem]
        set_label_text(self._unknown_error_label, "\n".join(lines[:_MAX_UNKNOWN_ERRORS]))
        self._unknown_error_label.setVisible(bool(lines))

    def mark_touched(self) -> None:
        self._was_touched = True
        for row in self._rows.values():
            row.mark_touched()

    def at(self, path: Sequence[str]) -> QWidget:
        """Return the widget at a path inside; creates the rows up to it."""
        if path and path[0] in self._members:
            if path[0] not in self._shown:
                self._is_folded = False
                if self.filter_line is not None:
                    self.filter_line.clear()
                    self.filter_line.settle()
                self._show_matches()
            self._lazy.show_row(self._shown.index(path[0]))
            return self._rows[path[0]].at(path[1:])
        found = self._extra_keys.at(path) if self._extra_keys is not None else None
        if found is None and path and path[0] in self._last_draft:
            return self.remove_button
        return found if found is not None else self

    def _draft_of(self, name: str) -> Draft:
        row = self._rows.get(name)
        draft = row.draft() if row is not None else self._last_draft.get(name, ABSENT)
        return draft.draft if isinstance(draft, InactiveDraft) else draft

    def _make_row(self, position: int) -> FieldRow:
        member = self._members[self._shown[position]]
        row = FieldRow(self._factory, member, self._on_row_changed, self._lazy)
        if member.name in self._last_draft:
            row.set_draft(self._draft_of(member.name))
        if self._was_touched:
            row.mark_touched()
        if self._errors:
            row.show_errors(self._errors, child(self._pointer, member.name))
        self._rows[member.name] = row
        self._show_tag()
        return row

    def _show_tag(self) -> None:
        """Show the variant's constant only while the value has another one."""
        row = self._rows.get(self._tag)
        if row is not None and isinstance(row.field, ConstField) and self._tag in self._shown:
            row.setVisible(row.draft() != row.field.value)

    def _on_row_changed(self) -> None:
        if self._field.under is not None:
            self._settle()
        self._on_change()

    def _settle(self) -> None:
        """Add and remove conditional members according to the current draft."""
        settled = settle_draft(self._field, self._previous, self._settled_draft())
        self._last_draft = self._previous = settled
        effective_field = effective(self._field, settled)
        if effective_field is self._effective:
            return
        shown = set(self._names)
        self._show_members(effective_field)
        for name in self._names:
            if name not in shown and name in self._rows:
                self._rows[name].set_draft(settled.get(name, ABSENT))
        self._show_others()

    def _show_members(self, effective_field: ObjectField) -> None:
        """Sync the rows with the members, keeping rows whose member did not change."""
        if effective_field is self._effective:
            return
        self._effective = effective_field
        self._members = {member.name: member for member in effective_field.members}
        self._names = list(self._members)
        for name, row in list(self._rows.items()):
            member = self._members.get(name)
            if member is None:
                self._hidden.add(name)
                row.hide()
            elif is_same_field(row.member.field, member.field):
                row.set_member(member)
            else:
                self._drop(row)
        self._hidden -= self._members.keys()
        self._show_matches()

    def _show_matches(self) -> None:
        """Show the rows whose name, title or description contains the text of the filter."""
        text = self._filter_text()
        self._shown = self._names_to_show(text)
        shown = set(self._shown)
        for name, row in self._rows.items():
            row.setVisible(name in shown)
        self._lazy.reset()
        self._show_tag()
        self._no_match_label.setVisible(bool(text) and not shown)
        self._show_fold_button()

    def _filter_text(self) -> str:
        return self.filter_line.text().casefold() if self.filter_line is not None else ""

    def _can_fold(self) -> bool:
        required = sum(member.required for member in self._members.values())
        return len(self._names) > _MAX_UNFOLDED and 0 < required < len(self._names)

    def _names_to_show(self, text: str) -> list[str]:
        names = self._names
        if self._can_fold():
            names = sorted(names, key=lambda name: not self._members[name].required)
            if self._is_folded and not text:
                names = [
                    name
                    for name in names
                    if self._members[name].required or self._draft_of(name) is not ABSENT
                ]
        return [name for name in names if _matches(self._members[name], text)]

    def _show_fold_button(self) -> None:
        count = len(self._names) - len(self._shown)
        noun = "field" if count == 1 else "fields"
        text = (
            f"Show {count:,} optional {noun}" if self._is_folded else "Hide optional fields without a value"
        )
        self.fold_button.setText(text)
        can_change = count > 0 or not self._is_folded
        self.fold_button.setVisible(self._can_fold() and can_change and not self._filter_text())

    def _on_fold_clicked(self) -> None:
        self._is_folded = not self._is_folded
        self._show_matches()

    def _drop(self, row: FieldRow) -> None:
        """Remove a row whose field has changed, keeping its value for the new row."""
        with suppress(FormError):  # invalid JSON cannot move; it was marked as such
            self._last_draft[row.member.name] = row.slot.value_draft()
        del self._rows[row.member.name]
        self._hidden.discard(row.member.name)
        row.hide()
        row.deleteLater()

    def _other_drafts(self) -> dict[str, Draft]:
        """Return the keys without a field: from the key rows, put aside, or unknown."""
        others = {name: draft for name, draft in self._last_draft.items() if name not in self._members}
        if self._extra_keys is None:
            return others
        drafts: dict[str, Draft] = {
            name: one for name, one in others.items() if isinstance(one, InactiveDraft)
        }
        for key, draft in self._extra_keys.pairs():
            if draft is ABSENT:
                continue
            if key not in self._members:
                draft = _own_value(draft) if self._extra_keys.field is _OWN_KEYS else draft
                is_duplicate = not isinstance(drafts.get(key, InactiveDraft(None)), InactiveDraft)
                drafts[key] = Unreadable("", REPEATED_KEY) if is_duplicate else draft
        return drafts

    def _show_others(self) -> None:
        others = {name: draft for name, draft in self._last_draft.items() if name not in self._members}
        aside = [name for name, draft in others.items() if isinstance(draft, InactiveDraft)]
        unknown = {name: draft for name, draft in others.items() if not isinstance(draft, InactiveDraft)}
        has_rows = self._show_key_rows(unknown)
        names = ", ".join(unknown) if not has_rows else ""
        set_label_text(self._unknown_label, f"Also sent, without a field: {names}. Edit as JSON.")
        self._unknown_label.setVisible(bool(names))
        self._show_unknown_errors()
        self.remove_button.setVisible(bool(names))
        text = ", ".join(aside)
        set_label_text(self._aside_label, f"Not sent while it does not apply: {text}.")
        self._aside_label.setVisible(bool(text))

    def _show_key_rows(self, unknown: Mapping[str, Draft]) -> bool:
        """Show rows for additional keys if the schema allows them and they fit into rows."""
        rest = self._effective.rest
        if rest is None and self._effective.is_open and self._factory.takes_own_keys:
            rest = _OWN_KEYS
        fits = len(unknown) <= _MAX_KEY_ROWS and all(map(is_plain_line, unknown))
        if rest is None or not fits:
            if self._extra_keys is not None:
                self._extra_keys.hide()
                self._extra_keys.deleteLater()
                self._extra_keys = None
            return False
        if self._extra_keys is None:
            self._extra_keys = MapRows(self._factory, rest, self._on_change, self._members)
            self.layout().addWidget(self._extra_keys)  # type: ignore[union-attr]
            if self._members:
                self._extra_keys.add_button.setText("Add another key")
                self._extra_keys.set_heading("Other keys")
        self._extra_keys.field, self._extra_keys.reserved = rest, self._members
        self._extra_keys.set_pairs(tuple(unknown.items()))
        return True

    def _on_remove_clicked(self) -> None:
        self._last_draft = {
            name: draft
            for name, draft in self.draft().items()
            if name in self._members or isinstance(draft, InactiveDraft)
        }
        self._show_others()
        self._on_row_changed()

    def _lay_out(self) -> None:
        unknown = vbox(
            None,
            self._unknown_label,
            self._unknown_error_label,
            (self.remove_button, 0, Qt.AlignmentFlag.AlignLeft),
            gap=0,
        )
        vbox(
            self,
            self.filter_line,
            self._no_match_label,
            self._lazy,
            (self.fold_button, 0, Qt.AlignmentFlag.AlignLeft),
            self._aside_label,
            unknown,
            gap=SPACE_4,
        )


def _matches(member: Member, text: str) -> bool:
    if not text:
        return True
    texts = (member.name, member.field.title, member.field.description)
    return any(text in one.casefold() for one in texts)


def _own_value(draft: Draft) -> Draft:
    """Return the value of a key that the schema does not describe as JSON."""
    field = _OWN_KEYS.value
    assert field is not None
    try:
        return json_of(field, draft)
    except FormError as exc:
        return Unreadable("", exc.errors[0].problem)


def _in_schema_order(order: list[str], names: list[str]) -> list[str]:
    """Order the names, placing each unknown one after its nearest predecessor in `order`."""
    known = set(order)
    followers: dict[str | None, list[str]] = {}
    position: str | None = None
    for name in names:
        if name in known:
            position = name
        else:
            followers.setdefault(position, []).append(name)
    ordered = followers.get(None, [])
    for name in order:
        ordered += [name, *followers.get(name, ())]
    return ordered


def is_same_field(one: Field | None, other: Field | None, depth: int = 0) -> bool:
    """Return whether two fields look the same without opening them, and some levels deeper."""
    if one is other or one is None or other is None:
        return one is other
    if type(one) is not type(other):
        return False
    if not isinstance(one, ListField | TupleField | MapField | ObjectField | UnionField):
        return one == other
    names = [each.name for each in attributes(one) if each.name not in _PARTS]
    if any(getattr(one, name) != getattr(other, name) for name in names):
        return False
    return depth >= _MAX_DEPTH or _same_inside(one, other, depth + 1)


def _same_inside(one: Field, other: Field, depth: int) -> bool:
    match one, other:
        case ListField(), ListField():
            return is_same_field(one.item, other.item, depth)
        case TupleField(), TupleField():
            return is_same_field(one.rest, other.rest, depth) and _all_same(one.items, other.items, depth)
        case MapField(), MapField():
            return is_same_field(one.value, other.value, depth) and is_same_field(one.key, other.key, depth)
        case UnionField(), UnionField():
            titles = [[each.title for each in side.variants] for side in (one, other)]
            parts = [tuple(each.field for each in side.variants) for side in (one, other)]
            return titles[0] == titles[1] and _all_same(parts[0], parts[1], depth)
        case ObjectField(), ObjectField():
            inner = [tuple(each.field for each in side.members) for side in (one, other)]
            return _same_members(one.members, other.members) and _all_same(inner[0], inner[1], depth)
    return False


def _same_members(ones: tuple[Member, ...], others: tuple[Member, ...]) -> bool:
    return [(one.name, one.required) for one in ones] == [(other.name, other.required) for other in others]


def _all_same(ones: tuple[Field, ...], others: tuple[Field, ...], depth: int) -> bool:
    return len(ones) == len(others) and all(
        is_same_field(*pair, depth) for pair in zip(ones, others, strict=True)
    )
