"""Below the form: what can be said about a call besides its arguments. Closed until it is asked for."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inspector.config.exactfile import write_exactly
from inspector.config.savedcalls import SavedCall
from inspector.engine.toolhints import TaskChoice
from inspector.qt.forms.watchstrip import WatchStrip
from inspector.qt.panels.tools.options import NO_OPTIONS, CallOptions, OptionsStrip
from inspector.qt.panels.tools.repeating import RepeatStrip
from inspector.qt.theme import Theme


class Drawer(QWidget):
    """One strip is open at a time: options, run many times, watch. Options are kept for each tool."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._tool = ""
        self._choice = TaskChoice.NO
        self._options: dict[str, CallOptions] = {}
        self.options = OptionsStrip(theme)
        self.repeating = RepeatStrip(theme)
        self.watching = WatchStrip(theme)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 1, 0, 0)
        column.setSpacing(0)
        for strip in self._strips():
            column.addWidget(strip)
            strip.hide()
        self.hide()
        self.options.changed.connect(self._on_options_changed)
        theme.changed.connect(self.update)

    def open(self, strip: QWidget) -> None:
        for each in self._strips():
            each.setVisible(each is strip)
        self.show()

    def toggle(self, strip: QWidget) -> None:
        """Open a strip, or close it if it is the one that is open."""
        if strip.isVisibleTo(self) and not self.isHidden():
            self.hide()
        else:
            self.open(strip)
            first = strip.nextInFocusChain()
            if first is not None:
                first.setFocus()

    def clear(self) -> None:
        """Figures of another tool."""
        self.repeating.clear()
        self.watching.clear()

    def show_options(self, tool: str, choice: TaskChoice) -> None:
        if (tool, choice) != (self._tool, self._choice):
            self._tool, self._choice = tool, choice
            self.options.set_options(self._options.get(tool, NO_OPTIONS), choice)

    def put_saved(self, call: SavedCall) -> None:
        """The options that a call was saved with."""
        meta = write_exactly(call.meta).replace("\n", " ") if call.meta else ""
        known = self._options.get(call.tool, NO_OPTIONS)
        options = replace(known, timeout=call.timeout, total=call.total, meta=meta)
        self._options[call.tool] = options
        if call.tool == self._tool:
            self.options.set_options(options, self._choice)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(0, 0, self.width(), 1, self._theme.color("line"))

    def _strips(self) -> tuple[QWidget, ...]:
        return (self.options, self.repeating, self.watching)

    def _on_options_changed(self) -> None:
        self._options[self._tool] = self.options.options()
