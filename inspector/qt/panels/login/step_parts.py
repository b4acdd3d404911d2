"""Parts of a login step card: values with their origin, tables, decisions, HTTP exchanges.

Exchanges are shown as sent, with secrets masked. Each secret value is revealed separately.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QGridLayout,
    QSizePolicy,
    QWidget,
)

from inspector.base.plain_text import one_line
from inspector.base.redaction import MASK, masked_url
from inspector.base.units import duration, size
from inspector.oauth.login.report import Masked, Unmasked, holds_secrets, request_text, response_text
from inspector.oauth.login.steps import Decision, HttpExchangeView, Input, Step, StepState, Table
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, SPACE_4, Theme, Tone
from inspector.qt.widgets.code.json_view import JsonView
from inspector.qt.widgets.inputs.clipboard import SecretCopyPrompt
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import hbox, vbox
from inspector.qt.widgets.notices.empty_state import ContentStack
from inspector.qt.widgets.text.badge import Badge
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel

_MAX_ROWS = 100
_NAME_WIDTH = 140
_TOP = Qt.AlignmentFlag.AlignTop
_MAX_ITEM_LENGTH = 120


class Part(QWidget):
    """A heading with content below it."""

    def __init__(self, theme: Theme, title: str) -> None:
        super().__init__()
        self.column = vbox(self, Heading(theme, title) if title else None)


def inputs_part(
    theme: Theme, inputs: Sequence[Input], revealed: set[str], on_toggled: Callable[[str, bool], None]
) -> Part:
    """Create the part with the step's values; `revealed` names those the user has revealed."""
    part = Part(theme, "Values")
    grid = _grid(1)
    grid.setVerticalSpacing(SPACE_2)
    for position, each in enumerate(inputs[:_MAX_ROWS]):
        name = MutedLabel(theme, each.name)
        name.setMinimumWidth(min(name.sizeHint().width(), _NAME_WIDTH))
        if each.is_secret:
            name.setContentsMargins(0, SPACE_1, 0, 0)  # aligns with the taller buttons beside its value
        grid.addWidget(name, position, 0, _TOP)
        value = vbox(None, _value(theme, each, revealed, on_toggled), gap=0)
        if each.origin:
            value.addWidget(PlainLabel(theme, each.origin, tone="muted", wrap=True))
        grid.addLayout(value, position, 1)
    part.column.addLayout(grid)
    _add_more_label(theme, part, len(inputs))
    return part


def table_part(theme: Theme, table: Table) -> Part:
    part = Part(theme, table.title)
    grid = _grid(0)
    columns = len(table.columns)
    mono = [
        _is_mostly_codes([row[position] for row in table.rows if position < len(row)])
        for position in range(columns)
    ]
    for position, name in enumerate(table.columns):
        grid.addWidget(PlainLabel(theme, name, tone="muted"), 0, position)
        grid.setColumnStretch(position, 1)
    for number, row in enumerate(table.rows[:_MAX_ROWS], 1):
        for position, cell in enumerate(row[:columns]):
            label = PlainLabel(theme, cell, mono=mono[position], wrap=True, selectable=True)
            grid.addWidget(label, number, position, _TOP)
            # Give long texts more room than a status code.
            max_length = max(grid.columnStretch(position), min(len(cell), 60))
            grid.setColumnStretch(position, max_length)
    part.column.addLayout(grid)
    _add_more_label(theme, part, len(table.rows))
    return part


def decisions_part(theme: Theme, decisions: Sequence[Decision]) -> Part:
    part = Part(theme, "Decisions")
    grid = _grid(1)
    grid.setHorizontalSpacing(SPACE_2)
    grid.setVerticalSpacing(SPACE_1)
    for position, each in enumerate(decisions[:_MAX_ROWS]):
        grid.addWidget(PlainLabel(theme, "•", tone="muted"), position, 0, _TOP)
        grid.addWidget(PlainLabel(theme, each.text, wrap=True, selectable=True), position, 1)
    part.column.addLayout(grid)
    _add_more_label(theme, part, len(decisions))
    return part


