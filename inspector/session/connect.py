"""From a configured entry to a transport and to what we say about ourselves."""

from __future__ import annotations

from pathlib import Path

from inspector import __version__
from inspector.base.clock import Clock
from inspector.base.jsonvalue import JSONObject
from inspector.config.entries import Entry, StdioEntry
from inspector.config.settings import Settings
from inspector.protocol.handshake import ClientProfile, InitializeHandshake, Negotiation
from inspector.session.session import Answerer
from inspector.transport.base import Transport
from inspector.transport.network import Network
from inspector.transport.orphanguard import OrphanGuard
from inspector.transport.program import Command
from inspector.transport.stdio import StdioTransport
from inspector.transport.streamable import StreamableHttpTransport


def make_transport(entry: Entry, guard: OrphanGuard, clock: Clock, settings: Settings) -> Transport:
    if isinstance(entry, StdioEntry):
        command = Command((entry.command, *entry.args), entry.env, entry.cwd)
        return StdioTransport(command, guard, clock, settings.line_cap)
    network = Network(headers=tuple(entry.headers.items()), connect_timeout=settings.connect_timeout)
    return StreamableHttpTransport(entry.url, network, clock)


def make_negotiation(entry: Entry) -> Negotiation:
    capabilities: JSONObject = {"roots": {}} if entry.roots else {}
    return InitializeHandshake(ClientProfile("mcp-lens", "MCP Lens", __version__, capabilities))


def make_answerers(entry: Entry) -> dict[str, Answerer]:
    """What we can answer without asking the person. Only what is answered is declared."""
    if not entry.roots:
        return {}

    async def list_roots(params: JSONObject) -> JSONObject:
        return {"roots": [_root(folder) for folder in entry.roots]}

    return {"roots/list": list_roots}


def _root(folder: str) -> JSONObject:
    path = Path(folder).expanduser().absolute()
    return {"uri": path.as_uri(), "name": path.name or str(path)}
