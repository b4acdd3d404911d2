"""Tools with behavior that a client must handle: slow, failing, heavy, fatal, logging.

Some change the server itself and trigger notifications. The logging tools send a few messages at every
level, or a flood of notifications that bypasses the SDK.
"""

from __future__ import annotations

import json
import os
import sys

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from inspector.demo.everything.argument_tools import STRING
from inspector.demo.everything.state import COUNTER_URI, LEVELS, State
from inspector.demo.toolbox import (
    Call,
    DemoTool,
    Outcome,
    Schema,
    Toolbox,
    failure,
    number_schema,
    schema,
    text,
    tool,
)
from inspector.demo.wire import Wire

CHANGES = types.ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
DESTROYS = types.ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)
_CHUNK = 500  # lines per write: keeps a pipe busy, and a cancellation is noticed soon


async def _fail(call: Call) -> Outcome:
    return failure(call.arguments["message"])


async def _protocol_error(call: Call) -> Outcome:
    raise MCPError(call.arguments["code"], call.arguments["message"], {"demo": True})


async def _slow(call: Call) -> Outcome:
    """Sleep in steps.

    `notifications/cancelled` ends it at the next sleep, through the SDK's cancel scope.
    """
    seconds, steps = call.arguments["seconds"], call.arguments["steps"]
    for step in range(1, steps + 1):
        await anyio.sleep(seconds / steps)
        await call.session.report_progress(step, steps, f"Step {step} of {steps}")
    return text(f"Done: {steps} steps in {seconds:g} s.")


async def _large_text(call: Call) -> Outcome:
    line = "The quick brown fox jumps over the lazy dog. 0123456789 ......\n"
    size = int(call.arguments["megabytes"] * 1024 * 1024)
    return text((line * (size // len(line) + 1))[:size])


async def _write_stderr(call: Call) -> Outcome:
    lines = call.arguments["lines"]
    for number in range(1, lines + 1):
        print(f"{call.arguments['text']} ({number} of {lines})", file=sys.stderr, flush=True)
    return text(f"Wrote {lines} lines to stderr.")


async def _crash(call: Call) -> Outcome:
    print(call.arguments["message"], file=sys.stderr, flush=True)
    os._exit(call.arguments["code"])


def _label(default: str, description: str) -> Schema:
    return {**STRING, "default": default, "description": description}


def behavior_tools() -> list[DemoTool]:
    """Return the tools that need nothing but their arguments."""
    return [
        tool(
            "fail",
            "Fail",
            "Returns a tool error (isError).",
            _fail,
            schema(message=_label("The tool failed.", "Error message to return.")),
        ),
        tool(
            "protocol_error",
            "Protocol error",
            "Returns a JSON-RPC error instead of a result.",
            _protocol_error,
            schema(
                code=number_schema(-32603, -32768, 32767, "JSON-RPC error code."),
                message=_label("Deliberate protocol error", "The error message."),
            ),
        ),
        tool(
            "slow",
            "Slow",
            "Takes a while, reports progress and can be cancelled.",
            _slow,
            schema(
                seconds=number_schema(5, 0, 3600, "Duration in seconds.", "number"),
                steps=number_schema(10, 1, 10000, "Number of progress notifications."),
            ),
        ),
        tool(
            "large_text",
            "Large text",
            "Returns the given number of mebibytes of text in one result.",
            _large_text,
            schema(megabytes=number_schema(5, 0.001, 200, "Size of the text in mebibytes.", "number")),
        ),
        tool(
            "write_stderr",
            "Write to stderr",
            "Writes lines to the server's stderr.",
            _write_stderr,
            schema(
                lines=number_schema(3, 1, 10000, "Number of lines."),
                text=_label("A line for the console", "Text of each line."),
            ),
        ),
        tool(
            "crash",
            "Crash",
            "Exits the server process immediately, without a response.",
            _crash,
            schema(
                code=number_schema(3, 0, 255, "The exit code."),
                message=_label(
                    "Fatal: crashing because I was asked to.", "Text written to stderr before exiting."
                ),
            ),
            annotations=DESTROYS,
        ),
    ]


def changing_tools(state: State, toolbox: Toolbox) -> list[DemoTool]:
    """Return the tools that change the server itself and so trigger notifications."""

    async def bump(call: Call) -> Outcome:
        state.counter += call.arguments["by"]
        await state.announce_update(COUNTER_URI)
        return text(f"The counter is {state.counter}.")

    async def surprise(call: Call) -> Outcome:
        return text("You found the tool that was not there before.")

    bonus = tool("bonus", "Bonus", "Added and removed by toggle_bonus_tool.", surprise)

    async def toggle(call: Call) -> Outcome:
        is_present = toolbox.toggle(bonus)
        await state.announce_tools(call.context)
        return text(f"The tool 'bonus' is {'listed' if is_present else 'no longer listed'}.")

    by = schema(by=number_schema(1, -1000, 1000, "Amount to add to the counter."))
    return [
        tool("bump_counter", "Bump the counter", f"Changes {COUNTER_URI}.", bump, by, annotations=CHANGES),
        tool(
            "toggle_bonus_tool",
            "Toggle a tool",
            "Adds or removes the tool 'bonus', which changes the tool list.",
            toggle,
            annotations=CHANGES,
        ),
    ]


def logging_tools(state: State, wire: Wire | None) -> list[DemoTool]:
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
        tool("log", "Log", "Sends log messages, cycling through the levels.", log, schema(count=count)),
        tool(
            "flood",
            "Flood",
            "Sends log notifications as fast as the connection accepts them and returns the count.",
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
