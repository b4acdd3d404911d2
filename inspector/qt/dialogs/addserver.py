"""Add a server: one line for a command or a URL, and a name that is suggested from it."""

from __future__ import annotations

import shiboken6
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QDialog, QFormLayout, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from inspector.base.errors import ConfigError, UserError
from inspector.config.entries import Entry, entry_from_text
from inspector.qt.bridge import Bridge
from inspector.qt.theme import SPACE_2, SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.labels import Heading, Muted, PlainLabel


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
        self._summary = Muted(theme, wrap=True)
        self._error = PlainLabel(theme, tone="error", wrap=True)
        self.add_action = QAction("Add and connect", self)
        self._cancel_action = QAction("Cancel", self)
        self._lay_out(theme)
        self.address.textChanged.connect(self._on_changed)
        self.name.textChanged.connect(self._on_changed)
        self.add_action.triggered.connect(self._on_add)
        self._cancel_action.triggered.connect(self.reject)
        self._on_changed()

    def error_text(self) -> str:
        return self._error.text()

    def _lay_out(self, theme: Theme) -> None:
        form = QFormLayout()
        form.setHorizontalSpacing(SPACE_3)
        form.setVerticalSpacing(SPACE_2)
        form.addRow(Muted(theme, "Command or URL"), self.address)
        form.addRow(Muted(theme, "Name"), self.name)
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
            self._summary.setText("A command is started without a shell; a URL may be http(s) or ws(s).")
            self.name.setPlaceholderText("suggested from the command")
            return
        what = "starts the command" if entry.transport == "stdio" else "connects to the URL"
        self._summary.setText(f"This {what} as server “{self.name.text().strip() or entry.name}”.")
        self.name.setPlaceholderText(entry.name)

    def _on_add(self) -> None:
        try:
            entry = entry_from_text(self.address.text(), self.name.text().strip())
        except ConfigError as exc:
            self._show_error(exc)
            return
        self.add_action.setEnabled(False)  # a second Return must not add it twice
        self._bridge.start_when_attached("add server", self._add(entry))

    async def _add(self, entry: Entry) -> None:
        try:
            view = await self._bridge.save_server(entry)
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
