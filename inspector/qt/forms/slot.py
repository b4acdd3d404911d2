"""The place of one value in a form: holds an editor, and changes it for another that shows the value."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QBoxLayout, QWidget

from inspector.qt.forms.editor import Editor, Kit, OnChange, Problems
from inspector.qt.forms.jsonfieldeditor import JsonEditor
from inspector.qt.forms.longjson import LongJsonEditor, is_large
from inspector.qt.forms.texteditors import LinesEditor, LongTextEditor
from inspector.schema.fields import Field, JsonField, TextField
from inspector.schema.values import ABSENT, Draft, FormError, Unreadable, finish

_RAW_LEVELS = 2  # of every field, the last editors: for a large JSON value, and for any


class Slot:
    """One value's place in a layout.

    Shows every draft: in the first of the field's editors that gives it back exactly; the last one is raw
    JSON. `on_change` is called after each change by the person.
    """

    def __init__(self, kit: Kit, field: Field, layout: QBoxLayout, on_change: OnChange) -> None:
        self.field = field
        self._kit = kit
        self._layout = layout
        self._on_change = on_change
        self._makers = kit.makers(field)
        self._level = 0
        self._name = ""
        if isinstance(field, JsonField):
            self._level = len(self._makers) - 1  # to be written, and not large yet
        self.editor = self._make(self._level)
        layout.addWidget(self.editor.widget)

    @property
    def is_raw(self) -> bool:
        """Whether the value is shown as JSON although the field has an editor of its own."""
        return isinstance(self.editor, JsonEditor | LongJsonEditor) and not isinstance(self.field, JsonField)

    def set_name(self, name: str) -> None:
        """What a screen reader calls the value, in whichever editor."""
        self._name = name
        self.editor.set_name(name)

    def draft(self) -> Draft:
        return self.editor.draft()

    def value_draft(self) -> Draft:
        """The draft as JSON, for another field to take; raises FormError where it is none."""
        return finish(self.field, self.editor.draft())

    def set_draft(self, draft: Draft) -> None:
        self._show(draft, 0)

    def set_raw(self, draft: Draft) -> None:
        """Show a draft, of JSON alone, as JSON text, whatever the field."""
        self._show(draft, len(self._makers) - _RAW_LEVELS)

    def set_rows(self) -> None:
        """Show a list of choices row by row: there an item may stand twice, and be moved."""
        self._show(self.editor.draft(), 1)

    def set_several_lines(self) -> None:
        """Give a text room for several lines, without changing it."""
        self._edit_text(self.editor.draft())

    def set_field(self, field: Field) -> None:
        """Take another field for the same value, as far as the value is JSON; else it stays as it is."""
        if field is self.field:
            return
        try:
            value = self.value_draft()
        except FormError:
            return
        had_focus = _has_focus(self.editor.widget)
        self.field, self._makers, self._level = field, self._kit.makers(field), -1
        self.set_draft(value)
        if had_focus:
            self.editor.set_focus()

    def show_problems(self, problems: Problems, pointer: str) -> None:
        self.editor.show_problems(problems, pointer)

    def at(self, path: Sequence[str]) -> QWidget:
        return self.editor.at(path)

    def _make(self, level: int) -> Editor:
        return self._prepared(self._makers[level](self.field, self._on_change))

    def _prepared(self, editor: Editor) -> Editor:
        editor.on_outgrown = self._on_outgrown
        return editor

    def _show(self, draft: Draft, first: int) -> None:
        for level in range(first, len(self._makers)):
            if level == len(self._makers) - _RAW_LEVELS:
                draft = self._as_json(draft)
                if not is_large(draft):
                    continue
            if level != self._level:
                self._exchange(self._make(level))
                self._level = level
            if self.editor.set_draft(draft):
                return

    def _as_json(self, draft: Draft) -> Draft:
        """What raw JSON can show of a draft: all of it, unless something inside cannot be sent."""
        if draft is ABSENT or isinstance(draft, Unreadable):
            return draft
        try:
            return finish(self.field, draft)
        except FormError as exc:
            return Unreadable("", str(exc))

    def _on_outgrown(self, draft: Draft) -> None:
        """The person wrote or pasted more than the editor holds, or asked to edit a long text."""
        had_focus = _has_focus(self.editor.widget)
        if isinstance(self.editor, LongTextEditor):
            self._edit_text(draft)
        elif isinstance(self.editor, LongJsonEditor):
            self._show(draft, len(self._makers) - 1)
        else:
            self.set_draft(draft)
        if had_focus:
            self.editor.set_focus()
        self._on_change()

    def _edit_text(self, draft: Draft) -> None:
        had_focus = _has_focus(self.editor.widget)
        editor = self._prepared(LinesEditor(self._kit.look, self.field, self._on_change, longest=None))
        if not isinstance(self.field, TextField) or not editor.set_draft(draft):
            self.set_raw(draft)
            return
        self._exchange(editor)
        self._level = -1
        if had_focus:
            editor.set_focus()

    def _exchange(self, editor: Editor) -> None:
        old = self.editor.widget
        editor.set_name(self._name)
        self._layout.replaceWidget(old, editor.widget)
        old.hide()
        old.deleteLater()  # it may be its own signal that we are answering
        self.editor = editor


def _has_focus(widget: QWidget) -> bool:
    focused = widget.window().focusWidget() if widget.isVisible() else None
    return focused is not None and (focused is widget or widget.isAncestorOf(focused))
