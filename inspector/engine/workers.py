"""Worker process for work that grows with message size.

Parsing 50 MB of JSON holds the GIL for half a second; on a thread that would freeze the window. Small
messages (`INLINE_LIMIT`) are handled in place, as a process costs more. The process starts with the first
large message, runs one function at a time, and exits when its stdin closes.
"""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import struct
import sys
from collections import deque
from collections.abc import Callable
from typing import TypeVar, cast

from inspector.base.errors import UserError
from inspector.transport.orphan_guard import watch_helper
from inspector.transport.programs import spawn_options
from inspector.transport.task_scope import shielded

T = TypeVar("T")

INLINE_LIMIT = 128 * 1024
_LENGTH = struct.Struct(">Q")
_SLICE = 256 * 1024


class Worker:
    """Runs functions in another process. `run` returns the function's result wherever it ran."""

    def __init__(self, time_limit: float = 60.0, work: str = "Parsing the message") -> None:
        self._time_limit = time_limit
        self._work = work  # start of a sentence about the work
        self._process: asyncio.subprocess.Process | None = None
        self._starting: asyncio.Future[asyncio.subprocess.Process] | None = None
        self._lock = asyncio.Lock()
        self._ending = asyncio.Lock()
        self._is_closed = False

    @property
    def pid(self) -> int | None:
        """Pid of the other process, while it runs."""
        return self._process.pid if self._process else None

    async def run(self, function: Callable[[bytes], T], data: bytes, *, separate: bool = False) -> T:
        """Run a function; small inputs run inline.

        `separate` is for work whose duration does not depend on its size: always in the other process, with
        the time limit.
        """
        if len(data) <= INLINE_LIMIT and not separate:
            return function(data)
        async with self._lock:
            try:
                async with asyncio.timeout(self._time_limit):
                    return cast(T, await self._request(f"{function.__module__}:{function.__name__}", data))
            except TimeoutError:
                await self._end()
                raise UserError(f"{self._work} took more than {self._time_limit:g} s.") from None
            except (OSError, asyncio.IncompleteReadError, EOFError) as exc:
                await self._end()
                raise UserError("The process that parses large messages exited.", "Try again.") from exc
            except asyncio.CancelledError:
                await self._end()  # its response would be taken for the next one's
                raise

    async def close(self) -> None:
        """End the process and start no other; callers waiting for their turn get an error."""
        self._is_closed = True
        await self._end()

    async def _end(self) -> None:
        """End the process, if any. Returns when it has ended, also if another task is ending it."""
        await shielded(self._kill())

    async def _kill(self) -> None:
        async with self._ending:
            starting, self._starting = self._starting, None
            if starting is not None:
                with contextlib.suppress(OSError):  # raised where it was started
                    self._process = await starting
            process, self._process = self._process, None
            if process is None:
                return
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            # asyncio releases the process only when its pipes are closed, and would complain if the loop were
            # closed before. If another task is already reading, leave it to that one.
            assert process.stdout is not None
            with contextlib.suppress(RuntimeError):
                await process.stdout.read()

    async def _request(self, function: str, data: bytes) -> object:
        process = await self._require_process()
        assert process.stdin is not None
        assert process.stdout is not None
        name = function.encode()
        process.stdin.write(_LENGTH.pack(len(name)) + name + _LENGTH.pack(len(data)))
        # In slices: writing 50 MB at once blocked all our threads for a tenth of a second.
        with memoryview(data) as view:
            for start in range(0, len(view), _SLICE):
                process.stdin.write(view[start : start + _SLICE])
                await process.stdin.drain()
        (length,) = _LENGTH.unpack(await process.stdout.readexactly(_LENGTH.size))
        pieces: deque[bytes] = deque()
        while length:
            pieces.append(await process.stdout.readexactly(min(_SLICE, length)))
            length -= len(pieces[-1])
        # Our own process and classes: its pickles can be trusted.
        return pickle.load(_Pieces(pieces))  # noqa: S301

    async def _require_process(self) -> asyncio.subprocess.Process:
        if self._process is None and not self._is_closed:
            # Shielded: asyncio leaves the pipes open when the start of a process is cancelled.
            self._starting = asyncio.get_running_loop().create_task(_start())
            self._process = await asyncio.shield(self._starting)
            self._starting = None
        if self._is_closed or self._process is None:  # possibly closed while starting
            await self._end()
            raise UserError("Large messages are no longer parsed: MCP Lens is closing.")
        return self._process


async def _start() -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        "inspector.engine.workers",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=4 * _SLICE,  # small buffer: growing it copies all of it
        **spawn_options(),
    )
    watch_helper(process.pid)
    return process


class _Pieces:
    """File object for unpickling that copies large values a slice at a time.

    In one piece, as with `pickle.loads`, no other thread could run meanwhile.
    """

    def __init__(self, pieces: deque[bytes]) -> None:
        self._pieces = pieces
        self._at = 0  # offset in the first piece

    def readinto(self, target: bytearray | memoryview) -> int:
        with memoryview(target) as view:
            filled = 0
            while filled < len(view) and self._pieces:
                part = self._take(len(view) - filled)
                view[filled : filled + len(part)] = part
                filled += len(part)
            return filled

    def read(self, count: int) -> bytes:
        data = bytearray(count)
        return bytes(data[: self.readinto(data)])

    def readline(self) -> bytes:
        """Unused: only protocol 0 pickles have lines."""
        raise NotImplementedError

    def _take(self, maximum: int) -> bytes:
        first = self._pieces[0]
        part = first[self._at : self._at + maximum]
        self._at += len(part)
        if self._at == len(first):
            self._pieces.popleft()
            self._at = 0
        return part


def _serve() -> None:
    """Main loop of the other process: function name and bytes in, pickled value out, until EOF."""
    import importlib

    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while head := source.read(_LENGTH.size):
        module, _, name = source.read(_LENGTH.unpack(head)[0]).decode().partition(":")
        (length,) = _LENGTH.unpack(source.read(_LENGTH.size))
        value = getattr(importlib.import_module(module), name)(source.read(length))
        response = pickle.dumps(value)
        sink.write(_LENGTH.pack(len(response)) + response)
        sink.flush()


if __name__ == "__main__":
    _serve()
