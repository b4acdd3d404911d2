"""How a server's tokens are got: in the browser, or with what a machine has. It is kept with the server."""

from __future__ import annotations

from dataclasses import dataclass, replace

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from inspector.base.errors import UserError
from inspector.config.auth import IdentityProvider, OAuthSettings, SecretRef
from inspector.config.entrysecrets import LOGIN
from inspector.config.secrets.names import make_name
from inspector.oauth.steps import LoginGrant
from inspector.qt.theme import SPACE_2, SPACE_4, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.labels import Heading, Muted

_GRANTS = {
    LoginGrant.CODE: "Code in the browser",
    LoginGrant.CLIENT: "Client credentials",
    LoginGrant.ENTERPRISE: "Enterprise (ID-JAG)",
    LoginGrant.WORKLOAD: "Workload identity",
}
_KEPT = "in the secret store; type to replace it"
_CLIENT, _ENTERPRISE, _WORKLOAD = LoginGrant.CLIENT, LoginGrant.ENTERPRISE, LoginGrant.WORKLOAD
_PROVIDER = "identity_provider."


@dataclass(frozen=True, slots=True)
class _Field:
    """`name` is that of the setting; one of the identity provider has its prefix."""

    name: str
    words: str
    hint: str
    grants: tuple[LoginGrant, ...]
    is_secret: bool = False


_FIELDS = (
    _Field("issuer", "Authorization server", "its issuer: the client is shown to no other", (*_GRANTS,)[1:]),
    _Field("client_id", "Client ID", "as it was registered", (*_GRANTS,)[1:]),
    _Field("client_secret", "Client secret", "", (_CLIENT, _ENTERPRISE), is_secret=True),
    _Field("key", "Private key", "PEM, for a client that signs", (_CLIENT, _ENTERPRISE), is_secret=True),
    _Field("identity_provider.issuer", "Identity provider", "its issuer", (_ENTERPRISE,)),
    _Field("identity_provider.token_endpoint", "Its token endpoint", "https://…", (_ENTERPRISE,)),
    _Field("identity_provider.client_id", "Client ID there", "", (_ENTERPRISE,)),
    _Field("identity_provider.client_secret", "Client secret there", "", (_ENTERPRISE,), is_secret=True),
    _Field("identity_provider.id_token", "ID token", "that you got there", (_ENTERPRISE,), is_secret=True),
    _Field("assertion", "JWT of the workload", "or where it is read anew:", (_WORKLOAD,), is_secret=True),
    _Field("assertion_file", "File with the JWT", "/var/run/secrets/…/token", (_WORKLOAD,)),
    _Field("assertion_variable", "Variable with the JWT", "of the environment", (_WORKLOAD,)),
)  # fmt: skip


