"""What a server's processes use now, as a row of figures over the last two minutes."""

from __future__ import annotations

from PySide6.QtWidgets import QGridLayout, QWidget

from inspector.base.units import size
from inspector.engine.processsample import Sample
from inspector.qt.models.processes import percent
from inspector.qt.theme import SPACE_1, SPACE_4, Theme
from inspector.qt.widgets.labels import Heading, Muted, plain_tooltip
from inspector.qt.widgets.spark import SparkLine

MOST = 120
_MIB = 1024 * 1024
_TIPS = {
    "CPU": "Of all processes together; 100 % is one core",
    "Memory": "Of all processes together (RSS); PSS counts what they share in parts",
    "Threads": "Of all processes together",
    "Open handles": "Files, pipes and sockets of all processes together",
}
_LEAST = {"CPU": 0.1, "Memory": 8.0 * _MIB, "Threads": 4.0, "Open handles": 16.0}


class Figures(QWidget):
    """The name, value and plot of each metric. A repeated sample is counted once."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._at_ns = 0
        self._values = {name: Heading(theme, "—") for name in _LEAST}
        self._notes = {name: Muted(theme) for name in _LEAST}
        self.lines = {name: SparkLine(theme, MOST) for name in _LEAST}
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(SPACE_4)
        grid.setVerticalSpacing(SPACE_1)
        for place, name in enumerate(_LEAST):
            self.lines[name].set_least_top(_LEAST[name])
            self._values[name].setAccessibleName(name)
            self._values[name].setToolTip(plain_tooltip(_TIPS[name]))
            grid.addWidget(Muted(theme, name), 0, place)
            grid.addWidget(self._values[name], 1, place)
            grid.addWidget(self.lines[name], 2, place)
            grid.addWidget(self._notes[name], 3, place)
            grid.setColumnStretch(place, 1)

    def value(self, name: str) -> str:
        return self._values[name].text()

    def clear(self) -> None:
        """Clear the plots: previous values say nothing about another process."""
        self._at_ns = 0
        for name, line in self.lines.items():
            line.clear()
            self._values[name].setText("—")
            self._notes[name].setText("")

    def show_sample(self, sample: Sample) -> None:
        if sample.at_ns == self._at_ns:
            return
        self._at_ns = sample.at_ns
        handles = sample.handles
        self._put("CPU", sample.share, percent(sample.share), "of one core")
        pss = f"PSS {size(sample.pss)}" if sample.pss is not None else ""
        self._put("Memory", float(sample.rss), size(sample.rss), pss)
        self._put("Threads", float(sample.threads), f"{sample.threads:,}", "")
        words = f"{handles:,}" if handles is not None else "—"
        self._put("Open handles", None if handles is None else float(handles), words, "")

    def _put(self, name: str, value: float | None, words: str, note: str) -> None:
        self._values[name].setText(words)
        self._notes[name].setText(note)
        if value is not None:
            line = self.lines[name]
            line.add(value)
            line.setAccessibleName(f"{name} over the last {len(line.values)} s")
