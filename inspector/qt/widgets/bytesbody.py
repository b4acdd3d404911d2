"""Bytes that are in memory, as the `Body` that views page through."""

from __future__ import annotations


class BytesBody:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def part(self, start: int, length: int) -> bytes:
        return self._data[start : start + length]
