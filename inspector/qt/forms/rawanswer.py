"""What came of bytes that were sent by hand: `RawAnswer`."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inspector.base.units import duration, size
from inspector.engine.views import RawOutcome
from inspector.qt.bridge import Bridge
from inspector.qt.models.rawrows import refusal, standing
from inspector.qt.theme import SPACE_2, SPACE_3, Theme, Tone
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.alert import Alert
from inspector.qt.widgets.badge import Badge
from inspector.qt.widgets.gate import Gate
from inspector.qt.widgets.jsonview import JsonView
from inspector.qt.widgets.labels import Muted
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RecordKind


class RawAnswer(QWidget):
    """A sent or received message, or why there is none, with its status and actions."""

    def __init__(
        self, bridge: Bridge, theme: Theme, actions: Sequence[QAction] = (), parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._turn = 0
        self.row: int | None = None  # of the message that is shown
        self.badge = Badge(theme)
        self._facts = Muted(theme)
        self.alert = Alert(theme)
        self.text = JsonView(theme, "What came back")
        self._gate = Gate(theme, self.text)
        self._buttons = [ActionButton(action, "quiet") for action in actions]
        self._lay_out()

    def explain(self, icon: str, title: str, sentence: str) -> None:
        """Show why there is no message, yet or at all."""
        self._begin(None, "", "muted", "")
        self._gate.explain("empty", icon, title, sentence)

    def show_waiting(self, sentence: str, cancel: QAction) -> None:
        self._begin(None, "", "muted", "")
        self._gate.explain("loading", "", "Waiting for the answer", sentence, action=cancel)

    def show_failed(self, summary: str, next_step: str) -> None:
        self._begin(None, "not sent", "error", "")
        self._gate.explain("failed", "", "Not sent", summary, next_step)

    async def show_outcome(self, outcome: RawOutcome) -> None:
        """Show the response, or why there is none."""
        if outcome.answer_row is not None:
            await self.show_row(outcome.answer_row, outcome.elapsed_ns)
        else:
            await self.show_row(outcome.row, outcome.elapsed_ns, of_answer=True)
        if outcome.summary:
            self.alert.say("outcome", outcome.summary, outcome.next_step)

    async def show_row(self, row: int, elapsed_ns: int | None = None, *, of_answer: bool = False) -> None:
        """Show a message of the log.

        With `of_answer` it is a request without a response, and that is what is shown.
        """
        log = self._bridge.log
        took = log.duration_ns(row) if elapsed_ns is None else elapsed_ns
        refused = refusal(log, row)
        words, tone = standing(log, row)
        facts = [] if took is None else [duration(took)]
        body = log.http(row) if refused else None
        facts.append(size(len(body.body) if body is not None else log.size(row)))
        self._begin(row, words, tone, " · ".join(facts))
        turn = self._turn
        if body is not None and body.body:
            self._show_text(
                body.body.decode(errors="replace"), is_json=body.body.lstrip()[:1] in (b"{", b"[")
            )
        elif of_answer:
            self._gate.explain("empty", "arrow-out", "Sent", _nothing_came(log, row))
        else:
            pretty = await self._bridge.pretty(log, row)
            if turn == self._turn:
                self._show_text(pretty.text, is_json=pretty.is_json)

    # --------------------------------------------------------------

    def _begin(self, row: int | None, words: str, tone: Tone, facts: str) -> None:
        self._turn += 1
        self.row = row
        self.badge.set_text(words, tone)
        self._facts.setText(facts)
        self.alert.close_all()
        for button in self._buttons:
            button.setVisible(row is not None)

    def _show_text(self, text: str, *, is_json: bool) -> None:
        self.text.set_text(text, "json" if is_json else "text")
        self._gate.open()

    def _lay_out(self) -> None:
        strip = QHBoxLayout()
        strip.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_2)
        strip.setSpacing(SPACE_2)
        strip.addWidget(self.badge)
        strip.addWidget(self._facts, 1)
        for button in self._buttons:
            button.setAutoDefault(False)
            strip.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(strip)
        column.addWidget(self.alert)
        column.addWidget(self._gate, 1)


def _nothing_came(log: TrafficLog, row: int) -> str:
    if log.kind(row) == RecordKind.REQUEST:
        return "No answer came. One that still comes is in Traffic."
    return "It asks for no answer. What the server does about it shows up in Traffic."
