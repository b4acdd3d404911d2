"""Saving of calls under a name and folder, and the pickers for earlier and saved calls.

Tracks which saved call a tool's arguments came from. One picker is open at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QObject, QPoint, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QWidget

from inspector.base.errors import ConfigError, UserError
from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.config.calls.history import RecordedCall
from inspector.config.calls.saved_calls import ChangedElsewhere, DeletedCall, SavedCall
from inspector.config.calls.variables import Variables
from inspector.engine.calls.library import SavedFolder
from inspector.engine.calls.tool_calls import ToolCall
from inspector.protocol.types import Tool
from inspector.qt.actions import native_keys
from inspector.qt.bridge import Bridge
from inspector.qt.models.palette import (
    IconRole,
    NoteRole,
    PaletteModel,
    PositionsRole,
    ToneRole,
    calls_in,
    history_items,
    saved_items,
    saved_key,
    without_folder,
)
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.inputs.popups import PickerPopup, Popup, Roles
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.labels import MutedLabel, plain_tooltip

_PICKER_WIDTH = 620
_SAVE_WIDTH = 380
_MAX_LENGTH = 2_000
ROLES = Roles(NoteRole, ToneRole, IconRole, PositionsRole)


class CallPickers(QObject):
    """Opens the lists of earlier and saved calls above a button.

    Signals:
        recorded_picked: The user picked an earlier call with its arguments; carries the RecordedCall.
        saved_picked: The user picked a saved call; carries the SavedCall.
    """

    recorded_picked = Signal(object)
    saved_picked = Signal(object)

    def __init__(self, bridge: Bridge, server: str, theme: Theme, anchor: QWidget) -> None:
        super().__init__(anchor)
        self._bridge = bridge
        self._server = server
        self._theme = theme
        self._anchor = anchor
        self._deleted: list[DeletedCall] = []
        self.popup: PickerPopup | None = None

    def open_history(self, tool: str) -> None:
        self._bridge.start(f"history of {tool}", self._open_history(tool), self)

    def open_saved(self) -> None:
        self._bridge.start("saved calls", self._open_saved(), self)

    async def _open_history(self, tool: str) -> None:
        history = await self._bridge.ask(lambda engine: engine.calls.history_of(self._server, tool))
        model = PaletteModel(self)
        model.set_items(history_items(history.calls, f"{datetime.now():%Y-%m-%d}"))
        popup = self._make(model, "Earlier calls of this tool")
        calls = plural(len(history.calls), "earlier call")
        popup.show_message(
            f"{calls} · Enter to restore the arguments" if history.calls else "No earlier calls yet."
        )
        popup.picked.connect(lambda row: self._on_history_picked(model, history.calls, row))
        popup.open_above(self._anchor, _PICKER_WIDTH)

    def _on_history_picked(self, model: PaletteModel, calls: Sequence[RecordedCall], row: int) -> None:
        pick = model.item(row)
        call = calls[int(pick.key)] if pick is not None else None
        if call is not None and call.arguments() is not None:
            self.recorded_picked.emit(call)

    async def _open_saved(self) -> None:
        folders = await self._bridge.ask(lambda engine: engine.calls.saved())
        model = PaletteModel(self)
        popup = self._make(model, "Saved calls", removes=True)
        by_key = self._show_saved(model, popup, folders)
        popup.picked.connect(lambda row: self._on_saved_picked(model, by_key, row))
        popup.removal_requested.connect(lambda row: self._on_removal(model, popup, by_key, row))
        popup.undo_requested.connect(lambda: self._on_undo(model, popup, by_key))
        popup.open_above(self._anchor, _PICKER_WIDTH)

    def _show_saved(
        self, model: PaletteModel, popup: PickerPopup, folders: Sequence[SavedFolder]
    ) -> dict[str, SavedCall]:
        """Show the saved calls of this server and of none in particular; the palette has all."""
        calls = [call for call in calls_in(folders) if call.server in ("", self._server)]
        model.set_items(saved_items(folders, calls))
        problems = [without_folder(folder, each) for folder in folders for each in folder.loaded.problems]
        if problems:
            popup.show_message(f"{plural(len(problems), 'file')} skipped: {problems[0]}")
        elif calls:
            popup.show_message(f"{plural(len(calls), 'saved call')} · Enter to open, Delete to delete")
        else:
            popup.show_message("None yet. Use Save call… to add one.")
        return {saved_key(call): call for call in calls}

    def _on_saved_picked(self, model: PaletteModel, calls: dict[str, SavedCall], row: int) -> None:
        pick = model.item(row)
        if pick is not None:
            self.saved_picked.emit(calls[pick.key])

    def _on_removal(
        self, model: PaletteModel, popup: PickerPopup, calls: dict[str, SavedCall], row: int
    ) -> None:
        pick = model.item(row)
        if pick is not None:
            work = self._remove(model, popup, calls, calls[pick.key])
            self._bridge.start("delete a saved call", work, popup)

    async def _remove(
        self, model: PaletteModel, popup: PickerPopup, calls: dict[str, SavedCall], call: SavedCall
    ) -> None:
        try:
            deleted = await self._bridge.ask(lambda engine: engine.calls.delete(call))
        except ConfigError as exc:
            popup.show_message(str(exc))
            return
        await self._show_again(model, popup, calls)
        if deleted is not None:
            self._deleted.append(deleted)
            popup.show_message(f"Deleted “{one_line(call.name)}” · {native_keys('Ctrl+Z')} to undo")

    def _on_undo(self, model: PaletteModel, popup: PickerPopup, calls: dict[str, SavedCall]) -> None:
        if self._deleted:
            self._bridge.start("restore a saved call", self._restore(model, popup, calls), popup)

    async def _restore(self, model: PaletteModel, popup: PickerPopup, calls: dict[str, SavedCall]) -> None:
        deleted = self._deleted.pop()
        try:
            call = await self._bridge.ask(lambda engine: engine.calls.restore(deleted))
        except ConfigError as exc:
            self._deleted.append(deleted)
            popup.show_message(str(exc))
            return
        await self._show_again(model, popup, calls)
        popup.show_message(f"Restored “{one_line(call.name)}”")

    async def _show_again(self, model: PaletteModel, popup: PickerPopup, calls: dict[str, SavedCall]) -> None:
        folders = await self._bridge.ask(lambda engine: engine.calls.saved())
        calls.clear()
        calls.update(self._show_saved(model, popup, folders))

    def _make(self, model: PaletteModel, prompt: str, *, removes: bool = False) -> PickerPopup:
        popup = PickerPopup(self._theme, model, ROLES, prompt, self._anchor, removes=removes)
        model.setParent(popup)
        popup.text_changed.connect(model.set_text)
        self.popup = popup
        popup.closed.connect(self._on_closed)
        return popup

    def _on_closed(self) -> None:
        self.popup = None


class CallSaver(QObject):
    """Saves calls of one server's tools. Results are reported in the alert."""

    def __init__(self, bridge: Bridge, server: str, theme: Theme, alert: Alert, anchor: QWidget) -> None:
        super().__init__(anchor)
        self._bridge = bridge
        self._server = server
        self._theme = theme
        self._alert = alert
        self._anchor = anchor
        self._origins: dict[str, SavedCall] = {}
        self.popup: SavePopup | None = None

    def set_origin(self, call: SavedCall) -> None:
        """Remember that the tool's arguments come from this call."""
        self._origins[call.tool] = call

    def folder_of(self, tool: str) -> Path | None:
        origin = self._origins.get(tool)
        return origin.folder if origin is not None else None

    async def variables(self, tool: str) -> Variables:
        """Return the variables of the folder the arguments came from; otherwise of the default folder."""
        folder = self.folder_of(tool)
        return await self._bridge.ask(lambda engine: engine.calls.variables(folder))

    def ask(self, tool: Tool, save: Callable[[str, str, Path | None, bool], None]) -> None:
        """Ask for a name, a description and, if there are several, the folder."""
        self._bridge.start(f"save a call of {tool.name}", self._ask(tool, save), self)

    async def _ask(self, tool: Tool, save: Callable[[str, str, Path | None, bool], None]) -> None:
        folders = await self._bridge.ask(lambda engine: engine.calls.saved())
        origin = self._origins.get(tool.name) or SavedCall(tool.title or tool.name, tool.name)
        popup = self.popup = SavePopup(self._theme, origin, folders, self._anchor)
        popup.closed.connect(self._on_closed)
        popup.confirmed.connect(save)
        popup.open_above(self._anchor)

    def _on_closed(self) -> None:
        self.popup = None

    def save(
        self,
        name: str,
        call: ToolCall,
        description: str | None = None,
        folder: Path | None = None,
        is_regression: bool | None = None,
    ) -> None:
        """Save a call. Under its original name, the file is overwritten.

        None for `description`, `folder` or `is_regression` keeps the saved value.
        """
        origin = self._origins.get(call.tool)
        is_same = origin is not None and origin.name == name and folder in (None, origin.folder)
        origin = origin if origin is not None and is_same else SavedCall(name, call.tool)
        saved = SavedCall(
            name,
            call.tool,
            self._server,
            call.arguments,
            origin.description if description is None else description,
            call.timeout,
            call.total,
            call.meta,
            call.as_task,
            call.capabilities,
            origin.path,
            origin.stamp,
            origin.is_regression if is_regression is None else is_regression,
            origin.ignore,
        )
        self._save_soon(saved, folder)

    def show_refusal(self, text: str, next_step: str, actions: Sequence[QAction] = ()) -> None:
        self._alert.show_message("saved", f"Not saved: {text}", next_step, actions)

    def _save_soon(self, call: SavedCall, folder: Path | None, *, overwrite: bool = False) -> None:
        self._alert.close_topic("saved")
        self._bridge.start(f"save {call.name}", self._save(call, folder, overwrite=overwrite), self)

    async def _save(self, call: SavedCall, folder: Path | None, *, overwrite: bool) -> None:
        try:
            saved = await self._bridge.ask(
                lambda engine: engine.calls.save(call, folder, overwrite=overwrite)
            )
            if saved.is_regression:
                await self._bridge.ask(lambda engine: engine.calls.allow(saved))
        except ChangedElsewhere as exc:
            overwrite_action = QAction("Overwrite", self)
            overwrite_action.triggered.connect(lambda: self._save_soon(call, folder, overwrite=True))
            self.show_refusal(exc.summary, exc.next_step, [overwrite_action])
        except UserError as exc:
            self.show_refusal(exc.summary, exc.next_step)
        else:
            self._origins[saved.tool] = saved
            self._alert.show_message("saved", f"Saved as {one_line(str(saved.path))}", tone="ok")


