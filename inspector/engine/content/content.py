"""Parsers of tool results, resource contents and prompt messages into content for display.

Pure functions of bytes; for large responses they run in the worker process. Content is kept to the last
byte, as the views page through it and save it. The kind of a content is detected from its first bytes,
then from the declared MIME type, then from the extension of its URI.
"""

from __future__ import annotations

import binascii
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from inspector.base.json.scanner import member_text
from inspector.base.json.values import JSON, JSONError, JSONObject, excerpt, pretty, shorten
from inspector.base.plain_text import one_line
from inspector.engine.content.text_formats import (
    Table,
    TextFormat,
    declared_format,
    detect_format,
    looks_like_json,
    read_table,
)
from inspector.protocol.jsonrpc import Message as RpcMessage
from inspector.protocol.jsonrpc import read
from inspector.traffic.decode.decodings import KNOWN_TYPES, DecodingKind, readable, recognized

_MAX_TABLE_SIZE = 32 * 1024 * 1024
_MAX_DETECTED = 32 * 1024 * 1024  # characters; longer text is shown as plain text


class ContentKind(Enum):
    """How content is displayed; the values are display text."""

    TEXT = "text"
    MARKDOWN = "Markdown"
    JSON = "JSON"
    TABLE = "table"
    IMAGE = "image"
    AUDIO = "audio"
    BINARY = "binary"
    LINK = "resource link"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Content:
    """One content item from a server. `data` is all of it: text as UTF-8, or decoded bytes.

    `mime_type` is as declared by the server, for images and audio as detected. `title` is the title of a
    link. `problem` says what is wrong with it, as the end of a sentence.
    """

    kind: ContentKind
    data: bytes = b""
    mime_type: str = ""
    uri: str = ""
    title: str = ""
    table: Table | None = None
    problem: str = ""

    @property
    def is_text(self) -> bool:
        return self.kind not in (ContentKind.IMAGE, ContentKind.AUDIO, ContentKind.BINARY)


@dataclass(frozen=True, slots=True)
class Part:
    """A content block. `type` is from the server; `notes` are its annotations as text."""

    type: str
    content: Content
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CallResult:
    """A parsed tool result. `structured` is the structured content as JSON, None if absent.

    `other_members` are the names of the members that the specification does not define. `problem` is the
    protocol violation of the response, as the end of a sentence.
    """

    parts: tuple[Part, ...] = ()
    structured: Content | None = None
    other_members: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """A prompt message. `about` describes it where the content alone would not."""

    role: str
    content: Content
    about: str = ""


@dataclass(frozen=True, slots=True)
class PromptContent:
    """The result of prompts/get."""

    messages: tuple[Message, ...]
    description: str = ""


def read_result(raw: bytes) -> CallResult:
    """Parse a tools/call response. Never raises; invalid content is a part like any other."""
    message = read(raw)
    result = _result_of(message)
    structured = _structured(raw) if "structuredContent" in result else None
    return CallResult(_parts(result.get("content")), structured, other_members(result), message.problem)


# Of CallToolResult, in all protocol versions.
_RESULT_MEMBERS = frozenset({"content", "structuredContent", "isError", "_meta", "resultType"})
_MAX_NAMED = 10


def other_members(result: JSONObject) -> tuple[str, ...]:
    """Return the names of members that a tool result is not defined to have."""
    return tuple(name for name in result if name not in _RESULT_MEMBERS)


def no_content_text(other_members: Sequence[str]) -> str:
    """Return what a result without content has instead, without a full stop."""
    if not other_members:
        return "The result is empty: no content and no structured content"
    named = ", ".join(one_line(shorten(name, 60)) for name in other_members[:_MAX_NAMED])
    more = len(other_members) - _MAX_NAMED
    return f"No content; the result has: {named}{f' and {more:,} more' if more > 0 else ''}"


def _structured(raw: bytes) -> Content:
    """Return the content verbatim: numbers beyond float range stay exact. The view indents it."""
    try:
        text = member_text(raw.decode(errors="replace"), "result", "structuredContent")
    except JSONError as exc:
        return Content(ContentKind.UNKNOWN, "…".encode(), problem=f"it cannot be shown separately: {exc}")
    return Content(ContentKind.JSON, text.encode())


