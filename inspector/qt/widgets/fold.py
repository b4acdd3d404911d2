"""Something that can be folded away under its heading."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QSizePolicy, QToolButton, QVBoxLayout, QWidget

from inspector.base.plaintext import one_line
from inspector.qt.theme import ICON_SIZE, SPACE_1, Theme


class Fold(QWidget):
    """A clickable heading that shows and hides what `make` creates on first use."""

    def __init__(
        self, theme: Theme, words: str, make: Callable[[], QWidget], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._make = make
        self._inside: QWidget | None = None
        self.button = QToolButton()
        self.button.setCheckable(True)
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.button.setIconSize(QSize(ICON_SIZE, ICON_SIZE))
        self.button.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.set_words(words)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(SPACE_1)
        self._column.addWidget(self.button)
        self.button.toggled.connect(self._on_toggled)
        theme.dress(self.button, "chevron-right", "muted")

    @property
    def is_open(self) -> bool:
        return self.button.isChecked()

    def set_words(self, words: str) -> None:
        self.button.setText(one_line(words).replace("&", "&&"))
        self.button.setAccessibleName(one_line(words))

    def set_open(self, is_open: bool) -> None:
        self.button.setChecked(is_open)

    def _on_toggled(self, is_open: bool) -> None:
        self._theme.dress(self.button, "chevron-down" if is_open else "chevron-right", "muted")
        if is_open and self._inside is None:
            self._inside = self._make()
            self._column.addWidget(self._inside)
        if self._inside is not None:
            self._inside.setVisible(is_open)
