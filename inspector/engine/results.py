"""What a tool gave back, ready to show part by part. Pure functions of bytes.

Everything is kept to the last byte: the views page through it and save it. Runs in the worker process for big
answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from inspector.base.jsonspan import member_text
from inspector.base.jsonvalue import JSON, JSONObject, JSONProblem
from inspector.engine.contents import Content, ContentKind, block_content, text_content
from inspector.engine.flavours import flavour_of
from inspector.protocol.jsonrpc import read

_MOST_GUESSED = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Part:
    """A content block. `type` is from the server; `remarks` are its annotations as text."""

    type: str
    content: Content
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CallResult:
    """A parsed tool result. `structured` is the structured content as JSON, None if absent."""

    parts: tuple[Part, ...] = ()
    structured: Content | None = None


def read_result(raw: bytes) -> CallResult:
    """Parse a tools/call response. Never raises; invalid content is a part like any other."""
    try:
        result = read(raw).result
    except JSONProblem:  # the message itself is shown, with the problem
        return CallResult()
    has_structured = "structuredContent" in result
    return CallResult(_parts(result.get("content")), _structured(raw) if has_structured else None)


def _structured(raw: bytes) -> Content:
    """Return the content verbatim: numbers beyond float range stay exact. The view indents it."""
    try:
        text = member_text(raw.decode(errors="replace"), "result", "structuredContent")
    except JSONProblem as exc:
        return Content(ContentKind.UNKNOWN, "…".encode(), problem=f"it cannot be shown by itself: {exc}")
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
        content = _flavoured(text)
    return Part(kind if isinstance(kind, str) else "", content, tuple(_remarks(item)))


def _flavoured(text: str) -> Content:
    """Return text in the format it seems to have; a very long one as plain text."""
    return text_content(text, flavour_of(text) if len(text) <= _MOST_GUESSED else "plain")


def _remarks(item: JSONObject) -> list[str]:
    """Return the server's description and annotations of a block, truncated."""
    description = item.get("description")
    words = [description[:500]] if isinstance(description, str) else []
    given = item.get("annotations")
    annotations = given if isinstance(given, dict) else {}
    audience, priority = annotations.get("audience"), annotations.get("priority")
    if isinstance(audience, list):
        words.append("for " + " and ".join(str(role)[:40] for role in audience[:4]))
    if isinstance(priority, int | float) and not isinstance(priority, bool):
        words.append(f"priority {priority:g}")
    modified = annotations.get("lastModified")
    if isinstance(modified, str):
        words.append(f"changed {modified[:40]}")
    return [word for word in words if word]