def _parts(content: JSON) -> tuple[Part, ...]:
    if content is None:
        return ()
    if not isinstance(content, list):
        problem = "“content” is not an array"
        return (Part("", replace(block_content(content), problem=problem)),)
    return tuple(_part(item) for item in content)


def _part(item: JSON) -> Part:
    content = block_content(item)
    if not isinstance(item, dict):
        return Part("", content)
    kind, text = item.get("type"), item.get("text")
    if kind == "text" and isinstance(text, str) and content.kind is ContentKind.TEXT:
        content = _detected(text)
    return Part(kind if isinstance(kind, str) else "", content, tuple(_notes(item)))


def _detected(text: str) -> Content:
    """Return text in the format it seems to have; a very long one as plain text."""
    return text_content(text, detect_format(text) if len(text) <= _MAX_DETECTED else "plain")


def _notes(item: JSONObject) -> list[str]:
    """Return the server's description and annotations of a block, truncated."""
    description = item.get("description")
    parts = [description[:500]] if isinstance(description, str) else []
    stated = item.get("annotations")
    annotations = stated if isinstance(stated, dict) else {}
    audience, priority = annotations.get("audience"), annotations.get("priority")
    if isinstance(audience, list):
        parts.append("for " + " and ".join(str(role)[:40] for role in audience[:4]))
    if isinstance(priority, int | float) and not isinstance(priority, bool):
        parts.append(f"priority {priority:g}")
    modified = annotations.get("lastModified")
    if isinstance(modified, str):
        parts.append(f"changed {modified[:40]}")
    return [part for part in parts if part]


def read_contents(raw: bytes) -> tuple[Content, ...]:
    """Parse a resources/read response. Unusable entries are included as unknown."""
    contents = _result(raw).get("contents")
    if not isinstance(contents, list):
        return (unknown(contents, "“contents” is missing or not an array"),)
    return tuple(resource_content(item) for item in contents)


def read_prompt(raw: bytes) -> PromptContent:
    """Parse a prompts/get response."""
    result = _result(raw)
    messages = result.get("messages")
    if not isinstance(messages, list):
        return PromptContent((Message("", unknown(messages, "“messages” is missing or not an array")),))
    return PromptContent(tuple(_message(item) for item in messages), _string(result, "description"))


def _result(raw: bytes) -> JSONObject:
    return _result_of(read(raw))


def _result_of(message: RpcMessage) -> JSONObject:
    try:
        return message.result
    except JSONError:  # the message itself is shown, with the problem
        return {}


def _message(item: JSON) -> Message:
    if not isinstance(item, dict):
        return Message("", unknown(item, "a message must be an object"))
    role, content = _string(item, "role"), item.get("content")
    if isinstance(content, list):
        return Message(role, unknown(content, "“content” must be one block, but is an array"))
    return Message(role, block_content(content))


def block_content(item: JSON) -> Content:
    """Parse a content block of a prompt message or tool result."""
    if not isinstance(item, dict):
        return unknown(item, "a content block must be an object")
    match item.get("type"):
        case "text" if isinstance(text := item.get("text"), str):
            return Content(ContentKind.TEXT, _utf8(text))
        case "image" | "audio" as block_type:
            return _decoded(item, "data", "", block_type)
        case "resource_link":
            title, uri = _string(item, "title") or _string(item, "name"), _string(item, "uri")
            problem = "" if uri else "the link has no “uri”"
            link = Content(ContentKind.LINK, _utf8(pretty(item)), _string(item, "mimeType"), uri, title)
            return replace(link, problem=problem)
        case "resource":
            return resource_content(item.get("resource"))
    return unknown(item, "unknown content type")


def resource_content(item: JSON) -> Content:
    """Parse resource contents: text, or Base64 bytes."""
    if not isinstance(item, dict):
        return unknown(item, f"not an object: {excerpt(item)}")
    uri, text = _string(item, "uri"), item.get("text")
    if isinstance(text, str):
        return _text(text, _string(item, "mimeType"), uri)
    if "blob" in item:
        return _decoded(item, "blob", uri)
    return replace(unknown(item, "it has neither a “text” nor a “blob” string"), uri=uri)


