"""Form for the app's own values, such as settings: labels and controls, no types and no states.

`SchemaForm` shows what a server's schema says, and lets the user send or omit anything. Here MCP Lens defines
the fields, and a default is not written. Both use the same field types and editor interface.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QWidget

from inspector.base.json.text import same
from inspector.base.json.values import JSON, JSONObject, member_of, with_member, without_member
from inspector.qt.forms.schema.plain_editors import Hint, PlainEditor, PlainSwitch, Row, make_editor
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_4, Theme
from inspector.qt.widgets.layout import hbox, vbox
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel
from inspector.schema.fields import ABSENT, Absent, Field
from inspector.schema.values import Draft, Unreadable

_JSON_ONLY = "Contains values that can only be edited on the JSON page."
_E = TypeVar("_E", bound=PlainEditor)


class PlainForm(QWidget):
    """A row for each member of an object, and the value they hold.

    A member `network.proxy` is the member `proxy` of the object `network`. The value keeps members without a
    row and everything the user did not change; what the user sets to its field's default is left out. A row
    that is hidden keeps what was typed. Labels are `label_width` wide and beside the controls, or above them
    if it is 0.

    Signals:
        value_changed: The user changed something; not emitted by `set_value`.
        editing_finished: The user finished a change: chose something, or left a line.
    """

    value_changed = Signal()
    editing_finished = Signal()

    def __init__(self, theme: Theme, fields: Mapping[str, Row], *, label_width: int = 0) -> None:
        super().__init__()
        self._theme = theme
        self._label_width = label_width
        self._page = ""
        self._value: JSONObject = {}
        self._is_setting = False
        self._parts: dict[str, _Part] = {}
        self._headings: dict[str, Heading] = {}
        self._column = vbox(self, gap=SPACE_2 if label_width else SPACE_4)
        for name, (field, hint) in fields.items():
            self._add(name, field, hint)
        # Tall rows take the free space, if there are any.
        self._column.addStretch(0 if any(part.editor.is_tall for part in self._parts.values()) else 1)
        self.set_value({})

    def value(self) -> JSONObject:
        """Return the value; a member that cannot be read has its previous value."""
        value = self._value
        for name, part in self._parts.items():
            draft = part.editor.draft()
            if not isinstance(draft, Unreadable) and not _is_same(draft, part.shown):
                value = self.with_content(value, name, draft)
        return value

    def problem(self) -> str:
        """Return why a member in the form cannot be read, "" if all can."""
        drafts = (part.editor.draft() for part in self._parts.values() if part.is_shown)
        return next((draft.problem for draft in drafts if isinstance(draft, Unreadable)), "")

    def set_value(self, value: JSONObject) -> None:
        """Show a value."""
        self._value, self._is_setting = value, True
        for name, part in self._parts.items():
            part.show_value(self.content_of(value, name))
        self._is_setting = False
        self._show_parts()

    def content_of(self, value: JSONObject, name: str) -> JSON | Absent:
        """Return what a row shows."""
        return member_of(value, name, self._parts[name].field.default)

    def with_content(self, value: JSONObject, name: str, content: Draft) -> JSONObject:
        """Return the value with what was entered in a row."""
        if content is ABSENT or content == self._parts[name].field.default:
            return without_member(value, name)
        return with_member(value, name, content)  # type: ignore[arg-type]  # the drafts of editors are JSON

    def editor(self, name: str, kind: type[_E]) -> _E:
        """Return the editor of a member, which is of this kind."""
        editor = self._parts[name].editor
        assert isinstance(editor, kind)
        return editor

    def is_shown(self, name: str) -> bool:
        """Return whether a member applies to the value, on whichever page."""
        return self._parts[name].is_shown

    def add_widget(self, name: str, widget: QWidget, *, at_end: bool = False) -> None:
        """Add a widget, such as a button, after a member's control or at the end of the row."""
        self._parts[name].row.add(widget, at_end=at_end)

    def help_text(self, name: str) -> str:
        """Return the text below a member."""
        return self._parts[name].row.help_text()

    def set_help(self, name: str, text: str) -> None:
        """Replace the text below a member."""
        self._parts[name].row.set_help(text)

    def show_page(self, page: str) -> None:
        """Show only the members of a page."""
        self._page = page
        self._show_parts()

    def finish(self) -> None:
        """Apply what is being typed."""
        for part in self._parts.values():
            part.editor.finish()

    def _add(self, name: str, field: Field, hint: Hint) -> None:
        if hint.group and hint.group not in self._headings:
            self._headings[hint.group] = Heading(self._theme, hint.group)
            self._headings[hint.group].setContentsMargins(0, SPACE_1, 0, 0)
            self._column.addWidget(self._headings[hint.group])
        group = hint.group or next(reversed(self._headings), "")
        editor = make_editor(self._theme, field, hint, self._on_changed)
        editor.on_finished = self._on_finished
        widget: QWidget | None = None
        if hint.beside:
            row, widget = next(reversed(self._parts.values())).row, editor.widget
            if hint.text:
                widget = QWidget()
                hbox(widget, MutedLabel(self._theme, hint.text), editor.widget)
            row.add(widget, stretch=1 if editor.is_wide else 0)
        else:
            row = PlainRow(self._theme, field, editor, self._label_width)
            self._column.addWidget(row, 1 if editor.is_tall else 0)
        self._parts[name] = _Part(field, hint, editor, row, widget or row, group)

    def _on_changed(self) -> None:
        if not self._is_setting:
            self._show_parts()
            self.value_changed.emit()

    def _on_finished(self) -> None:
        if not self._is_setting:
            self.editing_finished.emit()

    def _show_parts(self) -> None:
        """Show the rows that apply to the value and are on the current page."""
        value = self.value()
        groups: set[str] = set()
        for part in self._parts.values():
            part.is_shown = part.hint.shown_if is None or part.hint.shown_if(value)
            is_visible = part.is_shown and part.hint.page in ("", self._page)
            part.widget.setVisible(is_visible)
            if is_visible:
                groups.add(part.group)
        for group, heading in self._headings.items():
            heading.setVisible(group in groups)


