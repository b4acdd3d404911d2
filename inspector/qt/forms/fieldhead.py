"""The line above an editor: what the field is called, and what fits into it."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QSizePolicy, QWidget

from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line
from inspector.qt.forms.look import ERROR, MUTED, Look
from inspector.qt.theme import SPACE_1, SPACE_2
from inspector.qt.widgets.labels import plain_tooltip
from inspector.schema.describe import summary
from inspector.schema.fields import Member

_TEXT = QPalette.ColorRole.WindowText


@dataclass(frozen=True, slots=True)
class _Part:
    text: str
    font: QFont
    role: QPalette.ColorRole
    gap: int = SPACE_2


class FieldHead(QWidget):
    """Title, required mark, name and kind, painted on one line and elided from the right.

    One painted widget instead of four labels: a large form is built in half the time.
    """

    def __init__(self, look: Look, member: Member, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        field = member.field
        title, name = one_line(field.title), one_line(shorten(member.name, 200))
        self._parts = [_Part(title or name, look.title, _TEXT, gap=0)]
        self._mark_width = 0  # kept free for the required mark, however long the title
        if member.required:
            self._mark_width = SPACE_1 + QFontMetrics(look.title).horizontalAdvance("*")
            self._parts.append(_Part("*", look.title, ERROR, gap=SPACE_1))
        if title and title != name:
            self._parts.append(_Part(name, look.small_mono, MUTED))
        self._parts.append(_Part(summary(field), look.small, MUTED))
        self._height = QFontMetrics(look.title).height()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.words())
        self.setToolTip(plain_tooltip(f"{self.words()}\n{'Required' if member.required else 'Optional'}"))

    def words(self) -> str:
        return " ".join(part.text for part in self._parts if part.text != "*")

    def sizeHint(self) -> QSize:
        return QSize(120, self._height)

    def minimumSizeHint(self) -> QSize:
        return QSize(60, self._height)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        baseline = QFontMetrics(self._parts[0].font).ascent()  # smaller fonts share the baseline
        left = 0
        for part in self._parts:
            metrics = QFontMetrics(part.font)
            left += part.gap
            room = self.width() - left - (self._mark_width if part is self._parts[0] else 0)
            shown = metrics.elidedText(part.text, Qt.TextElideMode.ElideRight, room)
            painter.setFont(part.font)
            painter.setPen(self.palette().color(part.role))
            painter.drawText(left, baseline, shown)
            left += metrics.horizontalAdvance(shown)
