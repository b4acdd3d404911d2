"""Findings of a login as a list and in the step card; marks of states and severities.

The marks differ in shape, not only in color.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication, QPainter
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from inspector.base.units import plural
from inspector.oauth.login.report import findings_text
from inspector.oauth.login.steps import LoginView, StepId, StepState
from inspector.protocol.auth.findings.finding import Finding, Severity
from inspector.qt.theme import ICON_SIZE, SPACE_1, SPACE_2, SPACE_3, SPACE_4, Theme, Tone
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.notices.empty_state import ContentStack
from inspector.qt.widgets.text.badge import Badge, DotShape, StateDot, paint_dot
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel

_MAX_FINDINGS = 100
STATE_TONES: dict[StepState, Tone] = {
    StepState.WAITING: "muted",
    StepState.READY: "accent",
    StepState.RUNNING: "wait",
    StepState.DONE: "ok",
    StepState.FAILED: "error",
    StepState.SKIPPED: "muted",
}
_STATE_ICONS = {
    StepState.READY: "chevron-right",
    StepState.RUNNING: "history",
    StepState.DONE: "check",
    StepState.FAILED: "close",
}
SEVERITY_MARKS: dict[Severity, tuple[DotShape, Tone]] = {
    Severity.ERROR: (DotShape.CROSS, "error"),
    Severity.WARNING: (DotShape.TRIANGLE, "warn"),
    Severity.INFO: (DotShape.RING, "muted"),
}


class FindingList(QWidget):
    """Every finding of a login, most severe first.

    Signals:
        step_requested: The user wants to see the step of a finding; carries its StepId.
    """

    step_requested = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._view: LoginView | None = None
        self._shown: Sequence[tuple[StepId, Finding]] = ()
        self.title = Heading(theme)
        self.copy_action = QAction("Copy as text", self)
        self.copy_action.triggered.connect(self._copy)
        self._area = QScrollArea()
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setWidgetResizable(True)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._stack = ContentStack(theme, self._make_page())
        vbox(self, self._stack)
        self.show_view(None)

    def show_view(self, view: LoginView | None) -> None:
        self._view = view
        found = [(step.id, each) for step in view.steps for each in step.findings] if view is not None else []
        found.sort(key=lambda pair: list(Severity).index(pair[1].severity))
        if not found:
            self._shown = ()
            sentence = "Spec violations appear here, with who must fix them."
            title = "No findings" if view is not None else "No login yet"
            self._stack.explain("empty", "check" if view is not None else "key", title, sentence)
            return
        if found != self._shown:
            self._shown = found
            self._fill()
        self._stack.open()

    def _fill(self) -> None:
        self.title.setText(_counts_text([each for _, each in self._shown]))
        page = QWidget()
        column = vbox(page, gap=SPACE_4, margin=(SPACE_3, SPACE_2, SPACE_3, SPACE_3))
        for step, finding in self._shown[:_MAX_FINDINGS]:
            column.addWidget(FindingEntry(self._theme, finding, self._step_action(page, step)))
        if len(self._shown) > _MAX_FINDINGS:
            column.addWidget(MutedLabel(self._theme, f"and {len(self._shown) - _MAX_FINDINGS:,} more"))
        column.addStretch(1)
        self._area.setWidget(page)  # deletes the previous one

    def _step_action(self, owner: QWidget, step: StepId) -> QAction:
        action = QAction(step.value, owner)
        action.setToolTip("Go to this step")
        action.triggered.connect(lambda: self.step_requested.emit(step))
        return action

    def _copy(self) -> None:
        if self._view is not None:
            QGuiApplication.clipboard().setText(findings_text(self._view))

    def _make_page(self) -> QWidget:
        page = QWidget()
        head = hbox(
            None,
            (self.title, 1),
            ActionButton(self.copy_action, "quiet"),
            gap=-1,
            margin=(SPACE_3, SPACE_2, SPACE_3, 0),
        )
        vbox(page, head, (self._area, 1), gap=-1)
        return page


def _counts_text(findings: Sequence[Finding]) -> str:
    """Return counts: 2 errors, 1 warning, 3 notes."""
    nouns = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
    counts = {each: sum(one.severity is each for one in findings) for each in Severity}
    return ", ".join(plural(count, nouns[each]) for each, count in counts.items() if count)


class FindingEntry(QWidget):
    """A finding: observation, rule, fix and evidence."""

    def __init__(self, theme: Theme, finding: Finding, step: QAction | None = None) -> None:
        super().__init__()
        shape, tone = SEVERITY_MARKS[finding.severity]
        head = hbox(
            None,
            PlainLabel(theme, finding.id, mono=True, selectable=True),
            Badge(theme, finding.severity.value, tone),
            STRETCH,
            ActionButton(step, "quiet") if step is not None else None,
        )
        text = vbox(None, head, PlainLabel(theme, finding.seen, wrap=True, selectable=True), gap=SPACE_1)
        if finding.rule:
            text.addWidget(PlainLabel(theme, finding.rule, tone="muted", wrap=True, selectable=True))
        if finding.fix:
            text.addWidget(PlainLabel(theme, finding.fix, wrap=True, selectable=True))
        if finding.evidence:
            evidence = PlainLabel(
                theme, finding.evidence, tone="muted", mono=True, wrap=True, selectable=True
            )
            text.addWidget(evidence)
        dot = StateDot(theme, shape, tone, finding.severity.value)
        hbox(self, (dot, 0, Qt.AlignmentFlag.AlignTop), (text, 1))


def worst(findings: Iterable[Finding]) -> Severity | None:
    found = {each.severity for each in findings}
    return next((each for each in Severity if each in found), None)


def paint_state(painter: QPainter, box: QRectF, theme: Theme, state: StepState) -> None:
    """Paint the mark of a state, centered in `box`."""
    tone = STATE_TONES[state]
    if state not in _STATE_ICONS:
        shape = DotShape.DASH if state is StepState.SKIPPED else DotShape.RING
        paint_dot(painter, box, shape, theme.color(tone))
        return
    size = ICON_SIZE
    pixmap = theme.pixmap(_STATE_ICONS[state], tone, size, painter.device().devicePixelRatioF())
    painter.drawPixmap(round(box.center().x() - size / 2), round(box.center().y() - size / 2), pixmap)
