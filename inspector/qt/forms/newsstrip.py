"""Says what is new in a list, for a while."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from inspector.qt.models.listnews import ListNews
from inspector.qt.theme import Theme
from inspector.qt.widgets.alert import Alert

_SHOWN_MS = 20_000


class NewsStrip(Alert):
    """Goes away by itself, or when it is dismissed. Fetching a list that is the same leaves it alone.

    What comes while it is there is added: a server that registers five tools tells of a change five times.

    Signals:
        told: There was something new; carries what the list is of, and the ListNews.
    """

    told = Signal(str, object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._news: dict[str, ListNews] = {}
        self._dismiss = QAction("Dismiss", self)
        self._dismiss.triggered.connect(self.dismiss)
        self._timer = QTimer(self, interval=_SHOWN_MS, singleShot=True)
        self._timer.timeout.connect(self.dismiss)

    def tell(self, what: str, news: ListNews) -> None:
        """`what` is the list: resources, prompts."""
        if not news:
            return
        self.told.emit(what, news)
        self._news[what] = told = self._news.get(what, ListNews()).then(news)
        if told:
            self.say(what, f"The list of {what} changed. {told.sentence()}", "", [self._dismiss], "wait")
            self._timer.start()
        else:  # what came went again
            self.close_about(what)

    def dismiss(self) -> None:
        self._timer.stop()
        self._news.clear()
        self.close_all()
