"""What only the person can say in a login: may these hosts be contacted, which client are we?"""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from inspector.base.plaintext import one_line
from inspector.oauth.steps import Question, QuestionKind
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.labels import Muted, PlainLabel
from inspector.qt.widgets.secretfields import secret_line


class QuestionBox(QWidget):
    """A question that the login is waiting for. Not answering it means cancelling the login.

    Signals:
        hosts_judged: Whether the hosts in question may be contacted; carries yes or no.
        client_given: The client to use; carries its ID and its secret, which may be empty.
    """

    hosts_judged = Signal(bool)
    client_given = Signal(str, str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._question: Question | None = None
        self.words = PlainLabel(theme, wrap=True, selectable=True)
        self.issuer = Muted(theme, wrap=True)
        self.hosts = PlainLabel(theme, mono=True, wrap=True, selectable=True)
        self.client_id = QLineEdit()
        self.client_id.setPlaceholderText("Client ID")
        self.client_id.setAccessibleName("Client ID")
        self.secret = secret_line("Client secret, if there is one")
        self.allow_action = QAction("Contact them", self)
        self.give_action = QAction("Use this client", self)
        self.give_action.setEnabled(False)
        self.refuse_action = QAction("Do not contact them", self)
        self._judging = self._make_judging()
        self._client = self._make_client()
        self._lay_out()
        self.allow_action.triggered.connect(lambda: self.hosts_judged.emit(True))
        self.refuse_action.triggered.connect(lambda: self.hosts_judged.emit(False))
        self.give_action.triggered.connect(self._on_give)
        self.client_id.textChanged.connect(lambda text: self.give_action.setEnabled(bool(text.strip())))
        self.client_id.returnPressed.connect(self._on_give)
        self.secret.returnPressed.connect(self._on_give)
        self.hide()

    @property
    def shown(self) -> Question | None:
        """The question shown."""
        return self._question

    def show_question(self, question: Question | None) -> None:
        if question == self._question:
            return
        self._question = question
        self.setVisible(question is not None)
        self.client_id.clear()
        self.secret.clear()
        if question is None:
            return
        self.words.setText(question.text)
        self.issuer.setText(f"Issuer: {one_line(question.issuer)}")
        self.issuer.setVisible(bool(question.issuer))
        self.hosts.setText("\n".join(one_line(host) for host in question.hosts))
        is_hosts = question.kind is not QuestionKind.CLIENT
        is_issuer = question.kind is QuestionKind.ISSUER
        self.allow_action.setText("Trust it" if is_issuer else "Contact them")
        self.refuse_action.setText("Do not trust it" if is_issuer else "Do not contact them")
        self.hosts.setVisible(bool(question.hosts))
        self._judging.setVisible(is_hosts)
        self._client.setVisible(not is_hosts)

    # --------------------------------------------------------------

    def _on_give(self) -> None:
        client_id = self.client_id.text().strip()
        if client_id:
            self.client_given.emit(client_id, self.secret.text())
            self.secret.clear()

    def _make_client(self) -> QWidget:
        client = QWidget()
        row = QHBoxLayout(client)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_2)
        row.addWidget(self.client_id, 2)
        row.addWidget(self.secret, 2)
        row.addWidget(ActionButton(self.give_action))
        return client

    def _make_judging(self) -> QWidget:
        judging = QWidget()
        row = QHBoxLayout(judging)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_2)
        for action in (self.allow_action, self.refuse_action):
            row.addWidget(ActionButton(action))
        row.addStretch(1)
        return judging

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_2)
        column.setSpacing(SPACE_1)
        for part in (self.words, self.issuer, self.hosts, self._judging, self._client):
            column.addWidget(part)
