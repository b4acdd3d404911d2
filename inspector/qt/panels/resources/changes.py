"""What is different from the time before, line by line or member by member."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from inspector.engine.contents import Content
from inspector.qt.bridge import Bridge
from inspector.qt.forms.changestable import ChangesTable
from inspector.qt.theme import Theme
from inspector.qt.widgets.alert import Alert
from inspector.traffic.compare.texts import compare_packed, pack


class ChangesView(QWidget):
    """What changed in a content since it was last read."""

    def __init__(self, bridge: Bridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._turn = 0
        self.table = ChangesTable(theme)
        self.model = self.table.rows
        self.alert = Alert(theme)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.alert)
        column.addWidget(self.table, 1)
        column.addStretch(0)
        self.setFocusProxy(self.table)

    async def show_changes(self, before: Content | None, now: Content | None) -> None:
        """Show the changes of one content. Binary data is only reported as different."""
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
        await self.table.show_diff(diff)
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
