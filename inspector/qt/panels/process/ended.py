"""How the processes of a server ended before: when, how, after how long, and with which last words."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QHeaderView, QTreeWidget, QTreeWidgetItem, QWidget

from inspector.base.units import full_time, time_of_day
from inspector.engine.processes import EndedProcess
from inspector.qt.models.processes import age
from inspector.qt.theme import Theme
from inspector.qt.widgets.itemviews import dress_tree
from inspector.qt.widgets.labels import plain_tooltip

_WIDTHS = {0: 88, 2: 76, 3: 60}


class EndedList(QTreeWidget):
    """The ended processes, latest first, each with its last stderr lines.

    Those of an unexpected exit are expanded.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._ended: tuple[EndedProcess, ...] = ()
        self.setAccessibleName("How processes ended")
        self.setHeaderLabels(["Ended", "How", "Ran for", "PID"])
        dress_tree(self, theme)
        self.setFrameShape(QTreeWidget.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.header().setStretchLastSection(False)
        self.header().setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        for place, width in _WIDTHS.items():
            self.setColumnWidth(place, width)
        keys = QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), self)
        keys.setContext(Qt.ShortcutContext.WidgetShortcut)  # the window copies other things
        keys.activated.connect(self.copy)
        theme.changed.connect(self._show)

    def show_ended(self, ended: Sequence[EndedProcess]) -> None:
        if tuple(ended) != self._ended:
            self._ended = tuple(ended)
            self._show()

    def as_text(self) -> str:
        """Return all of them as text."""
        return "\n".join(_text(each) for each in self._ended)

    def copy(self) -> None:
        """Copy the selected one with its last lines."""
        item = self.currentItem()
        top = item.parent() or item if item is not None else None
        if top is not None:
            QGuiApplication.clipboard().setText(_text(self._ended[self.indexOfTopLevelItem(top)]))

    def _show(self) -> None:
        self.clear()
        for place, each in enumerate(self._ended):
            item = QTreeWidgetItem([time_of_day(each.ended_ns)[:8], how(each), _ran(each), str(each.pid)])
            item.setToolTip(0, plain_tooltip(full_time(each.ended_ns)))
            item.setForeground(1, self._theme.color("muted" if each.was_asked else "error"))
            item.setToolTip(1, plain_tooltip("\n".join(each.last_lines)))
            self.addTopLevelItem(item)
            for line in each.last_lines:
                said = QTreeWidgetItem([line])
                said.setFont(0, self._theme.mono_font())
                said.setForeground(0, self._theme.color("muted"))
                said.setToolTip(0, plain_tooltip(line))
                item.addChild(said)
                said.setFirstColumnSpanned(True)
            item.setExpanded(place == 0 and not each.was_asked)


def how(ended: EndedProcess) -> str:
    """Return e.g. `exited with code 1`; with a note if MCP Lens stopped it."""
    return f"{ended.status} (by us)" if ended.was_asked else ended.status


def _text(ended: EndedProcess) -> str:
    """Return a line, with the last lines indented below it."""
    head = f"{full_time(ended.ended_ns)}  process {ended.pid} {how(ended)}, ran for {_ran(ended)}"
    return "\n".join((head, *(f"    {line}" for line in ended.last_lines)))


def _ran(ended: EndedProcess) -> str:
    return age(ended.ended_ns - ended.started_ns)
