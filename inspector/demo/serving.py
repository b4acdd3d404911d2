"""Runs an SDK server in this process: on stdio until stdin closes, or on loopback HTTP."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPDeprecationWarning
from starlette.types import ASGIApp

from inspector.demo.servers import Builder
from inspector.demo.wire import Wire

HOST = "127.0.0.1"

MakeApp = Callable[[str], ASGIApp]
"""Builds the app to serve at an origin."""


def serve_stdio(build: Builder) -> int:
    """Serve on stdin and stdout until stdin ends.

    `Wire` ends the process if stdout is no longer read.
    """
    _silence_warnings()
    wire = Wire()
    anyio.run(_run_stdio, build(wire), wire)
    return 0


async def _run_stdio(server: Server[Any], wire: Wire) -> None:
    async with stdio_server(stdout=wire.text) as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())


def _listen(port: int) -> socket.socket:
    """Create a listening socket marked as TCP: asyncio sets TCP_NODELAY only on such sockets."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform == "win32":  # On Windows, SO_REUSEADDR would let another process take over our port.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen()
    except OSError:
        listener.close()
        raise
    return listener


def serve_http(build: Builder, port: int, *, until_eof: bool) -> int:
    """Serve Streamable HTTP at /mcp on the loopback interface; port 0 takes a free one.

    The SDK checks Host and Origin against loopback names, which keeps a web page from reaching the server
    through DNS rebinding.
    """
    return serve_app(lambda origin: build(None).streamable_http_app(host=HOST), port, until_eof=until_eof)


def serve_app(make: MakeApp, port: int, *, until_eof: bool) -> int:
    """Serve an app that is created once its origin is known and has its MCP endpoint at /mcp."""
    _silence_warnings()
    try:
        listener = _listen(port)
    except OSError as exc:
        print(f"Could not listen on {HOST}:{port}: {exc.strerror}. Choose another --port.", file=sys.stderr)
        return 2
    origin = f"http://{HOST}:{listener.getsockname()[1]}"
    print(f"listening on {origin}/mcp", file=sys.stderr, flush=True)
    if until_eof:
        threading.Thread(target=_exit_at_eof, name="until-eof", daemon=True).start()
    config = uvicorn.Config(make(origin), log_level="error", access_log=False, lifespan="on")
    anyio.run(_Uvicorn(config).serve, [listener])
    return 0


class _Uvicorn(uvicorn.Server):
    """uvicorn without signal handlers.

    Its own handler waits for open event streams to finish, which clients keep open indefinitely. The
    default action ends the process at once, and the kernel closes the connections.
    """

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _exit_at_eof() -> None:
    with contextlib.suppress(OSError):  # Without a stdin there is nothing to wait for.
        while os.read(0, 4096):
            pass
    os._exit(0)


def _silence_warnings() -> None:
    """Suppress the stack trace at Ctrl+C and warnings about features deprecated in 2026-07-28."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    warnings.filterwarnings("ignore", category=MCPDeprecationWarning)
