"""The folders that a server may ask for, in their order."""

from __future__ import annotations

from pathlib import PurePath

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFileDialog,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QVBoxLayout,
    QWidget,
)

from inspector.base.plaintext import visible
from inspector.qt.theme import SPACE_1, SPACE_2, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.iconbutton import icon_button
from inspector.qt.widgets.itemviews import dress_list
from inspector.qt.widgets.labels import Muted, PlainLabel, plain_tooltip

_MOST_ROWS = 8


class RootsList(QWidget):
    """The roots: folders, as paths or URIs.

    Signals:
        changed: The user changed the folders or their order; carries all of them.
    """

    changed = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._roots: tuple[str, ...] = ()
        self.list = QListWidget()
        self.list.setFont(theme.mono_font(0.95))
        self.list.setAccessibleName("Roots")
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        dress_list(self.list, theme)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.list.currentRowChanged.connect(self._on_chosen)
        self.path = QLineEdit()
        self.path.setFont(theme.mono_font(0.95))
        self.path.setPlaceholderText("/a/folder, ~/folder or file:///…")
        self.path.setAccessibleName("Folder to add")
        self.path.returnPressed.connect(self._on_entered)
        self.path.textChanged.connect(self._on_typed)
        self._wrong = PlainLabel(theme, tone="warn", wrap=True)
        self._wrong.hide()
        self._note = Muted(theme, wrap=True)
        self._listed = QWidget()
        self._browse = QAction("Add folder…", self)
        self._browse.triggered.connect(self.browse)
        self.up, self.down = QAction("Move up", self), QAction("Move down", self)
        self.remove = QAction("Remove", self)
        for action, icon, key in (
            (self.up, "chevron-up", "Alt+Up"),
            (self.down, "chevron-down", "Alt+Down"),
            (self.remove, "trash", "Del"),
        ):
            theme.dress(action, icon)
            action.setShortcut(QKeySequence(key))
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            self.list.addAction(action)
        self.up.triggered.connect(lambda: self._move(-1))
        self.down.triggered.connect(lambda: self._move(1))
        self.remove.triggered.connect(self._remove)
        self._lay_out()
        self._show(0)

    def roots(self) -> tuple[str, ...]:
        return self._roots

    def show_roots(self, roots: tuple[str, ...], note: str) -> None:
        """Show the roots; `note` says what effect they have."""
        self._note.setText(note)
        self._note.setVisible(bool(note))
        if roots != self._roots:
            self._roots = roots
            self._show(self.list.currentRow())

    def add(self, folder: str) -> bool:
        """Append a folder. Return False, and show why, if it is not valid."""
        problem = self._problem_of(folder)
        self._wrong.setText(problem)
        self._wrong.setVisible(bool(problem))
        if not problem:
            self._change((*self._roots, folder), len(self._roots))
        return not problem

    def browse(self) -> None:
        dialog = QFileDialog(self, "Add a folder")
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.add)
        dialog.open()

    # --------------------------------------------------------------

    def _problem_of(self, folder: str) -> str:
        if folder in self._roots:
            return "This folder is in the list already."
        if not folder.isprintable():
            return "The path holds characters that cannot be seen: type it again."
        if "://" in folder or folder.startswith("~") or PurePath(folder).is_absolute():
            return ""
        return "Give the whole path, or one from ~: a server has another working folder."

    def _on_entered(self) -> None:
        folder = self.path.text().strip()
        if folder and self.add(folder):
            self.path.clear()

    def _on_typed(self) -> None:
        self._wrong.hide()

    def _on_chosen(self, row: int) -> None:
        self.up.setEnabled(row > 0)
        self.down.setEnabled(0 <= row < len(self._roots) - 1)
        self.remove.setEnabled(row >= 0)

    def _move(self, step: int) -> None:
        row = self.list.currentRow()
        roots = list(self._roots)
        roots.insert(row + step, roots.pop(row))
        self._change(tuple(roots), row + step)

    def _remove(self) -> None:
        row = self.list.currentRow()
        roots = [root for number, root in enumerate(self._roots) if number != row]
        self._change(tuple(roots), min(row, len(roots) - 1))

    def _change(self, roots: tuple[str, ...], row: int) -> None:
        self._roots = roots
        self._show(row)
        self.changed.emit(roots)

    def _show(self, row: int) -> None:
        self.list.clear()
        for root in self._roots:
            item = QListWidgetItem(visible(root))
            item.setToolTip(plain_tooltip(root))
            self.list.addItem(item)
        self.list.setCurrentRow(min(row, len(self._roots) - 1))
        self._on_chosen(self.list.currentRow())
        shown = min(max(len(self._roots), 3), _MOST_ROWS)  # at least as tall as the buttons beside it
        self.list.setFixedHeight(shown * self._theme.row_height() + 2 * self.list.frameWidth())
        self._listed.setVisible(bool(self._roots))

    def _lay_out(self) -> None:
        adding = QHBoxLayout()
        adding.setSpacing(SPACE_2)
        adding.addWidget(self.path, 1)
        adding.addWidget(ActionButton(self._browse))
        listed = QHBoxLayout(self._listed)
        listed.setContentsMargins(0, 0, 0, 0)
        listed.setSpacing(SPACE_1)
        listed.addWidget(self.list, 1)
        buttons = QVBoxLayout()
        buttons.setSpacing(SPACE_1)
        for action in (self.up, self.down, self.remove):
            buttons.addWidget(icon_button(action))
        buttons.addStretch(1)
        listed.addLayout(buttons)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE_2)
        column.addWidget(self._note)
        column.addWidget(self._listed)
        column.addLayout(adding)
        column.addWidget(self._wrong)
