"""A stdio server that a test writes and edits: its tools return what the file says."""

from __future__ import annotations

import sys
from pathlib import Path

from inspector.config.servers.entries import StdioEntry

_CODE = """
import json, os, sys

ANSWERS = {answers!r}

def result(method, params):
    if method == "initialize":
        info = dict(name="edited", version="1")
        return dict(protocolVersion="2025-11-25", capabilities=dict(tools={{}}), serverInfo=info)
    if method == "tools/list":
        return dict(tools=[dict(name=name, inputSchema=dict(type="object")) for name in ANSWERS])
    name = params.get("name")
    if name not in ANSWERS:
        return None
    if ANSWERS[name] == "never":
        sys.stdin.buffer.read()
    return dict(content=[dict(type="text", text=str(ANSWERS[name]))], isError=ANSWERS[name] == "wrong")

for line in sys.stdin.buffer:
    message = json.loads(line)
    if "id" in message and "method" in message:
        found = result(message["method"], message.get("params", {{}}))
        error = dict(code=-32602, message="No such tool")
        body = dict(result=found) if found is not None else dict(error=error)
        os.write(1, json.dumps(dict(jsonrpc="2.0", id=message["id"], **body)).encode() + b"\\n")
"""


def write_server(folder: Path, **answers: str | int) -> Path:
    """Write the server with these tools and results, atomically."""
    path = folder / "server.py"
    written = folder / "server.being-written"
    written.write_text(_CODE.format(answers=answers))
    return written.replace(path)


def edited_entry(folder: Path, *watch: str, name: str = "edited") -> StdioEntry:
    return StdioEntry(
        name=name,
        command=sys.executable,
        args=("-I", "-S", str(folder / "server.py")),
        cwd=str(folder),
        watch=watch,
        era="2025-11-25",
    )