class SavePopup(Popup):
    """A popup to save a call. Enter saves, Escape cancels.

    Asks for the folder if there are several.

    Signals:
        confirmed: Carries the name, the description, the folder (None for the default), and whether it is
            a regression call.
    """

    confirmed = Signal(str, str, object, bool)

    def __init__(
        self, theme: Theme, origin: SavedCall, folders: Sequence[SavedFolder], parent: QWidget
    ) -> None:
        super().__init__(theme, parent)
        self.name = _line(one_line(origin.name), "Save call as")
        self.description = _line(one_line(origin.description), "Call description")
        self.description.setPlaceholderText("optional")
        self.regression = QCheckBox("Regression call: rerun when the server's files change")
        self.regression.setChecked(origin.is_regression)
        self.regression.setToolTip("Results are compared with the expected result, in the Process tab")
        self.folder = QComboBox()
        self.folder.setAccessibleName("Folder")
        for folder in folders:
            self.folder.addItem(folder.name, folder.path)
            tip = plain_tooltip(str(folder.path))
            self.folder.setItemData(self.folder.count() - 1, tip, Qt.ItemDataRole.ToolTipRole)
        paths = [folder.path for folder in folders]
        self.folder.setCurrentIndex(paths.index(origin.folder) if origin.folder in paths else 0)
        self._save = QAction("Save", self)
        self._save.triggered.connect(self._on_save)
        self._lay_out()
        for line in (self.name, self.description):
            line.returnPressed.connect(self._on_save)
        self.name.textChanged.connect(self._on_name_changed)
        self._on_name_changed()
        self.setFixedWidth(_SAVE_WIDTH)

    def open_above(self, widget: QWidget) -> None:
        self.adjustSize()
        corner = widget.mapToGlobal(QPoint(widget.width(), 0))
        room = self.screen().availableGeometry()
        left = max(room.left(), min(corner.x() - self.width(), room.right() - self.width()))
        self.move(left, max(room.top(), corner.y() - self.height() - SPACE_1))
        self.show()
        self.name.setFocus(Qt.FocusReason.PopupFocusReason)
        self.name.selectAll()

    def _lay_out(self) -> None:
        column = vbox(self, gap=SPACE_1, margin=SPACE_3)
        rows: list[tuple[str, QWidget]] = [
            ("Save call as", self.name),
            ("Description", self.description),
        ]
        if self.folder.count() > 1:
            rows.append(("Folder", self.folder))
        for text, widget in rows:
            column.addWidget(MutedLabel(self._theme, text))
            column.addWidget(widget)
            column.addSpacing(SPACE_1)
        column.addWidget(self.regression)
        buttons = hbox(None, STRETCH, ActionButton(self._save, "primary"), gap=-1, margin=(0, SPACE_2, 0, 0))
        column.addLayout(buttons)

    def _on_name_changed(self) -> None:
        self._save.setEnabled(bool(self.name.text().strip()))

    def _on_save(self) -> None:
        if self._save.isEnabled():
            folder: Path | None = self.folder.currentData()
            texts = (self.name.text().strip(), self.description.text().strip())
            self.confirmed.emit(*texts, folder, self.regression.isChecked())
            self.close()


def _line(text: str, name: str) -> QLineEdit:
    line = QLineEdit(text)
    line.setMaxLength(_MAX_LENGTH)
    line.setAccessibleName(name)
    return line
