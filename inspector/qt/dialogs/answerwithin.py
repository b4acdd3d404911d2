"""How long a question waits for the person: one line, in force and written at once."""

from __future__ import annotations

import shiboken6
from PySide6.QtWidgets import QHBoxLayout, QSpinBox, QWidget

from inspector.base.errors import UserError
from inspector.qt.bridge import Bridge
from inspector.qt.theme import SPACE_2, Theme
from inspector.qt.widgets.alert import Alert
from inspector.qt.widgets.labels import Muted

_LONGEST = 7 * 86_400


class AnswerWithin(QWidget):
    """The Inbox timeout setting. Errors are shown in `alert`."""

    def __init__(self, bridge: Bridge, theme: Theme, alert: Alert, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._alert = alert
        self.seconds = QSpinBox(maximum=_LONGEST, suffix=" s")
        self.seconds.setSpecialValueText("no limit")
        self.seconds.setAccessibleName("How long a question waits for you")
        self.seconds.setToolTip(
            "Afterwards forms and pages are cancelled, and sampling is refused. For questions from now on."
        )
        self.seconds.setKeyboardTracking(False)  # typing 300 must not emit 3, then 30
        self.seconds.setEnabled(False)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_2)
        row.addWidget(Muted(theme, "A question waits for you at most"))
        row.addWidget(self.seconds)
        row.addStretch(1)
        bridge.start_when_attached("how long questions wait", self._load())

    async def _load(self) -> None:
        within = await self._bridge.ask_inbox(lambda inbox: inbox.answer_within)
        if shiboken6.isValid(self):
            self.seconds.setValue(max(1, round(within)) if within is not None else 0)
            self.seconds.setEnabled(True)
            self.seconds.valueChanged.connect(self._on_changed)

    def _on_changed(self, seconds: int) -> None:
        # Not tied to the window's lifetime: the choice must be saved.
        self._bridge.start("keep how long questions wait", self._keep(seconds))

    async def _keep(self, seconds: int) -> None:
        try:
            await self._bridge.ask_inbox(lambda inbox: inbox.choose_answer_within(seconds or None))
        except UserError as exc:
            if not shiboken6.isValid(self):
                raise
            self._alert.say("within", exc.summary, exc.next_step, tone="error")
