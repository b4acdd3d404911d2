"""Above the two columns of a comparison: where each message is from, how it went, how long it took."""

from __future__ import annotations

from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inspector.base.plaintext import one_line
from inspector.qt.models.comparison import Part, Side
from inspector.qt.models.trafficcells import STATUS_TONES
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.badge import Badge
from inspector.qt.widgets.labels import Heading, Muted
from inspector.traffic.query.choices import STATUS_WORDS

_SIGN_WIDTH = 28


class DiffHead(QWidget):
    """The header of a diff. Both halves are as wide as the columns below."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._halves = (_Half(theme), _Half(theme))
        self._row = QHBoxLayout(self)
        self._row.setSpacing(0)
        for half in self._halves:
            self._row.addWidget(half, 1)
        self.leave_right(0)
        theme.changed.connect(self.update)

    def show_sides(self, left: Side, right: Side, part: Part) -> None:
        for half, side, row in zip(self._halves, (left, right), (part.left, part.right), strict=True):
            half.show_side(side, row)

    def leave_right(self, width: int) -> None:
        """Leave room on the right for the scroll bar of the columns below."""
        self._row.setContentsMargins(_SIGN_WIDTH, SPACE_2, width, SPACE_2)

    def as_text(self) -> list[str]:
        """Return one line per side, for copying."""
        return [f"{sign} {half.text()}" for sign, half in zip("-+", self._halves, strict=True)]

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        for top in (0, self.height() - 1):
            painter.fillRect(0, top, self.width(), 1, self._theme.color("line"))


class _Half(QWidget):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._title, self._where = Heading(theme), Muted(theme)
        self._status = Badge(theme)
        self._facts = Muted(theme)
        first = QHBoxLayout()
        first.setSpacing(SPACE_2)
        first.addWidget(self._title)
        first.addWidget(self._where, 1)
        second = QHBoxLayout()
        second.setSpacing(SPACE_2)
        second.addWidget(self._status)
        second.addWidget(self._facts, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_1, 0, SPACE_3, 0)
        column.setSpacing(SPACE_1)
        column.addLayout(first)
        column.addLayout(second)

    def show_side(self, side: Side, row: int | None) -> None:
        place = f"row {(side.row if row is None else row) + 1:,}"
        self._title.setText(one_line(side.name()) or place)
        self._where.setText(f"{one_line(side.title)}, {place}")
        self._status.set_text(STATUS_WORDS[side.status], STATUS_TONES[side.status])
        self._facts.setText(side.facts(row) if row is not None else "no such message")

    def text(self) -> str:
        words = [self._title.text(), self._where.text(), self._status.text, self._facts.text()]
        return " · ".join(filter(None, words))
