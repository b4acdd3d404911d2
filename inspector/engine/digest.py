"""Frames made readable: pretty JSON, and the parts of a tool's result. Pure functions of bytes.

They run on the engine's thread for small frames and in the worker process for big ones, so what they
give is bounded: the head of every text, with its whole length.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, replace

from inspector.base.jsonpretty import reindent
from inspector.base.jsonvalue import JSON, JSONObject, JSONProblem, parse, pretty
from inspector.engine.flavours import Flavour, flavour_of
from inspector.engine.tables import Table, read_table
from inspector.protocol.jsonrpc import read

HEAD = 1024 * 1024


@dataclass(frozen=True, slots=True)
class PrettyText:
    """`text` is the head of what has `length` characters in all; `problem` says why it is not JSON."""

    text: str
    length: int
    is_json: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Annotations:
    """Whom the server means a part of a result for, and how much it matters (1 is most). Its claims."""

    audience: tuple[str, ...] = ()
    priority: float | None = None
    last_modified: str = ""


@dataclass(frozen=True, slots=True)
class ContentBlock:
    """One part of a result. `data` holds decoded bytes (of an image, a sound), `text` everything else.

    `flavour` is what the text looks like; a table is there when it is "csv". Of a resource link, `text` is
    what it is called, `size` what the server says about what it leads to.
    """

    kind: str
    text: str = ""
    length: int = 0
    mime_type: str = ""
    uri: str = ""
    data: bytes = b""
    problem: str = ""
    flavour: Flavour = "plain"
    table: Table | None = None
    description: str = ""
    size: int | None = None
    annotations: Annotations | None = None


@dataclass(frozen=True, slots=True)
class ResultDigest:
    """What a tool gave back, ready to show."""

    blocks: tuple[ContentBlock, ...]
    structured: PrettyText | None
    whole: PrettyText
    is_error: bool = False


def pretty_text(raw: bytes) -> PrettyText:
    """A frame laid out in lines when it is JSON, as it came when it is not."""
    text = raw.decode(errors="replace").removeprefix("\ufeff")
    try:
        parse(text)
    except JSONProblem as exc:
        if not exc.is_too_deep:
            return PrettyText(text[:HEAD], len(text), is_json=False, problem=str(exc))
    return _shortened(reindent(text, HEAD), len(text))


def digest_result(raw: bytes) -> ResultDigest:
    """The answer to a tools/call."""
    whole = pretty_text(raw)
    try:
        result = read(raw).result
    except JSONProblem:
        return ResultDigest((), None, whole)
    structured = _pretty(result["structuredContent"]) if "structuredContent" in result else None
    return ResultDigest(_blocks(result.get("content")), structured, whole, result.get("isError") is True)


def _pretty(value: JSON) -> PrettyText:
    try:
        text = pretty(value)
    except RecursionError:  # reading it took less of the stack than writing it; the whole frame shows it
        return PrettyText("…", 1, is_json=False, problem="nested too deeply to be shown by itself")
    return _shortened(text, len(text))


def _shortened(text: str, length: int) -> PrettyText:
    return PrettyText(text[:HEAD], max(length, len(text)), is_json=True)


def _blocks(content: JSON) -> tuple[ContentBlock, ...]:
    if content is None:
        return ()
    if not isinstance(content, list):
        return (_unknown(content, "“content” is not an array"),)
    return tuple(_block(item) for item in content)


def _block(item: JSON) -> ContentBlock:
    if not isinstance(item, dict):
        return _unknown(item, "a content block must be an object")
    return replace(_content(item), annotations=_annotations(item))


def _content(item: JSONObject) -> ContentBlock:
    match item.get("type"):
        case "text" if isinstance(text := item.get("text"), str):
            return _text("text", text)
        case "image" | "audio" as kind:
            return _binary(str(kind), item, "data")
        case "resource_link":
            return _link(item)
        case "resource" if isinstance(resource := item.get("resource"), dict):
            return _resource(resource)
    return _unknown(item, "an unknown kind of content")


def _text(kind: str, text: str, mime_type: str = "", uri: str = "") -> ContentBlock:
    flavour = flavour_of(text, mime_type)
    table = read_table(text) if flavour == "csv" else None
    return ContentBlock(kind, text[:HEAD], len(text), mime_type, uri, flavour=flavour, table=table)


def _link(item: JSONObject) -> ContentBlock:
    name, size = _string(item, "title") or _string(item, "name"), item.get("size")
    return ContentBlock(
        "resource link",
        name,
        len(name),
        _string(item, "mimeType"),
        _string(item, "uri"),
        description=_string(item, "description"),
        size=size if type(size) is int else None,
    )


def _resource(resource: JSONObject) -> ContentBlock:
    uri, mime_type = _string(resource, "uri"), _string(resource, "mimeType")
    text = resource.get("text")
    if isinstance(text, str):
        return _text("resource", text, mime_type, uri)
    return _binary("resource", resource, "blob", uri)


def _annotations(item: JSONObject) -> Annotations | None:
    given = item.get("annotations")
    if not isinstance(given, dict):
        return None
    audience = given.get("audience")
    return Annotations(
        tuple(role for role in audience if isinstance(role, str)) if isinstance(audience, list) else (),
        _priority(given.get("priority")),
        _string(given, "lastModified"),
    )


def _priority(value: JSON) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= 1 else None


def _binary(kind: str, item: JSONObject, member: str, uri: str = "") -> ContentBlock:
    mime_type = _string(item, "mimeType")
    if not isinstance(item.get(member), str):
        return ContentBlock(kind, mime_type=mime_type, uri=uri, problem="its data is missing")
    try:
        data = base64.b64decode(_string(item, member), validate=True)
    except (binascii.Error, ValueError) as exc:
        return ContentBlock(kind, mime_type=mime_type, uri=uri, problem=f"its data is not base64: {exc}")
    return ContentBlock(kind, length=len(data), mime_type=mime_type, uri=uri, data=data)


def _unknown(item: JSON, problem: str) -> ContentBlock:
    shown = _pretty(item)
    return ContentBlock("unknown", shown.text, shown.length, problem=shown.problem or problem)


def _string(item: JSONObject, member: str) -> str:
    value = item.get(member)
    return value if isinstance(value, str) else ""
