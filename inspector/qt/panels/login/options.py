"""Options for the next login: protocol rules, client, scope and resource, redirect URI.

They are saved for the server, except secrets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar
from urllib.parse import parse_qsl, urlencode

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFrame,
    QGridLayout,
    QLineEdit,
    QScrollArea,
    QSpinBox,
    QWidget,
)

from inspector.base.errors import UserError
from inspector.oauth.login.steps import Overrides
from inspector.protocol.auth.authorization_request import extra_problem
from inspector.protocol.auth.client_registration import Strategy
from inspector.protocol.revisions import R2, R3, R4, R5
from inspector.qt.panels.login.grant_form import LABEL_WIDTH, GrantForm
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.inputs.secret_fields import secret_line
from inspector.qt.widgets.layout import STRETCH, hbox, in_row, vbox
from inspector.qt.widgets.text.labels import Heading, MutedLabel

T = TypeVar("T")

_REVISIONS = {"Automatic": None, **{str(each): each for each in (R5, R4, R3, R2)}}
_STRATEGIES = {
    "Automatic": Strategy.AUTO,
    "Pre-registered": Strategy.PRE_REGISTERED,
    "Client ID metadata document": Strategy.DOCUMENT,
    "Dynamic client registration": Strategy.DYNAMIC,
}
_METHODS = ("", "none", "client_secret_basic", "client_secret_post", "private_key_jwt")
_DPOP = {"As configured": None, "On": True, "Off": False}
_FIELD_WIDTH = 260
_NOTE = "Applies at the next login. Saved for this server, except secrets."


class OptionsForm(QScrollArea):
    """Options for the next login; `overrides` returns them.

    Signals:
        changed: The user changed an option.
        editing_finished: The user finished changing an option: save it.
    """

    changed = Signal()
    editing_finished = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.revision = _choice("Protocol version whose rules apply", list(_REVISIONS))
        self.mode = _choice("Mode: Observe or Strict", ["Observe", "Strict"])
        self.mode.setToolTip(
            "Observe records violations and continues where that is safe; Strict stops at them"
        )
        self.grants = GrantForm(theme)
        self.strategy = _choice("Client registration", list(_STRATEGIES))
        self.client_id = self._line("Client ID", "from the configuration, or registered")
        self.secret = secret_line("Client secret", "from the configuration, or registered")
        self.secret.setFont(theme.mono_font(0.95))
        self.document = self._line("Client ID metadata document URL", "https://…/client.json")
        self.ignore_client = QCheckBox("Ignore the stored client")
        self.ignore_client.setToolTip("Do not use the previously registered client")
        self.issuer = self._line("Issuer", "the first one the server lists")
        self.scope = self._line("Scope", "as requested by the server")
        self.no_scope = QCheckBox("Do not send")
        self.resource = self._line("Resource", "the server's URL")
        self.no_resource = QCheckBox("Do not send")
        self.extras = self._line("Extra authorization request parameters", "prompt=login&audience=…")
        self.host = _choice("Redirect URI host", ["127.0.0.1", "localhost"])
        self.port = QSpinBox()
        self.port.setRange(0, 65_535)
        self.port.setSpecialValueText("any free port")
        self.port.setAccessibleName("Redirect URI port")
        self.path = self._line("Redirect URI path", "/callback")
        self.method = _choice("Client authentication method", ["Automatic", *_METHODS[1:]])
        self.dpop = _choice("DPoP: bind tokens to a key", list(_DPOP))
        self.slash = QCheckBox("Accept an issuer that differs only in a trailing /")
        self.reset_action = QAction("Restore defaults", self)
        self.reset_action.triggered.connect(self.reset)
        self._lay_out()
        self._connect()
        self._on_changed()

    def overrides(self) -> Overrides:
        """Return the options. Raises UserError for invalid input."""
        port = self.port.value()
        return Overrides(
            revision=_REVISIONS[self.revision.currentText()],
            strategy=_STRATEGIES[self.strategy.currentText()],
            issuer=_text(self.issuer),
            client_id=_text(self.client_id),
            client_secret=self.secret.text(),
            client_document=_text(self.document),
            method=_METHODS[self.method.currentIndex()],
            scope="" if self.no_scope.isChecked() else _text(self.scope) or None,
            resource="" if self.no_resource.isChecked() else _text(self.resource) or None,
            redirect_host=self.host.currentText() if self.host.currentIndex() else "",
            redirect_port=port or None,
            redirect_path=_path(_text(self.path)),
            extras=_extra_parameters(_text(self.extras)),
            uses_dpop=_DPOP[self.dpop.currentText()],
            is_strict=self.mode.currentIndex() == 1,
            forgets_client=self.ignore_client.isChecked(),
            tolerates_slash=self.slash.isChecked(),
        )

    def show_overrides(self, overrides: Overrides) -> None:
        """Show the saved options. Secrets are not among them and stay as they are."""
        with QSignalBlocker(self):
            self.revision.setCurrentText(_label_of(_REVISIONS, overrides.revision))
            self.mode.setCurrentIndex(int(overrides.is_strict))
            self.strategy.setCurrentText(_label_of(_STRATEGIES, overrides.strategy))
            self.host.setCurrentIndex(max(self.host.findText(overrides.redirect_host), 0))
            self.method.setCurrentIndex(max(self.method.findText(overrides.method), 0))
            self.dpop.setCurrentText(_label_of(_DPOP, overrides.uses_dpop))
            self.port.setValue(overrides.redirect_port or 0)
            texts = {
                self.client_id: overrides.client_id,
                self.document: overrides.client_document,
                self.issuer: overrides.issuer,
                self.scope: overrides.scope or "",
                self.resource: overrides.resource or "",
                self.extras: urlencode(overrides.extras),
                self.path: overrides.redirect_path,
            }
            for line, text in texts.items():
                line.setText(text)
            self.no_scope.setChecked(overrides.scope == "")
            self.no_resource.setChecked(overrides.resource == "")
            self.ignore_client.setChecked(overrides.forgets_client)
            self.slash.setChecked(overrides.tolerates_slash)
        self._on_changed()

    @property
    def is_default(self) -> bool:
        """Whether all options have their defaults."""
        try:
            return self.overrides() == Overrides()
        except UserError:
            return False

    def reset(self) -> None:
        with QSignalBlocker(self):
            for choice in self._choices():
                choice.setCurrentIndex(0)
            for line in self._lines():
                line.clear()
            for box in self._boxes():
                box.setChecked(False)
            self.port.setValue(0)
        self._on_changed()
        self.editing_finished.emit()

    def _choices(self) -> Sequence[QComboBox]:
        return (
            self.revision,
            self.mode,
            self.strategy,
            self.host,
            self.method,
            self.dpop,
        )

    def _lines(self) -> Sequence[QLineEdit]:
        return (
            self.client_id,
            self.secret,
            self.document,
            self.issuer,
            self.scope,
            self.resource,
            self.extras,
            self.path,
        )

    def _boxes(self) -> Sequence[QCheckBox]:
        return self.ignore_client, self.no_scope, self.no_resource, self.slash

    def _connect(self) -> None:
        for choice in self._choices():
            choice.currentIndexChanged.connect(self._on_changed)
            choice.activated.connect(self.editing_finished)
        for line in self._lines():
            line.textChanged.connect(self._on_changed)
            line.editingFinished.connect(self.editing_finished)
        for box in self._boxes():
            box.toggled.connect(self._on_changed)
            box.clicked.connect(self.editing_finished)
        self.port.valueChanged.connect(self._on_changed)
        self.port.editingFinished.connect(self.editing_finished)

    def _on_changed(self) -> None:
        self.scope.setEnabled(not self.no_scope.isChecked())
        self.resource.setEnabled(not self.no_resource.isChecked())
        self.reset_action.setEnabled(not self.is_default)
        self.changed.emit()

    def _line(self, name: str, placeholder: str) -> QLineEdit:
        line = QLineEdit()
        line.setPlaceholderText(placeholder)
        line.setAccessibleName(name)
        line.setFont(self._theme.mono_font(0.95))
        return line

    def _lay_out(self) -> None:
        page = QWidget()
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(SPACE_4)
        self._grid.setVerticalSpacing(SPACE_2)
        self._grid.setColumnMinimumWidth(0, LABEL_WIDTH)
        self._grid.setColumnStretch(1, 1)
        self._group("Rules", ("Protocol version", self.revision), ("Mode", self.mode))
        self._group("", ("Authorization server", self.issuer), ("", self.slash))
        self._group(
            "Client",
            ("Registration", self.strategy),
            ("Client ID", self.client_id),
            ("Client secret", self.secret),
            ("Metadata document", self.document),
            ("Token endpoint auth", self.method),
            ("DPoP", self.dpop),
            ("", self.ignore_client),
        )
        self._group(
            "Request",
            ("Scope", in_row(self.scope, self.no_scope)),
            ("Resource", in_row(self.resource, self.no_resource)),
            ("Extra parameters", self.extras),
        )
        redirect = in_row(self.host, self.port, self.path)
        self._group("Redirect", ("Redirect URI", redirect))
        head = hbox(
            None, (MutedLabel(self._theme, _NOTE, wrap=True), 1), ActionButton(self.reset_action), gap=-1
        )
        vbox(
            page, self.grants, SPACE_3, head, self._grid, STRETCH, margin=(SPACE_4, SPACE_3, SPACE_4, SPACE_4)
        )
        page.setMaximumWidth(760)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidget(page)

    def _group(self, title: str, *fields: tuple[str, QWidget]) -> None:
        grid = self._grid
        if title:
            grid.setRowMinimumHeight(grid.rowCount(), SPACE_1)
            grid.addWidget(Heading(self._theme, title), grid.rowCount(), 0, 1, 2)
        for name, field in fields:
            row = grid.rowCount()
            grid.addWidget(MutedLabel(self._theme, name), row, 0)
            grid.addWidget(field, row, 1)


def _choice(name: str, labels: Sequence[str]) -> QComboBox:
    choice = QComboBox()
    choice.addItems(list(labels))
    choice.setAccessibleName(name)
    choice.setMaximumWidth(_FIELD_WIDTH)
    return choice


def _label_of(labels: Mapping[str, T], value: T) -> str:
    """Return the label for a value; the first one if it is unknown."""
    return next((label for label, each in labels.items() if each == value), next(iter(labels)))


def _text(line: QLineEdit) -> str:
    return line.text().strip()


def _path(text: str) -> str:
    if text and not text.startswith("/"):
        raise UserError("The redirect URI path must start with /.", "Use a path like /callback.")
    return text


def _extra_parameters(text: str) -> tuple[tuple[str, str], ...]:
    if not text:
        return ()
    try:
        pairs = tuple(parse_qsl(text, keep_blank_values=True, strict_parsing=True))
    except ValueError as exc:
        raise UserError(
            "Could not parse the extra authorization request parameters.",
            "Use the form prompt=login&name=value.",
        ) from exc
    problem = next(filter(None, (extra_problem(name) for name, _ in pairs)), "")
    if problem:
        raise UserError(problem, "Remove it from “Extra parameters”.")
    return pairs