def exchanges_part(
    theme: Theme, exchanges: Sequence[HttpExchangeView], on_chosen: Callable[[int], None]
) -> Part:
    """Create the part with one line per request and response; a click shows it in full."""
    part = Part(theme, "Requests")
    for position, exchange in enumerate(exchanges[:_MAX_ROWS]):
        text = f"{exchange.request.method} {masked_url(exchange.request.url)}"
        action = QAction("View", part)
        action.setToolTip("Show the full request and response")
        action.triggered.connect(partial(_call_with, on_chosen, position))
        line = hbox(
            None,
            (Badge(theme, str(exchange.status or "failed"), status_tone(exchange)), 0, _TOP),
            (PlainLabel(theme, text, mono=True, wrap=True, selectable=True), 1),
            (ActionButton(action, "quiet"), 0, _TOP),
        )
        part.column.addLayout(line)
        if summary := exchange_text(exchange):
            part.column.addWidget(MutedLabel(theme, summary, wrap=True))
        if certificate := exchange.peer.lines()[1:] if exchange.peer is not None else ():
            part.column.addWidget(
                MutedLabel(theme, "\n".join(line.strip() for line in certificate), wrap=True)
            )
    _add_more_label(theme, part, len(exchanges))
    return part


def exchange_text(exchange: HttpExchangeView) -> str:
    """Return time, size, type and origin of a response, or why there is none."""
    kind = next((value for name, value in exchange.headers if name.lower() == "content-type"), "")
    parts = (
        duration(exchange.elapsed_ns) if exchange.elapsed_ns else "",
        size(len(exchange.body)) if exchange.status else "",
        one_line(kind.partition(";")[0]),
        exchange.peer.lines()[0] if exchange.peer is not None else "",
        exchange.failure,
    )
    return " · ".join(part for part in parts if part)


def status_tone(exchange: HttpExchangeView) -> Tone:
    if not exchange.status:
        return "error"
    return "ok" if exchange.status < 300 else "warn" if exchange.status < 500 else "error"


def _value(theme: Theme, each: Input, revealed: set[str], on_toggled: Callable[[str, bool], None]) -> QWidget:
    if not each.is_secret:
        value = PlainLabel(theme, each.value, mono=True, wrap=True, selectable=True)
        value.setAccessibleName(each.name)
        return value
    secret = SecretValue(theme, each.name, each.value, is_shown=each.name in revealed)
    secret.toggled.connect(partial(on_toggled, each.name))
    return secret


def _call_with(function: Callable[[int], None], position: int, *_: object) -> None:
    function(position)


def _grid(stretched: int) -> QGridLayout:
    grid = QGridLayout()
    grid.setHorizontalSpacing(SPACE_4)
    grid.setVerticalSpacing(SPACE_1)
    grid.setContentsMargins(0, 0, SPACE_3, 0)
    grid.setColumnStretch(stretched, 1)
    return grid


def _is_mostly_codes(cells: Sequence[str]) -> bool:
    """Return whether a column holds URLs and codes (shown in a monospace font), not sentences."""
    filled = [cell for cell in cells if cell]
    return sum(" " not in cell for cell in filled) * 2 > len(filled)


