"""Saved captures: open or delete them, and set how long they are stored; rows that could not be saved.

Changed limits are applied after a pause: typing "30" passes through 3, which would delete captures.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal, SignalInstance
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QSpinBox,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from inspector.base.errors import UserError
from inspector.base.json.values import JSON
from inspector.base.plain_text import one_line
from inspector.base.units import full_time, plural, size
from inspector.config.preferences.settings import setting_of
from inspector.qt.bridge import Bridge
from inspector.qt.theme import SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.item_views import style_tree
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.notices.empty_state import ContentStack
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel
from inspector.traffic.captures.folder import CaptureInfo
from inspector.traffic.captures.recording import RecordingState

_PATH = Qt.ItemDataRole.UserRole
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
# Wait after the last change: typing "30" passes through 3, and three days would delete a lot.
_DELAY_MS = 1500
_QUESTION_WIDTH = 440


class CapturesDialog(QDialog):
    """The saved captures and their limits.

    Signals:
        open_requested: The user wants to open a capture; carries its path.
    """

    help_page = "captures"
    open_requested = Signal(object)

    def __init__(self, bridge: Bridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._saved: dict[str, JSON] = {}  # values of the settings edited here
        self.setWindowTitle("Manage captures")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(720, 480)
        self.list = QTreeWidget()
        self._stack = ContentStack(theme, self._make_list(theme))
        self._folder = PlainLabel(theme, tone="muted", selectable=True, elide=Qt.TextElideMode.ElideMiddle)
        self._total = MutedLabel(theme)
        self._error = PlainLabel(theme, tone="error", wrap=True)
        self._error.hide()
        self.record = QCheckBox("Record traffic automatically")
        self.days = _number("days", "captures.keepDays")
        self.mebibytes = _number("size", "captures.keepMebibytes")
        self._delay = QTimer(self, singleShot=True, interval=_DELAY_MS)
        self.open_action = QAction("Open", self)
        self.delete_action = QAction("Delete", self)
        self._lay_out(theme)
        self._connect()
        self._bridge.start("load captures", self._load(), self)

    def error_text(self) -> str:
        return self._error.text()

    def _make_list(self, theme: Theme) -> QTreeWidget:
        self.list.setHeaderLabels(["Started", "Rows", "Size", "", "File"])
        self.list.setRootIsDecorated(False)
        self.list.setUniformRowHeights(True)
        self.list.setSelectionMode(QTreeWidget.SelectionMode.ExtendedSelection)
        self.list.setAccessibleName("Saved captures")
        style_tree(self.list, theme)
        self.list.setHeaderHidden(False)
        for column, width in enumerate((170, 90, 90, 110)):
            self.list.setColumnWidth(column, width)
        for column in (1, 2):
            self.list.headerItem().setTextAlignment(column, _RIGHT)
        return self.list

    def _lay_out(self, theme: Theme) -> None:
        texts = ("Keep for", "and up to", "in total; the oldest are deleted first.")
        keep, up_to, total = (MutedLabel(theme, text) for text in texts)
        limits = hbox(None, keep, self.days, up_to, self.mebibytes, total, STRETCH)
        buttons = hbox(
            None,
            (self._total, 1),
            ActionButton(self.delete_action, "danger"),
            ActionButton(self.open_action, "primary"),
            gap=-1,
        )
        vbox(
            self,
            Heading(theme, "Saved captures"),
            self._folder,
            (self._stack, 1),
            buttons,
            SPACE_3,
            self.record,
            limits,
            self._error,
            margin=SPACE_4,
        )

    def _connect(self) -> None:
        self.open_action.triggered.connect(self._on_open)
        self.delete_action.triggered.connect(self._on_delete)
        self.list.itemSelectionChanged.connect(self._on_selection_changed)
        self.list.itemActivated.connect(self._on_open)
        self.record.clicked.connect(self._delay.start)
        self.days.valueChanged.connect(lambda _: self._delay.start())
        self.mebibytes.valueChanged.connect(lambda _: self._delay.start())
        self._delay.timeout.connect(self.apply)
        self.finished.connect(lambda _: self.apply())
        self._on_selection_changed()

    async def _load(self) -> None:
        self._stack.explain("loading", "", "Loading captures", "Reading the capture folder.")
        values = await self._bridge.ask(lambda engine: engine.settings.values())
        folder = await self._bridge.ask(lambda engine: engine.captures.get_folder())
        self._folder.setText(
            one_line(str(folder)) if folder is not None else "Captures are not saved in this session."
        )
        for box, id in ((self.days, "captures.keepDays"), (self.mebibytes, "captures.keepMebibytes")):
            box.blockSignals(True)
            box.setValue(number if isinstance(number := values[id], int) else 0)
            box.blockSignals(False)
        self.record.setChecked(values["captures.record"] is True)
        self._saved = self._chosen_values()
        await self._list()

    async def _list(self) -> None:
        stored = await self._bridge.ask(lambda engine: engine.captures.stored())
        self.list.clear()
        for capture in reversed(stored):
            self.list.addTopLevelItem(_line(capture))
        total = sum(capture.size for capture in stored)
        self._total.setText(f"{plural(len(stored), 'capture')}, {size(total)}" if stored else "")
        if stored:
            self._stack.open()
        else:
            sentence = "MCP Lens records every session to its own capture; old captures are deleted."
            self._stack.explain("empty", "traffic", "No captures yet", sentence)

    def _chosen(self) -> list[Path]:
        return [item.data(0, _PATH) for item in self.list.selectedItems()]

    def _on_selection_changed(self) -> None:
        chosen = self.list.selectedItems()
        self.open_action.setEnabled(bool(chosen))
        self.delete_action.setEnabled(bool(chosen))

    def _on_open(self) -> None:
        for path in self._chosen():
            self.open_requested.emit(path)

    def _on_delete(self) -> None:
        self._bridge.start("delete captures", self._delete(self._chosen()), self)

    async def _delete(self, paths: list[Path]) -> None:
        self._show_error("")
        for path in paths:
            try:
                await self._bridge.ask(lambda engine: engine.captures.delete(path))  # noqa: B023
            except UserError as exc:
                self._show_error(str(exc))
        await self._list()

    def apply(self) -> None:
        """Apply the limits in the boxes if they were changed."""
        self._delay.stop()
        values = self._chosen_values()
        changed = {id: value for id, value in values.items() if value != self._saved.get(id)}
        if changed and self._saved:
            self._saved = values
            self._bridge.start("set capture limits", self._apply(changed), self)

    def _chosen_values(self) -> dict[str, JSON]:
        return {
            "captures.keepDays": self.days.value(),
            "captures.keepMebibytes": self.mebibytes.value(),
            "captures.record": self.record.isChecked(),
        }

    async def _apply(self, values: Mapping[str, JSON]) -> None:
        self._show_error("")
        try:
            for id, value in values.items():
                await self._bridge.ask(lambda engine: engine.settings.set(id, value))  # noqa: B023
        except UserError as exc:
            self._show_error(str(exc))
        await self._list()

    def _show_error(self, text: str) -> None:
        self._error.setText(text)
        self._error.setVisible(bool(text))


def _number(name: str, id: str) -> QSpinBox:
    setting = setting_of(id)
    box = QSpinBox(minimum=int(setting.minimum), maximum=int(setting.maximum), suffix=f" {setting.unit}")
    box.setAccessibleName(name)
    box.setGroupSeparatorShown(True)
    return box


def _line(capture: CaptureInfo) -> QTreeWidgetItem:
    began = full_time(capture.began_ns)[:19]
    rows = f"{capture.rows:,}" if capture.rows is not None else "?"
    item = QTreeWidgetItem([began, rows, size(capture.size), _state(capture), one_line(capture.path.name)])
    item.setData(0, _PATH, capture.path)
    for column in (1, 2):
        item.setTextAlignment(column, _RIGHT)
    return item


def _state(capture: CaptureInfo) -> str:
    if capture.is_recording:
        return "recording"
    if capture.is_interrupted:
        return "interrupted"
    return "" if capture.rows is not None else "damaged"


class UnsavedRowsDialog(QDialog):
    """Asks what to do with the rows of a paused recording before the window is closed.

    Signals:
        save_requested: The user wants to save a copy of the capture.
        discard_requested: The user wants to close the window and lose the rows.
    """

    help_page = "captures"
    save_requested = Signal()
    discard_requested = Signal()

    def __init__(self, theme: Theme, rows: int, state: RecordingState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Close MCP Lens")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setModal(True)
        self.save_action = self._action("Save a copy…", self.save_requested)
        self.discard_action = self._action("Close without saving", self.discard_requested)
        self.cancel_action = self._action("Cancel", None)
        buttons = hbox(
            None,
            ActionButton(self.discard_action, "danger"),
            STRETCH,
            ActionButton(self.cancel_action),
            ActionButton(self.save_action, "primary"),
        )
        text = (
            f"Recording is paused, so the latest traffic is only in memory. {state.reason} {state.next_step}"
        )
        vbox(
            self,
            Heading(theme, f"Close without saving {plural(rows, 'row')}?"),
            PlainLabel(theme, one_line(text), wrap=True),
            buttons,
            gap=SPACE_3,
            margin=SPACE_4,
        )
        self.setMinimumWidth(_QUESTION_WIDTH)

    def _action(self, text: str, chosen: SignalInstance | None) -> QAction:
        action = QAction(text, self)
        action.triggered.connect(self.close)
        if chosen is not None:
            action.triggered.connect(lambda: chosen.emit())
        return action
