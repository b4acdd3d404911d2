"""The base model of tables of records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QPersistentModelIndex, Qt
from PySide6.QtWidgets import QApplication

from inspector.qt.models.record_table import RIGHT, Column, RecordRole, RecordTable
from inspector.qt.theme import Theme
from tests.qt.panel_stage import ICONS


@dataclass(frozen=True)
class Pet:
    name: str
    age: int = 1


def pets(*names: str) -> list[Pet]:
    return [Pet(name) for name in names]


@pytest.fixture
def theme(qapp: QApplication) -> Theme:
    return Theme(ICONS)


@pytest.fixture
def table(theme: Theme) -> RecordTable[Pet]:
    columns: tuple[Column[Pet], ...] = (
        Column("Name", lambda pet: pet.name, tip=lambda pet: "<b>" if pet.age > 1 else ""),
        Column("Age", lambda pet: str(pet.age), "muted", align=RIGHT),
    )
    return RecordTable(theme, columns, lambda pet: pet.name)


NAMES = st.lists(st.sampled_from("abcdefghij"), unique=True)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(before=NAMES, after=NAMES)
def test_rows_follow_any_update_and_keep_their_record(
    table: RecordTable[Pet], qtmodeltester: Any, before: list[str], after: list[str]
) -> None:
    table.replace(pets(*before))
    qtmodeltester.check(table)
    held = {name: QPersistentModelIndex(table.index(row, 1)) for row, name in enumerate(before)}
    table.update(pets(*after))
    assert [table.index(row, 0).data() for row in range(table.rowCount())] == after
    assert all(table.row_of(name) == row for row, name in enumerate(after))
    for name, index in held.items():
        assert index.isValid() == (name in after)
        assert not index.isValid() or index.data(RecordRole).name == name


def test_only_changed_records_are_reported(table: RecordTable[Pet]) -> None:
    first, second, third = pets("a", "b", "c")
    table.update([first, second, third])
    reported: list[tuple[int, int]] = []
    table.dataChanged.connect(lambda start, end: reported.append((start.row(), end.row())))
    table.update([first, Pet("b", 2), third])
    assert reported == [(1, 1)]
    assert table.index(1, 1).data() == "2"


def test_records_with_the_same_key_are_all_shown(table: RecordTable[Pet]) -> None:
    table.update(pets("a", "b"))
    table.update(pets("a", "a", "b"))
    assert table.rowCount() == 3
    table.update(pets("b"))
    assert table.records == pets("b")


def test_cells_show_what_their_column_says(table: RecordTable[Pet], theme: Theme) -> None:
    table.update([Pet("a"), Pet("b", 2)])
    name, age = table.index(0, 0), table.index(0, 1)
    assert name.data(Qt.ItemDataRole.ForegroundRole) is None
    assert age.data(Qt.ItemDataRole.ForegroundRole) == theme.color("muted")
    assert table.headerData(1, Qt.Orientation.Horizontal, Qt.ItemDataRole.TextAlignmentRole) == RIGHT
    assert name.data(Qt.ItemDataRole.ToolTipRole) is None
    assert "<b>" not in table.index(1, 0).data(Qt.ItemDataRole.ToolTipRole)
    assert table.find(-1) is None
    assert table.find(1) == Pet("b", 2)
