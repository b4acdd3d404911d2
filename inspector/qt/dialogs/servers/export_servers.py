"""Export servers dialog: selection, target format, and a preview before copy or save.

Secrets are replaced by placeholders. Settings the target format cannot express are listed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from PySide6.QtCore import QItemSelectionModel, QSignalBlocker, Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QScrollArea,
    QSplitter,
    QWidget,
)

from inspector.base.errors import ConfigError, UserError
from inspector.base.plain_text import one_line, visible
from inspector.config.foreign.discovery import local_locations
from inspector.config.foreign.export import (
    EXPORT_FORMAT_NAMES,
    EXPORT_FORMATS,
    REGISTRY,
    Exported,
    claude_command,
    export,
)
from inspector.config.json_file import write_bytes
from inspector.config.servers.entries import Entry
from inspector.qt.bridge import Bridge
from inspector.qt.theme import SPACE_2, SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.item_views import style_list
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.notices.empty_state import ContentStack
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel
from inspector.qt.widgets.text.text_box import TextBox

_ADVICE = "Secrets are replaced by placeholders. MCP Lens never changes the files of other clients."
_MAX_NOTES_HEIGHT = 120  # pixels; longer notes scroll, so that the preview stays visible
_NAME = Qt.ItemDataRole.UserRole


class ExportServersDialog(QDialog):
    """Exports servers in the format of another MCP client.

    Servers on the left; format, preview and notes about omitted settings on the right.
    """

    help_page = "servers"

    def __init__(
        self,
        bridge: Bridge,
        theme: Theme,
        names: Sequence[str],
        chosen: Collection[str],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._bridge, self._theme = bridge, theme
        self._task: asyncio.Task[Any] | None = None
        first, *others = (_format_of(name) for name in EXPORT_FORMAT_NAMES)
        self._formats = [first, _CLAUDE, *others]
        self.setWindowTitle("Export servers")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(900, 600)
        self.servers = QListWidget()
        self.servers.setAccessibleName("Servers")
        style_list(self.servers, theme)
        self.format = QComboBox()
        self.format.addItems([format.text for format in self._formats])
        self.format.setAccessibleName("Format")
        self.preview = TextBox(theme.mono_font())
        self.preview.fill_height()
        self.preview.setReadOnly(True)
        self.preview.setAccessibleName("Export preview")
        self.notes = PlainLabel(theme, tone="warn", wrap=True, selectable=True)
        self._notes = QScrollArea()
        self._notes.setFrameShape(QFrame.Shape.NoFrame)
        self._notes.setWidgetResizable(True)
        self._notes.setWidget(self.notes)
        self.alert = Alert(theme)
        self.all_action = self._action("Select all", lambda: self._set_all_checked(True))
        self.none_action = self._action("Select none", lambda: self._set_all_checked(False))
        self.copy_action = self._action("Copy", self._copy)
        self.save_action = self._action("Save as…", self._choose_file)
        self._close_action = self._action("Close", self.close)
        self._stack = ContentStack(theme, self.preview)
        self._fill(names, chosen)
        self._lay_out()
        self.servers.itemChanged.connect(self._update)
        self.format.currentIndexChanged.connect(self._update)
        self._update()

    def chosen(self) -> list[str]:
        return [str(item.data(_NAME)) for item in self._items() if item.checkState() is Qt.CheckState.Checked]

    def save_to(self, path: Path) -> None:
        """Save to a file, refusing to overwrite another client's configuration file."""
        try:
            if path.exists() and any(
                path.samefile(location.path) for location in local_locations() if location.path.exists()
            ):
                raise ConfigError(
                    f"Could not save to {path}: it is another client's configuration file, which MCP Lens "
                    "never changes.",
                    "Copy the text and paste it there, or save it under another name.",
                )
            write_bytes(path, self.preview.text().encode(), is_private=False)
        except (UserError, OSError) as exc:
            reason = f"Could not save to {path}: {exc.strerror}." if isinstance(exc, OSError) else str(exc)
            self.alert.show_message("saved", reason, tone="error")
            return
        self.alert.show_message("saved", f"Saved as {path}.", tone="ok")

    def _action(self, text: str, act: Callable[[], object]) -> QAction:
        action = QAction(text, self)
        action.triggered.connect(lambda: act())
        return action

    def _fill(self, names: Sequence[str], chosen: Collection[str]) -> None:
        for name in names:
            item = QListWidgetItem(one_line(name))
            item.setData(_NAME, name)
            item.setFlags(
                Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsUserCheckable | Qt.ItemFlag.ItemIsSelectable
            )
            item.setCheckState(Qt.CheckState.Checked if name in chosen else Qt.CheckState.Unchecked)
            self.servers.addItem(item)
        first = next((row for row, name in enumerate(names) if name in chosen), 0)
        self.servers.setCurrentRow(first, QItemSelectionModel.SelectionFlag.NoUpdate)

    def _lay_out(self) -> None:
        left = QWidget()
        vbox(
            left,
            Heading(self._theme, "Servers"),
            (self.servers, 1),
            _row([self.all_action, self.none_action]),
            margin=(0, 0, SPACE_2, 0),
        )
        right = QWidget()
        vbox(
            right,
            Heading(self._theme, "Format"),
            self.format,
            (self._stack, 1),
            self._notes,
            MutedLabel(self._theme, _ADVICE, wrap=True),
            margin=(SPACE_2, 0, 0, 0),
        )
        sides = QSplitter()
        sides.setChildrenCollapsible(False)
        sides.addWidget(left)
        sides.addWidget(right)
        sides.setSizes([240, 640])
        sides.setStretchFactor(1, 1)
        copy = ActionButton(self.copy_action, "primary")
        copy.setDefault(True)
        buttons = hbox(None, STRETCH, ActionButton(self._close_action), ActionButton(self.save_action), copy)
        vbox(self, (sides, 1), self.alert, buttons, gap=SPACE_3, margin=SPACE_4)

    def _items(self) -> list[QListWidgetItem]:
        return [self.servers.item(row) for row in range(self.servers.count())]

    def _set_all_checked(self, is_checked: bool) -> None:
        with QSignalBlocker(self.servers):
            for item in self._items():
                item.setCheckState(Qt.CheckState.Checked if is_checked else Qt.CheckState.Unchecked)
        self.servers.viewport().update()
        self._update()

    def _update(self) -> None:
        self.alert.close_all()
        self.copy_action.setEnabled(False)
        self.save_action.setEnabled(False)
        if self._task is not None:
            self._task.cancel()
        names = self.chosen()
        if not names:
            self._explain("empty", "No servers selected", "Select the servers to export.")
            return
        format = self._formats[self.format.currentIndex()]
        self._task = self._bridge.start("export servers", self._show(names, format), self)

    async def _show(self, names: Sequence[str], format: _Format) -> None:
        try:
            entries = await self._bridge.ask(lambda engine: [engine.servers.entry(name) for name in names])
            exported = format.write(entries)
        except UserError as exc:
            self._explain("failed", "Export failed", exc.summary, exc.next_step)
            return
        self.preview.set_text(exported.text)
        self.notes.setText("\n".join(visible(note) for note in exported.notes))
        self._notes.setVisible(bool(exported.notes))
        height = self.notes.heightForWidth(self._stack.width() - SPACE_4)
        self._notes.setFixedHeight(min(height, _MAX_NOTES_HEIGHT))
        self.copy_action.setEnabled(True)
        self.save_action.setEnabled(True)
        self._stack.open()

    def _explain(self, kind: Any, title: str, sentence: str, next_step: str = "") -> None:
        self._notes.hide()
        self._stack.explain(kind, "export", title, sentence, next_step)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.preview.text())
        self.alert.show_message("saved", "Copied to the clipboard.", tone="ok")

    def _choose_file(self) -> None:
        dialog = QFileDialog(self, "Export servers")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.selectFile(self._formats[self.format.currentIndex()].file_name)
        dialog.fileSelected.connect(lambda path: self.save_to(Path(path)))
        dialog.open()


def _row(actions: Sequence[QAction]) -> QHBoxLayout:
    row = hbox(None)
    for action in actions:
        button = ActionButton(action, "quiet")
        button.setAutoDefault(False)
        row.addWidget(button)
    row.addStretch(1)
    return row


@dataclass(frozen=True, slots=True)
class _Format:
    text: str
    file_name: str
    write: Callable[[Sequence[Entry]], Exported]


def _commands(entries: Sequence[Entry]) -> Exported:
    exports = [claude_command(entry) for entry in entries]
    notes = tuple(note for each in exports for note in each.notes)
    return Exported("".join(f"{each.text}\n" for each in exports), tuple(dict.fromkeys(notes)))


def _format_of(name: str) -> _Format:
    if name == REGISTRY:
        return _Format("MCP registry · server.json", "server.json", lambda entries: export(entries, name))
    format = EXPORT_FORMATS[name]
    table = "" if format.table else " (no “mcpServers” wrapper)"
    file_name = PurePosixPath(format.file_name).name
    return _Format(
        f"{format.tool} · {format.file_name}{table}", file_name, lambda entries: export(entries, name)
    )


_CLAUDE = _Format("Claude Code · claude mcp add …", "add-servers.sh", _commands)
