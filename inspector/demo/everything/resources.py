"""Resources of every kind (text, JSON, binary, changing), templates, and their demo data.

The data is shared with completions and tools. The PNG and WAV are generated, so that no binary files need
to be shipped.
"""

from __future__ import annotations

import base64
import io
import json
import math
import struct
import wave
import zlib
from datetime import UTC, datetime
from functools import cache
from urllib.parse import unquote

import mcp_types as types

from inspector.demo.everything.state import COUNTER_URI, State
from inspector.demo.toolbox import Context, resource_not_found

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


CITIES: dict[str, dict[str, str | float]] = {
    "Accra": {"country": "Ghana", "temperature": 30.0},
    "Bogotá": {"country": "Colombia", "temperature": 14.0},
    "Hanoi": {"country": "Vietnam", "temperature": 27.5},
    "Helsinki": {"country": "Finland", "temperature": 6.0},
    "Lagos": {"country": "Nigeria", "temperature": 29.0},
    "Lima": {"country": "Peru", "temperature": 19.5},
    "Lisbon": {"country": "Portugal", "temperature": 21.0},
    "London": {"country": "United Kingdom", "temperature": 12.0},
    "Osaka": {"country": "Japan", "temperature": 17.0},
    "Oslo": {"country": "Norway", "temperature": 5.5},
    "Quito": {"country": "Ecuador", "temperature": 15.0},
    "Wellington": {"country": "New Zealand", "temperature": 13.0},
}

BOOKS: dict[str, list[str]] = {
    "Austen": ["Emma", "Persuasion", "Pride and Prejudice"],
    "Borges": ["Ficciones", "The Aleph"],
    "Lem": ["His Master's Voice", "Solaris", "The Cyberiad"],
}
"""Titles by author: the second argument of a template whose completion depends on the first."""

LANGUAGES = ["C", "C++", "Go", "Java", "JavaScript", "Python", "Ruby", "Rust", "Swift", "TypeScript"]

STYLES = ["formal", "friendly", "pirate", "terse"]


CITY_TEMPLATE = "demo://cities/{city}"
BOOK_TEMPLATE = "demo://books/{author}/{title}"

_README = """# Everything

This server shows **every feature** of the protocol once.

- Call `bump_counter` and watch `demo://counter` change.
- Call `slow` and cancel it.
- Call `crash`, and connect again.
"""

RESOURCES = [
    types.Resource(
        uri="demo://readme",
        name="readme",
        title="About this server",
        mime_type="text/markdown",
        size=len(_README.encode()),
        annotations=types.Annotations(audience=["user", "assistant"], priority=1.0),
    ),
    types.Resource(
        uri="demo://config.json", name="config", title="Configuration", mime_type="application/json"
    ),
    types.Resource(uri="demo://logo.png", name="logo", title="Image", mime_type="image/png", size=len(png())),
    types.Resource(
        uri="demo://chime.wav", name="chime", title="Audio", mime_type="audio/wav", size=len(wav())
    ),
    types.Resource(
        uri=COUNTER_URI,
        name="counter",
        title="Counter",
        description="Changes when bump_counter is called; subscribers are notified.",
        mime_type="text/plain",
    ),
    types.Resource(
        uri="demo://clock",
        name="clock",
        title="Clock",
        description="Different on every read; subscribers are not notified.",
        mime_type="text/plain",
    ),
]

TEMPLATES = [
    types.ResourceTemplate(
        uri_template=CITY_TEMPLATE,
        name="city",
        title="City",
        description="Facts about one city.",
        mime_type="application/json",
    ),
    types.ResourceTemplate(
        uri_template=BOOK_TEMPLATE,
        name="book",
        title="Book",
        description="Completions for the title depend on the author.",
        mime_type="text/plain",
    ),
]


class Resources:
    """Handles the `resources/…` requests."""

    def __init__(self, state: State) -> None:
        self._state = state

    async def list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=RESOURCES)

    async def list_templates(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=TEMPLATES)

    async def read(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        contents = self._fixed(params.uri) or _templated(params.uri)
        if contents is None:
            raise resource_not_found(context, params.uri)
        return types.ReadResourceResult(contents=[contents])

    def _fixed(self, uri: str) -> types.TextResourceContents | types.BlobResourceContents | None:
        match uri:
            case "demo://readme":
                return _text(uri, "text/markdown", _README)
            case "demo://config.json":
                return _json(
                    uri, {"theme": "light", "retries": 3, "features": ["tools", "resources", "prompts"]}
                )
            case "demo://logo.png":
                return types.BlobResourceContents(uri=uri, mime_type="image/png", blob=as_base64(png()))
            case "demo://chime.wav":
                return types.BlobResourceContents(uri=uri, mime_type="audio/wav", blob=as_base64(wav()))
            case "demo://counter":
                return _text(uri, "text/plain", str(self._state.counter))
            case "demo://clock":
                return _text(uri, "text/plain", datetime.now(UTC).isoformat())
            case _:
                return None


def _templated(uri: str) -> types.TextResourceContents | None:
    match [unquote(part) for part in uri.removeprefix("demo://").split("/")]:
        case ["cities", city] if city in CITIES:
            return _json(uri, {"city": city, **CITIES[city]})
        case ["books", author, title] if title in BOOKS.get(author, ()):
            return _text(uri, "text/plain", f"“{title}” by {author}.")
        case _:
            return None


def _text(uri: str, mime_type: str, text: str) -> types.TextResourceContents:
    return types.TextResourceContents(uri=uri, mime_type=mime_type, text=text)


def _json(uri: str, value: object) -> types.TextResourceContents:
    return _text(uri, "application/json", json.dumps(value, ensure_ascii=False, indent=2))
