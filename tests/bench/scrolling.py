"""Time per frame while a table scrolls, against a bare table of the same size."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QTableView

_JUMPS = _STEPS = 200
_ROWS_A_NOTCH = 3  # of a mouse's wheel
_NOWHERE = QModelIndex()


@dataclass(frozen=True, slots=True)
class FrameTimes:
    """Times per frame, in milliseconds."""

    p99: float
    worst: float


async def jump(table: QTableView) -> FrameTimes:
    """Drag the scroll bar to random positions."""
    random, maximum = Random(4), table.verticalScrollBar().maximum()
    return await _frames(table, [random.randint(0, maximum) for _ in range(_JUMPS)])


async def step(table: QTableView) -> FrameTimes:
    """Turn the wheel, starting in the middle."""
    bar = table.verticalScrollBar()
    notch, start = _ROWS_A_NOTCH * bar.singleStep(), bar.maximum() // 2
    return await _frames(table, range(start, start + _STEPS * notch, notch))


async def _frames(table: QTableView, values: Iterable[int]) -> FrameTimes:
    """Measure each frame: move, paint, and process the other events."""
    bar, viewport, took = table.verticalScrollBar(), table.viewport(), []
    for value in values:
        began = time.perf_counter()
        bar.setValue(value)
        viewport.repaint()
        await asyncio.sleep(0)
        took.append((time.perf_counter() - began) * 1000)
    took.sort()
    return FrameTimes(round(took[len(took) * 99 // 100], 1), round(took[-1], 1))


class BareModel(QAbstractTableModel):
    """Numbered cells, as many as requested."""

    def __init__(self, rows: int, columns: int) -> None:
        super().__init__()
        self._rows = rows
        self._columns = columns

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = _NOWHERE) -> int:
        return self._rows

    def columnCount(self, parent: QModelIndex | QPersistentModelIndex = _NOWHERE) -> int:
        return self._columns

    def data(
        self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        return str(index.row()) if role == Qt.ItemDataRole.DisplayRole else None


def bare_twin(table: QTableView) -> QTableView:
    """Return a visible plain Qt table with this many rows and columns, and the same size."""
    model = table.model()
    columns = [column for column in range(model.columnCount()) if not table.isColumnHidden(column)]
    twin = QTableView()
    twin.setModel(BareModel(model.rowCount(), len(columns)))
    twin.model().setParent(twin)
    twin.verticalHeader().setDefaultSectionSize(table.verticalHeader().defaultSectionSize())
    twin.verticalHeader().hide()
    twin.setFont(table.font())
    for location, column in enumerate(columns):
        twin.setColumnWidth(location, table.columnWidth(column))
    twin.resize(table.size())
    twin.show()
    return twin
