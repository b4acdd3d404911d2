"""Grant type form: authorization code, client credentials, enterprise (ID-JAG), workload.

`FIELDS` describes what each grant type needs. The settings are saved with the server, secrets in the
secret store.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QComboBox, QGridLayout, QLineEdit, QWidget

from inspector.base.errors import UserError
from inspector.config.secrets.records import make_name
from inspector.config.servers.entries import IdentityProvider, OAuthSettings, SecretRef
from inspector.config.servers.entry_secrets import LOGIN
from inspector.oauth.login.steps import LoginGrant
from inspector.qt.theme import SPACE_2, SPACE_4, Theme
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.inputs.secret_fields import SecretText, secret_line
from inspector.qt.widgets.layout import STRETCH, hbox, in_row, vbox
from inspector.qt.widgets.text.labels import Heading, MutedLabel

CODE, CLIENT, ENTERPRISE, WORKLOAD = LoginGrant
GRANTS = {
    CODE: "Authorization code (browser)",
    CLIENT: "Client credentials",
    ENTERPRISE: "Enterprise (ID-JAG)",
    WORKLOAD: "Workload identity",
}
DESCRIPTIONS = {
    CODE: "You log in and consent in the browser.",
    CLIENT: (
        "MCP Lens logs in as itself, without a user: with a client secret, or with a private key that signs "
        "an assertion."
    ),
    ENTERPRISE: (
        "You log in at your company's identity provider in the browser. Its ID token is exchanged for a "
        "token for this server. While it can be refreshed, you don't need to log in again."
    ),
    WORKLOAD: (
        "The platform that runs MCP Lens (a cluster, a CI job) vouches for it with a JWT, which is exchanged "
        "for a token. Enter the JWT, or where to read it each time."
    ),
}
_PROVIDER = "identity_provider."
_AT_SERVER, _AT_PROVIDER, _JWT = "Authorization server", "Identity provider", "Workload JWT"
LABEL_WIDTH = 140  # the same in all groups
_STORED_HINT = "in the secret store; type to replace it"
_DELETED_HINT = "will be deleted when you save"


@dataclass(frozen=True, slots=True)
class Field:
    """A form field. `name` is the setting's name, with a prefix for the identity provider's.

    `full_name` is unique.
    """

    name: str
    group: str
    text: str
    hint: str
    grants: tuple[LoginGrant, ...]
    is_secret: bool = False

    @property
    def full_name(self) -> str:
        return f"{self.group}: {self.text}"


FIELDS = (
    Field(f"{_PROVIDER}issuer", _AT_PROVIDER, "Issuer", "https://login.company.example", (ENTERPRISE,)),
    Field(f"{_PROVIDER}client_id", _AT_PROVIDER, "Client ID", "as registered there", (ENTERPRISE,)),
    Field(f"{_PROVIDER}client_secret", _AT_PROVIDER, "Client secret", "none for a public client",
          (ENTERPRISE,), is_secret=True),
    Field(f"{_PROVIDER}scope", _AT_PROVIDER, "Scope",
          "openid, plus the scope for refresh tokens", (ENTERPRISE,)),
    Field(f"{_PROVIDER}id_token", _AT_PROVIDER, "ID token", "only if you have one; then no login is needed",
          (ENTERPRISE,), is_secret=True),
    Field(f"{_PROVIDER}token_endpoint", _AT_PROVIDER, "Token endpoint", "discovered from the issuer",
          (ENTERPRISE,)),
    Field("issuer", _AT_SERVER, "Issuer",
          "credentials go only to this issuer", (CLIENT, ENTERPRISE, WORKLOAD)),
    Field("client_id", _AT_SERVER, "Client ID", "as registered", (CLIENT, ENTERPRISE, WORKLOAD)),
    Field("client_secret", _AT_SERVER, "Client secret", "or a private key", (CLIENT, ENTERPRISE),
          is_secret=True),
    Field("key", _AT_SERVER, "Private key", "PEM, to sign assertions", (CLIENT, ENTERPRISE),
          is_secret=True),
    Field("assertion", _JWT, "JWT", "not refreshed; use a file or variable for that", (WORKLOAD,),
          is_secret=True),
    Field("assertion_file", _JWT, "File", "/var/run/secrets/…/token", (WORKLOAD,)),
    Field("assertion_variable", _JWT, "Environment variable",
          "read from the environment of MCP Lens", (WORKLOAD,)),
)  # fmt: skip
KEY_FIELD = next(field for field in FIELDS if field.name == "key")
AUDIENCES = {"issuer": "Issuer", "token_endpoint": "Token endpoint"}


class GrantForm(QWidget):
    """The grant type form. Input takes effect when saved.

    Secrets go to the secret store and are not shown again.

    Signals:
        save_requested: Carries the OAuthSettings and the new secrets by name.
        error_found: The input cannot be saved; carries a UserError.
    """

    save_requested = Signal(object, object)
    error_found = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._server = ""
        self._settings = OAuthSettings()
        self._deleted: set[str] = set()  # secrets to be removed
        self.grant = QComboBox()
        self.grant.addItems(list(GRANTS.values()))
        self.grant.setAccessibleName("Grant type")
        self.description = MutedLabel(theme, wrap=True)
        self.audience = QComboBox()
        self.audience.addItems(list(AUDIENCES.values()))
        self.audience.setAccessibleName("Audience of assertions signed with the private key")
        self.fields = {field.name: self._make(field) for field in FIELDS}
        self.delete_actions = {field.name: self._make_delete(field) for field in FIELDS if field.is_secret}
        self._delete_buttons = {
            name: ActionButton(action, "quiet") for name, action in self.delete_actions.items()
        }
        self.save_action = QAction("Save", self)
        self.save_action.setToolTip("Save in the server's settings; secrets go to the secret store")
        self._rows: dict[str, tuple[QWidget, ...]] = {}
        self._headings: dict[str, Heading] = {}
        self._lay_out()
        self.grant.currentIndexChanged.connect(self._show_fields)
        self.save_action.triggered.connect(self._save)
        self.setEnabled(False)  # until the settings are loaded
        self._show_fields()

    def show_settings(self, server: str, settings: OAuthSettings) -> None:
        """Show the saved settings; secrets only as set or not."""
        self._server, self._settings = server, settings
        self._deleted.clear()
        self.setEnabled(True)
        self.grant.setCurrentText(GRANTS[LoginGrant(settings.grant)])
        self.audience.setCurrentText(AUDIENCES[settings.audience])
        for field in FIELDS:
            widget = self.fields[field.name]
            widget.clear()
            if isinstance(widget, QLineEdit) and not field.is_secret:
                widget.setText(str(value_of(settings, field.name) or ""))
        self._show_fields()

    @property
    def chosen(self) -> LoginGrant:
        return list(GRANTS)[self.grant.currentIndex()]

    def settings(self) -> tuple[OAuthSettings, dict[str, str]]:
        """Return the settings as typed, and the new secrets by name.

        Raises UserError if something is missing.
        """
        values: dict[str, object] = {}
        secrets: dict[str, str] = {}
        for field in FIELDS:
            text = self.fields[field.name].text().strip()
            if self.chosen not in field.grants:
                if self.chosen.value != self._settings.grant:  # discard values of the previous grant type
                    values[field.name] = None if field.is_secret else ""
            elif not field.is_secret:
                values[field.name] = text
            elif text:
                name = make_name(LOGIN, self._server, field.name)
                values[field.name], secrets[name] = SecretRef(name), text
            elif field.name in self._deleted:
                values[field.name] = None
        values["audience"] = list(AUDIENCES)[self.audience.currentIndex() if self._has_key() else 0]
        settings = with_values(self._settings, self.chosen, values)
        check_complete(settings)
        return settings, secrets

    def _has_key(self) -> bool:
        return self.chosen in KEY_FIELD.grants

    def _save(self) -> None:
        try:
            settings, secrets = self.settings()
        except UserError as exc:
            self.error_found.emit(exc)
            return
        self.save_requested.emit(settings, secrets)

    def _toggle_delete(self, field: Field) -> None:
        self._deleted ^= {field.name}
        self._show_fields()

    def _show_fields(self) -> None:
        self.description.setText(DESCRIPTIONS[self.chosen])
        shown = {field.name: field for field in FIELDS if self.chosen in field.grants}
        groups = [field.group for field in shown.values()]
        for group, heading in self._headings.items():
            heading.setVisible(group in groups)
        for widget in self._audience_row:
            widget.setVisible(self._has_key())
        for field in FIELDS:
            for widget in self._rows[field.name]:
                widget.setVisible(field.name in shown)
            if field.is_secret:
                self._show_secret_state(field)

    def _show_secret_state(self, field: Field) -> None:
        is_saved = isinstance(value_of(self._settings, field.name), SecretRef)
        is_deleted = is_saved and field.name in self._deleted
        hint = _DELETED_HINT if is_deleted else _STORED_HINT if is_saved else field.hint
        widget = self.fields[field.name]
        if isinstance(widget, QLineEdit):
            widget.setPlaceholderText(hint)
        else:
            widget.set_hint(hint)
        self.delete_actions[field.name].setText("Keep" if is_deleted else "Delete")
        self._delete_buttons[field.name].setVisible(is_saved)

    def _make(self, field: Field) -> QLineEdit | SecretText:
        if field.name == "key":
            text = SecretText(self._theme, field.full_name, _check_key)
            text.set_hint(field.hint)
            text.line.setFont(self._theme.mono_font(0.95))
            return text
        line = secret_line(field.full_name, field.hint) if field.is_secret else QLineEdit()
        line.setPlaceholderText(field.hint)
        line.setAccessibleName(field.full_name)
        line.setFont(self._theme.mono_font(0.95))
        return line

    def _make_delete(self, field: Field) -> QAction:
        action = QAction("Delete", self)
        action.setToolTip(f"Delete the {field.text} from the secret store")
        action.triggered.connect(partial(self._toggle_delete, field))
        return action

    def _lay_out(self) -> None:
        grid = QGridLayout()
        grid.setHorizontalSpacing(SPACE_4)
        grid.setVerticalSpacing(SPACE_2)
        grid.setColumnMinimumWidth(0, LABEL_WIDTH)
        grid.setColumnStretch(1, 1)
        row = hbox(None, self.grant, STRETCH, ActionButton(self.save_action), gap=-1)
        grid.addWidget(MutedLabel(self._theme, "Grant type"), 0, 0)
        grid.addLayout(row, 0, 1)
        grid.addWidget(self.description, 1, 1)
        for field in FIELDS:
            self._add_field(grid, field)
            if field is KEY_FIELD:
                self._add_audience(grid)
        vbox(self, Heading(self._theme, "Authorization"), grid)

    def _add_audience(self, grid: QGridLayout) -> None:
        position, label = grid.rowCount(), MutedLabel(self._theme, "Assertion audience (aud)")
        grid.addWidget(label, position, 0)
        grid.addWidget(self.audience, position, 1, Qt.AlignmentFlag.AlignLeft)
        self._audience_row: tuple[QWidget, ...] = (label, self.audience)

    def _add_field(self, grid: QGridLayout, field: Field) -> None:
        if field.group not in self._headings:
            self._headings[field.group] = Heading(self._theme, field.group)
            grid.addWidget(self._headings[field.group], grid.rowCount(), 0, 1, 2)
        position, label = grid.rowCount(), MutedLabel(self._theme, field.text)
        holder: QWidget = self.fields[field.name]
        if field.is_secret:
            button = self._delete_buttons[field.name]
            holder = in_row(holder, button)
        grid.addWidget(label, position, 0)
        grid.addWidget(holder, position, 1)
        self._rows[field.name] = (label, holder)


def _check_key(pem: str) -> None:
    """Check that a private key can be read. Raises UserError."""
    from inspector.oauth.signing import read_key  # loaded only when a key is used

    read_key(pem)


def check_complete(settings: OAuthSettings) -> None:
    """Raise UserError if values that the grant type needs are missing."""
    match LoginGrant(settings.grant):
        case LoginGrant.CLIENT:
            _check_client(settings)
        case LoginGrant.ENTERPRISE:
            _check_provider(settings.identity_provider or IdentityProvider())
        case LoginGrant.WORKLOAD:
            _check_workload(settings)


def _check_client(settings: OAuthSettings) -> None:
    if not settings.client_id:
        raise UserError(
            "Client credentials need a client ID.", "Enter the client ID that was registered for you."
        )
    if settings.client_secret is None and settings.key is None:
        raise UserError("Client credentials need a client secret or a private key.", "Enter one of them.")


def _check_provider(provider: IdentityProvider) -> None:
    if provider.id_token is not None:
        if not (provider.issuer or provider.token_endpoint):
            raise UserError(
                "The ID token must be exchanged at the identity provider that issued it.",
                "Enter its issuer or its token endpoint.",
            )
    elif not provider.issuer or not provider.client_id:
        raise UserError(
            "The login needs the identity provider's issuer and the client ID there.",
            "Enter both, or enter an ID token that you have.",
        )


def _check_workload(settings: OAuthSettings) -> None:
    if not any((settings.assertion, settings.assertion_file, settings.assertion_variable)):
        raise UserError(
            "Workload identity needs a JWT.",
            "Enter it, or name the file or environment variable to read it from.",
        )


def value_of(settings: OAuthSettings, name: str) -> object:
    if name.startswith(_PROVIDER):
        return getattr(settings.identity_provider or IdentityProvider(), name.removeprefix(_PROVIDER))
    return getattr(settings, name)


def with_values(before: OAuthSettings, grant: LoginGrant, values: dict[str, object]) -> OAuthSettings:
    """Return the settings with these values; "" and None leave one to the default rules."""
    server = {name: value for name, value in values.items() if not name.startswith(_PROVIDER)}
    idp = {
        name.removeprefix(_PROVIDER): value for name, value in values.items() if name.startswith(_PROVIDER)
    }
    provider = before.identity_provider
    if idp:
        idp["scope"] = idp.get("scope") or None
        provider = replace(provider or IdentityProvider(), **idp)  # type: ignore[arg-type]
        provider = None if provider == IdentityProvider() else provider
    return replace(before, grant=grant.value, identity_provider=provider, **server)  # type: ignore[arg-type]