class _Part:
    """A member with its editor, in a row that it may share."""

    def __init__(
        self, field: Field, hint: Hint, editor: PlainEditor, row: PlainRow, widget: QWidget, group: str
    ) -> None:
        self.field, self.hint, self.editor, self.row, self.widget = field, hint, editor, row, widget
        self.group = group
        self.is_shown = True
        self.shown: Draft = ABSENT  # the draft of the value as set

    def show_value(self, value: JSON | Absent) -> None:
        can_show = self.editor.set_draft(value)
        self.row.show_as_json_only(not can_show)
        self.shown = self.editor.draft()


class PlainRow(QWidget):
    """A label, controls, and a text below them."""

    def __init__(self, theme: Theme, field: Field, editor: PlainEditor, label_width: int) -> None:
        super().__init__()
        self._theme = theme
        self._editor = editor
        self._last = editor.widget  # in the row
        self._help: MutedLabel | None = None
        self._json_only: MutedLabel | None = None
        self._line = hbox(None, (editor.widget, 1 if editor.is_wide else 0))
        if not editor.is_wide:
            self._line.addStretch(1)
        title = "" if isinstance(editor, PlainSwitch) else field.title  # a check box has its own
        self._texts = vbox(None, gap=SPACE_1)
        if label_width:
            grid = QGridLayout(self)
            grid.setContentsMargins(0, 0, 0, 0)
            grid.setHorizontalSpacing(SPACE_4)
            grid.setVerticalSpacing(SPACE_1)
            grid.setColumnMinimumWidth(0, label_width)
            grid.setColumnStretch(1, 1)
            top = Qt.AlignmentFlag.AlignTop if editor.is_tall else Qt.AlignmentFlag.AlignVCenter
            grid.addWidget(MutedLabel(theme, title), 0, 0, top)
            grid.addLayout(self._line, 0, 1)
            grid.addLayout(self._texts, 1, 1)
        else:
            label = PlainLabel(theme, title) if title else None
            vbox(self, label, self._line, self._texts, gap=SPACE_1)
        self.set_help(field.description)

    def add(self, widget: QWidget, *, stretch: int = 0, at_end: bool = False) -> None:
        """Add a widget; unless `at_end`, before the free space beside narrow controls."""
        has_space = not self._editor.is_wide and not at_end
        self._line.insertWidget(self._line.count() - has_space, widget, stretch)
        QWidget.setTabOrder(self._last, widget)
        self._last = widget
        if stretch and not self._editor.is_wide:
            self._line.setStretch(self._line.count() - 1, 0)

    def set_help(self, text: str) -> None:
        if self._help is None and text:
            self._help = MutedLabel(self._theme, wrap=True)
            self._texts.addWidget(self._help)
        if self._help is not None:
            self._help.setText(text)
            self._help.setVisible(bool(text))

    def help_text(self) -> str:
        return self._help.text() if self._help is not None else ""

    def show_as_json_only(self, is_json_only: bool) -> None:
        if self._json_only is None and is_json_only:
            self._json_only = MutedLabel(self._theme, _JSON_ONLY, wrap=True)
            self._texts.insertWidget(0, self._json_only)
        if self._json_only is not None:
            self._json_only.setVisible(is_json_only)
            self._editor.widget.setVisible(not is_json_only)


def _is_same(one: Draft, other: Draft) -> bool:
    """Return whether two drafts are the same JSON; 1 and true are not."""
    if one is ABSENT or other is ABSENT:
        return one is other
    return same(one, other)  # type: ignore[arg-type]  # the drafts of editors are JSON
