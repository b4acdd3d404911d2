"""A fast stdio MCP server with the standard library only, so that the client is measured.

Tools: `echo` returns its message, `flood` sends `count` log notifications of `size` characters and
returns the count, `line` returns a text of `size` characters, `lines` one with a newline in every 1,024.
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


TOOLS: dict[str, Callable[[dict[str, Any]], str]] = {
    "echo": echo,
    "flood": flood,
    "line": line,
    "lines": lines,
}


def response(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        capabilities: dict[str, Any] = {"tools": {}, "logging": {}}
        info = {"name": "bench-echo", "version": "1"}
        revision = params["protocolVersion"]
        return {"protocolVersion": revision, "capabilities": capabilities, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": _SCHEMA} for name in TOOLS]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": TOOLS[params["name"]](params.get("arguments", {}))}]}
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
