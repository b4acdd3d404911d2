"""Which variables the arguments use, and what they stand for: a line below the form."""

from __future__ import annotations

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QWidget

from inspector.base.jsonvalue import JSONObject, excerpt, shorten
from inspector.base.plaintext import one_line
from inspector.base.redact import MASK, secrecy
from inspector.config.variables import Variables, names_in
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.labels import PlainLabel

_MOST_SHOWN = 6
_LONGEST = 30
_ENVIRONMENT = "env:"


class VariablesLine(QWidget):
    """Hidden while the arguments use none."""

    def __init__(self, theme: Theme, edit: QAction, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = PlainLabel(theme, wrap=True, tone="muted")
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE_3, SPACE_1, SPACE_2, SPACE_1)
        row.setSpacing(SPACE_2)
        row.addWidget(self._words, 1)
        row.addWidget(ActionButton(edit, "quiet"))
        self.hide()

    def show_used(self, arguments: JSONObject, variables: Variables) -> None:
        names = names_in(arguments)
        self.setVisible(bool(names))
        self._words.setText("   ".join(_stands_for(name, variables) for name in names[:_MOST_SHOWN]))
        is_unknown = any(not _is_known(name, variables) for name in names)
        self._words.set_tone("warn" if is_unknown else "muted")

    def words(self) -> str:
        return "" if self.isHidden() else self._words.text()


def _is_known(name: str, variables: Variables) -> bool:
    if name.startswith(_ENVIRONMENT):
        return name.removeprefix(_ENVIRONMENT) in variables.environment
    return name in variables.values


def _stands_for(name: str, variables: Variables) -> str:
    shown = f"${{{shorten(name, 40)}}}"
    if not _is_known(name, variables):
        return f"{shown} has no value"
    bare = name.removeprefix(_ENVIRONMENT)
    # What comes from the environment is a secret more often than not; the name is enough to go by.
    if name.startswith(_ENVIRONMENT) or secrecy(bare):
        return f"{shown} = {MASK}"
    return f"{shown} = {one_line(excerpt(variables.values[name], _LONGEST))}"
