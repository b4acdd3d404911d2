"""Card of one login step: purpose, inputs, result, and its next request.

The request can be edited before it is sent.
"""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import (
    QFrame,
    QLineEdit,
    QPlainTextEdit,
    QScrollArea,
    QWidget,
)

from inspector.base.errors import UserError
from inspector.oauth.http import LoginRequest
from inspector.oauth.login.report import Masked, by_severity, request_text
from inspector.oauth.login.steps import LoginView, Step, StepId
from inspector.protocol.http_rules import Headers
from inspector.qt.panels.login.findings import STATE_TONES, FindingEntry
from inspector.qt.panels.login.step_parts import Part, decisions_part, exchanges_part, inputs_part, table_part
from inspector.qt.theme import SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.inputs.clipboard import secret_clipboard
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import STRETCH, discard, hbox, vbox
from inspector.qt.widgets.notices.notices import Alert, reported
from inspector.qt.widgets.text.badge import Badge
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel

_MAX_PREVIEW_LENGTH = 8_000
_EDITOR_LINES = 5
_MIN_SECRET_LENGTH = 6  # shorter texts reveal nothing and occur by chance


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
        self._parts_widget: QWidget | None = None
        self.title = Heading(theme)
        self.state = Badge(theme)
        self.why = PlainLabel(theme, tone="muted", wrap=True, selectable=True)
        self.error = Alert(theme)
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
            self.error.show_message("error", step.problem, tone="error")
        else:
            self.error.close_all()
        self.preview.show_request(step.preview)
        self._show_parts(step)
        if before is None or before.id is not step.id:
            self.verticalScrollBar().setValue(0)

    def _show_parts(self, step: Step) -> None:
        parts = QWidget()
        vbox(parts, *self._parts(step), gap=SPACE_4)
        if self._parts_widget is not None:
            discard(self._parts_widget)
        self._parts_widget = parts
        self._column.insertWidget(self._column.count() - 1, parts)
        parts.show()

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
            part = Part(theme, "In other protocol versions")
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
        self._column = vbox(
            page,
            hbox(None, self.title, self.state, STRETCH),
            self.why,
            self.error,
            self.preview,
            STRETCH,
            gap=SPACE_3,
            margin=SPACE_3,
        )
        self.setWidget(page)


class RequestPreview(QWidget):
    """The request about to be sent, with secrets masked.

    The editor shows secrets: its content is sent as it is. Text copied from it is cleared from the
    clipboard after a while.

    Signals:
        edited: The user wants to send this request instead; carries the LoginRequest.
        editing_changed: Editing started or ended.
    """

    edited = Signal(object)
    editing_changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._request: LoginRequest | None = None
        self._theme = theme
        self.title = Heading(theme, "Next request")
        self.text = PlainLabel(theme, mono=True, wrap=True, selectable=True)
        self.text.setAccessibleName("Request before it is sent")
        self.url = QLineEdit()
        self.url.setAccessibleName("Request URL")
        self.headers = _box("Request headers, one per line")
        self.body = _box("Request body")
        for field in (self.url, self.headers, self.body):
            field.setFont(theme.mono_font(0.95))
        self.alert = Alert(theme)
        self.edit_action = QAction("Edit…", self)
        self.edit_action.setToolTip("Edit the request before it is sent; its secrets become visible")
        self.apply_action = QAction("Apply", self)
        self.apply_action.setToolTip("Send the edited request when the step runs")
        self.discard_action = QAction("Discard", self)
        self.edit_action.triggered.connect(self._on_edit)
        self.apply_action.triggered.connect(self._on_apply)
        self.discard_action.triggered.connect(self._stop_editing)
        QGuiApplication.clipboard().dataChanged.connect(self._on_clipboard_changed)
        self._editor = self._make_editor()
        self._lay_out()
        self._show_editor(False)

    @property
    def is_editing(self) -> bool:
        return self._editor.isVisibleTo(self)

    def show_request(self, request: LoginRequest | None) -> None:
        """Show a request; None if nothing is about to be sent.

        An edit in progress stays while the request is the same.
        """
        if request == self._request:
            return
        self._request = request
        self._stop_editing()
        self.setVisible(request is not None)
        if request is not None:
            shown = request_text(request, Masked())
            self.text.setText(
                shown if len(shown) <= _MAX_PREVIEW_LENGTH else f"{shown[:_MAX_PREVIEW_LENGTH]}…"
            )

    def edited_request(self) -> LoginRequest:
        """Return the edited request. Raises UserError if it is invalid."""
        assert self._request is not None
        return replace(
            self._request,
            url=self.url.text().strip(),
            headers=_read_headers(self.headers.toPlainText()),
            body=self.body.toPlainText().encode(errors="replace"),
        )

    def _on_clipboard_changed(self) -> None:
        text = QGuiApplication.clipboard().text() if self.is_editing else ""
        fields = (self.url.text(), self.headers.toPlainText(), self.body.toPlainText())
        if len(text) >= _MIN_SECRET_LENGTH and any(text in each for each in fields):
            secret_clipboard().clear_later(text)

    def _on_edit(self) -> None:
        request = self._request
        if request is None:
            return
        self.url.setText(request.url)
        self.headers.setPlainText("\n".join(f"{name}: {value}" for name, value in request.headers))
        self.body.setPlainText(request.body.decode(errors="replace"))
        self.body.setVisible(bool(request.body) or request.method != "GET")
        self._show_editor(True)
        self.url.setFocus(Qt.FocusReason.OtherFocusReason)
        self.editing_changed.emit()

    def _on_apply(self) -> None:
        with reported(self.alert, "request", "error"):
            request = self.edited_request()
            self._stop_editing()
            self.edited.emit(request)

    def _stop_editing(self) -> None:
        if self.is_editing:
            self._show_editor(False)
            for field in (self.url, self.headers, self.body):
                field.clear()  # they may hold secrets
            self.editing_changed.emit()

    def _show_editor(self, is_shown: bool) -> None:
        self.alert.close_all()
        self._editor.setVisible(is_shown)
        self.text.setVisible(not is_shown)
        self._edit_button.setVisible(not is_shown)

    def _make_editor(self) -> QWidget:
        editor = QWidget()
        buttons = hbox(
            None,
            ActionButton(self.apply_action),
            ActionButton(self.discard_action),
            (MutedLabel(self._theme, "Secrets are visible while you edit.", wrap=True), 1),
        )
        vbox(editor, self.url, self.headers, self.body, self.alert, buttons)
        return editor

    def _lay_out(self) -> None:
        self._edit_button = ActionButton(self.edit_action, "quiet")
        vbox(self, hbox(None, (self.title, 1), self._edit_button, gap=-1), self.text, self._editor)
        self.hide()


def _box(name: str) -> QPlainTextEdit:
    box = QPlainTextEdit()
    box.setProperty("kind", "input")
    box.setAccessibleName(name)
    box.setTabChangesFocus(True)
    box.setFixedHeight(box.fontMetrics().lineSpacing() * _EDITOR_LINES + 16)
    return box


def _read_headers(text: str) -> Headers:
    headers = []
    for number, line in enumerate(text.splitlines(), 1):
        name, colon, value = line.partition(":")
        if not line.strip():
            continue
        if not colon or not name.strip() or " " in name.strip():
            raise UserError(f"Line {number} of the headers is not a header.", "Use the form Name: value.")
        headers.append((name.strip(), value.strip()))
    return tuple(headers)
