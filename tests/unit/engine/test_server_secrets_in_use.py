"""Servers with headers or environment variables in the secret store."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError, RequestCancelled
from inspector.config.secrets.keychain import Keychain
from inspector.config.secrets.records import StorageKind
from inspector.config.secrets.store import SecretStore
from inspector.config.servers.entries import HttpEntry, SecretRef
from inspector.config.servers.server_list import ServerListFile
from inspector.engine.engine import Engine
from inspector.engine.secrets import Secrets
from inspector.engine.views import ServerStatus
from tests.helpers.httpfaults import FaultServer, replies_with
from tests.helpers.keychains import MemoryKeychain
from tests.helpers.secretsstage import CHEAP

NAME = "header/a/X-Key"


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    secrets = Secrets(lambda: SecretStore(tmp_path / "secrets", Keychain(MemoryKeychain), CHEAP))
    engine = Engine(ServerListFile(tmp_path / "servers.json"), secrets=secrets)
    yield engine
    await engine.close()


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    info = {"name": "f", "version": "1"}
    result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    async with FaultServer() as server:
        server.order("initialize", *[replies_with(lambda call: call.response(result=result))] * 3)
        yield server


def entry(server: FaultServer, **headers: str | SecretRef) -> HttpEntry:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpEntry(name="a", url=server.url(), headers=given, era="2025-11-25", type="http")


def written(tmp_path: Path) -> dict[str, object]:
    servers: dict[str, dict[str, object]] = json.loads((tmp_path / "servers.json").read_text())["mcpServers"]
    return servers["a"]


async def test_without_the_secret_nothing_is_sent_and_the_server_says_why(
    engine: Engine, server: FaultServer
) -> None:
    engine.servers.add(entry(server, X_Key=SecretRef(NAME)))
    with pytest.raises(ConfigError, match="header › a › X-Key"):
        await engine.servers.connector.connect("a")
    view = engine.servers.get("a").view
    assert view.status is ServerStatus.FAILED
    assert "is not available" in view.reason
    assert "Server secrets" in view.next_step
    assert server.calls == []


async def test_current_secret_is_sent_with_each_connection(engine: Engine, server: FaultServer) -> None:
    engine.servers.add(entry(server, X_Key=SecretRef(NAME), X_Plain="p"))
    for value in ("hush-1", "hush-2"):
        await engine.secrets.put(NAME, value)
        await engine.servers.connector.connect("a")
        assert engine.servers.get("a").view.status is ServerStatus.CONNECTED
        sent = server.called("initialize")[-1].headers
        assert (sent["x-key"], sent["x-plain"]) == (value, "p")
    assert engine.log.credentials.is_secret_header("X-Key")
    assert {b"hush-1", b"hush-2"} <= set(engine.log.credentials.names_by_value())


async def test_reconnecting_without_the_secret_ends_the_previous_connection(
    engine: Engine, server: FaultServer
) -> None:
    engine.servers.add(entry(server, X_Key=SecretRef(NAME)))
    await engine.secrets.put(NAME, "hush")
    await engine.servers.connector.connect("a")
    await engine.secrets.delete(NAME)
    with pytest.raises(ConfigError):
        await engine.servers.connector.connect("a")
    assert engine.servers.get("a").view.status is ServerStatus.FAILED
    assert len(server.called("initialize")) == 1


async def test_wait_for_the_secret_store_can_be_cancelled(
    engine: Engine, server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested = asyncio.Event()

    async def wait_for_the_person(name: str) -> str | None:
        requested.set()
        await asyncio.Event().wait()
        return None

    monkeypatch.setattr(engine.secrets, "get", wait_for_the_person)
    engine.servers.add(entry(server, X_Key=SecretRef(NAME)))
    connecting = asyncio.ensure_future(engine.servers.connector.connect("a"))
    await requested.wait()
    view = engine.servers.get("a").view
    assert (view.status, view.waits_for) == (ServerStatus.CONNECTING, "the secret store")
    await engine.servers.connector.disconnect("a")
    with pytest.raises(RequestCancelled):
        await connecting
    assert engine.servers.get("a").view.status is ServerStatus.IDLE
    assert server.calls == []


async def test_a_server_is_saved_with_its_secrets_or_not_at_all(
    engine: Engine, server: FaultServer, tmp_path: Path
) -> None:
    await engine.servers.save_with_secrets(entry(server, X_Key=SecretRef(NAME)), {NAME: "hush"})
    assert written(tmp_path)["headers"] == {"X-Key": {"ref": NAME}}
    with pytest.raises(ConfigError, match="already"):
        await engine.servers.save_with_secrets(entry(server, X_Key=SecretRef(NAME)), {NAME: "other"})
    assert await engine.secrets.get(NAME) == "hush", (
        "the secret of the other server of this name is as it was"
    )
    assert engine.servers.has("a")


async def test_server_that_cannot_be_saved_leaves_no_secret(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "servers.json").write_text("no JSON")
    with pytest.raises(ConfigError):
        await engine.servers.save_with_secrets(HttpEntry(name="a", url="http://h/"), {NAME: "hush"})
    assert await engine.secrets.stored() == ()


async def test_moving_moves_the_selected_secrets_and_leaves_the_rest(
    engine: Engine, server: FaultServer, tmp_path: Path
) -> None:
    engine.servers.save(entry(server, X_Key="hush-1", X_Token="hush-2", Accept="x"))
    assert engine.servers.get("a").view.plain_secrets == ("X-Key", "X-Token")
    await engine.servers.set_secrets("a", ["X-Key"], {})
    view = engine.servers.get("a").view
    assert (view.plain_secrets, view.secret_references) == (("X-Token",), ("X-Key",))
    assert written(tmp_path)["headers"] == {"X-Key": {"ref": NAME}, "X-Token": "hush-2", "Accept": "x"}
    await engine.servers.connector.connect("a")
    assert server.called("initialize")[0].headers["x-key"] == "hush-1"
    await engine.servers.set_secrets("a", [], {"X-Key": "hush-3"})
    await engine.servers.connector.connect("a")
    assert server.called("initialize")[-1].headers["x-key"] == "hush-3"


async def test_secrets_are_not_moved_where_they_would_be_lost(
    engine: Engine, server: FaultServer, tmp_path: Path
) -> None:
    await engine.secrets.move_to(StorageKind.MEMORY)
    engine.servers.save(entry(server, X_Key="hush"))
    with pytest.raises(ConfigError, match="held only in memory"):
        await engine.servers.set_secrets("a", ["X-Key"], {})
    assert written(tmp_path)["headers"] == {"X-Key": "hush"}
    assert engine.servers.get("a").view.plain_secrets == ("X-Key",)


async def test_removed_server_deletes_its_own_secrets(engine: Engine, server: FaultServer) -> None:
    await engine.secrets.put("shared", "hush-2")
    await engine.servers.save_with_secrets(
        entry(server, X_Key=SecretRef(NAME), X_Other=SecretRef("shared")), {NAME: "hush-1"}
    )
    await engine.servers.remove("a")
    assert [secret.name for secret in await engine.secrets.stored()] == ["shared"]
