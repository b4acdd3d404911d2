"""Checklist of a Doctor check, and the view of one finding.

A step shows its mark, result and duration, and details on demand. A finding shows the cause, the next
step with a button for it, and the evidence.
"""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction, QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QStackedWidget, QToolButton, QWidget

from inspector.base.plain_text import one_line
from inspector.base.units import duration
from inspector.engine.doctor.results import ActionKind, CheckResult, CheckState, Diagnosis
from inspector.qt.theme import ICON_SIZE, SPACE_1, SPACE_2, SPACE_3, Theme, Tone
from inspector.qt.widgets.inputs.controls import ActionButton, ButtonKind
from inspector.qt.widgets.layout import STRETCH, discard, hbox, vbox
from inspector.qt.widgets.notices.empty_state import Spinner
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.labels import PlainLabel

_TITLE_WIDTH = 170
_TIME_WIDTH = 80
MARKS: dict[CheckState, tuple[str, Tone]] = {
    CheckState.OK: ("check", "ok"),
    CheckState.WARN: ("warning", "warn"),
    CheckState.FAILED: ("close", "error"),
    CheckState.SKIPPED: ("", "muted"),
    CheckState.RUNNING: ("", "wait"),
}


class StepList(QWidget):
    """All steps so far, in their order."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.rows: dict[str, StepRow] = {}
        self.setAccessibleName("Connection checks")
        self._column = vbox(self, gap=0)

    def show_results(self, results: tuple[CheckResult, ...]) -> None:
        for id in [id for id in self.rows if all(each.id != id for each in results)]:
            row = self.rows.pop(id)
            discard(row)
        for position, result in enumerate(results):
            known = self.rows.get(result.id)
            if known is None:
                known = self.rows[result.id] = StepRow(self._theme, result)
                self._column.insertWidget(position, known)
            elif known.result != result:
                known.show_result(result)


class StepRow(QWidget):
    """One step, updated by `show_result`; its details are created on first use."""

    def __init__(self, theme: Theme, result: CheckResult, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._result = result
        self._icon = QLabel()
        self._icon.setFixedSize(ICON_SIZE, ICON_SIZE)
        self._spinner = Spinner(theme)
        self._mark = QStackedWidget()
        self._mark.setFixedSize(ICON_SIZE, theme.row_height())
        self._mark.setContentsMargins(0, SPACE_1, 0, SPACE_1)
        self._mark.addWidget(self._icon)
        self._mark.addWidget(self._spinner)
        self.title = PlainLabel(theme, result.title)
        self.title.setFixedWidth(_TITLE_WIDTH)
        self.found = PlainLabel(theme, wrap=True, selectable=True)
        self.found.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        self.elapsed = PlainLabel(theme, tone="muted")
        self.elapsed.setFixedWidth(_TIME_WIDTH)
        self.elapsed.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
        self.more = QToolButton()
        self.more.setCheckable(True)
        self.more.setAutoRaise(True)
        self.more.setIconSize(QSize(ICON_SIZE, ICON_SIZE))
        self.more.setFixedSize(theme.row_height(), theme.row_height())
        self.more.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.more.toggled.connect(self._on_toggled)
        self.details: PlainLabel | None = None
        self._column = vbox(self, gap=0, margin=(0, 0, SPACE_3, 0))
        self._lay_out()
        theme.set_icon(self.more, "chevron-right", "muted")
        theme.changed.connect(self._paint_mark)
        self.show_result(result)

    @property
    def result(self) -> CheckResult:
        return self._result

    def show_result(self, result: CheckResult) -> None:
        self._result = result
        is_running = result.state is CheckState.RUNNING
        self._mark.setCurrentWidget(self._spinner if is_running else self._icon)
        is_quiet = result.state is CheckState.SKIPPED
        self.title.set_tone("muted" if is_quiet else "text")
        tone: Tone = "error" if result.state is CheckState.FAILED else "muted" if is_quiet else "text"
        self.found.set_tone(tone)
        self.found.setText(result.text or ("skipped" if is_quiet else ""))
        self.elapsed.setText(duration(result.elapsed_ns) if result.elapsed_ns else "")
        self.more.setEnabled(bool(result.details))
        self.more.setVisible(bool(result.details))
        self.more.setAccessibleName(f"Details of {result.title}")
        if self.details is not None:
            self.details.setText("\n".join(result.details))
        self.setAccessibleName(one_line(f"{result.title}: {result.state.value}. {result.text}"))
        self._paint_mark()

    def _on_toggled(self, is_open: bool) -> None:
        self._theme.set_icon(self.more, "chevron-down" if is_open else "chevron-right", "muted")
        if is_open and self.details is None:
            self.details = PlainLabel(self._theme, tone="muted", wrap=True, selectable=True, mono=True)
            self.details.setText("\n".join(self._result.details))
            inset = ICON_SIZE + SPACE_2 + _TITLE_WIDTH + SPACE_2
            self.details.setContentsMargins(inset, 0, _TIME_WIDTH, SPACE_2)
            self._column.addWidget(self.details)
        if self.details is not None:
            self.details.setVisible(is_open)

    def _paint_mark(self) -> None:
        name, tone = MARKS[self._result.state]
        if name:
            self._icon.setPixmap(self._theme.pixmap(name, tone, ICON_SIZE, self.devicePixelRatioF()))
        else:
            self._icon.clear()
        self._icon.setAccessibleName(self._result.state.value)

    def _lay_out(self) -> None:
        for label in (self.title, self.found, self.elapsed):
            label.setContentsMargins(0, SPACE_1, 0, SPACE_1)
        top = Qt.AlignmentFlag.AlignTop
        row = hbox(
            None,
            (self._mark, 0, top),
            (self.title, 0, top),
            (self.found, 1),
            (self.more, 0, top),
            (self.elapsed, 0, top),
        )
        self._column.addLayout(row)


class FindingView(QWidget):
    """One finding: a warning, or why the connection fails.

    Signals:
        action_requested: The user wants the offered remedy; carries its Action. For a certificate,
            after confirmation.
    """

    action_requested = Signal(object)

    def __init__(self, theme: Theme, diagnosis: Diagnosis, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.diagnosis = diagnosis
        self.cause = _CauseLabel(theme, diagnosis.cause, wrap=True, selectable=True)
        self.fix = PlainLabel(theme, diagnosis.fix, wrap=True, selectable=True)
        evidence = "\n".join(diagnosis.evidence)
        self.evidence = PlainLabel(theme, evidence, tone="muted", wrap=True, selectable=True, mono=True)
        self.evidence.setVisible(bool(evidence))
        self.confirmation = Alert(theme)
        self.apply_action = QAction(diagnosis.action.label if diagnosis.action is not None else "", self)
        self.apply_action.triggered.connect(self._on_apply)
        self.trust_action = QAction("Trust certificate", self)
        self.trust_action.triggered.connect(self._on_trust)
        self.cancel_action = QAction("Cancel", self)
        self.cancel_action.triggered.connect(self.confirmation.close_all)
        self._lay_out()
        self.setAccessibleName(one_line(diagnosis.cause))
        theme.changed.connect(self.update)

    def _on_apply(self) -> None:
        action = self.diagnosis.action
        if action is None:
            return
        if action.kind is not ActionKind.TRUST_CERTIFICATE:
            self.action_requested.emit(action)
            return
        text = (
            "Trust the certificate below for this server only? Anyone with its private key can "
            "impersonate the server. First compare the fingerprint with the one on the server."
        )
        self.confirmation.show_message("trust", text, actions=(self.trust_action, self.cancel_action))

    def _on_trust(self) -> None:
        self.confirmation.close_all()
        self.action_requested.emit(self.diagnosis.action)

    def paintEvent(self, event: QPaintEvent) -> None:
        tone: Tone = "warn" if self.diagnosis.is_warning else "error"
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.tokens.tint(tone, 0.08))
        painter.fillRect(0, 0, 3, self.height(), self._theme.color(tone))

    def _lay_out(self) -> None:
        column = vbox(self, self.cause, self.fix, gap=SPACE_1, margin=(SPACE_3, SPACE_2))
        if self.diagnosis.action is not None:
            kind: ButtonKind = "plain" if self.diagnosis.is_warning else "primary"
            column.addLayout(hbox(None, ActionButton(self.apply_action, kind), STRETCH, margin=(0, SPACE_1)))
        column.addWidget(self.confirmation)
        column.addWidget(self.evidence)


class _CauseLabel(PlainLabel):
    """The cause, which is read first."""

    def _label_font(self) -> QFont:
        return self._theme.ui_font(1.0, QFont.Weight.DemiBold)
