"""How a step stands and how grave a finding is, as marks that stay apart without colour."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from inspector.oauth.steps import StepState
from inspector.protocol.auth.findings import Finding, Severity
from inspector.qt.theme import ICON_SIZE, Theme, Tone
from inspector.qt.widgets.badge import DotShape, paint_dot

STATE_TONES: dict[StepState, Tone] = {
    StepState.WAITING: "muted",
    StepState.READY: "accent",
    StepState.RUNNING: "wait",
    StepState.DONE: "ok",
    StepState.FAILED: "error",
    StepState.SKIPPED: "muted",
}
_ICONS = {
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


def worst(findings: Iterable[Finding]) -> Severity | None:
    found = {each.severity for each in findings}
    return next((each for each in Severity if each in found), None)


def paint_state(painter: QPainter, box: QRectF, theme: Theme, state: StepState) -> None:
    """Paint the mark of a state, centred in `box`."""
    tone = STATE_TONES[state]
    if state not in _ICONS:
        shape = DotShape.DASH if state is StepState.SKIPPED else DotShape.RING
        paint_dot(painter, box, shape, theme.color(tone))
        return
    size = ICON_SIZE
    pixmap = theme.pixmap(_ICONS[state], tone, size, painter.device().devicePixelRatioF())
    painter.drawPixmap(round(box.center().x() - size / 2), round(box.center().y() - size / 2), pixmap)