class GrantForm(QWidget):
    """What is typed counts when it is kept. Secrets go to the secret store, and are not shown again.

    Signals:
        kept: The person wants it so; carries OAuthSettings, and the new secrets by their names.
        refused: It cannot be so; carries a UserError.
    """

    kept = Signal(object, object)
    refused = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._server = ""
        self._settings = OAuthSettings()
        self.grant = QComboBox()
        self.grant.addItems(list(_GRANTS.values()))
        self.grant.setAccessibleName("Grant: how tokens are got")
        self.fields = {field.name: self._make(field) for field in _FIELDS}
        self.keep_action = QAction("Keep for this server", self)
        self.keep_action.setToolTip("Written into the server's settings; secrets go to the secret store")
        self._labels: dict[str, QWidget] = {}
        self._lay_out()
        self.grant.currentIndexChanged.connect(self._show_fields)
        self.keep_action.triggered.connect(self._keep)
        self.setEnabled(False)  # until it is known what is set
        self._show_fields()

    def show_settings(self, server: str, settings: OAuthSettings) -> None:
        """What is kept; secrets as such only."""
        self._server, self._settings = server, settings
        self.setEnabled(True)
        self.grant.setCurrentText(_GRANTS[LoginGrant(settings.grant)])
        for field in _FIELDS:
            value, widget = _value(settings, field.name), self.fields[field.name]
            if isinstance(widget, QLineEdit):
                widget.setText("" if field.is_secret else str(value or ""))
            else:
                widget.clear()
            widget.setPlaceholderText(_KEPT if isinstance(value, SecretRef) else field.hint)
        self._show_fields()

    @property
    def chosen(self) -> LoginGrant:
        return list(_GRANTS)[self.grant.currentIndex()]

    def settings(self) -> tuple[OAuthSettings, dict[str, str]]:
        """As they were typed, and the new secrets by their names. Raises UserError for what is missing."""
        values: dict[str, object] = {}
        secrets: dict[str, str] = {}
        for field in _FIELDS:
            text = _text(self.fields[field.name])
            if self.chosen not in field.grants:
                if self.chosen.value != self._settings.grant:  # what the other grant had means nothing now
                    values[field.name] = None if field.is_secret else ""
            elif not field.is_secret:
                values[field.name] = text
            elif text:
                name = make_name(LOGIN, self._server, field.name)
                values[field.name], secrets[name] = SecretRef(name), text
        settings = _with(self._settings, self.chosen, values)
        _require(settings)
        return settings, secrets

    # --------------------------------------------------------------

    def _keep(self) -> None:
        try:
            settings, secrets = self.settings()
        except UserError as exc:
            self.refused.emit(exc)
            return
        self.kept.emit(settings, secrets)

    def _show_fields(self) -> None:
        for field in _FIELDS:
            is_asked = self.chosen in field.grants
            self.fields[field.name].setVisible(is_asked)
            self._labels[field.name].setVisible(is_asked)

    def _make(self, field: _Field) -> QLineEdit | QPlainTextEdit:
        if field.name == "key":
            lines = QPlainTextEdit()
            lines.setFixedHeight(4 * lines.fontMetrics().lineSpacing())
            lines.setTabChangesFocus(True)
            widget: QLineEdit | QPlainTextEdit = lines
        else:
            line = QLineEdit()
            if field.is_secret:
                line.setEchoMode(QLineEdit.EchoMode.Password)
            widget = line
        widget.setPlaceholderText(field.hint)
        widget.setAccessibleName(field.words)
        widget.setFont(self._theme.mono_font(0.95))
        return widget

    def _lay_out(self) -> None:
        grid = QGridLayout()
        grid.setHorizontalSpacing(SPACE_4)
        grid.setVerticalSpacing(SPACE_2)
        grid.setColumnStretch(1, 1)
        row = QHBoxLayout()
        row.addWidget(self.grant)
        row.addStretch(1)
        row.addWidget(ActionButton(self.keep_action))
        grid.addWidget(Muted(self._theme, "Grant"), 0, 0)
        grid.addLayout(row, 0, 1)
        for place, field in enumerate(_FIELDS, 1):
            label = self._labels[field.name] = Muted(self._theme, field.words)
            grid.addWidget(label, place, 0)
            grid.addWidget(self.fields[field.name], place, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE_2)
        column.addWidget(Heading(self._theme, "How tokens are got"))
        column.addLayout(grid)


def _text(widget: QLineEdit | QPlainTextEdit) -> str:
    return (widget.text() if isinstance(widget, QLineEdit) else widget.toPlainText()).strip()


def _value(settings: OAuthSettings, name: str) -> object:
    if name.startswith(_PROVIDER):
        return getattr(settings.identity_provider or IdentityProvider(), name.removeprefix(_PROVIDER))
    return getattr(settings, name)


def _with(before: OAuthSettings, grant: LoginGrant, values: dict[str, object]) -> OAuthSettings:
    own = {name: value for name, value in values.items() if not name.startswith(_PROVIDER)}
    theirs = {
        name.removeprefix(_PROVIDER): value for name, value in values.items() if name.startswith(_PROVIDER)
    }
    provider = before.identity_provider
    if theirs:
        provider = replace(provider or IdentityProvider(), **theirs)  # type: ignore[arg-type]
        provider = None if provider == IdentityProvider() else provider
    return replace(before, grant=grant.value, identity_provider=provider, **own)  # type: ignore[arg-type]


def _require(settings: OAuthSettings) -> None:
    """Raises UserError in the words of the form."""
    provider = settings.identity_provider or IdentityProvider()
    if settings.grant == _CLIENT.value and not settings.client_id:
        raise UserError("Client credentials need a client ID.", "Type that which was registered for you.")
    if settings.grant == _CLIENT.value and settings.client_secret is None and settings.key is None:
        raise UserError("Client credentials need a client secret or a private key.", "Type one of them.")
    if settings.grant == _ENTERPRISE.value and (not provider.token_endpoint or provider.id_token is None):
        raise UserError(
            "Enterprise needs the token endpoint of the identity provider, and an ID token.", "Type both."
        )
    sources = (settings.assertion, settings.assertion_file, settings.assertion_variable)
    if settings.grant == _WORKLOAD.value and not any(sources):
        raise UserError(
            "A workload needs its JWT.", "Type it, or name the file or the variable that it is read from."
        )
