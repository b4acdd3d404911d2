"""Sequential tool calls over Streamable HTTP, recorded, against bare POST requests.

Both use the same HTTP library and the same server, alternating; the median of the rounds counts. Without
`--url`, a small server is started on the loopback interface.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import httpx2

from inspector.config.servers.entries import HttpEntry
from inspector.engine.engine import EngineThread
from inspector.protocol.revisions import Era, Revision
from tests.bench.calls import call_engine, count_calls
from tests.bench.enginehost import SERVER, connected_engine
from tests.bench.report import Result, Timing, compare, note, timed
from tests.bench.servercommand import add_era, add_tool
from tests.helpers.servers import server_views

MIN_RATIO_TO_BARE = 0.85
_ROUNDS = 9
_INFO = {"name": "bare", "version": "1"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--url", default="", help="a server's endpoint (default: one is started)")
    add_tool(parser, "echo", {"message": "hi"})
    add_era(parser)
    parser.add_argument("--count", type=int, default=500, metavar="N", help="calls in a round")


def run(options: argparse.Namespace) -> Result:
    with _server(options.url) as url, connected_engine(_entry(url, options.era)) as thread:
        bare, lens = asyncio.run(_rounds(thread, url, options))
        recorded = count_calls(thread.engine.log)
    made = (_ROUNDS + 1) * options.count
    numbers = compare(lens, bare, options.count)
    ratio = numbers["ratio"]
    assert isinstance(ratio, float)
    return Result(
        "http",
        {
            "url": options.url or "a server of the standard library",
            "era": options.era,
            "tool": options.tool,
            "calls": made,
            "recorded": recorded,
            **numbers,
        },
        {f"ratio>={MIN_RATIO_TO_BARE}": ratio >= MIN_RATIO_TO_BARE, "all recorded": recorded == made},
    )


def _entry(url: str, era: str) -> HttpEntry:
    return HttpEntry(name=SERVER, url=url, type="http", era=era)


async def _rounds(
    thread: EngineThread, url: str, options: argparse.Namespace
) -> tuple[list[Timing], list[Timing]]:
    """Return the rounds of the bare client and of ours; the first one of each warms up."""
    bare: list[Timing] = []
    lens: list[Timing] = []
    (view,) = server_views(thread.engine)
    assert view.negotiated is not None
    async with BareClient(url, view.negotiated.revision) as client:
        for number in range(_ROUNDS + 1):
            floor = await timed(_call_bare(client, options))
            ours = await asyncio.wrap_future(thread.submit(timed(call_engine(thread.engine, options))))
            if number:
                bare.append(floor)
                lens.append(ours)
                rates = [options.count / timing.seconds for timing in (floor, ours)]
                note(f"round {number}: bare {rates[0]:,.0f}/s, lens {rates[1]:,.0f}/s")
    return bare, lens


async def _call_bare(client: BareClient, options: argparse.Namespace) -> None:
    for _ in range(options.count):
        await client.call(options.tool, options.args)


@contextmanager
def _server(url: str) -> Iterator[str]:
    """Yield the given URL, or that of a server that runs during the block."""
    if url:
        yield url
        return
    command = [sys.executable, "-m", "tests.bench.httpserver"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.communicate()


class BareClient:
    """The baseline: one POST per call, `json.loads`, nothing recorded; our protocol version."""

    def __init__(self, url: str, revision: Revision) -> None:
        self._url = url
        accepted = "application/json, text/event-stream"
        self._http = httpx2.AsyncClient(headers={"Content-Type": "application/json", "Accept": accepted})
        self._last_id = 0
        self._revision = revision.date
        self._is_stateless = revision.era is Era.STATELESS

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        if not self._is_stateless:
            params = {"protocolVersion": self._revision, "capabilities": {}, "clientInfo": _INFO}
            await self._request("initialize", params)
        self._http.headers["MCP-Protocol-Version"] = self._revision
        if not self._is_stateless:
            await self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._http.aclose()

    async def call(self, tool: str, arguments: dict[str, Any]) -> None:
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        headers = {}
        if self._is_stateless:
            params["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": self._revision,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": _INFO,
            }
            headers = {"Mcp-Method": "tools/call", "Mcp-Name": tool}
        reply = await self._request("tools/call", params, headers)
        if "result" not in reply:
            raise SystemExit(f"The server answered with an error: {reply}")

    async def _request(
        self, method: str, params: dict[str, Any], headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        self._last_id += 1
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        response = await self._post(message, headers)
        if session := response.headers.get("mcp-session-id"):
            self._http.headers["Mcp-Session-Id"] = session
        reply: dict[str, Any] = json.loads(_body(response))
        return reply

    async def _post(self, message: dict[str, Any], headers: dict[str, str] | None = None) -> httpx2.Response:
        content = json.dumps(message, separators=(",", ":")).encode()
        response = await self._http.post(self._url, content=content, headers=headers)
        if not response.is_success:
            raise SystemExit(f"The server answered {response.status_code}: {response.text[:300]}")
        return response


def _body(response: httpx2.Response) -> bytes:
    """Return the JSON body, or the data of the last event."""
    if not response.headers["content-type"].startswith("text/event-stream"):
        return response.content
    return [line for line in response.content.splitlines() if line.startswith(b"data:")][-1][5:]
