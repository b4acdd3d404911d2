"""The process's stdout as the SDK writes to it, with access for raw lines."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Pipe(io.FileIO):
    """A stdout that ends the process when its reader is gone.

    Raising would not do: the SDK waits for its reader thread, which waits for a stdin that may stay open.
    """

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError:  # BrokenPipeError; on Windows often a plain OSError.
            os._exit(0)


class Wire:
    """Owns the stdout this process was started with.

    Afterwards, descriptor 1 is redirected to stderr, so that a stray print cannot end up between two
    messages. Every write consists of whole lines in one call to a `BufferedWriter`, which locks: messages
    and raw lines are never interleaved.
    """

    def __init__(self) -> None:
        self._buffer = io.BufferedWriter(_Pipe(os.dup(1), "wb"))
        os.dup2(2, 1)
        self.text = anyio.wrap_file(io.TextIOWrapper(self._buffer, encoding="utf-8", newline="\n"))

    async def write_lines(self, lines: bytes) -> None:
        """Write complete lines unchanged, bypassing the SDK. Returns when the pipe has taken them."""
        await anyio.to_thread.run_sync(self._write, lines)

    def _write(self, lines: bytes) -> None:
        self._buffer.write(lines)
        self._buffer.flush()
