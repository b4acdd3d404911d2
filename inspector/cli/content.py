"""A tool's result: read without damage, and made into text."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator

from inspector.base.errors import RemoteProtocolError, RpcError
from inspector.base.jsonvalue import JSON, JSONObject
from inspector.base.numbers import read_number
from inspector.base.units import size
from inspector.protocol.jsonrpc import error_of
from inspector.protocol.jsonrpc import read as read_message
from inspector.schema.jsontext import JSONTextError, read, same, write
from inspector.schema.keywords import kind_of


def result_in(answer: bytes) -> JSONObject:
    """Parse the result, with numbers spelled as sent. Raises RpcError, RemoteProtocolError."""
    try:
        body = _DECODER.decode(answer.decode(errors="replace"))
    except (json.JSONDecodeError, RecursionError) as exc:
        reason = "it is nested too deeply" if isinstance(exc, RecursionError) else str(exc)
        raise RemoteProtocolError(f"the answer cannot be read: {reason}") from exc
    if isinstance(body, dict) and "error" in body:
        error = error_of(read_message(answer))
        raise RpcError(error.code, error.message, error.data)
    result = body.get("result") if isinstance(body, dict) else None
    if not isinstance(result, dict):
        raise RemoteProtocolError(f"the result is {kind_of(result)} instead of an object")
    return result


def as_text(result: JSONObject) -> str:
    """Return everything readable in a result, each part on its own lines."""
    return "".join(part if part.endswith("\n") else f"{part}\n" for part in _parts(result))


def _parts(result: JSONObject) -> Iterator[str]:
    content = result.get("content", [])
    if not isinstance(content, list):
        yield f"[content that is {kind_of(content)} instead of an array]"
        yield write(content)
    elif "structuredContent" not in result:
        yield from map(_block, content)
    else:
        structured = result["structuredContent"]
        yield from (_block(item) for item in content if not _says_the_same(item, structured))
        yield write(structured)


def _says_the_same(item: JSON, structured: JSON) -> bool:
    # 2025-11-25, Tools, Structured Content: a tool that returns it "SHOULD also return the serialized JSON
    # in a TextContent block". Print it only once.
    text = item.get("text") if isinstance(item, dict) else None
    if not isinstance(text, str):
        return False
    try:
        return same(read(text), structured)
    except JSONTextError:
        return False


def _block(item: JSON) -> str:
    block = item if isinstance(item, dict) else {}
    kind, text, resource = block.get("type"), block.get("text"), block.get("resource")
    if kind == "text" and isinstance(text, str):
        return text
    if kind == "image" or kind == "audio":
        return _label(kind, block.get("mimeType"), _size(block.get("data")))
    if kind == "resource_link":
        name = block.get("title") or block.get("name")
        return _label("resource link", block.get("uri"), name, block.get("mimeType"))
    if kind == "resource" and isinstance(resource, dict):
        return _resource(resource)
    return write(item)


def _resource(resource: JSONObject) -> str:
    uri, mime_type, text = resource.get("uri"), resource.get("mimeType"), resource.get("text")
    if isinstance(text, str):
        return f"{_label('resource', uri, mime_type)}\n{text}"
    return _label("resource", uri, mime_type, _size(resource.get("blob")))


def _label(kind: str, *words: JSON) -> str:
    """Return a label such as "[image image/png, 1.2 KiB]"."""
    return f"[{kind} {', '.join(word for word in words if isinstance(word, str) and word)}]"


def _size(data: JSON) -> str:
    if not isinstance(data, str):
        return "no data"
    try:
        return size(len(base64.b64decode(data, validate=True)))
    except (binascii.Error, ValueError):
        return "data that is not base64"


def _number(text: str) -> int | float:
    number = read_number(text)
    assert number is not None  # the decoder has already matched the grammar
    return number


_DECODER = json.JSONDecoder(parse_int=_number, parse_float=_number)
