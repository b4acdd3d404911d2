"""A fast stdio MCP server with the standard library only, so that the client is measured.

Tools: `echo` returns its message, `flood` sends `count` log notifications of `size` characters and
returns the count, `line` returns a text of `size` characters, `lines` one with a newline in every 1,024,
`storm` sends `count` notifications of `kind` (progress, tools or resources) and returns the count.
Run it as `python -m tests.bench.echoserver`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

_CHUNK = 500
_LINE = 1024
_SCHEMA = {"type": "object"}


def echo(arguments: dict[str, Any]) -> str:
    return str(arguments.get("message", ""))


def flood(arguments: dict[str, Any]) -> str:
    """Send numbered notifications, so that the receiver can check their order."""
    count, size = arguments["count"], arguments["size"]
    params = {"level": "info", "logger": "flood", "data": "%s"}
    message = {"jsonrpc": "2.0", "method": "notifications/message", "params": params}
    line = json.dumps(message) + "\n"
    for start in range(0, count, _CHUNK):
        numbers = range(start, min(start + _CHUNK, count))
        sys.stdout.buffer.write("".join(line % f"{n} ".ljust(size, ".") for n in numbers).encode())
    return str(count)


def line(arguments: dict[str, Any]) -> str:
    return "x" * int(arguments["size"])


def lines(arguments: dict[str, Any]) -> str:
    whole, rest = divmod(int(arguments["size"]), _LINE)
    return ("x" * (_LINE - 1) + "\n") * whole + "x" * rest


def storm(arguments: dict[str, Any]) -> str:
    """Send notifications that each change something in the window."""
    count, kind = int(arguments["count"]), arguments["kind"]
    for start in range(0, count, _CHUNK):
        numbers = range(start, min(start + _CHUNK, count))
        sys.stdout.buffer.write(b"".join(_event(kind, n, count, arguments.get("token")) for n in numbers))
    return str(count)


def _event(kind: str, number: int, count: int, token: object) -> bytes:
    method, params = {
        "progress": (
            "progress",
            {"progressToken": token, "progress": number, "total": count, "message": f"Step {number}"},
        ),
        "tools": ("tools/list_changed", {}),
        "resources": ("resources/list_changed", {}),
    }[kind]
    message = {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params}
    return json.dumps(message).encode() + b"\n"


TOOLS: dict[str, Callable[[dict[str, Any]], str]] = {
    "echo": echo,
    "flood": flood,
    "line": line,
    "lines": lines,
    "storm": storm,
}


def response(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        capabilities: dict[str, Any] = {"tools": {"listChanged": True}, "logging": {}}
        info = {"name": "bench-echo", "version": "1"}
        revision = params["protocolVersion"]
        return {"protocolVersion": revision, "capabilities": capabilities, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": _SCHEMA} for name in TOOLS]}
    if method == "tools/call":
        token = params.get("_meta", {}).get("progressToken")
        text = TOOLS[params["name"]]({"token": token, **params.get("arguments", {})})
        return {"content": [{"type": "text", "text": text}]}
    return {}


def write_answer(id: object, result: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode()


def main() -> None:
    write, flush = sys.stdout.buffer.write, sys.stdout.buffer.flush
    for raw in sys.stdin.buffer:
        message = json.loads(raw)
        if "id" in message:
            result = response(message["method"], message.get("params", {}))
            write(write_answer(message["id"], result) + b"\n")
            flush()


if __name__ == "__main__":
    main()
