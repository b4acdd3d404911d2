"""Tests of `vbox` and `hbox`."""

from __future__ import annotations

from PySide6.QtCore import QMargins, Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from inspector.qt.widgets.layout import STRETCH, hbox, vbox


def test_items_keep_their_order_stretch_and_alignment(qtbot: QtBot) -> None:
    parent, wide, small = QWidget(), QWidget(), QWidget()
    qtbot.addWidget(parent)
    row = hbox(None, (wide, 2), (STRETCH, 0), gap=3)
    top = Qt.AlignmentFlag.AlignTop
    column = vbox(parent, row, 5, None, STRETCH, (small, 1, top), gap=4)
    assert parent.layout() is column
    assert [column.stretch(position) for position in range(column.count())] == [0, 0, 1, 1]
    first, space, _, last = (column.itemAt(position) for position in range(column.count()))
    assert first is not None
    assert first.layout() is row
    assert space is not None
    assert space.sizeHint().height() == 5
    assert last is not None
    assert last.alignment() == top
    assert (column.spacing(), row.spacing()) == (4, 3)
    assert [row.stretch(position) for position in range(row.count())] == [2, 0]
    assert wide.parent() is parent


def test_margin_is_one_number_a_pair_or_four_numbers(qtbot: QtBot) -> None:
    assert vbox(None).contentsMargins() == QMargins(0, 0, 0, 0)
    assert vbox(None, margin=7).contentsMargins() == QMargins(7, 7, 7, 7)
    assert vbox(None, margin=(1, 2)).contentsMargins() == QMargins(1, 2, 1, 2)
    assert vbox(None, margin=(1, 2, 3, 4)).contentsMargins() == QMargins(1, 2, 3, 4)
