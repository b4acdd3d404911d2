"""Edit dialog for one server of the server list. Nothing is written before Save."""

from __future__ import annotations

from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QDialog, QLineEdit, QWidget

from inspector.base.errors import ConfigError, UserError
from inspector.base.json.values import JSONObject
from inspector.base.plain_text import one_line
from inspector.config.servers.entries import Entry
from inspector.config.servers.entry_fields import merge_drafts
from inspector.config.servers.placeholders import Names, names_in
from inspector.config.servers.server_list import read_entry
from inspector.qt.bridge import Bridge
from inspector.qt.forms.server.server_form import ServerForm
from inspector.qt.theme import SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.text.labels import MutedLabel, PlainLabel

if TYPE_CHECKING:
    from inspector.engine.engine import Engine


class EditServerDialog(QDialog):
    """The editor of a server. `draft` is the server as saved.

    Signals:
        saved: The server was saved; carries its current name.
    """

    help_page = "servers"
    saved = Signal(str)

    def __init__(
        self,
        bridge: Bridge,
        name: str,
        draft: JSONObject,
        theme: Theme,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._bridge, self._server = bridge, name
        self._before = draft  # the version being edited; the file may have changed since
        self.setWindowTitle("Edit server")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(760, 560)
        self.name = QLineEdit(name)
        self.name.setAccessibleName("Name")
        self.form = ServerForm(name, draft, theme)
        self._is_edited = self._is_warned = False
        self._names = MutedLabel(theme, wrap=True)
        self._error = PlainLabel(theme, tone="error", wrap=True)
        self._error.hide()
        self.save_action = QAction("Save", self)
        self.cancel_action = QAction("Cancel", self)
        self._lay_out(theme)
        self.name.textEdited.connect(self._on_edited)
        self.form.edited.connect(self._on_edited)
        self.save_action.triggered.connect(self._on_save)
        self.cancel_action.triggered.connect(self.reject)
        self._show_names()

    def error_text(self) -> str:
        return "" if self._error.isHidden() else self._error.text()

    def _lay_out(self, theme: Theme) -> None:
        head = hbox(None, MutedLabel(theme, "Name"), (self.name, 1), self.form.transport_switch)
        save = ActionButton(self.save_action, "primary")
        save.setDefault(True)  # else Return in a field would press Cancel
        buttons = hbox(None, STRETCH, ActionButton(self.cancel_action), save, gap=-1)
        vbox(self, head, (self.form, 1), self._names, self._error, buttons, gap=SPACE_3, margin=SPACE_4)

    def reject(self) -> None:
        """Discard changes on Cancel or Esc only when pressed twice."""
        if self._is_edited and not self._is_warned:
            self._is_warned = True
            self._error.setText("You have unsaved changes. Save them, or cancel again to discard them.")
            self._error.show()
            return
        super().reject()

    def _on_edited(self) -> None:
        self._is_edited, self._is_warned = True, False
        self.save_action.setEnabled(True)
        self._error.hide()
        self._show_names()

    def _show_names(self) -> None:
        """Show the variables that are looked up on connect."""
        try:
            names = names_in(read_entry(self.name.text().strip(), self.form.draft))
        except ConfigError:
            names = Names()
        shown = one_line(", ".join(f"${{{name}}}" for name in names.shown))
        text = f"Resolved on connect: {shown}." if names else ""
        if names.inputs:
            text += " Set the values of inputs in Server ▸ Server secrets…"
        self._names.setText(text)
        self._names.setVisible(bool(names))

    def _on_save(self) -> None:
        name = self.name.text().strip()
        try:
            if not name:
                raise ConfigError("The server has no name.", "Enter a name.")
            entry = self.form.read(name)
        except ConfigError as exc:
            self._show_error(exc)
            return
        self._error.hide()
        self.save_action.setEnabled(False)  # a second Return must not write it twice
        self._bridge.start_when_attached("save server", self._write(entry))

    async def _write(self, entry: Entry) -> None:
        secrets, draft, before = self.form.secrets(), self.form.draft, self._before

        async def write(engine: Engine) -> None:
            """Merge into the current file: other windows and programs may change it during editing."""
            now = await engine.servers.draft(self._server)
            merged, conflicts = merge_drafts(before, draft, now)
            if conflicts:
                self._before = now  # the next save overwrites it
                raise ConfigError(
                    f"Changed elsewhere while you were editing: {one_line(', '.join(conflicts))}.",
                    "Save again to overwrite those changes, or cancel and edit again.",
                )
            await engine.servers.update(self._server, read_entry(entry.name, merged), secrets, merged)

        try:
            await self._bridge.ask(write)
        except (UserError, OSError) as exc:
            if not shiboken6.isValid(self):
                raise
            self._show_error(exc)
            return
        if shiboken6.isValid(self):  # it may have been closed meanwhile
            self.saved.emit(entry.name)
            self.accept()

    def _show_error(self, error: Exception) -> None:
        """Show an error below the pages and bring the page of its field to the front."""
        self.save_action.setEnabled(True)
        self._error.setText(str(error))
        self._error.show()
        self.form.go_to(str(error).partition(":")[0])
