"""Table model of a diff: sign, left, right; runs of equal lines are folded until opened."""

from __future__ import annotations

import asyncio
import time
from enum import IntEnum
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

from inspector.base.json.values import JSON
from inspector.base.units import plural
from inspector.qt.models.record_table import CENTER, Column, Index, RecordRole, RecordTable
from inspector.qt.theme import Theme, Tone
from inspector.traffic.compare.diff import ChangeKind, Cut, Diff, path_text
from inspector.traffic.compare.lines import Fold, Line, Row, each_line, lines

# The span of a changed text that differs: a pair of start and end, or None.
StretchRole = RecordRole + 1
_SLICE_S = 0.008
_SIGNS = {
    ChangeKind.ADDED: "+",
    ChangeKind.REMOVED: "−",
    ChangeKind.CHANGED: "≠",
    ChangeKind.MOVED: "↕",
    ChangeKind.IGNORED: "~",
}
_LABELS = {
    ChangeKind.ADDED: "added",
    ChangeKind.REMOVED: "removed",
    ChangeKind.CHANGED: "changed",
    ChangeKind.MOVED: "moved",
    ChangeKind.IGNORED: "different, but ignored",
}
_TONES: dict[ChangeKind, Tone] = {
    ChangeKind.ADDED: "ok",
    ChangeKind.REMOVED: "error",
    ChangeKind.CHANGED: "warn",
    ChangeKind.MOVED: "wait",
    ChangeKind.IGNORED: "muted",
}


class DiffColumn(IntEnum):
    SIGN = 0
    LEFT = 1
    RIGHT = 2


class DiffRowsModel(RecordTable[Row]):
    """The rows of a diff, at most `lines.MAX_LINES`."""

    def __init__(self, theme: Theme) -> None:
        columns = [Column("", _sign, _sign_tone, _sign_label, accessible=_sign_label, align=CENTER)]
        for side in (DiffColumn.LEFT, DiffColumn.RIGHT):
            columns.append(Column("", partial(_side_text, side), _tone, partial(_side_tip, side)))
        super().__init__(theme, columns)
        self._diff: Diff | None = None
        self._opened: set[int] = set()
        self._changes: list[int] = []

    async def show(self, diff: Diff) -> None:
        """Create the rows in slices, so that the window stays responsive, and show them."""
        rows: list[Row] = []
        until = time.monotonic() + _SLICE_S
        for row in each_line(diff):
            rows.append(row)
            if time.monotonic() >= until:
                await asyncio.sleep(0)
                until = time.monotonic() + _SLICE_S
        self._opened.clear()
        self._diff = diff
        self._set_rows(rows)

    def toggle(self, row: int) -> bool:
        """Open or close the fold at a row. Return False if there is none."""
        key = self.record(row).key
        if key is None:
            return False
        self._opened ^= {key}
        self._lay_out()
        return True

    def fold_all(self) -> None:
        self._opened.clear()
        self._lay_out()

    def _lay_out(self) -> None:
        self._set_rows(lines(self._diff, self._opened) if self._diff is not None else [])

    def _set_rows(self, rows: list[Row]) -> None:
        self._changes = self._find_changes(rows)
        self.replace(rows)

    def changes(self) -> list[int]:
        """Return the rows where a difference begins; in a long text, each line that differs."""
        return self._changes

    def _find_changes(self, rows: list[Row]) -> list[int]:
        found: list[int] = []
        entry = -1
        for position, row in enumerate(rows):
            if not (isinstance(row, Line) and row.mark.is_difference):
                entry = -1
            elif row.entry != entry:
                entry = row.entry
                if not self._has_lines(entry):
                    found.append(position)
        return found

    def _has_lines(self, entry: int) -> bool:
        entries = self._diff.entries if self._diff is not None else ()
        below = entries[entry + 1] if entry + 1 < len(entries) else None
        return below is not None and below.is_line and below.parent == entry

    def path(self, row: int) -> str:
        """Return the path of a row's value."""
        line = self.record(row)
        return self._diff.path_text(line.entry) if self._diff is not None and isinstance(line, Line) else ""

    def ignorable(self, row: int) -> list[str]:
        """Return paths to ignore for a row: the exact one, and the same place in all items."""
        line = self.record(row)
        if self._diff is None or not isinstance(line, Line):
            return []
        entry = self._diff.entries[line.entry]
        path = self._diff.path(entry.parent if entry.is_line else line.entry)
        if not path:
            return []
        loose = "".join("[*]" if isinstance(step, int) else _named(step) for step in path)
        return list(dict.fromkeys([path_text(path), loose.removeprefix(".")]))

    def values(self, row: int) -> tuple[JSON | Cut, JSON | Cut] | None:
        """Return both values of a row, in full."""
        line = self.record(row)
        if self._diff is None or not isinstance(line, Line):
            return None
        entry = self._diff.entries[line.entry]
        return entry.left, entry.right

    def note(self, row: int) -> str:
        line = self.record(row)
        return line.note if isinstance(line, Line) else ""

    def as_text(self) -> str:
        """Return all rows as currently folded, in unified diff style."""
        return "\n".join(text for row in self.records for text in _unified(row))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role == Qt.ItemDataRole.BackgroundRole:
            return self._ground(self.record(index.row()), index.column())
        if role == StretchRole:
            return _stretch(self.record(index.row()), index.column())
        return super().data(index, role)

    def _ground(self, row: Row, column: int) -> QColor | None:
        """Return a tint for differences; sunken where only the other side has something, and for folds."""
        if isinstance(row, Fold):
            return self._theme.color("sunken")
        if not row.mark.is_difference:
            return None
        text = {DiffColumn.LEFT: row.left, DiffColumn.RIGHT: row.right}.get(DiffColumn(column), "sign")
        return self._theme.tokens.tint(_TONES[row.mark], 0.10) if text else self._theme.color("sunken")


