"""Demo servers of the window: three over stdio, two as HTTP child processes.

They are added to the server list on request. `login` is not connected automatically, because it requires
a login.
"""

from __future__ import annotations

import asyncio
import contextlib
import re

from inspector.base.errors import UserError
from inspector.config.servers.entries import Entry, HttpEntry, StdioEntry
from inspector.demo.servers import SERVERS, command
from inspector.qt.bridge import Bridge
from inspector.transport.orphan_guard import watch_helper
from inspector.transport.programs import spawn_options

_LISTENING = re.compile(rb"listening on (http://127\.0\.0\.1:\d+/\S+)")
_START_TIMEOUT = 20.0


def demo_entries() -> list[StdioEntry]:
    """Return the stdio demo servers, configured to try the session handshake first.

    The one over HTTP is detected as stateless. `roots` is set so that the tool that requests roots gets a
    result.
    """
    entries = []
    for name in (name for name, server in SERVERS.items() if server.supports_stdio):
        program, *args = command(name)
        entries.append(
            StdioEntry(name=name, command=program, args=tuple(args), roots=(".",), era="legacy-first")
        )
    return entries


def shown_name(name: str) -> str:
    """Return the display name of a demo server over HTTP, distinct from its stdio twin."""
    return f"{name} (http)" if SERVERS[name].supports_stdio else name


class DemoHttpServers:
    """HTTP demo servers, each in a child process that exits when its stdin is closed."""

    def __init__(self) -> None:
        self._processes: list[asyncio.subprocess.Process] = []

    async def start(self, name: str) -> HttpEntry:
        """Start a server and wait until it reports its URL. Runs on the engine's loop."""
        process = await asyncio.create_subprocess_exec(
            *command(name, http=True),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            **spawn_options(),
        )
        watch_helper(process.pid)
        self._processes.append(process)
        assert process.stderr is not None
        shown = shown_name(name)
        try:
            async with asyncio.timeout(_START_TIMEOUT):
                while line := await process.stderr.readline():
                    if match := _LISTENING.search(line):
                        return HttpEntry(name=shown, url=match[1].decode())
        except TimeoutError:
            pass
        raise UserError(
            f"The demo server {shown} failed to start.", "The other demo servers work without it."
        )

    async def stop(self) -> None:
        processes, self._processes = self._processes, []
        for process in processes:
            assert process.stdin is not None
            process.stdin.close()
        for process in processes:
            try:
                async with asyncio.timeout(3):
                    await process.wait()
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()


async def add_demo_servers(bridge: Bridge, http: DemoHttpServers, *, connect: bool = True) -> None:
    """Add the missing demo servers to the server list and connect them.

    The one that requires a login is not connected.
    """

    existing = await bridge.ask(lambda engine: {server.entry.name for server in engine.servers.all()})
    for entry in demo_entries():
        if entry.name not in existing:
            await _add(bridge, entry, connect)
    for name in ("everything", "login"):
        if shown_name(name) not in existing:
            http_entry = await bridge.ask(lambda engine: http.start(name))  # noqa: B023
            await _add(bridge, http_entry, connect and name != "login")


async def _add(bridge: Bridge, entry: Entry, connect: bool) -> None:
    view = await bridge.ask(lambda engine: engine.servers.add(entry))
    if connect:
        await bridge.ask(lambda engine: engine.servers.connector.connect_soon(view.name))
