"""The baseline for clients: a child process, a line out, a line in, `json.loads`."""

from __future__ import annotations

import asyncio
import json
from typing import Any

_LINE_LIMIT = 2**30


class RawClient:
    """One request at a time, or several in flight."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._stdin = process.stdin
        self._stdout = process.stdout
        self._last_id = 0

    @classmethod
    async def start(cls, command: list[str]) -> RawClient:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=_LINE_LIMIT
        )
        client = cls(process)
        info = {"name": "raw", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        await client.request("initialize", params)
        client._write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return client

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return await self.request("tools/call", {"name": tool, "arguments": arguments})

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._last_id += 1
        self._write({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        await self._stdin.drain()
        while True:
            response: dict[str, Any] = json.loads(await self._stdout.readline())
            if response.get("id") == self._last_id and "method" not in response:
                return response

    async def call_many(self, tool: str, arguments: dict[str, Any], count: int, in_flight: int) -> None:
        """Keep this many calls in flight until `count` have a response."""
        responded, requested = 0, self._last_id
        while responded < count:
            while self._last_id - requested < min(count, responded + in_flight):
                self._last_id += 1
                params = {"name": tool, "arguments": arguments}
                self._write({"jsonrpc": "2.0", "id": self._last_id, "method": "tools/call", "params": params})
            response = json.loads(await self._stdout.readline())
            if "error" in response:
                raise SystemExit(f"The server answered with an error: {response}")
            responded += "result" in response

    async def close(self) -> None:
        self._stdin.close()
        await self._process.wait()

    def _write(self, message: dict[str, Any]) -> None:
        self._stdin.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
