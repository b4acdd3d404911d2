"""The bar above arguments: form or JSON, what is wrong, and what can be done with all of it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QHBoxLayout, QMenu, QToolButton, QWidget

from inspector.base.units import plural
from inspector.qt.forms.look import ERROR, Look, set_label_text, small_label
from inspector.qt.forms.textbutton import TextButton
from inspector.qt.theme import ICON_SIZE, SPACE_2, SPACE_3
from inspector.qt.widgets.segments import Segments


class ArgumentsBar(QWidget):
    """The view switch, a message, the number of problems and a menu.

    Signals:
        view_chosen: Carries 0 for the form, 1 for JSON.
        problem_wanted: The user wants to see the next problem.
        example_wanted: Fill everything with an example.
        clearing_wanted: Clear everything.
    """

    view_chosen = Signal(int)
    problem_wanted = Signal()
    example_wanted = Signal()
    clearing_wanted = Signal()

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.switch = Segments(look.theme, ("Form", "JSON"))
        self.switch.setAccessibleName("Show the arguments as")
        self.switch.chosen.connect(self.view_chosen)
        self._message = small_label(look, "", ERROR)
        self.problems_button = TextButton(plural(0, "problem"), look.small, ERROR)
        self.problems_button.setToolTip("Go to the next problem (F8)")
        self.problems_button.setAccessibleName("Go to the next problem")
        self.problems_button.clicked.connect(self.problem_wanted)
        self.problems_button.hide()
        self.menu_button = QToolButton()
        look.theme.dress(self.menu_button, "more", "muted")
        self.menu_button.setIconSize(QSize(ICON_SIZE, ICON_SIZE))
        self.menu_button.setAccessibleName("More about all arguments")
        self.menu_button.setToolTip("Fill with an example, or clear")
        self.menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu_button.setMenu(self._make_menu())
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_2)
        row.setSpacing(SPACE_2)
        row.addWidget(self.switch)
        row.addWidget(self._message, 1)
        row.addStretch(0)
        row.addWidget(self.problems_button, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self.menu_button)

    def say(self, message: str, role: QPalette.ColorRole = ERROR) -> None:
        self._message.setForegroundRole(role)
        set_label_text(self._message, message)
        self._message.setVisible(bool(message))

    def message(self) -> str:
        """Return the current message, "" if none."""
        return self._message.text()

    def show_problems(self, count: int) -> None:
        self.problems_button.setText(plural(count, "problem"))
        self.problems_button.setVisible(count > 0)
        self.problems_button.updateGeometry()

    def _make_menu(self) -> QMenu:
        menu = QMenu(self)
        menu.addAction("Fill with an example").triggered.connect(self.example_wanted)
        menu.addAction("Clear all").triggered.connect(self.clearing_wanted)
        return menu
