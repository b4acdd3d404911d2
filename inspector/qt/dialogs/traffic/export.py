"""Export traffic dialog: rows, format and masking.

The detected secrets are listed before anything is written; each is replaced by its placeholder.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QButtonGroup,
    QDialog,
    QFileDialog,
    QGridLayout,
    QRadioButton,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.engine.exports import ExportFormat
from inspector.qt.bridge import Bridge
from inspector.qt.theme import SPACE_1, SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.item_views import style_tree
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.notices.empty_state import ContentStack
from inspector.qt.widgets.text.labels import Heading, MutedLabel
from inspector.traffic.log import TrafficLog
from inspector.traffic.masking.masker import FoundSecrets, Masker

if TYPE_CHECKING:
    import asyncio

_ADVICE = (
    "These look like secrets. Each is replaced by the same placeholder everywhere; clear the ones that "
    "are not secrets."
)
_WARNING = "Secrets with inconspicuous names are not detected: review the export before you share it."


class ExportDialog(QDialog):
    """The export options on top, the secrets below; “Export…” asks for the file.

    Signals:
        chosen: Everything is decided; carries the rows, the ExportFormat, the Masker and the path.
    """

    help_page = "captures"
    chosen = Signal(object, object, object, object)

    def __init__(
        self,
        bridge: Bridge,
        theme: Theme,
        log: TrafficLog,
        scopes: Sequence[tuple[str, array[int]]],
        parent: QWidget | None = None,
    ) -> None:
        """`scopes` are the exportable sets of rows, by label; the first is selected."""
        super().__init__(parent)
        self._bridge = bridge
        self._log = log
        self._found: FoundSecrets | None = None
        self._task: asyncio.Task[Any] | None = None  # the running scan
        self._rows: Sequence[int] = ()
        self.setWindowTitle("Export traffic")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(680, 560)
        self.formats = _Choice([(each.text, each.hint) for each in ExportFormat], theme)
        self._scopes = scopes
        self.scopes = _Choice([(text, plural(len(rows), "row")) for text, rows in scopes], theme)
        self.secrets = QTreeWidget()
        self._stack = ContentStack(theme, self._make_list(theme))
        self._advice = MutedLabel(theme, wrap=True)
        self.export_action = QAction("Export…", self)
        self.export_action.triggered.connect(self._on_export)
        self._cancel = QAction("Cancel", self)
        self._cancel.triggered.connect(self.reject)
        self._lay_out(theme)
        self.scopes.changed.connect(self._find_secrets)
        self.finished.connect(self._stop)
        self._find_secrets()

    def masking(self) -> Masker:
        """Return the masking as selected: unchecked secrets are not masked."""
        assert self._found is not None
        return Masker(self._found, {item.text(0) for item in self._items() if not _is_checked(item)})

    def _make_list(self, theme: Theme) -> QTreeWidget:
        self.secrets.setHeaderLabels(["Placeholder", "Found in", "Count", "Starts with"])
        self.secrets.setRootIsDecorated(False)
        self.secrets.setUniformRowHeights(True)
        self.secrets.setAccessibleName("Masked secrets")
        style_tree(self.secrets, theme)
        self.secrets.setHeaderHidden(False)
        for column, width in enumerate((270, 200, 60)):
            self.secrets.setColumnWidth(column, width)
        return self.secrets

    def _lay_out(self, theme: Theme) -> None:
        export = ActionButton(self.export_action, "primary")
        export.setDefault(True)
        vbox(
            self,
            Heading(theme, "Format"),
            self.formats,
            SPACE_1,
            Heading(theme, "Rows"),
            self.scopes,
            SPACE_1,
            Heading(theme, "Masked secrets"),
            self._advice,
            (self._stack, 1),
            SPACE_3,
            hbox(None, STRETCH, ActionButton(self._cancel), export, gap=-1),
            margin=SPACE_4,
        )

    def _find_secrets(self) -> None:
        self._stop()
        self._found = None
        self.export_action.setEnabled(False)
        self.secrets.clear()
        self._rows = self._scopes[self.scopes.index()][1]
        progress = plural(len(self._rows), "row") + " to scan"
        self._stack.explain("loading", "", "Scanning for secrets", progress)
        self._task = self._bridge.start("find secrets", self._scan(self._rows), self)

    def _stop(self) -> None:
        """Cancel the scan: it would take a thread of the pool until its end."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _scan(self, rows: Sequence[int]) -> None:
        found = await self._bridge.ask(lambda engine: engine.captures.find_secrets(self._log, rows))
        if rows is self._rows:
            self._show(found)

    def _show(self, found: FoundSecrets) -> None:
        self._found = found
        self.export_action.setEnabled(bool(self._rows))
        for item in found.items:
            texts = [item.placeholder, one_line(item.where), f"{item.count:,}", one_line(item.hint)]
            line = QTreeWidgetItem(texts)
            line.setCheckState(0, Qt.CheckState.Checked)
            line.setTextAlignment(2, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            self.secrets.addTopLevelItem(line)
        if len(found):
            self._advice.setText(f"{_ADVICE} {_WARNING}")
            self._stack.open()
        else:
            self._advice.setText(_WARNING)
            self._stack.explain(
                "empty", "key", "No secrets found", "Nothing in these rows looks like a secret."
            )

    def _items(self) -> list[QTreeWidgetItem]:
        items = (self.secrets.topLevelItem(row) for row in range(self.secrets.topLevelItemCount()))
        return [item for item in items if item is not None]

    def _on_export(self) -> None:
        format = list(ExportFormat)[self.formats.index()]
        dialog = QFileDialog(self, f"Export as {format.text}")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(format.suffix.removeprefix("."))
        dialog.setNameFilters([f"{format.text} (*{format.suffix})"])
        dialog.selectFile(f"traffic{format.suffix}")
        dialog.fileSelected.connect(lambda name: self.export_to(Path(name)))
        dialog.open()

    def export_to(self, path: Path) -> None:
        """Emit the choices with the file's path and close."""
        self.chosen.emit(self._rows, list(ExportFormat)[self.formats.index()], self.masking(), path)
        self.accept()


class _Choice(QWidget):
    """Radio buttons with a hint beside each.

    Signals:
        changed: Another choice was made.
    """

    changed = Signal()

    def __init__(self, choices: Sequence[tuple[str, str]], theme: Theme) -> None:
        super().__init__()
        self._group = QButtonGroup(self)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(SPACE_3)
        grid.setVerticalSpacing(SPACE_1)
        grid.setColumnStretch(1, 1)
        for row, (text, hint) in enumerate(choices):
            button = QRadioButton(text)
            self._group.addButton(button, row)
            grid.addWidget(button, row, 0)
            grid.addWidget(MutedLabel(theme, hint), row, 1)
        self.choose(0)
        self._group.idClicked.connect(lambda _: self.changed.emit())

    def index(self) -> int:
        return self._group.checkedId()

    def choose(self, index: int) -> None:
        self._group.button(index).setChecked(True)
        self.changed.emit()


def _is_checked(item: QTreeWidgetItem) -> bool:
    return item.checkState(0) is Qt.CheckState.Checked
