"""The variables of a command, or the headers of a URL: names and values, some of which are secrets."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from inspector.base.jsonvalue import JSON, JSONObject
from inspector.base.redact import is_secret_name
from inspector.config.entryfields import EntryField
from inspector.config.secrets.names import make_name
from inspector.qt.forms.entryeditors import EntryEditor
from inspector.qt.theme import SPACE_1, SPACE_2, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.iconbutton import icon_button
from inspector.qt.widgets.labels import Muted

_STORED = "in the secret store; type here to replace it"
_NAME, _VALUE = 2, 3  # width ratio


@dataclass(frozen=True, slots=True)
class Given:
    """A row's state. `before` is the draft's reference, `value` what replaces it."""

    name: str
    value: str
    is_secret: bool
    before: JSONObject | None = None


class GivenEditor(EntryEditor):
    """An editor with one row per named value.

    A secret goes into the secret store under a name derived from `server`, and only that name into the
    draft.
    """

    def __init__(self, field: EntryField, server: str, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._server = server
        self._kind = "env" if field.member == "env" else "header"
        self.what = "variable" if field.member == "env" else "header"
        self.rows: list[GivenRow] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(SPACE_1)
        self.add_action = QAction(f"Add {self.what}", self)
        theme.dress(self.add_action, "plus")
        self.add_action.triggered.connect(self._on_add)
        self._none = Muted(theme, f"No {self.what}s.")
        self._column.addWidget(self._none)
        foot = QHBoxLayout()
        foot.addWidget(ActionButton(self.add_action))
        foot.addStretch(1)
        self._column.addLayout(foot)
        self._column.addStretch(1)

    def content(self) -> JSON:
        content: JSONObject = {}
        for given in self.given():
            content[given.name] = self._reference(given) if given.is_secret else given.value
        return content

    def secrets(self) -> dict[str, str]:
        """Return the secrets to store, by their names in the store."""
        written = [given for given in self.given() if given.is_secret and given.value]
        return {str(self._reference(given)["ref"]): given.value for given in written}

    def without_value(self) -> list[str]:
        """Return the secrets that have neither a typed nor a stored value."""
        return [each.name for each in self.given() if each.is_secret and not (each.value or each.before)]

    def emptied(self) -> list[str]:
        """Return the names that change from secret to plain text without a typed value."""
        return [each.name for each in self.given() if each.before and not each.is_secret and not each.value]

    def given(self) -> list[Given]:
        """Return the rows that have a name. Of two with the same name, the last one wins."""
        return [row.given() for row in self.rows if row.name.text().strip()]

    def show_content(self, content: JSON) -> bool:
        if not isinstance(content, dict) or not all(_is_given(value) for value in content.values()):
            return False
        if content != self.content():
            for row in [*self.rows]:
                self._take_out(row)
            for name, value in content.items():
                is_secret = isinstance(value, dict)
                before = value if isinstance(value, dict) else None
                self._add(Given(name, value if isinstance(value, str) else "", is_secret, before))
        return True

    def _reference(self, given: Given) -> JSONObject:
        return given.before or {"ref": make_name(self._kind, self._server, given.name)}

    def _add(self, given: Given) -> GivenRow:
        row = GivenRow(self._theme, self.what, given)
        self.rows.append(row)
        self._column.insertWidget(len(self.rows), row)
        row.changed.connect(self.changed)
        row.remove_action.triggered.connect(lambda: self._on_remove(row))
        self._none.hide()
        return row

    def _take_out(self, row: GivenRow) -> None:
        self.rows.remove(row)
        self._column.removeWidget(row)
        row.hide()
        row.deleteLater()
        self._none.setVisible(not self.rows)

    def _on_add(self) -> None:
        row = self._add(Given("", "", is_secret=False))
        row.show()
        row.name.setFocus()

    def _on_remove(self, row: GivenRow) -> None:
        place = self.rows.index(row)
        self._take_out(row)
        if self.rows:  # keep the focus among the rows
            self.rows[min(place, len(self.rows) - 1)].name.setFocus()
        self.changed.emit()


class GivenRow(QWidget):
    """A row of a `GivenEditor`.

    Signals:
        changed: The user changed something in it.
    """

    changed = Signal()

    def __init__(self, theme: Theme, what: str, given: Given) -> None:
        super().__init__()
        self._before = given.before
        self._is_chosen = given.is_secret or bool(given.name)
        self.name = QLineEdit(given.name, placeholderText="NAME" if what == "variable" else "Name")
        self.name.setFont(theme.mono_font())
        self.name.setAccessibleName(f"Name of the {what}")
        self.value = QLineEdit(given.value)
        self.value.setFont(theme.mono_font())
        self.value.setAccessibleName(f"Value of the {what}")
        self.secret_action = QAction("Keep in the secret store", self, checkable=True)
        self.secret_action.setChecked(given.is_secret)
        theme.dress(self.secret_action, "key")
        self.remove_action = QAction(f"Remove this {what}", self)
        theme.dress(self.remove_action, "trash")
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(SPACE_2)
        grid.addWidget(self.name, 0, 0)
        grid.addWidget(self.value, 0, 1)
        grid.addWidget(icon_button(self.secret_action), 0, 2)
        grid.addWidget(icon_button(self.remove_action), 0, 3)
        grid.setColumnStretch(0, _NAME)
        grid.setColumnStretch(1, _VALUE)
        self.name.textEdited.connect(self._on_named)
        self.value.textEdited.connect(self.changed)
        self.secret_action.triggered.connect(self._on_secret)
        self._show_secrecy()

    def given(self) -> Given:
        name = self.name.text().strip()
        return Given(name, self.value.text(), self.secret_action.isChecked(), self._before)

    def _on_named(self, name: str) -> None:
        """Treat a new row named like a secret as one, unless the user chose otherwise."""
        if not self._is_chosen:
            self.secret_action.setChecked(is_secret_name(name.strip()))
            self._show_secrecy()
        self.changed.emit()

    def _on_secret(self) -> None:
        self._is_chosen = True
        self._show_secrecy()
        self.changed.emit()

    def _show_secrecy(self) -> None:
        is_secret = self.secret_action.isChecked()
        mode = QLineEdit.EchoMode.Password if is_secret else QLineEdit.EchoMode.Normal
        self.value.setEchoMode(mode)
        is_stored = is_secret and self._before is not None
        self.value.setPlaceholderText(_STORED if is_stored else "value")


def _is_given(value: JSON) -> bool:
    return (isinstance(value, str) and value.isprintable()) or (
        isinstance(value, dict) and isinstance(value.get("ref"), str)
    )
