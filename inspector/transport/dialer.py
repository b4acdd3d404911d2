"""TCP connections for the HTTP client, with name resolution timed separately.

Imports the HTTP library, which takes 100 ms; so it is imported only by `network.make_client`.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest
from typing import Any

import httpcore2

from inspector.transport.network import CURRENT, CheckAddresses
from inspector.transport.socket_stream import SocketBackend
from inspector.transport.task_scope import TaskScope

# RFC 8305, section 5: delay before the next address is tried in parallel.
_ATTEMPT_DELAY = 0.25
# Joining a longer body would only copy it: it fills separate packets anyway.
_MAX_JOINED = 64 * 1024


class Dialer(httpcore2.AsyncNetworkBackend):
    """Connects to the first address of a name that accepts; `check` may reject the addresses before."""

    def __init__(self, check: CheckAddresses | None = None) -> None:
        self._inner: httpcore2.AsyncNetworkBackend = SocketBackend()
        self._check = check

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                addresses = await _resolve(host, port)
                if self._check is not None:
                    self._check(host, addresses)
                return JoinedWrites(await self._connect_first(addresses, port))
        except TimeoutError as exc:
            raise httpcore2.ConnectTimeout(str(exc)) from exc
        except OSError as exc:
            raise httpcore2.ConnectError(str(exc)) from exc

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _connect_first(self, addresses: Sequence[str], port: int) -> httpcore2.AsyncNetworkStream:
        """Try the next address when the previous one failed or is slow (RFC 8305)."""
        if len(addresses) == 1:
            return await self._inner.connect_tcp(addresses[0], port)
        untried, scope = deque(addresses), TaskScope()
        running: set[asyncio.Task[httpcore2.AsyncNetworkStream | Exception]] = set()
        failure: Exception = OSError("the host name has no IP address")
        try:
            while untried or running:
                if untried:
                    address = untried.popleft()
                    running.add(scope.spawn(f"connect to {address}", self._attempt(address, port)))
                wait = _ATTEMPT_DELAY if untried else None
                done, running = await asyncio.wait(running, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    outcome = task.result()
                    if isinstance(outcome, httpcore2.AsyncNetworkStream):
                        await _close_others(done - {task})
                        return outcome
                    failure = outcome
            raise failure
        finally:
            await scope.close()

    async def _attempt(self, address: str, port: int) -> httpcore2.AsyncNetworkStream | Exception:
        try:
            return await self._inner.connect_tcp(address, port)
        except httpcore2.NetworkError as exc:
            return exc


class JoinedWrites(httpcore2.AsyncNetworkStream):
    """Sends the head of a POST together with its body.

    The library writes them separately: the server wakes up twice. Over the loopback interface that took a
    tenth of a call.
    """

    def __init__(self, inner: httpcore2.AsyncNetworkStream) -> None:
        self._inner = inner
        self._held = b""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if not self._held and buffer.startswith(b"POST ") and buffer.endswith(b"\r\n\r\n"):
            self._held = buffer  # HTTP/2 frames start differently and are never held
            return
        held, self._held = self._held, b""
        if held and len(buffer) > _MAX_JOINED:
            await self._inner.write(held, timeout)
            held = b""
        await self._inner.write(held + buffer, timeout)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._held:  # the request has no body
            await self.write(b"", timeout)
        return await self._inner.read(max_bytes, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        return JoinedWrites(await self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


async def _close_others(
    tasks: Iterable[asyncio.Task[httpcore2.AsyncNetworkStream | Exception]],
) -> None:
    """Close the other connections: two may have succeeded at the same instant."""
    for task in tasks:
        stream = task.result()
        if isinstance(stream, httpcore2.AsyncNetworkStream):
            await stream.aclose()


async def _resolve(host: str, port: int) -> list[str]:
    """Resolve a name to addresses, alternating between families. Raises socket.gaierror."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        pass
    else:
        return [host]
    watch = CURRENT.get()
    started = watch.now() if watch else 0
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    if watch:
        watch.resolved = (started, watch.now())
    first = found[0][0]
    addresses = [[str(info[4][0]) for info in found if (info[0] == first) is same] for same in (True, False)]
    return [address for address in chain.from_iterable(zip_longest(*addresses)) if address]
