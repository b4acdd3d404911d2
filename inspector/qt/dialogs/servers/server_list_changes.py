"""External changes to the server list file: by server and field, before and after.

The changes are already in effect; open connections keep their settings until they reconnect.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QDialog, QTreeWidget, QTreeWidgetItem, QWidget

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.config.servers.entry_diff import FieldChange, ServerListDiff
from inspector.qt.models.servers import server_list_changes_text
from inspector.qt.theme import SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.item_views import style_tree
from inspector.qt.widgets.layout import hbox, vbox
from inspector.qt.widgets.text.labels import MutedLabel, plain_tooltip

_ADVICE = "The changes are in effect. Open connections use them after a reconnect."
_ABSENT = "not present"
_MAX_LENGTH = 2_000
_MAX_ROWS = 2_000
_WIDTHS = (240, 220)


class ServerListChangesDialog(QDialog):
    """The changes to the server list, latest first.

    Secret values are masked, so the old and the new value may look the same.
    """

    help_page = "servers"

    def __init__(
        self, theme: Theme, changes: Sequence[tuple[datetime, ServerListDiff]], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setWindowTitle("Server list changed on disk")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(760, 420)
        self.tree = QTreeWidget()
        self.tree.setAccessibleName("Changes")
        self.tree.setHeaderLabels(["Server", "Before", "Now"])
        style_tree(self.tree, theme)
        for position, width in enumerate(_WIDTHS):
            self.tree.setColumnWidth(position, width)
        close = QAction("Close", self)
        close.triggered.connect(self.close)
        buttons = hbox(None, (MutedLabel(theme, _ADVICE, wrap=True), 1), ActionButton(close))
        vbox(self, (self.tree, 1), buttons, gap=SPACE_3, margin=SPACE_4)
        self.show_changes(changes)

    def show_changes(self, changes: Sequence[tuple[datetime, ServerListDiff]]) -> None:
        self.tree.clear()
        for when, diff in reversed(changes):
            head = QTreeWidgetItem([f"{when:%H:%M:%S}  {server_list_changes_text(diff)}"])
            for item in self._rows(diff)[:_MAX_ROWS]:
                head.addChild(item)
            self.tree.addTopLevelItem(head)
            head.setFirstColumnSpanned(True)
        self.tree.expandAll()

    def _rows(self, diff: ServerListDiff) -> list[QTreeWidgetItem]:
        rows = [self._row(f"+ {one_line(name)}", "", "added") for name in diff.added]
        rows += [self._row(f"− {one_line(name)}", "", "removed") for name in diff.removed]
        rows += [
            self._row(f"≠ {one_line(old)}", "", f"renamed to {one_line(new)}") for old, new in diff.renamed
        ]
        for change in diff.changed:
            row = self._row(f"≠ {one_line(change.name)}", "", "")
            row.addChildren([self._field(field) for field in change.fields[:_MAX_ROWS]])
            rows.append(row)
        return rows

    def _field(self, change: FieldChange) -> QTreeWidgetItem:
        before, after = (_ABSENT if text is None else text for text in (change.before, change.after))
        row = self._row(
            one_line(change.field),
            shorten(one_line(before), _MAX_LENGTH),
            shorten(one_line(after), _MAX_LENGTH),
        )
        for column, text in ((1, before), (2, after)):
            row.setToolTip(column, plain_tooltip(text))
            row.setFont(column, self._theme.mono_font())
        row.setForeground(1, self._theme.color("muted"))
        row.setForeground(2, self._theme.color("muted" if change.after is None else "warn"))
        return row

    def _row(self, name: str, before: str, now: str) -> QTreeWidgetItem:
        return QTreeWidgetItem([name, before, now])
