"""Tools that send log notifications: a few at every level, and a flood."""

from __future__ import annotations

import json

import mcp_types as types
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from inspector.demo.everything.state import LEVELS, State
from inspector.demo.toolbox import Call, DemoTool, Outcome, schema, text, tool
from inspector.demo.wire import Wire

_CHUNK = 500
"""Lines written at a time: enough to keep a pipe busy, few enough for a cancellation to be noticed soon."""


def tools(state: State, wire: Wire | None) -> list[DemoTool]:
    async def send(call: Call, level: types.LoggingLevel, logger: str, data: str) -> bool:
        if not state.wants(call.context, level):
            return False
        await call.session.send_log_message(level, data, logger, related_request_id=call.context.request_id)
        return True

    async def log(call: Call) -> Outcome:
        count = call.arguments["count"]
        sent = 0
        for number in range(count):
            level = LEVELS[number % len(LEVELS)]
            sent += await send(call, level, "demo", f"Message {number + 1} of {count}, at level {level}")
        return text(f"Sent {sent} of {count} log messages.")

    async def flood(call: Call) -> Outcome:
        count, size = call.arguments["count"], call.arguments["size"]
        if wire is not None and call.context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            sent = await _flood_raw(wire, count, size) if state.wants(call.context, "info") else 0
        else:
            sent = 0
            for number in range(count):
                sent += await send(call, "info", "flood", _padded(number, size))
        return text(str(sent))

    count = {"type": "integer", "default": 8, "minimum": 0, "maximum": 10_000}
    return [
        tool("log", "Log", "Sends log messages, one level after the other.", log, schema(count=count)),
        tool(
            "flood",
            "Flood",
            "Sends log notifications as fast as the connection takes them; returns how many.",
            flood,
            schema(
                count={"type": "integer", "default": 1000, "minimum": 0, "maximum": 10_000_000},
                size={"type": "integer", "default": 100, "minimum": 0, "maximum": 1_000_000},
            ),
        ),
    ]


async def _flood_raw(wire: Wire, count: int, size: int) -> int:
    """Write past the SDK, which makes notifications far more slowly than a client can take them."""
    for start in range(0, count, _CHUNK):
        numbers = range(start, min(start + _CHUNK, count))
        await wire.write_lines(b"".join(_notification(_padded(number, size)) for number in numbers))
    return count


def _notification(data: str) -> bytes:
    params = {"level": "info", "logger": "flood", "data": data}
    message = {"jsonrpc": "2.0", "method": "notifications/message", "params": params}
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def _padded(number: int, size: int) -> str:
    return f"{number} ".ljust(size, ".")
