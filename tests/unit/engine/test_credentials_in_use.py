"""Credentials registered as in use, from server entries and the secret store."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from inspector.config.calls.variables import IN_SECRETS
from inspector.config.secrets.keychain import Keychain
from inspector.config.secrets.store import SecretStore
from inspector.config.servers.entries import Entry, HttpEntry, NetworkSettings, StdioEntry
from inspector.engine.calls.library import CallLibrary
from inspector.engine.secrets import Secrets, register_entry_secrets, register_secret
from inspector.traffic.credentials import Credentials
from tests.helpers.keychains import FailingKeychain, MemoryKeychain
from tests.helpers.secretsstage import CHEAP

BASIC = base64.b64encode(b"me:hush-Zz9-1").decode()


@pytest.mark.parametrize(
    ("entry", "wanted"),
    [
        (HttpEntry(name="a", url="http://h/", headers={"Authorization": "Bearer hush-1"}), {"hush-1"}),
        (HttpEntry(name="a", url="http://h/", headers={"X-Api-Key": "hush 1"}), {"hush 1"}),
        (
            HttpEntry(name="a", url="http://h/", headers={"Authorization": f"Basic {BASIC}"}),
            {BASIC, "hush-Zz9-1"},
        ),
        (HttpEntry(name="a", url="http://h/", headers={"Authorization": "Basic no!"}), {"no!"}),
        (HttpEntry(name="a", url="http://h/", headers={"User-Agent": "me"}), set()),
        (HttpEntry(name="a", url="http://u:p%2Fw@h/?page=1&token=hush%2B1"), {"hush+1", "p/w"}),
        (
            HttpEntry(name="a", url="http://h/", network=NetworkSettings(proxy="http://u:pw@proxy:1")),
            {"pw"},
        ),
        (StdioEntry(name="a", command="x", env={"API_TOKEN": "hush-1", "HOME": "/home"}), {"hush-1"}),
        (
            StdioEntry(name="a", command="x", args=("--token", "hush-1", "-v", "--key=hush-2")),
            {"hush-1", "hush-2"},
        ),
        (StdioEntry(name="a", command="x", args=("http://h/?api_key=hush-1", "page=2")), {"hush-1"}),
    ],
)
def test_secrets_in_a_server_configuration_are_in_use(entry: Entry, wanted: set[str]) -> None:
    credentials = Credentials()
    register_entry_secrets(credentials, entry)
    assert {value.decode() for value in credentials.names_by_value()} == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("hush-1", {"hush-1"}),
        ("{no JSON", {"{no JSON"}),
        (json.dumps("hush-1"), {"hush-1"}),
        (
            json.dumps(
                {"tokens": {"access_token": "a1", "refresh_token": "r1", "scope": "s", "expires_at": 1}}
            ),
            {"a1", "r1"},
        ),
        (json.dumps({"client_id": "c", "secret": "s1", "list": [{"id_token": "i1"}]}), {"s1", "i1"}),
    ],
)
def test_secret_read_from_the_store_is_in_use(value: str, wanted: set[str]) -> None:
    credentials = Credentials()
    register_secret(credentials, "header/a/b", value)
    assert {value.decode() for value in credentials.names_by_value()} == wanted


@pytest.fixture
def backend() -> MemoryKeychain:
    return MemoryKeychain()


@pytest.fixture
async def secrets(tmp_path: Path, backend: MemoryKeychain) -> AsyncIterator[Secrets]:
    secrets = Secrets(lambda: SecretStore(tmp_path / "secrets", Keychain(lambda: backend), CHEAP))
    yield secrets
    await secrets.end()


@pytest.mark.parametrize("value", ["hush-1", 12345678, {"a": ["hush-1"]}])
async def test_secret_variable_is_stored_and_read_from_the_store(
    value: object, secrets: Secrets, tmp_path: Path
) -> None:
    calls = CallLibrary(saved=tmp_path / "calls", secrets=secrets)
    await calls.set_variable("api_token", value)  # type: ignore[arg-type]
    await calls.set_variable("page", 7)
    assert json.loads((tmp_path / "calls" / "variables.json").read_text()) == {
        "api_token": IN_SECRETS,
        "page": 7,
    }
    assert await calls.variable_values() == {"api_token": value, "page": 7}
    await calls.remove_variable("api_token")
    assert await calls.variable_values() == {"page": 7}
    assert await secrets.stored() == ()


async def test_foreign_secret_variable_has_no_value_until_one_is_set(
    secrets: Secrets, tmp_path: Path
) -> None:
    calls = CallLibrary(saved=tmp_path, secrets=secrets)
    (tmp_path / "variables.json").write_text(json.dumps({"api_token": IN_SECRETS}))
    assert await calls.variable_values() == {}
    await calls.set_variable("api_token", "mine")
    assert await calls.variable_values() == {"api_token": "mine"}


async def test_unstorable_secret_variable_is_session_only_and_reported(tmp_path: Path) -> None:
    failing = FailingKeychain()
    secrets = Secrets(lambda: SecretStore(tmp_path / "secrets", Keychain(lambda: failing), CHEAP))
    calls = CallLibrary(saved=tmp_path, secrets=secrets)
    reported: list[str] = []
    calls.problem_found.connect(reported.append)
    await calls.set_variable("api_token", "hush-1")
    assert await calls.variable_values() == {"api_token": "hush-1"}
    assert "hush-1" not in (tmp_path / "variables.json").read_text()
    assert reported[0].startswith("The call variable api_token is not saved (this session only): ")
    await secrets.end()


@pytest.mark.parametrize("whole", [False, True])
def test_secrets_in_inherited_variables_are_in_use(monkeypatch: pytest.MonkeyPatch, whole: bool) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:pr0xy-password@proxy:3128")
    monkeypatch.setenv("DEPLOY_TOKEN", "dep-12345678")
    credentials = Credentials()
    register_entry_secrets(credentials, StdioEntry(name="a", command="x", inherit_environment=whole))
    assert b"pr0xy-password" in credentials.names_by_value()
    assert (b"dep-12345678" in credentials.names_by_value()) is whole


def test_password_in_a_configured_proxy_variable_is_in_use() -> None:
    credentials = Credentials()
    entry = StdioEntry(name="a", command="x", env={"HTTPS_PROXY": "http://me:0ther-password@proxy:3128"})
    register_entry_secrets(credentials, entry)
    assert b"0ther-password" in credentials.names_by_value()
