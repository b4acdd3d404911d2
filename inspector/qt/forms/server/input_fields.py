"""Input fields for new servers: credentials, `${input:id}` values, and the paste box.

Credentials are a bearer token or an API key header. Callers store all values as secrets.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QTextOption
from PySide6.QtWidgets import QComboBox, QLineEdit, QWidget

from inspector.base.errors import ConfigError
from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.config.foreign.discovery import InputSpec
from inspector.config.servers.entries import Entry, StdioEntry
from inspector.config.servers.entry_secrets import (
    check_header,
    check_header_value,
    with_named_values,
    with_references,
)
from inspector.qt.theme import SPACE_1, Theme
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel
from inspector.qt.widgets.text.text_box import CONTINUATION_MARK, TextBox

_NO_CREDENTIALS = "None, or log in when required"
_BEARER = "Bearer token"
_API_KEY = "API key header"
_EXAMPLE_COMMAND = "npx -y @modelcontextprotocol/server-everything"


class CredentialFields(QWidget):
    """The fields for a server's authentication.

    Signals:
        changed: The choice or the text changed.
    """

    changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.method = QComboBox()
        self.method.addItems([_NO_CREDENTIALS, _BEARER, _API_KEY])
        self.method.setAccessibleName("Authentication")
        self.header = QLineEdit("X-API-Key")
        self.header.setAccessibleName("Header name")
        self.header.setFont(theme.mono_font())
        self.secret = QLineEdit()
        self.secret.setEchoMode(QLineEdit.EchoMode.Password)
        self._note = MutedLabel(theme, "Saved in the secret store, not in the server list.", wrap=True)
        first = hbox(
            None,
            MutedLabel(theme, "Authentication"),
            self.method,
            (self.header, 1),
            (self.secret, 2),
            STRETCH,
        )
        vbox(self, first, self._note, gap=SPACE_1)
        self.method.currentTextChanged.connect(self._on_chosen)
        self.header.textChanged.connect(self.changed)
        self.secret.textChanged.connect(self.changed)
        self._on_chosen()

    def with_secret(self, entry: Entry) -> tuple[Entry, dict[str, str]]:
        """Return the entry with a header that refers to the secret, and the secret by name.

        Raises ConfigError.
        """
        chosen = self.method.currentText()
        if isinstance(entry, StdioEntry) or chosen == _NO_CREDENTIALS:
            return entry, {}
        secret, is_key = self.secret.text().strip(), chosen == _API_KEY
        if not secret:
            raise ConfigError(
                f"The {'key' if is_key else 'token'} is empty.", f"Enter it, or choose “{_NO_CREDENTIALS}”."
            )
        header = self.header.text().strip() if is_key else "Authorization"
        value = secret if is_key else f"Bearer {secret.removeprefix('Bearer ').strip()}"
        return with_references(
            with_named_values(entry, {check_header(header): check_header_value(value)}), [header]
        )

    def _on_chosen(self) -> None:
        chosen = self.method.currentText()
        self.header.setVisible(chosen == _API_KEY)
        self.secret.setVisible(chosen != _NO_CREDENTIALS)
        self._note.setVisible(chosen != _NO_CREDENTIALS)
        self.secret.setPlaceholderText("API key" if chosen == _API_KEY else "Token, without “Bearer”")
        self.secret.setAccessibleName(chosen)
        self.changed.emit()


class InputFields(QWidget):
    """Input fields; `fields` maps input ids to them. The caller stores the values as secrets."""

    def __init__(self, theme: Theme, inputs: Sequence[InputSpec], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.fields: dict[str, QLineEdit | QComboBox] = {}
        self._options: dict[str, tuple[str, ...]] = {}
        column = vbox(self, Heading(theme, "Input values"))
        for spec in inputs:
            field = self.fields[spec.id] = self._make(spec)
            inner = vbox(
                None,
                PlainLabel(theme, shorten(one_line(spec.description or spec.id), 1_000), wrap=True),
                field,
                gap=SPACE_1,
            )
            column.addLayout(inner)
        column.addWidget(MutedLabel(theme, "Saved in the secret store.", wrap=True))

    def values(self) -> dict[str, str]:
        """Return what was typed or chosen, by input id."""
        return {id: text for id in self.fields if (text := self._text(id))}

    def _text(self, id: str) -> str:
        field = self.fields[id]
        if isinstance(field, QComboBox):  # its label may differ from the option's exact text
            return self._options[id][field.currentIndex()] if field.currentIndex() >= 0 else ""
        return field.text()

    def _make(self, spec: InputSpec) -> QLineEdit | QComboBox:
        if spec.options:
            self._options[spec.id] = spec.options
            choice = QComboBox()
            choice.addItems([one_line(option) for option in spec.options])
            choice.setCurrentText(one_line(spec.default))
            choice.setAccessibleName(one_line(spec.id))
            return choice
        line = QLineEdit(spec.default)
        line.setAccessibleName(one_line(spec.id))
        if spec.is_password:
            line.setEchoMode(QLineEdit.EchoMode.Password)
        return line


class PasteBox(TextBox):
    """A text box for pasting.

    Return finishes a single line; in several lines it adds one, and Ctrl+Return finishes. Drops are left to
    the parent, which knows how to handle files.

    Signals:
        entered: The user finished the input.
    """

    entered = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None, *, lines: tuple[int, int]) -> None:
        super().__init__(theme.mono_font(), parent, lines=lines)
        self.setPlaceholderText(_EXAMPLE_COMMAND)
        self.setAccessibleName("Command, URL or configuration")
        self.setAcceptDrops(False)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def put(self, text: str) -> None:
        """Set the text as if it had been pasted."""
        self.set_text(text.replace("\r\n", "\n").replace(CONTINUATION_MARK, ""))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_return = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        is_forced = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        wants_line = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if is_return and not wants_line and (is_forced or "\n" not in self.text().strip()):
            event.accept()
            self.entered.emit()
        else:
            super().keyPressEvent(event)
