"""The command line as a child process, and servers for it to connect to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CLI = [sys.executable, "-P", "-m", "inspector"]
FAULTY = ["--", sys.executable, "-P", "-m", "inspector.demo", "faulty"]


def run(
    *words: str, stdin: str = "", env: dict[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command line to its end."""
    return subprocess.run(
        [*CLI, *words],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={**os.environ, **(env or {})},
        cwd=cwd,
    )


def script(body: str) -> list[str]:
    """Return a server command that runs this Python code, which has `send` and `requests`."""
    return ["--", sys.executable, "-c", _PRELUDE + body]


_PRELUDE = """
import json, os, subprocess, sys

def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def requests(**results):
    '''Answer the handshake and what has a result here; give every other request.

    `server/discover` is refused at once: without an answer, it would wait for its timeout.
    '''
    info = {"name": "script", "version": "1"}
    results["initialize"] = {
        "protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info
    }
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") in results:
            send({"id": message["id"], "result": results[message["method"]]})
        elif message.get("method") == "server/discover":
            send({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
        elif "id" in message:
            yield message

"""
