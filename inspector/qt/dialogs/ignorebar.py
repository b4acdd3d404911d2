"""What a comparison leaves out: a check box for each preset, and a menu of places."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QMenu, QToolButton, QWidget

from inspector.base.errors import UserError
from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line
from inspector.qt.models.comparechoices import CompareChoices
from inspector.qt.theme import SPACE_3, Theme
from inspector.qt.widgets.labels import PlainLabel
from inspector.qt.widgets.notepopup import NotePopup
from inspector.traffic.compare.ignoring import PRESETS


class IgnoreBar(QWidget):
    """Shows and changes `CompareChoices`.

    Signals:
        problem_found: A path is invalid; carries the message.
    """

    problem_found = Signal(str)

    def __init__(self, choices: CompareChoices, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._choices = choices
        self._theme = theme
        self.boxes = {name: QCheckBox(name.capitalize()) for name in PRESETS}
        self.paths = QToolButton()
        self._menu = QMenu(self)
        self._lay_out()
        for name, box in self.boxes.items():
            box.setToolTip(PRESETS[name])
            box.toggled.connect(partial(choices.set_preset, name))
        self._menu.aboutToShow.connect(self._fill_menu)
        choices.changed.connect(self._show)
        self._show()

    def add_path(self, path: str) -> None:
        """Ignore the value at a path; an invalid path is reported."""
        try:
            if path:
                self._choices.add_path(path)
        except UserError as exc:
            self.problem_found.emit(str(exc))

    def ask_for_path(self) -> None:
        popup = NotePopup(self._theme, "Ignore a path, such as result.content[*].text", "", self)
        popup.kept.connect(self.add_path)
        popup.open_at(self.paths.mapToGlobal(QPoint(0, self.paths.height())))

    def _show(self) -> None:
        ignoring = self._choices.ignoring
        for name, box in self.boxes.items():
            box.setChecked(getattr(ignoring, name))
        count = len(ignoring.paths)
        self.paths.setText(f"Paths ({count})" if count else "Paths")

    def _fill_menu(self) -> None:
        self._menu.clear()
        for path in self._choices.ignoring.paths:
            action = self._menu.addAction(shorten(one_line(path), 80).replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(True)
            action.triggered.connect(partial(self._on_unchecked, path))
        self._menu.addSeparator()
        self._menu.addAction("Ignore a path…").triggered.connect(self.ask_for_path)

    def _on_unchecked(self, path: str, checked: bool = False) -> None:
        self._choices.remove_path(path)

    def _lay_out(self) -> None:
        self.paths.setMenu(self._menu)
        self.paths.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.paths.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.paths.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.paths.setToolTip("Places that are left out; right-click a line to add its place")
        self._theme.dress(self.paths, "chevron-down")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_3)
        row.addWidget(PlainLabel(self._theme, "Ignore", tone="muted"))
        for box in self.boxes.values():
            row.addWidget(box)
        row.addWidget(self.paths)
