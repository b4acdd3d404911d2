"""Editor pages for the kinds of reply rules: echo, fixed reply, script file, HTTP endpoint.

Each page shows a rule and returns it with the user's changes. An endpoint's key is write-only.
"""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QGridLayout,
    QLayout,
    QLineEdit,
    QPlainTextEdit,
    QSpinBox,
    QStackedWidget,
    QWidget,
)

from inspector.base.json.values import JSON, JSONError, JSONObject
from inspector.config.json_file import read_exactly, write_exactly
from inspector.config.reply_rules import MAX_PER_MINUTE, ReplyRule, reply_problem
from inspector.protocol.jsonrpc import USER_REJECTED, error_code_text
from inspector.protocol.server_requests.replies import ACCEPT, CANCEL, DECLINE, SAMPLING_REFUSED
from inspector.qt.forms.json.json_edit import JsonEdit
from inspector.qt.theme import SPACE_2, Theme
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.text.labels import MutedLabel
from inspector.qt.widgets.text.text_box import TextBox

_MAX_LENGTH = 2_000
_CODE_WIDTH = 90
_MIN_BOX = 90
_LABEL_WIDTH = 90

TEXT, ACCEPTED, DECLINED, CANCELLED, ERROR, RAW = range(6)
_CHOICES = (
    "Text (sampling)",
    "Accept (elicitation)",
    "Decline (elicitation)",
    "Cancel (elicitation)",
    "Error",
    "Result as JSON",
)


class ReplyKindPage(QWidget):
    """Base class for the page of one rule kind.

    Signals:
        edited: The user changed something.
    """

    edited = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._grid = field_grid(self)

    def _add(self, row: int, text: str, field: QWidget, *, extra: QLayout | None = None) -> None:
        """Add a labeled field over the available width, or with a layout beside it."""
        is_box = isinstance(field, QPlainTextEdit)
        position = Qt.AlignmentFlag.AlignTop if is_box else Qt.AlignmentFlag.AlignVCenter
        self._grid.addWidget(MutedLabel(self._theme, text), row, 0, position)
        self._grid.addWidget(field, row, 1, 1, 1 if extra is not None else 2)
        if extra is not None:
            self._grid.addLayout(extra, row, 2)

    def show_rule(self, rule: ReplyRule) -> None:
        """Show `rule` without emitting `edited`."""

    def changed(self, rule: ReplyRule) -> ReplyRule:
        """Return `rule` with the page's values. Raises ValueError with a message."""
        return rule


def field_grid(owner: QWidget | None = None) -> QGridLayout:
    """Create a grid with labels on the left and fields on the right, aligned with its siblings."""
    grid = QGridLayout(owner) if owner is not None else QGridLayout()
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setHorizontalSpacing(SPACE_2)
    grid.setVerticalSpacing(SPACE_2)
    grid.setColumnMinimumWidth(0, _LABEL_WIDTH)
    grid.setColumnStretch(1, 1)
    return grid


def line(name: str, placeholder: str = "") -> QLineEdit:
    field = QLineEdit(placeholderText=placeholder)
    field.setMaxLength(_MAX_LENGTH)
    field.setAccessibleName(name)
    return field


def json_object(text: str, what: str) -> JSONObject:
    """Parse `text` as a JSON object. Raises ValueError with a message that names `what`."""
    try:
        value = read_exactly(text)
    except JSONError as exc:
        raise ValueError(f"{what} is not JSON: {exc}.") from exc
    if not isinstance(value, dict):
        raise ValueError(f"{what} must be a JSON object: {{…}}.")
    return value


