"""Secrets of one server: move plain-text ones to the secret store, replace stored ones.

No value is ever shown.
"""

from __future__ import annotations

import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QFormLayout,
    QFrame,
    QLineEdit,
    QScrollArea,
    QWidget,
)

from inspector.base.errors import UserError
from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.engine.server_view import ServerView
from inspector.qt.bridge import Bridge
from inspector.qt.theme import SPACE_2, SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.inputs.secret_fields import secret_line
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel


class ServerSecretsDialog(QDialog):
    """The dialog for a server's secrets.

    `moves` and `values` are the fields, by the secret names in the server's view.
    """

    help_page = "servers"

    def __init__(self, bridge: Bridge, view: ServerView, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._server = view.name
        self.setWindowTitle("Server secrets")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(560)
        self._kind = "environment variable" if view.transport == "stdio" else "header"
        self.moves = {name: self._make_move(name) for name in view.plain_secrets}
        self.values = {name: self._make_value(name) for name in view.secret_references}
        self._error = PlainLabel(theme, tone="error", wrap=True)
        self._error.hide()
        self.save_action = QAction("Save", self)
        self._cancel_action = QAction("Cancel", self)
        self._lay_out(theme)
        for box in self.moves.values():
            box.toggled.connect(self._on_changed)
        for field in self.values.values():
            field.textChanged.connect(self._on_changed)
        self.save_action.triggered.connect(self._on_save)
        self._cancel_action.triggered.connect(self.reject)
        self._on_changed()

    def error_text(self) -> str:
        return self._error.text()

    def _make_move(self, name: str) -> QCheckBox:
        box = QCheckBox(self._display_name(name).removeprefix("the ").replace("&", "&&"))
        box.setAccessibleName(f"Move {self._display_name(name)}")
        box.setChecked(True)
        return box

    def _display_name(self, name: str) -> str:
        """Return the display name. Names with a blank or colon need no prefix: "argument --token"."""
        is_complete = " " in name or ":" in name
        return _short(name) if is_complete else f"the {self._kind} {_short(name)}"

    def _make_value(self, name: str) -> QLineEdit:
        is_authorization = name.lower() == "authorization"
        hint = "new value, such as Bearer …" if is_authorization else "new value"
        text = f"New value of {self._display_name(name)}"
        return secret_line(text, f"{hint}; leave empty to keep the current one")

    def _lay_out(self, theme: Theme) -> None:
        page = QWidget()
        inner = vbox(page)
        if self.moves:
            inner.addWidget(Heading(theme, "Move to the secret store"))
            text = "These are in the server list as plain text. Those you do not select stay there."
            inner.addWidget(MutedLabel(theme, text, wrap=True))
            for box in self.moves.values():
                inner.addWidget(box)
        if self.values:
            inner.addWidget(Heading(theme, "In the secret store"))
            form = QFormLayout()
            form.setHorizontalSpacing(SPACE_3)
            form.setVerticalSpacing(SPACE_2)
            for name, field in self.values.items():
                form.addRow(MutedLabel(theme, _short(name)), field)
            inner.addLayout(form)
        inner.addStretch(1)
        scroll = QScrollArea()
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(page)
        save = ActionButton(self.save_action, "primary")
        save.setDefault(True)  # else Return in a field would press Cancel
        vbox(
            self,
            PlainLabel(theme, _short(self._server), tone="muted"),
            (scroll, 1),
            MutedLabel(theme, "Takes effect on reconnect.", wrap=True),
            self._error,
            hbox(None, STRETCH, ActionButton(self._cancel_action), save, gap=-1),
            gap=SPACE_3,
            margin=SPACE_4,
        )

    def _moved(self) -> list[str]:
        return [name for name, box in self.moves.items() if box.isChecked()]

    def _new_values(self) -> dict[str, str]:
        texts = {name: field.text().strip() for name, field in self.values.items()}
        return {name: text for name, text in texts.items() if text}

    def _on_changed(self) -> None:
        self._error.hide()
        self.save_action.setEnabled(bool(self._moved() or self._new_values()))

    def _on_save(self) -> None:
        self.save_action.setEnabled(False)  # a second Return must not do it twice
        self._bridge.start_when_attached("server secrets", self._save(self._moved(), self._new_values()))

    async def _save(self, moved: list[str], values: dict[str, str]) -> None:
        try:
            await self._bridge.ask(lambda engine: engine.servers.set_secrets(self._server, moved, values))
        except (UserError, OSError) as exc:
            if not shiboken6.isValid(self):
                raise
            self.save_action.setEnabled(True)
            self._error.setText(str(exc))
            self._error.show()
            return
        if shiboken6.isValid(self):  # it may have been closed meanwhile
            self.accept()


def _short(name: str) -> str:
    return shorten(one_line(name), 80)
