"""Says what is new in a list, for a while."""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from inspector.qt.models.listnews import ListNews
from inspector.qt.theme import Theme
from inspector.qt.widgets.alert import Alert

_SHOWN_MS = 20_000


class NewsStrip(Alert):
    """Goes away by itself, or when it is dismissed. Fetching a list that is the same leaves it alone."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._dismiss = QAction("Dismiss", self)
        self._dismiss.triggered.connect(self.dismiss)
        self._timer = QTimer(self, interval=_SHOWN_MS, singleShot=True)
        self._timer.timeout.connect(self.dismiss)

    def tell(self, what: str, news: ListNews) -> None:
        """`what` is the list: resources, prompts."""
        if news:
            self.say(what, f"The list of {what} changed. {news.sentence()}", "", [self._dismiss], "wait")
            self._timer.start()

    def dismiss(self) -> None:
        self._timer.stop()
        self.close_all()
