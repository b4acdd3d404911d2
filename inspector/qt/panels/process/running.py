"""What runs of one server: figures, the tree of its processes, open files, and how earlier ones ended."""

from __future__ import annotations

import time

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QFrame,
    QHeaderView,
    QScrollArea,
    QTableView,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from inspector.base.plaintext import one_line
from inspector.base.units import full_time
from inspector.engine.processes import ProcessView
from inspector.engine.processsample import OpenFile, Sample
from inspector.engine.views import ServerView
from inspector.qt.actions import Actions
from inspector.qt.models.processes import Column, ProcessesModel, age
from inspector.qt.models.standing import standing_of
from inspector.qt.panels.process.ended import EndedList
from inspector.qt.panels.process.figures import Figures
from inspector.qt.theme import SPACE_2, SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.fold import Fold
from inspector.qt.widgets.gate import Gate
from inspector.qt.widgets.itemviews import dress_table, dress_tree
from inspector.qt.widgets.labels import Heading, Muted, PlainLabel, plain_tooltip

_WIDTHS = {
    Column.PID: 58,
    Column.CPU: 52,
    Column.MEMORY: 68,
    Column.THREADS: 58,
    Column.HANDLES: 44,
    Column.AGE: 74,
}
_LEAST_ROWS, _MOST_ROWS = 1, 8
_LEAST_ENDED = 5


class RunningView(QWidget):
    """Shows the current ProcessView, or why there is no process."""

    def __init__(self, actions: Actions, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._actions = actions
        self._theme = theme
        self._server: ServerView | None = None
        self._pid: int | None = None
        self._files: tuple[OpenFile, ...] | None = None
        self.head = Muted(theme, wrap=True)
        self.figures = Figures(theme)
        self.model = ProcessesModel(theme, self)
        self.table = QTableView()
        self.command = PlainLabel(theme, tone="muted", mono=True, wrap=True, selectable=True)
        self.command.setAccessibleName("Command of the chosen process")
        self.note = Muted(theme, wrap=True)
        self.files = QTreeWidget(self)
        self.files.hide()  # until the fold is opened
        self.files_fold = Fold(theme, "Open files", lambda: self.files)
        self._ended_heading = Heading(theme, "Ended before")
        self.ended = EndedList(theme)
        self.gate = Gate(theme, self._make_running())
        self._lay_out()

    def set_view(self, view: ServerView) -> None:
        """Set the server's state, shown while there is no process."""
        self._server = view
        if view.pid is None:
            self._explain(view)

    def _explain(self, view: ServerView) -> None:
        standing = standing_of(view)
        if standing is None:  # connected, but not a child process
            self.gate.explain("empty", "server", "No process", "There is no process of ours.")
        else:
            words = (standing.title, standing.sentence, standing.next_step)
            self.gate.explain(standing.look, "server", *words, self._actions[standing.command])

    def show_processes(self, view: ProcessView) -> None:
        if view.pid != self._pid:
            self._pid = view.pid
            self.figures.clear()
        self.ended.show_ended(view.ended)
        for widget in (self._ended_heading, self.ended):
            widget.setVisible(bool(view.ended))
        if view.pid is None:
            self.model.show(None)
            if self._server is not None:  # an older sample may have opened the gate since
                self._explain(self._server)
            return
        self._show_head(view)
        if view.sample is not None:
            self._show_sample(view.sample)
        self.gate.open()

    # --------------------------------------------------------------

    def _show_head(self, view: ProcessView) -> None:
        up = age(time.time_ns() - view.started_ns)
        where = f" · in {one_line(view.folder)}" if view.folder else ""
        self.head.setText(f"Process {view.pid} · up {up}{where}")
        self.head.setToolTip(plain_tooltip(f"Started {full_time(view.started_ns)}"))

    def _show_sample(self, sample: Sample) -> None:
        self.figures.show_sample(sample)
        chosen = self.table.currentIndex().row()
        self.model.show(sample)
        if not self.table.currentIndex().isValid() and sample.processes:
            self.table.selectRow(min(max(chosen, 0), len(sample.processes) - 1))
        self._show_command()
        rows = min(max(len(sample.processes), _LEAST_ROWS), _MOST_ROWS)
        height = self._theme.row_height() * rows + self.table.horizontalHeader().sizeHint().height() + 4
        self.table.setFixedHeight(height)
        left_out = f"{sample.left_out:,} more are not shown." if sample.left_out else ""
        self.note.setText(left_out)
        self.note.setVisible(bool(left_out))
        self._show_files(sample)

    def _show_command(self) -> None:
        row = self.table.currentIndex().row()
        self.command.setText(self.model.process(row).command if 0 <= row < self.model.rowCount() else "")

    def _show_files(self, sample: Sample) -> None:
        words = f"Open files {len(sample.files):,}" if sample.files else "No open files"
        self.files_fold.set_words(f"{words} · {sample.files_note}" if sample.files_note else words)
        if sample.files == self._files:
            return
        self._files = sample.files
        self.files.clear()
        many = len({each.pid for each in sample.files}) > 1
        for each in sample.files:
            item = QTreeWidgetItem([each.mode, f"{each.path}  ({each.pid})" if many else each.path])
            item.setFont(1, self._theme.mono_font())
            item.setToolTip(1, plain_tooltip(each.path))
            self.files.addTopLevelItem(item)
        rows = min(max(len(sample.files), 1), _MOST_ROWS)
        self.files.setFixedHeight(self._theme.row_height() * rows + 4)

    # -------------------------------------------------------------- building

    def _make_running(self) -> QWidget:
        self.table.setAccessibleName("Processes")
        self.table.setModel(self.model)
        self.table.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.table.selectionModel().currentRowChanged.connect(lambda *rows: self._show_command())
        dress_table(self.table, self._theme)
        self.table.setFrameShape(QTableView.Shape.NoFrame)
        header = self.table.horizontalHeader()
        for place, width in _WIDTHS.items():
            self.table.setColumnWidth(place, width)
        header.setStretchLastSection(False)
        header.setSectionResizeMode(Column.NAME, QHeaderView.ResizeMode.Stretch)
        self.files.setAccessibleName("Open files")
        self.files.setColumnCount(2)
        self.files.setHeaderHidden(True)
        self.files.setRootIsDecorated(False)
        dress_tree(self.files, self._theme)
        self.files.setFrameShape(QTreeWidget.Shape.NoFrame)
        self.files.setColumnWidth(0, 36)
        self.files.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(SPACE_4, SPACE_3, SPACE_4, SPACE_2)
        column.setSpacing(SPACE_3)
        for widget in (self.head, self.figures, self.table, self.note, self.command, self.files_fold):
            column.addWidget(widget)
        column.addStretch(1)
        self.note.hide()
        area = QScrollArea()
        area.setWidget(page)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        return area

    def _lay_out(self) -> None:
        self.ended.setMinimumHeight(self._theme.row_height() * _LEAST_ENDED)
        below = QVBoxLayout()
        below.setContentsMargins(SPACE_4, SPACE_2, SPACE_4, SPACE_2)
        below.setSpacing(SPACE_2)
        below.addWidget(self._ended_heading)
        below.addWidget(self.ended, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.gate, 3)
        column.addLayout(below, 2)
        for widget in (self._ended_heading, self.ended):
            widget.hide()
