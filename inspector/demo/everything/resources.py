"""Resources of every kind (text, JSON, binary, changing) and templates for more of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from urllib.parse import unquote

import mcp_types as types

from inspector.demo.errors import resource_not_found
from inspector.demo.everything.media import as_base64, png, wav
from inspector.demo.everything.places import BOOKS, CITIES
from inspector.demo.everything.state import COUNTER_URI, State
from inspector.demo.toolbox import Context

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
    types.Resource(
        uri="demo://logo.png", name="logo", title="A picture", mime_type="image/png", size=len(png())
    ),
    types.Resource(
        uri="demo://chime.wav", name="chime", title="A sound", mime_type="audio/wav", size=len(wav())
    ),
    types.Resource(
        uri=COUNTER_URI,
        name="counter",
        title="A counter",
        description="Changes when bump_counter is called; subscribers are told.",
        mime_type="text/plain",
    ),
    types.Resource(
        uri="demo://clock",
        name="clock",
        title="The time of day",
        description="Different every time it is read; nobody is told.",
        mime_type="text/plain",
    ),
]

TEMPLATES = [
    types.ResourceTemplate(
        uri_template=CITY_TEMPLATE,
        name="city",
        title="A city",
        description="Facts about one city.",
        mime_type="application/json",
    ),
    types.ResourceTemplate(
        uri_template=BOOK_TEMPLATE,
        name="book",
        title="A book",
        description="The titles that complete depend on the author.",
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


def _text(uri: str, mime_type: str, words: str) -> types.TextResourceContents:
    return types.TextResourceContents(uri=uri, mime_type=mime_type, text=words)


def _json(uri: str, value: object) -> types.TextResourceContents:
    return _text(uri, "application/json", json.dumps(value, ensure_ascii=False, indent=2))
