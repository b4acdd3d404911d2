"""Sampling content as messages to display.

A sampling message becomes one message per content block; tool uses and tool results are shown as text.
"""

from __future__ import annotations

from inspector.base.json.values import JSON, JSONObject, pretty, shorten, text_of
from inspector.base.plain_text import one_line
from inspector.engine.content.content import Content, ContentKind, Message, block_content, unknown
from inspector.protocol.server_requests.sampling import TOOL_RESULT, TOOL_USE, kind_of, read_blocks


def messages_of(role: str, content: JSON) -> list[Message]:
    """Convert sampling content to messages. Raises ValueError if it is not valid content."""
    found: list[Message] = []
    for block in read_blocks(content):
        found += _messages(role, block)
    return found or [Message(role, Content(ContentKind.TEXT), "no content")]


def _messages(role: str, block: JSONObject) -> list[Message]:
    kind = kind_of(block)
    if kind == TOOL_USE:
        about = f"uses the tool {_named(block, 'name')}{_id(block, 'id')}"
        return [Message(role, _json(block.get("input")), about)]
    if kind == TOOL_RESULT:
        return _results(role, block)
    return [Message(role, block_content(block))]


def _results(role: str, block: JSONObject) -> list[Message]:
    kind_text = "tool error" if block.get("isError") is True else "tool result"
    about = f"{kind_text}{_id(block, 'toolUseId')}"
    inner = block.get("content")
    blocks = inner if isinstance(inner, list) else []
    contents = [block_content(each) for each in blocks]
    structured = block.get("structuredContent")
    if structured is not None:
        contents.append(_json(structured))
    if not contents:
        contents = [unknown(block, "tool result without content")]
    return [Message(role, each, about) for each in contents]


def _json(value: JSON) -> Content:
    return Content(ContentKind.JSON, shown_json(value).encode(errors="surrogatepass"))


def shown_json(value: JSON, limit: int | None = None) -> str:
    """Pretty-print a value, shortened to `limit`."""
    try:
        text = pretty(value)
    except RecursionError:  # parsing it needed less stack than writing it does
        return "… (nested too deeply to show)"
    return text if limit is None else shorten(text, limit)


def _named(block: JSONObject, member: str) -> str:
    return one_line(text_of(block, member)) or "unnamed"


def _id(block: JSONObject, member: str) -> str:
    id = text_of(block, member)
    return f" · {one_line(id)}" if id else ""
