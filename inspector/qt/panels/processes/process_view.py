"""Running processes with metrics over the last two minutes, and ended ones.

Shows the process tree and open files. An ended process has its exit code, run time and last stderr lines.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QPainter, QPaintEvent, QPen, QPolygonF, QShortcut
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHeaderView,
    QScrollArea,
    QSizePolicy,
    QTableView,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from inspector.base.plain_text import one_line
from inspector.base.units import full_time, size, time_of_day
from inspector.engine.processes.processes import EndedProcess, ProcessView
from inspector.engine.processes.sample import OpenFile, Sample
from inspector.engine.server_view import ServerView
from inspector.qt.actions import Actions
from inspector.qt.models.processes import ProcessColumn, ProcessesModel, age_text, percent_text
from inspector.qt.models.servers import connection_placeholder
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.item_views import style_table, style_tree
from inspector.qt.widgets.layout import STRETCH, CollapsibleSection, vbox
from inspector.qt.widgets.notices.empty_state import ContentStack
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel, plain_tooltip

_RUNNING_WIDTHS = {
    ProcessColumn.PID: 58,
    ProcessColumn.CPU: 52,
    ProcessColumn.MEMORY: 68,
    ProcessColumn.THREADS: 58,
    ProcessColumn.HANDLES: 44,
    ProcessColumn.AGE: 74,
}
_ENDED_WIDTHS = {0: 88, 2: 76, 3: 60}
_MIN_ROWS, _MAX_ROWS = 1, 8
_MIN_ENDED_ROWS = 5
MAX_SAMPLES = 120
_MIB = 1024 * 1024
_TIPS = {
    "CPU": "All processes combined; 100% is one core",
    "Memory": "All processes combined (RSS); PSS counts shared memory proportionally",
    "Threads": "All processes combined",
    "Open files": "Open files, pipes and sockets of all processes combined",
}
_MIN_TOPS = {"CPU": 0.1, "Memory": 8.0 * _MIB, "Threads": 4.0, "Open files": 16.0}


class RunningProcesses(QWidget):
    """Shows the current ProcessView, or why there is no process."""

    def __init__(self, actions: Actions, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._actions = actions
        self._theme = theme
        self._server: ServerView | None = None
        self._pid: int | None = None
        self._files: tuple[OpenFile, ...] | None = None
        self.head = MutedLabel(theme, wrap=True)
        self.metrics = ProcessMetrics(theme)
        self.model = ProcessesModel(theme, self)
        self.table = QTableView()
        self.command = PlainLabel(theme, tone="muted", mono=True, wrap=True, selectable=True)
        self.command.setAccessibleName("Command of the selected process")
        self.note = MutedLabel(theme, wrap=True)
        self.files = QTreeWidget(self)
        self.files.hide()  # until the fold is opened
        self.files_fold = CollapsibleSection(theme, "Open files", lambda: self.files)
        self._ended_heading = Heading(theme, "Exited processes")
        self.ended = EndedProcesses(theme)
        self.stack = ContentStack(theme, self._make_running())
        self._lay_out()

    def set_view(self, view: ServerView) -> None:
        """Set the server's state, shown while there is no process."""
        self._server = view
        if view.pid is None:
            self._explain(view)

    def _explain(self, view: ServerView) -> None:
        placeholder = connection_placeholder(view)
        if placeholder is None:  # connected, but not a child process
            self.stack.explain(
                "empty", "server", "No process", "MCP Lens has not started a process for this server."
            )
        else:
            text = (placeholder.title, placeholder.text, placeholder.next_step)
            actions = (self._actions[placeholder.command], self._actions.find(placeholder.other_command))
            self.stack.explain(placeholder.appearance, "server", *text, *actions)

    def show_processes(self, view: ProcessView) -> None:
        if view.pid != self._pid:
            self._pid = view.pid
            self.metrics.clear()
        self.ended.show_ended(view.ended)
        for widget in (self._ended_heading, self.ended):
            widget.setVisible(bool(view.ended))
        if view.pid is None:
            self.model.show(None)
            if self._server is not None:  # an older sample may have opened the stack since
                self._explain(self._server)
            return
        self._show_head(view)
        if view.sample is not None:
            self._show_sample(view.sample)
        self.stack.open()

    def _show_head(self, view: ProcessView) -> None:
        uptime = age_text(time.time_ns() - view.started_ns)
        where = f" · in {one_line(view.folder)}" if view.folder else ""
        self.head.setText(f"PID {view.pid} · up {uptime}{where}")
        self.head.setToolTip(plain_tooltip(f"Started {full_time(view.started_ns)}"))

    def _show_sample(self, sample: Sample) -> None:
        self.metrics.show_sample(sample)
        chosen = self.table.currentIndex().row()
        self.model.show(sample)
        if not self.table.currentIndex().isValid() and sample.processes:
            self.table.selectRow(min(max(chosen, 0), len(sample.processes) - 1))
        self._show_command()
        rows = min(max(len(sample.processes), _MIN_ROWS), _MAX_ROWS)
        height = self._theme.row_height() * rows + self.table.horizontalHeader().sizeHint().height() + 4
        self.table.setFixedHeight(height)
        hidden_text = f"{sample.left_out:,} more not shown." if sample.left_out else ""
        self.note.setText(hidden_text)
        self.note.setVisible(bool(hidden_text))
        self._show_files(sample)

    def _show_command(self) -> None:
        process = self.model.find(self.table.currentIndex().row())
        self.command.setText(process.command if process is not None else "")

    def _show_files(self, sample: Sample) -> None:
        text = f"Open files {len(sample.files):,}" if sample.files else "No open files"
        self.files_fold.set_text(f"{text} · {sample.files_note}" if sample.files_note else text)
        if sample.files == self._files:
            return
        self._files = sample.files
        self.files.clear()
        has_many = len({each.pid for each in sample.files}) > 1
        for each in sample.files:
            item = QTreeWidgetItem([each.mode, f"{each.path}  ({each.pid})" if has_many else each.path])
            item.setFont(1, self._theme.mono_font())
            item.setToolTip(1, plain_tooltip(each.path))
            self.files.addTopLevelItem(item)
        rows = min(max(len(sample.files), 1), _MAX_ROWS)
        self.files.setFixedHeight(self._theme.row_height() * rows + 4)

    def _make_running(self) -> QWidget:
        self.table.setAccessibleName("Processes")
        self.table.setModel(self.model)
        self.table.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.table.selectionModel().currentRowChanged.connect(lambda *rows: self._show_command())
        style_table(self.table, self._theme, _RUNNING_WIDTHS, [ProcessColumn.NAME])
        self.table.setFrameShape(QTableView.Shape.NoFrame)
        self.files.setAccessibleName("Open files")
        self.files.setColumnCount(2)
        self.files.setHeaderHidden(True)
        self.files.setRootIsDecorated(False)
        style_tree(self.files, self._theme)
        self.files.setFrameShape(QTreeWidget.Shape.NoFrame)
        self.files.setColumnWidth(0, 36)
        self.files.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        page = QWidget()
        vbox(
            page,
            self.head,
            self.metrics,
            self.table,
            self.note,
            self.command,
            self.files_fold,
            STRETCH,
            gap=SPACE_3,
            margin=(SPACE_4, SPACE_3, SPACE_4, SPACE_2),
        )
        self.note.hide()
        area = QScrollArea()
        area.setWidget(page)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        return area

    def _lay_out(self) -> None:
        self.ended.setMinimumHeight(self._theme.row_height() * _MIN_ENDED_ROWS)
        below = vbox(None, self._ended_heading, (self.ended, 1), margin=(SPACE_4, SPACE_2))
        vbox(self, (self.stack, 3), (below, 2), gap=0)
        for widget in (self._ended_heading, self.ended):
            widget.hide()


