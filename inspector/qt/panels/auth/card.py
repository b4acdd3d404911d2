"""One step of a login: what happens and why, what went in, what came of it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from inspector.oauth.report import by_severity
from inspector.oauth.steps import LoginView, Step, StepId
from inspector.qt.panels.auth.cardparts import (
    Part,
    decisions_part,
    exchanges_part,
    inputs_part,
    table_part,
)
from inspector.qt.panels.auth.findings import FindingEntry
from inspector.qt.panels.auth.marks import STATE_TONES
from inspector.qt.panels.auth.preview import RequestPreview
from inspector.qt.theme import SPACE_2, SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.alert import Alert
from inspector.qt.widgets.badge import Badge
from inspector.qt.widgets.labels import Heading, PlainLabel


class StepCard(QScrollArea):
    """The selected step in full. Revealed values stay revealed for this login and step.

    Signals:
        exchange_chosen: The user wants to see an exchange in full; carries its position.
        edited: The user changed the request about to be sent; carries it.
    """

    exchange_chosen = Signal(int)
    edited = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._step: Step | None = None
        self._flow = 0
        self._revealed: set[tuple[StepId, str]] = set()
        self._inside: QWidget | None = None
        self.title = Heading(theme)
        self.state = Badge(theme)
        self.why = PlainLabel(theme, tone="muted", wrap=True, selectable=True)
        self.problem = Alert(theme)
        self.preview = RequestPreview(theme)
        self.preview.edited.connect(self.edited)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._lay_out()

    def show_step(self, view: LoginView, step: Step) -> None:
        if view.flow_id != self._flow:
            self._revealed.clear()
        before = self._step
        if view.flow_id == self._flow and step == before:
            return
        self._flow, self._step = view.flow_id, step
        number = view.steps.index(step) + 1
        self.title.setText(f"{number}  {step.id.value}")
        self.state.set_text(step.state.value, STATE_TONES[step.state])
        self.why.setText(step.why)
        self.why.setVisible(bool(step.why))
        if step.problem:
            self.problem.say("problem", step.problem, tone="error")
        else:
            self.problem.close_all()
        self.preview.show_request(step.preview)
        self._show_parts(step)
        if before is None or before.id is not step.id:
            self.verticalScrollBar().setValue(0)

    # --------------------------------------------------------------

    def _show_parts(self, step: Step) -> None:
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE_4)
        for part in self._parts(step):
            column.addWidget(part)
        if self._inside is not None:
            self._column.removeWidget(self._inside)
            self._inside.hide()
            self._inside.deleteLater()
        self._inside = inside
        self._column.insertWidget(self._column.count() - 1, inside)
        inside.show()

    def _parts(self, step: Step) -> list[Part]:
        theme, parts = self._theme, []
        if step.findings:
            parts.append(self._findings_part(step))
        if step.decisions:
            parts.append(decisions_part(theme, step.decisions))
        if step.inputs:
            revealed = {name for id, name in self._revealed if id is step.id}
            parts.append(inputs_part(theme, step.inputs, revealed, self._on_revealed))
        parts += [table_part(theme, table) for table in step.tables]
        if step.exchanges:
            parts.append(exchanges_part(theme, step.exchanges, self.exchange_chosen.emit))
        if step.differs:
            part = Part(theme, "In other revisions")
            part.column.addWidget(PlainLabel(theme, step.differs, tone="muted", wrap=True, selectable=True))
            parts.append(part)
        return parts

    def _findings_part(self, step: Step) -> Part:
        part = Part(self._theme, "Findings")
        for finding in by_severity(step.findings):
            part.column.addWidget(FindingEntry(self._theme, finding))
        return part

    def _on_revealed(self, name: str, is_shown: bool) -> None:
        assert self._step is not None
        change = self._revealed.add if is_shown else self._revealed.discard
        change((self._step.id, name))

    def _lay_out(self) -> None:
        page = QWidget()
        head = QHBoxLayout()
        head.setSpacing(SPACE_2)
        head.addWidget(self.title)
        head.addWidget(self.state)
        head.addStretch(1)
        self._column = QVBoxLayout(page)
        self._column.setContentsMargins(SPACE_3, SPACE_3, SPACE_3, SPACE_3)
        self._column.setSpacing(SPACE_3)
        self._column.addLayout(head)
        for part in (self.why, self.problem, self.preview):
            self._column.addWidget(part)
        self._column.addStretch(1)
        self.setWidget(page)
