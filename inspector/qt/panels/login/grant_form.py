"""Grant type form: authorization code, client credentials, enterprise (ID-JAG), workload.

It edits the `auth` member of a server entry; `FIELDS` describes what each grant type needs. Secrets go to
the secret store.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from inspector.base.errors import UserError
from inspector.base.json.values import JSONObject, member_of, with_member, without_member
from inspector.config.secrets.records import make_name
from inspector.config.servers.entries import (
    IdentityProvider,
    OAuthSettings,
    field_name,
    read_auth,
    write_auth,
)
from inspector.config.servers.entry_secrets import LOGIN
from inspector.oauth.login.steps import LoginGrant
from inspector.qt.forms.schema.plain_editors import PlainSecret, Row, choice, text
from inspector.qt.forms.schema.plain_form import PlainForm
from inspector.qt.theme import Theme
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.inputs.secret_fields import SecretText
from inspector.qt.widgets.layout import vbox
from inspector.qt.widgets.text.labels import Heading

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
_AT_SERVER, _AT_PROVIDER, _JWT = "Authorization server", "Identity provider", "Workload JWT"
LABEL_WIDTH = 150  # the same in all groups


class KeySecret(PlainSecret):
    """A private key, pasted or read from a file."""

    def make_control(self) -> SecretText:
        self.text = SecretText(self.theme, self.hint.name, _check_key)
        self.text.line.setFont(self.theme.mono_font(0.95))
        self.text.changed.connect(self._on_picked)
        return self.text

    def show_placeholder(self, text: str) -> None:
        self.text.set_hint(text)


def _text(group: str, title: str, placeholder: str, *grants: LoginGrant, **hint: Any) -> Row:
    """Describe a field of some grant types. Its accessible name is unique."""
    shown_if = partial(_has_grant, grants=grants)
    name = f"{group}: {title}"
    return text(title, placeholder, group=group, name=name, is_mono=True, shown_if=shown_if, **hint)


_secret = partial(_text, editor=PlainSecret)


def _has_grant(value: JSONObject, grants: tuple[LoginGrant, ...]) -> bool:
    return LoginGrant(value.get("grant", CODE.value)) in grants


FIELDS: dict[str, Row] = {
    "grant": choice("Grant type", {grant.value: label for grant, label in GRANTS.items()}),
    "identityProvider.issuer": _text(_AT_PROVIDER, "Issuer", "https://login.company.example", ENTERPRISE),
    "identityProvider.clientId": _text(_AT_PROVIDER, "Client ID", "as registered there", ENTERPRISE),
    "identityProvider.clientSecret": _secret(
        _AT_PROVIDER, "Client secret", "none for a public client", ENTERPRISE
    ),
    "identityProvider.scope": _text(
        _AT_PROVIDER, "Scope", "openid, plus the scope for refresh tokens", ENTERPRISE
    ),
    "identityProvider.idToken": _secret(
        _AT_PROVIDER, "ID token", "only if you have one; then no login is needed", ENTERPRISE
    ),
    "identityProvider.tokenEndpoint": _text(
        _AT_PROVIDER, "Token endpoint", "discovered from the issuer", ENTERPRISE
    ),
    "issuer": _text(_AT_SERVER, "Issuer", "credentials go only to this issuer", CLIENT, ENTERPRISE, WORKLOAD),
    "clientId": _text(_AT_SERVER, "Client ID", "as registered", CLIENT, ENTERPRISE, WORKLOAD),
    "clientSecret": _secret(_AT_SERVER, "Client secret", "or a private key", CLIENT, ENTERPRISE),
    "key": _text(_AT_SERVER, "Private key", "PEM, to sign assertions", CLIENT, ENTERPRISE, editor=KeySecret),
    "audience": choice(
        "Assertion audience (aud)",
        {"issuer": "Issuer", "token_endpoint": "Token endpoint"},
        name="Audience of assertions signed with the private key",
        shown_if=partial(_has_grant, grants=(CLIENT, ENTERPRISE)),
    ),
    "assertion": _secret(_JWT, "JWT", "not refreshed; use a file or variable for that", WORKLOAD),
    "assertionFile": _text(_JWT, "File", "/var/run/secrets/…/token", WORKLOAD),
    "assertionVariable": _text(
        _JWT, "Environment variable", "read from the environment of MCP Lens", WORKLOAD
    ),
}


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
        self._server = ""
        self._before: JSONObject = {}
        self.form = PlainForm(theme, FIELDS, label_width=LABEL_WIDTH)
        self.save_action = QAction("Save", self)
        self.save_action.setToolTip("Save in the server's settings; secrets go to the secret store")
        self.form.add_widget("grant", ActionButton(self.save_action), at_end=True)
        vbox(self, Heading(theme, "Authorization"), self.form)
        self.form.value_changed.connect(self._show_description)
        self.save_action.triggered.connect(self._save)
        self.setEnabled(False)  # until the settings are loaded
        self._show_description()

    def show_settings(self, server: str, settings: OAuthSettings) -> None:
        """Show the saved settings; secrets only as set or not."""
        self._server = server
        before = write_auth(settings)
        self._before = before if isinstance(before, dict) else {}
        self.setEnabled(True)
        self.form.set_value(self._before)
        self._show_description()

    @property
    def chosen(self) -> LoginGrant:
        return LoginGrant(self.form.value().get("grant", CODE.value))

    def settings(self) -> tuple[OAuthSettings, dict[str, str]]:
        """Return the settings as typed, and the new secrets by name.

        Raises UserError if something is missing.
        """
        value = self.form.value()
        secrets: dict[str, str] = {}
        # Values of the previous grant type are discarded.
        before = self._before if value.get("grant") == self._before.get("grant") else {}
        for name, (_, hint) in FIELDS.items():
            content = member_of(value, name, None)
            if not self.form.is_shown(name):
                saved = member_of(before, name, None)
                value = with_member(value, name, saved) if saved else without_member(value, name)
            elif hint.editor is not None and isinstance(content, str):
                ref = make_name(LOGIN, self._server, field_name(name))
                value, secrets[ref] = with_member(value, name, {"ref": ref}), content
        settings = read_auth(value)
        assert isinstance(settings, OAuthSettings)
        check_complete(settings)
        return settings, secrets

    def _save(self) -> None:
        try:
            settings, secrets = self.settings()
        except UserError as exc:
            self.error_found.emit(exc)
            return
        self.save_requested.emit(settings, secrets)

    def _show_description(self) -> None:
        self.form.set_help("grant", DESCRIPTIONS[self.chosen])


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
