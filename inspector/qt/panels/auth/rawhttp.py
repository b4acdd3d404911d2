"""The requests of one step as they went over the wire, with their answers."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from inspector.base.plaintext import one_line
from inspector.base.redact import masked_url
from inspector.oauth.steps import HttpSeen, Step, StepState
from inspector.oauth.wiretext import Masked, Plain, holds_secrets, reply_text, request_text
from inspector.qt.panels.auth.cardparts import exchange_words
from inspector.qt.theme import SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.gate import Gate
from inspector.qt.widgets.jsonview import JsonView
from inspector.qt.widgets.labels import Muted

_LONGEST_NAME = 120


class RawHttp(QWidget):
    """One exchange at a time, with a picker for several. Each is shown with its secrets masked.

    Signals:
        row_requested: The user wants to see it in the traffic; carries its row.
    """

    row_requested = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._step: Step | None = None
        self.choice = QComboBox()
        self.choice.setAccessibleName("Which request")
        self.choice.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.secrets = QCheckBox("Show secrets")
        self.secrets.setToolTip("Show tokens, codes and keys of this request as they are")
        self.about = Muted(theme)
        self.text = JsonView(theme, "HTTP request and answer")
        self.row_action = QAction("Show in Traffic", self)
        self.row_action.triggered.connect(self._on_row_requested)
        self._row_button = ActionButton(self.row_action, "quiet")
        self._gate = Gate(theme, self._make_page())
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._gate)
        self.choice.currentIndexChanged.connect(self._on_chosen)
        self.secrets.toggled.connect(self._show_text)

    def show_step(self, step: Step | None) -> None:
        before, self._step = self._step, step
        if step is None or not (step.exchanges or step.preview):
            self._gate.explain("empty", "info", "No HTTP", _no_http(step))
            return
        if before is not None and step.id is before.id and _wire(step) == _wire(before):
            return
        is_same = before is not None and step.id is before.id
        was_last = self.choice.currentIndex() == self.choice.count() - 1
        place = self.choice.currentIndex() if is_same and not was_last else len(step.exchanges) - 1
        self._fill(step, max(place, 0))
        self._gate.open()

    def choose(self, place: int) -> None:
        if 0 <= place < self.choice.count():
            self.choice.setCurrentIndex(place)

    # --------------------------------------------------------------

    def _fill(self, step: Step, place: int) -> None:
        self.choice.blockSignals(True)
        self.choice.clear()
        for seen in step.exchanges:
            words = f"{seen.status or 'failed'}  {seen.request.method} {masked_url(seen.request.url)}"
            self.choice.addItem(one_line(words)[:_LONGEST_NAME])
        if step.preview is not None:
            self.choice.addItem(f"next  {step.preview.method} {one_line(masked_url(step.preview.url))}")
            place = self.choice.count() - 1
        self.choice.setCurrentIndex(min(place, self.choice.count() - 1))
        self.choice.setVisible(self.choice.count() > 1)
        self.choice.blockSignals(False)
        self._on_chosen()

    def _seen(self) -> HttpSeen | None:
        place = self.choice.currentIndex()
        if self._step is None or not 0 <= place < len(self._step.exchanges):
            return None
        return self._step.exchanges[place]

    def _on_chosen(self) -> None:
        seen = self._seen()
        request = seen.request if seen is not None else self._step.preview if self._step is not None else None
        if request is None:
            return
        self.secrets.blockSignals(True)
        self.secrets.setChecked(False)
        self.secrets.blockSignals(False)
        self.secrets.setVisible(holds_secrets(request, seen))
        self.about.setText(exchange_words(seen) if seen is not None else "not sent yet")
        self._row_button.setVisible(seen is not None and seen.row >= 0)
        self._show_text()

    def _show_text(self) -> None:
        look = Plain() if self.secrets.isChecked() else Masked()
        seen = self._seen()
        if seen is not None:
            text = f"{request_text(seen.request, look)}\n\n{reply_text(seen, look)}"
        elif self._step is not None and self._step.preview is not None:
            text = request_text(self._step.preview, look)
        else:
            return
        self.text.set_secret(self.secrets.isChecked())
        self.text.set_text(text, "text")

    def _on_row_requested(self) -> None:
        seen = self._seen()
        if seen is not None and seen.row >= 0:
            self.row_requested.emit(seen.row)

    def _make_page(self) -> QWidget:
        page = QWidget()
        line = QHBoxLayout()
        line.setContentsMargins(SPACE_3, 0, SPACE_3, 0)
        line.setSpacing(SPACE_2)
        line.addWidget(self.about, 1)
        line.addWidget(self._row_button, 0, Qt.AlignmentFlag.AlignRight)
        line.addWidget(self.secrets)
        head = QHBoxLayout()
        head.setContentsMargins(SPACE_3, 0, SPACE_3, 0)
        head.addWidget(self.choice)
        column = QVBoxLayout(page)
        column.setContentsMargins(0, SPACE_2, 0, 0)
        column.setSpacing(SPACE_2)
        column.addLayout(head)
        column.addLayout(line)
        column.addWidget(self.text, 1)
        return page


def _no_http(step: Step | None) -> str:
    if step is None:
        return "Choose a step."
    is_ahead = step.state in (StepState.WAITING, StepState.READY, StepState.RUNNING)
    return "Nothing was sent in this step yet." if is_ahead else "This step sends nothing over HTTP."


def _wire(step: Step) -> tuple[object, ...]:
    return step.exchanges, step.preview