class EchoPage(ReplyKindPage):
    """The page for echo rules, which have no settings."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        text = "Replies with the last user message. Sampling only."
        self._add(0, "", MutedLabel(theme, text, wrap=True))
        self._grid.setRowStretch(1, 1)


class CannedPage(ReplyKindPage):
    """The page for a fixed reply."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.what = QComboBox()
        self.what.setAccessibleName("Reply")
        self.what.addItems(_CHOICES)
        self.text = TextBox(theme.ui_font())
        self.text.setAccessibleName("Model text")
        self.text.setPlaceholderText("Model text")
        self.content = _json_box(theme, "Form values as JSON; leave empty for URL elicitations")
        self.raw = _json_box(theme, "Result as JSON")
        self.code = QSpinBox(minimum=-(2**31), maximum=2**31 - 1)
        self.code.setAccessibleName("Error code")
        self.code.setFixedWidth(_CODE_WIDTH)
        self.code.setButtonSymbols(QSpinBox.ButtonSymbols.NoButtons)
        self.message = line("Error message", "Message")
        self._stack = QStackedWidget()
        nothing = MutedLabel(theme, "Nothing else is sent.")
        for page in (
            self.text,
            self.content,
            nothing,
            MutedLabel(theme, nothing.text()),
            self._error(),
            self.raw,
        ):
            self._stack.addWidget(_aligned_top(page))
        self._add(0, "Reply", self.what)
        self._add(1, "", self._stack)
        self._grid.setRowStretch(1, 1)
        self.what.currentIndexChanged.connect(self._stack.setCurrentIndex)
        self.what.activated.connect(self.edited)
        for signal in (self.text.textChanged, self.content.edited, self.raw.edited, self.code.valueChanged):
            signal.connect(self.edited)
        self.code.valueChanged.connect(self._on_code_changed)
        self.message.textEdited.connect(self.edited)

    def _on_code_changed(self, code: int) -> None:
        self.code.setToolTip(error_code_text(code, from_client=True))

    def show_rule(self, rule: ReplyRule) -> None:
        self.blockSignals(True)
        choice = _choice_for(rule.reply)
        reply = rule.reply if isinstance(rule.reply, dict) else {}
        error = reply.get("error") if choice == ERROR else None
        shown = error if isinstance(error, dict) else {}
        code, message = shown.get("code", USER_REJECTED), shown.get("message", SAMPLING_REFUSED)
        self.text.set_text(rule.reply if isinstance(rule.reply, str) else "")
        self.content.set_text(write_exactly(reply["content"]) if "content" in reply else "")
        self.raw.set_text(write_exactly(reply) if reply else "{}")
        self.code.setValue(code if isinstance(code, int) else USER_REJECTED)
        self.message.setText(str(message))
        self.what.setCurrentIndex(choice)
        self.blockSignals(False)

    def changed(self, rule: ReplyRule) -> ReplyRule:
        return replace(rule, reply=self._reply())

    def _reply(self) -> JSON:
        match self.what.currentIndex():
            case 0:  # TEXT
                return self.text.text()
            case 1:  # ACCEPTED
                written = self.content.text().strip()
                if not written:
                    return {"action": ACCEPT}
                return {"action": ACCEPT, "content": json_object(written, "The content")}
            case 2:  # DECLINED
                return {"action": DECLINE}
            case 3:  # CANCELLED
                return {"action": CANCEL}
            case 4:  # ERROR
                return {"error": {"code": self.code.value(), "message": self.message.text()}}
        reply = json_object(self.raw.text(), "The result")
        if problem := reply_problem(reply):
            raise ValueError(f"Invalid result: {problem}.")
        return reply

    def _error(self) -> QWidget:
        holder = QWidget()
        hbox(holder, MutedLabel(self._theme, "Code"), self.code, (self.message, 1))
        return holder


def _choice_for(reply: JSON) -> int:
    """Return the choice that shows a reply completely; any object can be shown as JSON."""
    if not isinstance(reply, dict):
        return TEXT
    if list(reply) == ["error"]:
        error = reply["error"]
        return ERROR if isinstance(error, dict) and set(error) == {"code", "message"} else RAW
    action, others = reply.get("action"), set(reply) - {"action"}
    if action == ACCEPT and (not others or (others == {"content"} and isinstance(reply["content"], dict))):
        return ACCEPTED
    if others or action not in (DECLINE, CANCEL):
        return RAW
    return DECLINED if action == DECLINE else CANCELLED


def _json_box(theme: Theme, name: str) -> JsonEdit:
    box = JsonEdit(theme)
    box.setAccessibleName(name)
    box.setPlaceholderText(name)
    box.setMinimumHeight(_MIN_BOX)
    return box


def _aligned_top(widget: QWidget) -> QWidget:
    """Let a text box fill the space; keep a single-line field at the top."""
    holder = QWidget()
    vbox(holder, widget, STRETCH if not isinstance(widget, JsonEdit) else None, gap=-1)
    return holder


