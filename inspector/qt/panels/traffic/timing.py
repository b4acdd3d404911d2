"""Where the time went: a small waterfall of the operation, and the facts about the row below it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QScrollArea, QSizePolicy, QToolTip, QVBoxLayout, QWidget

from inspector.base.units import duration
from inspector.qt.panels.traffic.phases import Bar, Timing
from inspector.qt.theme import SPACE_2, SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.keyvalue import Fact, KeyValueList
from inspector.qt.widgets.labels import Heading, Muted, plain_tooltip

_NUMBER_WIDTH = 76
_LEAST_TRACK = 96
_TALLEST_LABEL = 220
_BAR_HEIGHT = 8


class TimingView(QScrollArea):
    """The waterfall, its total and `facts` about the row."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.waterfall = Waterfall(theme)
        self._sums = Muted(theme, wrap=True)
        self._nothing = Muted(theme, "Only requests and HTTP exchanges take time.", wrap=True)
        self._about = Heading(theme, "About this row")
        self.facts = KeyValueList(theme)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(SPACE_3, SPACE_3, SPACE_3, SPACE_3)
        column.setSpacing(SPACE_2)
        for widget in (self.waterfall, self._sums, self._nothing):
            column.addWidget(widget)
        column.addSpacing(SPACE_4)
        column.addWidget(self._about)
        column.addWidget(self.facts)
        column.addStretch(1)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidget(page)

    def show_timing(self, timing: Timing) -> None:
        self.waterfall.set_timing(timing)
        self.waterfall.setVisible(bool(timing.bars))
        self._nothing.setVisible(not timing.bars)
        sums = self._sums_text(timing)
        self._sums.setText(sums)
        self._sums.setVisible(bool(sums))

    def show_facts(self, facts: list[Fact]) -> None:
        self.facts.set_facts(facts)

    def _sums_text(self, timing: Timing) -> str:
        parts: list[str] = []
        if timing.person_ns:
            rest = max(0, timing.total_ns - timing.person_ns)
            parts.append(f"{duration(timing.person_ns)} waiting for a person, {duration(rest)} without.")
        if timing.is_open:
            parts.append("Still open: it goes on until its answer comes.")
        if timing.left_out:
            parts.append(f"{timing.left_out:,} more are not drawn; Linked lists them.")
        return " ".join(parts)


class Waterfall(QWidget):
    """Bars on a common axis: a label, the bar, and its duration on the right."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._timing = Timing()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    @property
    def timing(self) -> Timing:
        return self._timing

    def set_timing(self, timing: Timing) -> None:
        if timing == self._timing:
            return
        self._timing = timing
        self.setAccessibleName("Where the time went")
        self.setAccessibleDescription(self.as_text())
        self.updateGeometry()
        self.update()

    def as_text(self) -> str:
        """Return one line per bar."""
        return "\n".join(f"{bar.label}: {_length(bar)}" for bar in self._timing.bars)

    def sizeHint(self) -> QSize:
        return QSize(320, self._row_height() * len(self._timing.bars))

    def minimumSizeHint(self) -> QSize:
        return QSize(200, self.sizeHint().height())

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            place = event.pos().y() // self._row_height()
            if 0 <= place < len(self._timing.bars):
                tip = _tip(self._timing.bars[place])
                QToolTip.showText(event.globalPos(), plain_tooltip(tip), self)
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._theme.ui_font(0.95))
        height = self._row_height()
        track = self._track()
        self._paint_grid(painter, track)
        for place, bar in enumerate(self._timing.bars):
            self._paint_bar(painter, bar, QRect(0, place * height, self.width(), height), track)

    # --------------------------------------------------------------

    def _row_height(self) -> int:
        return self._theme.row_height()

    def _track(self) -> QRect:
        """Return where the bars go: what labels and numbers leave, with a minimum."""
        room = self.width() - _NUMBER_WIDTH
        label = min(_TALLEST_LABEL, max(room - _LEAST_TRACK, 0), max(96, room * 2 // 5))
        return QRect(label, 0, room - label, self.height())

    def _paint_grid(self, painter: QPainter, track: QRect) -> None:
        painter.setPen(QPen(self._theme.color("line"), 1))
        for quarter in range(5):
            x = track.left() + round((track.width() - 1) * quarter / 4)
            painter.drawLine(x, track.top(), x, track.bottom())

    def _paint_bar(self, painter: QPainter, bar: Bar, row: QRect, track: QRect) -> None:
        indent = SPACE_3 if bar.is_part else 0
        label = QRect(indent, row.top(), track.left() - indent - SPACE_2, row.height())
        shown = painter.fontMetrics().elidedText(bar.label, Qt.TextElideMode.ElideRight, label.width())
        painter.setPen(self._theme.color("muted" if bar.is_part else "text"))
        painter.drawText(label, _LEFT, shown)
        number = QRect(track.right(), row.top(), self.width() - track.right() - 1, row.height())
        painter.setPen(self._theme.color("muted" if bar.is_part else "text"))
        painter.drawText(number, _RIGHT, _length(bar))
        self._paint_stretch(painter, bar, row, track)

    def _paint_stretch(self, painter: QPainter, bar: Bar, row: QRect, track: QRect) -> None:
        total = max(1, self._timing.total_ns)
        left = track.left() + track.width() * min(bar.start_ns, total) / total
        end = total if bar.duration_ns is None else bar.start_ns + bar.duration_ns
        right = track.left() + track.width() * min(end, total) / total
        height = _BAR_HEIGHT - 2 if bar.is_part else _BAR_HEIGHT
        box = QRectF(left, row.center().y() - height / 2 + 1, max(2.0, right - left), height)
        self._fill(painter, bar, box)
        painter.setPen(QPen(self._theme.color("surface"), 2))
        for mark in bar.marks:
            x = track.left() + track.width() * min(mark, total) / total
            painter.drawLine(round(x), round(box.top()), round(x), round(box.bottom()))

    def _fill(self, painter: QPainter, bar: Bar, box: QRectF) -> None:
        """Fill a bar; an open one is only outlined, so that its unknown end does not look final."""
        color: QColor = self._theme.color(bar.tone)
        painter.setPen(QPen(color, 1, Qt.PenStyle.DashLine) if bar.duration_ns is None else Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.tokens.tint(bar.tone) if bar.duration_ns is None else color)
        painter.drawRoundedRect(box, 2, 2)


_ONE_LINE = Qt.AlignmentFlag.AlignVCenter.value | Qt.TextFlag.TextSingleLine.value
_LEFT = _ONE_LINE | Qt.AlignmentFlag.AlignLeft.value
_RIGHT = _ONE_LINE | Qt.AlignmentFlag.AlignRight.value


def _length(bar: Bar) -> str:
    return "open" if bar.duration_ns is None else duration(bar.duration_ns)


def _tip(bar: Bar) -> str:
    lines = [bar.label, f"begins after {duration(bar.start_ns)}, takes {_length(bar)}"]
    lines += [bar.hint] if bar.hint else []
    lines += [f"{len(bar.marks):,} messages on the way"] if bar.marks else []
    return "\n".join(lines)
