"""How a URL is told who asks, in the simplest ways: a bearer token, or a key in a header."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from inspector.base.errors import ConfigError
from inspector.config.entries import Entry, StdioEntry
from inspector.config.entrysecrets import check_header, check_header_value, with_given, with_references
from inspector.qt.theme import SPACE_1, SPACE_2, Theme
from inspector.qt.widgets.labels import Muted

_NOTHING = "Nothing, or a login when it asks"
_BEARER = "Bearer token"
_API_KEY = "API key header"


class AccessFields(QWidget):
    """The fields for a server's authentication.

    Signals:
        changed: The choice or the text changed.
    """

    changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.access = QComboBox()
        self.access.addItems([_NOTHING, _BEARER, _API_KEY])
        self.access.setAccessibleName("Access")
        self.header = QLineEdit("X-API-Key")
        self.header.setAccessibleName("Name of the header")
        self.header.setFont(theme.mono_font())
        self.secret = QLineEdit()
        self.secret.setEchoMode(QLineEdit.EchoMode.Password)
        self._note = Muted(theme, "It goes into the secret store, not into the list of servers.", wrap=True)
        first = QHBoxLayout()
        first.setSpacing(SPACE_2)
        first.addWidget(Muted(theme, "Access"))
        first.addWidget(self.access)
        first.addWidget(self.header, 1)
        first.addWidget(self.secret, 2)
        first.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE_1)
        column.addLayout(first)
        column.addWidget(self._note)
        self.access.currentTextChanged.connect(self._on_chosen)
        self.header.textChanged.connect(self.changed)
        self.secret.textChanged.connect(self.changed)
        self._on_chosen()

    def with_secret(self, entry: Entry) -> tuple[Entry, dict[str, str]]:
        """Return the entry with a header that refers to the secret, and the secret by name.

        Raises ConfigError.
        """
        chosen = self.access.currentText()
        if isinstance(entry, StdioEntry) or chosen == _NOTHING:
            return entry, {}
        secret, is_key = self.secret.text().strip(), chosen == _API_KEY
        if not secret:
            raise ConfigError(
                f"The {'key' if is_key else 'token'} is empty.", f"Give it, or choose “{_NOTHING}”."
            )
        header = self.header.text().strip() if is_key else "Authorization"
        value = secret if is_key else f"Bearer {secret.removeprefix('Bearer ').strip()}"
        return with_references(with_given(entry, {check_header(header): check_header_value(value)}), [header])

    def _on_chosen(self) -> None:
        chosen = self.access.currentText()
        self.header.setVisible(chosen == _API_KEY)
        self.secret.setVisible(chosen != _NOTHING)
        self._note.setVisible(chosen != _NOTHING)
        self.secret.setPlaceholderText("the key" if chosen == _API_KEY else "the token, without “Bearer”")
        self.secret.setAccessibleName(chosen)
        self.changed.emit()
