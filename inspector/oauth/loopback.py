"""Loopback HTTP listener for the redirect of a login (RFC 8252, section 7.3).

It binds to loopback addresses only, accepts one path, and responds with a fixed page: nothing from a
request is ever written back. Other clients of the port (other pages, other programs) get an error, are
listed, and have no effect on the login.
"""

from __future__ import annotations

import asyncio
import errno
import re
import socket
import sys
from collections import deque
from types import TracebackType
from typing import NamedTuple, Self

from inspector.base.clock import Clock
from inspector.base.errors import ConfigError, UserError
from inspector.base.json.values import quote_value
from inspector.oauth.callback import OTHER_PATH, CallbackWaiter, masked_target
from inspector.transport.task_scope import TaskScope

# RFC 8252, section 8.3: unlike an IP literal, `localhost` may resolve to something else.
HOSTS = ("127.0.0.1", "::1", "localhost")
DEFAULT_PATH = "/callback"
_PATH = re.compile(r"/[A-Za-z0-9._~/-]{0,200}")
_MAX_HEAD_LENGTH = 8 * 1024
_MAX_DISCARDED = 4 * 1024 * 1024
_CONNECTION_TIMEOUT = 5.0
_MAX_CONNECTIONS = 32
_MAX_ATTEMPTS = 8
_REQUEST_LINE = re.compile(r"([A-Z]{1,20}) (/[\x21-\x7e]*) HTTP/1\.[01]")


class _Request(NamedTuple):
    method: str
    target: str
    hosts: list[str]


class _Reply(NamedTuple):
    status: str
    refusal: str = ""
    shown: str = ""
    response: str | None = None


class LoopbackListener:
    """HTTP listener for the redirect, from `open` to `close` or as an async context manager.

    The callback is in `wait`. Open it before the authorization URL is built: `wait.redirect_uri` contains
    the actual port. A fixed `port` is for clients registered with one; 0 takes any free port.
    """

    def __init__(
        self, clock: Clock, *, host: str = "127.0.0.1", port: int = 0, path: str = DEFAULT_PATH
    ) -> None:
        """Raises ConfigError for a non-loopback host or anything not valid in a URL."""
        _check(host, port, path)
        self._clock = clock
        self._host = host
        self._port = port
        self._path = path
        self._hosts: tuple[str, ...] = ()  # accepted values of the Host header
        self._wait: CallbackWaiter | None = None
        self._servers: list[asyncio.Server] = []
        self._tasks = TaskScope()
        self._connections: deque[asyncio.Task[None]] = deque()

    @property
    def wait(self) -> CallbackWaiter:
        assert self._wait is not None, "open it first"
        return self._wait

    async def open(self) -> None:
        """Bind the port. Raises UserError if that fails."""
        sockets = _bind(self._host, self._port)
        self._port = sockets[0].getsockname()[1]
        host = f"[{self._host}]" if ":" in self._host else self._host
        self._hosts = (f"{host}:{self._port}", *((host,) if self._port == 80 else ()))
        self._wait = CallbackWaiter(f"http://{self._hosts[0]}{self._path}", self._clock)
        try:
            for each in sockets:
                server = await asyncio.start_server(
                    self._on_connection, sock=each, limit=_MAX_HEAD_LENGTH, start_serving=False
                )
                self._servers.append(server)
                await server.start_serving()
        except BaseException:  # cancelled: the caller has nothing to close yet
            await self.close()
            for each in sockets:
                each.close()
            raise

    async def close(self) -> None:
        """Free the port and end the wait, if any. Safe to call at any time."""
        for server in self._servers:
            server.close()
        await self._tasks.close()
        if self._wait is not None:
            self._wait.cancel()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _on_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Drop the oldest connection over the limit, so that idle ones do not block the callback."""
        running = deque(task for task in self._connections if not task.done())
        while len(running) >= _MAX_CONNECTIONS:
            running.popleft().cancel()
        running.append(self._tasks.spawn("login callback", self._serve(reader, writer)))
        self._connections = running

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        response: str | None = None
        try:
            async with asyncio.timeout(_CONNECTION_TIMEOUT):
                reply = await self._check_head(reader)
                if reply is not None:
                    response = reply.response
                    self.wait.record(reply.shown, reply.refusal)
                    await _write_page(reader, writer, reply)
                writer.close()
        except (OSError, TimeoutError):
            pass  # the client disconnected or is too slow
        finally:
            if not writer.is_closing():
                writer.transport.abort()
            # Only now: the waiting login closes the listener, and the browser should get its page first.
            if response is not None:
                self.wait.deliver(response)

    async def _check_head(self, reader: asyncio.StreamReader) -> _Reply | None:
        """Read and check a request; None if nothing was sent: browsers preconnect."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return _Reply("431 Request Header Fields Too Large", "It is too long.", "oversized request")
        except asyncio.IncompleteReadError as exc:
            return (
                _Reply("400 Bad Request", "It is incomplete.", "incomplete request") if exc.partial else None
            )
        request = _read_head(head)
        if request is None:
            return _Reply("400 Bad Request", "It is not a valid HTTP request.", "malformed request")
        return self._check(request)

    def _check(self, request: _Request) -> _Reply:
        shown = masked_target(request.method, request.target)
        path, _, query = request.target.partition("?")
        # DNS rebinding: a page on a name that resolves to this machine is detected by its Host header.
        if len(request.hosts) != 1 or request.hosts[0] not in self._hosts:
            return _Reply("403 Forbidden", f"Its Host header is not {self._hosts[0]}.", shown)
        if path != self._path:
            return _Reply("404 Not Found", OTHER_PATH, shown)
        if request.method != "GET":
            return _Reply("405 Method Not Allowed", "It is not a GET request.", shown)
        refusal = self.wait.claim(f"?{query}")
        if refusal:
            return _Reply("400 Bad Request", refusal, shown)
        return _Reply("200 OK", shown=shown, response=f"?{query}")