def unknown(item: JSON, problem: str) -> Content:
    """Return content that cannot be shown any other way, as its JSON."""
    try:
        shown = pretty(item)
    except RecursionError:  # parsing it needed less stack than writing it does
        shown, problem = "…", f"{problem}, and nested too deeply to display"
    return Content(ContentKind.UNKNOWN, _utf8(shown), problem=problem)


def _decoded(item: JSONObject, member: str, uri: str, block_type: str = "") -> Content:
    mime_type = _string(item, "mimeType")
    if not isinstance(item.get(member), str):
        return replace(unknown(item, "its data is missing"), uri=uri)
    try:
        data = binascii.a2b_base64(_string(item, member), strict_mode=True)
    except (binascii.Error, ValueError) as exc:
        return replace(unknown(item, f"its data is not valid Base64: {exc}"), uri=uri)
    return _file(data, mime_type, uri, block_type)


def _file(data: bytes, mime_type: str, uri: str, block_type: str) -> Content:
    """Detect what bytes are from their first bytes; `block_type` is "image", "audio" or "" (a resource)."""
    is_declared = mime_type in KNOWN_TYPES and mime_type.startswith(("image/", "audio/"))
    if (text := readable(data)) is not None:
        # Other image types can be text, such as SVG.
        problem = f"declared as {mime_type or block_type}, but is text"
        is_wrong = is_declared or bool(block_type and not mime_type.startswith("image/"))
        return replace(_text(text, mime_type, uri), problem=problem if is_wrong else "")
    found = recognized(data, "")
    kinds = {DecodingKind.IMAGE: ContentKind.IMAGE, DecodingKind.AUDIO: ContentKind.AUDIO}
    if found is None or found.kind not in kinds or found.data != data:
        declared = mime_type if is_declared else block_type
        is_wrong = is_declared or (bool(block_type) and (found is not None or not mime_type))
        problem = f"declared as {declared}, but the data does not start like one" if is_wrong else ""
        return Content(ContentKind.BINARY, data, mime_type, uri, problem=problem)
    is_audio = found.kind is DecodingKind.AUDIO
    is_other = mime_type.startswith("image/") and mime_type != found.mime_type
    is_other |= mime_type.startswith("audio/") and not is_audio  # audio types have many names
    is_other |= bool(block_type) and is_audio != (block_type == "audio")
    declared = mime_type if mime_type not in ("", found.mime_type) else block_type
    problem = f"declared as {declared}, but is {found.mime_type}" if is_other else ""
    return Content(kinds[found.kind], data, found.mime_type, uri, problem=problem)


_KINDS: dict[TextFormat, ContentKind] = {
    "plain": ContentKind.TEXT,
    "json": ContentKind.JSON,
    "markdown": ContentKind.MARKDOWN,
    "csv": ContentKind.TABLE,
}
_BY_EXTENSION: dict[str, TextFormat] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "csv",
}


def text_content(text: str, format: TextFormat, mime_type: str = "", uri: str = "") -> Content:
    """Return text in its declared or detected format; a very long table stays text."""
    kind = _KINDS[format]
    table = read_table(text) if kind is ContentKind.TABLE and len(text) <= _MAX_TABLE_SIZE else None
    if kind is ContentKind.TABLE and table is None:
        kind = ContentKind.TEXT
    return Content(kind, _utf8(text), mime_type, uri, table=table)


def _text(text: str, mime_type: str, uri: str) -> Content:
    """Detect the format by MIME type or file extension; without either, only JSON is detected."""
    by_extension = (format for extension, format in _BY_EXTENSION.items() if uri.lower().endswith(extension))
    format = (
        declared_format(mime_type)
        or next(by_extension, None)
        or ("json" if looks_like_json(text) else "plain")
    )
    return text_content(text, format, mime_type, uri)


def _utf8(text: str) -> bytes:
    """Encode as UTF-8; a lone surrogate is kept and shown as invalid UTF-8."""
    return text.encode(errors="surrogatepass")


def _string(item: JSONObject, member: str) -> str:
    value = item.get(member)
    return value if isinstance(value, str) else ""
