"""Grant type form: settings saved with the server, secrets in the secret store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLineEdit, QPushButton
from pytestqt.qtbot import QtBot

from inspector.base.errors import UserError
from inspector.config.servers.entries import (
    HttpEntry,
    IdentityProvider,
    OAuthSettings,
    SecretRef,
    member_name,
)
from inspector.oauth.login.steps import LoginGrant, LoginView
from inspector.oauth.signing import new_key
from inspector.qt.forms.schema.plain_editors import PlainChoice, PlainEditor, PlainLine, PlainSecret
from inspector.qt.link_opener import LinkOpener
from inspector.qt.panels.login.grant_form import DESCRIPTIONS, FIELDS, GRANTS, GrantForm
from inspector.qt.panels.login.panel import LoginPanel
from inspector.qt.theme import Theme
from inspector.qt.widgets.inputs.secret_fields import SecretText
from inspector.qt.window.tabs import AUTH
from tests.qt.lens_driver import Lens, visible_text
from tests.qt.login.login_stage import ICONS
from tests.unit.demo.login.login_client import LoginDemo

CLIENT, ENTERPRISE, WORKLOAD = "Client credentials", "Enterprise (ID-JAG)", "Workload identity"
PEM = new_key().pem().strip()


@pytest.fixture
def form(qtbot: QtBot) -> GrantForm:
    form = GrantForm(Theme(ICONS))
    qtbot.addWidget(form)
    form.show_settings("notes", OAuthSettings(scope="a"))
    form.show()
    return form


def fill(form: GrantForm, grant: str, **texts: str) -> None:
    choose(form, grant)
    for name, text in texts.items():
        widget = control(form, member_name(name.replace("__", ".")))
        assert widget.isVisibleTo(form)
        if isinstance(widget, SecretText):
            widget.set_text(text)
        else:
            widget.setText(text)


def choose(form: GrantForm, grant: str) -> None:
    form.form.editor("grant", PlainChoice).box.setCurrentText(grant)


def control(form: GrantForm, name: str) -> QLineEdit | SecretText:
    editor = form.form.editor(name, PlainEditor)
    if isinstance(editor, PlainSecret):
        return editor.control
    assert isinstance(editor, PlainLine)
    return editor.line


def delete_action(form: GrantForm, name: str) -> QAction:
    return form.form.editor(name, PlainSecret).delete_action


def test_client_credentials_are_saved_with_the_secret_stored_separately(form: GrantForm) -> None:
    fill(form, CLIENT, client_id="abc", client_secret="s3cret", issuer="https://as.example")
    settings, secrets = form.settings()
    assert secrets == {"login/notes/client_secret": "s3cret"}
    ref = SecretRef("login/notes/client_secret")
    assert settings == OAuthSettings(
        grant="client_credentials", issuer="https://as.example", client_id="abc", client_secret=ref, scope="a"
    )


def test_private_key_keeps_its_line_breaks(form: GrantForm) -> None:
    fill(form, CLIENT, client_id="abc", key=PEM)
    settings, secrets = form.settings()
    assert settings.key == SecretRef("login/notes/key")
    assert secrets == {"login/notes/key": PEM}


def test_assertion_audience_can_be_the_token_endpoint(form: GrantForm) -> None:
    fill(form, CLIENT, client_id="abc", key=PEM)
    audience = form.form.editor("audience", PlainChoice).box
    assert audience.isVisibleTo(form)
    assert form.settings()[0].audience == "issuer"
    audience.setCurrentText("Token endpoint")
    settings, _ = form.settings()
    assert settings.audience == "token_endpoint"
    form.show_settings("notes", settings)
    assert audience.currentText() == "Token endpoint"
    fill(form, WORKLOAD, assertion_file="/x")
    assert not audience.isVisibleTo(form)
    assert form.settings()[0].audience == "issuer"


def test_enterprise_has_an_identity_provider(form: GrantForm) -> None:
    fill(
        form,
        ENTERPRISE,
        identity_provider__token_endpoint="https://idp.example/token",
        identity_provider__client_id="at-idp",
        identity_provider__id_token="ey.ey.x",
    )
    settings, secrets = form.settings()
    assert secrets == {"login/notes/identity_provider.id_token": "ey.ey.x"}
    assert settings.identity_provider == IdentityProvider(
        token_endpoint="https://idp.example/token",
        client_id="at-idp",
        id_token=SecretRef("login/notes/identity_provider.id_token"),
    )


def test_enterprise_uses_an_interactive_login_without_an_id_token(form: GrantForm) -> None:
    fill(
        form,
        ENTERPRISE,
        identity_provider__issuer="https://idp.example",
        identity_provider__client_id="at-idp",
        client_id="at-as",
    )
    settings, secrets = form.settings()
    assert settings.identity_provider == IdentityProvider(issuer="https://idp.example", client_id="at-idp")
    assert (settings.grant, settings.client_id, secrets) == ("enterprise", "at-as", {})


def test_each_grant_has_a_one_sentence_description(form: GrantForm) -> None:
    for grant in LoginGrant:
        choose(form, GRANTS[grant])
        assert DESCRIPTIONS[grant] in visible_text(form)
    assert len(set(DESCRIPTIONS.values())) == 4


def test_deleting_a_stored_secret_can_be_undone_before_saving(form: GrantForm) -> None:
    secret, key = SecretRef("login/notes/client_secret"), SecretRef("login/notes/key")
    before = OAuthSettings(grant="client_credentials", client_id="a", client_secret=secret, key=key)
    form.show_settings("notes", before)
    delete_action(form, "clientSecret").trigger()
    assert form.settings() == (replace(before, client_secret=None), {})
    delete_action(form, "clientSecret").trigger()
    assert form.settings() == (before, {})


def test_secret_that_is_not_stored_cannot_be_deleted(form: GrantForm) -> None:
    choose(form, CLIENT)
    buttons = [each for each in form.findChildren(QPushButton) if each.text() == "Delete"]
    assert buttons
    assert not any(each.isVisibleTo(form) for each in buttons)


def test_workload_jwt_may_come_from_a_file(form: GrantForm) -> None:
    fill(form, WORKLOAD, assertion_file="/run/token")
    settings, secrets = form.settings()
    assert (settings.grant, settings.assertion_file, secrets) == ("wif", "/run/token", {})


@pytest.mark.parametrize(
    ("grant", "texts", "summary"),
    [
        (CLIENT, {}, "client ID"),
        (CLIENT, {"client_id": "abc"}, "secret or a private key"),
        (ENTERPRISE, {}, "identity provider's issuer"),
        (ENTERPRISE, {"identity_provider__issuer": "https://idp.example"}, "client ID there"),
        (ENTERPRISE, {"identity_provider__id_token": "ey.ey.x"}, "identity provider that issued it"),
        (WORKLOAD, {}, "JWT"),
    ],
)
def test_missing_fields_are_named_and_nothing_is_saved(
    form: GrantForm, qtbot: QtBot, grant: str, texts: dict[str, str], summary: str
) -> None:
    saved: list[object] = []
    form.save_requested.connect(lambda *args: saved.append(args))
    fill(form, grant, **texts)
    with qtbot.waitSignal(form.error_found) as error:
        form.save_action.trigger()
    assert error.args is not None
    assert isinstance(error.args[0], UserError)
    assert summary in error.args[0].summary
    assert saved == []


def test_stored_secret_is_hidden_and_kept_when_nothing_is_typed(form: GrantForm) -> None:
    ref = SecretRef("login/notes/client_secret")
    form.show_settings("notes", OAuthSettings(grant="client_credentials", client_id="a", client_secret=ref))
    field = control(form, "clientSecret")
    assert isinstance(field, QLineEdit)
    assert field.text() == ""
    assert "secret store" in field.placeholderText()
    assert field.echoMode() is QLineEdit.EchoMode.Password
    settings, secrets = form.settings()
    assert (settings.client_secret, secrets) == (ref, {})


def test_browser_grant_does_not_reuse_a_machine_client(form: GrantForm) -> None:
    ref = SecretRef("login/notes/client_secret")
    before = OAuthSettings(grant="client_credentials", client_id="a", client_secret=ref, scope="a")
    form.show_settings("notes", before)
    choose(form, "Authorization code (browser)")
    assert form.settings() == (OAuthSettings(scope="a"), {})


def test_client_registered_for_the_browser_is_kept(form: GrantForm) -> None:
    before = OAuthSettings(client_id="a", client_secret=SecretRef("mine"))
    form.show_settings("notes", before)
    assert form.settings() == (before, {})


def test_each_grant_shows_its_own_fields(form: GrantForm) -> None:
    shown = {}
    for grant in LoginGrant:
        choose(form, GRANTS[grant])
        assert form.chosen is grant
        texts = [name for name in FIELDS if name not in ("grant", "audience")]
        shown[grant] = {name for name in texts if control(form, name).isVisibleTo(form)}
    assert shown[LoginGrant.CODE] == set()
    assert "assertion" in shown[LoginGrant.WORKLOAD]
    assert "assertion" not in shown[LoginGrant.CLIENT]
    assert "identityProvider.idToken" in shown[LoginGrant.ENTERPRISE]


@pytest.fixture
def demo() -> Iterator[LoginDemo]:
    with LoginDemo() as demo:
        yield demo


def stored(lens: Lens) -> list[str]:
    return [one.name for one in lens.ask(lambda engine: engine.secrets.stored())]


def test_machine_login_needs_no_browser_and_discards_the_previous_login(lens: Lens, demo: LoginDemo) -> None:
    lens.add(HttpEntry(name="notes", url=demo.url))
    lens.choose("notes")
    lens.do("view.auth")
    panel = lens.workspace.panel(AUTH)
    form = panel.options.grants
    lens.until(form.isEnabled)
    panel.show_view("Options")
    fill(form, CLIENT, client_id="demo-machine", client_secret="demo-machine-secret", issuer=demo.origin)
    form.save_action.trigger()
    lens.until(lambda: "Saved" in panel.alert.text("command"))
    field = control(form, "clientSecret")
    assert isinstance(field, QLineEdit)
    assert field.text() == ""
    assert "login/notes/client_secret" in stored(lens)
    panel.controls.log_in.trigger()
    lens.until(lambda: panel.login is not None and panel.login.is_over)
    assert panel.login is not None
    assert panel.login.failure == ""
    assert panel.login.grant is LoginGrant.CLIENT
    assert panel.login.result is not None
    fill(form, "Authorization code (browser)")
    panel.show_view("Options")
    form.save_action.trigger()
    lens.until(lambda: "login/notes/client_secret" not in stored(lens))


def opened(lens: Lens, demo: LoginDemo) -> LoginPanel:
    """Open the login options of a new server."""
    lens.add(HttpEntry(name="notes", url=demo.url))
    lens.choose("notes")
    lens.do("view.auth")
    panel = lens.workspace.panel(AUTH)
    lens.until(panel.options.grants.isEnabled)
    panel.show_view("Options")
    return panel


def save_and_log_in(lens: Lens, panel: LoginPanel, demo: LoginDemo) -> LoginView:
    panel.options.grants.save_action.trigger()
    lens.until(lambda: "Saved" in panel.alert.text("command"))
    panel.controls.log_in.trigger()
    lens.until(lambda: panel.login is not None and (panel.login.is_over or bool(panel.login.failure)))
    assert panel.login is not None
    assert panel.login.failure == ""
    assert panel.login.result is not None
    return panel.login


def test_key_from_a_file_logs_in_from_the_window(lens: Lens, demo: LoginDemo) -> None:
    panel = opened(lens, demo)
    form, path = panel.options.grants, lens.folder / "robot.pem"
    path.write_text(demo.http.get("/demo-robot.pem").text)
    fill(form, CLIENT, client_id="demo-robot", issuer=demo.origin)
    field = control(form, "key")
    assert isinstance(field, SecretText)
    field.read_file(path)
    login = save_and_log_in(lens, panel, demo)
    assert login.grant is LoginGrant.CLIENT
    assert "login/notes/key" in stored(lens)


def test_user_logs_in_at_their_company_once(lens: Lens, demo: LoginDemo) -> None:
    panel = opened(lens, demo)
    pages: list[str] = []

    def browse(url: QUrl) -> bool:
        pages.append(bytes(url.toEncoded().data()).decode())
        return True

    lens.window.login_notice.opener = LinkOpener(browse)
    fill(
        panel.options.grants,
        ENTERPRISE,
        identity_provider__issuer=f"{demo.origin}/idp",
        identity_provider__client_id="demo-sso",
        issuer=demo.origin,
        client_id="demo-desk",
        client_secret="demo-desk-secret",
    )
    panel.options.grants.save_action.trigger()
    lens.until(lambda: "Saved" in panel.alert.text("command"))
    panel.controls.log_in.trigger()
    lens.until(lambda: bool(pages))
    response = demo.decide(demo.http.get(pages[0])).headers["location"]
    lens.until(lambda: panel.browser_wait.isVisibleTo(panel))
    panel.browser_wait.paste_field.setText(response)
    panel.browser_wait.paste_action.trigger()
    lens.until(lambda: panel.login is not None and (panel.login.is_over or bool(panel.login.failure)))
    assert panel.login is not None
    assert (panel.login.failure, panel.login.grant) == ("", LoginGrant.ENTERPRISE)
    assert panel.login.result is not None
    panel.controls.log_in.trigger()
    first = panel.login.flow_id
    lens.until(lambda: panel.login is not None and panel.login.flow_id != first and panel.login.is_over)
    assert panel.login.result is not None
    assert len(pages) == 1, "the login at the identity provider is reused"


def test_workload_sends_its_jwt_from_a_file(lens: Lens, demo: LoginDemo) -> None:
    panel = opened(lens, demo)
    path = lens.folder / "token"
    path.write_text(demo.http.get("/workload/token").text)
    fill(panel.options.grants, WORKLOAD, assertion_file=str(path), issuer=demo.origin)
    login = save_and_log_in(lens, panel, demo)
    assert login.grant is LoginGrant.WORKLOAD
    assert stored(lens) == [name for name in stored(lens) if not name.startswith("login/")]


def test_grant_secrets_are_deleted_with_their_server(lens: Lens, demo: LoginDemo) -> None:
    lens.add(HttpEntry(name="notes", url=demo.url))
    settings = OAuthSettings(grant="wif", assertion=SecretRef("login/notes/assertion"))
    lens.ask(lambda engine: engine.servers.set_auth("notes", settings, {"login/notes/assertion": "ey.ey.x"}))
    assert stored(lens) == ["login/notes/assertion"]
    lens.ask(lambda engine: engine.servers.remove("notes"))
    assert stored(lens) == []
