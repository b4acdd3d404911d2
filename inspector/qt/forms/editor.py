"""The contract that all editors of a form keep.

An editor shows a draft (`schema.drafts`) and gives it back exactly, or refuses it: its slot then takes the
next editor, down to raw JSON, which shows anything. So nothing is lost by being shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from PySide6.QtWidgets import QWidget

from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line
from inspector.qt.forms.look import Look, mark_error
from inspector.schema.fields import Field
from inspector.schema.jsontext import write_line
from inspector.schema.values import ABSENT, Absent, Draft

OnChange = Callable[[], None]
Problems = Mapping[str, str]
"""Error texts by JSON pointer."""


class Editor:
    """What edits one value: a widget, and the draft in it.

    Its maker hands it a function that it calls after each change by the person, not by `set_draft`.
    `on_outgrown` is set by whoever can exchange the editor: it is called, instead of showing it, with a draft
    that the person pasted or typed and that needs a larger editor.
    """

    widget: QWidget
    on_outgrown: Callable[[Draft], None] | None = None

    def draft(self) -> Draft:
        raise NotImplementedError

    def set_draft(self, draft: Draft) -> bool:
        """Show a draft; False when `draft()` could not give exactly this one back."""
        raise NotImplementedError

    def mark_touched(self) -> None:
        """From now on, say also what is missing inside."""

    def show_problems(self, problems: Problems, pointer: str) -> None:
        """Mark the places that are wrong; `pointer` is where this editor stands."""
        mark_error(self.widget, pointer in problems)

    def at(self, path: Sequence[str]) -> QWidget:
        """The widget of a place inside, by the parts of its pointer; the nearest one there is."""
        return self.widget

    def set_name(self, name: str) -> None:
        """What a screen reader calls the value that is edited."""
        self.widget.setAccessibleName(name)

    def set_focus(self) -> None:
        """Take the keyboard where the person would begin to write."""
        self.widget.setFocus()


EditorMaker = Callable[[Field, OnChange], Editor]


class Kit(Protocol):
    """What makes editors. Lists and objects are given it, since their parts may be of any kind."""

    @property
    def look(self) -> Look: ...

    @property
    def warnings(self) -> Mapping[str, str]:
        """What the person is to know before they write: sentences by the names of the outermost members."""

    @property
    def depth(self) -> int:
        """How many levels of lists and objects stand around what is made."""

    def deeper(self) -> Kit:
        """The kit for what is inside a list or an object."""

    def makers(self, field: Field) -> Sequence[EditorMaker]:
        """The editors that a field can have, best first; raw JSON, which takes everything, comes last."""

    def may_make_now(self) -> bool:
        """Whether one more row may be made at once; else it waits until it comes into view."""

    def renew(self) -> None:
        """A new turn of the window's loop has begun: rows may be made again."""


def unwritten_words(field: Field, state: Absent | None) -> str:
    """What an entry says while nothing is written in it."""
    if state is None:
        return "null"
    if field.default is ABSENT:
        return "not set"
    return f"not set (default: {one_line(shorten(write_line(field.default), 60))})"
