"""Add servers dialog: an input for text, links and files, and the servers found in it.

Nothing is started before it is added. Servers from a link or a file are added only by the button, after
review, and not by Return in the input.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QDialog, QFileDialog, QLineEdit, QWidget

from inspector.base.errors import ConfigError, UserError
from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.config.foreign.discovery import DiscoveredServer
from inspector.config.foreign.paste import is_link, read_pasted
from inspector.config.servers.entries import Entry, HttpEntry, StdioEntry
from inspector.qt.bridge import Bridge
from inspector.qt.forms.server.input_fields import CredentialFields, PasteBox
from inspector.qt.forms.server.pasted_servers import PastedList, PastedServer, dropped_config_files
from inspector.qt.models.discovered_servers import short_path
from inspector.qt.theme import SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel

if TYPE_CHECKING:
    from inspector.engine.engine import Engine

_HINT = (
    "A command, a URL, an MCP client configuration or a fragment of it, “claude mcp add …”, or an "
    "install link. Commands run without a shell."
)
_REVIEW_HINT = "Review it before you add it: a command runs on this machine with your permissions."
_MAX_IMMEDIATE = 20_000  # characters parsed while typing; longer text is parsed in the background
_MIN_LIST, _MAX_HEIGHT = 120, 760


class AddServerDialog(QDialog):
    """The dialog for adding servers: an input box and the servers found in it.

    `taken` returns the existing names. Servers from a link or a file are not added by Return in the box:
    the user has to review them and press the button.

    Signals:
        added: The servers were added to the list; carries the name of the first.
    """

    help_page = "servers"
    added = Signal(str)

    def __init__(
        self,
        bridge: Bridge,
        theme: Theme,
        parent: QWidget | None = None,
        *,
        taken: Callable[[], Collection[str]] = tuple,
    ) -> None:
        super().__init__(parent)
        self._bridge, self._theme, self._taken = bridge, theme, taken
        self._file: Path | None = None
        self._problem: ConfigError | None = None
        self._found: tuple[DiscoveredServer, ...] = ()
        self._is_busy = False
        self.setWindowTitle("Add server")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAcceptDrops(True)
        self.address = PasteBox(theme, lines=(3, 8))
        self.fields = CredentialFields(theme)
        self.method, self.header, self.secret = self.fields.method, self.fields.header, self.fields.secret
        self.alert = Alert(theme)
        self._summary = MutedLabel(theme, _HINT, wrap=True)
        self._error = PlainLabel(theme, tone="error", wrap=True, selectable=True)
        self.list = PastedList(theme)
        self.file_action = self._action("Import from file…", self.choose_file)
        self.add_action = self._action("Add and connect", lambda: self._on_add(connect=True))
        self.add_only_action = self._action("Add without connecting", lambda: self._on_add(connect=False))
        self._cancel_action = self._action("Cancel", self.reject)
        self._add_button = ActionButton(self.add_action, "primary")
        self._lay_out()
        self.address.textChanged.connect(self._on_text)
        self.address.entered.connect(self._on_entered)
        self.fields.changed.connect(self._on_edited)
        self.list.changed.connect(self._on_edited)
        self.list.laid_out.connect(self._fit_height)
        self._on_text()

    @property
    def name(self) -> QLineEdit:
        """The name field of the first server."""
        return self.list.servers[0].name

    def error_text(self) -> str:
        return "" if self._error.isHidden() else self._error.text()

    def put(self, text: str) -> None:
        """Insert `text` as if it had been pasted."""
        self.address.put(text)
        self.address.setFocus()

    def open_file(self, path: Path) -> None:
        """Read a configuration file into the box. Nothing is added automatically."""
        self._bridge.start_when_attached("read a configuration", self._read_file(path))

    def _action(self, message: str, act: Callable[[], object]) -> QAction:
        action = QAction(message, self)
        action.triggered.connect(lambda: act())
        return action

    def _lay_out(self) -> None:
        buttons = hbox(None)
        for action in (self.file_action, self._cancel_action, self.add_only_action):
            button = ActionButton(action)
            button.setAutoDefault(False)  # Return in a field adds, or does nothing
            buttons.addWidget(button)
            if action is self.file_action:
                buttons.addStretch(1)
        buttons.addWidget(self._add_button)
        vbox(
            self,
            Heading(self._theme, "Paste a command, URL or configuration"),
            self.address,
            self._summary,
            self.alert,
            (self.list, 1),
            self.fields,
            self._error,
            (STRETCH, 0),
            buttons,
            gap=SPACE_3,
            margin=SPACE_4,
        )
        self.setMinimumWidth(560)
        self.resize(720, 0)

    def _on_text(self) -> None:
        text = self.address.text()
        if len(text) > _MAX_IMMEDIATE:
            self._summary.setText("Reading the pasted text…")
            self.add_action.setEnabled(False)
            self.add_only_action.setEnabled(False)
            self._bridge.start_when_attached("read pasted text", self._read_in_background(text))
            return
        try:
            self._show(read_pasted(text) if text.strip() else (), None)
        except ConfigError as exc:
            self._show((), exc)

    async def _read_in_background(self, text: str) -> None:
        found: tuple[DiscoveredServer, ...] = ()
        problem = None
        try:
            found = await self._bridge.ask(lambda engine: asyncio.to_thread(read_pasted, text))
        except ConfigError as exc:
            problem = exc
        if shiboken6.isValid(self) and self.address.text() == text:  # else the text has changed meanwhile
            self._show(found, problem)

    def _show(self, found: tuple[DiscoveredServer, ...], problem: ConfigError | None) -> None:
        self._found, self._problem = found, problem
        is_line = "\n" not in self.address.text().strip()
        is_being_typed = problem is not None and is_line
        self.list.setVisible(bool(found))
        if not is_being_typed:  # else the list keeps its input, needed again in a moment
            is_typed = is_line and not self._is_foreign
            self.list.show_servers(found, self._taken(), is_typed=is_typed)
        self._show_origin()
        self._update()
        if problem is not None and not is_being_typed:
            self._show_error(problem)
        else:
            self._error.hide()
        self._fit_height()

    def _show_origin(self) -> None:
        if self._file is not None and self.address.text():
            self.alert.show_message("from", f"From {one_line(short_path(self._file))}.", _REVIEW_HINT)
        elif self._is_link:
            self.alert.show_message("from", "This install link adds a server.", _REVIEW_HINT)
        else:
            self._file = None
            self.alert.close_topic("from")
        self._add_button.setDefault(not self._is_foreign)
        self._add_button.setAutoDefault(not self._is_foreign)

    @property
    def _is_link(self) -> bool:
        return any(is_link(line.strip()) for line in self.address.text().splitlines()[:20])

    @property
    def _is_foreign(self) -> bool:
        """True if the input comes from a file or a link, which Return must not confirm."""
        return self._file is not None or self._is_link

    def _on_edited(self) -> None:
        self._error.hide()
        self._update()
        self._fit_height()

    def _update(self) -> None:
        chosen = self.list.chosen()
        can_add = bool(self.address.text().strip()) and self.list.is_complete and not self._is_busy
        can_add = can_add and (bool(chosen) or not self._found)  # errors are reported on Add
        self.add_action.setEnabled(can_add)
        self.add_only_action.setEnabled(can_add)
        self.add_action.setText(f"Add {len(chosen)} and connect" if len(chosen) > 1 else "Add and connect")
        self.fields.setVisible(self._needs_credentials)
        self._summary.setText(self._summary_text(chosen))

    @property
    def _needs_credentials(self) -> bool:
        """True for a single URL without authentication settings."""
        entry = self._found[0].entry if len(self._found) == 1 else None
        if entry is None or isinstance(entry, StdioEntry):
            return False
        has_auth = isinstance(entry, HttpEntry) and entry.auth is not None
        return not has_auth and not any(name.lower() == "authorization" for name in entry.headers)

    def _summary_text(self, chosen: Sequence[PastedServer]) -> str:
        if not self._found:
            return _HINT
        if len(self._found) > 1:
            return f"{plural(len(self._found), 'server')} found, {len(chosen)} selected."
        if not chosen:
            return "This was recognized but can't be used."
        is_command = isinstance(chosen[0].entry, StdioEntry)
        return f"“Add and connect” {'runs this command' if is_command else 'connects to this URL'}:"

    def _fit_height(self) -> None:
        """Grow with the content, within limits; never shrink, since the user may have resized it."""
        layout = self.layout()
        if layout is None:
            return
        list_height = self.list.wanted_height(self.width() - 2 * SPACE_4)
        self.list.setMinimumHeight(min(list_height, _MIN_LIST))
        layout.activate()
        minimum = max(layout.totalMinimumHeightForWidth(self.width()), layout.totalMinimumSize().height())
        best = minimum - self.list.minimumHeight() + list_height
        highest = min(_MAX_HEIGHT, self.screen().availableGeometry().height() - _MIN_LIST)
        self.resize(self.width(), max(self.height(), minimum, min(best, highest)))

    def choose_file(self) -> None:
        dialog = QFileDialog(self, "Open configuration")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters(["Configuration files (*.json *.jsonc *.toml)", "All files (*)"])
        dialog.fileSelected.connect(lambda path: self.open_file(Path(path)))
        dialog.open()

    async def _read_file(self, path: Path) -> None:
        from inspector.config.foreign.reader import read_config_text

        try:
            text = await self._bridge.ask(lambda engine: asyncio.to_thread(read_config_text, path))
        except ConfigError as exc:
            if shiboken6.isValid(self):
                message = f"{one_line(short_path(path))}: {exc.summary}"
                self._show_error(ConfigError(message, exc.next_step))
            return
        if shiboken6.isValid(self):
            self.address.clear()
            self._file = path
            self.address.put(text)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if dropped_config_files(event.mimeData()) or event.mimeData().hasText():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        event.acceptProposedAction()
        files = dropped_config_files(event.mimeData())
        if files:
            self.open_file(files[0])
        elif not any(url.isLocalFile() for url in event.mimeData().urls()):
            self.put(event.mimeData().text())

    def _on_entered(self) -> None:
        if self._is_foreign:
            self._add_button.setFocus()  # the user reviews first, then confirms with the next key
        elif self.add_action.isEnabled():
            self._on_add(connect=True)

    def _on_add(self, *, connect: bool) -> None:
        if self._problem is not None:
            self._show_error(self._problem)
            return
        try:
            chosen = self._chosen(connect)
        except ConfigError as exc:
            self._show_error(exc)
            return
        self._is_busy = True  # a second Return must not add them twice
        self._update()
        self._bridge.start_when_attached("add server", self._add(chosen, connect))

    def _chosen(self, connect: bool) -> list[tuple[Entry, dict[str, str]]]:
        """Return the selected servers with their secrets. Raises ConfigError."""
        chosen = self.list.read(with_inputs=connect)
        if self._needs_credentials and chosen:
            (entry, secrets), *rest = chosen
            entry, secret = self.fields.with_secret(entry)
            chosen = [(entry, secrets | secret), *rest]
        return chosen

    async def _add(self, chosen: Sequence[tuple[Entry, dict[str, str]]], connect: bool) -> None:
        """Check that all can be added, then add them one by one."""
        moves = any(server.moves_secrets for server in self.list.chosen())

        async def check(engine: Engine) -> None:
            for entry, _ in chosen:
                engine.servers.require_new(entry.name)
            if moves:
                await engine.servers.secrets.require_lasting()

        added: list[Entry] = []
        try:
            await self._bridge.ask(check)
            for entry, secrets in chosen:
                await self._bridge.ask(lambda engine: engine.servers.save_with_secrets(entry, secrets))  # noqa: B023
                added.append(entry)
            if shiboken6.isValid(self):  # it may have been closed meanwhile
                self.added.emit(added[0].name)  # the window shows the server before it connects
        except (UserError, OSError) as exc:
            if not shiboken6.isValid(self):
                raise
            self._show_failure(exc, added)
            return
        finally:
            for entry in added:
                if connect and entry.enabled:
                    await self._bridge.ask(lambda engine: engine.servers.connector.connect_soon(entry.name))  # noqa: B023
        if shiboken6.isValid(self):
            self.accept()

    def _show_failure(self, error: Exception, added: Sequence[Entry]) -> None:
        self._is_busy = False
        names = [entry.name for entry in added]
        self.list.uncheck(names)  # these were added
        self._update()
        done = (
            f"Added: {shorten(one_line(', '.join(names)), 200)}. Adding the next one failed: "
            if names
            else ""
        )
        self._show_error(ConfigError(f"{done}{error}"))

    def _show_error(self, error: Exception) -> None:
        self._error.setText(str(error))
        self._error.show()
        self._fit_height()