def _read_head(head: bytes) -> _Request | None:
    first, *lines = head[:-4].decode("latin-1").split("\r\n")
    match = _REQUEST_LINE.fullmatch(first)
    if match is None:
        return None
    hosts = []
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or name != name.strip():
            return None
        if name.lower() == "host":
            hosts.append(value.strip().lower())
    return _Request(match[1], match[2], hosts)


_PAGE_TEMPLATE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<h1>{title}</h1>
<p>{text}</p>
</html>
"""
_RECEIVED_PAGE = _PAGE_TEMPLATE.format(
    title="Login response received",
    text="You can close this tab. MCP Lens shows whether the login succeeded.",
)
_REJECTED_PAGE = _PAGE_TEMPLATE.format(
    title="Unexpected callback",
    text="MCP Lens is still waiting for the login. Details are in MCP Lens.",
)
_HEADERS = (
    "Content-Type: text/html; charset=utf-8",
    "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options: nosniff",
    "Cache-Control: no-store",
    "Referrer-Policy: no-referrer",
    "Cross-Origin-Opener-Policy: same-origin",
    "Connection: close",
)


async def _write_page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, reply: _Reply) -> None:
    body = (_REJECTED_PAGE if reply.response is None else _RECEIVED_PAGE).encode()
    allow = ("Allow: GET",) if reply.status.startswith("405") else ()
    lines = (f"HTTP/1.1 {reply.status}", *_HEADERS, *allow, f"Content-Length: {len(body)}", "", "")
    writer.write("\r\n".join(lines).encode() + body)
    await writer.drain()
    writer.write_eof()
    if reply.response is None:
        await _discard_rest(reader)


async def _discard_rest(reader: asyncio.StreamReader) -> None:
    """Read the rest: closing with unread data would reset the connection and lose the page."""
    left = _MAX_DISCARDED
    while left > 0 and (piece := await reader.read(64 * 1024)):
        left -= len(piece)


def _check(host: str, port: int, path: str) -> None:
    if host not in HOSTS:
        raise ConfigError(
            f"The redirect URI cannot use the host {quote_value(host)}: the callback listener only works on "
            "this machine.",
            f"Use {', '.join(HOSTS[:-1])} or {HOSTS[-1]}.",
        )
    if not 0 <= port <= 65535:
        raise ConfigError(
            f"{port} is not a valid port.", "Use a port from 1024 to 65535, or 0 for any free port."
        )
    if not _PATH.fullmatch(path):
        raise ConfigError(
            f"{quote_value(path)} is not a valid callback path.", "Use a path such as /callback."
        )


def _bind(host: str, port: int) -> list[socket.socket]:
    """Bind the sockets; both addresses for `localhost`, as browsers may use either.

    Raises UserError.
    """
    if host != "localhost":
        return [_bind_one(host, port)]
    for _ in range(_MAX_ATTEMPTS):
        first = _bind_one("127.0.0.1", port)
        try:
            return [first, _bind_one("::1", first.getsockname()[1])]
        except _PortInUse:
            first.close()
            if port:
                raise
        except UserError:  # no such address on this machine
            return [first]
    raise _PortInUse(
        "No port is free on both localhost addresses (127.0.0.1 and ::1).", "Use 127.0.0.1 instead."
    )


class _PortInUse(UserError):
    """The port is in use."""


def _bind_one(host: str, port: int) -> socket.socket:
    try:
        listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    except OSError as exc:
        raise UserError(f"Could not listen on {host}: {exc.strerror}.", "Use 127.0.0.1.") from exc
    try:
        if sys.platform == "win32":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            # On POSIX this does not share a port that is being listened on; without it, a port used by a
            # login would be blocked for a minute afterwards (TIME_WAIT).
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_MAX_CONNECTIONS)
    except OSError as exc:
        listener.close()
        raise _bind_error(host, port, exc) from exc
    return listener


def _bind_error(host: str, port: int, error: OSError, platform: str = sys.platform) -> UserError:
    if error.errno == errno.EADDRINUSE:
        return _PortInUse(
            f"Port {port} on {host} is in use by another program, so MCP Lens cannot receive the login "
            "callback.",
            "Close that program (it may be a login in another window), or use another port.",
        )
    if error.errno == errno.EACCES and platform == "win32":
        return UserError(
            f"Windows does not allow MCP Lens to use port {port}: it is probably in a range that is reserved "
            "for Hyper-V, WSL or Docker.",
            "Use a port outside of the ranges that “netsh interface ipv4 show excludedportrange "
            "protocol=tcp” lists.",
        )
    if error.errno == errno.EACCES:
        return UserError(f"MCP Lens is not allowed to use port {port}.", "Use a port from 1024 to 65535.")
    return UserError(f"Could not listen on {host}: {error.strerror}.", "Use 127.0.0.1.")
