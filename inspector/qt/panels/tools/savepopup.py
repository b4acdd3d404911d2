"""Keeping a call: its name, a word on it, and the folder of its file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAction, QCloseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from inspector.base.plaintext import one_line
from inspector.config.savedcalls import SavedCall
from inspector.engine.calls import SavedFolder
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.labels import Muted, plain_tooltip

_WIDTH = 380
_LONGEST = 2_000


class SavePopup(QWidget):
    """A popup to save a call. Enter saves, Escape cancels.

    Asks for the folder if there are several.

    Signals:
        kept: Carries the name, the description, the folder (None for the default), and whether it is
            watched.
        closed: The popup was closed.
    """

    kept = Signal(str, str, object, bool)
    closed = Signal()

    def __init__(
        self, theme: Theme, known: SavedCall, folders: Sequence[SavedFolder], parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.setWindowFlags(Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._theme = theme
        self.name = _line(one_line(known.name), "Save this call as")
        self.description = _line(one_line(known.description), "Description of the call")
        self.description.setPlaceholderText("optional")
        self.watch = QCheckBox("Watch: call it again when the server's files change")
        self.watch.setChecked(known.watch)
        self.watch.setToolTip("Results are compared with what you accepted, in the Process tab")
        self.folder = QComboBox()
        self.folder.setAccessibleName("Folder")
        for folder in folders:
            self.folder.addItem(folder.name, folder.path)
            tip = plain_tooltip(str(folder.path))
            self.folder.setItemData(self.folder.count() - 1, tip, Qt.ItemDataRole.ToolTipRole)
        paths = [folder.path for folder in folders]
        self.folder.setCurrentIndex(paths.index(known.folder) if known.folder in paths else 0)
        self._save = QAction("Save", self)
        self._save.triggered.connect(self._on_kept)
        self._lay_out()
        for line in (self.name, self.description):
            line.returnPressed.connect(self._on_kept)
        self.name.textChanged.connect(self._on_name_changed)
        self._on_name_changed()
        self.setFixedWidth(_WIDTH)

    def open_above(self, widget: QWidget) -> None:
        self.adjustSize()
        corner = widget.mapToGlobal(QPoint(widget.width(), 0))
        room = self.screen().availableGeometry()
        left = max(room.left(), min(corner.x() - self.width(), room.right() - self.width()))
        self.move(left, max(room.top(), corner.y() - self.height() - SPACE_1))
        self.show()
        self.name.setFocus(Qt.FocusReason.PopupFocusReason)
        self.name.selectAll()

    def closeEvent(self, event: QCloseEvent) -> None:
        super().closeEvent(event)
        self.closed.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(self._theme.color("edge"))
        painter.setBrush(self._theme.color("raised"))
        painter.drawRect(self.rect().adjusted(0, 0, -1, -1))

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_3, SPACE_3, SPACE_3, SPACE_3)
        column.setSpacing(SPACE_1)
        rows: list[tuple[str, QWidget]] = [
            ("Save this call as", self.name),
            ("Description", self.description),
        ]
        if self.folder.count() > 1:
            rows.append(("Folder", self.folder))
        for words, widget in rows:
            column.addWidget(Muted(self._theme, words))
            column.addWidget(widget)
            column.addSpacing(SPACE_1)
        column.addWidget(self.watch)
        buttons = QHBoxLayout()
        buttons.setContentsMargins(0, SPACE_2, 0, 0)
        buttons.addStretch(1)
        buttons.addWidget(ActionButton(self._save, "primary"))
        column.addLayout(buttons)

    def _on_name_changed(self) -> None:
        self._save.setEnabled(bool(self.name.text().strip()))

    def _on_kept(self) -> None:
        if self._save.isEnabled():
            folder: Path | None = self.folder.currentData()
            texts = (self.name.text().strip(), self.description.text().strip())
            self.kept.emit(*texts, folder, self.watch.isChecked())
            self.close()


def _line(text: str, name: str) -> QLineEdit:
    line = QLineEdit(text)
    line.setMaxLength(_LONGEST)
    line.setAccessibleName(name)
    return line
