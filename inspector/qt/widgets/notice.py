"""A strip for problems that belong to no panel: it says what is wrong and goes away on a click."""

from __future__ import annotations

from PySide6.QtGui import QAction, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from inspector.qt.theme import SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.labels import PlainLabel, plain_tooltip

_MOST = 50


class NoticeBar(QWidget):
    """The newest problem; earlier ones are counted and can be read there. Hidden if none.

    Repeated problems count once.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._texts: list[str] = []
        self._text = PlainLabel(theme, wrap=True, selectable=True)
        self._more = PlainLabel(theme, tone="muted")
        dismiss = QAction("Dismiss", self)
        theme.dress(dismiss, "close")
        dismiss.triggered.connect(self.dismiss)
        button = QToolButton()
        button.setDefaultAction(dismiss)
        button.setAccessibleName("Dismiss")
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE_3, SPACE_2, SPACE_2, SPACE_2)
        row.addWidget(self._text, 1)
        row.addWidget(self._more)
        row.addWidget(button)
        self.hide()
        theme.changed.connect(self.update)

    def show_problem(self, text: str) -> None:
        self._texts = [*(each for each in self._texts if each != text), text][-_MOST:]
        self._show()

    def take_back(self, text: str) -> None:
        """Remove a problem that was resolved."""
        if text in self._texts:
            self._texts.remove(text)
            self._show()

    def text(self) -> str:
        return self._text.text()

    def dismiss(self) -> None:
        self._texts = []
        self._show()

    def _show(self) -> None:
        *before, latest = self._texts or [""]
        self._text.setText(latest)
        self._more.setText(f"and {len(before)} before" if before else "")
        self._more.setToolTip(plain_tooltip("\n".join(reversed(before))))
        self.setVisible(bool(latest))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.tokens.tint("warn"))
        painter.fillRect(0, 0, 3, self.height(), self._theme.color("warn"))
