"""The prompt, to be changed before a model is asked with it. The server's question stays as it came."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inspector.base.jsonvalue import JSONObject
from inspector.protocol.sampling import SamplingAsked, read_sampling
from inspector.qt.forms.jsontextview import JsonTextView
from inspector.qt.forms.look import Look
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.alert import Alert
from inspector.qt.widgets.badge import Badge
from inspector.qt.widgets.labels import Muted
from inspector.schema.values import FormError

_HEIGHT = 240
_MEMBERS = ("systemPrompt", "messages")
_WORDS = "A model that you ask from here gets this prompt. The server is not told."


class PromptEditor(QWidget):
    """Edits a sampling request's prompt, initially collapsed to a button.

    Messages and system prompt are edited as JSON, as received.

    Signals:
        edited: Use another prompt; carries the SamplingAsked.
    """

    edited = Signal(object)

    def __init__(self, theme: Theme, asked: SamplingAsked, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._came = asked.source
        self._params = asked.source
        self._view: JsonTextView | None = None
        self.alert = Alert(theme)
        self.badge = Badge(theme, tone="wait")
        self.edit_action = self._action("Edit prompt", self._open)
        self.use_action = self._action("Use this prompt", self.use)
        self.discard_action = self._action("Discard changes", self._close)
        self.reset_action = self._action("Back to what the server sent", self._reset)
        self._lay_out()
        self._show_state()

    @property
    def params(self) -> JSONObject:
        """The request's params with the prompt to use."""
        return self._params

    @property
    def view(self) -> JsonTextView:
        """The JSON editor, created when first opened."""
        if self._view is None:
            self._view = JsonTextView(Look.of(self._theme))
            self._view.box.setAccessibleName("Prompt as JSON")
            self._view.box.setMinimumHeight(_HEIGHT)
            self._column.insertWidget(1, self._view)
        return self._view

    def use(self) -> None:
        """Use the edited prompt if it is a valid sampling request."""
        try:
            written = self.view.read_object()
            rest = {name: value for name, value in self._came.items() if name not in _MEMBERS}
            asked = read_sampling({**rest, **written})
        except FormError:
            return  # shown below the text
        except ValueError as exc:
            self.alert.say("prompt", f"This is no prompt: {exc}.", "Correct it.")
            return
        self._take(asked)

    def _open(self) -> None:
        self.view.set_value({name: self._params[name] for name in _MEMBERS if name in self._params})
        self.view.show()
        self._words.show()
        self._show_state()
        self.view.box.setFocus()

    def _close(self) -> None:
        if self._view is not None:
            self._view.hide()
        self._words.hide()
        self.alert.close_all()
        self._show_state()

    def _reset(self) -> None:
        self._take(read_sampling(self._came))

    def _take(self, asked: SamplingAsked) -> None:
        self._params = asked.source
        self._close()
        self.edited.emit(asked)

    def _show_state(self) -> None:
        is_open = self._view is not None and not self._view.isHidden()
        is_other = self._params != self._came
        self.badge.set_text("prompt edited" if is_other else "")
        for button, is_wanted in zip(
            self._buttons, (not is_open, is_open, is_open, is_other and not is_open), strict=True
        ):
            button.setVisible(is_wanted)

    def _action(self, words: str, slot: object) -> QAction:
        action = QAction(words, self)
        action.triggered.connect(slot)
        return action

    def _lay_out(self) -> None:
        actions = (self.edit_action, self.use_action, self.discard_action, self.reset_action)
        self._buttons = [ActionButton(action, "quiet") for action in actions]
        self._words = Muted(self._theme, _WORDS, wrap=True)
        self._words.hide()
        self._words.setContentsMargins(SPACE_3, 0, SPACE_3, 0)
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, SPACE_3, 0)  # aligns the first button's text with the edge
        row.setSpacing(SPACE_2)
        for button in self._buttons:
            row.addWidget(button)
        row.addWidget(self.badge)
        row.addStretch(1)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(SPACE_1)
        self._column.addWidget(self._words)
        self._column.addWidget(self.alert)
        self._column.addLayout(row)
