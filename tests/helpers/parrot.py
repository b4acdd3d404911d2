"""A stdio server that returns the bytes it received. Standard library only (-I -S).

The response to every line except `initialize` is the line itself, as Latin-1 text: a request by its id, a
batch item by item, text that is not JSON by an error without an id. Notifications get no response.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def response(message: dict[str, Any], line: bytes) -> dict[str, Any] | None:
    if message.get("method") == "initialize":
        version = message["params"]["protocolVersion"]
        info = {"name": "parrot", "version": "1"}
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}
    if "id" not in message or "method" not in message:
        return None
    return {"jsonrpc": "2.0", "id": message["id"], "result": {"got": line.decode("latin-1")}}


def reply(line: bytes) -> object:
    try:
        message = json.loads(line)
    except ValueError:
        error = {"code": -32700, "message": "Parse error", "data": line.decode("latin-1")}
        return {"jsonrpc": "2.0", "id": None, "error": error}
    if isinstance(message, list):
        return [responded for item in message if (responded := response(item, line))] or None
    return response(message, line) if isinstance(message, dict) else None


def main() -> None:
    for line in sys.stdin.buffer:
        if (reported := reply(line.removesuffix(b"\n"))) is not None:
            sys.stdout.buffer.write(json.dumps(reported).encode() + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
