"""Servers that respond to initialize with a protocol version that MCP Lens does not know."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError, ConnectFailed
from inspector.config.servers.entries import HttpEntry
from inspector.config.servers.server_list import ServerListFile
from inspector.engine.engine import Engine
from inspector.engine.views import ServerStatus
from inspector.protocol.revisions import R4
from inspector.traffic.records import RecordKind
from tests.helpers.httpfaults import Call, FaultServer, replies_with

DRAFT = "DRAFT-2027-v1"


def drafts(call: Call) -> bytes:
    info = {"name": "f", "version": "1"}
    result = {"protocolVersion": DRAFT, "capabilities": {"tools": {}}, "serverInfo": info}
    return call.response(result=result)


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    async with FaultServer() as server:
        server.order("initialize", *[replies_with(drafts)] * 3)
        yield server


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    engine = Engine(ServerListFile(tmp_path / "servers.json"))
    yield engine
    await engine.close()


@pytest.mark.parametrize("era", ["auto", "legacy-first", "2025-11-25"])
async def test_server_with_an_unknown_version_can_be_inspected_after_a_choice(
    engine: Engine, server: FaultServer, tmp_path: Path, era: str
) -> None:
    engine.servers.save(HttpEntry(name="a", url=server.url(), era=era, type="http"))
    with pytest.raises(ConnectFailed, match=DRAFT):
        await engine.servers.connector.connect("a")
    assert engine.servers.get("a").view.continue_as == "2025-11-25"
    await engine.servers.set_continue_as("a", "2025-11-25")
    await engine.servers.connector.connect("a")
    view = engine.servers.get("a").view
    assert (view.status, view.continue_as) == (ServerStatus.CONNECTED, "")
    assert view.negotiated is not None
    assert view.negotiated.revision is R4
    assert DRAFT in view.negotiated.problems[-1]
    notes = [
        engine.log.raw(row) for row in range(len(engine.log)) if engine.log.kind(row) == RecordKind.LOCAL
    ]
    assert any(DRAFT.encode() in note for note in notes)
    written = json.loads((tmp_path / "servers.json").read_text())["mcpServers"]["a"]
    assert written["continueAs"] == "2025-11-25"
    assert ServerListFile(tmp_path / "servers.json").find("a").continue_as == "2025-11-25"


async def test_headers_have_the_version_that_the_server_named(engine: Engine, server: FaultServer) -> None:
    """It is the only one that such a server certainly accepts."""
    engine.servers.add(
        HttpEntry(name="a", url=server.url(), era="2025-11-25", type="http", continue_as="2025-11-25")
    )
    await engine.servers.connector.connect("a")
    await engine.servers.get("a").client.ping()
    assert server.called("ping")[0].headers["mcp-protocol-version"] == DRAFT


async def test_only_a_version_with_initialize_can_be_chosen(engine: Engine, tmp_path: Path) -> None:
    engine.servers.add(HttpEntry(name="a", url="http://127.0.0.1:9/"))
    with pytest.raises(ConfigError, match="continueAs"):
        await engine.servers.set_continue_as("a", "2026-07-28")