def _add_more_label(theme: Theme, part: Part, count: int) -> None:
    if count > _MAX_ROWS:
        part.column.addWidget(MutedLabel(theme, f"and {count - _MAX_ROWS:,} more"))


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
        self.choice.setAccessibleName("Request")
        self.choice.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.secrets = QCheckBox("Show secrets")
        self.secrets.setToolTip("Show the tokens, codes and keys of this request unmasked")
        self.about = MutedLabel(theme)
        self.text = JsonView(theme, "HTTP request and response")
        self.row_action = QAction("Show in Traffic", self)
        self.row_action.triggered.connect(self._on_row_requested)
        self._row_button = ActionButton(self.row_action, "quiet")
        self._stack = ContentStack(theme, self._make_page())
        vbox(self, self._stack)
        self.choice.currentIndexChanged.connect(self._on_chosen)
        self.secrets.toggled.connect(self._show_text)

    def show_step(self, step: Step | None) -> None:
        before, self._step = self._step, step
        if step is None or not (step.exchanges or step.preview):
            self._stack.explain("empty", "info", "No HTTP exchange", _no_http(step))
            return
        if before is not None and step.id is before.id and _http_of(step) == _http_of(before):
            return
        is_same = before is not None and step.id is before.id
        was_last = self.choice.currentIndex() == self.choice.count() - 1
        position = self.choice.currentIndex() if is_same and not was_last else len(step.exchanges) - 1
        self._fill(step, max(position, 0))
        self._stack.open()

    def choose(self, position: int) -> None:
        if 0 <= position < self.choice.count():
            self.choice.setCurrentIndex(position)

    def _fill(self, step: Step, position: int) -> None:
        self.choice.blockSignals(True)
        self.choice.clear()
        for exchange in step.exchanges:
            text = (
                f"{exchange.status or 'failed'}  {exchange.request.method} {masked_url(exchange.request.url)}"
            )
            self.choice.addItem(one_line(text)[:_MAX_ITEM_LENGTH])
        if step.preview is not None:
            self.choice.addItem(f"next  {step.preview.method} {one_line(masked_url(step.preview.url))}")
            position = self.choice.count() - 1
        self.choice.setCurrentIndex(min(position, self.choice.count() - 1))
        self.choice.setVisible(self.choice.count() > 1)
        self.choice.blockSignals(False)
        self._on_chosen()

    def _current(self) -> HttpExchangeView | None:
        position = self.choice.currentIndex()
        if self._step is None or not 0 <= position < len(self._step.exchanges):
            return None
        return self._step.exchanges[position]

    def _on_chosen(self) -> None:
        exchange = self._current()
        request = (
            exchange.request
            if exchange is not None
            else self._step.preview
            if self._step is not None
            else None
        )
        if request is None:
            return
        self.secrets.blockSignals(True)
        self.secrets.setChecked(False)
        self.secrets.blockSignals(False)
        self.secrets.setVisible(holds_secrets(request, exchange))
        self.about.setText(exchange_text(exchange) if exchange is not None else "not sent yet")
        self._row_button.setVisible(exchange is not None and exchange.row >= 0)
        self._show_text()

    def _show_text(self) -> None:
        redaction = Unmasked() if self.secrets.isChecked() else Masked()
        exchange = self._current()
        if exchange is not None:
            text = f"{request_text(exchange.request, redaction)}\n\n{response_text(exchange, redaction)}"
        elif self._step is not None and self._step.preview is not None:
            text = request_text(self._step.preview, redaction)
        else:
            return
        self.text.set_secret(self.secrets.isChecked())
        self.text.set_text(text, "text")

    def _on_row_requested(self) -> None:
        exchange = self._current()
        if exchange is not None and exchange.row >= 0:
            self.row_requested.emit(exchange.row)

    def _make_page(self) -> QWidget:
        page = QWidget()
        line = hbox(
            None,
            (self.about, 1),
            (self._row_button, 0, Qt.AlignmentFlag.AlignRight),
            self.secrets,
            margin=(SPACE_3, 0),
        )
        head = hbox(None, self.choice, gap=-1, margin=(SPACE_3, 0))
        vbox(page, head, line, (self.text, 1), margin=(0, SPACE_2, 0, 0))
        return page


def _no_http(step: Step | None) -> str:
    if step is None:
        return "Select a step."
    is_pending = step.state in (StepState.WAITING, StepState.READY, StepState.RUNNING)
    return "This step has not sent anything yet." if is_pending else "This step sends nothing over HTTP."


def _http_of(step: Step) -> tuple[object, ...]:
    return step.exchanges, step.preview


class SecretValue(QWidget):
    """A masked value with buttons to reveal it and, after confirmation, to copy it.

    Signals:
        toggled: The user revealed or hid it; carries whether it is shown.
    """

    toggled = Signal(bool)

    def __init__(
        self, theme: Theme, name: str, value: str, *, is_shown: bool = False, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._name, self._value = name, value
        self._is_shown = is_shown
        self.label = PlainLabel(theme, mono=True, wrap=True)  # copied by the button, which asks first
        self.label.setAccessibleName(name)
        self.show_action = QAction("Show", self)
        self.show_action.triggered.connect(self._on_toggled)
        self.copy_action = QAction("Copy", self)
        self.copy_action.setToolTip(f"Copy the {name} (asks for confirmation)")
        self.copy_action.triggered.connect(self._on_copy)
        self.copy_prompt = SecretCopyPrompt(theme)
        buttons = [ActionButton(action, "quiet") for action in (self.show_action, self.copy_action)]
        row = hbox(None, (self.label, 1), *((button, 0, _TOP) for button in buttons), gap=SPACE_1)
        vbox(self, row, self.copy_prompt, gap=SPACE_1)
        self._update()

    def set_value(self, value: str) -> None:
        """Set the value; a different one is hidden again."""
        if value != self._value:
            self._value, self._is_shown = value, False
            self.copy_prompt.close_prompt()
            self._update()

    def _on_toggled(self) -> None:
        self._is_shown = not self._is_shown
        self._update()
        self.toggled.emit(self._is_shown)

    def _on_copy(self) -> None:
        self.copy_prompt.ask(f"the {self._name}", lambda: self._value)

    def _update(self) -> None:
        self.label.setText(self._value if self._is_shown else f"{MASK} ({len(self._value):,} characters)")
        self.show_action.setText("Hide" if self._is_shown else "Show")
        self.show_action.setToolTip(f"{'Hide' if self._is_shown else 'Show'} the {self._name}")