class EndedProcesses(QTreeWidget):
    """The ended processes, latest first, each with its last stderr lines.

    Those of an unexpected exit are expanded.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._ended: tuple[EndedProcess, ...] = ()
        self.setAccessibleName("Exited processes")
        self.setHeaderLabels(["Exited", "Exit status", "Ran for", "PID"])
        style_tree(self, theme)
        self.setFrameShape(QTreeWidget.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.header().setStretchLastSection(False)
        self.header().setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        for position, width in _ENDED_WIDTHS.items():
            self.setColumnWidth(position, width)
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
        for position, each in enumerate(self._ended):
            item = QTreeWidgetItem(
                [time_of_day(each.ended_ns)[:8], exit_text(each), _run_time(each), str(each.pid)]
            )
            item.setToolTip(0, plain_tooltip(full_time(each.ended_ns)))
            item.setForeground(1, self._theme.color("muted" if each.was_requested else "error"))
            item.setToolTip(1, plain_tooltip("\n".join(each.last_lines)))
            self.addTopLevelItem(item)
            for line in each.last_lines:
                child = QTreeWidgetItem([line])
                child.setFont(0, self._theme.mono_font())
                child.setForeground(0, self._theme.color("muted"))
                child.setToolTip(0, plain_tooltip(line))
                item.addChild(child)
                child.setFirstColumnSpanned(True)
            item.setExpanded(position == 0 and not each.was_requested)


def exit_text(ended: EndedProcess) -> str:
    """Return e.g. `exited with code 1`; with a note if MCP Lens stopped it."""
    return f"{ended.status} (stopped by MCP Lens)" if ended.was_requested else ended.status


def _text(ended: EndedProcess) -> str:
    """Return a line, with the last lines indented below it."""
    head = f"{full_time(ended.ended_ns)}  process {ended.pid} {exit_text(ended)}, ran for {_run_time(ended)}"
    return "\n".join((head, *(f"    {line}" for line in ended.last_lines)))


def _run_time(ended: EndedProcess) -> str:
    return age_text(ended.ended_ns - ended.started_ns)


class ProcessMetrics(QWidget):
    """The name, value and plot of each metric. A repeated sample is counted once."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._at_ns = 0
        self._values = {name: Heading(theme, "—") for name in _MIN_TOPS}
        self._notes = {name: MutedLabel(theme) for name in _MIN_TOPS}
        self.lines = {name: SparkLine(theme, MAX_SAMPLES) for name in _MIN_TOPS}
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(SPACE_4)
        grid.setVerticalSpacing(SPACE_1)
        for position, name in enumerate(_MIN_TOPS):
            self.lines[name].set_min_top(_MIN_TOPS[name])
            self._values[name].setAccessibleName(name)
            self._values[name].setToolTip(plain_tooltip(_TIPS[name]))
            grid.addWidget(MutedLabel(theme, name), 0, position)
            grid.addWidget(self._values[name], 1, position)
            grid.addWidget(self.lines[name], 2, position)
            grid.addWidget(self._notes[name], 3, position)
            grid.setColumnStretch(position, 1)

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
        self._put("CPU", sample.share, percent_text(sample.share), "of one core")
        pss = f"PSS {size(sample.pss)}" if sample.pss is not None else ""
        self._put("Memory", float(sample.rss), size(sample.rss), pss)
        self._put("Threads", float(sample.threads), f"{sample.threads:,}", "")
        text = f"{handles:,}" if handles is not None else "—"
        self._put("Open files", None if handles is None else float(handles), text, "")

    def _put(self, name: str, value: float | None, text: str, note: str) -> None:
        self._values[name].setText(text)
        self._notes[name].setText(note)
        if value is not None:
            line = self.lines[name]
            line.add(value)
            line.setAccessibleName(f"{name} over the last {len(line.values)} s")