class ScriptPage(ReplyKindPage):
    """The page for a file of replies, sent in order."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.path = line("Script file", "File path")
        self.loops = QCheckBox("Start over after the last reply")
        self.position = MutedLabel(theme, "", wrap=True)
        self._path_buttons = hbox(None, gap=-1)
        self._position_buttons = hbox(None, gap=-1)
        self._add(0, "File", self.path, extra=self._path_buttons)
        self._grid.addWidget(self.loops, 1, 1)
        self._add(2, "", self.position, extra=self._position_buttons)
        text = (
            "A JSON array of replies, or one reply per line: a string (model text), a result as JSON, "
            'or {"error": {"code": -1, "message": "…"}}. After the last reply, requests wait for you.'
        )
        self._grid.addWidget(MutedLabel(theme, text, wrap=True), 3, 1, 1, 2)
        self._grid.setRowStretch(4, 1)
        self.path.textEdited.connect(self.edited)
        self.loops.clicked.connect(self.edited)

    def add_buttons(self, choose: QWidget, start_over: QWidget) -> None:
        self._path_buttons.addWidget(choose)
        self._position_buttons.addWidget(start_over)

    def show_rule(self, rule: ReplyRule) -> None:
        self.path.setText(rule.script)
        self.loops.setChecked(rule.loops)

    def changed(self, rule: ReplyRule) -> ReplyRule:
        return replace(rule, script=self.path.text().strip(), loops=self.loops.isChecked())


class EndpointPage(ReplyKindPage):
    """The page for replies from an HTTP endpoint.

    The endpoint's key is stored and never shown; `key` holds only what is being typed.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.url = line("Endpoint URL", "https://host/v1")
        self.model = line("Model", "Leave empty to use the model the server prefers")
        self.key = line("API key")
        self.key.setEchoMode(QLineEdit.EchoMode.Password)
        self.timeout = QSpinBox(minimum=1, maximum=86_400, suffix=" s")
        self.timeout.setAccessibleName("Timeout")
        self.timeout.setFixedWidth(_CODE_WIDTH)
        self.per_minute = QSpinBox(minimum=1, maximum=MAX_PER_MINUTE, suffix=" per minute")
        self.per_minute.setAccessibleName("Maximum endpoint requests per minute")
        self.per_minute.setToolTip(
            "Limits your costs if a server sends requests in a loop. Further requests wait for you."
        )
        self.extra = _json_box(theme, "Extra request properties as JSON; null removes a property")
        self.key_text = MutedLabel(theme, "", wrap=True)
        self._key_buttons = hbox(None, gap=-1)
        self._add(0, "URL", self.url)
        self._add(1, "Model", self.model)
        self._add(2, "API key", self.key, extra=self._key_buttons)
        self._grid.addWidget(self.key_text, 3, 1, 1, 2)
        self._add(4, "Timeout", self._limits())
        self._add(5, "Extra", self.extra)
        self._grid.setRowStretch(5, 1)
        self._seconds: float = 0
        for text_field in (self.url, self.model):
            text_field.textEdited.connect(self.edited)
        self.timeout.valueChanged.connect(self._on_timeout)
        self.per_minute.valueChanged.connect(self.edited)
        self.extra.edited.connect(self.edited)

    def add_key_buttons(self, *buttons: QWidget) -> None:
        for button in buttons:
            self._key_buttons.addWidget(button)

    def show_rule(self, rule: ReplyRule) -> None:
        endpoint = rule.endpoint
        self.blockSignals(True)
        self.url.setText(endpoint.url)
        self.model.setText(endpoint.model)
        self.key.clear()
        self.timeout.setValue(max(1, round(endpoint.timeout)))
        self.per_minute.setValue(endpoint.per_minute)
        self._seconds = endpoint.timeout  # keeps e.g. 0.5 s until edited
        self.extra.set_text(write_exactly(endpoint.extra) if endpoint.extra else "")
        self.blockSignals(False)

    def changed(self, rule: ReplyRule) -> ReplyRule:
        written = self.extra.text().strip()
        extra = json_object(written, "Extra") if written else {}
        endpoint = replace(
            rule.endpoint,
            url=self.url.text().strip(),
            model=self.model.text().strip(),
            timeout=self._seconds,
            extra=extra,
            per_minute=self.per_minute.value(),
        )
        return replace(rule, endpoint=endpoint)

    def _limits(self) -> QWidget:
        holder = QWidget()
        hbox(holder, self.timeout, SPACE_2, MutedLabel(self._theme, "Rate limit"), self.per_minute, STRETCH)
        return holder

    def _on_timeout(self, seconds: int) -> None:
        self._seconds = seconds
        self.edited.emit()
