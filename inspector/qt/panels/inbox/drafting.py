"""Let an answer rule write the answer: a draft, which the person changes and sends, or not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QMenu, QToolButton, QWidget

from inspector.base.errors import UserError
from inspector.base.jsonvalue import JSONObject
from inspector.config.answerrules import AnswerRule, RuleKind
from inspector.engine.answerrules import Asked, suits
from inspector.engine.cards import Reply
from inspector.qt.bridge import Bridge
from inspector.qt.theme import ICON_SIZE, SPACE_2, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.alert import Alert
from inspector.qt.widgets.labels import Muted

_NONE = "No rule answers this: add one under Answer rules"


class Drafting(QWidget):
    """A button with the rules that could reply, including disabled ones.

    Signals:
        drafted: A rule has drafted a reply; carries the result and the rule's name.
    """

    drafted = Signal(object, str)

    def __init__(
        self,
        bridge: Bridge,
        theme: Theme,
        alert: Alert,
        asked: Callable[[], Asked],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._bridge, self._alert, self._asked = bridge, alert, asked
        self._task: asyncio.Task[object] | None = None
        self.menu = QMenu(self)
        self.menu.aboutToShow.connect(self.offer)
        action = QAction("Ask a model", self)
        action.setToolTip("Let an answer rule write the answer; nothing is sent before you send it")
        action.setMenu(self.menu)
        self.button = QToolButton()
        self.button.setDefaultAction(action)
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.button.setIconSize(QSize(ICON_SIZE, ICON_SIZE))
        self.button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        theme.dress(action, "prompt")
        self._words = Muted(theme)
        self.stop_action = QAction("Stop", self)
        self.stop_action.triggered.connect(self.stop)
        self._stop_button = ActionButton(self.stop_action, "quiet")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_2)
        for part in (self._words, self._stop_button, self.button):
            row.addWidget(part)
        self._show_state("")

    def offer(self) -> None:
        """Fill the menu with the current rules."""
        self.menu.clear()
        self.menu.addAction("Looking for rules…").setEnabled(False)
        self._bridge.start("offer answer rules", self._offer(), self)

    def ask(self, rule: AnswerRule) -> None:
        """Let a rule draft the reply; stops a running one."""
        self.stop()
        self._show_state(f"Asking “{rule.title}”…")
        self._task = self._bridge.start("draft an answer", self._ask(rule), self)

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self._show_state("")

    async def _offer(self) -> None:
        rules = await self._bridge.ask_answers(lambda answers: answers.rules())
        self.menu.clear()
        for rule in rules:
            if suits(rule, self._asked().question):
                words = f"Ask {rule.title}" if rule.kind is RuleKind.ENDPOINT else f"Fill in by {rule.title}"
                self.menu.addAction(words.replace("&", "&&")).triggered.connect(partial(self.ask, rule))
        if self.menu.isEmpty():
            self.menu.addAction(_NONE).setEnabled(False)

    async def _ask(self, rule: AnswerRule) -> None:
        self._alert.close_about("draft")
        asked = self._asked()
        try:
            reply = await self._bridge.ask_answers(lambda answers: answers.draft(rule, asked))
        except UserError as exc:
            self._alert.say("draft", exc.summary, exc.next_step)
        else:
            self._take(rule, reply)
        self._task = None
        self._show_state("")

    def _take(self, rule: AnswerRule, reply: Reply) -> None:
        result: JSONObject | None = reply.result
        if result is None:
            words = f"“{rule.title}” would refuse: {reply.message} ({reply.code})."
            self._alert.say("draft", words, "Decline does the same.")
        else:
            self.drafted.emit(result, rule.title)

    def _show_state(self, words: str) -> None:
        self._words.setText(words)
        for part in (self._words, self._stop_button):
            part.setVisible(bool(words))
