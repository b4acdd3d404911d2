"""Table model of the changes since a server's baseline, and the texts about them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from enum import IntEnum

from PySide6.QtCore import QAbstractTableModel, Qt

from inspector.base.plain_text import one_line
from inspector.base.units import day
from inspector.engine.drift.drift import DriftView
from inspector.protocol.drift import NOUNS, SERVER, ChangeKind, ItemChange, changes_text
from inspector.qt.models.row_models import ROOT, Index, plain_tip
from inspector.qt.theme import Theme, Tone

_SIGNS = {ChangeKind.CHANGED: "≠", ChangeKind.RENAMED: "→", ChangeKind.ADDED: "+", ChangeKind.REMOVED: "−"}
_TONES: dict[ChangeKind, Tone] = {
    ChangeKind.CHANGED: "warn",
    ChangeKind.RENAMED: "wait",
    ChangeKind.ADDED: "ok",
    ChangeKind.REMOVED: "error",
}
_HEADS = ("", "Name", "Kind", "Change")


class DriftColumn(IntEnum):
    SIGN = 0
    NAME = 1
    KIND = 2
    CHANGE = 3


class DriftRowsModel(QAbstractTableModel):
    """The changes since the baseline. Each cell is a list lookup: there may be ten thousand."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._changes: Sequence[ItemChange] = ()

    def show(self, changes: Sequence[ItemChange]) -> None:
        self.beginResetModel()
        self._changes = changes
        self.endResetModel()

    def change(self, row: int) -> ItemChange:
        return self._changes[row]

    def row_of(self, change: ItemChange) -> int | None:
        """Return the row of the same item, whatever its change."""
        known = (change.kind, change.name, change.number)
        rows = enumerate(self._changes)
        return next((row for row, each in rows if (each.kind, each.name, each.number) == known), None)

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._changes)

    def columnCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(DriftColumn)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        is_head = orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole
        return _HEADS[section] if is_head else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        change, column = self._changes[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return _text(change, column)
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._theme.color(_tone(change, column))
        if role == Qt.ItemDataRole.TextAlignmentRole and column == DriftColumn.SIGN:
            return Qt.AlignmentFlag.AlignCenter
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(_tip(change, column))
        if role == Qt.ItemDataRole.AccessibleTextRole and column == DriftColumn.SIGN:
            return change.change_kind.value
        return None


def name_text(change: ItemChange) -> str:
    """Return the display name of a change's item."""
    if change.kind == SERVER:
        return "The server itself"
    name = f"{change.old_name} → {change.name}" if change.change_kind is ChangeKind.RENAMED else change.name
    return one_line(f"{name} ({change.number + 1})" if change.number else name)


def notice_text(view: DriftView) -> str:
    """Return e.g. `3 tools changed since 12 Nov.`, plus a warning about hidden characters."""
    if view.problem:
        return view.problem
    text = changes_text(view.changes)
    sentence = f"{text[:1].upper()}{text[1:]} since {since_text(view)}."
    hidden = sum(bool(change.hidden) for change in view.changes)
    if not hidden:
        return sentence
    return f"{sentence} {hidden:,} of them {'has' if hidden == 1 else 'have'} new hidden characters."


def since_text(view: DriftView) -> str:
    return day(view.taken_ns, time.time_ns())


def _text(change: ItemChange, column: int) -> str:
    if column == DriftColumn.SIGN:
        return _SIGNS[change.change_kind]
    if column == DriftColumn.NAME:
        return name_text(change)
    return NOUNS[change.kind] if column == DriftColumn.KIND else _change_text(change)


def _change_text(change: ItemChange) -> str:
    own = ("name", "uri", "uriTemplate") if change.change_kind is ChangeKind.RENAMED else ()
    fields = [field for field in change.fields if field not in own]
    text = one_line(", ".join(fields)) or change.change_kind.value
    if change.change_kind is ChangeKind.RENAMED and fields:
        text = f"renamed; {text}"
    return f"hidden characters: {text}" if change.hidden else text


def _tip(change: ItemChange, column: int) -> str:
    if column == DriftColumn.CHANGE and change.hidden:
        return f"New hidden characters in {change.hidden}"
    return change.change_kind.value if column == DriftColumn.SIGN else _text(change, column)


def _tone(change: ItemChange, column: int) -> Tone:
    if column == DriftColumn.SIGN:
        return _TONES[change.change_kind]
    if column == DriftColumn.CHANGE:
        return "error" if change.hidden else "muted"
    return "muted" if column == DriftColumn.KIND else "text"