class SparkLine(QWidget):
    """The last values of a metric as a small area, newest on the right. Unitless."""

    def __init__(self, theme: Theme, maximum: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._min_top = 0.0
        self._values: deque[float] = deque(maxlen=maximum)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def set_min_top(self, value: float) -> None:
        """Set the minimum top of the axis, so that small variations do not look large."""
        self._min_top = value

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(self._values)

    def add(self, value: float) -> None:
        self._values.append(value)
        self.update()

    def clear(self) -> None:
        self._values.clear()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(96, 28)

    def minimumSizeHint(self) -> QSize:
        return QSize(48, 28)

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:  # also ends on an error: a painter left open crashes
            painter.fillRect(0, self.height() - 1, self.width(), 1, self._theme.color("line"))
            if len(self._values) > 1:
                self._paint_area(painter)

    def _paint_area(self, painter: QPainter) -> None:
        top = max(self._min_top, *self._values) or 1.0
        step = (self.width() - 2) / max(1, (self._values.maxlen or 2) - 1)
        right, height = self.width() - 1.0, self.height() - 3.0
        line = QPolygonF()
        for samples_ago, value in enumerate(reversed(self._values)):
            line.append(QPointF(right - samples_ago * step, 1 + height * (1 - value / top)))
        area = QPolygonF(line)
        area.append(QPointF(line.last().x(), self.height() - 1))
        area.append(QPointF(right, self.height() - 1))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.tokens.tint("outbound", 0.22))
        painter.drawPolygon(area)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(self._theme.color("outbound"), 1.25))
        painter.drawPolyline(line)
