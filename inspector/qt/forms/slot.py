"""The place of one value in a form: holds an editor, and changes it for another that shows the value."""

from __future__ import annotations

from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QBoxLayout

from inspector.qt.forms.editors import Editor, JsonEditor, Kit, LinesEditor, OnChange, Problems
from inspector.schema.fields import Field, JsonField, TextField
from inspector.schema.values import Draft


class Slot:
    """One value's place in a layout.

    Shows every draft: in the field's own editor where that gives it back exactly, else in a text box, else
    as raw JSON. `on_change` is called after each change by the person.
    """

    def __init__(self, kit: Kit, field: Field, layout: QBoxLayout, on_change: OnChange) -> None:
        self.field = field
        self._kit = kit
        self._layout = layout
        self._on_change = on_change
        self.editor = kit.editor(field, self._on_editor_changed)
        layout.addWidget(self.editor.widget)

    @property
    def is_raw(self) -> bool:
        """Whether the value is shown as JSON although the field has an editor of its own."""
        return isinstance(self.editor, JsonEditor) and not isinstance(self.field, JsonField)

    def draft(self) -> Draft:
        return self.editor.draft()

    def set_draft(self, draft: Draft) -> None:
        if self.is_raw:
            self._exchange(self._kit.editor(self.field, self._on_editor_changed))
        if self.editor.set_draft(draft):
            return
        if isinstance(self.field, TextField):
            self._exchange(LinesEditor(self._kit.look, self.field, self._on_editor_changed))
            if self.editor.set_draft(draft):
                return
        self.set_raw(draft)

    def set_raw(self, draft: Draft) -> None:
        """Show a draft as JSON text, whatever the field."""
        self._exchange(JsonEditor(self._kit.look, self.field, self._on_editor_changed))
        self.editor.set_draft(draft)

    def set_several_lines(self) -> None:
        """Give a text room for several lines, without changing it."""
        draft, had_focus = self.editor.draft(), self.editor.widget.hasFocus()
        editor = LinesEditor(self._kit.look, self.field, self._on_editor_changed)
        self._exchange(editor)
        if not editor.set_draft(draft):
            self.set_raw(draft)
        elif had_focus:
            editor.edit.setFocus()
            editor.edit.moveCursor(QTextCursor.MoveOperation.End)

    def show_problems(self, problems: Problems, pointer: str) -> None:
        self.editor.show_problems(problems, pointer)

    def _on_editor_changed(self) -> None:
        if self.editor.has_outgrown():
            self.set_several_lines()
        self._on_change()

    def _exchange(self, editor: Editor) -> None:
        old = self.editor.widget
        editor.widget.setAccessibleName(old.accessibleName())
        self._layout.replaceWidget(old, editor.widget)
        old.hide()
        old.deleteLater()  # it may be its own signal that we are answering
        self.editor = editor
