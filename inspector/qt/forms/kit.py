"""Which editors a kind of field gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inspector.qt.forms.choiceeditors import (
    BooleanEditor,
    CheckListEditor,
    ChoiceEditor,
    ConstEditor,
    choices_of,
    const_words,
    fits_in_segments,
)
from inspector.qt.forms.editor import Editor, EditorMaker, OnChange
from inspector.qt.forms.jsonfieldeditor import JsonEditor
from inspector.qt.forms.listeditor import ListEditor, TupleEditor
from inspector.qt.forms.longjson import LongJsonEditor
from inspector.qt.forms.look import Look
from inspector.qt.forms.mapeditor import MapEditor
from inspector.qt.forms.objecteditor import ObjectEditor
from inspector.qt.forms.pickededitors import PICKED_FORMATS, FileEditor, MomentEditor
from inspector.qt.forms.texteditors import LineEditor, LinesEditor, LongTextEditor, NumberEditor
from inspector.qt.forms.unioneditor import UnionEditor
from inspector.qt.theme import Theme
from inspector.schema.fields import (
    BooleanField,
    ChoiceField,
    ConstField,
    Field,
    ListField,
    MapField,
    NumberField,
    ObjectField,
    TextField,
    TupleField,
    UnionField,
)

# Created before the first paint; the other rows as they come into view.
_ROWS_AT_ONCE = 40


class FormKit:
    """Creates the editors of a form, at one depth."""

    def __init__(
        self, theme: Theme, outer: FormKit | None = None, warnings: Mapping[str, str] | None = None
    ) -> None:
        self.look: Look = outer.look if outer is not None else Look.of(theme)
        self.depth: int = outer.depth + 1 if outer is not None else 0
        self.warnings: Mapping[str, str] = warnings or {}
        self._theme = theme
        self._budget: _Budget = outer._budget if outer is not None else _Budget()

    def deeper(self) -> FormKit:
        return FormKit(self._theme, self)

    def may_make_now(self) -> bool:
        return self._budget.take()

    def renew(self) -> None:
        self._budget.left = _ROWS_AT_ONCE

    def makers(self, field: Field) -> Sequence[EditorMaker]:
        return (*self._own_makers(field), self._long_json, self._json)

    def _own_makers(self, field: Field) -> Sequence[EditorMaker]:
        match field:
            case TextField():
                return self._text_makers(field)
            case NumberField():
                return (lambda _, on_change: NumberEditor(self.look, field, on_change),)
            case BooleanField():
                return (lambda _, on_change: BooleanEditor(self.look, field, on_change),)
            case ConstField() if fits_in_segments(self.look, ("not set", const_words(field), "null")):
                return (lambda _, on_change: ConstEditor(self.look, field, on_change),)
            case ChoiceField():
                return (lambda _, on_change: ChoiceEditor(self.look, field, on_change),)
            case ListField():
                return self._list_makers(field)
            case TupleField():
                return (lambda _, on_change: TupleEditor(self, field, on_change),)
            case MapField():
                return (lambda _, on_change: MapEditor(self, field, on_change),)
            case ObjectField():
                return (lambda _, on_change: ObjectEditor(self, field, on_change),)
            case UnionField() if field.variants:
                return (lambda _, on_change: UnionEditor(self, field, on_change),)
        return ()

    def _text_makers(self, field: TextField) -> Sequence[EditorMaker]:
        if field.content_encoding == "base64":
            return (lambda _, on_change: FileEditor(self.look, field, on_change), self._long)
        if field.multiline:
            return (self._lines, self._long)
        if field.format in PICKED_FORMATS:
            return (lambda _, on_change: MomentEditor(self.look, field, on_change), self._lines, self._long)
        return (self._line, self._lines, self._long)

    def _list_makers(self, field: ListField) -> Sequence[EditorMaker]:
        rows: EditorMaker = lambda _, on_change: ListEditor(self, field, on_change)  # noqa: E731
        choices = choices_of(field)
        if choices is None:
            return (rows,)
        return (lambda _, on_change: CheckListEditor(self.look, field, choices, on_change), rows)

    def _line(self, field: Field, on_change: OnChange) -> Editor:
        return LineEditor(self.look, field, on_change)

    def _lines(self, field: Field, on_change: OnChange) -> Editor:
        return LinesEditor(self.look, field, on_change)

    def _long(self, field: Field, on_change: OnChange) -> Editor:
        return LongTextEditor(self.look, field, on_change)

    def _long_json(self, field: Field, on_change: OnChange) -> Editor:
        return LongJsonEditor(self.look, field, on_change)

    def _json(self, field: Field, on_change: OnChange) -> Editor:
        return JsonEditor(self.look, field, on_change)


class _Budget:
    """The number of rows that may still be created in this turn of the event loop, at any depth."""

    left = _ROWS_AT_ONCE

    def take(self) -> bool:
        self.left -= 1
        return self.left >= 0
