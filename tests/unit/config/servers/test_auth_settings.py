"""The `auth` member of a server: read and written without secrets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError
from inspector.config.servers.entries import (
    BearerSettings,
    HttpEntry,
    IdentityProvider,
    OAuthSettings,
    SecretRef,
    read_auth,
)
from inspector.config.servers.server_list import ServerListFile, read_entry

FULL = OAuthSettings(
    grant="enterprise",
    issuer="https://as.example",
    client_id="me",
    client_secret=SecretRef("oauth/as/secret"),
    redirect_port=6276,
    scope="",
    dpop=True,
    identity_provider=IdentityProvider(
        token_endpoint="https://idp.example/token", id_token=SecretRef("oauth/idp/id")
    ),
)


@pytest.mark.parametrize("auth", [FULL, BearerSettings(token=SecretRef("bearer/x")), OAuthSettings(), None])
def test_written_settings_are_read_back(tmp_path: Path, auth: OAuthSettings | BearerSettings | None) -> None:
    server_list = ServerListFile(tmp_path / "servers.json")
    entry = HttpEntry(name="s", url="https://mcp.example/mcp", auth=auth)
    server_list.save(entry)
    assert server_list.find("s") == entry


def test_members_are_written_as_in_other_files_and_unknown_ones_are_preserved(tmp_path: Path) -> None:
    path = tmp_path / "servers.json"
    auth = {"type": "oauth", "clientId": "me", "later": 1}
    path.write_text(json.dumps({"mcpServers": {"s": {"url": "https://mcp.example/mcp", "auth": auth}}}))
    server_list = ServerListFile(path)
    server_list.save(server_list.find("s"))
    assert json.loads(path.read_text())["mcpServers"]["s"]["auth"] == auth


@pytest.mark.parametrize(
    ("auth", "expected"),
    [
        ({"type": "oauth", "clientSecret": "hunter2"}, "auth.clientSecret: secrets must not be stored"),
        ({"type": "bearer", "token": "abc"}, "auth.token: secrets must not be stored"),
        ({"type": "oauth", "identityProvider": {"idToken": "x"}}, "auth.idToken: secrets must not be stored"),
        ({"type": "oauth", "clientSecret": {"ref": ""}}, "auth.clientSecret: secrets must not be stored"),
        ({"type": "bearer"}, "auth.token: field required"),
        ({"type": "oauth", "grant": "password"}, "auth.grant: must be"),
        ({"type": "oauth", "redirectPort": 70000}, "auth.redirectPort: 70000 is not a valid port"),
        ({"type": "basic"}, "auth: must be an object"),
        ("token", "auth: must be an object"),
    ],
)
def test_unusable_settings_are_named_without_quoting_a_secret(auth: object, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_auth(auth)  # type: ignore[arg-type]
    assert expected in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_stdio_server_has_no_login() -> None:
    entry = read_entry("s", {"command": "x", "auth": {"type": "oauth"}})
    assert not hasattr(entry, "auth")
