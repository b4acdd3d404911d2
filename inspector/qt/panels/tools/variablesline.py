"""Which variables a call uses, and what they stand for: a line below the form."""

from __future__ import annotations

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QWidget

from inspector.base.jsonvalue import JSON, excerpt, shorten
from inspector.base.plaintext import one_line
from inspector.base.redact import MASK
from inspector.config.variables import Variables, expand, is_known, is_secret, names_in
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.labels import PlainLabel
from inspector.schema.standins import Meaning, Resolve

_MOST_SHOWN = 6
_LONGEST = 30


class VariablesLine(QWidget):
    """The variables that a call uses. Hidden if there are none."""

    def __init__(self, theme: Theme, edit: QAction, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.has_unknown = False
        self._words = PlainLabel(theme, wrap=True, tone="muted")
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE_3, SPACE_1, SPACE_2, SPACE_1)
        row.setSpacing(SPACE_2)
        row.addWidget(self._words, 1)
        row.addWidget(ActionButton(edit, "quiet"))
        self.hide()

    def show_used(self, written: JSON, variables: Variables) -> None:
        names = names_in(written)
        self.setVisible(bool(names))
        self._words.setText("   ".join(_stands_for(name, variables) for name in names[:_MOST_SHOWN]))
        self.has_unknown = any(not is_known(name, variables) for name in names)
        self._words.set_tone("warn" if self.has_unknown else "muted")

    def words(self) -> str:
        return "" if self.isHidden() else self._words.text()


def resolver(variables: Variables) -> Resolve:
    """Return the function that resolves variables in an argument, for a form."""

    def resolve(text: str) -> Meaning:
        names = names_in(text)
        unknown = [name for name in names if not is_known(name, variables)]
        if unknown:
            named = ", ".join(_shown(name) for name in unknown[:_MOST_SHOWN])
            verb = "has" if len(unknown) == 1 else "have"
            return Meaning(problem=f"{named} {verb} no value: give it one under Variables")
        return Meaning(expand(text, variables), is_secret=any(is_secret(name) for name in names))

    return resolve


def _shown(name: str) -> str:
    return f"${{{shorten(name, 40)}}}"


def _stands_for(name: str, variables: Variables) -> str:
    if not is_known(name, variables):
        return f"{_shown(name)} has no value"
    if is_secret(name):  # show only the name
        return f"{_shown(name)} = {MASK}"
    return f"{_shown(name)} = {one_line(excerpt(variables.values[name], _LONGEST))}"
