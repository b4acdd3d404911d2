"""Helpers for tests of the traffic panel: fill the table, find rows, read cells and menus."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction

from inspector.qt.models.traffic.columns import Column
from inspector.qt.panels.traffic.panel import TrafficPanel
from inspector.qt.panels.traffic.row_commands import make_menu, terms_of
from inspector.traffic.records import RecordKind
from tests.qt.lens_driver import Lens, faulty


def column(panel: TrafficPanel, which: Column) -> list[object]:
    return [panel.model.index(row, which).data() for row in range(panel.model.rowCount())]


def fill(lens: Lens, count: int = 60) -> None:
    """Record enough rows that the table must scroll."""
    lens.connect(faulty("chatty"))
    lens.call("floods", {"count": count})
    lens.until(lambda: lens.window.traffic.model.rowCount() > count)


def at_end(panel: TrafficPanel) -> bool:
    bar = panel.table.verticalScrollBar()
    return bar.maximum() > 0 and bar.value() == bar.maximum()


def find(lens: Lens, method: str, kind: RecordKind = RecordKind.REQUEST) -> int:
    """Return the newest log row of a method and kind."""
    return next(row.number for row in reversed(lens.records()) if (row.method, row.kind) == (method, kind))


def chosen(panel: TrafficPanel) -> int | None:
    index = panel.table.currentIndex()
    return panel.model.number(index.row()) if index.isValid() else None


def numbers(panel: TrafficPanel) -> list[int]:
    return [panel.model.number(row) for row in range(panel.model.rowCount())]


def menu_of(panel: TrafficPanel, number: int, column: Column) -> dict[str, QAction]:
    """Return the context menu actions of a cell by text."""
    row = panel.model.find_row(number)
    assert row is not None
    terms = terms_of(panel.source.log, number, column)
    menu = make_menu(panel, terms, panel.local_actions, panel._filter.narrow_term)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    return {action.text(): action for action in menu.actions()}
