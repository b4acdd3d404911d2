"""Unpacking of an answer that came packed, although we ask for it plain.

A few bytes can unpack to gigabytes, so nothing is unpacked in one go: whoever reads gets pieces of a
bounded size, counts them, and stops when it has seen enough.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

_PIECE = 1024 * 1024
_ZLIB_OR_GZIP = 47  # zlib's value for detecting the format from the header
_RAW_DEFLATE = -15


class BadEncoding(ValueError):
    """The bytes are not encoded as the headers say, or in an unsupported encoding."""


class Inflater:
    """Decompresses chunks of a gzip or deflate body. Raises BadEncoding."""

    def __init__(self) -> None:
        self._unpack = zlib.decompressobj(_ZLIB_OR_GZIP)
        self._is_begun = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        try:
            while piece := self._unpack.decompress(chunk, _PIECE):
                self._is_begun = True
                yield piece
                chunk = self._unpack.unconsumed_tail
        except zlib.error as exc:
            yield from self._feed_raw(chunk, exc)

    def _feed_raw(self, chunk: bytes, error: zlib.error) -> Iterator[bytes]:
        """Retry as raw deflate: some servers send "deflate" without the zlib header."""
        if self._is_begun:
            raise BadEncoding(f"it cannot be unpacked ({error})") from error
        self._unpack, self._is_begun = zlib.decompressobj(_RAW_DEFLATE), True
        yield from self.feed(chunk)


def inflater_for(encoding: str) -> Inflater | None:
    """Return the inflater for a Content-Encoding; None for a plain body. Raises BadEncoding."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return None
    if encoding in ("gzip", "x-gzip", "deflate"):
        return Inflater()
    raise BadEncoding(f"it is packed with {encoding!r}, which was not asked for")
