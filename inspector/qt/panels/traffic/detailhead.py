"""The head of the detail: what the row is, how it stands, what is wrong with it."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inspector.base.plaintext import one_line
from inspector.qt.models.traffic import STATUS_TONES, STATUS_WORDS
from inspector.qt.panels.traffic import about
from inspector.qt.theme import SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.badge import Badge
from inspector.qt.widgets.labels import Heading, Muted, PlainLabel
from inspector.traffic.log import TrafficLog


class DetailHead(QWidget):
    """Two lines and a badge; a third line for a row that has a problem."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = Heading(theme)
        self._caption = Muted(theme)
        self._badge = Badge(theme)
        self._problem = PlainLabel(theme, tone="error", wrap=True, selectable=True)
        row = QHBoxLayout()
        row.setSpacing(SPACE_2)
        row.addWidget(self._title, 1)
        row.addWidget(self._badge)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_2)
        column.setSpacing(0)
        column.addLayout(row)
        column.addWidget(self._caption)
        column.addWidget(self._problem)

    def show_row(self, log: TrafficLog, row: int) -> None:
        status, problem = log.status(row), log.problem(row)
        self._title.setText(about.title(log, row))
        self._caption.setText(about.caption(log, row))
        self._badge.set_text(STATUS_WORDS[status], STATUS_TONES[status])
        self._problem.setText(one_line(problem))
        self._problem.setVisible(bool(problem))
