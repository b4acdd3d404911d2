"""Which editor a kind of field gets."""

from __future__ import annotations

from inspector.qt.forms.editors import (
    BooleanEditor,
    ChoiceEditor,
    Editor,
    JsonEditor,
    LineEditor,
    LinesEditor,
    NumberEditor,
    OnChange,
)
from inspector.qt.forms.listeditor import ListEditor
from inspector.qt.forms.look import Look
from inspector.qt.forms.objecteditor import ObjectEditor
from inspector.qt.theme import Theme
from inspector.schema.fields import (
    BooleanField,
    ChoiceField,
    Field,
    ListField,
    NumberField,
    ObjectField,
    TextField,
)


class FormKit:
    """Makes the editors of one form."""

    def __init__(self, theme: Theme) -> None:
        self.look = Look.of(theme)

    def editor(self, field: Field, on_change: OnChange) -> Editor:
        match field:
            case TextField(multiline=True):
                return LinesEditor(self.look, field, on_change)
            case TextField():
                return LineEditor(self.look, field, on_change)
            case NumberField():
                return NumberEditor(self.look, field, on_change)
            case BooleanField():
                return BooleanEditor(self.look, field, on_change)
            case ChoiceField():
                return ChoiceEditor(self.look, field, on_change)
            case ListField():
                return ListEditor(self, field, on_change)
            case ObjectField():
                return ObjectEditor(self, field, on_change)
        return JsonEditor(self.look, field, on_change)
