"""Elicitation, URL mode: where the server wants the person to go. Nothing is opened but by a click."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from inspector.base.errors import UserError
from inspector.base.weblink import may_open, read_link
from inspector.engine.cards import Card, Question, Reply
from inspector.protocol.asking import UrlAsked
from inspector.protocol.members import text_of
from inspector.protocol.replies import cancelled, consented, declined
from inspector.qt.opener import Opener
from inspector.qt.panels.inbox.formsection import CANCEL_TIP, DECLINE_TIP
from inspector.qt.panels.inbox.section import Section
from inspector.qt.theme import Theme
from inspector.qt.widgets.addresslabel import AddressLabel
from inspector.qt.widgets.alert import Alert
from inspector.qt.widgets.keyvalue import Fact, KeyValueList
from inspector.qt.widgets.labels import Muted
from inspector.qt.widgets.longtext import LongText


class UrlSection(Section):
    """A URL elicitation. Opening the page is consent, which is sent to the server.

    What happens on the page is not reported back.
    """

    def __init__(self, opener: Opener, theme: Theme, card: Card, question: Question, asked: UrlAsked) -> None:
        super().__init__(theme, card, question)
        self._opener = opener
        self._asked = asked
        self._link = read_link(asked.url)
        self.message = LongText(theme, asked.message.strip())
        self.address = AddressLabel(theme, self._link)
        self.facts = KeyValueList(theme, self._facts())
        self.warnings = Alert(theme)
        words = QWidget()
        self._fill(words, (self.message, self.facts, self.address))
        self._fill(self.asked, (self.warnings, words), margin=0)
        if not asked.message.strip():
            self.message.hide()
        self._warn()
        self.open_action = self._action(
            "Open in browser", self.open_page, "Open the page, and tell the server that you agreed to"
        )
        self.copy_action = self._action("Copy address", self._copy, "Opens nothing, and tells nobody")
        self.agree_action = self._action(
            "I opened it myself", self._consent, "Tell the server that you agreed to visit the page"
        )
        self.decline_action = self._action("Decline", self._decline, DECLINE_TIP)
        self.cancel_action = self._action("Cancel", self._cancel, CANCEL_TIP)
        self.open_action.setEnabled(not may_open(self._link))
        self.bar.add(self.open_action, "primary")
        self.bar.add(self.copy_action)
        self.bar.add(self.decline_action)
        self.bar.add(self.cancel_action)
        # Always visible: a long message or URL must not hide where the button leads.
        self.bar.add_words(Muted(theme, f"Goes to {self._link.ascii_host}" if self._link.ascii_host else ""))
        self.show_question(card, question)

    def open_page(self) -> None:
        """Open the page and reply with accept. If it cannot be opened, nothing is sent."""
        try:
            self._opener.open(self._asked.url)
        except UserError as exc:
            self.bar.alert.say("opening", exc.summary, exc.next_step, [self.copy_action, self.agree_action])
            return
        self._consent()

    def open_again(self) -> None:
        """Open the page again, after the reply was sent."""
        try:
            self._opener.open(self._asked.url)
        except UserError as exc:
            self.warnings.say("opening", exc.summary, exc.next_step, [self.copy_action])

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._asked.url)

    def _consent(self) -> None:
        self._decide(Reply(consented()))

    def _decline(self) -> None:
        self._decide(Reply(declined()))

    def _cancel(self) -> None:
        self._decide(Reply(cancelled()))

    def _facts(self) -> list[Fact]:
        link = self._link
        if not link.ascii_host:
            return []
        facts = [Fact("Host", link.ascii_host, mono=True)]
        if link.is_international:
            facts.append(Fact("Shown as", link.unicode_host, mono=True, tone="warn"))
        if link.port is not None:
            facts.append(Fact("Port", str(link.port), mono=True))
        return facts

    def _show_remarks(self, remarks: Sequence[str]) -> None:
        """Show the remarks, except one already shown as a warning."""
        reason = may_open(read_link(text_of(self._question.params, "url")))
        super()._show_remarks(tuple(each for each in remarks if not reason or reason not in each))

    def _warn(self) -> None:
        if reason := may_open(self._link):
            self.warnings.say("problem", f"This address is not opened. {reason}", tone="error")
        for number, warning in enumerate(self._link.warnings):
            self.warnings.say(str(number), warning)
