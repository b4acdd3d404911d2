"""A stdio MCP server with very many tools in pages, and an empty last page.

Standard library only, with prepared pages, so that the client is measured. Run it as `python -m
tests.bench.pageserver [TOOLS [PAGE_SIZE]]`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

_SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "What it is about."},
        "depth": {"type": "integer", "minimum": 0, "default": 1},
        "mode": {"enum": ["fast", "careful"]},
    },
    "required": ["path"],
}
_DESCRIPTION = "Does one of very many things, and says so in a sentence of the usual length."


def pages(tools: int, size: int) -> dict[str, bytes]:
    """Return the result of each page by its cursor; the first page has none."""
    written: dict[str, bytes] = {}
    for start in range(0, tools + 1, size):
        page: dict[str, Any] = {"tools": [_tool(number) for number in range(start, min(start + size, tools))]}
        if start + size <= tools:
            page["nextCursor"] = str(start + size)
        written[str(start) if start else ""] = json.dumps(page).encode()
    return written


def _tool(number: int) -> dict[str, Any]:
    return {"name": f"tool_{number}", "description": _DESCRIPTION, "inputSchema": _SCHEMA}


def _initialized(params: dict[str, Any]) -> bytes:
    info = {"name": "bench-pages", "version": "1"}
    revision = params["protocolVersion"]
    return json.dumps(
        {"protocolVersion": revision, "capabilities": {"tools": {}}, "serverInfo": info}
    ).encode()


def main() -> None:
    tools, size = (int(word) for word in (*sys.argv[1:], *("10000", "100")[len(sys.argv) - 1 :]))
    written = pages(tools, size)
    write, flush = sys.stdout.buffer.write, sys.stdout.buffer.flush
    for raw in sys.stdin.buffer:
        message = json.loads(raw)
        if "id" not in message:
            continue
        params = message.get("params") or {}
        is_list = message["method"] == "tools/list"
        result = written[params.get("cursor", "")] if is_list else _initialized(params)
        write(b'{"jsonrpc":"2.0","id":%d,"result":%s}\n' % (message["id"], result))
        flush()


if __name__ == "__main__":
    main()
