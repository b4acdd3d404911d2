"""A panel's content, or what stands in its place: nothing yet, still waiting, failed."""

from __future__ import annotations

from typing import Literal

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QStackedWidget, QWidget

from inspector.qt.theme import Theme
from inspector.qt.widgets.emptystate import EmptyState


class Gate(QStackedWidget):
    """Shows `content` when opened; otherwise says why not, and what to do."""

    def __init__(self, theme: Theme, content: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._content = content
        self._instead = EmptyState(theme)
        self._said: tuple[object, ...] = ()
        self.addWidget(content)
        self.addWidget(self._instead)

    def open(self) -> None:
        self.setCurrentWidget(self._content)

    def is_open(self) -> bool:
        return self.currentWidget() is self._content

    def explain(
        self,
        look: Literal["empty", "loading", "failed"],
        icon: str,
        title: str,
        sentence: str,
        next_step: str = "",
        action: QAction | None = None,
        other: QAction | None = None,
    ) -> None:
        """Hide the content and explain why.

        `action` is the next step, or cancels the wait; `other` is an alternative. Can be called repeatedly
        with the same values: the button is not recreated under a click.
        """
        said = (look, icon, title, sentence, next_step, action, other)
        if said == self._said and not self.is_open():
            return
        self._said = said
        actions = [each for each in (action, other) if each is not None]
        if look == "loading":
            self._instead.show_loading(title, sentence, action)
        elif look == "failed":
            self._instead.show_failed(title, sentence, next_step, actions)
        else:
            self._instead.show_empty(icon, title, sentence, actions)
        self.setCurrentWidget(self._instead)
