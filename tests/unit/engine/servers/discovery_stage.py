"""An engine in an untrusted project folder, for tests of servers in other clients' files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from inspector.base.json.values import JSONObject
from inspector.config.foreign.discovery import ConfigLocation, locations_for
from inspector.config.servers.server_list import ServerListFile
from inspector.config.servers.trust import TrustStore
from inspector.engine.engine import Engine
from inspector.engine.servers.discovered_servers import ServerDiscovery
from inspector.engine.servers.views import DiscoveredServerView
from tests.helpers.servers import ARGV, Lab


class Harness:
    """An engine in an untrusted project folder."""

    def __init__(self, tmp_path: Path) -> None:
        self.home, self.folder = tmp_path / "home", tmp_path / "repo"
        self.home.mkdir(exist_ok=True)
        self.folder.mkdir(exist_ok=True)
        self.file = self.folder / ".mcp.json"
        self.server_list = ServerListFile(tmp_path / "servers.json")
        self.store = tmp_path / "trust.json"
        self.lab = self.start()

    def start(self) -> Lab:
        """Start MCP Lens in that folder."""
        engine = Engine(self.server_list, trust=TrustStore(self.store), locations=self.locations)
        engine.discovery.folder = self.folder
        self.lab = Lab(engine=engine)
        return self.lab

    def locations(self, folder: Path) -> tuple[ConfigLocation, ...]:
        return locations_for("linux", self.home, {}, folder)

    @property
    def found(self) -> ServerDiscovery:
        return self.lab.engine.discovery

    def write(self, **servers: JSONObject) -> None:
        self.file.write_text(json.dumps({"mcpServers": servers}))

    async def scan(self, name: str = "srv") -> DiscoveredServerView:
        report = await self.found.scan()
        (view,) = [view for view in report.servers if view.name == name]
        return view

    async def trust(
        self, name: str = "srv", variables: tuple[str, ...] = (), **inputs: str
    ) -> DiscoveredServerView:
        view = await self.scan(name)
        await self.found.trust(view.id, view.seen, variables, inputs)
        return self.found.view(view.id)


def touching(marker: Path, *more: str) -> JSONObject:
    """A server that writes a marker file when it is started."""
    code = f"import pathlib, sys; pathlib.Path({str(marker)!r}).write_text(repr(sys.argv[1:]))"
    return {"command": sys.executable, "args": ["-c", code, *more]}


def fault(*words: str, **members: object) -> JSONObject:
    return {"command": ARGV[0], "args": [*ARGV[1:], *words], **members}  # type: ignore[dict-item]