def _sign(row: Row) -> str:
    if isinstance(row, Fold):
        return ""
    return _SIGNS.get(row.mark, "›" if row.key is not None else "")


def _sign_tone(row: Row) -> Tone:
    return _TONES.get(row.mark, "muted") if isinstance(row, Line) else "muted"


def _sign_label(row: Row) -> str:
    return _fold_tip(row) if isinstance(row, Fold) else _LABELS.get(row.mark, "")


def _side_text(side: int, row: Row) -> str:
    if isinstance(row, Fold):
        return f"{_indent(row.depth)}⋯ {row.count:,} equal"
    text = row.left if side == DiffColumn.LEFT else row.right
    note = f"   {row.note}" if row.note and side == DiffColumn.RIGHT else ""
    return f"{_indent(row.depth)}{text}{note}" if text or note else ""


def _side_tip(side: int, row: Row) -> str:
    return _fold_tip(row) if isinstance(row, Fold) else _side_text(side, row).strip()


def _fold_tip(fold: Fold) -> str:
    return "Click to show them" if fold.key is not None else "Too many to show"


def _tone(row: Row) -> Tone:
    return "muted" if isinstance(row, Fold) or row.mark is ChangeKind.IGNORED else "text"


def _named(step: str) -> str:
    """Return a member as a path suffix: `.text` or `["odd name"]`."""
    return path_text(("x", step)).removeprefix("x")


def _indent(depth: int) -> str:
    return "  " * min(depth, 40)


def _stretch(line: Row, column: int) -> tuple[int, int] | None:
    """Return the span of a changed line between the common prefix and suffix of both texts."""
    if (
        isinstance(line, Fold)
        or line.mark is not ChangeKind.CHANGED
        or column == DiffColumn.SIGN
        or not (line.left and line.right)
    ):
        return None
    left, right = line.left, line.right
    shorter = min(len(left), len(right))
    start = next((at for at in range(shorter) if left[at] != right[at]), shorter)
    rest = shorter - start
    end = next((at for at in range(rest) if left[-1 - at] != right[-1 - at]), rest)
    text, margin = left if column == DiffColumn.LEFT else right, len(_indent(line.depth))
    return margin + start, margin + len(text) - end


def _unified(row: Row) -> list[str]:
    if isinstance(row, Fold):
        return [f"  {_indent(row.depth)}… {plural(row.count, 'equal value')}"]
    indent, note = _indent(row.depth), f"   ({row.note})" if row.note else ""
    if row.mark is ChangeKind.CHANGED or (row.left and row.right and row.left != row.right):
        sides = [("-", row.left), ("+", row.right)]
    else:
        sign = {ChangeKind.ADDED: "+", ChangeKind.REMOVED: "-"}.get(row.mark, " ")
        sides = [(sign, row.left or row.right)]
    shown = [f"{sign} {indent}{text}" for sign, text in sides if text]
    return [*shown[:-1], shown[-1] + note] if shown else []
