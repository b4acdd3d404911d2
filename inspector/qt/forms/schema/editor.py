"""Contract of all form editors: `Editor` and `EditorFactory`.

An editor shows a draft (`schema.drafts`) and returns it exactly, or rejects it. A rejected draft goes to
the field's next editor, down to raw JSON, which shows anything; so showing a value never loses data.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from PySide6.QtWidgets import QWidget

from inspector.base.json.text import write_line
from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.qt.widgets.text.labels import FormStyle, mark_error
from inspector.schema.fields import Field
from inspector.schema.values import ABSENT, Absent, Draft

OnChange = Callable[[], None]
Errors = Mapping[str, str]
"""Error texts by JSON pointer."""


class Editor:
    """Base class for the editor of one value: a widget and the draft in it.

    The `on_change` function given to it is called after each change by the user, not by `set_draft`.
    `on_outgrown` is set by an owner that can replace the editor: it is called with a pasted or typed draft
    that needs a larger editor, instead of showing it.
    """

    widget: QWidget
    on_outgrown: Callable[[Draft], None] | None = None
    stated: Collection[str] = ("set",)
    """The states that the widget itself tells: the row need not name them."""

    is_optional = False
    """True if the value can be not set: a cleared text then is, otherwise it is the empty string."""

    def set_optional(self, is_optional: bool) -> None:
        self.is_optional = is_optional

    def draft(self) -> Draft:
        raise NotImplementedError

    def set_draft(self, draft: Draft) -> bool:
        """Show a draft; return False if `draft()` could not return exactly this one."""
        raise NotImplementedError

    def open_unset(self) -> None:
        """Show the parts also while the value is not set."""

    def mark_touched(self) -> None:
        """From now on, also report missing values inside."""

    def show_errors(self, errors: Errors, pointer: str) -> None:
        """Mark the invalid places; `pointer` is this editor's own."""
        mark_error(self.widget, pointer in errors)

    def at(self, path: Sequence[str]) -> QWidget:
        """Return the widget at a path inside, or the nearest existing one."""
        return self.widget

    def set_name(self, name: str) -> None:
        """Set the accessible name."""
        self.widget.setAccessibleName(name)

    def set_focus(self) -> None:
        """Focus the first input."""
        self.widget.setFocus()


ALL_STATES = ("set", "not set", "null", "empty")
EditorMaker = Callable[[Field, OnChange], Editor]


class EditorFactory(Protocol):
    """Creates editors. Lists and objects get one, since their parts can be of any kind."""

    @property
    def style(self) -> FormStyle: ...

    @property
    def warnings(self) -> Mapping[str, str]:
        """Warnings shown beside the fields, by the names of the outermost members."""

    @property
    def takes_own_keys(self) -> bool:
        """True if keys that the schema allows but does not name can be added."""

    @property
    def depth(self) -> int:
        """The number of lists and objects around what is created."""

    @property
    def tag(self) -> str:
        """The discriminator of the enclosing union, which its variant picker sets; "" if none."""

    def tagged(self, tag: str) -> EditorFactory:
        """Return the factory for the variants of a union with this discriminator."""

    def nested(self) -> EditorFactory:
        """Return the factory for the content of a list or object."""

    def makers(self, field: Field) -> Sequence[EditorMaker]:
        """Return the possible editors of a field, best first; raw JSON, which takes anything, last."""

    def claim_row(self) -> bool:
        """Return whether another row may be created now instead of when it comes into view."""

    def reset_budget(self) -> None:
        """Reset the row budget, at the start of a turn of the event loop."""


def placeholder_text(field: Field, state: Absent | None) -> str:
    """Return the placeholder of an empty entry."""
    if state is None:
        return "null"
    if field.default is ABSENT:
        return "not set"
    return f"not set (default: {one_line(shorten(write_line(field.default), 60))})"
