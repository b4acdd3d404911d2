"""What is different from the time before, line by line or member by member."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHeaderView, QTableView, QVBoxLayout, QWidget

from inspector.engine.contents import Content
from inspector.qt.bridge import Bridge
from inspector.qt.models.diffrows import Column, DiffRowsModel
from inspector.qt.theme import SPACE_6, Theme
from inspector.qt.widgets.alert import Alert
from inspector.qt.widgets.itemviews import dress_table
from inspector.traffic.compare.texts import compare_packed, pack

_TOGGLES = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)


class ChangesView(QWidget):
    """Before on the left, now on the right; Return or a click opens what is folded."""

    def __init__(self, bridge: Bridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._turn = 0
        self.model = DiffRowsModel(theme)
        self.table = _Table(self.model, theme)
        self.alert = Alert(theme)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.alert)
        column.addWidget(self.table, 1)
        column.addStretch(0)
        self.setFocusProxy(self.table)

    async def show_changes(self, before: Content | None, now: Content | None) -> None:
        """What became of one content. Bytes that are no text are only said to differ."""
        self._turn += 1
        turn = self._turn
        self.alert.close_all()
        self.table.hide()
        words = _in_words(before, now)
        if words or before is None or now is None:
            self.alert.say("changes", words, tone="wait")
            return
        diff = await self._bridge.work(compare_packed, pack(before.data, now.data))
        if turn != self._turn:
            return
        await self.model.show(diff)
        self.table.show()
        if diff.note:
            self.alert.say("changes", diff.note, tone="wait")


def _in_words(before: Content | None, now: Content | None) -> str:
    if before is None or now is None:
        gone = "The answer had fewer parts" if before is None else "The answer had more parts"
        return f"{gone} the time before: this one has nothing to be compared with."
    if before.data == now.data:
        return "This part is the same as the time before."
    if not (before.is_text and now.is_text):
        return f"The bytes differ: {len(before.data):,} the time before, {len(now.data):,} now."
    return ""


class _Table(QTableView):
    def __init__(self, model: DiffRowsModel, theme: Theme) -> None:
        super().__init__()
        self._model = model
        self.setModel(model)
        self.setAccessibleName("What changed since the time before")
        dress_table(self, theme)
        self.setFont(theme.mono_font())
        self.setFrameShape(QTableView.Shape.NoFrame)
        header = self.horizontalHeader()
        header.hide()
        header.setMinimumSectionSize(SPACE_6)
        for column in (Column.LEFT, Column.RIGHT):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
        self.setColumnWidth(Column.SIGN, SPACE_6 + 4)
        self.clicked.connect(self._on_clicked)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        if not (event.key() in _TOGGLES and index.isValid() and self._model.toggle(index.row())):
            super().keyPressEvent(event)

    def _on_clicked(self, index: QModelIndex) -> None:
        self._model.toggle(index.row())
