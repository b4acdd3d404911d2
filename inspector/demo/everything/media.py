"""A small real picture and a small real sound, made here so that no binary file has to be carried around."""

from __future__ import annotations

import base64
import io
import math
import struct
import wave
import zlib
from functools import cache

_SIDE = 64
_RATE = 8000
_SECONDS = 0.5
_PITCH = 660.0


@cache
def png() -> bytes:
    """Return a 64 x 64 PNG of a lens: a ring with a color gradient inside."""
    rows = b"".join(b"\x00" + b"".join(_pixel(x, y) for x in range(_SIDE)) for y in range(_SIDE))
    header = struct.pack(">IIBBBBB", _SIDE, _SIDE, 8, 6, 0, 0, 0)  # 8 bits per channel, RGBA
    chunks = _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(rows, 9)) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


@cache
def wav() -> bytes:
    """Return half a second of a fading tone: mono, 16 bits, 8 kHz."""
    count = int(_RATE * _SECONDS)
    samples = (
        int(20000 * (1 - i / count) * math.sin(2 * math.pi * _PITCH * i / _RATE)) for i in range(count)
    )
    with io.BytesIO() as buffer:
        with wave.open(buffer, "wb") as sound:
            sound.setnchannels(1)
            sound.setsampwidth(2)
            sound.setframerate(_RATE)
            sound.writeframes(struct.pack(f"<{count}h", *samples))
        return buffer.getvalue()


def as_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _pixel(x: int, y: int) -> bytes:
    distance = math.dist((x, y), ((_SIDE - 1) / 2, (_SIDE - 1) / 2))
    if distance > 30:
        return bytes((0, 0, 0, 0))
    if distance > 25:
        return bytes((38, 70, 120, 255))
    return bytes((4 * x, 4 * y, 200, 255))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
