"""Saved calls of all folders: open, rename, describe, delete; and choice of the folders.

The folders are re-read every second while the dialog is open: other programs may change the files.
"""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QFileDialog,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QTreeWidgetItemIterator,
    QWidget,
)

from inspector.base.errors import ConfigError
from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.config.calls.saved_calls import DeletedCall, SavedCall
from inspector.engine.calls.library import SavedFolder
from inspector.qt.bridge import Bridge
from inspector.qt.models.palette import without_folder
from inspector.qt.theme import SPACE_2, SPACE_4, Theme
from inspector.qt.widgets.inputs.controls import ActionButton, ButtonKind
from inspector.qt.widgets.item_views import style_tree
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.labels import Heading, MutedLabel, plain_tooltip

_RELOAD_MS = 1000
_DATA_ROLE = Qt.ItemDataRole.UserRole  # the SavedCall or the SavedFolder of a row
_MAX_LENGTH = 2_000


class SavedCallsDialog(QDialog):
    """The saved calls.

    Synchronized with their folders while open: the files may be edited elsewhere, or changed by git.

    Signals:
        open_requested: The user wants to use a call; carries the SavedCall.
    """

    help_page = "tools"
    open_requested = Signal(object)

    def __init__(self, bridge: Bridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._theme = theme
        self._folders: tuple[SavedFolder, ...] = ()
        self._deleted: list[DeletedCall] = []
        self.setWindowTitle("Saved calls")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(820, 520)
        self.tree = QTreeWidget()
        self.name = _line("Call name")
        self.description = _line("Call description")
        self.regression = QCheckBox("Regression call: rerun when the server's files change")
        self.alert = Alert(theme)
        self.open_action = self._action("Open", self._on_open)
        self.change_action = self._action("Save changes", self._on_change)
        self.delete_action = self._action("Delete", self._on_delete)
        self.undo_action = self._action("Undo", self._on_undo)
        self.undo_action.setShortcut(QKeySequence(QKeySequence.StandardKey.Undo))
        self.add_action = self._action("Add folder…", self.choose_folder)
        self.remove_folder_action = self._action("Remove folder", self._on_remove_folder)
        self.remove_folder_action.setToolTip("Stop reading calls from this folder; its files are not deleted")
        self._timer = QTimer(self, interval=_RELOAD_MS, singleShot=True)
        self._timer.timeout.connect(lambda: self._start(self._reload()))
        self._lay_out()
        self._connect()
        self._start(self._load())

    def selected(self) -> SavedCall | SavedFolder | None:
        item = self.tree.currentItem()
        data = item.data(0, _DATA_ROLE) if item is not None else None
        return data if isinstance(data, SavedCall | SavedFolder) else None

    def choose_folder(self) -> QFileDialog:
        dialog = QFileDialog(self, "Add a folder of saved calls")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.fileSelected.connect(lambda selected: self.add_folder(Path(selected)))
        dialog.open()
        return dialog

    def add_folder(self, path: Path) -> None:
        self._start(self._add_folder(path))

    async def _add_folder(self, path: Path) -> None:
        await self._bridge.ask(lambda engine: engine.calls.add_folder(path))
        await self._load()
        item = self._item_of(path)
        if item is not None:
            self.tree.setCurrentItem(item)

    def _on_remove_folder(self) -> None:
        folder = self.selected()
        if isinstance(folder, SavedFolder):
            self._start(self._remove_folder(folder.path))

    async def _remove_folder(self, path: Path) -> None:
        await self._bridge.ask(lambda engine: engine.calls.remove_folder(path))
        await self._load()

    def _on_open(self) -> None:
        call = self.selected()
        if isinstance(call, SavedCall):
            self.open_requested.emit(call)
            self.accept()

    def _on_change(self) -> None:
        call = self.selected()
        if isinstance(call, SavedCall) and self.change_action.isEnabled():
            self._start(self._change(call, self.name.text().strip(), self.description.text().strip()))

    async def _change(self, call: SavedCall, name: str, description: str) -> None:
        old_name, old_description = _texts(call)
        if name != old_name:
            call = await self._bridge.ask(lambda engine: engine.calls.rename(call, name))
        if description != old_description:
            changed = replace(call, description=description)
            call = await self._bridge.ask(lambda engine: engine.calls.save(changed))
        self.alert.close_all()
        self._show(await self._bridge.ask(lambda engine: engine.calls.saved()), call.path)
        self._show_selected()

    def _on_regression(self, is_regression: bool) -> None:
        call = self.selected()
        if isinstance(call, SavedCall):
            self._start(self._set_regression(call, is_regression))

    async def _set_regression(self, call: SavedCall, is_regression: bool) -> None:
        saved = await self._bridge.ask(lambda engine: engine.calls.set_regression(call, is_regression))
        self._show(await self._bridge.ask(lambda engine: engine.calls.saved()), saved.path)

    def _on_delete(self) -> None:
        call = self.selected()
        if isinstance(call, SavedCall):
            self._start(self._delete(call))

    async def _delete(self, call: SavedCall) -> None:
        neighbor = self._neighbor(call)
        deleted = await self._bridge.ask(lambda engine: engine.calls.delete(call))
        if deleted is not None:
            self._deleted.append(deleted)
        self._show(await self._bridge.ask(lambda engine: engine.calls.saved()), neighbor)
        self._show_deleted()

    def _neighbor(self, call: SavedCall) -> Path | None:
        """Return what to select once this call is gone: next call, previous call or folder."""
        item = self._item_of(call.path)
        for other in (self.tree.itemBelow(item), self.tree.itemAbove(item)) if item is not None else ():
            data = other.data(0, _DATA_ROLE) if other is not None else None
            if isinstance(data, SavedCall) and data.folder == call.folder:
                return data.path
        return call.folder

    def _on_undo(self) -> None:
        if self._deleted:
            self._start(self._undo(self._deleted[-1]))

    async def _undo(self, deleted: DeletedCall) -> None:
        call = await self._bridge.ask(lambda engine: engine.calls.restore(deleted))
        self._deleted.remove(deleted)
        self._show(await self._bridge.ask(lambda engine: engine.calls.saved()), call.path)
        self._show_deleted()

    def _show_deleted(self) -> None:
        self.alert.close_all()
        if self._deleted:
            name = one_line(self._deleted[-1].call.name)
            self.alert.show_message("deleted", f"Deleted “{name}”.", actions=[self.undo_action], tone="wait")

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self._bridge.start("saved calls", self._reporting_errors(work), self)

    async def _reporting_errors(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except ConfigError as exc:
            self.alert.show_message("failed", exc.summary, exc.next_step)
            await self._load()

    async def _load(self) -> None:
        self._show(await self._bridge.ask(lambda engine: engine.calls.saved()))

    async def _reload(self) -> None:
        shown = self._folders
        changed = await self._bridge.ask(lambda engine: engine.calls.changed(shown))
        if changed is not None and shown is self._folders:
            self._show(changed)
        self._timer.start()

    def _show(self, folders: tuple[SavedFolder, ...], selected: Path | None = None) -> None:
        """Replace the rows; the selection and the text typed for it stay."""
        before = self.selected()
        path = selected or (before.path if before is not None else None)
        self._folders = folders
        self.tree.blockSignals(True)
        self.tree.clear()
        for folder in folders:
            self.tree.addTopLevelItem(self._folder_item(folder))
        self.tree.expandAll()
        self._span_problems()
        item = self._item_of(path) or self.tree.topLevelItem(0)
        if item is not None:
            self.tree.setCurrentItem(item)
        self.tree.blockSignals(False)
        self._timer.start()
        after = self.selected()
        is_same = before is not None and after is not None and before.path == after.path
        if not is_same or not (self.name.isModified() or self.description.isModified()):
            self._show_selected()

    def _folder_item(self, folder: SavedFolder) -> QTreeWidgetItem:
        loaded = folder.loaded
        counted = plural(len(loaded.calls), "call")
        item = QTreeWidgetItem([folder.name, counted, "", one_line(str(folder.path))])
        item.setData(0, _DATA_ROLE, folder)
        font = self._theme.ui_font()
        font.setBold(True)
        item.setFont(0, font)
        for sentence in loaded.problems:
            item.addChild(self._problem_item(without_folder(folder, sentence)))
        item.addChildren([self._call_item(call) for call in loaded.calls])
        return item

    def _call_item(self, call: SavedCall) -> QTreeWidgetItem:
        text = [call.name, call.tool, call.server or "any", call.description]
        item = QTreeWidgetItem([one_line(word) for word in text])
        item.setData(0, _DATA_ROLE, call)
        item.setToolTip(0, plain_tooltip(str(call.path)))
        item.setToolTip(3, plain_tooltip(call.description))
        return item

    def _problem_item(self, sentence: str) -> QTreeWidgetItem:
        item = QTreeWidgetItem([one_line(f"Skipped: {sentence}")])
        item.setForeground(0, self._theme.color("warn"))
        item.setToolTip(0, plain_tooltip(sentence))
        return item

    def _span_problems(self) -> None:
        """Let problem texts span all columns; Qt allows that only for rows already in the tree."""
        for row, folder in enumerate(self._folders):
            top = self.tree.topLevelItem(row)
            for each in range(len(folder.loaded.problems)):
                item = top.child(each) if top is not None else None
                if item is not None:
                    item.setFirstColumnSpanned(True)

    def _item_of(self, path: Path | None) -> QTreeWidgetItem | None:
        items = QTreeWidgetItemIterator(self.tree)
        while path is not None and (item := items.value()) is not None:
            data = item.data(0, _DATA_ROLE)
            if isinstance(data, SavedCall | SavedFolder) and data.path == path:
                return item
            items += 1
        return None

    def _show_selected(self) -> None:
        data = self.selected()
        is_call = isinstance(data, SavedCall)
        for line, text in zip((self.name, self.description), _texts(data), strict=True):
            line.setText(text)
            line.setCursorPosition(0)
            line.setModified(False)
            line.setEnabled(is_call)
        for action in (self.open_action, self.delete_action):
            action.setEnabled(is_call)
        self._show_regression(data)
        self.remove_folder_action.setEnabled(isinstance(data, SavedFolder) and not data.is_own)
        self._show_changed()

    def _show_regression(self, data: SavedCall | SavedFolder | None) -> None:
        has_server = isinstance(data, SavedCall) and bool(data.server)
        self.regression.setEnabled(has_server)
        self.regression.setChecked(isinstance(data, SavedCall) and data.is_regression)
        lacks_server = isinstance(data, SavedCall) and not data.server
        self.regression.setToolTip("A regression call needs a server" if lacks_server else "")

    def _show_changed(self) -> None:
        texts = (self.name.text().strip(), self.description.text().strip())
        is_changed = isinstance(self.selected(), SavedCall) and texts != _texts(self.selected())
        self.change_action.setEnabled(is_changed and bool(texts[0]))

    def _action(self, text: str, slot: object) -> QAction:
        action = QAction(text, self)
        action.triggered.connect(slot)
        return action

    def _connect(self) -> None:
        self.tree.currentItemChanged.connect(self._show_selected)
        self.tree.itemActivated.connect(self._on_open)
        self.regression.clicked.connect(self._on_regression)
        for line in (self.name, self.description):
            line.textEdited.connect(self._show_changed)
            line.returnPressed.connect(self._on_change)
        delete = QAction(self.tree)
        delete.setShortcut(QKeySequence(QKeySequence.StandardKey.Delete))
        delete.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        delete.triggered.connect(self._on_delete)
        rename = QAction(self.tree)
        rename.setShortcut(QKeySequence("F2"))
        rename.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        rename.triggered.connect(self.name.setFocus)
        self.undo_action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        self.tree.addActions([delete, rename, self.undo_action])
        self._show_selected()

    def _lay_out(self) -> None:
        self.tree.setHeaderLabels(["Name", "Tool", "Server", "Description"])
        self.tree.setAccessibleName("Saved calls by folder")
        self.tree.setUniformRowHeights(True)
        style_tree(self.tree, self._theme)
        self.tree.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # the end of a path matters most
        self.tree.setHeaderHidden(False)
        for position, width in enumerate((240, 150, 120)):
            self.tree.setColumnWidth(position, width)
        fields = QGridLayout()
        fields.setSpacing(SPACE_2)
        fields.addWidget(MutedLabel(self._theme, "Name"), 0, 0)
        fields.addWidget(self.name, 0, 1)
        fields.addWidget(MutedLabel(self._theme, "Description"), 1, 0)
        fields.addWidget(self.description, 1, 1)
        fields.addWidget(_button(self.change_action), 1, 2)
        fields.addWidget(self.regression, 2, 1)
        text = (
            "Each folder holds plain JSON files, one per call. Add a project folder to share calls through "
            "git."
        )
        vbox(
            self,
            Heading(self._theme, "Saved calls"),
            MutedLabel(self._theme, text, wrap=True),
            (self.tree, 1),
            fields,
            self.alert,
            self._make_buttons(),
            margin=SPACE_4,
        )

    def _make_buttons(self) -> QHBoxLayout:
        return hbox(
            None,
            *(_button(action) for action in (self.add_action, self.remove_folder_action)),
            STRETCH,
            _button(self.delete_action, "danger"),
            _button(self.open_action, "primary"),
            gap=-1,
        )


def _button(action: QAction, kind: ButtonKind = "plain") -> ActionButton:
    """Create a button that Return in a field does not press."""
    button = ActionButton(action, kind)
    button.setAutoDefault(False)
    return button


def _line(name: str) -> QLineEdit:
    line = QLineEdit()
    line.setMaxLength(_MAX_LENGTH)
    line.setAccessibleName(name)
    return line


def _texts(data: SavedCall | SavedFolder | None) -> tuple[str, str]:
    """Return the name and the description as shown in the fields."""
    if not isinstance(data, SavedCall):
        return "", ""
    return one_line(data.name).strip(), one_line(data.description).strip()
