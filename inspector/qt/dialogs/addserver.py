"""Add a server: one line for a command or a URL, and a name that is suggested from it."""

from __future__ import annotations

import shiboken6
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QComboBox, QDialog, QFormLayout, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from inspector.base.errors import ConfigError, UserError
from inspector.config.entries import Entry, StdioEntry, entry_from_text
from inspector.config.entrysecrets import check_header, check_header_value, with_given, with_references
from inspector.qt.bridge import Bridge
from inspector.qt.theme import SPACE_2, SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.labels import Heading, Muted, PlainLabel

_NOTHING = "Nothing, or a login when it asks"
_BEARER = "Bearer token"
_API_KEY = "API key header"


class AddServerDialog(QDialog):
    """Signals:
    added: The server is in the list and being connected; carries its name.
    """

    added = Signal(str)

    def __init__(self, bridge: Bridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self.setWindowTitle("Add server")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(560)
        self.address = QLineEdit(placeholderText="npx -y @modelcontextprotocol/server-everything")
        self.address.setFont(theme.mono_font())
        self.address.setAccessibleName("Command or URL")
        self.name = QLineEdit(placeholderText="suggested from the command")
        self.name.setAccessibleName("Name")
        self._form = QFormLayout()
        self.access = QComboBox()
        self.access.addItems([_NOTHING, _BEARER, _API_KEY])
        self.access.setAccessibleName("Access")
        self.header = QLineEdit("X-API-Key")
        self.header.setAccessibleName("Name of the header")
        self.header.setFont(theme.mono_font())
        self.secret = QLineEdit()
        self.secret.setEchoMode(QLineEdit.EchoMode.Password)
        self._secret_row = self._make_secret_row()
        self._summary = Muted(theme, wrap=True)
        self._error = PlainLabel(theme, tone="error", wrap=True)
        self.add_action = QAction("Add and connect", self)
        self._cancel_action = QAction("Cancel", self)
        self._lay_out(theme)
        self.address.textChanged.connect(self._on_changed)
        self.name.textChanged.connect(self._on_changed)
        self.access.currentTextChanged.connect(self._on_changed)
        self.header.textChanged.connect(self._on_changed)
        self.secret.textChanged.connect(self._on_changed)
        self.add_action.triggered.connect(self._on_add)
        self._cancel_action.triggered.connect(self.reject)
        self._on_changed()

    def error_text(self) -> str:
        return self._error.text()

    def _make_secret_row(self) -> QWidget:
        holder = QWidget()
        row = QHBoxLayout(holder)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_2)
        row.addWidget(self.header, 1)
        row.addWidget(self.secret, 2)
        return holder

    def _lay_out(self, theme: Theme) -> None:
        form = self._form
        form.setHorizontalSpacing(SPACE_3)
        form.setVerticalSpacing(SPACE_2)
        form.addRow(Muted(theme, "Command or URL"), self.address)
        form.addRow(Muted(theme, "Name"), self.name)
        form.addRow(Muted(theme, "Access"), self.access)
        form.addRow(Muted(theme, "Secret"), self._secret_row)
        buttons = QHBoxLayout()
        add_button = ActionButton(self.add_action, "primary")
        add_button.setDefault(True)  # else Return in a field would press the first button there is: Cancel
        buttons.addStretch(1)
        buttons.addWidget(ActionButton(self._cancel_action))
        buttons.addWidget(add_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_4, SPACE_4, SPACE_4, SPACE_4)
        column.setSpacing(SPACE_3)
        column.addWidget(Heading(theme, "Add a server"))
        column.addLayout(form)
        column.addWidget(self._summary)
        column.addWidget(self._error)
        column.addStretch(1)
        column.addLayout(buttons)

    def _on_changed(self) -> None:
        text = self.address.text()
        self._error.setText("")
        self._error.hide()
        self.add_action.setEnabled(bool(text.strip()))
        try:
            entry = entry_from_text(text)
        except ConfigError:
            self._show_access(is_url=False)
            self._summary.setText("A command is started without a shell; a URL may be http(s) or ws(s).")
            self.name.setPlaceholderText("suggested from the command")
            return
        self._show_access(is_url=not isinstance(entry, StdioEntry))
        what = "starts the command" if entry.transport == "stdio" else "connects to the URL"
        words = f"This {what} as server “{self.name.text().strip() or entry.name}”."
        if self.secret.isVisibleTo(self):
            words += " The secret goes into the secret store, not into the list of servers."
        self._summary.setText(words)
        self._make_room()
        self.name.setPlaceholderText(entry.name)

    def _show_access(self, *, is_url: bool) -> None:
        """Only a URL has headers."""
        chosen = self.access.currentText()
        self._form.setRowVisible(self.access, is_url)
        self._form.setRowVisible(self._secret_row, is_url and chosen != _NOTHING)
        self.header.setVisible(chosen == _API_KEY)
        self.secret.setPlaceholderText("the key" if chosen == _API_KEY else "the token, without “Bearer”")
        self.secret.setAccessibleName(chosen)

    def _make_room(self) -> None:
        """Lines that came or wrapped are not cut off."""
        layout = self.layout()
        if layout is not None:
            layout.activate()
            needed = max(layout.totalHeightForWidth(self.width()), layout.totalMinimumSize().height())
            self.resize(self.width(), max(self.height(), needed))

    def _with_secret(self, entry: Entry) -> tuple[Entry, dict[str, str]]:
        """The server with a header that refers to the secret, and that by its name. Raises ConfigError."""
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

    def _on_add(self) -> None:
        try:
            entry = entry_from_text(self.address.text(), self.name.text().strip())
            entry, secrets = self._with_secret(entry)
        except ConfigError as exc:
            self._show_error(exc)
            return
        self.add_action.setEnabled(False)  # a second Return must not add it twice
        self._bridge.start_when_attached("add server", self._add(entry, secrets))

    async def _add(self, entry: Entry, secrets: dict[str, str]) -> None:
        try:
            view = await self._bridge.save_server(entry, secrets)
        except (UserError, OSError) as exc:
            if not shiboken6.isValid(self):
                raise
            self._show_error(exc)
            return
        self._bridge.connect_server(view.name)
        if shiboken6.isValid(self):  # the person may have closed it meanwhile
            self.added.emit(view.name)
            self.accept()

    def _show_error(self, error: Exception) -> None:
        self.add_action.setEnabled(True)
        self._error.setText(str(error))
        self._error.show()
        self._make_room()
