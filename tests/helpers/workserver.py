"""A stdio server whose tools use CPU, start children, write output or crash.

    workserver.py [FILE]        a FILE that exists is kept open

Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

Args = dict[str, Any]
_PYTHON = (sys.executable, "-I", "-S", "-c")
_children: list[subprocess.Popen[bytes]] = []


def _burn(ms: int) -> None:
    end = time.process_time() + ms / 1000
    while time.process_time() < end:
        pass


def _start(code: str) -> subprocess.Popen[bytes]:
    child = subprocess.Popen([*_PYTHON, code], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    _children.append(child)
    return child


def nothing(args: Args) -> None:
    pass


def burn(args: Args) -> None:
    _burn(args["ms"])


def burn_in_child(args: Args) -> None:
    code = f"import time\nend = {args['ms'] / 1000}\nwhile time.process_time() < end: pass\nprint(flush=True)"
    _start(code).wait()


def family(args: Args) -> None:
    """Start a child that starts a child; each reports when it runs."""
    inner = "import time; print(flush=True); time.sleep(600)"
    words = [*_PYTHON, inner]
    _start(
        "import subprocess, time\n"
        f"child = subprocess.Popen({words!r}, stdout=subprocess.PIPE)\n"
        "child.stdout.readline(); print(flush=True); time.sleep(600)"
    )


def orphan(args: Args) -> None:
    """Start a grandchild whose parent ends immediately."""
    inner = "import time; print(flush=True); time.sleep(600)"
    words = [*_PYTHON, inner]
    _start(
        "import subprocess\n"
        f"child = subprocess.Popen({words!r}, stdout=subprocess.PIPE)\n"
        "child.stdout.readline(); print(flush=True)"
    ).wait()


def chatter(args: Args) -> None:
    for number in range(args["stderr"]):
        os.write(2, b"note %d\n" % number)
    time.sleep(0.05)  # the two pipes are read in no order that we could know
    for number in range(args["stray"]):
        os.write(1, b"stray %d\n" % number)


def crash(args: Args) -> None:
    os.write(2, b"about to crash\n")
    os.kill(os.getpid(), getattr(signal, "SIGKILL", 9))  # the exit code on Windows


_TOOLS = {each.__name__: each for each in (nothing, burn, burn_in_child, family, orphan, chatter, crash)}


def _result(method: str, params: Args) -> Args:
    if method == "initialize":
        version = params["protocolVersion"]
        info = {"name": "work", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        schema = {"type": "object"}
        return {"tools": [{"name": name, "inputSchema": schema} for name in _TOOLS]}
    if method == "tools/call":
        _TOOLS[params["name"]](params.get("arguments", {}))
        return {"content": [{"type": "text", "text": "done"}]}
    return {}


def main() -> None:
    with contextlib.ExitStack() as kept:
        for word in sys.argv[1:]:
            if os.path.exists(word):
                kept.enter_context(Path(word).open())
        for line in sys.stdin.buffer:
            message = json.loads(line)
            if "id" in message and "method" in message:
                result = _result(message["method"], message.get("params", {}))
                text = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
                os.write(1, text.encode() + b"\n")


if __name__ == "__main__":
    main()
