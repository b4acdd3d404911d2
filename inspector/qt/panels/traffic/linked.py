"""Everything around a message, in order: request, progress, questions, logs, answer. A click goes there."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal
from PySide6.QtWidgets import QHeaderView, QMenu, QTableView, QVBoxLayout, QWidget

from inspector.base.units import plural
from inspector.qt.models.storysteps import Column, StoryModel
from inspector.qt.models.traffic import Column as TableColumn
from inspector.qt.panels.traffic.rowmenu import Term, add_terms, terms_of
from inspector.qt.theme import SPACE_1, SPACE_3, Theme
from inspector.qt.widgets.gate import Gate
from inspector.qt.widgets.itemviews import dress_table
from inspector.qt.widgets.labels import Muted
from inspector.traffic.follow import Story
from inspector.traffic.log import TrafficLog


class LinkedView(QWidget):
    """The story that a row is part of.

    Signals:
        row_requested: The user wants to go to a step; carries its row.
        filter_requested: Filter for a value, or exclude it; as in `DetailView`.
    """

    row_requested = Signal(int)
    filter_requested = Signal(str, object, bool)

    def __init__(self, log: TrafficLog, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._log = log
        self.model = StoryModel(log, theme, self)
        self.table = QTableView()
        self.table.setAccessibleName("Linked messages")
        self.table.setModel(self.model)
        dress_table(self.table, theme)
        self.table.setFont(theme.mono_font(0.95))
        self.table.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(Column.TEXT, QHeaderView.ResizeMode.Stretch)
        self.table.setColumnWidth(Column.OFFSET, 84)
        self.table.setColumnWidth(Column.ROLE, 84)
        self.table.clicked.connect(self._on_chosen)
        self.table.activated.connect(self._on_chosen)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.table.customContextMenuRequested.connect(self._on_menu_requested)
        self._note = Muted(theme, wrap=True)
        self._note.setContentsMargins(SPACE_3, SPACE_1, SPACE_3, SPACE_1)
        self._shown: tuple[Story, int] | None = None
        page = QWidget()
        inner = QVBoxLayout(page)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(0)
        inner.addWidget(self.table, 1)
        inner.addWidget(self._note)
        self._gate = Gate(theme, page)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._gate)

    def show_story(self, story: Story, row: int) -> None:
        """Show a story; does nothing if it is already shown."""
        if (story, row) == self._shown:
            return
        self._shown = (story, row)
        if len(story.steps) < 2:
            sentence = "No other message belongs to this one: no answer, no progress, no question."
            self._gate.explain("empty", "link", "Stands alone", sentence)
            return
        top = self.table.verticalScrollBar().value()
        self.model.set_story(story, row)
        place = self.model.place_of(row)
        if place is not None:
            self.table.selectRow(place)
        self.table.verticalScrollBar().setValue(top)
        notes = [f"{plural(story.left_out, 'step')} in the middle are not listed."] if story.left_out else []
        notes += [story.note] if story.note else []
        self._note.setText(" ".join(notes))
        self._note.setVisible(bool(notes))
        self._gate.open()

    def _on_chosen(self, index: QModelIndex) -> None:
        number = self.model.number(index.row())
        if number is not None:
            self.row_requested.emit(number)

    def menu(self, place: int) -> QMenu:
        """Create the context menu of a step."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        number = self.model.number(place)
        if number is not None:
            menu.addAction("Go to this row", partial(self.row_requested.emit, number))
            menu.addSeparator()
            add_terms(menu, terms_of(self._log, number, TableColumn.MESSAGE), self._narrow)
        return menu

    def _on_menu_requested(self, at: QPoint) -> None:
        index = self.table.indexAt(at)
        if index.isValid():
            self.menu(index.row()).popup(self.table.viewport().mapToGlobal(at))

    def _narrow(self, term: Term, is_excluded: bool) -> None:
        self.filter_requested.emit(term.word, term.value, is_excluded)
