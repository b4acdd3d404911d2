"""Newline framing, as on stdio: bytes in any chunks in, whole lines out."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_LINE_CAP = 256 * 1024 * 1024
_KEPT_OF_OVERLONG = 64 * 1024


@dataclass(frozen=True, slots=True)
class Overlong:
    """A line over the size limit: its start and total length. The rest was discarded."""

    head: bytes
    size: int


class LineFramer:
    """Splits a byte stream at line feeds, in linear time.

    Chunks are joined only when their line ends, so a 50 MB line costs one copy. A carriage return before
    the line feed is dropped (some servers on Windows send it). No other character ends a line.
    """

    def __init__(self, cap: int = DEFAULT_LINE_CAP) -> None:
        self._cap = cap
        self._parts: list[bytes] = []
        self._size = 0
        self._overlong: bytes | None = None

    def feed(self, chunk: bytes) -> list[bytes | Overlong]:
        """Add bytes and return the lines they complete."""
        if b"\n" not in chunk:
            self._keep(chunk)
            return []
        first, *lines = chunk.split(b"\n")
        rest = lines.pop()
        self._keep(first)
        done: list[bytes | Overlong] = [self._finish()]
        if len(chunk) > self._cap:
            done += [self._whole(line) for line in lines]
        else:
            done += [line.removesuffix(b"\r") for line in lines] if b"\r" in chunk else lines
        if rest:
            self._keep(rest)
        return done

    def end(self) -> bytes | Overlong | None:
        """End the stream; return what followed the last line feed, if anything."""
        return self._finish() if self._size else None

    def _whole(self, line: bytes) -> bytes | Overlong:
        """Return a line that came in one chunk, but may exceed the limit."""
        self._keep(line)
        return self._finish()

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._overlong is not None:
            return
        self._parts.append(part)
        if self._size > self._cap:
            self._overlong = b"".join(self._parts)[: min(_KEPT_OF_OVERLONG, self._cap)]
            self._parts.clear()

    def _finish(self) -> bytes | Overlong:
        if self._overlong is not None:
            line: bytes | Overlong = Overlong(self._overlong, self._size)
        else:
            line = b"".join(self._parts).removesuffix(b"\r")
        self._parts.clear()
        self._size = 0
        self._overlong = None
        return line
