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
    """Reports list changes; closes after a while or when dismissed.

    Refetching an unchanged list leaves it alone. Changes that arrive while it is shown are merged: a server
    that registers five tools sends five notifications.

    Signals:
        told: Something changed; carries the name of the list and the ListNews.
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
        """Report changes of the list `what`: resources or prompts."""
        if not news:
            return
        self.told.emit(what, news)
        self._news[what] = told = self._news.get(what, ListNews()).then(news)
        if told:
            self.say(what, f"The list of {what} changed. {told.sentence()}", "", [self._dismiss], "wait")
            self._timer.start()
        else:  # the changes cancelled each other out
            self.close_about(what)

    def dismiss(self) -> None:
        self._timer.stop()
        self._news.clear()
        self.close_all()
