"""Server secrets: entered when a server is added, moved to the store, entered again."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from inspector.config.secrets.records import StorageKind
from inspector.config.servers.entries import HttpEntry, NetworkSettings, StdioEntry
from inspector.engine.views import ServerStatus
from inspector.qt.dialogs.servers.add_server import AddServerDialog
from inspector.qt.dialogs.servers.server_secrets import ServerSecretsDialog
from inspector.qt.window.tabs import OVERVIEW
from inspector.traffic.records import RecordKind
from tests.qt.lens_driver import Lens, visible_text
from tests.qt.settings.test_secrets_dialog import keychain

__all__ = ["keychain"]  # a fixture

SECRET = "s3cret-Zq9-marker"
URL = "http://127.0.0.1:9/mcp"


def headers(lens: Lens, server: str) -> object:
    return json.loads(lens.server_list.read_text())["mcpServers"][server].get("headers")


def stored(lens: Lens, name: str) -> str | None:
    return lens.ask(lambda engine: engine.secrets.get(name))


def open_add(lens: Lens, address: str) -> AddServerDialog:
    lens.do("server.add")
    dialog = lens.dialog(AddServerDialog)
    QTest.keyClicks(dialog.address, address)
    QTest.keyClicks(dialog.name, "mine")
    return dialog


def keep_plain(lens: Lens, **headers: str) -> None:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    lens.ask(
        lambda engine: engine.servers.save_with_secrets(HttpEntry(name="mine", url=URL, headers=names), {})
    )
    lens.settle()
    lens.choose("mine")


@pytest.mark.parametrize(
    ("access", "typed", "header", "sent"),
    [
        ("Bearer token", SECRET, "Authorization", f"Bearer {SECRET}"),
        ("Bearer token", f" Bearer {SECRET} ", "Authorization", f"Bearer {SECRET}"),
        ("API key header", SECRET, "X-API-Key", SECRET),
    ],
)
@pytest.mark.usefixtures("keychain")
def test_secret_of_a_new_server_goes_into_the_store_and_not_into_the_server_list(
    lens: Lens, access: str, typed: str, header: str, sent: str
) -> None:
    dialog = open_add(lens, URL)
    dialog.method.setCurrentText(access)
    assert dialog.secret.echoMode() is QLineEdit.EchoMode.Password
    QTest.keyClicks(dialog.secret, typed)
    assert "secret store" in visible_text(dialog)
    dialog.add_action.trigger()
    lens.until(lambda: lens.window.servers.model.row_of("mine") is not None)
    assert headers(lens, "mine") == {header: {"ref": f"header/mine/{header}"}}
    assert SECRET not in lens.server_list.read_text()
    assert stored(lens, f"header/mine/{header}") == sent


def test_only_url_servers_ask_for_a_secret(lens: Lens) -> None:
    dialog = open_add(lens, "npx -y server")
    assert not dialog.method.isVisibleTo(dialog)
    dialog.address.put(URL)
    assert dialog.method.isVisibleTo(dialog)
    assert not dialog.secret.isVisibleTo(dialog)


@pytest.mark.parametrize(
    ("header", "secret", "problem"),
    [
        ("X-API-Key", "", "The key is empty."),
        ("X API", SECRET, "is not a valid header name"),
        ("X-API-Key", f"{SECRET}ü", "characters not allowed in a header"),
    ],
)
def test_unsendable_secret_is_reported_before_anything_is_saved(
    lens: Lens, header: str, secret: str, problem: str
) -> None:
    dialog = open_add(lens, URL)
    dialog.method.setCurrentText("API key header")
    dialog.header.setText(header)
    dialog.secret.setText(secret)
    dialog.add_action.trigger()
    assert problem in dialog.error_text()
    assert SECRET not in dialog.error_text()
    assert not lens.server_list.exists()


@pytest.mark.usefixtures("keychain")
def test_plain_text_secrets_are_offered_for_moving_and_unselected_ones_stay(lens: Lens) -> None:
    keep_plain(lens, Authorization=f"Bearer {SECRET}", X_Api_Key="plain", Accept="x")
    overview = lens.workspace.panel(OVERVIEW)
    assert "2 secrets as plain text: Authorization, X-Api-Key" in overview.alert.text("secrets")
    overview.move_action.trigger()
    dialog = lens.dialog(ServerSecretsDialog)
    assert SECRET not in visible_text(dialog)
    dialog.moves["X-Api-Key"].setChecked(False)
    dialog.save_action.trigger()
    lens.until(lambda: not lens.dialogs(ServerSecretsDialog))
    assert headers(lens, "mine") == {
        "Authorization": {"ref": "header/mine/Authorization"},
        "X-Api-Key": "plain",
        "Accept": "x",
    }
    lens.until(lambda: "1 secret as plain text: X-Api-Key" in overview.alert.text("secrets"))
    overview.keep_action.trigger()
    assert overview.alert.text("secrets") == ""
    lens.settle()
    overview.set_view(lens.view("mine"))
    assert overview.alert.text("secrets") == "", "the user wants it there"


@pytest.mark.usefixtures("keychain")
def test_secrets_are_not_moved_into_memory_and_the_dialog_says_why(lens: Lens) -> None:
    lens.ask(lambda engine: engine.secrets.move_to(StorageKind.MEMORY))
    keep_plain(lens, Authorization=f"Bearer {SECRET}")
    lens.do("server.secrets")
    dialog = lens.dialog(ServerSecretsDialog)
    dialog.save_action.trigger()
    lens.until(dialog.error_text)
    assert "held only in memory" in dialog.error_text()
    assert dialog.save_action.isEnabled()
    assert headers(lens, "mine") == {"Authorization": f"Bearer {SECRET}"}


@pytest.mark.usefixtures("keychain")
def test_missing_secret_is_named_and_can_be_entered_again(lens: Lens) -> None:
    refers = {"mcpServers": {"mine": {"url": URL, "headers": {"X-Key": {"ref": "header/mine/X-Key"}}}}}
    lens.server_list.write_text(json.dumps(refers))
    lens.ask(lambda engine: engine.servers.load())
    lens.settle()
    lens.choose("mine")
    lens.do("server.connect")
    lens.wait_for("mine", ServerStatus.FAILED)
    assert "header › mine › X-Key" in visible_text(lens.workspace.panel(OVERVIEW))
    lens.do("server.secrets")
    dialog = lens.dialog(ServerSecretsDialog)
    assert not dialog.save_action.isEnabled()
    dialog.values["X-Key"].setText(SECRET)
    dialog.save_action.trigger()
    lens.until(lambda: not lens.dialogs(ServerSecretsDialog))
    assert stored(lens, "header/mine/X-Key") == SECRET


def entry_of(lens: Lens, server: str = "mine") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lens.server_list.read_text())["mcpServers"][server]
    return found


@pytest.mark.usefixtures("keychain")
def test_secrets_in_arguments_are_moved_and_still_passed_to_the_program(lens: Lens) -> None:
    show = "import sys; print(sys.argv[1:], file=sys.stderr)"
    entry = StdioEntry(name="mine", command=sys.executable, args=("-c", show, "--token", SECRET))
    lens.ask(lambda engine: engine.servers.save_with_secrets(entry, {}))
    lens.settle()
    lens.choose("mine")
    assert "1 secret as plain text: argument --token" in lens.workspace.panel(OVERVIEW).alert.text("secrets")
    lens.workspace.panel(OVERVIEW).move_action.trigger()
    dialog = lens.dialog(ServerSecretsDialog)
    assert SECRET not in visible_text(dialog)
    dialog.save_action.trigger()
    lens.until(lambda: not lens.dialogs(ServerSecretsDialog))
    assert SECRET not in lens.server_list.read_text()
    assert entry_of(lens)["args"] == ["-c", show, "--token", "${input:token}"]
    assert stored(lens, "input/mine/token") == SECRET
    lens.until(lambda: lens.workspace.panel(OVERVIEW).alert.text("secrets") == "")
    lens.do("server.connect")
    lens.wait_for("mine", ServerStatus.FAILED)
    log = lens.app.bridge.log
    reported = [log.raw(row).decode() for row in range(len(log)) if log.kind(row) == RecordKind.STDERR]
    assert set(reported) == {str(["--token", SECRET])}


@pytest.mark.usefixtures("keychain")
def test_url_and_proxy_secrets_are_moved_and_can_be_entered_again(lens: Lens) -> None:
    network = NetworkSettings(proxy=f"http://ann:{SECRET}@127.0.0.1:9")
    entry = HttpEntry(name="mine", url=f"{URL}?api_key={SECRET}&page=1", network=network)
    lens.ask(lambda engine: engine.servers.save_with_secrets(entry, {}))
    lens.settle()
    lens.choose("mine")
    lens.do("server.secrets")
    dialog = lens.dialog(ServerSecretsDialog)
    assert list(dialog.moves) == ["URL parameter api_key", "proxy password"]
    dialog.save_action.trigger()
    lens.until(lambda: not lens.dialogs(ServerSecretsDialog))
    assert SECRET not in lens.server_list.read_text()
    assert entry_of(lens)["url"] == f"{URL}?api_key=${{input:api_key}}&page=1"
    assert stored(lens, "input/mine/proxy-password") == SECRET
    lens.until(lambda: not lens.view("mine").plain_secrets)
    lens.do("server.secrets")
    dialog = lens.dialog(ServerSecretsDialog)
    assert (list(dialog.moves), list(dialog.values)) == ([], ["input:api_key", "input:proxy-password"])
    QTest.keyClicks(dialog.values["input:api_key"], "new")
    dialog.save_action.trigger()
    lens.until(lambda: not lens.dialogs(ServerSecretsDialog))
    assert stored(lens, "input/mine/api_key") == "new"
    assert stored(lens, "input/mine/proxy-password") == SECRET
