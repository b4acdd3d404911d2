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

_RAW_LEVELS = 2  # the last editors of every field: for large JSON, and for any JSON


class Slot:
    """One value's place in a layout.

    Shows every draft, in the first of the field's editors that returns it exactly; the last one is raw
    JSON. `on_change` is called after each change by the user.
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
            self._level = len(self._makers) - 1  # about to be written, not large yet
        self.editor = self._make(self._level)
        layout.addWidget(self.editor.widget)

    @property
    def is_raw(self) -> bool:
        """True if the value is shown as JSON although the field has a dedicated editor."""
        return isinstance(self.editor, JsonEditor | LongJsonEditor) and not isinstance(self.field, JsonField)

    def set_name(self, name: str) -> None:
        """Set the accessible name, in whichever editor."""
        self._name = name
        self.editor.set_name(name)

    def draft(self) -> Draft:
        return self.editor.draft()

    def value_draft(self) -> Draft:
        """Return the draft as JSON for another field; raises FormError if it is not JSON."""
        return finish(self.field, self.editor.draft())

    def set_draft(self, draft: Draft) -> None:
        self._show(draft, 0)

    def set_raw(self, draft: Draft) -> None:
        """Show a draft, JSON only, as JSON text, whatever the field."""
        self._show(draft, len(self._makers) - _RAW_LEVELS)

    def set_rows(self) -> None:
        """Show a list of choices row by row, where items can be duplicated and moved."""
        self._show(self.editor.draft(), 1)

    def set_several_lines(self) -> None:
        """Switch a text to a multi-line editor without changing it."""
        self._edit_text(self.editor.draft())

    def set_field(self, field: Field) -> None:
        """Use another field for the same value; does nothing if the value is not JSON."""
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
        """Return the draft for raw JSON; `Unreadable` if a part of it cannot be sent."""
        if draft is ABSENT or isinstance(draft, Unreadable):
            return draft
        try:
            return finish(self.field, draft)
        except FormError as exc:
            return Unreadable("", str(exc))

    def _on_outgrown(self, draft: Draft) -> None:
        """Switch editors when the value outgrew the current one or a long text is to be edited."""
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
        old.deleteLater()  # this may run inside its own signal
        self.editor = editor


def _has_focus(widget: QWidget) -> bool:
    focused = widget.window().focusWidget() if widget.isVisible() else None
    return focused is not None and (focused is widget or widget.isAncestorOf(focused))
