"""One diagnosis: the cause, what to do, a button that does it, and what speaks for it."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inspector.base.plaintext import one_line
from inspector.engine.doctor.checks import ActionKind, Diagnosis
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme, Tone
from inspector.qt.widgets.actionbutton import ActionButton, ButtonKind
from inspector.qt.widgets.alert import Alert
from inspector.qt.widgets.labels import PlainLabel


class _Cause(PlainLabel):
    """The cause, which is read first."""

    def _label_font(self) -> QFont:
        return self._theme.ui_font(1.0, QFont.Weight.DemiBold)


class FindingView(QWidget):
    """A remark about a server that works, or why one does not.

    Signals:
        action_wanted: The user wants what the diagnosis offers; carries its Action. For a certificate,
            after confirmation.
    """

    action_wanted = Signal(object)

    def __init__(self, theme: Theme, diagnosis: Diagnosis, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.diagnosis = diagnosis
        self.cause = _Cause(theme, diagnosis.cause, wrap=True, selectable=True)
        self.fix = PlainLabel(theme, diagnosis.fix, wrap=True, selectable=True)
        evidence = "\n".join(diagnosis.evidence)
        self.evidence = PlainLabel(theme, evidence, tone="muted", wrap=True, selectable=True, mono=True)
        self.evidence.setVisible(bool(evidence))
        self.question = Alert(theme)
        self.do_action = QAction(diagnosis.action.label if diagnosis.action is not None else "", self)
        self.do_action.triggered.connect(self._on_do)
        self.yes_action = QAction("Trust it", self)
        self.yes_action.triggered.connect(self._on_yes)
        self.no_action = QAction("Cancel", self)
        self.no_action.triggered.connect(self.question.close_all)
        self._lay_out()
        self.setAccessibleName(one_line(diagnosis.cause))
        theme.changed.connect(self.update)

    def _on_do(self) -> None:
        action = self.diagnosis.action
        if action is None:
            return
        if action.kind is not ActionKind.TRUST_CERTIFICATE:
            self.action_wanted.emit(action)
            return
        words = (
            "Trust the certificate below, for this server only? Whoever has its key can pass for the server: "
            "compare the fingerprint with the server's own first."
        )
        self.question.say("trust", words, actions=(self.yes_action, self.no_action))

    def _on_yes(self) -> None:
        self.question.close_all()
        self.action_wanted.emit(self.diagnosis.action)

    def paintEvent(self, event: QPaintEvent) -> None:
        tone: Tone = "warn" if self.diagnosis.is_warning else "error"
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.tokens.tint(tone, 0.08))
        painter.fillRect(0, 0, 3, self.height(), self._theme.color(tone))

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_2)
        column.setSpacing(SPACE_1)
        column.addWidget(self.cause)
        column.addWidget(self.fix)
        if self.diagnosis.action is not None:
            row = QHBoxLayout()
            row.setContentsMargins(0, SPACE_1, 0, SPACE_1)
            kind: ButtonKind = "plain" if self.diagnosis.is_warning else "primary"
            row.addWidget(ActionButton(self.do_action, kind))
            row.addStretch(1)
            column.addLayout(row)
        column.addWidget(self.question)
        column.addWidget(self.evidence)
